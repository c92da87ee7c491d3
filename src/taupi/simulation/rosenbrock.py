"""A linearly implicit step over symbols, for springs that are faster than anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as cs
import numpy as np

from taupi.dynamics.types import SX, Expression, Matrix, Vector


@dataclass(frozen=True)
class Rosenbrock:
    """A W-method: (1 - h g J) k_i = h f(y + sum_j a_ij k_j) + h J sum_j g_ij k_j, y + sum_i b_i k_i (Hairer & Wanner 1996, IV.7).

    J is the Jacobian of the plant's own state; that of time, energy and a law's estimate is taken as 0, which does not reduce the
    `order` of a W-method. `a`, `g` and `b` are the coefficients, `name` is that of the integrator.
    """

    name: str
    a: tuple[tuple[float, ...], ...]
    g: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    order: int

    @cached_property
    def c(self) -> tuple[float, ...]:
        """The instants of the stages, as parts of the step."""
        return tuple(float(round(sum(row), 15)) for row in self.a)

    @cached_property
    def transformed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The method in u = g k, without products with J: its stages, couplings and weights."""
        s = len(self.b)
        a, g = np.zeros((s, s)), np.zeros((s, s))
        for i in range(s):
            a[i, : len(self.a[i])], g[i, : i + 1] = self.a[i], self.g[i]
        inverse = np.linalg.inv(g)
        return a @ inverse, np.diag(1 / np.diag(g)) - inverse, np.array(self.b) @ inverse

    def step(self, rate: Callable[[Vector, int], Vector], y: Vector, h: float, positions: int) -> Vector:
        """Return `y`, made of symbols, after a step of length `h` (s) over SX; `rate(y, node)` is dy/dt at a node.

        y begins with `positions` positions and as many velocities. With dp/dt = v and dv/dt = f, J is [[0, 1], [P, V]], and a
        stage is a system of the size of v alone: (1 / (h g) - V - h g P) u_v = r_v + h g P r_p, u_p = h g (r_p + u_v).
        """
        a, c, m = self.transformed
        scale, x = h * self.g[0][0], slice(0, 2 * positions)
        jacobian = cs.jacobian(rate(y, self.place(0))[positions : 2 * positions], y[x])
        by_p, by_v = cs.densify(jacobian[:, :positions]), jacobian[:, positions:]
        q, r = cs.qr(cs.densify(SX.eye(positions) / scale - by_v - scale * by_p))
        u: list[Vector] = []
        for i in range(len(m)):
            at, coupled = y, SX.zeros(y.numel())
            for j, before in enumerate(u):
                at = at + a[i, j] * before if a[i, j] else at
                coupled = coupled + (c[i, j] / h) * before if c[i, j] else coupled
            right = rate(at, self.place(i)) + coupled
            p, v, rest = right[:positions], right[positions : 2 * positions], right[2 * positions :]
            moved = _solve_triangular(r, q.T @ (v + scale * (by_p @ p)))
            u.append(cs.vertcat(scale * (p + moved), moved, scale * rest))
        for weight, stage in zip(m, u, strict=True):
            y = y + weight * stage
        return y

    def place(self, stage: int) -> int:
        """Return the number of the instant of a `stage` among those of the step."""
        return sorted(set(self.c)).index(self.c[stage])


def _solve_triangular(r: Matrix, b: Vector) -> Vector:
    """Return the solution of r x = b, r upper triangular."""
    n = r.shape[0]
    x: list[Expression] = [None] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(r[i, j] * x[j] for j in range(i + 1, n))) / r[i, i]
    return cs.vertcat(*x)


_G = 0.435866521508459
# Of order 3, L-stable, stiffly accurate, for any Jacobian (Rang & Angermann 2005, ROS34PW2).
ROS34PW2 = Rosenbrock(
    "rosenbrock",
    ((), (0.871733043016918,), (0.84457060015369423, -0.11299064236484185), (0.0, 0.0, 1.0)),
    (
        (_G,),
        (-0.871733043016918, _G),
        (-0.90338057013044082, 0.054180672388095326, _G),
        (0.24212380706095346, -1.2232505839045147, 0.54526025533510214, _G),
    ),
    (0.24212380706095346, -1.2232505839045147, 1.5452602553351020, _G),
    3,
)
