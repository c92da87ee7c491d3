"""Least squares in which arms share some parameters and have others of their own, which are eliminated by QR.

The rows of arm k are [Y_own Y_shared tau]. The first rows of their triangle, [A B c], contain its own parameters; the others,
[0 D d], contain only shared ones, and are stacked over all arms. The normal equations, an arrow matrix, are never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.factors import append_rows, triangle
from taupi.identification.solve import Solution, solve


@dataclass(frozen=True, eq=False)
class ArmTriangle:
    """The triangle of an arm's weighted rows: `top` (o, o + s + 1) with its own parameters, `rest` (m, s + 1) without them."""

    top: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, own: int) -> ArmTriangle:
        """Return the triangle of rows (m, o + s + 1) whose first `own` columns are the arm's own."""
        width = rows.shape[1]
        short = np.zeros((max(width - len(rows), 0), width))
        r = append_rows(np.zeros((0, width)), np.vstack([rows, short]))
        return cls(r[:own], r[own:, own:])

    def with_centres(self, pulls: np.ndarray) -> ArmTriangle:
        """Return the triangle with further shared parameters, the centres of own ones: rows pulls (x - centre) = 0 (o,)."""
        own, shared = len(self.top), self.rest.shape[1] - 1
        none, before = np.zeros((own, own)), np.zeros((len(self.rest), own))
        top = np.column_stack([self.top[:, :-1], none, self.top[:, -1]])
        rest = np.column_stack([before, self.rest[:, :-1], before, self.rest[:, -1]])
        drawn = np.column_stack([np.diag(pulls), np.zeros((own, shared)), -np.diag(pulls), np.zeros(own)])
        return ArmTriangle.of(np.vstack([top, rest, drawn]), own)

    def own_rows(self, shared: np.ndarray) -> np.ndarray:
        """Return the rows [A, c - B shared] (o, o + 1) of its own parameters, for shared ones (s,)."""
        count = len(self.top)
        a, b, c = self.top[:, :count], self.top[:, count:-1], self.top[:, -1]
        return np.column_stack([a, c - b @ shared])


@dataclass(frozen=True, eq=False)
class ArrowSolution:
    """The solution of all arms together.

    Attributes:
        shared: The shared parameters, with A A^T their covariance in units of the weighted rows.
        own: The parameters (k, o) of each arm.
        covariances: Their covariances (k, o, o): A^-1 A^-T, and what the errors of the shared ones add.
        conditional: The part A^-1 A^-T of them (k, o, o), for fixed shared parameters.
        moved: By how much own parameters change with shared ones (k, o, s).
        cross: The covariances (k, o, s) of own with shared parameters.
        undetermined: Which own parameters (k, o) the arm's rows do not determine.
    """

    shared: Solution
    own: np.ndarray
    covariances: np.ndarray
    conditional: np.ndarray
    moved: np.ndarray
    cross: np.ndarray
    undetermined: np.ndarray

    def apart(self, pooled: Sequence[bool]) -> np.ndarray:
        """Return the variances (k, o) of own parameters less those of a typical arm.

        Errors of the shared parameters move all arms, mostly in the same way, which makes no difference between arms.
        """
        different = self.moved - np.mean(self.moved[np.array(pooled)], axis=0)
        by_shared = np.sum((different @ self.shared.spread) ** 2, axis=2)
        return np.einsum("kii->ki", self.conditional) + by_shared


def solve_arrow(
    arms: Sequence[ArmTriangle], pooled: Sequence[bool], prior: np.ndarray, own_prior: np.ndarray
) -> ArrowSolution:
    """Return the solution of arms, the shared parameters being those of the `pooled` ones.

    What no row determines is taken from the `prior` (s,), and from `own_prior` (o,).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(2, 30, 2))
    >>> tau = [y[k] @ [own, 5.0] for k, own in enumerate((1.0, 2.0))]
    >>> arms = [ArmTriangle.of(np.column_stack([y[k], tau[k]]), 1) for k in range(2)]
    >>> solution = solve_arrow(arms, [True, True], np.zeros(1), np.zeros(1))
    >>> solution.shared.x.round(6).tolist(), solution.own.round(6).tolist()
    ([5.0], [[1.0], [2.0]])
    """
    used = [arm.rest for arm, is_used in zip(arms, pooled, strict=True) if is_used]
    shared = solve(triangle(np.vstack(used)), prior)
    covariance = shared.spread @ shared.spread.T
    own, conditional, moved, undetermined = [], [], [], []
    for arm in arms:
        solution = solve(arm.own_rows(shared.x), own_prior)
        conditional.append(solution.spread @ solution.spread.T)
        inverse = conditional[-1] @ arm.top[:, : len(own_prior)].T  # A^-1 where A has one
        moved.append(-inverse @ arm.top[:, len(own_prior) : -1])
        own.append(solution.x)
        undetermined.append(solution.undetermined)
    by_shared, conditioned = np.array(moved), np.array(conditional)
    cross = by_shared @ covariance
    total = conditioned + cross @ by_shared.transpose(0, 2, 1)
    return ArrowSolution(shared, np.array(own), total, conditioned, by_shared, cross, np.array(undetermined))
