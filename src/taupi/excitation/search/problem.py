"""The design as a problem in the coefficients of a motion: an objective with its gradient, linear rows, rows at samples."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from taupi.excitation.criteria.criteria import Criterion
from taupi.excitation.criteria.information import Information
from taupi.excitation.limits.motion_limits import LinearRows
from taupi.excitation.limits.sampled_rows import SampledRows
from taupi.excitation.motions.families import Family

# Replaces an infinite criterion, of a motion that does not show all parameters, so that a line search turns back.
UNSEEN = 1e6


class Sampler:
    """A family's motion at times: states B_k c from coefficients x, and gradients by x from gradients by states."""

    def __init__(self, family: Family, n: int, times: np.ndarray, orders: Sequence[int]) -> None:
        self.shape = (family.count, n)
        self.bases = [family.sampled(times, order) for order in orders]
        # Which coefficients act at each time: few, for a B-spline.
        self.acting = sum(np.abs(b) for b in self.bases) > 1e-14

    def states(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the states (N, n) of coefficients x."""
        c = x.reshape(self.shape)
        return [basis @ c for basis in self.bases]

    def pulled(self, slopes: Sequence[np.ndarray]) -> np.ndarray:
        """Return the gradient with respect to x of a number with these slopes (N, n) of the states."""
        return np.asarray(sum(b.T @ s for b, s in zip(self.bases, slopes, strict=True))).ravel()

    def rows(self, samples: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the Jacobian (k, x) of numbers at samples (k,) with slopes (orders, k, n)."""
        result = sum(b[samples][:, :, None] * s[:, None, :] for b, s in zip(self.bases, slopes, strict=True))
        return np.asarray(result).reshape(len(samples), -1)


@dataclass(frozen=True, eq=False)
class DesignProblem:
    """Minimise a criterion over the coefficients x (count n,) of a family's motion, within rows."""

    family: Family
    n: int
    times: np.ndarray
    information: Information
    criterion: Criterion
    linear: LinearRows
    sampled: tuple[SampledRows, ...] = ()
    _sampler: Sampler = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sampler", Sampler(self.family, self.n, self.times, (0, 1, 2)))

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.family.count * self.n

    def states(self, x: np.ndarray) -> list[np.ndarray]:
        """Return q, qd, qdd (N, n) at the samples of the criterion."""
        return self._sampler.states(x)

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """Return the information G (b, b)."""
        return self.information.matrix(*self.states(x))

    def value(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the criterion and its gradient (size,)."""
        slope = self.information.gradient(self.criterion, *self.states(x))
        if slope is None:
            return UNSEEN, np.zeros(self.size)
        return slope.phi, self._sampler.pulled(slope[1:])

    def phi(self, x: np.ndarray) -> float:
        """Return the criterion alone, which needs no program for its gradient."""
        value = self.criterion(self.matrix(x))
        return UNSEEN if value is None else value.phi

    def start(self, rng: np.random.Generator, share: float = 0.5) -> np.ndarray:
        """Return a random motion about the middle, each coordinate scaled to a share of the way to its first limit."""
        directions = self.family.random(self.n, rng)
        x = self.linear.centre.copy()
        for k in range(self.n):
            alone = np.zeros(directions.shape)
            alone[:, k] = directions[:, k]
            reach = self.linear.reach(alone.ravel())
            x += share * (reach if np.isfinite(reach) else 0.0) * alone.ravel()
        return self.linear.inside(x)


# How far beyond a limit a row may be and still count as kept: IPOPT's own tolerance, with room.
KEPT = 1e-5
# Watched rows are dropped when they are this many times as far from their limit as those that are added.
_FAR = 1.5
# How near to their limit rows are watched, as a share of how far the worst one is beyond it.
_WIDER = 0.5
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
        # The farther a motion went beyond, the more rows could come next.
        band = max(self.rows.band, _WIDER * float(over.max()))
        near = (over > -band) & peaks
        # A row that is pushed back inside its limit will come near it slightly earlier and later.
        late, place = np.nonzero(peaks & (over > 0))
        for step in (-_BESIDE, _BESIDE):
            near[np.clip(late + step, 0, len(over) - 1), place] = True
        near[self.samples, self.which] |= over[self.samples, self.which] > -_FAR * band
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
