"""Collision geometry of a URDF: boxes, cylinders, spheres, capsules and meshes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.excitation.geometry.capsules.enclosing import COARSE
from taupi.excitation.geometry.meshes.paths import find_mesh
from taupi.excitation.geometry.meshes.read import read_triangles
from taupi.excitation.geometry.shapes.solids import Shape, Solid, box_triangles, capsule_at, cylinder, placed
from taupi.model.formats import xml_tree
from taupi.model.formats.xml_tree import Node
from taupi.model.robot import Robot

KINDS = ("box", "cylinder", "sphere", "capsule", "mesh")


def shapes(robot: Robot, packages: Sequence[Path]) -> Iterator[Shape]:
    """Yield the collision geometry of all links of the URDF that a robot was read from."""
    file = Path(robot.source.path)
    for link in xml_tree.parse(robot.source.text, file.name).all("link"):
        name = link.attributes["name"]
        for collision in link.all("collision"):
            place = f"{file.name}, line {collision.line}: link {shown(name)}"
            geometry = collision.first("geometry")
            children = [] if geometry is None else geometry.children
            if not children:
                raise TaupiError(
                    f"{place} has a <collision> without a shape.", remedy=f"Add one of {', '.join(KINDS)}."
                )
            yield _shape(name, children[0], origin(collision.first("origin"), place), file, packages, place)


def _shape(link: str, node: Node, at: np.ndarray, file: Path, packages: Sequence[Path], place: str) -> Shape:
    if node.tag == "mesh":
        path = find_mesh(node.attributes.get("filename", ""), file, packages, place)
        scale = numbers(node, "scale", 3, place, "1 1 1")
        return Solid(link, placed(read_triangles(path) * scale, at), f"{place}, {path.name}")
    if node.tag == "box":
        return Solid(link, placed(box_triangles(sizes(node, "size", 3, place)), at), place)
    if node.tag == "sphere":
        return capsule_at(link, at, 0.0, float(sizes(node, "radius", 1, place)[0]))
    if node.tag not in KINDS:
        raise unknown("shape", node.tag, KINDS, place)
    r, length = (float(sizes(node, key, 1, place)[0]) for key in ("radius", "length"))
    if node.tag == "capsule":
        return capsule_at(link, at, length / 2, r)
    return cylinder(link, at, r, length, COARSE, place)


def origin(node: Node | None, place: str) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of an <origin>, the identity where there is none."""
    matrix = np.eye(4)
    if node is None:
        return matrix
    matrix[:3, 3] = numbers(node, "xyz", 3, place, "0 0 0")
    for axis, angle in enumerate(numbers(node, "rpy", 3, place, "0 0 0")):
        turn, (i, j) = np.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i], turn[i, j] = math.sin(angle), -math.sin(angle)
        matrix[:3, :3] = turn @ matrix[:3, :3]
    return matrix


def numbers(node: Node, key: str, count: int, place: str, default: str = "") -> np.ndarray:
    """Return the numbers of an attribute, `count` of them."""
    text = node.attributes.get(key, default)
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or not np.isfinite(values).all():
        expected = "a number" if count == 1 else f"{count} numbers"
        raise TaupiError(f"{place}: <{node.tag}> {key} is {shown(text)}, expected {expected}.")
    return values


def sizes(node: Node, key: str, count: int, place: str) -> np.ndarray:
    """Return the numbers of an attribute, all above 0."""
    values = numbers(node, key, count, place)
    if not (values > 0).all():
        raise TaupiError(f"{place}: <{node.tag}> {key} is {shown(node.attributes[key])}, expected sizes above 0.")
    return values
