"""Angles as points (cos, sin) on the unit circle, for exact and polynomial arithmetic.

Programs use an angle only through its sine and cosine, and a sum of angles through the addition theorems. So over any ring an
angle is a pair (c, s) with c^2 + s^2 = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from taupi.program.tape import Instruction, Tape

Point = tuple[Any, Any]  # (cos, sin)
_SUMS = ("add", "sub", "neg", "twice")


def angular_registers(tape: Tape) -> set[int]:
    """Return the registers whose sine or cosine is taken, and the registers that these are sums of."""
    wanted: set[int] = set()
    for i in reversed(tape.instructions):
        if i.op in ("sin", "cos") or (i.out in wanted and i.op in _SUMS):
            wanted.update(i.args)
    return wanted


def combined_point(op: str, points: list[Point]) -> Point:
    """Return the circle point of -a, 2a, a + b or a - b from the points of a and b, by the addition theorems."""
    (c, s), *rest = points
    if op == "neg":
        return c, -s
    if op == "twice":
        return c * c - s * s, s * c + c * s
    d, t = rest[0]
    if op == "sub":
        t = -t
    return c * d - s * t, s * d + c * t


OFFSET = -1  # the key of the constant part of an angle, in radians
_LINEAR = (*_SUMS, "mul", "div")
AngleSum = dict[int, Fraction]


def angle_sums(tape: Tape, numbers: Mapping[int, Fraction]) -> dict[int, AngleSum]:
    """Return each register whose sine or cosine is taken as a sum of other registers with rational factors.

    `numbers` are the registers whose value is known; their contribution has the key `OFFSET`. So cos(q2 - 3/4 q1) and
    cos(q1) are recognised as functions of the same two angles.
    """
    wanted: set[int] = set()
    for i in reversed(tape.instructions):
        if i.op in ("sin", "cos") or (i.out in wanted and i.op in _LINEAR):
            wanted.update(i.args)
    sums: dict[int, AngleSum] = {}
    for i in tape.instructions:
        if i.out in wanted:
            sums[i.out] = {OFFSET: numbers[i.out]} if i.out in numbers else _angle_sum(i, [sums[a] for a in i.args])
    return {i.args[0]: sums[i.args[0]] for i in tape.instructions if i.op in ("sin", "cos")}


def _angle_sum(i: Instruction, parts: list[AngleSum]) -> AngleSum:
    match i.op, parts:
        case "neg", [a]:
            return _combined([(Fraction(-1), a)])
        case "twice", [a]:
            return _combined([(Fraction(2), a)])
        case "add", [a, b]:
            return _combined([(Fraction(1), a), (Fraction(1), b)])
        case "sub", [a, b]:
            return _combined([(Fraction(1), a), (Fraction(-1), b)])
        case "mul", [a, b] if a.keys() <= {OFFSET}:
            return _combined([(a.get(OFFSET, Fraction(0)), b)])
        case "mul", [a, b] if b.keys() <= {OFFSET}:
            return _combined([(b.get(OFFSET, Fraction(0)), a)])
        case "div", [a, b] if b.keys() == {OFFSET}:
            return _combined([(1 / b[OFFSET], a)])
    return {i.out: Fraction(1)}


def _combined(parts: list[tuple[Fraction, AngleSum]]) -> AngleSum:
    total: AngleSum = {}
    for factor, part in parts:
        for key, value in part.items():
            total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}
