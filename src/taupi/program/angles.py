"""Sines and cosines as points on the unit circle: what lets exact and polynomial arithmetic meet an angle.

An angle enters only through its sine and cosine, and a sum of angles through the addition theorems, so over any ring an
angle is a pair (c, s) with c^2 + s^2 = 1.
"""

from __future__ import annotations

from typing import Any

from taupi.program.tape import Tape

Point = tuple[Any, Any]  # (cos, sin)
_SUMS = ("add", "sub", "neg", "twice")


def angular_registers(tape: Tape) -> set[int]:
    """Return the registers whose sine or cosine is taken, and those that such sums of angles are made of."""
    wanted: set[int] = set()
    for i in reversed(tape.instructions):
        if i.op in ("sin", "cos") or (i.out in wanted and i.op in _SUMS):
            wanted.update(i.args)
    return wanted


def turned(op: str, points: list[Point]) -> Point:
    """Return the point of -a, 2a, a + b or a - b by the addition theorems."""
    (c, s), *rest = points
    if op == "neg":
        return c, -s
    if op == "twice":
        return c * c - s * s, s * c + c * s
    d, t = rest[0]
    if op == "sub":
        t = -t
    return c * d - s * t, s * d + c * t
