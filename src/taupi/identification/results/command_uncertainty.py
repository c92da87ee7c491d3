"""How certain parameters are that were found by simulating closed loops."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from taupi.identification.commands.solver import CORRELATED, LeastSquares
from taupi.identification.results.uncertainty import uncertainty
from taupi.identification.rows.factors import JointFactor

# Standard errors in units of a parameter's scale: a combination is not determined if it could account for all torque.
_FREE = 1.0
# Share of what is known of a combination that comes from the logs, and not from its prior, below which they say nothing of it.
_NOTHING = 0.01


@dataclass(frozen=True, eq=False)
class Spread:
    """How certain the parameters are.

    Attributes:
        covariance: Robust to related residuals (p, p); without what the logs do not see at all.
        freedom: The degrees of freedom of intervals (p,).
        white: Standard errors (p,) as they would be if residuals were unrelated.
        free: Combinations of parameters (k, p), in units of their scales, that the logs do not determine.
        undetermined: Which parameters take part in such a combination (p,).
    """

    covariance: np.ndarray
    freedom: np.ndarray
    white: np.ndarray
    free: np.ndarray
    undetermined: np.ndarray

    def without(self, unknown: np.ndarray) -> Spread:
        """Return the spread with the `unknown` parameters (p,) set apart, whatever a simulation without noise says of them."""
        new = unknown & ~self.undetermined
        kept = np.where(unknown, 0.0, 1.0)
        return dataclasses.replace(
            self,
            covariance=self.covariance * kept[:, None] * kept,
            free=np.vstack([self.free, np.eye(len(new))[new]]),
            undetermined=self.undetermined | unknown,
        )


def spread_of(problem: LeastSquares, x: np.ndarray) -> Spread:
    """Return the uncertainty of parameters (p,) as `uncertainty` has it for torques: stretches of a second count as one.

    Residuals are those of the problem that is linear about x. What is not determined is set apart.
    """
    p, scale = len(x), problem.model.column("scale")
    prior = (scale / problem.model.column("spread")) ** 2
    matrix, count, squares, pieces = np.zeros((p, p)), 0, 0.0, list[JointFactor]()
    for file, stretch in enumerate(problem.stretches):
        residual, slope = problem.slopes(x, stretch)
        weight = problem.weights(residual)
        rows = slope.reshape(-1, p)
        matrix += rows.T @ (rows * weight.reshape(-1, 1))
        count += rows.shape[0]
        squares += float(np.sum(weight * residual**2))
        both = np.concatenate([slope, residual[:, :, None]], axis=2) * np.sqrt(weight)[:, :, None]
        parts = np.array_split(both, max(1, round(stretch.duration / CORRELATED)))
        pieces += [
            JointFactor(file, joint, np.asarray(np.linalg.qr(part[:, joint], mode="r")), len(part), stretch=k)
            for k, part in enumerate(parts)
            for joint in range(part.shape[1])
        ]
    information = matrix + np.diag(prior)
    values, vectors = np.linalg.eigh(information)
    known = values > max(values.max(initial=0.0), 1e-300) * 1e-13
    root = vectors[:, known] / np.sqrt(values[known])
    found = uncertainty(pieces, {}, np.zeros(p), root)
    inverse = root @ root.T
    robust = found.covariance + (inverse * prior) @ inverse
    # Of the combinations that are left, those whose robust standard error exceeds their scale are as good as free, and so are
    # those that only their prior holds.
    spread, seen = (np.einsum("ik,ij,jk->k", vectors, part, vectors) for part in (robust, matrix))
    free = vectors[:, ~known | (spread > _FREE**2) | (seen < _NOTHING * values)].T
    # What they leave open stays in the covariance of the others: a projection would hide it.
    covariance = robust * scale[:, None] * scale
    taking_part = (free**2).sum(axis=0) > 0.01
    noise = squares / max(count - p, 1)
    white = np.sqrt(np.clip(np.diag(inverse) * noise, 0, None)) * scale
    return Spread((covariance + covariance.T) / 2, found.freedom, white, free, taking_part)
