"""The surfaces of an arm from its description, each in a frame of the arm, simplified for a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.shapes import visual_solids
from taupi.model.robot import Robot

CELLS = (26, 20, 15, 11, 8, 6, 4)  # along the longest side of a mesh, finer first


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """A surface in the frame called `frame`: `vertices` (k, 3) in m and `faces` (m, 3), three vertices each."""

    frame: str
    vertices: np.ndarray
    faces: np.ndarray


@dataclass(frozen=True)
class LinkMeshes:
    """The `meshes` of an arm; if there are none although the description has some, `why` gives the reason."""

    meshes: tuple[LinkMesh, ...] = ()
    why: str = ""


def link_meshes(robot: Robot, most: int | None = None) -> LinkMeshes:
    """Return the surfaces of a robot, one per frame, each of at most about `most` triangles.

    There are none for a description without any, or if one cannot be read, since half a robot is worse than none.
    """
    try:
        solids = visual_solids(robot, coarse=most is not None)
    except (TaupiError, OSError) as error:
        return LinkMeshes((), str(error))
    by_frame: dict[str, list[np.ndarray]] = {}
    for solid in solids:
        by_frame.setdefault(solid.link, []).append(solid.triangles)
    meshes = []
    for name, parts in by_frame.items():
        try:
            robot.frame(name)
        except TaupiError:  # a link that the arm does not carry: beyond its tip, or of another branch
            continue
        vertices, faces = simplified(np.concatenate(parts), most)
        if len(faces):
            meshes.append(LinkMesh(name, vertices, faces))
    return LinkMeshes(tuple(meshes))


def simplified(triangles: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and faces of triangles (m, 3, 3), of which at most about `most` are left.

    Vertices in one cell of a grid become one at their mean, and triangles without area vanish; the grid is as fine as it can be
    (Rossignac and Borrel 1993).

    >>> square = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], dtype=float)
    >>> vertices, faces = simplified(square)
    >>> len(vertices), len(faces)
    (4, 2)
    """
    points = triangles.reshape(-1, 3)
    low, side = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    if most is None or len(triangles) <= most:
        return _clustered(points, np.rint((points - low) / (1e-6 * side)).astype(int))
    for cells in CELLS:
        vertices, faces = _clustered(points, np.floor((points - low) / side * (cells - 1e-9)).astype(int))
        if len(faces) <= most:
            break
    return vertices, faces


def _clustered(points: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    place = _numbered(cells)
    count = np.bincount(place)
    vertices = np.stack([np.bincount(place, points[:, k]) / count for k in range(3)], axis=1)
    faces = place.reshape(-1, 3)
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (a != c)]
    same = _numbered(np.sort(faces, axis=1))
    _, first = np.unique(same, return_index=True)
    return vertices, faces[np.sort(first)]


def _numbered(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row of integers (k, 3), the same for equal rows; single integers are sorted quickly."""
    wide = rows.max(axis=0, initial=0).astype(np.int64) + 1
    keys = (rows[:, 0].astype(np.int64) * wide[1] + rows[:, 1]) * wide[2] + rows[:, 2]
    return np.asarray(np.unique(keys, return_inverse=True)[1]).reshape(-1)
