"""Estimators: frozen settings with one method, `fit(problem) -> Fit` or `fit_logs(inputs)`. `ESTIMATORS` lists them by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Union, runtime_checkable

from taupi.checks import or_none, positive
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.extensions import Extensions
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem
from taupi.identification.results.command_fit import CommandFit, CommandValidation
from taupi.identification.results.fit import Fit

if TYPE_CHECKING:
    from taupi.identification.physical.link_bounds import BoundsLike, LinkBounds
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


# What is identified: from torques, or from commands.
AnyFit = Fit | CommandFit
# A fit, and what it predicts for its own logs, if that was asked for.
Fitted = Union["tuple[Fit, tuple[Validation, ...]]", "tuple[CommandFit, tuple[CommandValidation, ...]]"]


@runtime_checkable
class Estimator(Protocol):
    """An estimator that solves a problem: rows that are linear in the parameters."""

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        ...


@runtime_checkable
class LogEstimator(Protocol):
    """An estimator that starts from logs, for models that are not linear in their parameters."""

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> Fitted:
        """Return the fit, and, if `validated`, the comparison of what it predicts with its logs."""
        ...


@runtime_checkable
class TakesBounds(Protocol):
    """An estimator that keeps links within bounds."""

    def with_bounds(self, bounds: LinkBounds) -> Estimator | LogEstimator:
        """Return it with these `bounds`."""
        ...


@runtime_checkable
class TakesPriorWeight(Protocol):
    """An estimator that weighs a prior against the logs."""

    def with_prior_weight(self, prior_weight: float) -> Estimator | LogEstimator:
        """Return it with this `prior_weight`."""
        ...


# Of installed packages: classes, or objects with other settings than by default.
ADDED: Extensions[Estimator | LogEstimator | type] = Extensions("estimator", "taupi.estimators")

# Estimators that start from the triangles of all rows; the others pass over logs again, or simulate them.
TRIANGLE_ESTIMATORS = ("consistent", "wls", "ols", "ridge", "entropic", "feasible")

# Estimators of equations that have no other, by `Equations.own_estimator`.
OWN_ESTIMATORS: dict[str, str] = {"closed_loop": "taupi.identification.estimators.closed_loop:ClosedLoop"}

EstimatorLike = str | Estimator | LogEstimator | type


def resolve_estimator(estimator: EstimatorLike) -> Estimator | LogEstimator:
    """Return the estimator with a name, of a class, or the object itself."""
    resolved = estimator
    if isinstance(estimator, str):
        resolved = _estimator_named(estimator)
    if isinstance(resolved, type):
        resolved = resolved()
    if not isinstance(resolved, Estimator | LogEstimator):
        raise TaupiError(
            "{estimator} is {got!r}, expected one of {estimators:,}, or an object with fit(problem).",
            got=estimator,
            estimators=ESTIMATORS,
        )
    return resolved


def _estimator_named(name: str) -> Estimator | LogEstimator | type:
    known = {**ESTIMATORS, **OWN_ESTIMATORS}
    if name in known:
        module, _, attribute = known[name].partition(":")
        found: type = getattr(import_module(module), attribute)
        return found
    if (added := ADDED.find(name)) is not None:
        return added
    raise unknown(Argument("estimator"), name, [*known, *ADDED.names()])


def own_estimator(name: str, estimator: EstimatorLike, kind: str) -> LogEstimator:
    """Return the one estimator, by its `name`, of a kind of equations; refuse another, if one was asked for.

    What `estimator` is by default stands for it.
    """
    own, asked = resolve_estimator(name), resolve_estimator(estimator)
    if type(asked) is type(own):
        own = asked
    elif asked != resolve_estimator("consistent"):
        raise TaupiError(
            "{estimator} is not for {kind}, whose positions are simulated.", remedy="Leave it out.", kind=kind
        )
    assert isinstance(own, LogEstimator)
    return own


def triangle_estimator(estimator: EstimatorLike, reason: str) -> Estimator:
    """Return an estimator that starts from triangles; refuse others for a `reason`, such as "for closed loops"."""
    resolved = resolve_estimator(estimator)
    name = getattr(resolved, "name", "")
    if isinstance(resolved, LogEstimator) or name not in TRIANGLE_ESTIMATORS:
        known = ", ".join(TRIANGLE_ESTIMATORS)
        raise TaupiError(
            "{estimator} is {got!r}, expected one of {known} {reason}.", got=name, known=known, reason=reason
        )
    return resolved


def with_knowledge(
    estimator: EstimatorLike, bounds: BoundsLike = None, prior_weight: float | None = None
) -> Estimator | LogEstimator:
    """Return the estimator with `bounds` on links and this weight of the prior; refuse an estimator that cannot use them."""
    resolved = resolve_estimator(estimator)
    links: LinkBounds | None = None
    if bounds is not None:
        from taupi.identification.physical.link_bounds import LinkBounds

        links = LinkBounds.of(bounds)
    weight = or_none(positive)("prior_weight", prior_weight)
    if links is not None:
        if not isinstance(resolved, TakesBounds):
            raise _unusable("bounds", resolved, estimator)
        resolved = resolved.with_bounds(links)
    if weight is not None:
        if not isinstance(resolved, TakesPriorWeight):
            raise _unusable("prior_weight", resolved, estimator)
        resolved = resolved.with_prior_weight(weight)
    return resolved


def _unusable(argument: str, resolved: Estimator | LogEstimator, estimator: EstimatorLike) -> TaupiError:
    return TaupiError(
        "{argument} has no meaning for the estimator {resolved}.",
        remedy="Use {estimator='consistent'} or {estimator='feasible'}.",
        argument=Argument(argument),
        resolved=getattr(resolved, "name", shown(estimator)),
    )
