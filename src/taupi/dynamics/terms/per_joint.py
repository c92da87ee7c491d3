"""Shapes of terms: a number for all joints, or one each."""

from __future__ import annotations

import math
from typing import Any

from taupi.errors import TaupiError, shown

Shape = float | tuple[float, ...]


def checked_shape(value: Any, name: str, unit: str, zero: bool = False) -> Shape:
    """Return a shape as a number or a tuple of them; refuse what is not positive (`zero`: not negative)."""
    told = f"{name} is {shown(value)}, expected {'numbers of at least 0' if zero else 'a positive number'} ({unit})"
    try:
        shape = float(value) if isinstance(value, int | float) else tuple(float(v) for v in value)
    except (TypeError, ValueError):
        raise TaupiError(f"{told}, or one a joint.") from None
    each = shape if isinstance(shape, tuple) else (shape,)
    if not each or not all(math.isfinite(v) and (v >= 0 if zero else v > 0) for v in each):
        raise TaupiError(f"{told}, or one a joint.")
    return shape


def shape_of(value: Shape, joint: int, name: str) -> float:
    """Return the shape of one joint."""
    if not isinstance(value, tuple):
        return value
    if joint >= len(value):
        raise TaupiError(f"{name} has {len(value)} values, expected one a joint.")
    return value[joint]
