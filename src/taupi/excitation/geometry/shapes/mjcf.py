"""Collision geometry of an MJCF file: the geoms of the compiled model that can collide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.capsules.enclosing import COARSE
from taupi.excitation.geometry.shapes.solids import (
    Shape,
    Solid,
    box_triangles,
    capsule_at,
    cylinder,
    ellipsoid_triangles,
    placed,
)
from taupi.model.formats.mjcf import compiled
from taupi.model.robot import Robot

if TYPE_CHECKING:
    from mujoco import MjModel

_UNBOUNDED = (0, 1)  # planes and height fields: surroundings, stated as a floor
_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(2, 8)


_SHOWN = 3  # MuJoCo draws geoms of the groups below this by default


def shapes(robot: Robot, drawn: bool = False) -> Iterator[Shape]:
    """Yield the geoms of the MJCF file that a robot was read from: those that collide, or those that are `drawn`."""
    model = _model(robot)
    bodies = body_names(model)
    for g in range(model.ngeom):
        collides = model.geom_contype[g] or model.geom_conaffinity[g]
        if not (model.geom_group[g] < _SHOWN if drawn else collides) or model.geom_type[g] in _UNBOUNDED:
            continue
        link = bodies[model.geom_bodyid[g]]
        yield _shape(model, g, link, f"{Path(robot.source.path).name}: geom {model.geom(g).name or g} of {link}")


def excluded(robot: Robot) -> Iterator[tuple[str, str]]:
    """Yield the pairs of bodies that the file excludes from contact."""
    model = _model(robot)
    bodies = body_names(model)
    for signature in model.exclude_signature:
        yield bodies[int(signature) >> 16], bodies[int(signature) & 0xFFFF]


def body_names(model: MjModel) -> list[str]:
    """Return the names of bodies as the reader of MJCF gives them to links."""
    return [model.body(b).name or f"body{b}" for b in range(model.nbody)]


def _model(robot: Robot) -> Any:
    file = Path(robot.source.path)
    if not file.is_file():
        raise TaupiError(f"{file} no longer exists: its geometry is needed.", remedy="Load the robot again.")
    return compiled(file)[0]


def _shape(model: MjModel, g: int, link: str, place: str) -> Shape:
    at = np.eye(4)
    at[:3, :3], at[:3, 3] = _rotation(model.geom_quat[g]), model.geom_pos[g]
    kind, size = int(model.geom_type[g]), model.geom_size[g]
    if kind == _SPHERE:
        return capsule_at(link, at, 0.0, float(size[0]))
    if kind == _CAPSULE:
        return capsule_at(link, at, float(size[1]), float(size[0]))
    if kind == _CYLINDER:
        return cylinder(link, at, float(size[0]), 2 * float(size[1]), COARSE, place)
    if kind == _BOX:
        return Solid(link, placed(box_triangles(2 * np.array(size)), at), place)
    if kind == _ELLIPSOID:
        return Solid(link, placed(ellipsoid_triangles(np.array(size)), at), place)
    if kind == _MESH:
        return Solid(link, placed(_mesh(model, int(model.geom_dataid[g])), at), place)
    raise TaupiError(f"{place} is of a kind that has no extent here ({kind}).", remedy="Use a primitive or a mesh.")


def _mesh(model: MjModel, k: int) -> np.ndarray:
    start, count = model.mesh_vertadr[k], model.mesh_vertnum[k]
    face, faces = model.mesh_faceadr[k], model.mesh_facenum[k]
    points = np.asarray(model.mesh_vert[start : start + count], dtype=float)
    return points[np.asarray(model.mesh_face[face : face + faces])]


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
