"""URDF: read a robot, keeping the file's decimals; write it back with other inertials and nothing else changed."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from taupi.errors import InPython, TaupiError, TaupiWarning, shown, unknown
from taupi.files import write_text
from taupi.input_files import printable
from taupi.model.body import (
    NO_BODY,
    Body,
    body_from_com,
    body_to_com,
    move_body,
    stated_mass,
    symmetric,
    why_not_physical,
)
from taupi.model.formats import xml_tree
from taupi.model.formats.description import noting_a_bolted_base, read_text, warn_of_description
from taupi.model.formats.file_tree import Mimic, Tree, TreeJoint
from taupi.model.formats.link_tree import drives_of, robot_from_tree
from taupi.model.formats.xml_tree import Edit, Node, attribute_places, edited, indent_of, insert_first, new_attribute
from taupi.model.placement import IDENTITY3, Placement, matmul, rotation_about, rotation_from_quaternion, turned
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
    with_values,
)

__all__ = ["read", "tree_of", "write"]

_WORLD = "world"  # Drake, Gazebo and others take it as the ground, whether it is declared or not
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
    warn_of_description(robot, tree)
    return noting_a_bolted_base(robot, file.name, asked=floating is not None)


def tree_of(text: str, where: str, snap: bool) -> Tree:
    """Return the links and joints of a URDF text, a link's children in the order of their joints' names."""
    root = xml_tree.parse(text, where)
    if root.tag != "robot":
        raise TaupiError(
            "{where}: the root element is <{tag}>, expected <robot>: not a URDF file.", where=where, tag=root.tag[:40]
        )
    notes = SnapNotes()
    links = tuple((_name(node, where), _body(node, where)) for node in root.all("link"))
    joints = [_joint(node, where, snap, notes) for node in root.all("joint")]
    if all(name != _WORLD for name, _ in links) and any(j.parent == _WORLD for j in joints):
        links = ((_WORLD, NO_BODY), *links)
        notes.append("the link world, which is not declared, is taken as the world")
    name = root.attributes.get("name") or Path(where).stem
    return Tree(
        name, where, links, tuple(sorted(joints, key=lambda j: j.name)), tuple(notes), large_snaps=tuple(notes.large)
    )


def follower_offsets(text: str, where: str) -> dict[str, float]:
    """Return the position of each joint in a URDF while the joint that it follows, through others perhaps, is at 0."""
    return {name: float(drive.offset) for name, drive in drives_of(tree_of(text, where, snap=False), {}).items()}


def _place(node: Node, where: str) -> str:
    name = node.attributes.get("name")
    return f"{where}, line {node.line}: {node.tag}" + (f" {shown(name)}" if name else "")


def _name(node: Node, where: str) -> str:
    name = node.attributes.get("name")
    if not name:
        raise TaupiError('{place} has no name. Add name="...".', place=_place(node, where))
    return name


def _body(link: Node, where: str) -> Body:
    inertial = link.first("inertial")
    if inertial is None:
        return NO_BODY
    place = f"{_place(link, where)}, inertial"
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None or inertia is None:
        missing = "mass" if mass is None else "inertia"
        raise TaupiError(
            "{place} has no <{missing}>. Add it, or remove the whole <inertial> of a massless link.",
            place=place,
            missing=missing,
        )
    m = stated_mass(_numbers(mass, "value", 1, place)[0], f"{place}: mass")
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = [exact(_numbers(inertia, key, 1, place)[0], f"{place}: <inertia> {key}") for key in keys]
    if not m and not any(entries):
        return NO_BODY
    # The rotation of an inertial is not part of the geometry, and not snapped.
    at = _origin(inertial.first("origin"), place, False, [])
    tensor = symmetric(*entries) if at.rotation is IDENTITY3 else turned(symmetric(*entries), at.rotation)
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
        raise TaupiError('{place} has no {role}. Add <{role} link="..."/>.', place=place, role=role)
    return node.attributes["link"]


def _numbers(node: Node, key: str, count: int, place: str, default: str | None = None) -> list[str]:
    """Return the `count` numbers of an attribute as the file prints them."""
    text = node.attributes.get(key, default)
    what = f"{place}: <{node.tag}> {key}"
    if text is None:
        raise TaupiError('{what} is missing. Add {key}="...".', what=what, key=key)
    words = text.split(None, count + 1)
    if len(words) != count:
        expected = "a number" if count == 1 else f"{count} numbers"
        raise TaupiError("{what} is {got!r}, expected {expected}.", what=what, got=text, expected=expected)
    for word in words:
        if not is_number(word) or not math.isfinite(float(word)):
            hint = " Run xacro first." if "$" in word else ""
            raise TaupiError(
                "{what} is {got!r}, expected finite decimal numbers.{hint}", what=what, got=text, hint=hint
            )
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
        raise TaupiError("{place}: <axis> xyz is '0 0 0', which has no direction. Give the joint's axis.", place=place)
    axis, snapped = snapped_unit_vector(words, f"{place}: <axis> xyz", snap)
    note_snapped(notes, f"{who}: axis = {' '.join(words)}", snapped, "a coordinate axis")
    return axis


def _mimic(node: Node | None, place: str) -> Mimic | None:
    if node is None:
        return None
    if not node.attributes.get("joint"):
        raise TaupiError('{place}: <mimic> names no joint. Add joint="...".', place=place)
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


_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
Numbers = tuple[float, ...]


def write(robot: Robot, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the URDF that a `robot` was read from, with the robot's parameters; nothing but inertials changes.

    A moving link's own inertial becomes its parameters less the ones of links merged into it, which keep theirs: read
    again with the same `lock` and `tip`, the file gives `robot.parameters`. If no real body has what would be left for a link,
    its parameters are shared among the merged links instead, in proportion to their masses in the file, and a warning says
    so. Only numbers that change are edited, in place: comments and the order of attributes stay. The rotation of an edited
    inertial becomes zero. A file that exists at `path` is overwritten only with `force`.

    >>> import tempfile, taupi as tp
    >>> text = (
    ...     '<robot name="r"><link name="base"/><link name="arm"/><joint name="j" type="revolute">'
    ...     '<parent link="base"/><child link="arm"/></joint></robot>'
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "r.urdf").write_text(text)
    ...     robot = tp.load(f"{folder}/r.urdf").with_parameters([2, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    ...     tp.write_urdf(robot, f"{folder}/new.urdf")
    ...     float(tp.load(f"{folder}/new.urdf").parameters["arm.m"])
    2.0
    """
    if robot.source.format != "urdf":
        raise TaupiError(
            "{robot} comes from {format}, expected URDF: there is none to write back.",
            remedy="Write a new one with {export}.",
            export=InPython("taupi.export(..., target='urdf')", "taupi export FIT --for urdf -o FOLDER"),
            robot=robot.name,
            format=robot.source.format,
        )
    write_text(path, updated_text(robot), force)


