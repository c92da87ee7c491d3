"""How commands end: the numbers that the shell sees, and what each means."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of a command."""

    GOOD = 0
    BUG = 1
    """A mistake of ours; Python prints where it happened."""
    USAGE = 2
    """A command or option that does not exist, or one that is missing."""
    BAD_INPUT = 3
    """Something is wrong in a file or a value; one sentence on standard error says what."""
    NOT_ACHIEVED = 4
    """The input is fine, but there is no usable result.

    Not identifiable, not converged, a fit whose verdict is wrong (unless --anyway), a loop that diverged, a property that does
    not hold, a published figure that differs for an unknown reason.
    """
    THRESHOLD_MISSED = 5
    """A threshold that the user set, such as --max-error, was missed."""
