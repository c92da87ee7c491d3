"""Stretches of rows: stretches of a log in which something is so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# A step longer than this many median steps is a gap. Jitter of a busy operating system stays below.
GAP = 3.5


@dataclass(frozen=True, slots=True)
class Stretches:
    """Rows in stretches: `starts` and `stops` (K,), each stretch start <= row < stop.

    >>> import numpy as np
    >>> runs = Stretches.of(np.array([False, True, True, False, True]))
    >>> str(runs), runs.count
    ('rows 1-2, 4', 3)
    """

    starts: np.ndarray
    stops: np.ndarray

    @classmethod
    def of(cls, mask: np.ndarray) -> Stretches:
        """Return the stretches in which a mask holds."""
        padded = np.concatenate(([False], np.asarray(mask, dtype=bool), [False])).astype(np.int8)
        edges = np.diff(padded)
        return cls(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1))

    @property
    def lengths(self) -> np.ndarray:
        """How many rows each stretch has."""
        return self.stops - self.starts

    @property
    def count(self) -> int:
        """How many rows there are in all stretches together."""
        return int(self.lengths.sum())

    def at_least(self, rows: int) -> Stretches:
        """Return the stretches with at least so many rows."""
        keep = self.lengths >= rows
        return Stretches(self.starts[keep], self.stops[keep])

    def mask(self, rows: int) -> np.ndarray:
        """Return the mask (rows,) that holds in these stretches."""
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
        told = [f"{a}" if a == b else f"{a}-{b}" for a, b in self.pairs(5)]
        more = f" and {len(self) - 5} more stretches" if len(self) > 5 else ""
        return f"rows {', '.join(told)}{more}" if told else "no rows"


def median_step(time: np.ndarray) -> float:
    """Return the median of the steps forward in time, or 0 where there is none."""
    steps = np.diff(time)
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else 0.0


def mean_step(time: np.ndarray) -> float:
    """Return the mean step of time, in which a step over a lost sample counts as two; 0 where time does not go on."""
    steps, median = np.diff(time), median_step(time)
    steps = steps[(steps > 0) & (steps <= GAP * median)]
    return float(steps.sum() / np.maximum(np.round(steps / median), 1).sum()) if len(steps) else 0.0


def gap_rows(time: np.ndarray, gap: float | None = None) -> np.ndarray:
    """Return the rows after which time steps by more than `gap` seconds (3.5 median steps), or backwards."""
    steps = np.diff(time)
    limit = GAP * median_step(time) if gap is None else gap
    return np.flatnonzero((steps > limit) | (steps < 0) | ~np.isfinite(steps))
