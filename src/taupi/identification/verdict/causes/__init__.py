"""The causes that are looked for, as file and class; of causes that explain the same, the first in this order is named.

To add one, write a class with a `name` and `candidates(trials)`, and name it here. A file is imported when its causes are
looked for: most fits are good, and need few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

from taupi.identification.verdict.candidate import Cause

# Those that a log shows by itself are looked for in every fit.
SHOWN = ("jumps:Spikes", "jumps:WrappedAngles")
# If something is left to be explained, these cost next to nothing.
SILENT = ("payload:OtherPayload", "timing:DelayedTorque", "offset:OffsetOfQ")
# If nothing is, limits of positions may still reveal these.
REDIRECTED = ("signs:FlippedSigns", "order:SwappedJoints")
# The others are looked for only if there is a reason to.
TRIED = (
    "units:Degrees",
    "gravity:CompensatedGravity",
    "units:Milliseconds",
    "signs:FlippedTorques",
    "signs:FlippedSigns",
    "gains:TorqueFactor",
    "gravity:Mounting",
    "order:SwappedJoints",
    "offset:OffsetOfQByDescription",
)
# Those of them that cost little, since the logs need no second preparation, are looked for even without a reason.
QUICK = ("signs:FlippedSigns", "gains:TorqueFactor", "order:SwappedJoints")
# Those that a description points to if it explains little of a log, though the fit is good.
CONTRADICTING = ("signs:FlippedTorques", "gravity:Mounting", "offset:OffsetOfQByDescription")


def load_causes(places: Iterable[str]) -> Iterator[Cause]:
    """Yield the causes in these places, "file:class", importing each file when its turn comes."""
    for place in places:
        file, _, name = place.partition(":")
        cause: Cause = getattr(import_module(f"{__name__}.{file}"), name)()
        yield cause


def cause_names() -> tuple[str, ...]:
    """Return the names of all causes, in order.

    >>> cause_names()[:3]
    ('spikes', 'wrapped', 'payload')
    """
    return tuple(dict.fromkeys(cause.name for cause in load_causes((*SHOWN, *SILENT, *TRIED))))
