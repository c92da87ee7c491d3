"""How a description draws its links: the visual geometry of a URDF, or the visible geoms of an MJCF file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from taupi.errors import shown
from taupi.excitation.geometry.meshes import FORMATS
from taupi.excitation.geometry.meshes.paths import find_mesh
from taupi.excitation.geometry.meshes.read import read_triangles
from taupi.excitation.geometry.shapes.solids import (
    Solid,
    box_triangles,
    cylinder_triangles,
    ellipsoid_triangles,
    hull_triangles,
    placed,
    triangles_of,
)
from taupi.excitation.geometry.shapes.urdf import numbers, origin, sizes
from taupi.model.capsule import Capsule
from taupi.model.formats import xml_tree
from taupi.model.formats.xml_tree import Node
from taupi.model.robot import Robot


def visual_solids(robot: Robot, packages: Sequence[Path] = (), coarse: bool = False) -> tuple[Solid, ...]:
    """Return what a robot's file draws, each solid in the frame of its link; nothing if it draws nothing.

    A file that names a mesh that does not exist, or whose format cannot be read, raises an error that says so. `packages` are
    folders in which meshes are looked for. If `coarse`, the collision meshes of a URDF are used if they can be read
    without another package: they look similar, and are smaller.
    """
    if robot.source.format == "urdf" and robot.source.text:
        return tuple(_urdf_solids(robot, packages, coarse))
    if robot.source.format == "mjcf":
        from taupi.excitation.geometry.shapes import mjcf

        return tuple(
            Solid(s.link, triangles_of(s)) if isinstance(s, Capsule) else s for s in mjcf.shapes(robot, drawn=True)
        )
    return ()


def _urdf_solids(robot: Robot, packages: Sequence[Path], coarse: bool) -> Iterator[Solid]:
    file = Path(robot.source.path)
    for link in xml_tree.parse(robot.source.text, file.name).all("link"):
        name = link.attributes["name"]
        for visual in _chosen(link, coarse):
            place = f"{file.name}, line {visual.line}: link {shown(name)}"
            geometry = visual.first("geometry")
            for node in [] if geometry is None else geometry.children[:1]:
                corners = _triangles(node, file, packages, place)
                if corners is not None:
                    yield Solid(name, placed(corners, origin(visual.first("origin"), place)), place)


def _chosen(link: Node, coarse: bool) -> list[Node]:
    """Return the elements of a link to draw: its visual ones, or those for collisions if these are meshes that read quickly."""
    collisions, visuals = list(link.all("collision")), list(link.all("visual"))
    meshes = [n for c in collisions if (g := c.first("geometry")) is not None for n in g.children if n.tag == "mesh"]
    quick = all(Path(m.attributes.get("filename", "")).suffix.lower() in FORMATS for m in meshes)
    return collisions if coarse and visuals and meshes and len(meshes) == len(collisions) and quick else visuals


def _triangles(node: Node, file: Path, packages: Sequence[Path], place: str) -> np.ndarray | None:
    if node.tag == "mesh":
        path = find_mesh(node.attributes.get("filename", ""), file, packages, place)
        return read_triangles(path) * numbers(node, "scale", 3, place, "1 1 1")
    if node.tag == "box":
        return box_triangles(sizes(node, "size", 3, place))
    if node.tag == "sphere":
        return ellipsoid_triangles(np.full(3, sizes(node, "radius", 1, place)[0]))
    if node.tag not in ("cylinder", "capsule"):
        return None
    r, length = (float(sizes(node, key, 1, place)[0]) for key in ("radius", "length"))
    if node.tag == "cylinder":
        return cylinder_triangles(r, length)
    ball = ellipsoid_triangles(np.full(3, r)).reshape(-1, 3)
    half = np.array([0.0, 0.0, length / 2])
    return hull_triangles(np.concatenate([ball - half, ball + half]))
