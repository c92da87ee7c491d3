"""Weights of joints and files, from what an estimate leaves of their torque."""

from __future__ import annotations

import numpy as np

from taupi.identification.equations import Equations, spring_columns
from taupi.identification.problem import Problem
from taupi.identification.rows.factors import JointFactor, residual_squares, stacked
from taupi.identification.solve import WEAK, Solution, solve

Weights = dict[tuple[int, int], float]  # by (file, joint)


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


def torque_squares(problem: Problem, factor: JointFactor, x: np.ndarray) -> float:
    """Return |tau|^2 of a factor: of the measured torque, or of what the spring passes on to a link at x."""
    places = spring_columns(problem.base, factor.joint)
    torque = factor.r[:, -1] - factor.r[:, places] @ x[places]
    return float(torque @ torque)
