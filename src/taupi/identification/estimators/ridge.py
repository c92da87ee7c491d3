"""Ridge regression to a prior: the description's own inertias, believed as much as the training data say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import JointFactor, stacked, triangle
from taupi.identification.solve import Solution, solve
from taupi.identification.weighting import Weights, weighted
from taupi.model.parameters import LINK_KINDS

# Weights that are tried, as shares of the rows' own weight.
_GRID = (0.0, *np.geomspace(1e-7, 1.0, 22))
_FOLDS = 5
# Descriptions seldom state friction, so that a prior of zero is believed less there.
_TERMS = 0.03


@dataclass(frozen=True, slots=True)
class Ridge:
    """Minimise sum |(Y_b x - tau) / sigma|^2 + weight N sum_k (d_k (x_k - prior_k))^2, d_k the root mean square of column k.

    Rows are weighed as in `"wls"`. `weight` is chosen by cross-validation over five contiguous stretches of each file where it
    is None: the one that predicts left-out stretches best, from training data alone. Friction and the like, of which
    descriptions say little, are held by 3 % of it.
    """

    weight: float | None = None
    iterations: int = 5
    name: ClassVar[str] = "ridge"

    def __post_init__(self) -> None:
        if self.weight is not None and not (np.isfinite(self.weight) and self.weight >= 0):
            raise TaupiError(f"weight is {self.weight!r}, expected a number of at least 0, or None to choose one.")

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        _, weights = weighted(problem, self.iterations)
        chosen = self.weight
        notes = [f"ridge: weight {chosen:.3g} of the prior, as given."] if chosen is not None else []
        if chosen is None:
            chosen, gain = cross_validated(problem, weights)
            notes = [
                f"ridge: weight {chosen:.3g} of the prior, by cross-validation over {_FOLDS} stretches of each file; it "
                f"predicts them {gain:.2%} better than no prior does."
            ]
        solution = ridge_solution(problem, stacked(problem.factors, weights), chosen)
        return assemble(problem, self.name, asdict(self) | {"weight": chosen}, solution, weights, notes=notes)


def ridge_solution(problem: Problem, r: np.ndarray, weight: float) -> Solution:
    """Return the solution with rows for the prior below the factor, each as long as its column, times the weight's root."""
    if weight == 0:
        return solve(r, problem.prior_base, problem.metric)
    prior = problem.prior_base
    d = np.linalg.norm(r[:, :-1], axis=0)
    pull = np.sqrt(weight) * d * _held(problem)
    below = np.column_stack([np.diag(pull), pull * prior])
    return solve(triangle(np.vstack([r, below])), prior, problem.metric)


def cross_validated(problem: Problem, weights: Weights) -> tuple[float, float]:
    """Return the weight of the prior that predicts left-out stretches best, and by what share of the error it gains."""
    folds = _folds(problem.pieces)
    parts = [stacked(part, weights) for part in folds if part]
    errors = np.zeros(len(_GRID))
    for k, left_out in enumerate(parts):
        rest = triangle(np.vstack([p for j, p in enumerate(parts) if j != k]))
        for g, weight in enumerate(_GRID):
            x = ridge_solution(problem, rest, float(weight)).x
            errors[g] += float(np.sum((left_out @ np.append(x, -1.0)) ** 2))
    best = int(np.argmin(errors))
    return float(_GRID[best]), float(1 - np.sqrt(errors[best] / errors[0])) if errors[0] > 0 else 0.0


def _folds(pieces: Sequence[JointFactor]) -> list[list[JointFactor]]:
    """Return the stretches in five groups, each a contiguous part of every file."""
    count: dict[int, int] = {}
    for f in pieces:
        count[f.file] = max(count.get(f.file, 0), f.stretch + 1)
    folds: list[list[JointFactor]] = [[] for _ in range(_FOLDS)]
    for f in pieces:
        folds[f.stretch * _FOLDS // count[f.file]].append(f)
    return folds


def _held(problem: Problem) -> np.ndarray:
    """Return the root of how much the prior is believed, by kind of parameter (b,)."""
    entries = problem.base.parameters.layout.entries
    links = np.array([e.kind.removesuffix("R") in LINK_KINDS for e in entries])
    return np.where(links, 1.0, np.sqrt(_TERMS))
