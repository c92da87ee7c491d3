"""Shapes that hold a body. Each is a list of quadrics that are not negative inside: what a density there must satisfy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from taupi.errors import TaupiError, shown

# Products of pairs of faces grow with the square of their number; beyond this a hull holds the centre of mass alone.
_MOST_FACES = 24


@runtime_checkable
class Shape(Protocol):
    """A region of space, fixed to a link's frame."""

    def quadrics(self) -> list[np.ndarray]:
        """Return symmetric Q (4, 4) with (x, 1)^T Q (x, 1) >= 0 inside, so that tr(P Q) >= 0 (Wensing et al. 2018)."""
        ...


@dataclass(frozen=True, slots=True)
class Box:
    """The points with lower <= x <= upper in the link's frame (m)."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def __post_init__(self) -> None:
        low, high = vector(self.lower, "lower"), vector(self.upper, "upper")
        if not (low < high).all():
            raise TaupiError(
                f"A box reaches from {low.tolist()} to {high.tolist()}, expected lower < upper on each axis."
            )

    def faces(self) -> list[np.ndarray]:
        """Return f (4,) of each face: f . (x, 1) >= 0 inside."""
        low, high, axes = vector(self.lower, "lower"), vector(self.upper, "upper"), np.eye(3)
        return [np.append(sign * axes[k], -sign * end[k]) for k in range(3) for sign, end in ((1.0, low), (-1.0, high))]

    def quadrics(self) -> list[np.ndarray]:
        """Return the faces and their products in pairs."""
        return _of_faces(self.faces())


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """The points with |(x - centre) / radii| <= 1 in the link's frame (m); one quadric, which is sufficient too."""

    centre: tuple[float, float, float]
    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        vector(self.centre, "centre")
        if not (vector(self.radii, "radii") > 0).all():
            raise TaupiError(f"radii is {shown(self.radii)}, expected three positive numbers (m).")

    def quadrics(self) -> list[np.ndarray]:
        """Return Q of 1 - (x - c)^T D (x - c), D = diag(1 / radii^2)."""
        c, d = vector(self.centre, "centre"), vector(self.radii, "radii") ** -2
        q = np.zeros((4, 4))
        q[:3, :3] = -np.diag(d)
        q[:3, 3] = q[3, :3] = d * c
        q[3, 3] = 1.0 - c @ (d * c)
        return [q]


@dataclass(frozen=True, slots=True)
class Hull:
    """The convex hull of points (k, 3) in the link's frame (m), such as the corners of a mesh."""

    points: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        self.faces()

    def faces(self) -> list[np.ndarray]:
        """Return f (4,) of each face: f . (x, 1) >= 0 inside."""
        from scipy.spatial import ConvexHull, QhullError

        points = np.asarray(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise TaupiError(f"points has shape {points.shape}, expected (k, 3) finite numbers (m).")
        try:
            equations = ConvexHull(points).equations
        except QhullError:
            raise TaupiError(
                "points span no volume, expected corners of a body: four at least, not in a plane."
            ) from None
        return list(-np.unique(equations.round(12), axis=0))

    def quadrics(self) -> list[np.ndarray]:
        """Return the faces and, unless there are too many, their products in pairs."""
        faces = self.faces()
        return _of_faces(faces) if len(faces) <= _MOST_FACES else [linear(f) for f in faces]


def linear(face: np.ndarray) -> np.ndarray:
    """Return Q (4, 4) of a face f . (x, 1) >= 0; tr(P Q) is then m f . (c, 1), c the centre of mass."""
    last = np.array([0.0, 0.0, 0.0, 1.0])
    return 0.5 * (np.outer(face, last) + np.outer(last, face))


def _of_faces(faces: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return Q of every face, for the centre of mass, and of every product of two, for the second moments."""
    pairs = itertools.combinations(faces, 2)
    return [*map(linear, faces), *(0.5 * (np.outer(f, g) + np.outer(g, f)) for f, g in pairs)]


def vector(values: object, what: str) -> np.ndarray:
    """Return three finite numbers as an array."""
    try:
        result = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        result = np.empty(0)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise TaupiError(f"{what} is {shown(values)}, expected three finite numbers: x, y, z.")
    return result
