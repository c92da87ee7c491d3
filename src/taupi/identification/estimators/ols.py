"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import stacked
from taupi.identification.solve import WEAK, check_weak, solve


@dataclass(frozen=True, slots=True)
class OrdinaryLeastSquares:
    """Minimise sum |Y_b x - tau|^2 over all joints and runs, every row alike.

    A joint with large torques outweighs one with small ones: where noise differs from joint to joint, weigh (`"wls"`).
    Combinations of unit columns shorter than `weak` times the longest are taken from the prior; 0 is plain least squares.
    """

    weak: float = WEAK
    name: ClassVar[str] = "ols"

    def __post_init__(self) -> None:
        check_weak(self.weak)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        solution = solve(stacked(problem.factors), problem.prior_base, problem.metric, self.weak)
        return assemble(problem, self.name, asdict(self), solution)
