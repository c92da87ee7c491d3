"""IPOPT, from CasADi, on a design problem: an objective and rows from Python, with derivatives."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import casadi as cs
import numpy as np

from taupi.excitation.search.problem import KEPT, DesignProblem, LazyRows

# How much a valid iterate may exceed linear rows; it is pulled inside afterwards.
_LINEAR = 1e-6

# A search ends if its best motion has gained less than this, in phi per parameter, in this many iterations; but not before the
# third number of iterations.
_WORTH, _PATIENCE, _LEAST = 5e-4, 8, 24

_OPTIONS = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "ipopt.hessian_approximation": "limited-memory",
    "ipopt.limited_memory_max_history": 10,
    "ipopt.mu_strategy": "adaptive",
    "ipopt.tol": 1e-4,
    "ipopt.acceptable_tol": 1e-2,
    "ipopt.acceptable_iter": 6,
    "ipopt.acceptable_obj_change_tol": 2e-4,
    # Rows have limits of size one, so scaling and permuting the linear systems, and refining their solutions, takes most of an
    # iteration's time for nothing: without it an iteration takes 0.6 of the time, and results are as good.
    "ipopt.fast_step_computation": "yes",
    "ipopt.mumps_permuting_scaling": 0,
    "ipopt.mumps_scaling": 0,
}


# Share of a budget after which proofs end, too, so that the result can be put together in time.
_LATE = 0.95


class Stop:
    """Whether to stop: the search, when asked to or so that time is left for proofs; and everything, when the time is over.

    Args:
        seconds: Time from now until everything should be over, by the clock; unlimited by default.
        reserve: Share of it that is kept for proofs.
    """

    def __init__(self, seconds: float | None = None, reserve: float = 0.0) -> None:
        self._begin, self._seconds = time.monotonic(), math.inf if seconds is None else seconds
        self._search_end = self._begin + (1 - reserve) * self._seconds
        self.asked = False

    def __call__(self) -> bool:
        """Return whether the search should stop now."""
        return self.asked or time.monotonic() >= self._search_end

    def late(self) -> bool:
        """Return whether the time is over for proofs, too."""
        return self.past(_LATE)

    def past(self, share: float) -> bool:
        """Return whether a share of the time is over."""
        return time.monotonic() >= self._begin + share * self._seconds

    @property
    def left(self) -> float:
        """Seconds that are left to the search, a long time if there is no limit."""
        return min(max(self._search_end - time.monotonic(), 1e-3), 1e6)


@dataclass(frozen=True, eq=False)
class IpoptResult:
    """Where IPOPT ended: x, the criterion there, the iterations it took, and whether the rows watched hold."""

    x: np.ndarray
    phi: float
    iterations: int
    feasible: bool


class _Function(cs.Callback):
    """A vector function of x and its Jacobian, both from Python; `pattern` has the nonzeros of the latter, column by column."""

    def __init__(
        self,
        name: str,
        size: int,
        count: int,
        value: Callable[..., object],
        jacobian: Callable[..., np.ndarray],
        pattern: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        cs.Callback.__init__(self)
        self.size, self.count, self.value, self.jacobian_of, self.pattern = size, count, value, jacobian, pattern
        self.slope: _Jacobian | None = None  # CasADi keeps no reference of its own
        self.construct(name, {})

    def get_n_in(self) -> int:
        return 1

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> cs.Sparsity:
        return cs.Sparsity.dense(self.size, 1)

    def get_sparsity_out(self, i: int) -> cs.Sparsity:
        return cs.Sparsity.dense(self.count, 1)

    def eval(self, arguments: list[cs.DM]) -> list[object]:
        return [self.value(np.array(arguments[0]).ravel())]

    def has_jacobian(self, *_: object) -> bool:
        return True

    def get_jacobian(self, name: str, *_: object) -> cs.Callback:
        self.slope = _Jacobian(name, self)
        return self.slope


class _Jacobian(cs.Callback):
    def __init__(self, name: str, of: _Function) -> None:
        cs.Callback.__init__(self)
        self.size, self.count, self.jacobian_of, self.pattern = of.size, of.count, of.jacobian_of, of.pattern
        self.sparsity = (
            cs.Sparsity.dense(self.count, self.size)
            if of.pattern is None
            else cs.Sparsity.triplet(self.count, self.size, of.pattern[0].tolist(), of.pattern[1].tolist())
        )
        self.construct(name, {})

    def get_n_in(self) -> int:
        return 2

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> cs.Sparsity:
        return cs.Sparsity.dense(self.size, 1) if i == 0 else cs.Sparsity(self.count, 1)

    def get_sparsity_out(self, i: int) -> cs.Sparsity:
        return self.sparsity

    def eval(self, arguments: list[cs.DM]) -> list[object]:
        value = self.jacobian_of(np.array(arguments[0]).ravel())
        return [value if self.pattern is None else cs.DM(self.sparsity, value[self.pattern])]


class _Watcher(cs.Callback):
    """Called by IPOPT after each iteration: remembers the best iterate within the rows, and may stop."""

    def __init__(self, size: int, rows: int, seen: Callable[[np.ndarray, float, np.ndarray], bool]) -> None:
        cs.Callback.__init__(self)
        self.size, self.rows, self.seen = size, rows, seen
        self.iterations = 0
        self.construct("watcher", {})

    def get_n_in(self) -> int:
        return int(cs.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return str(cs.nlpsol_out(i))

    def get_name_out(self, i: int) -> str:
        return "stop"

    def get_sparsity_in(self, i: int) -> cs.Sparsity:
        sizes = {"x": self.size, "lam_x": self.size, "g": self.rows, "lam_g": self.rows, "f": 1}
        return cs.Sparsity.dense(sizes.get(cs.nlpsol_out(i), 0), 1 if cs.nlpsol_out(i) in sizes else 0)

    def eval(self, arguments: list[cs.DM]) -> list[object]:
        named = dict(zip(map(cs.nlpsol_out, range(cs.nlpsol_n_out())), arguments, strict=True))
        self.iterations += 1
        return [int(self.seen(np.array(named["x"]).ravel(), float(named["f"]), np.array(named["g"]).ravel()))]


class _Remembered:
    """An objective whose value and gradient are computed together, once at each x."""

    def __init__(self, problem: DesignProblem) -> None:
        self._problem = problem
        self._x = np.zeros(0)
        self._answer = (0.0, np.zeros(0))

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if not np.array_equal(x, self._x):
            self._x, self._answer = x, self._problem.value(x)
        return self._answer

    def value(self, x: np.ndarray) -> float:
        return self._at(x)[0]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return self._at(x)[1][None]


def minimise(
    problem: DesignProblem,
    x: np.ndarray,
    lazy: Sequence[LazyRows],
    iterations: int,
    stop: Stop,
) -> IpoptResult:
    """Return the best that IPOPT finds from x within the linear rows and the lazy rows that are watched.

    After a few iterations it ends when little more is gained, after `iterations` in any case.
    """
    size, linear = problem.size, problem.linear
    watched = [rows for rows in lazy if len(rows)]
    objective = _Remembered(problem)
    functions = [_Function("objective", size, 1, objective.value, objective.gradient)]
    functions += [_Function(f"rows{k}", size, len(r), r.values, r.jacobian, r.pattern) for k, r in enumerate(watched)]
    symbol = cs.MX.sym("x", size)
    g = cs.vertcat(cs.mtimes(cs.DM(linear.matrix.tocsc()), symbol), *(f(symbol) for f in functions[1:]))
    lower = np.concatenate([linear.lower, *(r.lower for r in watched)])
    upper = np.concatenate([linear.upper, *(r.upper for r in watched)])
    slack = np.full(len(lower), KEPT)
    slack[: len(linear.lower)] = _LINEAR
    best: list[Any] = [np.inf, None]
    history: list[float] = []
    worth = _WORTH * problem.information.program.base.count

    def seen(at: np.ndarray, phi: float, rows: np.ndarray) -> bool:
        if phi < best[0] and (rows <= upper + slack).all() and (rows >= lower - slack).all():
            best[:] = [phi, at]
        history.append(best[0])
        stalled = len(history) > _LEAST and history[-1 - _PATIENCE] - best[0] < worth
        return stop() or stalled

    watcher = _Watcher(size, len(lower), seen)
    options = _OPTIONS | {"ipopt.max_iter": iterations, "ipopt.max_wall_time": stop.left, "iteration_callback": watcher}
    solver = cs.nlpsol("design", "ipopt", {"x": symbol, "f": functions[0](symbol), "g": g}, options)
    last = solver(x0=x, lbg=lower, ubg=upper)
    at, phi = np.array(last["x"]).ravel(), float(last["f"])
    seen(at, phi, np.array(last["g"]).ravel())
    feasible = best[1] is not None
    chosen = np.asarray(best[1]) if feasible else at
    return IpoptResult(linear.inside(chosen), best[0] if feasible else phi, watcher.iterations, feasible)


@contextmanager
def stopped_by_user(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C set `stop` while the block runs; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
