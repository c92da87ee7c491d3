"""Robust regression: rows with large residuals count less."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from taupi.checks import not_negative, positive, whole_number
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import uncertainty
from taupi.identification.rows.factors import stack_factors
from taupi.identification.rows.row_maker import Rows
from taupi.identification.solve import Weights
from taupi.identification.weighting import WeightedRows, spring_scales, transformed_factors, weighted_least_squares

# For each (file, joint), the noise is estimated from this many residuals, up to twice as many.
_MOST = 100_000
# The share of the residuals from which the noise is taken, and how many standard deviations of Gaussian noise it reaches to. With
# the median, a joint that stands still half of the time would have the noise of standstill, and all motion would be an outlier.
_CENTRAL, _REACH = 0.8, 1.2816


@dataclass(frozen=True, slots=True)
class Huber:
    """Minimise sum rho((Y_b x - tau) / sigma), with rho quadratic up to k and linear beyond (Huber 1964).

    Solved by iterated weights min(1, k / |residual / sigma|), where 80 % of the absolute residuals of a joint in a file are below
    1.2816 sigma, as for Gaussian noise: up to a fifth of them may be outliers. Each iteration passes twice over the logs.

    Attributes:
        k: Where rho becomes linear, in units of sigma. With 1.345, the default, it is 95 % as efficient as least squares for
            Gaussian noise.
        iterations: The largest number of iterations; 50 by default.
        tolerance: It stops when no parameter moves by more than this share of its standard error; 0.01 by default.
    """

    k: float = 1.345
    iterations: int = 50
    tolerance: float = 1e-2
    name: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        positive("k", self.k)
        whole_number("iterations", self.iterations)
        not_negative("tolerance", self.tolerance)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        solution, _ = weighted_least_squares(problem, 2)
        sigma, weights = Weights(), Weights()
        step = np.inf
        pieces = problem.pieces
        for _ in range(self.iterations):
            sigma = _noise_scales(problem, solution.x)
            weigh = partial(self._weigh, sigma=sigma, x=solution.x)
            pieces = transformed_factors(problem, weigh)
            weights = {key: 1 / s for key, s in sigma.items() if s > 0}
            before, solution = solution, problem.solve(weights, rows=stack_factors(pieces))
            error = np.linalg.norm(solution.spread, axis=1)
            step = float(np.max(np.abs(solution.x - before.x) / np.where(error > 0, error, np.inf), initial=0.0))
            if step < self.tolerance:
                break
        notes = [] if step < self.tolerance else [
            f"huber: still moving by {step:.2g} standard errors after {self.iterations} iterations."
        ]  # fmt: skip
        uncertain = uncertainty(pieces, {}, solution.x, solution.spread)
        wider = self._widening(problem, sigma, solution.x) ** 2
        uncertain = replace(uncertain, covariance=wider * uncertain.covariance)
        return assemble(
            problem, self.name, asdict(self), solution, weights, pieces=pieces, uncertain=uncertain, notes=notes
        )

    def _widening(self, problem: Problem, sigma: Weights, x: np.ndarray) -> float:
        """Return sum w / sum psi', with w = psi(r) / r: the factor by which iterated weights understate standard errors.

        The covariance of an M-estimator is H^-1 (sum psi^2 y y^T) H^-1 with H = sum psi' y y^T (Huber 1964). A row beyond k has
        psi' = 0, but still a weight w, so that weights overstate H.
        """
        weight = slope = 0.0
        for file in range(len(problem.recordings)):
            for rows in problem.rows(file):
                scale = np.array([sigma[file, j] for j in range(rows.tau.shape[1])])
                residual = (np.abs(rows.residual(x)) / scale)[rows.use]
                weight += float(np.sum(np.minimum(1.0, self.k / np.maximum(residual, 1e-300))))
                slope += float(np.sum(residual <= self.k))
        return weight / max(slope, 1.0)

    def _weigh(self, file: int, rows: Rows, sigma: Weights, x: np.ndarray) -> WeightedRows:
        """Return rows divided by sigma and multiplied by the square root of their Huber weight at x."""
        scale = np.array([sigma[file, j] for j in range(rows.tau.shape[1])])
        residual = np.abs(rows.residual(x)) / scale
        root = np.sqrt(np.minimum(1.0, self.k / np.maximum(residual, 1e-300))) / scale
        return rows.y * root.T, rows.tau * root


class ThinnedValues:
    """An evenly spread sample of any number of values: whenever 200 000 are held, every second one is dropped.

    >>> import numpy as np
    >>> sample = ThinnedValues()
    >>> for k in range(3):
    ...     sample.add(np.arange(5) + 5 * k)
    >>> len(sample.values)
    15
    """

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._count = self._total = 0
        self._step = 1

    def add(self, values: np.ndarray) -> None:
        """Add values."""
        self._parts.append(values[-self._total % self._step :: self._step])
        self._total += len(values)
        self._count += len(self._parts[-1])
        while self._count >= 2 * _MOST:
            self._parts = [self.values[::2]]
            self._count, self._step = len(self._parts[0]), 2 * self._step

    @property
    def values(self) -> np.ndarray:
        """The sample."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0)


def _noise_scales(problem: Problem, x: np.ndarray) -> Weights:
    """Return sigma of each (file, joint): 80 % of its absolute residuals are smaller than 1.2816 sigma."""
    result: Weights = {}
    scales = spring_scales(problem, x)
    for f in range(len(problem.recordings)):
        samples = [ThinnedValues() for _ in range(problem.regressor.outputs[0].shape[0])]
        largest = np.zeros(len(samples))
        for rows in problem.rows(f):
            residual = np.abs(rows.residual(x))
            largest = np.maximum(largest, np.abs(rows.tau).max(axis=0))
            for j, sample in enumerate(samples):
                sample.add(residual[rows.use[:, j], j])
        for j, sample in enumerate(samples):
            floor = max(1e-9 * largest[j], 1e-300)
            scale = scales[f, j] or 1.0
            result[f, j] = (
                max(scale * float(np.quantile(sample.values, _CENTRAL)) / _REACH, floor) if len(sample.values) else 1.0
            )
    return result
