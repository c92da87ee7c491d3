"""Stretches of consecutive rows, such as those in which a value is missing, and the steps of time between rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# A step longer than this many median steps is a gap. The jitter of a busy operating system stays below.
GAP = 3.5


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of rows, start <= row < stop: `starts` and `stops` (K,).

    >>> import numpy as np
    >>> stretches = Stretches.of(np.array([False, True, True, False, True]))
    >>> str(stretches), stretches.count
    ('rows 1-2, 4', 3)
    """

    starts: np.ndarray
    stops: np.ndarray

    @classmethod
    def of(cls, mask: np.ndarray) -> Stretches:
        """Return the stretches in which a mask is true."""
        padded = np.concatenate(([False], np.asarray(mask, dtype=bool), [False])).astype(np.int8)
        edges = np.diff(padded)
        return cls(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1))

    @property
    def lengths(self) -> np.ndarray:
        """The number of rows in each stretch."""
        return self.stops - self.starts

    @property
    def count(self) -> int:
        """The number of rows in all stretches together."""
        return int(self.lengths.sum())

    def at_least(self, rows: int) -> Stretches:
        """Return the stretches with at least `rows` rows."""
        keep = self.lengths >= rows
        return Stretches(self.starts[keep], self.stops[keep])

    def mask(self, rows: int) -> np.ndarray:
        """Return the mask (rows,) that is true in these stretches."""
        result = np.zeros(rows + 1, dtype=np.int64)
        np.add.at(result, self.starts, 1)
        np.add.at(result, self.stops, -1)
        return np.cumsum(result)[:-1] > 0

    def pairs(self, limit: int | None = None) -> list[tuple[int, int]]:
        """Return (first row, last row) of each stretch."""
        return [(int(a), int(b) - 1) for a, b in zip(self.starts[:limit], self.stops[:limit], strict=True)]

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.starts.tolist(), self.stops.tolist(), strict=True))

    def __str__(self) -> str:
        spans = [f"{a}" if a == b else f"{a}-{b}" for a, b in self.pairs(5)]
        more = f" and {len(self) - 5} more stretches" if len(self) > 5 else ""
        return f"rows {', '.join(spans)}{more}" if spans else "no rows"


def median_step(time: np.ndarray) -> float:
    """Return the median of the steps forward in time, or 0 if there is none."""
    steps = np.diff(time)
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else 0.0


def mean_step(time: np.ndarray) -> float:
    """Return the mean time step, counting a step over a lost sample as two; 0 if no step goes forward."""
    steps, median = np.diff(time), median_step(time)
    steps = steps[(steps > 0) & (steps <= GAP * median)]
    return float(steps.sum() / np.maximum(np.round(steps / median), 1).sum()) if len(steps) else 0.0


def gap_rows(time: np.ndarray, gap: float | None = None) -> np.ndarray:
    """Return the rows after which time steps by more than `gap` seconds (by default 3.5 median steps), or backwards."""
    steps = np.diff(time)
    limit = GAP * median_step(time) if gap is None else gap
    return np.flatnonzero((steps > limit) | (steps < 0) | ~np.isfinite(steps))
