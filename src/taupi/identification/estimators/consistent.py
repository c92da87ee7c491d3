"""Weighted least squares over physically possible robots: the default estimator."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from taupi.checks import or_none, positive
from taupi.dynamics.terms import friction_above_zero
from taupi.errors import NotIdentifiedError, TaupiError, TaupiWarning, warn
from taupi.identification.build import ChosenLogs, chosen_logs
from taupi.identification.estimators.feasible import Feasible, FeasibleSolution
from taupi.identification.estimators.wls import WeightedLeastSquares
from taupi.identification.folds.region_folds import simpler_friction
from taupi.identification.folds.relative_gains import relative_gains
from taupi.identification.inputs import FitInputs
from taupi.identification.physical.link_bounds import LinkBounds
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.status import Outcome, Status
from taupi.identification.results.uncertainty import loss_significance
from taupi.identification.results.verdict import percent

# Friction with a smaller share of a joint's torque does not justify parameters that are physically impossible.
_VISIBLE = 0.002


def consistent_values(problem: Problem) -> np.ndarray:
    """Return the base parameters of the default estimator: a first fit, which is followed by another one.

    If no real bodies come near the logs, they are the parameters of weighted least squares.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        try:
            solved = Feasible().solve(problem)
            if solved.consistent.exact:  # the values are all that is asked for
                return np.asarray(problem.base.projection @ solved.consistent.pi)
            return Consistent()._fit(problem, solved).values
        except TaupiError:
            return WeightedLeastSquares().fit(problem).values


def problem_of_logs(inputs: FitInputs) -> Problem:
    """Return the problem of a fit: its logs are read and checked, cutoffs and friction chosen, and all rows made.

    Friction that depends on load needs the parameters of a first fit, which is that of the default estimator. Where the logs show
    that some drives read high beside others, their torques are divided by these gains first.
    """
    with chosen_logs(inputs) as recorded:
        logs, gains, first = recorded, None, _first_values(recorded)
        folds = logs.folds(first)
        if folds is not None and inputs.preparation.relative_gains is None:
            gains = relative_gains(folds)
            if gains is not None and gains.admitted:
                logs = recorded.with_relative_gains(gains)
                first = _first_values(logs)
                folds = logs.folds(first)
        problem = replace(logs.problem(first), gains=gains)
        note = None if folds is None or inputs.terms is not None else simpler_friction(folds, problem.terms)
        return problem if note is None else replace(problem, notes=(*problem.notes, note))


def _first_values(logs: ChosenLogs) -> np.ndarray | None:
    """Return the parameters (b,) of a first fit, if there is friction whose load they give."""
    return None if logs.draft is None else consistent_values(logs.draft)


@dataclass(frozen=True, slots=True)
class Consistent:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over links and rotors that real bodies can have, and friction that dissipates.

    If real bodies can have the parameters of weighted least squares, the result is that of "wls". Otherwise it predicts other
    motions better than "wls" does, because parameters that noise and a poor motion leave open do not become impossible bodies.

    There are two exceptions, both only if the logs contradict the constraints significantly. Friction may be negative, with a
    warning, where it is significantly below zero, also without load and curve beside it, and makes up more than 0.2 % of the
    joint's torque: a torque sensor beyond the gear, or a drive that compensates its friction, measures that. If that holds for
    one kind of friction (viscous or dry) at half of the joints or more, it may be negative at all of them. And if every possible
    robot has an error significantly larger than that of "wls", the result is that of "wls"; `fit.estimator` and the verdict say
    so. "feasible" makes no exceptions, and with bounds or a prior weight there are none here either.

    Attributes:
        significance: How many standard errors are significant; 2.6 by default, as in 99 % intervals (more with few data).
        size: By how much the relative error of the torque must also be larger before "wls" is taken; 0.05 by default.
        bounds: Bounds on links, as in `Feasible`; none by default.
        prior_weight: As in `Feasible`; none by default.
    """

    significance: float = 2.6
    size: float = 0.05
    bounds: LinkBounds | None = None
    prior_weight: float | None = None
    name: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        positive("significance", self.significance)
        positive("size", self.size)
        or_none(positive)("prior_weight", self.prior_weight)

    def with_bounds(self, bounds: LinkBounds) -> Consistent:
        """Return the estimator within `bounds`."""
        return replace(self, bounds=bounds)

    def with_prior_weight(self, prior_weight: float) -> Consistent:
        """Return the estimator with this `prior_weight`."""
        return replace(self, prior_weight=prior_weight)

    def _settings(self) -> dict[str, object]:
        return {"significance": self.significance, "size": self.size}

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        if self.bounds is None and self.prior_weight is None:
            return self._fit(problem)
        bounded = Feasible(prior_weight=self.prior_weight)
        bounded = bounded if self.bounds is None else bounded.with_bounds(self.bounds)
        return bounded.fit_as(self.name, bounded.settings(), problem)

    def _fit(self, problem: Problem, solved: FeasibleSolution | None = None) -> Fit:
        """Return the fit without bounds, from its solution among real bodies if that is known already."""
        try:
            fit = Feasible().fit_as(self.name, self._settings(), problem, solved=solved)
            if fit.status.outcome is Outcome.UNCONSTRAINED:
                return fit
            fit, warning = self._with_negative_friction(problem, fit)
        except NotIdentifiedError as error:
            free = WeightedLeastSquares().fit(problem)
            return self._replaced(free, f"The fit among real bodies failed ({error}).")
        free = WeightedLeastSquares().fit(problem)
        if not self._contradicted(problem, fit, free):
            if warning:
                warn("{why}", why=warning)
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
        friction = [k for k, e in enumerate(entries) if e.kind in friction_above_zero()]
        # Whether friction is negative in these logs is asked, not in all that might be recorded: only their noise counts.
        signless = [problem.names[k] for k in friction]
        loose = Feasible().fit_as(self.name, self._settings(), problem, signless, between_runs=False)
        # Wider with few degrees of freedom, as confidence intervals are.
        least = self.significance * t.ppf(0.975, np.maximum(loose.freedom, 1.0)) / norm.ppf(0.975)
        # Beside friction that bends with speed, viscous friction may change its sign though all of it brakes: what is negative
        # has to be so by itself, in the first fit.
        alone = np.append(problem.first, np.full(len(loose.values) - len(problem.first), -1.0)) < 0
        clearly = [
            k
            for k in friction
            if alone[k]
            and loose.values[k] < -least[k] * loose.stderr[k]
            and _share_of_torque(problem, k, loose.values[k]) > _VISIBLE
        ]
        if not clearly:
            return fit, ""
        # Torque is measured in the same place at all joints: what holds for most of them holds for that kind of friction. At
        # single joints it is an exception; elsewhere, negative friction would only take up errors of another kind.
        every = Counter(entries[k].kind for k in friction)
        kinds = {kind for kind, count in Counter(entries[k].kind for k in clearly).items() if 2 * count >= every[kind]}
        names = [problem.names[k] for k in friction if k in clearly or entries[k].kind in kinds]
        note = (
            f"Friction is clearly negative and stays so: {', '.join(problem.names[k] for k in clearly)}. Does something other "
            "than a motor current measure the torque, or does the drive compensate friction?"
            + (" The sign of such friction is left open at all joints." if kinds else "")
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
