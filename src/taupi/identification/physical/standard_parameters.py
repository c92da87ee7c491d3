"""Standard parameters that real bodies can have: constrained least squares, and those that give the base parameters of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.physical.cones import (
    Cone,
    ConeSolution,
    deepest_point,
    least_squares_in_cone,
    nearest_in_ball,
)
from taupi.identification.physical.region import DEPTH, Region, consistent_region, inconsistencies
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact
from taupi.threads import small_algebra

# Resolution of the squared misfit in doubles, relative to the sum of squares of the torque.
_RESOLUTION = 1e-16
# Terms of a kind differ from joint to joint, but not by more than this.
_LEAST_SIZE = 1e-6
# The pull to the prior in the search for the least sum of squares, in units of that sum, and how often this unit is refined.
_FAINT, _STEPS = 1e-8, 3


@dataclass(frozen=True, eq=False)
class ConsistentSolution:
    """Physically consistent parameters `pi` (p,), and how they were found."""

    pi: np.ndarray
    misfit: float  # |a x - z|^2
    active: tuple[str, ...] = ()  # the constraints that are active, in words
    message: str = "solved"  # of the solver
    ok: bool = True  # otherwise the parameters are consistent, but not optimal
    exact: bool = False  # whether a x = z


def exact_solution(region: Region, a: np.ndarray, z: np.ndarray) -> ConsistentSolution | None:
    """Return the consistent parameters nearest to the prior for which a x = z, x = pi / scale; None if there are none.

    a (k, p) has full row rank. |x - prior|^2 is minimised over its null space.
    """
    unit = np.maximum(np.linalg.norm(a, axis=1), np.finfo(float).tiny)
    u, s, vt = np.linalg.svd(a / unit[:, None])
    k = len(s)
    origin, basis = vt[:k].T @ ((u.T @ (z / unit)) / s), vt[k:].T
    cone, y0 = region.cone.along(origin, basis), basis.T @ (region.prior - origin)
    if not basis.shape[1]:
        return (
            ConsistentSolution(region.parameters(origin), 0.0, exact=True)
            if cone.slack(np.zeros(0)).min() >= 0
            else None
        )
    inside, depth = deepest_point(cone, y0)
    if depth < DEPTH:  # perhaps because of the pull to a prior far away: try again with hardly any
        inside, depth = deepest_point(cone, y0, weight=1e-10)
    if depth < DEPTH:
        return None
    y = inside
    for _ in range(2):
        # Relative to the best point so far, in units of its distance from the prior, all numbers are about one.
        distance = max(float(np.linalg.norm(y - y0)), 1e-9)
        local = cone.along(y, distance * np.eye(len(y)))
        solution = least_squares_in_cone(
            local, np.zeros((0, len(y))), np.zeros(0), np.ones(len(y)), (y0 - y) / distance
        )
        nearer = _moved_inside(cone, y + distance * solution.x, inside, depth)
        y = nearer if np.linalg.norm(nearer - y0) < distance else y
    return ConsistentSolution(region.parameters(origin + basis @ y), 0.0, exact=True)


def constrained_least_squares(
    region: Region, a: np.ndarray, z: np.ndarray, rest: float, share: float
) -> ConsistentSolution:
    """Return the parameters of a region that are nearest to the prior among those that explain the data nearly best.

    Minimise |x - prior|^2 subject to |a x - z|^2 + rest <= (1 + share) times its least value, x = pi / scale. The distance from
    the prior decides what the data leave open; `share` is how much worse the data may be explained for it.
    """
    best = _least_misfit(region, a, z, rest)
    x = _moved_inside(region.cone, best.x, region.inside, region.depth)
    active, least = _active(region, best, x), _misfit(a, x, z)
    if not best.ok:
        return ConsistentSolution(region.parameters(x), least, active, best.message, ok=False)
    radius = np.sqrt((1.0 + share) * max(least + rest, _floor(z, rest)) - rest)
    # Relative to the best point, in units of its distance from the prior, all numbers are about one.
    distance = max(float(np.linalg.norm(x - region.prior)), 1e-9)
    local = region.cone.along(x, distance * np.eye(len(x)))
    solution = nearest_in_ball(local, a * distance, z - a @ x, radius, (region.prior - x) / distance)
    nearer = _moved_inside(region.cone, x + distance * solution.x, region.inside, region.depth)
    if _misfit(a, nearer, z) <= (1.0 + 1e-6) * radius**2 and np.linalg.norm(nearer - region.prior) < distance:
        x = nearer
    return ConsistentSolution(region.parameters(x), _misfit(a, x, z), active, best.message)


def _least_misfit(region: Region, a: np.ndarray, z: np.ndarray, rest: float) -> ConeSolution:
    """Return the x of a region with the least |a x - z|^2, by a pull to the prior that is just strong enough to matter."""
    pull = np.full(len(region.prior), _FAINT)
    misfit, best = max(float(z @ z) + rest, _floor(z, rest)), None
    for _ in range(_STEPS):
        # The sum of squares is the unit of the next step, so that the solver's tolerance is relative to the residual.
        unit = np.sqrt(misfit)
        solution = least_squares_in_cone(region.cone, a / unit, z / unit, pull, region.prior)
        if not solution.ok and best is None:  # a stronger pull makes it easier
            solution = least_squares_in_cone(region.cone, a / unit, z / unit, 1e4 * pull, region.prior)
        elif not solution.ok and best is not None:
            break  # beyond the resolution of doubles: keep the previous step
        best = solution
        misfit = max(_misfit(a, best.x, z) + rest, _floor(z, rest))
    assert best is not None
    return best


def _misfit(a: np.ndarray, x: np.ndarray, z: np.ndarray) -> float:
    return float(np.sum((a @ x - z) ** 2))


def _floor(z: np.ndarray, rest: float) -> float:
    return max(_RESOLUTION * (float(z @ z) + rest), float(np.finfo(float).tiny))


def _moved_inside(cone: Cone, x: np.ndarray, inside: np.ndarray, depth: float) -> np.ndarray:
    """Return x moved just far enough towards a point `inside` to lie in the cone: slack is concave along the way."""
    if not np.isfinite(x).all():
        return inside
    slack = float(cone.slack(x).min())
    if slack >= 0:
        return x
    t = min(1.0, 1.001 * slack / (slack - depth))
    return (1.0 - t) * x + t * inside


def _active(region: Region, solution: ConeSolution, x: np.ndarray) -> tuple[str, ...]:
    """Return the labels of the active constraints: those whose multiplier is larger than their slack.

    The product of the two is zero at the optimum. Multipliers as small as those that the pull to the prior causes do not count.
    """
    slack = region.cone.slack(x)
    faint = max(1e-5, 10 * _FAINT * float(np.linalg.norm(x - region.prior)))
    active = (slack < 1e-4) & (solution.multipliers > np.maximum(slack, faint))
    return tuple(dict.fromkeys(label for label, on in zip(region.labels, active, strict=True) if on))


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
        after: The relative error of B pi.
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
        raise TaupiError(
            "values has shape {got} and triangle {shape}, expected ({expected},) and (k, {count}).",
            got=values.shape,
            shape=triangle.shape,
            expected=base.count,
            count=base.count + 1,
        )
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
            "No consistent parameters were found ({nearest}).",
            remedy="Give a {prior} that real bodies have.",
            nearest=nearest.message,
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
    """Return the sizes (p,) of the parameters of terms, from an estimate (b,), since descriptions seldom state friction.

    At a joint without torque an estimate is rounding error; no size is less than a millionth of the largest one of its kind.
    """
    result = np.zeros(len(base.standard))
    links = len(base.robot.parameters)
    kinds = [entry.kind for entry in base.standard.layout.entries]
    largest: dict[str, float] = {}
    for column, value in zip(base.columns, values, strict=True):
        if column >= links:
            result[column] = abs(value)
            largest[kinds[column]] = max(largest.get(kinds[column], 0.0), abs(value))
    least = np.array([_LEAST_SIZE * largest.get(kind, 0.0) for kind in kinds])
    return np.where(result > 0, np.maximum(result, least), result)


def _distance(region: Region, pi: np.ndarray) -> float:
    return float(np.sqrt(np.mean((pi / region.scale - region.prior) ** 2)))


def _refuse_far(base: BaseParameters, prior: np.ndarray, before: float, after: float) -> None:
    stated = Parameters(base.standard.layout, tuple(exact(float(v)) for v in prior))
    wrong, missing = inconsistencies(stated), not prior[: len(base.robot.parameters)].any()
    if after - before <= FARTHEST or not (wrong or missing):
        return
    why = f"{base.robot.name} states no inertias" if missing else wrong[0].rstrip(".")
    raise TaupiError(
        "No consistent parameters explain the logs as well as the estimate does: the weighted relative "
        "error would rise from {before:.1%} to {after:.1%}, and the description cannot serve as a guide: {why}.",
        remedy="Use {estimator='feasible'}, or give a {prior} that real bodies have.",
        before=before,
        after=after,
        why=why,
    )
