"""The range of a function of a motion at any time: boxes around stretches of the motion, evaluated by the interval target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.excitation.motions.bounded import BoundedMotion, JoinedMotion
from taupi.program.program import Program

# Initial number of stretches per second; only those that decide the bound are halved.
_RATE_HZ = 200.0
# A bound this much above the largest value found is good enough.
_TIGHT = 0.02
# Stretches are halved at most this often: from 5 ms to 20 us.
_HALVINGS = 8
# s: interval for a mean jerk.
_LEAST_SPAN = 1e-5
# Number per call, so that the registers of a long program fit in memory.
_AT_ONCE = 4096

Box = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The largest magnitude (p,) that outputs can have, and the largest found (p,), with its times (p,)."""

    bound: np.ndarray
    met: np.ndarray
    time: np.ndarray


def parts_of(motion: BoundedMotion) -> Iterator[tuple[float, BoundedMotion]]:
    """Yield the smooth parts of a motion with the times at which they begin."""
    if isinstance(motion, JoinedMotion):
        yield from zip(motion.beginnings, motion.parts, strict=True)
    else:
        yield 0.0, motion


def boxes(motion: BoundedMotion, times: np.ndarray, half: np.ndarray, orders: int) -> list[Box]:
    """Return boxes that hold q, qd, qdd and, for four orders, the jerk in [t - h, t + h]; times and half are (N,).

    q(t + s) = q + qd s + ..., |s| <= h: q stays within |qd| h + a h^2 / 2, qd within |qdd| h + j h^2 / 2, qdd within j h, with
    a and j the bounds of acceleration and jerk. The jerk differs from its mean by at most 2 h times the bound of its derivative.
    """
    a, j, h = motion.bounds(2), motion.bounds(3), half[:, None]
    q, qd, qdd = motion(times)
    widths = (np.abs(qd) * h + a * h**2 / 2, np.abs(qdd) * h + j * h**2 / 2, j * h)
    # The states themselves are rounded.
    result = [
        (x - w - 1e-14 * (1 + np.abs(x)), x + w + 1e-14 * (1 + np.abs(x)))
        for x, w in zip((q, qd, qdd), widths, strict=True)
    ]
    if orders == 4:
        # A mean needs some time; a longer stretch contains a shorter one.
        span = np.maximum(half, _LEAST_SPAN)
        early, late = np.clip(times - span, 0.0, motion.duration), np.clip(times + span, 0.0, motion.duration)
        mean = (motion(late).qdd - motion(early).qdd) / (late - early)[:, None]
        width = 2 * span[:, None] * motion.bounds(4) + 1e-9 * j
        result.append((np.maximum(mean - width, -j), np.minimum(mean + width, j)))
    return result


def enclosed(program: Program, motion: BoundedMotion, fixed: tuple[Box, ...] = ()) -> Enclosure:
    """Return bounds of the outputs (p,) of a program of (q, qd, qdd[, qddd], *fixed) along a whole motion."""
    over = program.compile("interval")
    orders = len(program.inputs) - len(fixed)
    # At a single instant without uncertainty, no intervals are needed.
    plain = None if fixed or orders > 3 else program.compile("numpy")
    parts = [_of_part(over, plain, part, begin, orders, fixed) for begin, part in parts_of(motion)]
    best = np.argmax([f.met for f in parts], axis=0)
    place = np.arange(len(best))
    return Enclosure(
        np.max([f.bound for f in parts], axis=0),
        np.array([f.met for f in parts])[best, place],
        np.array([f.time for f in parts])[best, place],
    )


def _of_part(
    over: Callable[..., Any],
    plain: Callable[..., Any] | None,
    motion: BoundedMotion,
    begin: float,
    orders: int,
    fixed: tuple[Box, ...],
) -> Enclosure:
    count = max(1, int(np.ceil(motion.duration * _RATE_HZ)))
    half = np.full(count, motion.duration / count / 2)
    times = (2 * np.arange(count) + 1) * half
    bound = met = when = None
    for depth in range(_HALVINGS + 1):
        reach = _reach(over, motion, times, half, orders, fixed)
        # The value at the middle is one that the bound cannot be below.
        value = (
            _reach(over, motion, times, 0 * half, orders, fixed)
            if plain is None
            else np.abs(np.asarray(plain(*motion(times))))
        )
        at, top = value.argmax(axis=0), value.max(axis=0)
        if met is None or bound is None or when is None:
            bound, met, when = np.zeros(len(top)), np.zeros(len(top)), np.zeros(len(top))
        when, met = np.where(top > met, begin + times[at], when), np.maximum(met, top)
        wide = (reach > (1 + _TIGHT) * met).any(axis=1) & (depth < _HALVINGS)
        bound = np.maximum(bound, reach[~wide].max(axis=0, initial=0.0))
        if not wide.any():
            break
        half = np.repeat(half[wide] / 2, 2)
        times = np.repeat(times[wide], 2) + np.tile([-1.0, 1.0], len(half) // 2) * half
    assert bound is not None and met is not None and when is not None
    return Enclosure(bound, met, when)


def _reach(
    over: Callable[..., Any],
    motion: BoundedMotion,
    times: np.ndarray,
    half: np.ndarray,
    orders: int,
    fixed: tuple[Box, ...],
) -> np.ndarray:
    """Return the largest magnitude (N, p) of the outputs in each stretch."""
    result = []
    for k in range(0, len(times), _AT_ONCE):
        some = slice(k, k + _AT_ONCE)
        low, high = over(*boxes(motion, times[some], half[some], orders), *fixed)
        result.append(np.maximum(-low, high))
    return np.vstack(result)
