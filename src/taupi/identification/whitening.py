"""Further passes over the logs: rows whitened by the covariance between joints, or weighted one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taupi.identification.problem import Problem
from taupi.identification.rows.factors import Compressor, JointFactor
from taupi.identification.rows.row_maker import Rows
from taupi.identification.rows.workers import Workers
from taupi.threads import small_algebra

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
