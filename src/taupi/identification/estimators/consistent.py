"""Weighted least squares among robots that can exist: the default estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from taupi.checks import or_none, positive
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identification.estimators.feasible import Feasible
from taupi.identification.estimators.wls import WeightedLeastSquares
from taupi.identification.physical.bounds import Bounds
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit, Outcome, Status
from taupi.identification.rows.factors import stack_factors
from taupi.identification.solve import Solution
from taupi.identification.weighting import Weights, weighted_least_squares

_ROUNDS = 5
# Constraints that make the weighted residual this many times larger contradict the log. They are worth a warning if the residual
# grows by more than this share of the torque, so that it is not rounding.
_FARTHEST, _SUSPECT = 2.0, 0.02
_FRICTION = ("viscous", "coulomb")


def consistent_values(problem: Problem) -> np.ndarray:
    """Return the base parameters of the default estimator: a first fit, which another one follows.

    If no real bodies come near the logs, they are those of weighted least squares.
    """
    try:
        return Consistent().fit(problem).values
    except TaupiError:
        return weighted_least_squares(problem, _ROUNDS)[0].x


@dataclass(frozen=True, slots=True)
class Consistent:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over links and rotors that real bodies can have, and friction that dissipates.

    If real bodies can have the parameters of weighted least squares, the result is that of "wls". Otherwise it predicts other
    motions better than "wls" does, because what noise and a poor motion leave open is not filled with impossible bodies.

    There are two exceptions. Friction stays negative if keeping it positive would increase the joint's sum of squares by more
    than the share `clearly`, 0.1 by default: a torque sensor beyond the gear, or a drive that compensates its friction, measures
    that. And if no robot that can exist comes near the logs, the result is that of "wls", and is called so; the verdict says why.
    "feasible" makes no exceptions. Nor are there any within `bounds` of links, or with a `prior_weight`, none by default: see
    "feasible".
    """

    clearly: float = 0.1
    bounds: Bounds | None = None
    prior_weight: float | None = None
    name: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        positive("clearly", self.clearly)
        or_none(positive)("prior_weight", self.prior_weight)

    def with_bounds(self, bounds: Bounds) -> Consistent:
        """Return the estimator within `bounds`."""
        return replace(self, bounds=bounds)

    def with_prior_weight(self, prior_weight: float) -> Consistent:
        """Return the estimator with this `prior_weight`."""
        return replace(self, prior_weight=prior_weight)

    def _bounded(self) -> Feasible | None:
        """Return the estimator without exceptions, if bounds or a weight are stated."""
        if self.bounds is None and self.prior_weight is None:
            return None
        bounded = Feasible(prior_weight=self.prior_weight)
        return bounded if self.bounds is None else bounded.with_bounds(self.bounds)

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        bounded = self._bounded()
        if bounded is not None:
            return bounded.fit_as(self.name, bounded.settings(), problem)
        entries = problem.base.parameters.layout.entries
        friction = [n for n, e in zip(problem.names, entries, strict=True) if e.kind in _FRICTION]
        try:
            strict = Feasible().fit_as(self.name, {"clearly": self.clearly}, problem)
            if strict.status.outcome is Outcome.UNCONSTRAINED:
                return strict
            loose = Feasible().fit_as(self.name, {"clearly": self.clearly}, problem, friction)
            negative = self._clearly_negative(problem, strict, loose)
            if not negative:
                return self._unless_contradicted(problem, strict)
            note = (
                f"Friction is clearly negative and stays so: {', '.join(negative)}. Does something other than a motor current "
                "measure the torque, or does the drive compensate friction?"
            )
            fit = Feasible().fit_as(self.name, {"clearly": self.clearly}, problem, negative, [note])
            return self._unless_contradicted(problem, fit)
        except NotIdentifiedError as error:
            solution, weights = weighted_least_squares(problem, _ROUNDS)
            message = f"The fit among real bodies failed ({error}); this is weighted least squares."
            return self._fallback(problem, solution, weights, Status(Outcome.FELL_BACK, message))

    def _unless_contradicted(self, problem: Problem, fit: Fit) -> Fit:
        """Return the fit, or the one without constraints if they more than double the weighted residual."""
        solution, weights = weighted_least_squares(problem, _ROUNDS)
        r = stack_factors(problem.factors, weights)
        least, constrained = (float(np.linalg.norm(r @ np.append(x, -1.0))) for x in (solution.x, fit.values))
        if constrained <= _FARTHEST * least:
            return fit
        torque = max(float(np.linalg.norm(r[:, -1])), 1e-300)
        message = (
            f"No robot that can exist explains the logs: the relative error would rise from {least / torque:.2%} to "
            f"{constrained / torque:.2%}. Check signs, units, gears and the order of joints. This is weighted least squares."
        )
        suspect = constrained - least > _SUSPECT * torque
        outcome = Outcome.FELL_BACK if suspect else Outcome.NEARLY_CONSISTENT
        return self._fallback(problem, solution, weights, Status(outcome, message))

    def _fallback(self, problem: Problem, solution: Solution, weights: Weights, status: Status) -> Fit:
        """Return the fit of weighted least squares under its own name, with the reason for it."""
        settings = {"iterations": _ROUNDS, "instead_of": self.name, "clearly": self.clearly}
        name = WeightedLeastSquares.name
        return assemble(problem, name, settings, solution, weights, status=status, notes=[status.message])

    def _clearly_negative(self, problem: Problem, strict: Fit, loose: Fit) -> list[str]:
        """Return the friction parameters whose negative sign the log clearly shows.

        `loose` is the fit in which friction may be negative, `strict` the one in which it may not. A parameter counts if it is
        negative in `loose`, if `strict` explains the torque of some joint clearly worse, and if the torque that the parameter
        contributes to that joint is clearly visible in its residual.
        """
        pairs = zip(strict.joints, loose.joints, strict=True)
        worse = {j for j, (a, b) in enumerate(pairs) if a.rms**2 > (1 + self.clearly) * b.rms**2}
        result = []
        for k, e in enumerate(problem.base.parameters.layout.entries):
            if e.kind not in _FRICTION or loose.values[k] >= 0:
                continue
            for j in worse:
                squares = sum(
                    float(np.sum((f.r[:, k] * loose.values[k]) ** 2)) for f in problem.factors if f.joint == j
                )
                if squares > self.clearly * loose.joints[j].rms ** 2 * loose.joints[j].rows:
                    result.append(problem.names[k])
        return list(dict.fromkeys(result))
