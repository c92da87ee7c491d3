"""Weighted least squares: each joint of each file by its own noise, or by the noise's covariance between joints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import Weights, assemble, torque_squares
from taupi.identification.results.fit import Fit
from taupi.identification.rows.equations import Equations
from taupi.identification.rows.factors import residual_squares, stacked
from taupi.identification.rows.whitening import whitened
from taupi.identification.solve import WEAK, Solution, check_weak, solve


@dataclass(frozen=True, slots=True)
class WeightedLeastSquares:
    """Minimise sum |S^-1/2 (Y_b x - tau)|^2, S from the residuals, joint by joint and file by file (Gautier & Poignet 2001).

    `iterations` of solving and taking the noise from what is left. `covariance="full"` then whitens the rows by the
    covariance between the joints of a file, in one more pass over the runs. Combinations of unit columns shorter than `weak`
    times the longest are taken from the prior.
    """

    iterations: int = 5
    covariance: str = "diagonal"
    weak: float = WEAK
    name: ClassVar[str] = "wls"

    def __post_init__(self) -> None:
        if self.covariance not in ("diagonal", "full"):
            raise unknown("covariance", str(self.covariance), ("diagonal", "full"))
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 0:
            raise TaupiError(f"iterations is {self.iterations!r}, expected a whole number of at least 0.")
        check_weak(self.weak)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        solution, weights = weighted(problem, self.iterations, self.weak)
        if self.covariance == "full":
            pieces = whitened(problem, solution.x)
            solution = solve(stacked(pieces), problem.prior_base, problem.metric, self.weak)
            return assemble(problem, self.name, asdict(self), solution, weights, pieces=pieces)
        return assemble(problem, self.name, asdict(self), solution, weights)


def weighted(problem: Problem, iterations: int, weak: float = WEAK) -> tuple[Solution, Weights]:
    """Return the solution and the weights 1 / sigma of each (file, joint)."""
    weights = first_weights(problem)
    solution = solve(stacked(problem.factors, weights), problem.prior_base, problem.metric, weak)
    for _ in range(iterations):
        weights = noise_weights(problem, solution, weights)
        solution = solve(stacked(problem.factors, weights), problem.prior_base, problem.metric, weak)
    return solution, weights


def first_weights(problem: Problem) -> Weights:
    """Return 1 / rms(tau) of each (file, joint): before residuals are known, noise is taken to be in proportion.

    A link behind a spring has the weight of its motor.
    """
    result: Weights = {}
    for f in problem.factors:
        power = float(f.r[:, -1] @ f.r[:, -1])
        result[f.file, f.joint] = float(np.sqrt(f.rows / power)) if power > 0 else 0.0
    rows = Equations.of(problem.base)
    for (file, row), _ in list(result.items()):
        if row in rows.free:
            result[file, row] = result.get((file, rows.motors[row]), 0.0)
    return result


def noise_weights(problem: Problem, solution: Solution, weights: Weights) -> Weights:
    """Return 1 / sigma with sigma^2 = |residual|^2 / (rows - the parameters that these rows have decided).

    The row of a link behind a spring has no measured torque: smaller parameters leave less of it, whatever they explain. There
    sigma is the residual's share of the spring's torque, times that torque as it was before residuals were known.
    """
    squares, scales = residual_squares(problem.factors, solution.x), spring_scales(problem, solution.x)
    result: Weights = {}
    for f in problem.factors:
        key = (f.file, f.joint)
        power, scale = torque_squares(problem, f, solution.x), scales[key]
        if not f.rows or power == 0 or scale == 0:
            result[key] = 0.0
            continue
        decided = float(np.sum((weights[key] * f.r[:, :-1] @ solution.spread) ** 2))
        free = max(f.rows - decided, 0.1 * f.rows)
        # Torques without noise leave rounding errors, which say nothing about weights.
        floor = 1e-9 * np.sqrt(power / f.rows)
        result[key] = 1 / max(scale * float(np.sqrt(squares[key] / free)), scale * floor)
    return result


def spring_scales(problem: Problem, x: np.ndarray) -> Weights:
    """Return by what the torque of springs at x is to be multiplied to be that of the first solution; 1 for measured torques."""
    free = Equations.of(problem.base).free
    result = {(f.file, f.joint): 1.0 for f in problem.factors}
    if not free:
        return result
    first = solve(stacked(problem.factors, first_weights(problem)), problem.prior_base, problem.metric).x
    for f in problem.factors:
        power = torque_squares(problem, f, x)
        if f.joint in free and power > 0:
            result[f.file, f.joint] = float(np.sqrt(torque_squares(problem, f, first) / power))
    return result
