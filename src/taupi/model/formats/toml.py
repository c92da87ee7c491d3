"""The project's own format: a robot as a person would write it down, with exact numbers and symbols.

There are two styles. With `convention`, a file is a Denavit-Hartenberg table:

    [robot]
    name = "elbow"
    convention = "classic"          # or "modified"
    gravity = [0, "-g", 0]

    [values]                        # numbers for symbols; explicit forms keep the names
    l1 = 0.5
    g = 9.81

    [[joint]]
    name = "shoulder"               # type = "revolute" unless "prismatic" or "continuous"
    a = "l1"                        # a, alpha, d, theta: numbers, symbols or formulas ("pi/2"); 0 where left out
    limits = { lower = -2.9, upper = 2.9, velocity = 2.0, effort = 80 }
    friction = { viscous = 0.1, coulomb = 0.3 }
    transmission = { gear_ratio = 100, rotor_inertia = 2e-5, stiffness = 3000 }   # elastic; without stiffness, rigid
    link = { name = "upper arm", m = 4.2, com = [-0.2, 0, 0], inertia = [0.01, 0, 0, 0.1, 0, 0.1] }

Without `convention` it is any tree: a joint is mounted on the link before it, or on `parent`, at `origin` and along `axis`:

    [[joint]]
    parent = "base"
    origin = { xyz = [0, 0, 0.3], rpy = ["pi/2", 0, 0] }
    axis = [0, 0, 1]

A first joint with `type = "free"` is a base that moves freely; `type = "ball"` turns about a point. `spring` is the stiffness of
a spring at the link. Two frames that are kept together close a loop: a [[loop]] has frame_a, frame_b and kind, "point" or "weld".

Units are SI, angles radians. `inertia` (xx, xy, xz, yy, yz, zz, or 3 x 3) is about the centre of mass; `parameters` states the
ten standard parameters instead. `transmission` has gear_ratio, rotor_inertia, stiffness, damping, motor_axis, link_viscous and
link_coulomb; `friction` acts on the motor's side of a spring. `coupling` in [robot], with a row per joint and a column per
motor, states which motors move a joint, as in `Robot.with_coupling`. Links may also have a list of their own, `[[link]]`, one
per joint and in the same order.

What a link takes up is stated by capsules, any number per link: all points within r of a segment in the link's frame:

    [[capsule]]
    link = "upper arm"              # or "base", or a frame
    a = [0, 0, 0]
    b = [-0.4, 0, 0]                # a sphere where left out
    r = 0.06
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from taupi.budget import budget
from taupi.errors import TaupiError, shown, unknown
from taupi.files import write_text
from taupi.input_files import parse_toml, printable
from taupi.model.body import Body, stated_mass
from taupi.model.capsule import Capsule, capsule_from
from taupi.model.formats.description import read_text
from taupi.model.formats.link_tree import motion
from taupi.model.formats.serial_arm import body_of, dh_placements, warn_not_physical
from taupi.model.formats.toml_writer import writes
from taupi.model.parameters import LINK_SIZE
from taupi.model.placement import (
    IDENTITY3,
    Placement,
    matmul,
    rotation_about,
    rotation_from_exact_quaternion,
    rotation_from_matrix,
)
from taupi.model.robot import Robot
from taupi.model.robot_parts import (
    BALL,
    BASE,
    FREE,
    KINDS,
    MULTIPLE,
    POINT,
    Frame,
    Friction,
    Joint,
    Kind,
    Limits,
    Link,
    Loop,
    Source,
    Transmission,
    stated,
)
from taupi.model.scalars import (
    Matrix,
    Vector,
    exact,
    exact_vector,
    is_number,
    note_snapped,
    snapped_unit_vector,
    to_float,
)
from taupi.model.symbols import symbols_of

__all__ = ["read", "reads", "write", "writes"]

JointGeometry = tuple[Placement, Vector, Placement]  # before, axis, after

_Row: TypeAlias = Mapping[str, Any]  # a table of the file
_TOP = ("robot", "values", "joint", "link", "frame", "capsule", "loop")
_ROBOT = ("name", "gravity", "convention", "base", "tool", "tip", "snap", "coupling")
_JOINT = ("name", "type", "parent", "mimic", "limits", "friction", "transmission", "spring", "link")
_DH = ("a", "alpha", "d", "theta")
_TREE = ("origin", "axis", "after")
_LINK = ("name", "m", "com", "inertia", "parameters")
_FRAME = ("name", "link", "origin")
_LOOP = ("frame_a", "frame_b", "kind")
_PLACEMENT = ("xyz", "rpy", "quaternion", "rotation")
_LIMITS, _FRICTION, _TRANSMISSION = (tuple(f.name for f in fields(kind)) for kind in (Limits, Friction, Transmission))
_MIMIC = ("joint", "ratio", "offset")
_UNITS = ("deg", "degrees", "rad", "mm", "cm", "m", "g", "gram", "kg", "rpm", "nm", "n", "s", "hz", "inch", "in")


def read(path: str | os.PathLike[str]) -> Robot:
    """Return the robot of the TOML file at `path`; the module's docstring describes the format."""
    text, file = read_text(path), Path(path)
    return reads(text, printable(file.stem), printable(file, 4096))


