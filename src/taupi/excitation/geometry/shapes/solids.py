"""Shapes as descriptions state them: spheres and capsules as they are, everything else as triangles around it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from taupi.model.capsule import Capsule

# Corners of the prism around a cylinder: it is larger by 1 / cos(pi / 24), 0.9 %.
_CORNERS = 24


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid in the frame of `link`, inside its `triangles` (m, 3, 3); `place` says where it is stated."""

    link: str
    triangles: np.ndarray = field(repr=False)
    place: str = ""


Shape = Capsule | Solid


def placed(corners: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return points (..., 3) moved by a homogeneous matrix (4, 4)."""
    return np.asarray(corners @ matrix[:3, :3].T + matrix[:3, 3])


def capsule_at(link: str, matrix: np.ndarray, half: float, r: float) -> Capsule:
    """Return the capsule along the z axis of a frame, its segment from -half to half."""
    a, b = placed(np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), matrix)
    return Capsule(link, tuple(map(float, a)), tuple(map(float, b)), r)  # type: ignore[arg-type]


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """Return the triangles of the convex hull of points (k, 3)."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).simplices])


def box_triangles(size: np.ndarray) -> np.ndarray:
    """Return the triangles of a box of side lengths (3,) about the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return hull_triangles(signs * size / 2)


def cylinder_triangles(r: float, length: float) -> np.ndarray:
    """Return the triangles of a prism around a cylinder along z."""
    turn = 2 * math.pi * np.arange(_CORNERS) / _CORNERS
    ring = r / math.cos(math.pi / _CORNERS) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return hull_triangles(np.vstack([np.column_stack([ring, np.full(_CORNERS, s * length / 2)]) for s in (-1, 1)]))


def ellipsoid_triangles(axes: np.ndarray) -> np.ndarray:
    """Return the triangles of a polyhedron around an ellipsoid of half axes (3,) about the origin."""
    k = np.arange(60) + 0.5
    z, turn = 1 - k / 30, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    unit = hull_triangles(np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1))
    normal = np.cross(unit[:, 1] - unit[:, 0], unit[:, 2] - unit[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    inner = float(np.abs(np.einsum("ij,ij->i", normal, unit[:, 0])).min())
    return np.asarray(unit / inner * axes)


def cylinder(link: str, matrix: np.ndarray, r: float, length: float, coarse: float, place: str) -> Shape:
    """Return the smallest capsule around a cylinder along z, or triangles if it is more than `coarse` times as large.

    With its segment from -h to h, the radius reaches the rim: R^2 = r^2 + (l/2 - h)^2.
    """
    from scipy.optimize import minimize_scalar

    half = length / 2

    def volume(h: float) -> float:
        radius = math.hypot(r, half - h)
        return math.pi * radius**2 * (2 * h + 4 / 3 * radius)

    h = float(minimize_scalar(volume, bounds=(0.0, half), method="bounded").x)
    if volume(h) > coarse * math.pi * r**2 * length:
        return Solid(link, placed(cylinder_triangles(r, length), matrix), place)
    return capsule_at(link, matrix, h, math.hypot(r, half - h))


def triangles_of(shape: Shape) -> np.ndarray:
    """Return triangles around a shape; those around a capsule are a box."""
    if isinstance(shape, Solid):
        return shape.triangles
    a, b = np.array(shape.a), np.array(shape.b)
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length if length > 0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.column_stack([x, np.cross(z, x), z]), (a + b) / 2
    return placed(box_triangles(np.array([2 * shape.r, 2 * shape.r, length + 2 * shape.r])), matrix)
