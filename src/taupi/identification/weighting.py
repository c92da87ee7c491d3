"""Weighted least squares: the weight of each joint in each file, or their covariance, from the residual of an estimate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.identification.problem import Problem
from taupi.identification.row_layout import RowLayout, spring_columns
from taupi.identification.rows.factors import Compressor, JointFactor, residual_squares
from taupi.identification.rows.row_maker import Rows
from taupi.identification.rows.workers import Workers
from taupi.identification.solve import WEAK, Solution, Weights
from taupi.threads import small_algebra

# Share of a joint's noise over all files in the noise assumed for one file.
_SHARED = 0.5


def weighted_least_squares(problem: Problem, iterations: int, weak: float = WEAK) -> tuple[Solution, Weights]:
    """Return the solution, and the weights 1 / sigma of each (file, joint), updated from the residuals `iterations` times."""
    weights = first_weights(problem)
    solution = problem.solve(weights, weak)
    for _ in range(iterations):
        weights = noise_weights(problem, solution, weights)
        solution = problem.solve(weights, weak)
    return solution, weights


def first_weights(problem: Problem) -> Weights:
    """Return 1 / rms(tau) of each joint over all files: until residuals are known, noise is assumed proportional to torque.

    A joint without torque in a file has no weight there; a link behind a spring has the weight of its motor.
    """
    rows: dict[int, int] = {}
    powers: dict[int, float] = {}
    for f in problem.factors:
        rows[f.joint] = rows.get(f.joint, 0) + f.rows
        powers[f.joint] = powers.get(f.joint, 0.0) + _power(problem, f)
    result: Weights = {
        (f.file, f.joint): float(np.sqrt(rows[f.joint] / powers[f.joint])) if _power(problem, f) > 0 else 0.0
        for f in problem.factors
    }
    layout = RowLayout.of(problem.base)
    for file, row in list(result):
        if row in layout.unmeasured:
            result[file, row] = result.get((file, layout.motors[row]), 0.0)
    return result


def noise_weights(problem: Problem, solution: Solution, weights: Weights) -> Weights:
    """Return 1 / sigma, with sigma_ij^2 = (s_j^2 + s_ij^2) / 2 for joint j in file i.

    s_ij^2 is the noise of the joint in that file, as in `noise_variances`, and s_j^2 the same over all files. A file in which a
    joint hardly needs torque is explained well by parameters that are zero; with its own weight, it would pull them there.
    So no file has more than twice the weight of its joint's mean, in squares; a file with more noise may have much less.
    """
    own = noise_variances(problem, solution, weights)
    sums: dict[int, tuple[float, float]] = {}  # of squares and of degrees of freedom, by joint
    for (_, joint), (variance, freedom) in own.items():
        squares, total = sums.get(joint, (0.0, 0.0))
        sums[joint] = squares + freedom * variance, total + freedom
    shared = {joint: squares / max(total, 1e-300) for joint, (squares, total) in sums.items()}
    return {
        key: 1 / float(np.sqrt(_SHARED * shared[key[1]] + (1 - _SHARED) * variance)) if freedom else 0.0
        for key, (variance, freedom) in own.items()
    }


def noise_variances(
    problem: Problem, solution: Solution, weights: Weights
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return s^2 = |residual|^2 / freedom of each (file, joint), and the freedom: rows (1 - k / N).

    k parameters are determined by N independent rows.

    The freedom is 0 where there is no torque. The row of a link behind a spring has no measured torque, and smaller parameters
    leave a smaller residual there, however badly they fit. So s is the residual's share of the spring's torque, times the
    spring's torque in the first solution.
    """
    squares, scales = residual_squares(problem.factors, solution.x), spring_scales(problem, solution.x)
    result: dict[tuple[int, int], tuple[float, float]] = {}
    for f in problem.factors:
        key = (f.file, f.joint)
        power, scale = torque_squares(problem, f, solution.x), scales[key]
        if not f.rows or power == 0 or scale == 0:
            result[key] = 0.0, 0.0
            continue
        determined = float(np.sum((weights[key] * f.r[:, :-1] @ solution.spread) ** 2))
        freedom = f.rows * max(1 - determined / f.independent, 0.1)
        # The residual of noiseless torques is rounding error, which says nothing about weights.
        floor = 1e-18 * power / f.rows
        result[key] = scale**2 * max(squares[key] / freedom, floor), freedom
    return result


