"""Weighted least squares over physically possible robots: the default estimator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from taupi.checks import or_none, positive
from taupi.errors import NotIdentifiedError, TaupiError, TaupiWarning, warn
from taupi.identification.estimators.feasible import Feasible
from taupi.identification.estimators.wls import WeightedLeastSquares
from taupi.identification.physical.bounds import Bounds
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.status import Outcome, Status
from taupi.identification.results.uncertainty import loss_significance
from taupi.identification.results.verdict import percent

_FRICTION = ("viscous", "coulomb")
# Friction with a smaller share of a joint's torque does not justify parameters that are physically impossible.
_VISIBLE = 0.002


def consistent_values(problem: Problem) -> np.ndarray:
    """Return the base parameters of the default estimator: a first fit, which is followed by another one.

    If no real bodies come near the logs, they are the parameters of weighted least squares.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        try:
            return Consistent().fit(problem).values
        except TaupiError:
            return WeightedLeastSquares().fit(problem).values


@dataclass(frozen=True, slots=True)
class Consistent:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over links and rotors that real bodies can have, and friction that dissipates.

    If real bodies can have the parameters of weighted least squares, the result is that of "wls". Otherwise it predicts other
    motions better than "wls" does, because parameters that noise and a poor motion leave open do not become impossible bodies.

    There are two exceptions, both only if the logs contradict the constraints significantly. Friction may be negative, with a
    warning, if friction of its kind (viscous or dry) is more than `significance` standard errors below zero at some joint, 2.6 by
    default as in 99 % intervals (more with few data), and makes up more than 0.2 % of its torque: a torque sensor beyond the
    gear, or a drive that compensates its friction, measures that. And if the relative error of every possible robot is
    larger than that of "wls" by as many standard errors, and by more than `size` (0.05, of the torque), the result is that of
    "wls"; `fit.estimator` and the verdict say so. "feasible" makes no exceptions. Nor are there any with `bounds` on links, or
    with a `prior_weight`, none by default: see "feasible".
    """

    significance: float = 2.6
    size: float = 0.05
    bounds: Bounds | None = None
    prior_weight: float | None = None
    name: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        positive("significance", self.significance)
        positive("size", self.size)
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

    def _settings(self) -> dict[str, Any]:
        return {"significance": self.significance, "size": self.size}

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        bounded = self._bounded()
        if bounded is not None:
            return bounded.fit_as(self.name, bounded.settings(), problem)
        try:
            fit = Feasible().fit_as(self.name, self._settings(), problem)
            if fit.status.outcome is Outcome.UNCONSTRAINED:
                return fit
            fit, warning = self._with_negative_friction(problem, fit)
        except NotIdentifiedError as error:
            free = WeightedLeastSquares().fit(problem)
            return self._replaced(free, f"The fit among real bodies failed ({error}).")
        free = WeightedLeastSquares().fit(problem)
        if not self._contradicted(problem, fit, free):
            if warning:
                warn(warning)
            return fit
        before, after = (_weighted_relative(f, free) for f in (free, fit))
        return self._replaced(
            free,
            f"No robot that can exist explains the logs: the relative error would rise from {percent(before)} to "
            f"{percent(after)}. Check signs, units, gears and the order of joints.",
        )

    def _with_negative_friction(self, problem: Problem, fit: Fit) -> tuple[Fit, str]:
        """Return the fit, or one in which clearly negative friction stays negative, and what to warn about."""
        from scipy.stats import norm, t

        entries = problem.base.parameters.layout.entries
        friction = [k for k, e in enumerate(entries) if e.kind in _FRICTION]
        loose = Feasible().fit_as(self.name, self._settings(), problem, [problem.names[k] for k in friction])
        # Wider with few degrees of freedom, as confidence intervals are.
        least = self.significance * t.ppf(0.975, np.maximum(loose.freedom, 1.0)) / norm.ppf(0.975)
        clearly = [
            k
            for k in friction
            if loose.values[k] < -least[k] * loose.stderr[k]
            and _share_of_torque(problem, k, loose.values[k]) > _VISIBLE
        ]
        # Torque is measured in the same place at all joints, so what holds for one holds for that kind of friction at all.
        kinds = {entries[k].kind for k in clearly}
        names = [problem.names[k] for k in friction if entries[k].kind in kinds]
        if not names:
            return fit, ""
        note = (
            f"Friction is clearly negative and stays so: {', '.join(problem.names[k] for k in clearly)}. Does something other "
            "than a motor current measure the torque, or does the drive compensate friction? The sign of such friction is left "
            "open at all joints."
        )
        return Feasible().fit_as(self.name, self._settings(), problem, names, [note]), note

    def _contradicted(self, problem: Problem, fit: Fit, free: Fit) -> bool:
        """Return whether the constraints raise the error over all joints significantly, and by more than `size` of the torque."""
        rise = _weighted_relative(fit, free) - _weighted_relative(free, free)
        weights = {
            (f.file, f.joint): 1 / free.joints[f.joint].noise for f in problem.factors if free.joints[f.joint].noise
        }
        return rise > self.size and (
            loss_significance(problem.pieces, weights, fit.values, free.values) > self.significance
        )

    def _replaced(self, free: Fit, reason: str) -> Fit:
        """Return the fit by weighted least squares in place of one by this estimator, for a `reason` that the fit states."""
        message = f"{reason} This is weighted least squares."
        return replace(
            free,
            settings={**free.settings, "instead_of": self.name},
            status=Status(Outcome.REPLACED, message),
            notes=(*free.notes, message),
        )


def _share_of_torque(problem: Problem, k: int, value: float) -> float:
    """Return the largest share that parameter `k` of this value has in the torque of a joint, root mean squares over all logs."""
    squares: dict[int, np.ndarray] = {}  # of the parameter's torque and of all torque, by joint
    for f in problem.factors:
        own, torque = value * f.r[:, k], f.r[:, -1]
        squares[f.joint] = squares.get(f.joint, np.zeros(2)) + np.array([own @ own, torque @ torque])
    return max(float(np.sqrt(own / torque)) if torque > 0 else 0.0 for own, torque in squares.values())


def _weighted_relative(fit: Fit, free: Fit) -> float:
    """Return |R (x, -1)| / |tau|, with the parameters of a fit, and the rows and weights of weighted least squares."""
    assert free.triangle is not None
    torque = max(float(np.linalg.norm(free.triangle[:, -1])), 1e-300)
    return float(np.linalg.norm(free.triangle @ np.append(fit.values, -1.0))) / torque
