"""Shapes that contain a body. Each is a list of quadrics that are not negative inside, which constrain the body's moments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from taupi.errors import Argument, TaupiError, shown

# The number of products of two faces grows with the square of the number of faces; beyond this, a hull constrains the centre of
# mass only.
_MOST_FACES = 24


@runtime_checkable
class Shape(Protocol):
    """A region of space, fixed in the frame of a link."""

    def quadrics(self) -> list[np.ndarray]:
        """Return symmetric Q (4, 4) with (x, 1)^T Q (x, 1) >= 0 inside, so that tr(P Q) >= 0 (Wensing et al. 2018)."""
        ...


@dataclass(frozen=True, slots=True)
class Box:
    """The points x with `lower` <= x <= `upper`, two corners (x, y, z) in the frame of the link, m."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def __post_init__(self) -> None:
        low, high = vector(self.lower, "lower"), vector(self.upper, "upper")
        if not (low < high).all():
            raise TaupiError(
                f"A box reaches from {low.tolist()} to {high.tolist()}, expected ",
                *(Argument("lower"), " < ", Argument("upper"), " on each axis."),
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
    """The points x with |(x - `centre`) / `radii`| <= 1, in the frame of the link, m; its one quadric is also sufficient."""

    centre: tuple[float, float, float]
    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        vector(self.centre, "centre")
        if not (vector(self.radii, "radii") > 0).all():
            raise TaupiError(Argument("radii"), f" is {shown(self.radii)}, expected three positive numbers (m).")

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
    """The convex hull of `points` (k, 3) in the frame of the link, m, such as the vertices of a mesh."""

    points: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        self.faces()

    def faces(self) -> list[np.ndarray]:
        """Return f (4,) of each face: f . (x, 1) >= 0 inside."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            points = np.asarray(self.points, dtype=float)
        except (TypeError, ValueError, OverflowError):
            points = np.empty(0)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise TaupiError(Argument("points"), f" has shape {points.shape}, expected (k, 3) finite numbers (m).")
        try:
            equations = ConvexHull(points).equations
        except QhullError:
            raise TaupiError(
                Argument("points"), " span no volume, expected corners of a body: at least four, not in a plane."
            ) from None
        return list(-np.unique(equations.round(12), axis=0))

    def quadrics(self) -> list[np.ndarray]:
        """Return the faces and, unless there are too many, their products in pairs."""
        faces = self.faces()
        return _of_faces(faces) if len(faces) <= _MOST_FACES else [linear(f) for f in faces]


def linear(face: np.ndarray) -> np.ndarray:
    """Return Q (4, 4) of a face f . (x, 1) >= 0, for which tr(P Q) = m f . (c, 1), with c the centre of mass."""
    last = np.array([0.0, 0.0, 0.0, 1.0])
    return 0.5 * (np.outer(face, last) + np.outer(last, face))


def _of_faces(faces: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return Q of every face, for the centre of mass, and of every product of two faces, for the second moments."""
    pairs = itertools.combinations(faces, 2)
    return [*map(linear, faces), *(0.5 * (np.outer(f, g) + np.outer(g, f)) for f, g in pairs)]


def vector(values: ArrayLike, name: str) -> np.ndarray:
    """Return three finite numbers as an array; `name` is the argument that errors name."""
    try:
        result = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        result = np.empty(0)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise TaupiError(Argument(name), f" is {shown(values)}, expected three finite numbers: x, y, z.")
    return result
