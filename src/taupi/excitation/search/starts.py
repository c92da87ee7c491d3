"""Several starts, each improved with rows that are watched only where they matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.excitation.search.ipopt import Stop, minimise
from taupi.excitation.search.lazy_rows import LazyRows
from taupi.excitation.search.problem import UNSEEN, DesignProblem

_ITERATIONS = 80
# Of a start that is only to be compared with others: what is left to gain after so many is a few percent.
_ROUGH = 45
# The rounds in which rows are added, after each of which the motion is improved from where it was.
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion that was found: its coefficients, its criterion, whether every sampled row holds, and what it took."""

    x: np.ndarray
    phi: float
    feasible: bool
    iterations: int
    rounds: int
    rows: int


def rough(problem: DesignProblem, x: np.ndarray, stop: Stop) -> Candidate:
    """Return a motion from x within the linear rows alone, improved as far as it takes to tell a good start from a bad one."""
    outcome = minimise(problem, x, (), _ROUGH, stop)
    return Candidate(outcome.x, outcome.phi, not problem.sampled, outcome.iterations, 1, 0)


def improved(
    problem: DesignProblem,
    x: np.ndarray,
    stop: Stop,
    progress: Callable[[float], None] = lambda phi: None,
    warm: bool = False,
) -> Candidate:
    """Return the best motion from x: IPOPT, rows added where it went beyond a limit, and again; `warm` starts with rows."""
    lazy = [LazyRows(problem, rows) for rows in problem.sampled]
    if warm:
        for rows in lazy:
            rows.watch(x)
    best: Candidate | None = None
    kept_x: list[np.ndarray] = []  # where every row held, the last one last
    iterations = rounds = 0
    while rounds < _ROUNDS:
        limit = _ITERATIONS if rounds == 0 else _ITERATIONS // 2
        outcome = minimise(problem, x, lazy, limit, stop, progress)
        x, iterations, rounds = outcome.x, iterations + outcome.iterations, rounds + 1
        beyond = [rows.watch(x) for rows in lazy]  # every kind is looked at
        kept = not any(beyond) and problem.linear.excess(x) <= 1e-9
        found = Candidate(x, problem.value(x)[0], kept, iterations, rounds, sum(map(len, lazy)))
        if best is None or (found.feasible, -found.phi) > (best.feasible, -best.phi):
            best = found
        if kept or stop():
            break
        x = _towards(lazy, problem.linear.centre if not kept_x else kept_x[-1], x)
        kept_x.append(x)
        if all(rows.holds(x) for rows in lazy) and (phi := problem.value(x)[0]) < (
            best.phi if best.feasible else UNSEEN
        ):
            best = Candidate(x, phi, True, iterations, rounds, found.rows)
    assert best is not None
    return best if best.feasible else _drawn_in(problem, lazy, best)


def _towards(lazy: list[LazyRows], inside: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a motion between one within all rows and one beyond some, as near to the latter as rows allow."""
    for share in (0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        between = inside + share * (x - inside)
        if all(rows.holds(between) for rows in lazy):
            return between
    return inside


def _drawn_in(problem: DesignProblem, lazy: list[LazyRows], found: Candidate) -> Candidate:
    """Return a motion drawn towards the middle of all ranges until its rows hold, where that helps."""
    centre = problem.linear.centre
    for share in (0.98, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2):
        x = centre + share * (found.x - centre)
        if all(rows.holds(x) for rows in lazy):
            return Candidate(x, problem.value(x)[0], True, found.iterations, found.rounds, found.rows)
    return found
