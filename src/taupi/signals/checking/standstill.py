"""Find the standstill before and after the motion of a log, in bounded memory: a log in memory is one block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from taupi.signals.checking.rules import STILL, displacement, still_rows, still_window
from taupi.signals.filtering.filters import overlapping_pieces
from taupi.signals.log import Log
from taupi.signals.stretches import Stretches

# A joint has begun its motion once it is farther from its first position than this share of its range; the end likewise.
_AWAY = 0.02

Positions = Callable[[], Iterable[np.ndarray]]  # the blocks of q (N, n), from the start at each call


@dataclass(frozen=True)
class MotionRows:
    """The rows start <= k < stop of a record of `samples` rows that lie between the standstills at its ends."""

    start: int
    stop: int
    samples: int

    @property
    def note(self) -> str:
        """What is cut off, in words; empty if nothing is."""
        if self.start == 0 and self.stop == self.samples:
            return ""
        return f"trimmed standstill: {self.start} samples at the start, {self.samples - self.stop} at the end"


def trim_standstill(log: Log) -> Log:
    """Return the log without the standstill before and after the motion."""
    rows = motion_rows(lambda: [log.q], log.rate_hz)
    return log.rows(slice(rows.start, rows.stop), rows.note) if rows.note else log


def motion_rows(positions: Positions, rate_hz: float) -> MotionRows:
    """Return where the motion of a uniform record begins and ends, in at most two passes over its blocks.

    A standstill counts as one at the start if no joint has moved away from its first position before it ends, by more than 2 % of
    its range; likewise at the end.
    """
    half, least = still_window(1 / rate_hz), still_rows(1 / rate_hz)
    extremes = _extremes(positions, half, least)
    if extremes.samples < 8 * half:
        return MotionRows(0, extremes.samples, extremes.samples)
    return _ends(positions, half, least, extremes)


@dataclass(frozen=True)
class _Extremes:
    """For each joint of a record (n,): its range, its largest displacement over a window, its first and last position."""

    samples: int
    range: np.ndarray
    largest: np.ndarray
    first: np.ndarray
    last: np.ndarray
    settles: bool  # whether the last rows are near the last position, so that a standstill may end the record


def _windows(positions: Positions, half: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield q (N, n) block by block with |q(k + half) - q(k - half)|; beyond the record's ends q is constant."""
    for piece, keep in overlapping_pieces(positions(), half):
        after = len(piece) - keep.stop
        if keep.start < half or after < half:  # at the ends of the record
            padded = np.pad(piece, ((half - keep.start, half - after), (0, 0)), mode="edge")
        else:
            padded = piece
        yield piece[keep], displacement(padded, half)


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
    departure = samples  # where the first joint leaves its first position
    arrival = 0  # where all joints have arrived at their last position
    row = 0
    for q, moved in _windows(positions, half):
        still = np.asarray((moved <= STILL * extremes.largest).all(axis=1))
        for a, b in Stretches.of(still):
            if standstills and standstills[-1][1] == row + a:  # continued from the block before
                standstills[-1][1] = row + b
                continue
            if standstills and standstills[-1][1] - standstills[-1][0] < least:
                standstills.pop()
            standstills.append([row + a, row + b])
        gone, coming = ((np.abs(q - x) > limit).any(axis=1) for x in (extremes.first, extremes.last))
        departure = min(departure, row + int(np.argmax(gone))) if gone.any() else departure
        arrival = row + len(q) - int(np.argmax(coming[::-1])) if coming.any() else arrival
        row += len(q)
        if departure < samples and not extremes.settles:
            break
    lasting = [(a, b) for a, b in standstills if b - a >= least]
    start = max((b for _, b in lasting if b <= departure and b < samples), default=0)
    ends = [a for a, _ in lasting if a >= arrival and a > start] if extremes.settles else []
    return MotionRows(start, min(ends, default=samples), samples)
