"""Several starts, each improved with rows that are watched only when they matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.excitation.search.ipopt import Stop, minimise
from taupi.excitation.search.lazy_rows import LazyRows
from taupi.excitation.search.problem import DesignProblem

# Iterations of a start that is only compared with others: only a few percent can be gained after that.
_ROUGH = 30
_ITERATIONS = 80
# The rounds in which rows are added, and the iterations of each: more rows come anyway.
_ROUNDS, _EACH, _LEAST = 8, 35, 24
# A motion within all rows is good enough if it is this close, in phi per parameter, to the best one within the watched rows.
_NEAR = 8e-3
# How far from a motion within all rows towards one that is not.
_SHARES = (0.99, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion that was found: its coefficients, its criterion, whether every sampled row holds, and the effort.

    `watched` are the rows that the search has learned to watch.
    """

    x: np.ndarray
    phi: float
    feasible: bool
    iterations: int
    rounds: int
    watched: tuple[LazyRows, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows were watched."""
        return sum(map(len, self.watched))


def rough(problem: DesignProblem, x: np.ndarray, stop: Stop) -> Candidate:
    """Return a motion from x within only the linear rows, improved just enough to separate good starts from bad ones."""
    outcome = minimise(problem, x, (), _ROUGH, stop)
    return Candidate(outcome.x, outcome.phi, not problem.sampled, outcome.iterations, 1)


def improved(
    problem: DesignProblem,
    x: np.ndarray,
    stop: Stop,
    progress: Callable[[float], None] = lambda phi: None,
    watched: Sequence[LazyRows] = (),
) -> Candidate:
    """Return the best motion from x: IPOPT, rows added where it went beyond a limit, and again.

    `watched` are rows to begin with; those that x itself is near to or beyond are added.
    """
    lazy = tuple(watched) or tuple(LazyRows(problem, rows) for rows in problem.sampled)
    inside, iterations = problem.linear.centre, 0
    if any([rows.watch(x) for rows in lazy]):  # every kind is looked at
        x = _towards(lazy, inside, x)
    near = _NEAR * problem.information.program.base.count
    best: Candidate | None = None
    for rounds in range(1, _ROUNDS + 1):
        most = _EACH if any(map(len, lazy)) else _ITERATIONS
        outcome = minimise(problem, x, lazy, most, stop, progress, _LEAST)
        iterations += outcome.iterations
        beyond = [rows.watch(outcome.x) for rows in lazy]  # every kind is looked at
        x = _towards(lazy, inside, outcome.x) if any(beyond) else outcome.x
        feasible = all(rows.holds(x) for rows in lazy) and problem.linear.excess(x) <= 1e-9
        candidate = Candidate(x, problem.value(x)[0], feasible, iterations, rounds, lazy)
        if best is None or (candidate.feasible, -candidate.phi) > (best.feasible, -best.phi):
            best = candidate
        if not any(beyond) or stop() or (best.feasible and best.phi - outcome.phi < near):
            break
        inside = best.x if best.feasible else inside
    assert best is not None
    return best


def _towards(lazy: Sequence[LazyRows], inside: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a motion between one within all rows and one beyond some, as near to the latter as rows allow."""
    for share in _SHARES:
        between = inside + share * (x - inside)
        if all(rows.holds(between) for rows in lazy):
            return between
    return inside
