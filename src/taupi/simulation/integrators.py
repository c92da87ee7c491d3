"""Steps in time: explicit Runge-Kutta, semi-implicit Euler, a Rosenbrock method over symbols, and SciPy's adaptive ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.types import Vector
from taupi.errors import TaupiError
from taupi.simulation.rosenbrock import ROS34PW2, Rosenbrock

_BOLD = 0.01  # s: the longest first step of an adaptive method
Rate = Callable[[Vector, int], Vector]  # (state, number of the node) -> its derivative


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
        raise TaupiError(f"The integrator {method} gave up at {float(solution.t[-1]):.6g} s: {solution.message}")
    result: np.ndarray = solution.y[:, -1]
    return result
