"""Estimators: frozen settings with one method, `fit(problem) -> Fit`. `ESTIMATORS` is the table of their names."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from taupi.errors import TaupiError, shown, unknown
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit

ESTIMATORS: dict[str, str] = {
    "consistent": "taupi.identification.estimators.consistent:Consistent",
    "ols": "taupi.identification.estimators.ols:OrdinaryLeastSquares",
    "huber": "taupi.identification.estimators.huber:Huber",
    "ridge": "taupi.identification.estimators.ridge:Ridge",
    "wls": "taupi.identification.estimators.wls:WeightedLeastSquares",
    "feasible": "taupi.identification.estimators.feasible:Feasible",
}


@runtime_checkable
class Estimator(Protocol):
    """Settings that turn a problem into a fit."""

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        ...


def resolve_estimator(given: Any) -> Estimator:
    """Return an estimator from its name, its class or itself."""
    if isinstance(given, str):
        if given not in ESTIMATORS:
            raise unknown("estimator", given, ESTIMATORS)
        module, _, name = ESTIMATORS[given].partition(":")
        given = getattr(import_module(module), name)
    made = given() if isinstance(given, type) else given
    if not isinstance(made, Estimator):
        raise TaupiError(
            f"estimator is {shown(given)}, expected one of {', '.join(ESTIMATORS)}, or an object with fit(problem)."
        )
    return made
