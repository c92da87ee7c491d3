"""URDF: read a robot, keeping the file's decimals; write it back with other inertials and nothing else changed.

`urdf_writer` has the writing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from taupi.errors import TaupiError, shown, unknown
from taupi.input_files import printable
from taupi.model.body import NO_BODY, Body, body_from_com, stated_mass, symmetric
from taupi.model.formats import xml_tree
from taupi.model.formats.description_warnings import noting_a_bolted_base, warn_of_description, warn_of_snaps
from taupi.model.formats.link_tree import Mimic, Tree, TreeJoint, robot_from_tree
from taupi.model.formats.serial_arm import warn_not_physical
from taupi.model.formats.text_file import read_text
from taupi.model.formats.urdf_writer import write
from taupi.model.formats.xml_tree import Node
from taupi.model.placement import IDENTITY3, Placement, matmul, rotation_about, rotation_from_quaternion, transpose
from taupi.model.robot import Robot
from taupi.model.robot_parts import FREE, KINDS, Friction, Limits, Source
from taupi.model.scalars import (
    SNAP_LENGTH,
    Matrix,
    SnapNotes,
    Vector,
    VectorLike,
    exact,
    is_number,
    note_snapped,
    snapped_unit_vector,
)

__all__ = ["read", "tree_of", "write"]

TYPES = (*KINDS, "fixed", "floating", "planar")


def read(
    path: str | os.PathLike[str],
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    gravity: VectorLike = (0, 0, "-9.81"),
    snap: bool = True,
    floating: bool | None = None,
) -> Robot:
    """Return the robot of the URDF file at `path`.

    A joint's child frame is x_parent = R x_joint + p with R = Rz(yaw) Ry(pitch) Rx(roll). Joints are ordered depth first
    from the root link, and a link's children by the names of their joints, as in Pinocchio.

    `lock` holds joints: names (held at 0), or a mapping from names to values (rad, m); joints that mimic a held joint follow
    it. `tip` keeps the chain from the root to that link: every other branch is frozen at zero and its inertia merged. Without
    it, the tip of a serial chain is the only fixed link at its end, or else its last moving link, as in a tree. The inertia of
    links on fixed or held joints is added to the moving link that they are fixed to; they stay as frames. `gravity` is the
    acceleration vector (m/s^2), (0, 0, -9.81) by default. `snap` (the default) takes angles printed as near-right ones for
    right angles, and says so in `Robot.notes`, and lengths below 1e-9 m for zero; False keeps the numbers as printed.
    `floating=True` lets the root link move freely (see `Robot.floating_base`); None, the default, does so where the file has a
    floating joint at its root, and False bolts it to the ground. A planar joint is read as two slides and a hinge.
    """
    text = read_text(path)
    file = Path(path)
    tree = tree_of(text, file.name, snap)
    robot = robot_from_tree(tree, lock, tip, gravity, snap, Source("urdf", printable(file, 4096), text), floating)
    warn_of_snaps(tree)
    warn_not_physical(robot.links, file.name)
    warn_of_description(robot, file.name)
    return noting_a_bolted_base(robot, file.name, asked=floating is not None)


def tree_of(text: str, where: str, snap: bool) -> Tree:
    """Return the links and joints of a URDF text, a link's children in the order of their joints' names."""
    root = xml_tree.parse(text, where)
    if root.tag != "robot":
        raise TaupiError(f"{where}: the root element is <{root.tag[:40]}>, expected <robot>: not a URDF file.")
    notes = SnapNotes()
    links = tuple((_name(node, where), _body(node, where)) for node in root.all("link"))
    joints = [_joint(node, where, snap, notes) for node in root.all("joint")]
    name = root.attributes.get("name") or Path(where).stem
    return Tree(
        name, where, links, tuple(sorted(joints, key=lambda j: j.name)), tuple(notes), large_snaps=tuple(notes.large)
    )


def _place(node: Node, where: str) -> str:
    name = node.attributes.get("name")
    return f"{where}, line {node.line}: {node.tag}" + (f" {shown(name)}" if name else "")


def _name(node: Node, where: str) -> str:
    name = node.attributes.get("name")
    if not name:
        raise TaupiError(f'{_place(node, where)} has no name. Add name="...".')
    return name


def _body(link: Node, where: str) -> Body:
    inertial = link.first("inertial")
    if inertial is None:
        return NO_BODY
    place = f"{_place(link, where)}, inertial"
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None or inertia is None:
        missing = "mass" if mass is None else "inertia"
        raise TaupiError(f"{place} has no <{missing}>. Add it, or remove the whole <inertial> of a massless link.")
    m = stated_mass(_numbers(mass, "value", 1, place)[0], f"{place}: mass")
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = [exact(_numbers(inertia, key, 1, place)[0], f"{place}: <inertia> {key}") for key in keys]
    if not m and not any(entries):
        return NO_BODY
    # The rotation of an inertial is not part of the geometry, and not snapped.
    at = _origin(inertial.first("origin"), place, False, [])
    tensor = symmetric(*entries)
    if at.rotation is not IDENTITY3:
        tensor = matmul(matmul(at.rotation, tensor), transpose(at.rotation))
    return body_from_com(m, at.translation, tensor, place)


def _joint(node: Node, where: str, snap: bool, notes: list[str]) -> TreeJoint:
    name, place = _name(node, where), _place(node, where)
    kind = node.attributes.get("type", "")
    if kind not in TYPES:
        raise unknown("joint type", kind, TYPES, place)
    parent, child = (_link_of(node, role, place) for role in ("parent", "child"))
    before = _origin(node.first("origin"), place, snap, notes, f"joint {name}")
    if kind == "planar":
        axis = _axis(node.first("axis"), place, snap, notes, f"joint {name}")
        return TreeJoint(name, kind, parent, child, before, axis)
    if kind not in KINDS:
        return TreeJoint(name, FREE if kind == "floating" else kind, parent, child, before)
    return TreeJoint(
        name=name,
        kind=kind,
        parent=parent,
        child=child,
        before=before,
        axis=_axis(node.first("axis"), place, snap, notes, f"joint {name}"),
        mimic=_mimic(node.first("mimic"), place),
        limits=_limits(node.first("limit"), kind, place),
        friction=_friction(node.first("dynamics"), place),
    )


def _link_of(joint: Node, role: str, place: str) -> str:
    node = joint.first(role)
    if node is None or not node.attributes.get("link"):
        raise TaupiError(f'{place} has no {role}. Add <{role} link="..."/>.')
    return node.attributes["link"]


def _numbers(node: Node, key: str, count: int, place: str, default: str | None = None) -> list[str]:
    """Return the `count` numbers of an attribute as the file prints them."""
    text = node.attributes.get(key, default)
    what = f"{place}: <{node.tag}> {key}"
    if text is None:
        raise TaupiError(f'{what} is missing. Add {key}="...".')
    words = text.split(None, count + 1)
    if len(words) != count:
        expected = "a number" if count == 1 else f"{count} numbers"
        raise TaupiError(f"{what} is {shown(text)}, expected {expected}.")
    for word in words:
        if not is_number(word):
            hint = " Run xacro first." if "$" in word else ""
            raise TaupiError(f"{what} is {shown(text)}, expected finite decimal numbers.{hint}")
        if not math.isfinite(float(word)):
            raise TaupiError(f"{what} is {shown(text)}, expected finite decimal numbers.")
    return words


def _origin(node: Node | None, place: str, snap: bool, notes: list[str], who: str = "") -> Placement:
    if node is None:
        return Placement()
    xyz = [exact(w, f"{place}: <origin> xyz") for w in _numbers(node, "xyz", 3, place, "0 0 0")]
    if snap:
        xyz = [v if abs(v) >= SNAP_LENGTH else Fraction(0) for v in xyz]
    if "quat_xyzw" in node.attributes:
        x, y, z, w = _numbers(node, "quat_xyzw", 4, place)
        rotation, snapped = rotation_from_quaternion(w, x, y, z, snap)
        note_snapped(notes, f"{who}: quat_xyzw = {x} {y} {z} {w}", snapped, "ratios of 0 and 1")
        return Placement(rotation, tuple(xyz))
    rpy = _numbers(node, "rpy", 3, place, "0 0 0")
    rotation, snapped = _rotation(rpy, snap, f"{place}: <origin> rpy")
    note_snapped(notes, f"{who}: rpy = {' '.join(rpy)}", snapped, "right angles")
    return Placement(rotation, tuple(xyz))


def _rotation(rpy: Sequence[str], snap: bool, what: str) -> tuple[Matrix, float]:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), and the largest angle by which one of them was snapped."""
    rotation, worst = IDENTITY3, 0.0
    for axis, angle in zip("xyz", rpy, strict=True):
        if float(angle) == 0:
            continue
        turn, snapped = rotation_about(axis, angle, snap, what)
        worst = max(worst, abs(snapped))
        if turn != IDENTITY3:
            rotation = turn if rotation is IDENTITY3 else matmul(turn, rotation)
    return rotation, worst


