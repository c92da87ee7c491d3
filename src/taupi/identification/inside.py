"""Least squares among parameters that real bodies can have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from taupi.identification.cones import Cone, Solution, deepest, nearest
from taupi.identification.physical import DEPTH, Region

# How far the squared misfit is resolved: sums of squares of doubles, relative to that of the torque.
_RESOLVED = 1e-16
# The pull to the prior while the least sum of squares is sought, in units of that sum; and how often that unit is refined.
_FAINT, _STEPS = 1e-8, 4


@dataclass(frozen=True, eq=False)
class Realised:
    """Parameters of a region: `pi` (p,), the squared misfit |a x - z|^2, which constraints hold it, the solver's last word."""

    pi: np.ndarray
    misfit: float
    active: tuple[str, ...] = ()
    word: str = "Solved"
    solution: Solution | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Whether they are the optimum; otherwise they are consistent and no more."""
        return self.solution is None or self.solution.ok

    @property
    def remedy(self) -> str:
        """What to do where they are not."""
        return "" if self.ok else "Give a larger prior_weight, or wider bounds: the solver lost its way between them."


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
        return Realised(origin * region.scale, 0.0) if cone.slack(np.zeros(0)).min() >= 0 else None
    inside, depth = deepest(cone, y0)
    if depth < DEPTH:  # the pull to a prior far away may have won: ask again with hardly any
        inside, depth = deepest(cone, y0, weight=1e-10)
    if depth < DEPTH:
        return None
    y, found = inside, None
    for _ in range(_STEPS // 2):
        # Seen from the best point so far, in units of its distance from the prior, all numbers are about one.
        far = max(float(np.linalg.norm(y - y0)), 1e-9)
        around = cone.along(y, far * np.eye(len(y)))
        found = nearest(around, np.zeros((0, len(y))), np.zeros(0), np.ones(len(y)), (y0 - y) / far)
        better = _tightened(cone, y + far * found.x, inside, depth)
        y = better if np.linalg.norm(better - y0) < far else y
    return Realised((origin + basis @ y) * region.scale, 0.0, (), found.word if found else "", found)


def closest(region: Region, a: np.ndarray, z: np.ndarray, rest: float, share: float) -> Realised:
    """Return the parameters of a region that minimise |a x - z|^2 + mu |x - prior|^2, x = pi / scale.

    mu is such that the whole sum of squares, |a x - z|^2 + rest, is at most 1 + `share` times what it could be: the sum's least
    value and the distance d that goes with it are found first, and mu = share * sum / d.
    """
    floor = max(_RESOLVED * (float(z @ z) + rest), np.finfo(float).tiny)
    chi, mu = max(float(z @ z) + rest, floor), _FAINT
    found, weight = None, np.ones(len(region.prior))
    for step in range(_STEPS):
        # The sum of squares is the unit of the next step, so that the solver's tolerance is relative to what is left.
        unit = np.sqrt(chi)
        answer = nearest(region.cone, a / unit, z / unit, mu * weight, region.prior)
        if not answer.ok and found is not None:
            break  # finer than doubles resolve: the step before stands
        found = answer
        chi = max(float(np.sum((a @ found.x - z) ** 2)) + rest, floor)
        far = float(np.sum((found.x - region.prior) ** 2))
        mu = _FAINT if step < _STEPS - 2 else min(1.0, share / max(far, share))
    assert found is not None
    x = _tightened(region.cone, found.x, region.inside, region.depth)
    active = _active(region, found, x)
    return Realised(x * region.scale, float(np.sum((a @ x - z) ** 2)), active, found.word, found)


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
    """Return the labels of the constraints that hold: multiplier times slack is zero, so the larger one tells."""
    slack = region.cone.slack(x)
    held = (slack < 1e-4) & (found.multipliers > np.maximum(slack, 1e-7))
    return tuple(dict.fromkeys(label for label, on in zip(region.labels, held, strict=True) if on))
