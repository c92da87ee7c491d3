"""Ordinary least squares."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from taupi.identification.assemble import assemble
from taupi.identification.factor import stacked
from taupi.identification.fit import Fit
from taupi.identification.problem import Problem
from taupi.identification.solve import solve


@dataclass(frozen=True, slots=True)
class OrdinaryLeastSquares:
    """Minimise sum |Y_b x - tau|^2 over all joints and runs, every row alike.

    A joint with large torques outweighs one with small ones: where noise differs from joint to joint, weigh (`"wls"`).
    """

    name: ClassVar[str] = "ols"

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        solution = solve(stacked(problem.factors), problem.prior_base, problem.metric)
        return assemble(problem, self.name, asdict(self), solution)
