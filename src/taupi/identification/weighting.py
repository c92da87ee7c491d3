"""Weighted least squares: the weight of each joint in each file, from the residual of an estimate."""

from __future__ import annotations

import numpy as np

from taupi.identification.equations import Equations, spring_columns
from taupi.identification.problem import Problem, Weights
from taupi.identification.rows.factors import JointFactor, residual_squares
from taupi.identification.solve import WEAK, Solution


def weighted_least_squares(problem: Problem, iterations: int, weak: float = WEAK) -> tuple[Solution, Weights]:
    """Return the solution, and the weights 1 / sigma of each (file, joint), taken anew from the residuals `iterations` times."""
    weights = first_weights(problem)
    solution = problem.solve(weights, weak)
    for _ in range(iterations):
        weights = noise_weights(problem, solution, weights)
        solution = problem.solve(weights, weak)
    return solution, weights


def first_weights(problem: Problem) -> Weights:
    """Return 1 / rms(tau) of each (file, joint): until residuals are known, noise is assumed proportional to torque.

    A link behind a spring has the weight of its motor.
    """
    result: Weights = {}
    for f in problem.factors:
        power = float(f.r[:, -1] @ f.r[:, -1])
        result[f.file, f.joint] = float(np.sqrt(f.rows / power)) if power > 0 else 0.0
    equations = Equations.of(problem.base)
    for file, row in list(result):
        if row in equations.unmeasured:
            result[file, row] = result.get((file, equations.motors[row]), 0.0)
    return result


def noise_weights(problem: Problem, solution: Solution, weights: Weights) -> Weights:
    """Return 1 / sigma, with sigma^2 = |residual|^2 / (rows - the number of parameters that these rows determine).

    The row of a link behind a spring has no measured torque, and smaller parameters leave a smaller residual there, however badly
    they fit. So sigma is the residual's share of the spring's torque, times the spring's torque in the first solution.
    """
    squares, scales = residual_squares(problem.factors, solution.x), spring_scales(problem, solution.x)
    result: Weights = {}
    for f in problem.factors:
        key = (f.file, f.joint)
        power, scale = torque_squares(problem, f, solution.x), scales[key]
        if not f.rows or power == 0 or scale == 0:
            result[key] = 0.0
            continue
        determined = float(np.sum((weights[key] * f.r[:, :-1] @ solution.spread) ** 2))
        freedom = max(f.rows - determined, 0.1 * f.rows)
        # The residual of noiseless torques is rounding error, which says nothing about weights.
        floor = 1e-9 * np.sqrt(power / f.rows)
        result[key] = 1 / max(scale * float(np.sqrt(squares[key] / freedom)), scale * floor)
    return result


def spring_scales(problem: Problem, x: np.ndarray) -> Weights:
    """Return the ratio of the springs' torque in the first solution to that at x; 1 for measured torques."""
    unmeasured = Equations.of(problem.base).unmeasured
    result = {(f.file, f.joint): 1.0 for f in problem.factors}
    if not unmeasured:
        return result
    first = problem.solve(first_weights(problem)).x
    for f in problem.factors:
        power = torque_squares(problem, f, x)
        if f.joint in unmeasured and power > 0:
            result[f.file, f.joint] = float(np.sqrt(torque_squares(problem, f, first) / power))
    return result


def torque_squares(problem: Problem, factor: JointFactor, x: np.ndarray) -> float:
    """Return |tau|^2 of a factor: of the measured torque, or, for a link behind a spring, of the spring's torque at x."""
    places = spring_columns(problem.base, factor.joint)
    torque = factor.r[:, -1] - factor.r[:, places] @ x[places]
    return float(torque @ torque)
