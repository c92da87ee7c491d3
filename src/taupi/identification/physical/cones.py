"""Convex problems over cones, in the form that Clarabel takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_TOLERANCE = 1e-10  # of the solver, on data scaled to about one: near what doubles leave after a factorisation
_LOOSE = 1e-5  # of the optimum, where rounding stops the solver early; that x is in the cone is seen to afterwards
# What the solver says of an optimum, and how it is told.
_GOOD = {"Solved": "solved", "AlmostSolved": "solved, if to fewer digits than asked for"}


@dataclass(frozen=True, eq=False)
class Cone:
    """The x (p,) with rows x + offset >= 0 and each block x + start, as a symmetric 4 x 4 matrix, positive semidefinite."""

    rows: np.ndarray  # (m, p)
    offset: np.ndarray  # (m,)
    blocks: tuple[np.ndarray, ...]  # (10, p) each: the upper triangle by columns, off the diagonal times sqrt(2)
    start: tuple[np.ndarray, ...]  # (10,) each

    @property
    def size(self) -> int:
        """How many numbers x has."""
        return int(self.rows.shape[1])

    def slack(self, x: np.ndarray) -> np.ndarray:
        """Return what is left to each constraint at x: the rows' values, then the smallest eigenvalue of each block."""
        smallest = [np.linalg.eigvalsh(unpacked(b @ x + s))[0] for b, s in zip(self.blocks, self.start, strict=True)]
        return np.concatenate([self.rows @ x + self.offset, smallest])

    def along(self, origin: np.ndarray, basis: np.ndarray) -> Cone:
        """Return the set of y with origin + basis y in this one."""
        starts = tuple(s + b @ origin for b, s in zip(self.blocks, self.start, strict=True))
        blocks = tuple(b @ basis for b in self.blocks)
        return Cone(self.rows @ basis, self.offset + self.rows @ origin, blocks, starts)


@dataclass(frozen=True, eq=False)
class Solution:
    """What the solver found: x, the multipliers of rows and blocks (a norm each, as `Cone.slack` has them), its last word,
    and whether x is the optimum."""

    x: np.ndarray
    multipliers: np.ndarray
    dual: np.ndarray
    word: str
    ok: bool


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric 4 x 4 matrix as ten numbers with the same norm: the upper triangle by columns."""
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(4) for i in range(j + 1)])


def unpacked(ten: np.ndarray) -> np.ndarray:
    """Return the matrix of `packed`."""
    result, k = np.zeros((4, 4)), 0
    for j in range(4):
        for i in range(j + 1):
            result[i, j] = result[j, i] = ten[k] / (1.0 if i == j else np.sqrt(2.0))
            k += 1
    return result


def nearest(cone: Cone, a: np.ndarray, z: np.ndarray, mu: np.ndarray, x0: np.ndarray) -> Solution:
    """Return the x of a cone that minimises 1/2 |a x - z|^2 + 1/2 sum_k mu_k (x_k - x0_k)^2.

    The residual is a variable of its own, so that the solver factorises a and not a^T a. Columns of a (k, p) should be scaled.
    """
    from scipy import sparse

    k = len(a)
    hessian = sparse.diags(np.concatenate([mu, np.ones(k)])).tocsc()
    linear = np.concatenate([-mu * x0, np.zeros(k)])
    residual = sparse.hstack([sparse.csc_matrix(a), -sparse.eye(k)])
    return _solve(hessian, linear, residual, z, cone)


def within(cone: Cone, a: np.ndarray, z: np.ndarray, radius: float, x0: np.ndarray) -> Solution:
    """Return the x of a cone nearest to x0 among those with |a x - z| <= radius."""
    from scipy import sparse

    p = cone.size
    ball = np.vstack([np.zeros(p), a]) / radius, np.append(1.0, -z / radius)
    return _solve(sparse.eye(p).tocsc(), -x0, sparse.csc_matrix((0, p)), np.zeros(0), cone, ball)


def deepest(cone: Cone, x0: np.ndarray, weight: float = 1e-6) -> tuple[np.ndarray, float]:
    """Return x and its depth s <= 1: that of the largest s with rows x + offset >= s, each block >= s 1, near x0.

    The pull to x0, `weight` / 2 |x - x0|^2, keeps x finite. A negative depth means that the cone is empty.
    """
    from scipy import sparse

    p, identity = cone.size, packed(np.eye(4))
    hessian = sparse.diags(np.append(np.full(p, weight), 0.0)).tocsc()
    linear = np.append(-weight * x0, -1.0)
    deep = Cone(
        np.vstack([np.column_stack([cone.rows, -np.ones(len(cone.rows))]), np.append(np.zeros(p), -1.0)]),
        np.append(cone.offset, 1.0),
        tuple(np.column_stack([b, -identity]) for b in cone.blocks),
        cone.start,
    )
    found = _solve(hessian, linear, sparse.csc_matrix((0, p + 1)), np.zeros(0), deep)
    x = found.x[:p]
    return x, float(cone.slack(x).min()) if found.ok and np.isfinite(x).all() else -np.inf


def _solve(
    hessian: Any,
    linear: np.ndarray,
    equal: Any,
    right: np.ndarray,
    cone: Cone,
    ball: tuple[np.ndarray, np.ndarray] | None = None,
) -> Solution:
    """Return the minimum of 1/2 v^T hessian v + linear^T v with equal v = right and the first numbers of v in the cone.

    With a `ball` (c, d), c x + d has a first number no less than the norm of the others.
    """
    import clarabel
    from scipy import sparse

    round_, ahead = ball if ball is not None else (np.zeros((0, cone.size)), np.zeros(0))
    inside = sparse.csc_matrix(np.vstack([-cone.rows, *(-b for b in cone.blocks), -round_]))
    beyond = sparse.csc_matrix((inside.shape[0], len(linear) - cone.size))
    matrix = sparse.vstack([equal, sparse.hstack([inside, beyond])]).tocsc()
    offset = np.concatenate([right, cone.offset, *cone.start, ahead])
    kinds = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(len(cone.rows))]
    kinds += [clarabel.PSDTriangleConeT(4) for _ in cone.blocks]
    kinds += [clarabel.SecondOrderConeT(len(ahead))] if len(ahead) else []
    answer = clarabel.DefaultSolver(hessian, linear, matrix, offset, kinds, _settings()).solve()
    m = len(cone.rows)
    dual = np.array(answer.z)[len(right) : len(right) + m + 10 * len(cone.blocks)]
    norms = [np.linalg.norm(dual[m + 10 * i : m + 10 * (i + 1)]) for i in range(len(cone.blocks))]
    said = str(answer.status)
    multipliers = np.concatenate([np.abs(dual[:m]), norms])
    return Solution(np.array(answer.x)[: cone.size], multipliers, dual, _GOOD.get(said, said), said in _GOOD)


def _settings() -> Any:
    import clarabel

    result = clarabel.DefaultSettings()
    result.verbose = False
    result.max_threads = 1
    result.max_iter = 200
    result.tol_feas = result.tol_gap_abs = result.tol_gap_rel = _TOLERANCE
    result.reduced_tol_feas = result.reduced_tol_gap_abs = result.reduced_tol_gap_rel = _LOOSE
    # Whether there is anything in a cone is known before (`deepest`): certificates of the contrary come from rounding.
    result.tol_infeas_abs = result.tol_infeas_rel = 1e-15
    return result
