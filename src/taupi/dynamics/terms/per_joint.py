"""Settings of a term that are one number for all joints, or one per joint."""

from __future__ import annotations

import math
from collections.abc import Iterable

from taupi.errors import Argument, TaupiError, shown

PerJoint = float | tuple[float, ...]


def checked_per_joint(name: str, value: float | Iterable[float], unit: str, zero: bool = False) -> PerJoint:
    """Return a number or a tuple of numbers; refuse what is not positive, or with `zero` what is negative."""
    expected = "a number of at least 0" if zero else "a positive number"
    error = TaupiError(Argument(name), f" is {shown(value)}, expected {expected} ({unit}), or one per joint.")
    try:
        numbers = float(value) if isinstance(value, int | float) else tuple(float(v) for v in value)
    except (TypeError, ValueError):
        raise error from None
    each = numbers if isinstance(numbers, tuple) else (numbers,)
    if not each or not all(math.isfinite(v) and (v >= 0 if zero else v > 0) for v in each):
        raise error
    return numbers


def value_at(name: str, value: PerJoint, joint: int) -> float:
    """Return the number of one joint, by its place in the robot."""
    if not isinstance(value, tuple):
        return value
    if joint >= len(value):
        raise TaupiError(Argument(name), f" has {len(value)} values, expected one per joint.")
    return value[joint]
