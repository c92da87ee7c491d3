"""From base parameters back to standard ones: those that real bodies can have, nearest to the description's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identifiability.base import BaseParameters
from taupi.identification.physical.least_squares import closest, exactly
from taupi.identification.physical.region import Region, inconsistencies, region
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact
from taupi.threads import small_algebra

# Where the prior is missing, or such that no body has it, and consistency costs more than this share of the torque, the
# answer is refused: it would rest on neither the data nor the description.
FARTHEST = 0.1
# By this share, at most, the sum of squares may grow for the sake of the prior; the residual grows by half of it, 0.5 %.
SHARE = 1e-2


def share_of(parameters: int, rows: int) -> float:
    """Return by which share the sum of squares may grow for the prior's sake: b / rows, and no more than 1 %.

    By so much the truth's own sum is expected to exceed the least, for independent errors: nearer to the prior, the data are
    explained as well as the truth explains them. With correlated errors the truth is farther off.
    """
    return min(SHARE, parameters / max(rows, 1))


@dataclass(frozen=True, eq=False)
class Standard:
    """Consistent standard parameters for an estimate of base parameters.

    `values` (p,); `before` and `after` are the relative errors |Y_b x - tau| / |tau|, rows weighted, of the estimate and of
    B pi, the same where B pi is the estimate; `distance` from the prior is the root mean square in units of each link's own
    size, if known.
    """

    values: np.ndarray
    exact: bool
    before: float
    after: float
    distance: float
    active: tuple[str, ...] = ()

    @classmethod
    def own(cls, values: np.ndarray) -> Standard:
        """Return the standard parameters of an estimator that gives them itself."""
        return cls(values, True, 0.0, 0.0, float("nan"))

    @property
    def sentence(self) -> str:
        """How the standard parameters stand to the estimate."""
        if np.isnan(self.distance):
            return "The estimate was made among parameters that real bodies can have."
        if self.exact:
            return f"Real bodies have these base parameters; those nearest to the prior are {self.distance:.2g} sizes off it."
        held = "; ".join(self.active[:4]) + ("; ..." if len(self.active) > 4 else "")
        cost = f"The nearest that have raise the weighted relative error from {self.before:.4%} to {self.after:.4%}"
        return f"No real bodies have these base parameters. {cost} ({held or 'at the edge'})."


@small_algebra
def standard_parameters(
    base: BaseParameters,
    values: np.ndarray,
    triangle: np.ndarray,
    prior: np.ndarray | None = None,
    share: float = SHARE,
) -> Standard:
    """Return the physically consistent pi nearest to the prior with B pi = pi_b, or nearest to that.

    Where no consistent pi has B pi = pi_b, |R_Y (B pi - pi_b)| is minimised, R = [R_Y z] = `triangle` (k, b + 1) the weighted
    rows of the fit: the metric of its covariance, (R_Y^T R_Y)^-1. What is known least changes most. `prior` (p,) is the
    description's own by default; the sum of squares may grow by `share` to come nearer to it.

    >>> import numpy as np, taupi as tp
    >>> base = tp.base_parameters(tp.load("ur10"))
    >>> found = standard_parameters(base, base.parameters.values, known(base.parameters.values, np.eye(base.count)))
    >>> found.exact, bool(np.abs(found.values - base.standard.values).max() < 1e-6)
    (True, True)
    """
    values, triangle = np.asarray(values, dtype=float), np.asarray(triangle, dtype=float)
    if values.shape != (base.count,) or triangle.ndim != 2 or triangle.shape[1] != base.count + 1:
        got = f"values has shape {values.shape} and triangle {triangle.shape}"
        raise TaupiError(f"{got}, expected ({base.count},) and (k, {base.count + 1}).")
    prior = base.standard.values if prior is None else prior
    here = region(base.robot, base.standard, prior, sized=term_sizes(base, values))
    a, y, z = base.projection * here.scale, triangle[:, :-1], triangle[:, -1]
    power, rest = max(float(z @ z), np.finfo(float).tiny), float(np.sum((y @ values - z) ** 2))
    before = float(np.sqrt(rest / power))
    found = exactly(here, a, values)
    if found is not None:
        return Standard(found.pi, True, before, before, _distance(here, found.pi))
    near = closest(here, y @ a, y @ values, rest, share)
    if not near.ok:
        raise TaupiError(f"No consistent parameters were found ({near.word}). Give a prior that real bodies have.")
    after = float(np.linalg.norm(y @ (base.projection @ near.pi) - z) / np.sqrt(power))
    _refuse_far(base, prior, before, after)
    return Standard(near.pi, False, before, after, _distance(here, near.pi), near.active)


def known(values: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return rows [W  W pi_b] with W^T W = C^-1: a triangle that stands for an estimate of which only the covariance is known.

    Eigenvalues of the correlation matrix are taken for 1e-6 at least: nothing is known a thousand times better than by itself.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    some = errors[errors > 0]
    errors = np.where(errors > 0, errors, some.min() if len(some) else 1.0)
    size, turn = np.linalg.eigh(covariance / np.outer(errors, errors))
    w = (turn / np.sqrt(np.maximum(size, 1e-6))).T / errors
    return np.column_stack([w, w @ values])


def term_sizes(base: BaseParameters, values: np.ndarray) -> np.ndarray:
    """Return sizes (p,) of the terms' parameters, from an estimate (b,): descriptions seldom state friction."""
    result = np.zeros(len(base.standard))
    links = len(base.robot.parameters)
    for column, value in zip(base.columns, values, strict=True):
        result[column] = abs(value) if column >= links else 0.0
    return result


def _distance(here: Region, pi: np.ndarray) -> float:
    return float(np.sqrt(np.mean((pi / here.scale - here.prior) ** 2)))


def _refuse_far(base: BaseParameters, prior: np.ndarray, before: float, after: float) -> None:
    stated = Parameters(base.standard.layout, tuple(exact(float(v)) for v in prior))
    wrong, missing = inconsistencies(stated), not prior[: len(base.robot.parameters)].any()
    if after - before <= FARTHEST or not (wrong or missing):
        return
    why = f"{base.robot.name} states no inertias" if missing else wrong[0].rstrip(".")
    raise TaupiError(
        f"No consistent parameters explain the runs as the estimate does: the weighted relative error would rise from "
        f"{before:.1%} to {after:.1%}, and the description is no guide: {why}.",
        remedy=("Use ", Argument("estimator", "feasible"), ", or give a prior of real bodies."),
    )