def updated_text(robot: Robot) -> str:
    """Return the text of the URDF that a robot was read from, with the robot's parameters."""
    own = _new_bodies(robot)
    data = robot.source.text.encode("utf-8")
    newline = "\r\n" if "\r\n" in robot.source.text else "\n"
    root = xml_tree.parse(robot.source.text, robot.name)
    changed = [link for link in root.all("link") if link.attributes["name"] in own]
    edits = [edit for link in changed for edit in _edits(data, link, own[link.attributes["name"]], newline)]
    return edited(data, edits).decode("utf-8")


def with_tool(text: str, parent: str, body: Body) -> str:
    """Return the text of a URDF with another link, fixed to the link `parent`, that has a `body` about the parent's origin.

    The link is called payload, followed by a number if there is a link of this name already.
    """
    from xml.sax.saxutils import quoteattr  # loads half of the standard library, sockets and mail included

    root = xml_tree.parse(text, "the URDF")
    taken = {node.attributes.get("name") for kind in ("link", "joint") for node in root.all(kind)}
    if parent not in taken:
        raise TaupiError("No link {parent!r} in the URDF, to which a tool could be fixed.", parent=parent)
    numbered = ("payload", *(f"payload{k}" for k in range(1, len(taken) + 1)))
    own = next(name for name in numbered if name not in taken and f"{name}_joint" not in taken)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f'  <link name="{own}">',
        f"    {_inertial(_wanted(body), b'    ', newline).decode()}",
        "  </link>",
        f'  <joint name="{own}_joint" type="fixed">',
        f"    <parent link={quoteattr(parent)}/>",
        f'    <child link="{own}"/>',
        "  </joint>",
        "",
    ]
    end = text.rindex("</robot")
    start = text[:end].rstrip(" \t")
    return start + ("" if start.endswith("\n") else newline) + newline.join(lines) + text[end:]


def _new_bodies(robot: Robot) -> dict[str, Body]:
    """Return the own body of each link whose parameters changed: own_new = own_file + (asked - merged_file)."""
    source = robot.source
    tree = tree_of(source.text, Path(source.path).name or robot.name, source.snap)
    floating = True if robot.floating else source.floating
    original = robot_from_tree(tree, dict(source.lock), source.tip, robot.gravity, source.snap, source, floating)
    if original.link_names != robot.link_names:
        expected = ", ".join(original.link_names[:6])
        raise TaupiError(
            "{robot} has different links than its URDF, expected {expected}, ...: read it again.",
            robot=robot.name,
            expected=expected,
        )
    file_bodies, others, values = dict(tree.links), dict(original.source.merged), dict(robot.symbols)
    result: dict[str, Body] = {}
    for before, after in zip(original.links, robot.links, strict=True):
        asked = tuple(_number(v, values, after.name) for v in after.body)
        if asked == before.body:
            continue
        own = tuple(f + a - b for f, a, b in zip(file_bodies[after.name], asked, before.body, strict=True))
        beside = others.get(after.name, ())
        together = {after.name: Placement(), **{f.name: f.placement for f in original.frames if f.name in beside}}
        weighed = any(file_bodies[name][0] > 0 for name in together)
        if beside and weighed and why_not_physical(own) and not why_not_physical(asked):
            result |= _shared(after.name, asked, together, file_bodies)
            continue
        _check_remainder(after.name, own, asked, beside)
        result[after.name] = own
    return result