def _power(problem: Problem, factor: JointFactor) -> float:
    """Return |tau|^2 of a factor; of the rows of a floating base, which no motor drives, that of the prior's torque."""
    if _of_base(problem, factor):
        return torque_squares(problem, factor, problem.prior_base)
    return float(factor.r[:, -1] @ factor.r[:, -1])


def spring_scales(problem: Problem, x: np.ndarray) -> Weights:
    """Return the ratio of the springs' torque in the first solution to that at x; 1 for measured torques."""
    unmeasured = RowLayout.of(problem.base).unmeasured
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
    """Return |tau|^2 of a factor: of the measured torque, or, for a link behind a spring, of the spring's torque at x.

    The rows of a floating base have no torque except that of contacts. For them, the torque that the prior needs is used.
    """
    if _of_base(problem, factor):
        needed = factor.r[:, :-1] @ problem.prior_base
        return float(needed @ needed)
    places = spring_columns(problem.base, factor.joint)
    torque = factor.r[:, -1] - factor.r[:, places] @ x[places]
    return float(torque @ torque)


def _of_base(problem: Problem, factor: JointFactor) -> bool:
    """Return whether a factor is that of a row of a floating base."""
    return factor.joint < RowLayout.of(problem.base).base_rows


WeightedRows = tuple[np.ndarray, np.ndarray]  # y (p, n, m), tau (m, n)


@small_algebra
def transformed_factors(problem: Problem, change: Callable[[int, Rows], WeightedRows]) -> tuple[JointFactor, ...]:
    """Return the factors of all logs, stretch by stretch, after `change(file, rows)`; files are processed in parallel."""
    n, p = problem.regressor.outputs[0].shape[0], len(problem.names)

    def factors(file: int) -> list[JointFactor]:
        compressor = Compressor(np.ones((n, p), dtype=bool), problem.recordings[file].independent_share)
        for rows in problem.rows(file):
            workers.check()
            compressor.add(*change(file, rows), rows.use)
        return compressor.result(file)

    with Workers(len(problem.recordings)) as workers:
        return tuple(f for part in workers.map(factors, range(len(problem.recordings))) for f in part)


@small_algebra
def residual_covariance(problem: Problem, x: np.ndarray) -> list[np.ndarray]:
    """Return, for each file, the covariance (n, n) of the joints' residuals, each pair over the samples that both joints use."""
    result = []
    for file in range(len(problem.recordings)):
        n = problem.regressor.outputs[0].shape[0]
        products, counts = np.zeros((n, n)), np.zeros((n, n))
        for rows in problem.rows(file):
            residual = np.where(rows.use, rows.residual(x), 0.0)
            products += residual.T @ residual
            counts += rows.use.T.astype(float) @ rows.use
        result.append(_positive(products / np.maximum(counts, 1.0)))
    return result


def whitened_factors(problem: Problem, x: np.ndarray) -> tuple[JointFactor, ...]:
    """Return the factors of L^-1 Y, L^-1 tau, with S = L L^T the covariance of the residuals of a file's joints at x.

    A sample in which some joints are not used is whitened by the covariance of those that are.
    """
    covariance = residual_covariance(problem, x)

    def change(file: int, rows: Rows) -> WeightedRows:
        y, tau, use = rows.y.copy(), rows.tau.copy(), rows.use
        for pattern in np.unique(use, axis=0):
            at = np.flatnonzero((use == pattern).all(axis=1))
            joints = np.flatnonzero(pattern)
            if not len(joints):
                continue
            half = np.linalg.inv(np.linalg.cholesky(covariance[file][np.ix_(joints, joints)]))
            place = np.ix_(np.arange(len(y)), joints, at)
            y[place] = np.einsum("ij,pjm->pim", half, y[place])
            tau[np.ix_(at, joints)] = tau[np.ix_(at, joints)] @ half.T
        return y, tau

    return transformed_factors(problem, change)


def _positive(s: np.ndarray) -> np.ndarray:
    """Return the nearest covariance whose correlation matrix has no eigenvalue below 1e-3.

    Entries that are computed over different samples need not form a positive definite matrix.
    """
    size = np.sqrt(np.where(np.diag(s) > 0, np.diag(s), 1.0))
    values, vectors = np.linalg.eigh(s / np.outer(size, size))
    return np.outer(size, size) * ((vectors * np.clip(values, 1e-3, None)) @ vectors.T)
