"""Several starts, each improved with rows that are watched only where they matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.excitation.search.ipopt import Stop, minimise
from taupi.excitation.search.lazy_rows import KEPT, LazyRows
from taupi.excitation.search.problem import DesignProblem

_ITERATIONS = 80
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


def improved(
    problem: DesignProblem, x: np.ndarray, stop: Stop, progress: Callable[[float], None] = lambda phi: None
) -> Candidate:
    """Return the best motion from x: IPOPT, rows added where it went beyond a limit, and again."""
    lazy = [LazyRows(problem, rows) for rows in problem.sampled]
    best: Candidate | None = None
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
    assert best is not None
    return best if best.feasible else _drawn_in(problem, lazy, best)


def _drawn_in(problem: DesignProblem, lazy: list[LazyRows], found: Candidate) -> Candidate:
    """Return a motion drawn towards the middle of all ranges until its rows hold, where that helps."""
    centre = problem.linear.centre
    for share in (0.98, 0.95, 0.9, 0.8, 0.6, 0.4, 0.2):
        x = centre + share * (found.x - centre)
        if all(rows.excess(x) <= KEPT for rows in lazy):
            return Candidate(x, problem.value(x)[0], True, found.iterations, found.rounds, found.rows)
    return found
