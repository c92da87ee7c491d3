"""Settings of a term that are one number for all joints, or one per joint."""

from __future__ import annotations

import math
from collections.abc import Iterable

from taupi.errors import Argument, TaupiError, shown

PerJoint = float | tuple[float, ...]


def checked_per_joint(name: str, value: float | Iterable[float], unit: str, zero: bool = False) -> PerJoint:
    """Return a number or a tuple of numbers; refuse what is not positive, or with `zero` what is negative."""
    try:
        numbers = float(value) if isinstance(value, int | float) else tuple(map(float, value))
    except (TypeError, ValueError):
        numbers = ()
    each = numbers if isinstance(numbers, tuple) else (numbers,)
    if not each or not all(map(math.isfinite, each)) or min(each) < 0 or (min(each) == 0 and not zero):
        expected = "a number of at least 0" if zero else "a positive number"
        raise TaupiError(Argument(name), f" is {shown(value)}, expected {expected} ({unit}), or one per joint.")
    return numbers


def value_at(name: str, value: PerJoint, joint: int) -> float:
    """Return the number of one joint, by its place in the robot."""
    if not isinstance(value, tuple):
        return value
    if joint >= len(value):
        raise TaupiError(Argument(name), f" has {len(value)} values, expected one per joint.")
    return value[joint]
