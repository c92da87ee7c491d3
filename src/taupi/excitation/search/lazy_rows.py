"""Rows at samples that are watched only where a motion has come near a limit."""

from __future__ import annotations

import copy

import numpy as np

from taupi.excitation.limits.sampled_rows import SampledRows
from taupi.excitation.search.problem import DesignProblem, Sampler

# How far beyond a limit a row may be and still count as kept: IPOPT's own tolerance, with room.
KEPT = 1e-5
# Watched rows are dropped when they are this many times as far from their limit as those that are added.
_FAR = 1.5
_BESIDE = 2  # samples


class LazyRows:
    """The rows of one kind of limit; those watched are `samples` and `which`, and grow by `watch`."""

    def __init__(self, problem: DesignProblem, rows: SampledRows) -> None:
        self.rows = rows
        count = max(2, round(problem.family.duration * rows.rate_hz))
        times = (np.arange(count) + 0.5) * (problem.family.duration / count)
        self._sampler = Sampler(problem.family, problem.n, times, rows.orders)
        self.samples = self.which = np.zeros(0, dtype=int)

    def with_rows(self, rows: SampledRows) -> LazyRows:
        """Return rows with other limits, watched at the same places."""
        result = copy.copy(self)
        result.rows = rows
        return result

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def lower(self) -> np.ndarray:
        """The least values of the rows watched."""
        return self.rows.lower[self.which]

    @property
    def upper(self) -> np.ndarray:
        """The largest values of the rows watched."""
        return self.rows.upper[self.which]

    def all_values(self, x: np.ndarray) -> np.ndarray:
        """Return all rows (N, p)."""
        return self.rows.values(*self._sampler.states(x))

    def excess(self, x: np.ndarray) -> float:
        """Return how much the worst of all rows exceeds its limit; negative inside."""
        value = self.all_values(x)
        return float(np.maximum(value - self.rows.upper, self.rows.lower - value).max())

    def holds(self, x: np.ndarray) -> bool:
        """Return whether all rows hold."""
        return self.excess(x) <= self.rows.tolerance

    def watch(self, x: np.ndarray) -> bool:
        """Watch every row near its limit, drop those that are far from it, and return whether one is beyond it."""
        value = self.all_values(x)
        over = np.maximum(value - self.rows.upper, self.rows.lower - value)
        if over.max() <= self.rows.tolerance:
            return False
        peaks = _peaks(over) & self._foremost(over)
        near = (over > -self.rows.band) & peaks
        # A row that is pushed back inside its limit will come near it slightly earlier and later.
        late, place = np.nonzero(peaks & (over > 0))
        for step in (-_BESIDE, _BESIDE):
            near[np.clip(late + step, 0, len(over) - 1), place] = True
        near[self.samples, self.which] |= over[self.samples, self.which] > -_FAR * self.rows.band
        self.samples, self.which = np.nonzero(near)
        return True

    def _foremost(self, over: np.ndarray) -> np.ndarray:
        """Return where values (N, p) are the largest of their group: the others follow when it is pushed back."""
        starts = np.flatnonzero(np.diff(self.rows.groups, prepend=-1))
        sizes = np.diff(starts, append=over.shape[1])
        return np.asarray(over >= np.repeat(np.maximum.reduceat(over, starts, axis=1), sizes, axis=1))

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the rows watched (k,)."""
        places, back = np.unique(self.samples, return_inverse=True)
        states = [s[places] for s in self._sampler.states(x)]
        return self.rows.values(*states)[back, self.which]

    @property
    def pattern(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows watched and the variables that each depends on, as pairs of places, variable by variable."""
        acts = np.repeat(self._sampler.acting[self.samples], self._sampler.shape[1], axis=1)
        columns, rows = np.nonzero(acts.T)
        return rows, columns

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives (k, size) of the rows watched."""
        states = [s[self.samples] for s in self._sampler.states(x)]
        return self._sampler.rows(self.samples, self.rows.slopes(self.which, *states))


def _peaks(over: np.ndarray) -> np.ndarray:
    """Return where values (N, p) are no smaller than before and after: the local maxima."""
    padded = np.pad(over, ((1, 1), (0, 0)), constant_values=-np.inf)
    return (over >= padded[:-2]) & (over >= padded[2:])
