"""The design as a problem in the coefficients of a motion: an objective with its gradient, linear rows, rows at samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from taupi.excitation.criteria.criteria import Criterion
from taupi.excitation.criteria.information import Information
from taupi.excitation.limits.linear_rows import LinearRows
from taupi.excitation.limits.sampled_rows import SampledRows
from taupi.excitation.motions.family import Family

# Replaces an infinite criterion, of a motion that does not show all parameters, so that a line search turns back.
UNSEEN = 1e6


class Sampler:
    """A family's motion at times: states B_k c from coefficients x, and gradients with respect to x from those of states."""

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
