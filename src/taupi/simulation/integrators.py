"""Steps in time: explicit Runge-Kutta, semi-implicit Euler, a Rosenbrock method over symbols, and SciPy's adaptive ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as cs
import numpy as np

from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError

_BOLD = 0.01  # s: the longest first step of an adaptive method
Rate = Callable[[Vector, int], Vector]  # (state, number of the node) -> its derivative


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
        """Return the number of the instant of a `stage` among the instants of the step."""
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


@dataclass(frozen=True, slots=True)
class Tableau:
    """An explicit method: k_i = f(t + c_i h, y + h sum_j a_ij k_j), y + h sum_i b_i k_i (Butcher 1964).

    `semi_implicit` takes one stage and moves positions by the new velocities.
    """

    name: str
    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    order: int
    semi_implicit: bool = False


EXPLICIT: dict[str, Tableau] = {
    t.name: t
    for t in (
        Tableau("euler", (0.0,), ((),), (1.0,), 1),
        Tableau("semi_implicit", (0.0,), ((),), (1.0,), 1, semi_implicit=True),
        Tableau("midpoint", (0.0, 0.5), ((), (0.5,)), (0.0, 1.0), 2),
        Tableau(
            "rk4", (0.0, 0.5, 0.5, 1.0), ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), 4
        ),
    )
}
FIXED: dict[str, Tableau | Rosenbrock] = {**EXPLICIT, ROS34PW2.name: ROS34PW2}
ADAPTIVE: dict[str, str] = {"rk45": "RK45", "dop853": "DOP853", "lsoda": "LSODA", "radau": "Radau", "bdf": "BDF"}
# h omega up to which the oscillation of an undamped spring does not grow.
UNDAMPED = {"semi_implicit": 2.0, "rk4": 2.828}


def nodes(tableau: Tableau | Rosenbrock, substeps: int) -> tuple[float, ...]:
    """Return the instants at which a method evaluates the rate, as fractions of an interval of this many steps.

    `tableau` is the method, `substeps` the number of steps.

    >>> nodes(FIXED["rk4"], 1)
    (0.0, 0.5, 1.0)
    """
    return tuple(sorted({(s + c) / substeps for s in range(substeps) for c in tableau.c}))


def advance(tableau: Tableau | Rosenbrock, rate: Rate, y: Vector, h: float, substeps: int, positions: int) -> Vector:
    """Return `y` after `substeps` steps of length `h` (s); works on SX and on arrays whose first axis is the state.

    `tableau` is the method, `rate(y, node)` is dy/dt at the node of that number, see `nodes`. "euler" is
    equations.md, D18: qdd from the current state, q moved by the old qd, then qd by qdd. The state
    begins with `positions` positions and as many velocities, which "semi_implicit" and "rosenbrock" need to know; the latter
    takes one step over SX.

    >>> advance(FIXED["rk4"], lambda y, node: -y, np.array([1.0]), 0.1, 10, 0).round(6).tolist()
    [0.36788]
    """
    if isinstance(tableau, Rosenbrock):
        return tableau.step(rate, y, h, positions)
    places = {node: k for k, node in enumerate(nodes(tableau, substeps))}
    for s in range(substeps):
        k: list[Vector] = []
        for c, row in zip(tableau.c, tableau.a, strict=True):
            at = y
            for weight, slope in zip(row, k, strict=True):
                at = at + (h * weight) * slope if weight else at
            k.append(rate(at, places[(s + c) / substeps]))
        step = y
        for weight, slope in zip(tableau.b, k, strict=True):
            step = step + (h * weight) * slope if weight else step
        if tableau.semi_implicit:
            step[:positions] = y[:positions] + h * step[positions : 2 * positions]
        y = step
    return y


def solve(
    method: str, rate: Callable[[float, np.ndarray], np.ndarray], y: np.ndarray, t: float, stop: float, rtol: float
) -> np.ndarray:
    """Return `y`, the state at `t`, as it is at `stop` (s), by one of SciPy's adaptive methods.

    `method` is the integrator's name, `rate(t, y)` is dy/dt; the local error stays within `rtol` relative and `rtol` / 100
    absolute.
    """
    from scipy.integrate import solve_ivp

    # A control period is short: the whole of it is a sensible first guess. A step that was too bold may overflow; the error
    # test sees that and takes a shorter one.
    first = None if method == "lsoda" else min(stop - t, _BOLD)
    with np.errstate(all="ignore"):
        solution = solve_ivp(rate, (t, stop), y, ADAPTIVE[method], rtol=rtol, atol=rtol / 100, first_step=first)
    if not solution.success:
        raise TaupiError(
            "The integrator {method} gave up at {t:.6g} s: {solution}",
            method=method,
            t=float(solution.t[-1]),
            solution=solution.message,
        )
    result: np.ndarray = solution.y[:, -1]
    return result
