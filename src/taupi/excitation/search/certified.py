"""A motion that is found and proven: if a proof fails, rows are tightened by what is missing, and the search continues."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.excitation.limits.clearance_rows import UNIT, ClearanceRows
from taupi.excitation.limits.sampled_rows import SampledRows
from taupi.excitation.search.ipopt import Stop
from taupi.excitation.search.problem import DesignProblem
from taupi.excitation.search.starts import Candidate, improved

_ROUNDS = 3
# Rows are tightened by slightly more than what is missing.
_MORE = 1.1
_SHARES = (0.97, 0.92, 0.85, 0.7, 0.5)

Proofs = dict[str, Any]
Prove = Callable[[np.ndarray], Proofs]


@dataclass(frozen=True, eq=False)
class Proven:
    """A candidate with its proofs, by quantity."""

    candidate: Candidate
    proofs: Proofs

    @property
    def ok(self) -> bool:
        """Whether every proof has succeeded."""
        return all(proof.ok for proof in self.proofs.values())


def proven(problem: DesignProblem, candidate: Candidate, prove: Prove, stop: Stop) -> Proven:
    """Return the candidate, or one near it that can be proven; if none can, the last one with its failed proofs."""
    result = Proven(candidate, prove(candidate.x))
    for _ in range(_ROUNDS):
        if result.ok or stop():
            break
        tighter = [rows.with_rows(_tightened(rows.rows, result.proofs)) for rows in result.candidate.watched]
        problem = dataclasses.replace(problem, sampled=tuple(rows.rows for rows in tighter))
        again = improved(problem, result.candidate.x, stop, watched=tighter)
        result = Proven(again, prove(again.x))
    return result if result.ok else _drawn_in(problem, result, prove)


def _drawn_in(problem: DesignProblem, last: Proven, prove: Prove) -> Proven:
    """Return the motion pulled towards the middle of all ranges as far as needed, if that helps."""
    centre = problem.linear.centre
    for share in _SHARES:
        x = centre + share * (last.candidate.x - centre)
        smaller = Proven(dataclasses.replace(last.candidate, x=x, phi=problem.value(x)[0]), prove(x))
        if smaller.ok:
            return smaller
    return last


def _tightened(rows: SampledRows, proofs: Proofs) -> SampledRows:
    proof = proofs.get(rows.name)
    if proof is None or proof.ok:
        return rows
    if isinstance(rows, ClearanceRows):
        more = (_MORE * proof.missing + 1e-4 * (proof.missing > 0)) / UNIT
        return dataclasses.replace(rows, lower=rows.lower + more)
    share = 1 / np.maximum(1.01 * proof.used / proof.allowed, 1.0)
    return dataclasses.replace(rows, lower=share * rows.lower, upper=share * rows.upper)  # type: ignore[type-var]


def failures(several: Sequence[Proven]) -> list[str]:
    """Return a sentence for each failed proof of the candidate that came closest."""
    return [proof.sentence for proof in several[0].proofs.values() if not proof.ok] if several else []
