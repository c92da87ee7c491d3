"""Triangles cut by planes, so that each part can have its own capsule.

A solid's part on one side of a plane lies in the hull of its surface's part there: a line along the plane, through any point of
it, leaves the solid on both sides through that part. So capsules around the parts of the triangles enclose the whole solid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cut:
    """The side normal . x <= offset of a plane."""

    normal: tuple[float, float, float]
    offset: float

    @property
    def other(self) -> Cut:
        """The other side of the same plane."""
        x, y, z = self.normal
        return Cut((-x, -y, -z), -self.offset)


def kept(triangles: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the parts of triangles (m, 3, 3) on the side of a cut, as triangles again.

    >>> corner = np.array([[[0.0, 0, 0], [2, 0, 0], [0, 2, 0]]])
    >>> sorted({tuple(p) for p in kept(corner, Cut((1.0, 0.0, 0.0), 1.0)).reshape(-1, 3).tolist()})
    [(0.0, 0.0, 0.0), (0.0, 2.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0)]
    """
    height = triangles @ np.array(cut.normal) - cut.offset
    inside = height <= 0
    count = inside.sum(axis=1)
    parts = [triangles[count == 3]]
    for many in (1, 2):
        chosen = count == many
        if chosen.any():
            parts += _clipped(triangles[chosen], height[chosen], inside[chosen] if many == 1 else ~inside[chosen], many)
    return np.concatenate(parts)


def _clipped(corners: np.ndarray, height: np.ndarray, odd: np.ndarray, many: int) -> list[np.ndarray]:
    """Return the remaining parts of triangles with one corner, the odd one, alone on its side of the plane."""
    first = np.argmax(odd, axis=1)
    rows = np.arange(len(corners))
    p, q, r = (corners[rows, (first + k) % 3] for k in range(3))
    hp, hq, hr = (height[rows, (first + k) % 3] for k in range(3))
    pq = p + (hp / (hp - hq))[:, None] * (q - p)
    pr = p + (hp / (hp - hr))[:, None] * (r - p)
    if many == 1:  # the odd corner is inside
        return [np.stack([p, pq, pr], axis=1)]
    return [np.stack([pq, q, r], axis=1), np.stack([pq, r, pr], axis=1)]
