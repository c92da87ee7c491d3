"""Directions of the joint velocity: the unit sphere of a p-norm, covered by boxes on each of which v is a smooth function.

v and -v give the same quadratic terms, so half of the sphere is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import casadi as cs
import numpy as np

from taupi.dynamics.types import Expression, Vector

ORTHANTS = 512  # in many dimensions, this many orthants of a 1-norm sphere are searched


@dataclass(frozen=True)
class Directions:
    """Velocities v(z) with ||v||_p = 1 for z in the union of the boxes [lo, hi]; the last `fixed` entries of z are signs."""

    velocity: Callable[[Vector], list[Expression]]
    lo: np.ndarray
    hi: np.ndarray
    fixed: int = 0

    @property
    def size(self) -> int:
        """The number of entries of z."""
        return self.lo.shape[1]

    def products(self, z: Vector) -> list[Expression]:
        """Return v_i v_j for i <= j."""
        v = self.velocity(z)
        return [v[i] * v[j] for i in range(len(v)) for j in range(i, len(v))]

    def velocities(self, z: np.ndarray) -> np.ndarray:
        """Return v at one point."""
        return np.array([float(c) for c in self.velocity(cs.DM(z))])


def _simplex(n: int, seed: int) -> Directions:
    """Return the sphere of the 1-norm: |v_i| = a_i prod_{j<i} (1 - a_j), pieces broken off a stick, for every choice of signs."""

    def velocity(z: Vector) -> list[Expression]:
        left, v = 1, []
        for i in range(n):
            share = left * z[i] if i < n - 1 else left
            v.append(share * z[n - 1 + i - 1] if i else share)
            left = left * (1 - z[i]) if i < n - 1 else left
        return v

    if n - 1 <= np.log2(ORTHANTS):
        signs = np.array(list(product((-1.0, 1.0), repeat=n - 1))).reshape(-1, n - 1)
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (ORTHANTS, n - 1))
    lo, hi = np.zeros_like(signs), np.ones_like(signs)
    return Directions(velocity, np.hstack([lo, signs]), np.hstack([hi, signs]), n - 1)


def _angles(n: int) -> Directions:
    """Return the sphere of the 2-norm in spherical angles, all of them from 0 to pi."""

    def velocity(z: Vector) -> list[Expression]:
        left, v = 1, []
        for i in range(n - 1):
            v.append(left * cs.cos(z[i]))
            left = left * cs.sin(z[i])
        return [*v, left]

    # Up to the double above pi, so that rounding leaves no gap.
    return Directions(velocity, np.zeros((1, n - 1)), np.full((1, n - 1), np.nextafter(np.pi, 4.0)))


def _faces(n: int) -> Directions:
    """Return the sphere of the infinity norm: the faces v_j = 1 of a cube."""
    lo, hi = -np.ones((n, n)), np.ones((n, n))
    np.fill_diagonal(lo, 1.0)
    return Directions(lambda z: [z[k] for k in range(n)], lo, hi)


def directions(n: int, p: float, seed: int = 0) -> Directions:
    """Return the unit sphere of a p-norm in n dimensions, p = 1, 2 or infinity; `seed` draws orthants if there are too many."""
    if n == 1:
        return Directions(lambda z: [z[0]], np.ones((1, 1)), np.ones((1, 1)))
    if p == 1:
        return _simplex(n, seed)
    return _angles(n) if p == 2 else _faces(n)
