"""Weighted least squares: each joint of each file by its own noise, or by the noise's covariance between joints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from taupi.errors import TaupiError, unknown
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import stacked
from taupi.identification.solve import WEAK, check_weak, solve
from taupi.identification.weighting import weighted
from taupi.identification.whitening import whitened


@dataclass(frozen=True, slots=True)
class WeightedLeastSquares:
    """Minimise sum |S^-1/2 (Y_b x - tau)|^2, S from the residuals, joint by joint and file by file (Gautier & Poignet 2001).

    `iterations` of solving and taking the noise from what is left. `covariance="full"` then whitens the rows by the
    covariance between the joints of a file, in one more pass over the runs. Combinations of unit columns shorter than `weak`
    times the longest are taken from the prior.
    """

    iterations: int = 5
    covariance: str = "diagonal"
    weak: float = WEAK
    name: ClassVar[str] = "wls"

    def __post_init__(self) -> None:
        if self.covariance not in ("diagonal", "full"):
            raise unknown("covariance", str(self.covariance), ("diagonal", "full"))
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 0:
            raise TaupiError(f"iterations is {self.iterations!r}, expected a whole number of at least 0.")
        check_weak(self.weak)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        solution, weights = weighted(problem, self.iterations, self.weak)
        if self.covariance == "full":
            pieces = whitened(problem, solution.x)
            solution = solve(stacked(pieces), problem.prior_base, problem.metric, self.weak)
            return assemble(problem, self.name, asdict(self), solution, weights, pieces=pieces)
        return assemble(problem, self.name, asdict(self), solution, weights)