def _shared(link: str, asked: Body, places: Mapping[str, Placement], file: Mapping[str, Body]) -> dict[str, Body]:
    """Return the bodies of a moving link and of those fixed to it: the asked body in each frame, times its share of mass."""
    total = sum((file[name][0] for name in places), start=Fraction(0))
    names = ", ".join(name for name in places if name != link)
    warnings.warn(
        TaupiWarning(
            "Link {link!r} without {names} would not be a real body. So its parameters are shared among all of them, "
            "in proportion to their masses in the file.",
            link=link,
            names=names,
        ),
        stacklevel=2,
    )
    shares = {name: file[name][0] / total for name in places}
    parts = {name: tuple(shares[name] * v for v in asked) for name in places}
    return {name: move_body(part, places[name].inverse()) for name, part in parts.items() if any(part)}


def _number(value: object, values: Mapping[str, Fraction | None], link: str) -> Fraction:
    number = with_values(value, values)
    if not isinstance(number, Fraction):
        raise TaupiError(
            "Link {link!r} has the parameter {value}.",
            remedy="Give its symbols values with robot.bind(...).",
            link=link,
            value=value,
        )
    return number


def _check_remainder(link: str, own: Body, asked: Body, others: tuple[str, ...]) -> None:
    shared = f" once {', '.join(others)} keep theirs" if others else ""
    if own[0] < 0:
        raise TaupiError(
            "Link {link!r} would have mass {own:.6g}{shared}, which a URDF cannot state. Its mass "
            "{asked:.6g} must be at least that of the links fixed to it.",
            link=link,
            own=float(own[0]),
            shared=shared,
            asked=float(asked[0]),
        )
    if own[0] == 0 and any(own[1:4]):
        raise TaupiError(
            "Link {link!r} would have mass 0 but a first moment {owns}{shared}, which a URDF cannot state. "
            "Give it a mass above 0.",
            link=link,
            owns=[float(v) for v in own[1:4]],
            shared=shared,
        )


# Edits ----------------------------------------------------------------------------------------------------------------


def _edits(data: bytes, link: Node, own: Body, newline: str) -> list[Edit]:
    """Return the edits that give a link its inertial: values changed in place, and what is missing added."""
    wanted = _wanted(own)
    inertial = link.first("inertial")
    if inertial is None:
        return [insert_first(data, link, _inertial(wanted, indent_of(data, link.start) + b"  ", newline), newline)]
    result: list[Edit] = []
    for tag, attributes in wanted.items():
        node = inertial.first(tag)
        if node is not None:
            result += _attributes(data, node, attributes)
        elif any(attributes["xyz"]):  # only <origin> may be missing
            line = _element(tag, {"xyz": attributes["xyz"]}).encode()
            result.append(insert_first(data, inertial, line, newline))
    return result


def _wanted(own: Body) -> dict[str, dict[str, Numbers]]:
    """Return the attributes of <origin>, <mass> and <inertia>, the latter in the link's own axes."""
    m, com, tensor = body_to_com(own)
    entries: dict[str, Numbers] = {key: (float(tensor[i][j]),) for key, (i, j) in _ENTRIES.items()}
    origin = {"xyz": tuple(float(v) for v in com), "rpy": (0.0, 0.0, 0.0)}
    return {"origin": origin, "mass": {"value": (float(m),)}, "inertia": entries}


def _attributes(data: bytes, node: Node, wanted: Mapping[str, Numbers]) -> list[Edit]:
    """Return the edits of an element's attributes: those whose numbers change, and missing ones added."""
    places = attribute_places(data, node)
    if node.tag == "origin" and "quat_xyzw" in places:
        wanted = {"xyz": wanted["xyz"], "quat_xyzw": (0.0, 0.0, 0.0, 1.0)}
    result: list[Edit] = []
    for name, values in wanted.items():
        if name in places:
            if tuple(map(float, node.attributes[name].split())) != values:
                result.append((*places[name], _joined(values).encode()))
        elif any(values):  # a missing attribute means zero
            result.append(new_attribute(data, node, name, _joined(values)))
    return result


def _inertial(wanted: Mapping[str, Mapping[str, Numbers]], indent: bytes, newline: str) -> bytes:
    between = newline + indent.decode()
    inner = "".join(f"{between}  {_element(tag, attributes)}" for tag, attributes in wanted.items())
    return f"<inertial>{inner}{between}</inertial>".encode()


def _element(tag: str, attributes: Mapping[str, Numbers]) -> str:
    return f"<{tag} " + " ".join(f'{name}="{_joined(values)}"' for name, values in attributes.items()) + "/>"


def _joined(values: Numbers) -> str:
    return " ".join(repr(v) if v else "0" for v in values)
