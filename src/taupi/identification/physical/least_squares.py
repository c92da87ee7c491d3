"""Least squares among parameters that real bodies can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identification.physical.cones import Cone, Solution, deepest_point, least_squares_in_cone, nearest_in_ball
from taupi.identification.physical.region import DEPTH, Region

# Resolution of the squared misfit in doubles, relative to the sum of squares of the torque.
_RESOLUTION = 1e-16
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


def _least_misfit(region: Region, a: np.ndarray, z: np.ndarray, rest: float) -> Solution:
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


def _active(region: Region, solution: Solution, x: np.ndarray) -> tuple[str, ...]:
    """Return the labels of the active constraints: those whose multiplier is larger than their slack.

    The product of the two is zero at the optimum. Multipliers as small as those that the pull to the prior causes do not count.
    """
    slack = region.cone.slack(x)
    faint = max(1e-5, 10 * _FAINT * float(np.linalg.norm(x - region.prior)))
    active = (slack < 1e-4) & (solution.multipliers > np.maximum(slack, faint))
    return tuple(dict.fromkeys(label for label, on in zip(region.labels, active, strict=True) if on))
