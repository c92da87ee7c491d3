"""The causes that are tried, as file and class.

To add one, write a class with a `name`, `candidates` and `support`, and name it here.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from taupi.identification.verdict.cause import Cause

CAUSES = (
    "units:Degrees",
    "units:Milliseconds",
    "signs:FlippedTorques",
    "units:TorqueUnit",
    "payload:OtherPayload",
    "payload:LogsDiffer",
    "gravity:CompensatedGravity",
    "signs:FlippedSigns",
    "gains:TorqueFactor",
    "order:SwappedJoints",
    "offset:OffsetOfQ",
    "timing:DelayedTorque",
    "gravity:Mounting",
)
# What the signals alone show, and what is said if no cause is supported.
SHOWN = (
    "stamps",
    "dropped",
    "wrapped",
    "stuck",
    "spikes",
    "constant",
    "clipped",
    "computed",
    "unrelated",
    "other_robot",
)


def load_causes() -> Iterator[Cause]:
    """Yield all causes, importing the file of each when its turn comes."""
    for place in CAUSES:
        file, _, name = place.partition(":")
        cause: Cause = getattr(import_module(f"{__name__}.{file}"), name)()
        yield cause


def cause_names() -> tuple[str, ...]:
    """Return the names of all causes, in order.

    >>> cause_names()[:3]
    ('stamps', 'dropped', 'wrapped')
    """
    return tuple(dict.fromkeys((*SHOWN, *(cause.name for cause in load_causes()))))
