"""Least squares among parameters that real bodies can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identification.physical.cones import Cone, Solution, deepest, nearest, within
from taupi.identification.physical.region import DEPTH, Region

# How far the squared misfit is resolved: sums of squares of doubles, relative to that of the torque.
_RESOLVED = 1e-16
# The pull to the prior while the least sum of squares is sought, in units of that sum; and how often that unit is refined.
_FAINT, _STEPS = 1e-8, 3


@dataclass(frozen=True, eq=False)
class Realised:
    """Parameters of a region: `pi` (p,), the squared misfit |a x - z|^2, which constraints hold it, the solver's last word."""

    pi: np.ndarray
    misfit: float
    active: tuple[str, ...] = ()
    word: str = "solved"
    ok: bool = True  # otherwise they are consistent and no more
    exact: bool = False  # whether a x = z


def exactly(region: Region, a: np.ndarray, z: np.ndarray) -> Realised | None:
    """Return the consistent parameters nearest to the prior with a x = z, x = pi / scale; None where there are none.

    a (k, p) is of full row rank. What it leaves open is a space of its own, in which |x - prior|^2 is minimised.
    """
    unit = np.maximum(np.linalg.norm(a, axis=1), np.finfo(float).tiny)
    u, s, vt = np.linalg.svd(a / unit[:, None])
    k = len(s)
    origin, basis = vt[:k].T @ ((u.T @ (z / unit)) / s), vt[k:].T
    cone, y0 = region.cone.along(origin, basis), basis.T @ (region.prior - origin)
    if not basis.shape[1]:
        return Realised(origin * region.scale, 0.0, exact=True) if cone.slack(np.zeros(0)).min() >= 0 else None
    inside, depth = deepest(cone, y0)
    if depth < DEPTH:  # the pull to a prior far away may have won: ask again with hardly any
        inside, depth = deepest(cone, y0, weight=1e-10)
    if depth < DEPTH:
        return None
    y = inside
    for _ in range(2):
        # Seen from the best point so far, in units of its distance from the prior, all numbers are about one.
        far = max(float(np.linalg.norm(y - y0)), 1e-9)
        around = cone.along(y, far * np.eye(len(y)))
        found = nearest(around, np.zeros((0, len(y))), np.zeros(0), np.ones(len(y)), (y0 - y) / far)
        better = _tightened(cone, y + far * found.x, inside, depth)
        y = better if np.linalg.norm(better - y0) < far else y
    return Realised((origin + basis @ y) * region.scale, 0.0, exact=True)


def closest(region: Region, a: np.ndarray, z: np.ndarray, rest: float, share: float) -> Realised:
    """Return the parameters of a region nearest to the prior among those that explain the data nearly as well as any.

    Minimise |x - prior|^2 subject to |a x - z|^2 + rest <= (1 + share) times the least that it can be, x = pi / scale. The first
    makes unique what the data leave open; `share` is what they may pay for it.
    """
    best = _least(region, a, z, rest)
    if not best.ok:
        x = _tightened(region.cone, best.x, region.inside, region.depth)
        return Realised(x * region.scale, _misfit(a, x, z), _active(region, best, x), best.word, ok=False)
    x = _tightened(region.cone, best.x, region.inside, region.depth)
    active, least = _active(region, best, x), _misfit(a, x, z)
    radius = np.sqrt((1.0 + share) * max(least + rest, _floor(z, rest)) - rest)
    # Seen from the best point, in units of its distance from the prior, all numbers are about one.
    far = max(float(np.linalg.norm(x - region.prior)), 1e-9)
    around = region.cone.along(x, far * np.eye(len(x)))
    found = within(around, a * far, z - a @ x, radius, (region.prior - x) / far)
    near = _tightened(region.cone, x + far * found.x, region.inside, region.depth)
    if _misfit(a, near, z) <= (1.0 + 1e-6) * radius**2 and np.linalg.norm(near - region.prior) < far:
        x = near
    return Realised(x * region.scale, _misfit(a, x, z), active, best.word)


def _least(region: Region, a: np.ndarray, z: np.ndarray, rest: float) -> Solution:
    """Return the least of |a x - z|^2 in a region, with a pull to the prior that is just strong enough to be seen."""
    chi, found = max(float(z @ z) + rest, _floor(z, rest)), None
    for _ in range(_STEPS):
        # The sum of squares is the unit of the next step, so that the solver's tolerance is relative to what is left.
        unit = np.sqrt(chi)
        answer = nearest(region.cone, a / unit, z / unit, np.full(len(region.prior), _FAINT), region.prior)
        if not answer.ok and found is None:  # a stronger pull makes it easier
            answer = nearest(region.cone, a / unit, z / unit, np.full(len(region.prior), 1e4 * _FAINT), region.prior)
        elif not answer.ok and found is not None:
            break  # finer than doubles resolve: the step before stands
        found = answer
        chi = max(_misfit(a, found.x, z) + rest, _floor(z, rest))
    assert found is not None
    return found


def _misfit(a: np.ndarray, x: np.ndarray, z: np.ndarray) -> float:
    return float(np.sum((a @ x - z) ** 2))


def _floor(z: np.ndarray, rest: float) -> float:
    return max(_RESOLVED * (float(z @ z) + rest), float(np.finfo(float).tiny))


def _tightened(cone: Cone, x: np.ndarray, inside: np.ndarray, depth: float) -> np.ndarray:
    """Return x moved towards a point inside by as little as puts it into the cone: slack is concave along the way."""
    if not np.isfinite(x).all():
        return inside
    slack = float(cone.slack(x).min())
    if slack >= 0:
        return x
    t = min(1.0, 1.001 * slack / (slack - depth))
    return (1.0 - t) * x + t * inside


def _active(region: Region, found: Solution, x: np.ndarray) -> tuple[str, ...]:
    """Return the labels of the constraints that raise the misfit: multiplier times slack is zero, so the larger one tells.

    The pull to the prior has multipliers of its own, which do not count.
    """
    slack = region.cone.slack(x)
    faint = max(1e-5, 10 * _FAINT * float(np.linalg.norm(x - region.prior)))
    held = (slack < 1e-4) & (found.multipliers > np.maximum(slack, faint))
    return tuple(dict.fromkeys(label for label, on in zip(region.labels, held, strict=True) if on))
