"""Several starts, each improved with rows that are watched only when they matter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.excitation.geometry.clearance import ClearanceCertificate
from taupi.excitation.limits.certificates import Certificate
from taupi.excitation.limits.sampled_rows import UNIT, SampledRows
from taupi.excitation.search.ipopt import Stop, minimise
from taupi.excitation.search.problem import DesignProblem, LazyRows

# Iterations of a start that is only compared with others: only a few percent can be gained after that.
_ROUGH = 30
_ITERATIONS = 80
# The rounds in which rows are added, and the iterations of each: more rows come anyway.
_ROUNDS, _EACH = 8, 35
# A motion within all rows is good enough if it is this close, in phi per parameter, to the best one within the watched rows.
_NEAR = 8e-3
# How far from a motion within all rows towards one that is not.
_SHARES = (0.99, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)


@dataclass(frozen=True, eq=False)
class FoundMotion:
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


def rough(problem: DesignProblem, x: np.ndarray, stop: Stop) -> FoundMotion:
    """Return a motion from x within only the linear rows, improved just enough to separate good starts from bad ones."""
    if stop():
        return FoundMotion(x, problem.phi(x), not problem.sampled, 0, 0)
    outcome = minimise(problem, x, (), _ROUGH, stop)
    return FoundMotion(outcome.x, outcome.phi, not problem.sampled, outcome.iterations, 1)


def improved(
    problem: DesignProblem,
    x: np.ndarray,
    stop: Stop,
    watched: Sequence[LazyRows] = (),
) -> FoundMotion:
    """Return the best motion from x: IPOPT, rows added where it went beyond a limit, and again.

    `watched` are rows to begin with; those that x itself is near to or beyond are added.
    """
    lazy = tuple(watched) or tuple(LazyRows(problem, rows) for rows in problem.sampled)
    inside, iterations = problem.linear.centre, 0
    if any([rows.watch(x) for rows in lazy]):  # every kind is looked at
        x = _towards(lazy, inside, x)
    if stop():
        return FoundMotion(x, problem.phi(x), _within(problem, lazy, x), 0, 0, lazy)
    near = _NEAR * problem.information.program.base.count
    best: FoundMotion | None = None
    for rounds in range(1, _ROUNDS + 1):
        most = _EACH if any(map(len, lazy)) else _ITERATIONS
        outcome = minimise(problem, x, lazy, most, stop)
        iterations += outcome.iterations
        beyond = [rows.watch(outcome.x) for rows in lazy]  # every kind is looked at
        x = _towards(lazy, inside, outcome.x) if any(beyond) else outcome.x
        candidate = FoundMotion(x, problem.value(x)[0], _within(problem, lazy, x), iterations, rounds, lazy)
        if best is None or (candidate.feasible, -candidate.phi) > (best.feasible, -best.phi):
            best = candidate
        if not any(beyond) or stop() or (best.feasible and best.phi - outcome.phi < near):
            break
        inside = best.x if best.feasible else inside
    assert best is not None
    return best


def _within(problem: DesignProblem, lazy: Sequence[LazyRows], x: np.ndarray) -> bool:
    return all(rows.holds(x) for rows in lazy) and problem.linear.excess(x) <= 1e-9


def _towards(lazy: Sequence[LazyRows], inside: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a motion between one within all rows and one beyond some, as near to the latter as rows allow."""
    for share in _SHARES:
        between = inside + share * (x - inside)
        if all(rows.holds(between) for rows in lazy):
            return between
    return inside


_PROOFS = 3
# Rows are tightened by slightly more than what is missing.
_MORE = 1.1
_DRAWN_IN = (0.97, 0.92, 0.85, 0.7, 0.5)

Proofs = dict[str, Certificate | ClearanceCertificate]
Prove = Callable[[np.ndarray], Proofs]


@dataclass(frozen=True, eq=False)
class Proven:
    """A candidate with its proofs, by quantity."""

    candidate: FoundMotion
    proofs: Proofs

    @property
    def ok(self) -> bool:
        """Whether every proof has succeeded."""
        return all(proof.ok for proof in self.proofs.values())

    @property
    def refuted(self) -> bool:
        """Whether a limit is known to be exceeded, rather than only not proven to be kept."""
        return any(proof.refuted for proof in self.proofs.values())

    def will_do(self, stop: Stop) -> bool:
        """Return whether this is good enough: proven, or, when it is late, not refuted."""
        return self.ok or (stop.late() and not self.refuted)


def proven(problem: DesignProblem, candidate: FoundMotion, prove: Prove, stop: Stop) -> Proven:
    """Return the candidate, or one near it that can be proven; if none can, the last one with its failed proofs.

    When it is late, proofs are loose: then it is one that is not known to exceed a limit.
    """
    result = Proven(candidate, prove(candidate.x))
    for _ in range(_PROOFS):
        if result.ok or stop():
            break
        tighter = [rows.with_rows(_tightened(rows.rows, result.proofs)) for rows in result.candidate.watched]
        problem = dataclasses.replace(problem, sampled=tuple(rows.rows for rows in tighter))
        again = improved(problem, result.candidate.x, stop, watched=tighter)
        result = Proven(again, prove(again.x))
    return result if result.will_do(stop) else _drawn_in(problem, result, prove, stop)


def _drawn_in(problem: DesignProblem, last: Proven, prove: Prove, stop: Stop) -> Proven:
    """Return the motion pulled towards the middle of all ranges as far as needed, if that helps."""
    centre = problem.linear.centre
    for share in _DRAWN_IN:
        if (
            stop.late() and share > _DRAWN_IN[-1]
        ):  # each proof takes time: then only the one that is most likely to succeed
            continue
        x = centre + share * (last.candidate.x - centre)
        smaller = Proven(dataclasses.replace(last.candidate, x=x, phi=problem.phi(x)), prove(x))
        if smaller.will_do(stop):
            return smaller
    return last


def _tightened(rows: SampledRows, proofs: Proofs) -> SampledRows:
    proof = proofs.get(rows.name)
    if proof is None or proof.ok:
        return rows
    if isinstance(proof, ClearanceCertificate):
        more = (_MORE * proof.missing + 1e-4 * (proof.missing > 0)) / UNIT
        return dataclasses.replace(rows, lower=rows.lower + more)  # type: ignore[type-var]
    share = 1 / np.maximum(1.01 * proof.used / proof.allowed, 1.0)
    return dataclasses.replace(rows, lower=share * rows.lower, upper=share * rows.upper)  # type: ignore[type-var]


def failures(result: Proven) -> list[str]:
    """Return a sentence for each failed proof of a candidate."""
    return [proof.sentence for proof in result.proofs.values() if not proof.ok]
