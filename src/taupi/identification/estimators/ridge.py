"""Ridge regression towards a prior: the inertias of the description, with a weight that cross-validation chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from taupi.checks import not_negative, or_none, whole_number
from taupi.identification.estimators.entropic import counted_weights, first_scales, independent_share
from taupi.identification.physical.region import parameter_scales
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.rows.factors import JointFactor, stack_factors, triangle
from taupi.identification.rows.recording import SEEN, Recording
from taupi.identification.solve import Solution, Weights
from taupi.identification.weighting import weighted_least_squares
from taupi.model.parameters import LINK_KINDS
from taupi.signals.filtering.periodic import find_period

# The weights that are tried: for descriptions that are wrong by a hundred times the size of a link, down to a hundredth of it.
_GRID = (0.0, *np.geomspace(1e-4, 1e4, 17))
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Ridge:
    """Minimise sum |(Y_b x - tau) / sigma|^2 + weight (x - x_0)^T (B S^2 B^T)^-1 (x - x_0), rows as independent samples.

    S are the sizes of the standard parameters: M, M l and M l^2 of a link with the mass M and the radius of gyration l, and for
    friction what would explain all torque that the description leaves.

    Attributes:
        weight: A weight of 1 / e^2 means that descriptions are wrong by the share e of a link. By default cross-validation over
            five parts of each file chooses it, on the training data alone: the one that best predicts parts that were left out.
            If a motion repeats, a part is the same fifth of each period, so that it is really new.
        iterations: How often sigma is updated, as in "wls"; 5 by default.
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
            repeats = any(_repeats(r, len(_stretches(problem.pieces, k))) for k, r in enumerate(problem.recordings))
            better = (
                "a log repeats its motion so fast that no part of it is left out, so how much better is not known"
                if repeats
                else f"it predicts them {gain:.2%} better than no prior does"
            )
            note = f"ridge: weight {weight:.3g} of the prior, by cross-validation over {_FOLDS} parts of each file; {better}."
        counted = counted_weights(problem, weights)
        solution = ridge_solution(problem, stack_factors(problem.factors, counted), weight, counted)
        # Rows counted as independent samples have a larger spread than the rows of the factors. Parameters that only the prior
        # determines are not known from the logs.
        spread = solution.spread * np.sqrt(independent_share(problem))
        solution = replace(solution, spread=spread, undetermined=free.undetermined)
        return assemble(problem, self.name, asdict(self) | {"weight": weight}, solution, weights, notes=[note])


def ridge_solution(problem: Problem, r: np.ndarray, weight: float, weights: Weights) -> Solution:
    """Return the solution with rows for the prior below the factor: sqrt(weight) W (x - x_0), W^T W = (B S^2 B^T)^-1."""
    if weight == 0:
        return problem.solve(weights, rows=r)
    w = np.sqrt(weight) * prior_rows(problem)
    return problem.solve(weights, rows=triangle(np.vstack([r, np.column_stack([w, w @ problem.prior_base])])))


def prior_rows(problem: Problem) -> np.ndarray:
    """Return W (b, b) with W^T W = (B S^2 B^T)^-1."""
    base = problem.base
    links = np.array([e.kind in LINK_KINDS for e in base.standard.layout.entries])
    sizes = np.where(links, parameter_scales(base.robot, base.standard, problem.prior), first_scales(problem))
    b = base.projection * sizes
    length = np.linalg.norm(b, axis=1)
    unit = b / length[:, None]
    return np.asarray(np.linalg.inv(np.linalg.cholesky(unit @ unit.T)) / length)


def cross_validate(problem: Problem, weights: Weights) -> tuple[float, float]:
    """Return the weight of the prior that predicts left-out parts best, and the share by which it lowers their error."""
    counted = counted_weights(problem, weights)
    parts = [stack_factors(part, counted) for part in _folds(problem) if part]
    errors = np.zeros(len(_GRID))
    for k, left_out in enumerate(parts):
        rest = triangle(np.vstack([p for j, p in enumerate(parts) if j != k]))
        for g, weight in enumerate(_GRID):
            x = ridge_solution(problem, rest, float(weight), counted).x
            errors[g] += float(np.sum((left_out @ np.append(x, -1.0)) ** 2))
    best = int(np.argmin(errors))
    return float(_GRID[best]), float(1 - np.sqrt(errors[best] / errors[0])) if errors[0] > 0 else 0.0


def _stretches(pieces: Sequence[JointFactor], file: int) -> set[int]:
    return {f.stretch for f in pieces if f.file == file}


def _folds(problem: Problem) -> list[list[JointFactor]]:
    """Return the stretches in five groups: a contiguous part of each file, or of each period if its motion repeats."""
    places: Mapping[int, np.ndarray] = {
        file: _parts(problem.recordings[file] if file < len(problem.recordings) else None, problem.pieces, file)
        for file in {f.file for f in problem.pieces}
    }
    folds: list[list[JointFactor]] = [[] for _ in range(_FOLDS)]
    for f in problem.pieces:
        folds[int(places[f.file][f.stretch])].append(f)
    return folds


def _parts(recording: Recording | None, pieces: Sequence[JointFactor], file: int) -> np.ndarray:
    """Return the part of each stretch of a file."""
    count = max(_stretches(pieces, file)) + 1
    middle = (np.arange(count) + 0.5) / count
    period = None if recording is None or _repeats(recording, count) else _period_share(recording)
    phase = middle if period is None else middle / period % 1.0
    return np.asarray((phase * _FOLDS).astype(int))


def _period_share(recording: Recording) -> float | None:
    """Return the period of a recording's motion as a share of the recording; None if it does not repeat."""
    head = recording.source.head(SEEN)
    period = find_period(recording.layout.positions(head), recording.source.rate_hz)
    start, end = recording.source.span
    return None if period is None else float(period.seconds / (end - start))


def _repeats(recording: Recording, stretches: int) -> bool:
    """Return whether a motion repeats so fast that stretches are longer than a part of its period."""
    share = _period_share(recording)
    return share is not None and share * stretches < _FOLDS
