"""Ridge regression towards a prior: the inertias of the description, with a weight that cross-validation chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from taupi.checks import not_negative, or_none, whole_number
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import JointFactor, stack_factors, triangle
from taupi.identification.solve import Solution
from taupi.identification.weighting import Weights, weighted_least_squares
from taupi.model.parameters import LINK_KINDS

# The weights that are tried, as shares of the weight of the rows.
_GRID = (0.0, *np.geomspace(1e-7, 1.0, 22))
_FOLDS = 5
# Descriptions seldom state friction, so its prior of zero has only this share of the weight.
_TERMS = 0.03


@dataclass(frozen=True, slots=True)
class Ridge:
    """Minimise sum |(Y_b x - tau) / sigma|^2 + weight N sum_k (d_k (x_k - prior_k))^2, d_k the root mean square of column k.

    Rows are weighted as in "wls", after `iterations` (5). `weight` is the share of the prior; by default cross-validation over
    five contiguous stretches of each file chooses it, on the training data alone: the one that predicts left-out stretches best.
    Friction and other terms, about which descriptions say little, are pulled to the prior by 3 % of it.
    """

    weight: float | None = None
    iterations: int = 5
    name: ClassVar[str] = "ridge"

    def __post_init__(self) -> None:
        or_none(not_negative)("weight", self.weight)
        whole_number("iterations", self.iterations, least=0)

    def with_prior_weight(self, prior_weight: float) -> Ridge:
        """Return the estimator with this `prior_weight` as its weight."""
        return replace(self, weight=prior_weight)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        free, weights = weighted_least_squares(problem, self.iterations)
        weight, note = self.weight, f"ridge: weight {self.weight or 0:.3g} of the prior, as given."
        if weight is None:
            weight, gain = cross_validate(problem, weights)
            note = (
                f"ridge: weight {weight:.3g} of the prior, by cross-validation over {_FOLDS} stretches of each file; it "
                f"predicts them {gain:.2%} better than no prior does."
            )
        solution = ridge_solution(problem, stack_factors(problem.factors, weights), weight, weights)
        # Parameters that only the prior determines are not known from the logs.
        solution = replace(solution, undetermined=free.undetermined)
        return assemble(problem, self.name, asdict(self) | {"weight": weight}, solution, weights, notes=[note])


def ridge_solution(problem: Problem, r: np.ndarray, weight: float, weights: Weights) -> Solution:
    """Return the solution with one more row per parameter below the factor, for the prior: sqrt(weight) d_k (x_k - prior_k)."""
    if weight == 0:
        return problem.solve(weights, rows=r)
    prior = problem.prior_base
    d = np.linalg.norm(r[:, :-1], axis=0)
    pull = np.sqrt(weight) * d * _belief(problem)
    prior_rows = np.column_stack([np.diag(pull), pull * prior])
    return problem.solve(weights, rows=triangle(np.vstack([r, prior_rows])))


def cross_validate(problem: Problem, weights: Weights) -> tuple[float, float]:
    """Return the weight of the prior that predicts left-out stretches best, and the share by which it lowers their error."""
    folds = _folds(problem.pieces)
    parts = [stack_factors(part, weights) for part in folds if part]
    errors = np.zeros(len(_GRID))
    for k, left_out in enumerate(parts):
        rest = triangle(np.vstack([p for j, p in enumerate(parts) if j != k]))
        for g, weight in enumerate(_GRID):
            x = ridge_solution(problem, rest, float(weight), weights).x
            errors[g] += float(np.sum((left_out @ np.append(x, -1.0)) ** 2))
    best = int(np.argmin(errors))
    return float(_GRID[best]), float(1 - np.sqrt(errors[best] / errors[0])) if errors[0] > 0 else 0.0


def _folds(pieces: Sequence[JointFactor]) -> list[list[JointFactor]]:
    """Return the stretches in five groups, each a contiguous part of each file."""
    count: dict[int, int] = {}
    for f in pieces:
        count[f.file] = max(count.get(f.file, 0), f.stretch + 1)
    folds: list[list[JointFactor]] = [[] for _ in range(_FOLDS)]
    for f in pieces:
        folds[f.stretch * _FOLDS // count[f.file]].append(f)
    return folds


def _belief(problem: Problem) -> np.ndarray:
    """Return the square root of the share of the weight that each parameter's prior has (b,)."""
    entries = problem.base.parameters.layout.entries
    links = np.array([e.kind.removesuffix("R") in LINK_KINDS for e in entries])
    return np.where(links, 1.0, np.sqrt(_TERMS))
