"""Convex problems over cones, in the form that Clarabel takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_TOLERANCE = 1e-10  # of the solver, on data scaled to about one: near the accuracy of a factorisation in doubles
_LOOSE = 1e-5  # of the optimum, if rounding stops the solver early; x is then moved into the cone
# The solver's statuses for an optimum, in words.
_GOOD = {"Solved": "solved", "AlmostSolved": "solved to fewer digits than asked for"}

SparseMatrix = Any  # scipy.sparse, which is imported when it is needed


@dataclass(frozen=True, eq=False)
class Cone:
    """The x (p,) for which rows x + offset >= 0, and each block x + start is a positive semidefinite 4 x 4 matrix."""

    rows: np.ndarray  # (m, p)
    offset: np.ndarray  # (m,)
    blocks: tuple[np.ndarray, ...]  # (10, p) each: the upper triangle by columns, off the diagonal times sqrt(2)
    start: tuple[np.ndarray, ...]  # (10,) each

    @property
    def size(self) -> int:
        """The dimension of x."""
        return int(self.rows.shape[1])

    def slack(self, x: np.ndarray) -> np.ndarray:
        """Return the slack of each constraint at x: the values of the rows, then the smallest eigenvalue of each block."""
        smallest = [np.linalg.eigvalsh(unpacked(b @ x + s))[0] for b, s in zip(self.blocks, self.start, strict=True)]
        return np.concatenate([self.rows @ x + self.offset, smallest])

    def along(self, origin: np.ndarray, basis: np.ndarray) -> Cone:
        """Return the cone of the y for which origin + basis y is in this one."""
        starts = tuple(s + b @ origin for b, s in zip(self.blocks, self.start, strict=True))
        blocks = tuple(b @ basis for b in self.blocks)
        return Cone(self.rows @ basis, self.offset + self.rows @ origin, blocks, starts)


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """The result of the solver."""

    x: np.ndarray
    multipliers: np.ndarray  # of the rows, then the norm of that of each block, in the order of `Cone.slack`
    dual: np.ndarray
    message: str
    ok: bool  # whether x is the optimum


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric 4 x 4 matrix as ten numbers with the same norm: its upper triangle, column by column."""
    return np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(4) for i in range(j + 1)])


def unpacked(ten: np.ndarray) -> np.ndarray:
    """Return the matrix that `packed` turned into ten numbers."""
    result, k = np.zeros((4, 4)), 0
    for j in range(4):
        for i in range(j + 1):
            result[i, j] = result[j, i] = ten[k] / (1.0 if i == j else np.sqrt(2.0))
            k += 1
    return result


def least_squares_in_cone(cone: Cone, a: np.ndarray, z: np.ndarray, mu: np.ndarray, x0: np.ndarray) -> ConeSolution:
    """Return the x of a cone that minimises 1/2 |a x - z|^2 + 1/2 sum_k mu_k (x_k - x0_k)^2.

    The residual is an extra variable, so that the solver factorises a and not a^T a. The columns of a (k, p) should be scaled.
    """
    from scipy import sparse

    k = len(a)
    hessian = sparse.diags(np.concatenate([mu, np.ones(k)])).tocsc()
    linear = np.concatenate([-mu * x0, np.zeros(k)])
    residual = sparse.hstack([sparse.csc_matrix(a), -sparse.eye(k)])
    return _solve(hessian, linear, residual, z, cone)


def nearest_in_ball(cone: Cone, a: np.ndarray, z: np.ndarray, radius: float, x0: np.ndarray) -> ConeSolution:
    """Return the x of a cone nearest to x0 among those with |a x - z| <= radius."""
    from scipy import sparse

    p = cone.size
    ball = np.vstack([np.zeros(p), a]) / radius, np.append(1.0, -z / radius)
    return _solve(sparse.eye(p).tocsc(), -x0, sparse.csc_matrix((0, p)), np.zeros(0), cone, ball)


def deepest_point(cone: Cone, x0: np.ndarray, weight: float = 1e-6) -> tuple[np.ndarray, float]:
    """Return the x of a cone with the largest depth s <= 1, and s: rows x + offset >= s, each block >= s times the identity.

    A pull to x0, `weight` / 2 |x - x0|^2, keeps x finite. A negative depth means that the cone is empty.
    """
    from scipy import sparse

    p, identity = cone.size, packed(np.eye(4))
    hessian = sparse.diags(np.append(np.full(p, weight), 0.0)).tocsc()
    linear = np.append(-weight * x0, -1.0)
    shrunk = Cone(
        np.vstack([np.column_stack([cone.rows, -np.ones(len(cone.rows))]), np.append(np.zeros(p), -1.0)]),
        np.append(cone.offset, 1.0),
        tuple(np.column_stack([b, -identity]) for b in cone.blocks),
        cone.start,
    )
    solution = _solve(hessian, linear, sparse.csc_matrix((0, p + 1)), np.zeros(0), shrunk)
    x = solution.x[:p]
    return x, float(cone.slack(x).min()) if solution.ok and np.isfinite(x).all() else -np.inf


def _solve(
    hessian: SparseMatrix,
    linear: np.ndarray,
    equal: SparseMatrix,
    right: np.ndarray,
    cone: Cone,
    ball: tuple[np.ndarray, np.ndarray] | None = None,
) -> ConeSolution:
    """Minimise 1/2 v^T hessian v + linear^T v subject to equal v = right, with x, the first entries of v, in the cone.

    With a `ball` (c, d), the first entry of c x + d is also at least the norm of the others.
    """
    import clarabel
    from scipy import sparse

    c, d = ball if ball is not None else (np.zeros((0, cone.size)), np.zeros(0))
    constraints = sparse.csc_matrix(np.vstack([-cone.rows, *(-b for b in cone.blocks), -c]))
    other_variables = sparse.csc_matrix((constraints.shape[0], len(linear) - cone.size))
    matrix = sparse.vstack([equal, sparse.hstack([constraints, other_variables])]).tocsc()
    offset = np.concatenate([right, cone.offset, *cone.start, d])
    kinds = [clarabel.ZeroConeT(len(right)), clarabel.NonnegativeConeT(len(cone.rows))]
    kinds += [clarabel.PSDTriangleConeT(4) for _ in cone.blocks]
    kinds += [clarabel.SecondOrderConeT(len(d))] if len(d) else []
    result = clarabel.DefaultSolver(hessian, linear, matrix, offset, kinds, _solver_settings()).solve()
    m = len(cone.rows)
    dual = np.array(result.z)[len(right) : len(right) + m + 10 * len(cone.blocks)]
    norms = [np.linalg.norm(dual[m + 10 * i : m + 10 * (i + 1)]) for i in range(len(cone.blocks))]
    status = str(result.status)
    multipliers = np.concatenate([np.abs(dual[:m]), norms])
    return ConeSolution(np.array(result.x)[: cone.size], multipliers, dual, _GOOD.get(status, status), status in _GOOD)


def _solver_settings() -> object:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.max_iter = 200
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = _TOLERANCE
    settings.reduced_tol_feas = settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = _LOOSE
    # `deepest_point` has shown that the cone is not empty, so a certificate of infeasibility would come from rounding.
    settings.tol_infeas_abs = settings.tol_infeas_rel = 1e-15
    return settings
