"""Estimators: frozen settings with one method, `fit(problem) -> Fit` or `fit_logs(inputs)`. `ESTIMATORS` lists them by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from taupi.checks import or_none, positive
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit

if TYPE_CHECKING:
    from taupi.identification.physical.bounds import Bounds, BoundsLike
    from taupi.identification.results.validation import Validation

ESTIMATORS: dict[str, str] = {
    "consistent": "taupi.identification.estimators.consistent:Consistent",
    "ols": "taupi.identification.estimators.ols:OrdinaryLeastSquares",
    "huber": "taupi.identification.estimators.huber:Huber",
    "ridge": "taupi.identification.estimators.ridge:Ridge",
    "entropic": "taupi.identification.estimators.entropic:Entropic",
    "wls": "taupi.identification.estimators.wls:WeightedLeastSquares",
    "feasible": "taupi.identification.estimators.feasible:Feasible",
    "output_error": "taupi.identification.estimators.output_error:OutputError",
    "friction_shapes": "taupi.identification.estimators.friction_shapes:FrictionShapes",
}


@runtime_checkable
class Estimator(Protocol):
    """An estimator that solves a problem: rows that are linear in the parameters."""

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        ...


@runtime_checkable
class LogEstimator(Protocol):
    """An estimator that starts from logs, for models that are not linear in their parameters."""

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit, and, if `validated`, the comparison of its torque with that of its logs."""
        ...


EstimatorLike = str | Estimator | LogEstimator | type


def resolve_estimator(estimator: EstimatorLike) -> Estimator | LogEstimator:
    """Return the estimator with a name, of a class, or the object itself."""
    resolved = estimator
    if isinstance(estimator, str):
        if estimator not in ESTIMATORS:
            raise unknown(Argument("estimator"), estimator, ESTIMATORS)
        module, _, name = ESTIMATORS[estimator].partition(":")
        resolved = getattr(import_module(module), name)
    if isinstance(resolved, type):
        resolved = resolved()
    if not isinstance(resolved, Estimator | LogEstimator):
        raise TaupiError(
            Argument("estimator"),
            f" is {shown(estimator)}, expected one of {', '.join(ESTIMATORS)}, or an object with fit(problem).",
        )
    return resolved


def with_knowledge(
    estimator: EstimatorLike, bounds: BoundsLike = None, prior_weight: float | None = None
) -> Estimator | LogEstimator:
    """Return the estimator with `bounds` on links and this weight of the prior; refuse an estimator that cannot use them."""
    resolved = resolve_estimator(estimator)
    for name, value in (
        ("bounds", _checked_bounds(bounds)),
        ("prior_weight", or_none(positive)("prior_weight", prior_weight)),
    ):
        if value is None:
            continue
        change = getattr(resolved, f"with_{name}", None)
        if change is None:
            raise TaupiError(
                Argument(name), f" has no meaning for the estimator {getattr(resolved, 'name', shown(estimator))}.",
                remedy=("Use ", Argument("estimator", "consistent"), " or ", Argument("estimator", "feasible"), "."),
            )  # fmt: skip
        resolved = change(value)
    return resolved


def _checked_bounds(bounds: BoundsLike) -> Bounds | None:
    if bounds is None:
        return None
    from taupi.identification.physical.bounds import Bounds

    return Bounds.of(bounds)
