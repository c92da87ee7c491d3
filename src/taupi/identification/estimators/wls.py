"""Weighted least squares: by the noise of each joint in each file, or by its covariance between joints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from taupi.checks import one_of, whole_number
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import stack_factors
from taupi.identification.solve import WEAK, check_weak
from taupi.identification.weighting import weighted_least_squares


@dataclass(frozen=True, slots=True)
class WeightedLeastSquares:
    """Minimise sum |S^-1/2 (Y_b x - tau)|^2, S from the residuals, joint by joint and file by file (Gautier & Poignet 2001).

    Attributes:
        iterations: How often the noise is updated from the residuals; 5 by default.
        covariance: "diagonal", the default, or "full": rows are then whitened by the covariance between the joints of a file, in
            one more pass over the logs.
        weak: Combinations of unit columns shorter than this share of the longest are taken from the prior; 1e-4 by default.
    """

    iterations: int = 5
    covariance: str = "diagonal"
    weak: float = WEAK
    name: ClassVar[str] = "wls"

    def __post_init__(self) -> None:
        one_of(("diagonal", "full"))("covariance", self.covariance)
        whole_number("iterations", self.iterations, least=0)
        check_weak(self.weak)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        solution, weights = weighted_least_squares(problem, self.iterations, self.weak)
        if self.covariance == "full":
            from taupi.identification.weighting import whitened_factors

            pieces = whitened_factors(problem, solution.x)
            solution = problem.solve(weights, self.weak, stack_factors(pieces))
            return assemble(problem, self.name, asdict(self), solution, weights, pieces=pieces)
        return assemble(problem, self.name, asdict(self), solution, weights)