def _axis(node: Node | None, place: str, snap: bool, notes: list[str], who: str) -> Vector:
    if node is None:
        return (Fraction(1), Fraction(0), Fraction(0))  # the URDF default
    words = _numbers(node, "xyz", 3, place)
    if not any(float(w) for w in words):
        raise TaupiError(f"{place}: <axis> xyz is '0 0 0', which has no direction. Give the joint's axis.")
    axis, snapped = snapped_unit_vector(words, f"{place}: <axis> xyz", snap)
    note_snapped(notes, f"{who}: axis = {' '.join(words)}", snapped, "a coordinate axis")
    return axis


def _mimic(node: Node | None, place: str) -> Mimic | None:
    if node is None:
        return None
    if not node.attributes.get("joint"):
        raise TaupiError(f'{place}: <mimic> names no joint. Add joint="...".')
    ratio, offset = (
        exact(_numbers(node, key, 1, place, default)[0], f"{place}: <mimic> {key}")
        for key, default in (("multiplier", "1"), ("offset", "0"))
    )
    return Mimic(node.attributes["joint"], ratio, offset)


def _limits(node: Node | None, kind: str, place: str) -> Limits:
    if node is None:
        return Limits()
    keys = ("velocity", "effort") if kind == "continuous" else ("lower", "upper", "velocity", "effort")
    return Limits(**{k: float(_numbers(node, k, 1, place)[0]) for k in keys if k in node.attributes})


def _friction(node: Node | None, place: str) -> Friction:
    if node is None:
        return Friction()
    viscous, coulomb = (
        exact(_numbers(node, key, 1, place, "0")[0], f"{place}: <dynamics> {key}") for key in ("damping", "friction")
    )
    return Friction(viscous=viscous, coulomb=coulomb)
