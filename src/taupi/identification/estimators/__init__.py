"""Estimators: frozen settings with one method, `fit(problem) -> Fit`. `ESTIMATORS` is the table of their names."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, runtime_checkable

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation

ESTIMATORS: dict[str, str] = {
    "consistent": "taupi.identification.estimators.consistent:Consistent",
    "ols": "taupi.identification.estimators.ols:OrdinaryLeastSquares",
    "huber": "taupi.identification.estimators.huber:Huber",
    "ridge": "taupi.identification.estimators.ridge:Ridge",
    "wls": "taupi.identification.estimators.wls:WeightedLeastSquares",
    "feasible": "taupi.identification.estimators.feasible:Feasible",
    "output_error": "taupi.identification.estimators.output_error:OutputError",
    "friction_shapes": "taupi.identification.estimators.friction_shapes:FrictionShapes",
}


@runtime_checkable
class Estimator(Protocol):
    """Settings that turn a problem, rows linear in the parameters, into a fit."""

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        ...


@runtime_checkable
class LogEstimator(Protocol):
    """Settings that turn logs into a fit, for what is not linear in its parameters."""

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit, and, if `validated`, its torque beside that of its logs."""
        ...


EstimatorLike = str | Estimator | LogEstimator | type


def resolve_estimator(given: EstimatorLike) -> Estimator | LogEstimator:
    """Return an estimator from its name, its class or itself."""
    chosen = given
    if isinstance(given, str):
        if given not in ESTIMATORS:
            raise unknown(Argument("estimator"), given, ESTIMATORS)
        module, _, name = ESTIMATORS[given].partition(":")
        chosen = getattr(import_module(module), name)
    estimator = chosen() if isinstance(chosen, type) else chosen
    if not isinstance(estimator, Estimator | LogEstimator):
        raise TaupiError(
            Argument("estimator"),
            f" is {shown(given)}, expected one of {', '.join(ESTIMATORS)}, or an object with fit(problem).",
        )
    return estimator
