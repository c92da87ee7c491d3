"""Standstill before and after the motion of a log, found in bounded memory: a log in memory is one block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from taupi.signals.filters import overlapped
from taupi.signals.log import Log
from taupi.signals.rules import STILL, displacement, still_rows, still_window
from taupi.signals.stretches import Stretches

# A joint that has left its first (last) position by less than this share of its range has not begun (has ended) its motion.
_AWAY = 0.02

Positions = Callable[[], Iterable[np.ndarray]]  # the blocks of q (N, n), from the start at each call


@dataclass(frozen=True)
class MotionRows:
    """Rows start <= k < stop of a record of so many `samples`: between the standstills at its ends."""

    start: int
    stop: int
    samples: int

    @property
    def note(self) -> str:
        """What was left out, in words; empty where nothing is."""
        if self.start == 0 and self.stop == self.samples:
            return ""
        return f"trimmed standstill: {self.start} samples at the start, {self.samples - self.stop} at the end"


def trim_standstill(log: Log) -> Log:
    """Return the log without the standstill before the motion begins and after it has ended."""
    rows = motion_rows(lambda: [log.q], log.rate_hz)
    return log.rows(slice(rows.start, rows.stop), rows.note) if rows.note else log


def motion_rows(positions: Positions, rate_hz: float) -> MotionRows:
    """Return where the motion of a uniform record begins and ends, in at most two passes over its blocks.

    A standstill counts at the start if no joint has left its first position by then, by more than 2 % of its range; likewise at
    the end.
    """
    half, least = still_window(1 / rate_hz), still_rows(1 / rate_hz)
    extremes = _extremes(positions, half, least)
    if extremes.samples < 8 * half:
        return MotionRows(0, extremes.samples, extremes.samples)
    return _ends(positions, half, least, extremes)


@dataclass(frozen=True)
class _Extremes:
    """Of a record: the range of each joint (n,), its largest displacement over a window (n,), its first and last position."""

    samples: int
    range: np.ndarray
    largest: np.ndarray
    first: np.ndarray
    last: np.ndarray
    settles: bool  # whether the last rows are near the last position, so that a standstill may end the record


def _windows(positions: Positions, half: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield q (N, n) block by block with |q(k + half) - q(k - half)|, the record's ends held."""
    for piece, keep in overlapped(positions(), half):
        after = len(piece) - keep.stop
        held = np.pad(piece, ((half - keep.start, half - after), (0, 0)), mode="edge")
        yield piece[keep], displacement(held, half)


def _extremes(positions: Positions, half: int, least: int) -> _Extremes:
    low = high = largest = first = last = tail = None
    samples = 0
    for q, moved in _windows(positions, half):
        low = q.min(axis=0) if low is None else np.minimum(low, q.min(axis=0))
        high = q.max(axis=0) if high is None else np.maximum(high, q.max(axis=0))
        largest = moved.max(axis=0) if largest is None else np.maximum(largest, moved.max(axis=0))
        first = q[0] if first is None else first
        tail = q[-least:] if tail is None or len(q) >= least else np.concatenate([tail, q])[-least:]
        last, samples = q[-1], samples + len(q)
    assert low is not None and high is not None and largest is not None and first is not None
    assert last is not None and tail is not None
    settles = bool((np.abs(tail - last) <= _AWAY * (high - low)).all())
    return _Extremes(samples, high - low, largest, first, last, settles)


def _ends(positions: Positions, half: int, least: int, extremes: _Extremes) -> MotionRows:
    limit, samples = _AWAY * extremes.range, extremes.samples
    standstills: list[list[int]] = []  # [start, stop) of each
    leaves, arrives, row = (
        samples,
        0,
        0,
    )  # where a joint first leaves its first position, and all have come to their last
    for q, moved in _windows(positions, half):
        still = np.asarray((moved <= STILL * extremes.largest).all(axis=1))
        for a, b in Stretches.of(still):
            if standstills and standstills[-1][1] == row + a:  # it goes on from the block before
                standstills[-1][1] = row + b
                continue
            if standstills and standstills[-1][1] - standstills[-1][0] < least:
                standstills.pop()
            standstills.append([row + a, row + b])
        away, short = ((np.abs(q - x) > limit).any(axis=1) for x in (extremes.first, extremes.last))
        leaves = min(leaves, row + int(np.argmax(away))) if away.any() else leaves
        arrives = row + len(q) - int(np.argmax(short[::-1])) if short.any() else arrives
        row += len(q)
        if leaves < samples and not extremes.settles:
            break
    lasting = [(a, b) for a, b in standstills if b - a >= least]
    start = max((b for _, b in lasting if b <= leaves and b < samples), default=0)
    ends = [a for a, _ in lasting if a >= arrives and a > start] if extremes.settles else []
    return MotionRows(start, min(ends, default=samples), samples)
