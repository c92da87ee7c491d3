"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.solve import WEAK, check_weak


@dataclass(frozen=True, slots=True)
class OrdinaryLeastSquares:
    """Minimise sum |Y_b x - tau|^2 over all joints and logs, every row with the same weight.

    A joint with large torques outweighs one with small ones: if noise differs from joint to joint, use "wls".

    Attributes:
        weak: Combinations of unit columns shorter than this share of the longest are taken from the prior; 1e-4 by default, and 0
            is plain least squares.
    """

    weak: float = WEAK
    name: ClassVar[str] = "ols"

    def __post_init__(self) -> None:
        check_weak(self.weak)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        solution = problem.solve(weak=self.weak)
        return assemble(problem, self.name, asdict(self), solution)
