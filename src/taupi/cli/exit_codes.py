"""How commands end: the numbers that the shell sees, what each means, and the threshold that `--max-error` sets."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import IntEnum

import typer

from taupi.errors import TaupiError


class ExitCode(IntEnum):
    """The exit status of a command."""

    GOOD = 0
    BUG = 1
    """A bug in taupi; one sentence says what to report."""
    USAGE = 2
    """A command or option does not exist, or one is missing."""
    BAD_INPUT = 3
    """Something is wrong in a file or a value; one sentence on standard error says what."""
    NOT_ACHIEVED = 4
    """The input is fine, but there is no usable result.

    Not identifiable, not converged, a fit whose verdict is wrong (unless --anyway), a loop that diverged, a property that does
    not hold, a published figure that differs for an unknown reason.
    """
    THRESHOLD_MISSED = 5
    """A threshold that the user set, such as --max-error, was missed."""


def check_threshold(max_error: float | None) -> None:
    """Refuse a threshold that is not a share of the torque."""
    if max_error is not None and not 0 <= max_error < float("inf"):
        raise TaupiError("{max_error} is {got:g}, expected a share of the torque, such as 0.05.", got=max_error)


def exit_if_missed(max_error: float | None, errors: Mapping[str, float]) -> None:
    """Exit with 5 if a relative error, listed by the name of its log, is above the threshold."""
    missed = [f"{log} {error:.2%}" for log, error in errors.items() if max_error is not None and not error <= max_error]
    if missed:
        print(f"taupi: the relative error is above --max-error {max_error:g}: {', '.join(missed)}.", file=sys.stderr)
        raise typer.Exit(ExitCode.THRESHOLD_MISSED)