def reads(text: str, name: str = "robot", path: str = "") -> Robot:
    """Return the robot of a TOML `text`; `name` is used if the text has none, and `path` says where it was read from."""
    where = Path(path).name or name
    try:
        # Numbers are kept as they are printed: 0.4318 is 4318/10000.
        data = parse_toml(text, where, parse_float=lambda s: s.replace("_", ""))
        robot = _robot(data, name, where, Source("toml", path, text))
    except RecursionError:
        raise TaupiError("{where} nests too deeply for a robot description.", where=where) from None
    warn_not_physical(robot.links, where)
    return robot


def write(robot: Robot, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a `robot` as TOML, so that reading it returns exactly the same joints, links, gravity, frames and symbols.

    A file that exists at `path` is overwritten only with `force`.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.write_toml(tp.load("ur10"), f"{folder}/mine.toml")
    ...     tp.load(f"{folder}/mine.toml").joints == tp.load("ur10").joints
    True
    """
    write_text(path, writes(robot), force)


def _robot(data: _Row, name: str, where: str, source: Source) -> Robot:
    _known(data, _TOP, where)
    head = _table(data.get("robot", {}), _ROBOT, f"{where}: [robot]")
    values = _mapping(data.get("values", {}), f"{where}: [values]")
    rows = _tables(data.get("joint", []), f"{where}: [[joint]]")
    if not rows:
        raise TaupiError("{where} has no joints. Add one [[joint]] for each.", where=where)
    listed = _tables(data.get("link", []), f"{where}: [[link]]")
    budget().check_joints(max(len(rows), len(listed)), where)
    snap = head.get("snap", True)
    if not isinstance(snap, bool):
        raise TaupiError("{where}: snap is {got!r}, expected true or false.", where=where, got=snap)
    notes: list[str] = []
    joints, links = _joints(rows, _links(listed, rows, where), head.get("convention"), snap, where, notes)
    frames = _frames(data, head, links, where, snap, notes)
    gravity: Vector = exact_vector(head.get("gravity", (0, 0, "-9.81")), f"{where}: gravity")
    base = _placement(head.get("base", {}), f"{where}: base", snap, notes)
    robot = Robot(
        name=_text(head.get("name", name), f"{where}: name"),
        joints=joints,
        links=links,
        gravity=gravity,
        base=base,
        frames=frames,
        tip=_text(head.get("tip", "tool" if "tool" in head else ""), f"{where}: tip"),
        symbols=symbols_of(joints, links, gravity, frames, base),
        notes=tuple(notes),
        source=source,
        capsules=_capsules(data, where),
        loops=_loops(data, where),
    )
    robot.frame("tip")
    robot = _coupled(robot, head["coupling"], where) if "coupling" in head else robot
    return robot.bind(**values) if values else robot


def _capsules(data: Mapping[str, object], where: str) -> tuple[Capsule, ...]:
    tables = _tables(data.get("capsule", []), f"{where}: [[capsule]]")
    return tuple(capsule_from(table, f"{where}: capsule {i}") for i, table in enumerate(tables, 1))


def _loops(data: Mapping[str, object], where: str) -> tuple[Loop, ...]:
    loops = []
    for i, row in enumerate(_tables(data.get("loop", []), f"{where}: [[loop]]"), 1):
        table = _table(row, _LOOP, f"{where}: loop {i}")
        a, b = (_text(table.get(key), f"{where}: loop {i}: {key}") for key in ("frame_a", "frame_b"))
        loops.append(Loop(a, b, _text(table.get("kind", POINT), f"{where}: loop {i}: kind")))
    return tuple(loops)


def _coupled(robot: Robot, matrix: Any, where: str) -> Robot:
    if any(joint.mimic for joint in robot.joints):
        raise TaupiError("{where} has coupling and mimic: use one of the two.", where=where)
    try:
        return robot.with_coupling(matrix)
    except TaupiError as error:
        raise error.about(f"{where}: coupling") from None


def _links(tables: Sequence[_Row], rows: Sequence[_Row], where: str) -> list[tuple[str, Body]]:
    """Return the names and bodies of the links, from a list of their own, `tables`, or from the joints' `rows`."""
    inline = [row.get("link") for row in rows]
    if tables and any(v is not None for v in inline):
        raise TaupiError("{where} has both [[link]] and joint.link: use one of the two.", where=where)
    if tables and len(tables) != len(rows):
        raise TaupiError(
            "{where} has {got} [[link]] for {count} [[joint]], expected one each.",
            where=where,
            got=len(tables),
            count=len(rows),
        )
    result = []
    for i, link in enumerate(tables or [v if v is not None else {} for v in inline], 1):
        place = f"{where}: link {i}"
        table = _table(link, _LINK, place)
        result.append((_text(table.get("name", f"link{i}"), f"{place}: name"), _body(table, place)))
    return result


def _body(table: _Row, place: str) -> Body:
    if "parameters" not in table:
        return body_of(table, place)
    if any(key in table for key in ("m", "com", "inertia")):
        raise TaupiError("{place} has parameters and m, com or inertia: use one of the two.", place=place)
    body = exact_vector(table["parameters"], f"{place}: parameters", LINK_SIZE)
    stated_mass(body[0], f"{place}: parameters: mass")
    return body


def _joints(
    rows: Sequence[Mapping[str, object]],
    bodies: Sequence[tuple[str, Body]],
    convention: object,
    snap: bool,
    where: str,
    notes: list[str],
) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    if convention not in (None, "classic", "modified"):
        raise unknown("convention", convention, ("classic", "modified"), where)
    names = [_text(row.get("name", f"joint{i}"), f"{where}: joint {i}: name") for i, row in enumerate(rows, 1)]
    free: dict[str, int] = {}  # the joints that own coordinates, and where these start
    start = 0
    for name, row in zip(names, rows, strict=True):
        if "mimic" not in row:
            free[name] = start
            start += {FREE: 6, BALL: 3}.get(_kind(row, f"{where}: joint {shown(name)}"), 1)
    parents = [name for name, _ in bodies]
    joints = []
    for i, row in enumerate(rows):
        place = f"{where}: joint {shown(names[i])}"
        _known(row, (*_JOINT, *(_TREE if convention is None else _DH)), place, convention)
        geometry = _dh(row, convention, snap, place, notes) if convention else _general(row, snap, place, notes)
        parent = _parent(row, parents[:i], place)
        joints.append(_joint(row, names[i], parent, geometry, free, snap, place, notes))
    return tuple(joints), tuple(Link(name, body) for name, body in bodies)


def _dh(row: Mapping[str, object], convention: str, snap: bool, place: str, notes: list[str]) -> JointGeometry:
    table = {key: row.get(key, 0) for key in _DH}
    before, after = dh_placements(table, convention, snap, place, notes)
    return before, exact_vector((0, 0, 1), "axis"), after


def _general(row: _Row, snap: bool, place: str, notes: list[str]) -> JointGeometry:
    before = _placement(row.get("origin", {}), f"{place}: origin", snap, notes)
    after = _placement(row.get("after", {}), f"{place}: after", snap, notes)
    axis, snapped = snapped_unit_vector(row.get("axis", (0, 0, 1)), f"{place}: axis", snap)
    note_snapped(notes, f"{place}: axis", snapped, "a coordinate axis")
    return before, axis, after


def _parent(row: Mapping[str, object], before: Sequence[str], place: str) -> int:
    if "parent" not in row:
        return len(before) - 1
    if row["parent"] in before:
        return before.index(row["parent"])
    if row["parent"] in ("base", ""):
        return BASE
    raise unknown("link", row["parent"], ("base", *before), f"{place}: parent (it must come before)")


def _kind(row: _Row, place: str) -> Kind:
    kind: Kind = row.get("type", "revolute")
    if kind not in (*KINDS, *MULTIPLE):
        raise unknown("joint type", kind, (*KINDS, *MULTIPLE), place)
    return kind


def _joint(
    row: Mapping[str, object],
    name: str,
    parent: int,
    geometry: JointGeometry,
    free: Mapping[str, int],
    snap: bool,
    place: str,
    notes: list[str],
) -> Joint:
    kind = _kind(row, place)
    before, axis, after = geometry
    master, ratio, offset = name, exact(1), exact(0)
    if "mimic" in row:
        table = _table(row["mimic"], _MIMIC, f"{place}: mimic")
        master = _text(table.get("joint"), f"{place}: mimic joint")
        if master not in free:
            raise unknown("driving joint", master, free, f"{place}: mimic")
        ratio, offset = (exact(table.get(k, v), f"{place}: mimic {k}") for k, v in (("ratio", 1), ("offset", 0)))
    start, snapped = motion(kind, axis, offset, snap)
    note_snapped(notes, f"{place}: mimic offset", snapped)
    spring = exact(row.get("spring", 0), f"{place}: spring")
    friction = _stated(Friction(), row.get("friction", {}), _FRICTION, f"{place}: friction")
    return Joint(
        name=name,
        kind=kind,
        parent=parent,
        coordinate=free[master],
        before=before @ start,
        axis=axis,
        after=after,
        ratio=ratio,
        limits=Limits(**_floats(row.get("limits", {}), _LIMITS, f"{place}: limits")).without_offset(offset),
        friction=friction.with_spring_at(spring, offset),
        transmission=_stated(Transmission(), row.get("transmission", {}), _TRANSMISSION, f"{place}: transmission"),
        mimic="mimic" in row,
        spring=spring,
    )


def _floats(value: object, known: Sequence[str], place: str) -> dict[str, float]:
    return {key: _float(v, f"{place}.{key}") for key, v in _table(value, known, place).items()}


def _float(value: object, what: str) -> float:
    # Files state "no limit" by the largest double there is, which is larger than any other number of a robot.
    if isinstance(value, str) and is_number(value) and math.isfinite(float(value)):
        return float(value)
    return to_float(exact(value, what), what)


def _stated(record: Any, value: Any, known: Sequence[str], place: str) -> Any:
    return stated(record, _table(value, known, place), place)


def _frames(
    data: Mapping[str, object],
    head: Mapping[str, object],
    links: Sequence[Link],
    where: str,
    snap: bool,
    notes: list[str],
) -> tuple[Frame, ...]:
    names = [link.name for link in links]
    frames = []
    for i, frame in enumerate(_tables(data.get("frame", []), f"{where}: [[frame]]"), 1):
        table = _table(frame, _FRAME, f"{where}: frame {i}")
        name = _text(table.get("name"), f"{where}: frame {i}: name")
        place = f"{where}: frame {shown(name)}"
        link = table.get("link", names[-1])
        if link not in names and link not in ("base", ""):
            raise unknown("link", link, ("base", *names), place)
        index = names.index(link) if link in names else BASE
        frames.append(Frame(name, index, _placement(table.get("origin", {}), place, snap, notes)))
    if "tool" in head:
        frames.append(Frame("tool", len(names) - 1, _placement(head["tool"], f"{where}: tool", snap, notes)))
    return tuple(frames)


def _placement(value: object, place: str, snap: bool, notes: list[str]) -> Placement:
    if isinstance(value, list):
        value = {"xyz": value}
    table = _table(value, _PLACEMENT, place)
    if not table:
        return Placement()
    turns = [key for key in ("rpy", "quaternion", "rotation") if key in table]
    if len(turns) > 1:
        raise TaupiError("{place} has {turns}: state the rotation once.", place=place, turns=" and ".join(turns))
    xyz: Vector = exact_vector(table.get("xyz", (0, 0, 0)), f"{place}: xyz")
    rotation = _rotation(turns[0], table[turns[0]], place, snap, notes) if turns else IDENTITY3
    return Placement(rotation, xyz)


def _rotation(key: str, value: Any, place: str, snap: bool, notes: list[str]) -> Matrix:
    if key == "quaternion":
        q = exact_vector(value, f"{place}: quaternion", 4)
        if not any(q):
            raise TaupiError("{place}: quaternion is zero, which is not a rotation.", place=place)
        return rotation_from_exact_quaternion(*q)
    if key == "rotation":
        if not isinstance(value, list):
            raise TaupiError(
                "{place}: rotation is {got!r}, expected three rows of three numbers.", place=place, got=value
            )
        matrix, snapped = rotation_from_matrix(value, snap)
        note_snapped(notes, f"{place}: rotation", snapped, "quaternion ratios of 0 and 1")
        return matrix
    if not isinstance(value, list) or len(value) != 3:
        raise TaupiError("{place}: rpy is {got!r}, expected three angles in rad.", place=place, got=value)
    rotation = IDENTITY3
    for axis, angle in zip("xyz", value, strict=True):
        turn, snapped = rotation_about(axis, angle, snap, f"{place}: rpy")
        note_snapped(notes, f"{place}: rpy {angle}", snapped)
        rotation = matmul(turn, rotation)
    return rotation


# Tables, lists and texts of the file ----------------------------------------------------------------------------------


def _mapping(value: object, place: str) -> _Row:
    if not isinstance(value, Mapping):
        raise TaupiError("{place} is {got!r}, expected a table.", place=place, got=value)
    return value


def _table(value: object, known: Sequence[str], place: str) -> _Row:
    table = _mapping(value, place)
    _known(table, known, place)
    return table


def _tables(value: object, place: str) -> list[_Row]:
    if not isinstance(value, list):
        raise TaupiError("{place} is {got!r}, expected a list of tables.", place=place, got=value)
    return [_mapping(v, place) for v in value]


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or (not value and not place.endswith("tip")):
        raise TaupiError("{place} is {got!r}, expected a text.", place=place, got=value)
    return value


def _known(table: Mapping[str, object], known: Sequence[str], place: str, convention: object = "") -> None:
    for key in table:
        if key in known:
            continue
        error = unknown("entry", key, known, place)
        if key.lower().rpartition("_")[2] in _UNITS and "_" in key:
            raise TaupiError(
                "{error}",
                remedy="Units are SI and radians: convert the number and leave the unit out of the name.",
                error=error.message,
            )
        if convention is None and key in _DH:
            raise TaupiError(
                "{error}",
                remedy='For a Denavit-Hartenberg table write convention = "classic" in [robot].',
                error=error.message,
            )
        raise error
