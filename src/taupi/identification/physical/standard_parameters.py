"""From base parameters back to standard ones: those that real bodies can have, nearest to those of the description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.physical.least_squares import constrained_least_squares, exact_solution
from taupi.identification.physical.region import Region, consistent_region, inconsistencies
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact
from taupi.threads import small_algebra

# If the prior is missing or physically impossible, and consistency costs more than this share of the torque, the result is
# refused: neither the data nor the description would support it.
FARTHEST = 0.1
# The largest share by which the sum of squares may grow for the sake of the prior; the residual grows by half of it, 0.5 %.
SHARE = 1e-2


def prior_share(parameters: int, rows: int) -> float:
    """Return the share by which the sum of squares may grow for the sake of the prior: b / rows, at most 1 %.

    For independent errors, the sum of squares of the true parameters is expected to exceed the least by this share: parameters
    nearer to the prior then explain the data as well as the true ones do. With correlated errors it exceeds it by more.
    """
    return min(SHARE, parameters / max(rows, 1))


@dataclass(frozen=True, eq=False)
class Consistency:
    """Physically consistent standard parameters for an estimate of base parameters, and what they cost.

    Attributes:
        values: The standard parameters pi (p,).
        exact: Whether B pi is the estimate itself.
        before: The relative error |Y_b x - tau| / |tau| of the estimate, rows weighted.
        after: The same of B pi.
        distance: Distance from the prior, root mean square in units of each link's own scale; NaN if not known.
        active: The constraints that are active, in words.
    """

    values: np.ndarray
    exact: bool
    before: float
    after: float
    distance: float
    active: tuple[str, ...] = ()

    @classmethod
    def of_estimator(cls, values: np.ndarray) -> Consistency:
        """Return the consistency of an estimator that gives standard parameters itself: `values` (p,)."""
        return cls(values, True, 0.0, 0.0, float("nan"))

    @property
    def sentence(self) -> str:
        """How the standard parameters relate to the estimate."""
        if np.isnan(self.distance):
            return "The estimate was made among parameters that real bodies can have."
        if self.exact:
            return (
                "Real bodies have these base parameters; the nearest to the prior differ from it by "
                f"{self.distance:.2g} times the scale of the links."
            )
        active = "; ".join(self.active[:4]) + ("; ..." if len(self.active) > 4 else "")
        cost = f"Those of the nearest real bodies raise the weighted relative error from {self.before:.4%} to {self.after:.4%}"
        return f"No real bodies have these base parameters. {cost} ({active or 'at the edge'})."


@small_algebra
def standard_parameters(
    base: BaseParameters,
    values: np.ndarray,
    triangle: np.ndarray,
    prior: np.ndarray | None = None,
    share: float = SHARE,
) -> Consistency:
    """Return the physically consistent pi nearest to the prior for which B pi = pi_b, or for which B pi is nearest to pi_b.

    If no consistent pi satisfies B pi = pi_b, |R_Y (B pi - pi_b)| is minimised, with R = [R_Y z] = `triangle` (k, b + 1) the
    weighted rows of the fit: this is the metric of its covariance, (R_Y^T R_Y)^-1, in which the least certain combinations change
    most. `values` (b,) are pi_b, `prior` (p,) is that of the description by default; the sum of squares may grow by `share`, 1 %
    by default, to come nearer to it.

    >>> import numpy as np, taupi as tp
    >>> base = tp.base_parameters(tp.load("ur10"))
    >>> pi_b = base.parameters.values
    >>> result = standard_parameters(base, pi_b, rows_from_covariance(pi_b, np.eye(base.count)))
    >>> result.exact, bool(np.abs(result.values - base.standard.values).max() < 1e-6)
    (True, True)
    """
    values, triangle = np.asarray(values, dtype=float), np.asarray(triangle, dtype=float)
    if values.shape != (base.count,) or triangle.ndim != 2 or triangle.shape[1] != base.count + 1:
        shapes = f"values has shape {values.shape} and triangle {triangle.shape}"
        raise TaupiError(f"{shapes}, expected ({base.count},) and (k, {base.count + 1}).")
    prior = base.standard.values if prior is None else prior
    region = consistent_region(base.robot, base.standard, prior, sizes=term_sizes(base, values))
    a, y, z = base.projection * region.scale, triangle[:, :-1], triangle[:, -1]
    power, rest = max(float(z @ z), np.finfo(float).tiny), float(np.sum((y @ values - z) ** 2))
    before = float(np.sqrt(rest / power))
    exact_pi = exact_solution(region, a, values)
    if exact_pi is not None:
        return Consistency(exact_pi.pi, True, before, before, _distance(region, exact_pi.pi))
    nearest = constrained_least_squares(region, y @ a, y @ values, rest, share)
    if not nearest.ok:
        raise TaupiError(
            f"No consistent parameters were found ({nearest.message}).",
            remedy=("Give a ", Argument("prior"), " that real bodies have."),
        )
    after = float(np.linalg.norm(y @ (base.projection @ nearest.pi) - z) / np.sqrt(power))
    _refuse_far(base, prior, before, after)
    return Consistency(nearest.pi, False, before, after, _distance(region, nearest.pi), nearest.active)


def rows_from_covariance(values: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return rows [W  W pi_b] with W^T W = C^-1: a triangle for an estimate of which only the covariance C is known.

    Eigenvalues of the correlation matrix count as at least 1e-6: no combination is known a thousand times better than its parts.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    positive = errors[errors > 0]
    errors = np.where(errors > 0, errors, positive.min() if len(positive) else 1.0)
    eigenvalues, vectors = np.linalg.eigh(covariance / np.outer(errors, errors))
    w = (vectors / np.sqrt(np.maximum(eigenvalues, 1e-6))).T / errors
    return np.column_stack([w, w @ values])


def term_sizes(base: BaseParameters, values: np.ndarray) -> np.ndarray:
    """Return the sizes (p,) of the parameters of terms, from an estimate (b,), since descriptions seldom state friction."""
    result = np.zeros(len(base.standard))
    links = len(base.robot.parameters)
    for column, value in zip(base.columns, values, strict=True):
        result[column] = abs(value) if column >= links else 0.0
    return result


def _distance(region: Region, pi: np.ndarray) -> float:
    return float(np.sqrt(np.mean((pi / region.scale - region.prior) ** 2)))


def _refuse_far(base: BaseParameters, prior: np.ndarray, before: float, after: float) -> None:
    stated = Parameters(base.standard.layout, tuple(exact(float(v)) for v in prior))
    wrong, missing = inconsistencies(stated), not prior[: len(base.robot.parameters)].any()
    if after - before <= FARTHEST or not (wrong or missing):
        return
    why = f"{base.robot.name} states no inertias" if missing else wrong[0].rstrip(".")
    raise TaupiError(
        f"No consistent parameters explain the logs as well as the estimate does: the weighted relative error would rise from "
        f"{before:.1%} to {after:.1%}, and the description cannot serve as a guide: {why}.",
        remedy=(
            "Use ",
            Argument("estimator", "feasible"),
            ", or give a ",
            Argument("prior"),
            " that real bodies have.",
        ),
    )
