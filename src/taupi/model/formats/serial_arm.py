"""Serial arms from their geometry: Denavit-Hartenberg rows (`from_dh`) and products of exponentials (`from_poe`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from taupi.errors import Argument, Part, TaupiError, unknown, warn
from taupi.model.body import NO_BODY, Body, body_from_com, smallest_eigenvalue, why_not_physical
from taupi.model.parameters import LINK_SIZE, ParameterLayout, Parameters
from taupi.model.placement import (
    IDENTITY3,
    Placement,
    PlacementLike,
    cross,
    dot,
    matvec,
    placement_from,
    rotation_about,
    transpose,
)
from taupi.model.robot import Robot
from taupi.model.robot_parts import KINDS, Frame, Friction, Joint, Kind, Limits, Link, Source, Transmission, stated
from taupi.model.scalars import (
    Matrix,
    Scalar,
    ScalarLike,
    Vector,
    VectorLike,
    exact,
    exact_vector,
    is_symbolic,
    items_of,
    note_snapped,
    snapped_unit_vector,
)
from taupi.model.symbols import symbols_of
from taupi.tables import some_of

LINK_KEYS = ("m", "com", "inertia", "name")
NO_INERTIA = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Arm:
    """The data of a serial arm other than its geometry, not yet checked: keywords that `Robot.from_dh` documents."""

    name: str
    links: Sequence[Mapping[str, object]] | None
    parameters: Parameters | VectorLike | None
    gravity: VectorLike
    base: PlacementLike | None
    tool: PlacementLike | None
    limits: Sequence[Limits] | None
    friction: Sequence[Friction] | None
    transmissions: Sequence[Transmission] | None
    values: Mapping[str, ScalarLike] | None
    snap: bool

    def per_joint(self, n: int) -> list[dict[str, Any]]:
        """Return each joint's limits, friction and transmission."""
        limits = _records(self.limits, n, "limits", Limits())
        friction = [_exact(f) for f in _records(self.friction, n, "friction", Friction())]
        drives = [_exact(t) for t in _records(self.transmissions, n, "transmissions", Transmission())]
        return [dict(limits=k, friction=f, transmission=t) for k, f, t in zip(limits, friction, drives, strict=True)]


def listed(values: object, what: str, n: int | None = None) -> list[Any]:
    """Return the argument `what`, which has one entry per joint, as a list."""
    items = items_of(values)
    if items is None:
        raise TaupiError(
            "{argument} is {got!r}, expected a list with one entry per joint.", argument=Argument(what), got=values
        )
    if n is not None and len(items) != n:
        raise TaupiError(
            "{argument} has {got} entries, expected {expected}: one per joint.",
            argument=Argument(what),
            got=len(items),
            expected=n,
        )
    return items


def _records(values: object, n: int, what: str, default: object) -> list[object]:
    if values is None:
        return [default] * n
    result = [default if v is None else v for v in listed(values, what, n)]
    for i, value in enumerate(result, 1):
        if not isinstance(value, type(default)):
            raise TaupiError(
                "{argument} of joint {i} is {got!r}, expected a {expected}(...) or None.",
                argument=Argument(what),
                i=i,
                got=value,
                expected=type(default).__name__,
            )
    return result


def _exact(record: Any) -> object:
    return stated(record, {f.name: getattr(record, f.name) for f in fields(record)})


def _links_of(arm: Arm, n: int) -> tuple[Link, ...]:
    """Return the links, from `links` (m, com, inertia about it) or from pi itself."""
    names = [f"link{i + 1}" for i in range(n)]
    if arm.links is not None and arm.parameters is not None:
        raise TaupiError("{links} and {parameters} are both given: use one of the two.")
    if arm.parameters is not None:
        values = items_of(arm.parameters)
        if values is None or len(values) != LINK_SIZE * n:
            raise TaupiError(
                "{parameters} is {got!r}, expected {expected} values: ten per link.",
                got=arm.parameters,
                expected=LINK_SIZE * n,
            )
        flat = tuple(exact(v, f"parameters[{k}]") for k, v in enumerate(values))
        pi = Parameters(ParameterLayout.of_links(names), flat)
        return tuple(Link(name, pi.link(i)) for i, name in enumerate(names))
    if arm.links is None:
        return tuple(Link(name, NO_BODY) for name in names)
    return tuple(_link(link, name) for link, name in zip(listed(arm.links, "links", n), names, strict=True))


def _link(link: object, name: str) -> Link:
    if not isinstance(link, Mapping):
        raise TaupiError("{name} is {got!r}, expected dict(m=, com=, inertia=).", name=name, got=link)
    for key in link:
        if key not in LINK_KEYS:
            raise unknown("link entry", key, LINK_KEYS, name)
    own = link.get("name", name)
    return Link(own, body_of(link, str(own)))


def body_of(link: Mapping[str, Any], what: str) -> Body:
    """Return the ten parameters of a mapping with m, com and inertia about the com; what is left out is 0."""
    return body_from_com(link.get("m", 0), link.get("com", (0, 0, 0)), link.get("inertia", NO_INERTIA), what)


def serial_robot(joints: Sequence[Joint], arm: Arm, notes: Sequence[str], source: Source) -> Robot:
    """Return the arm of these joints; a tool becomes the frame "tool" on the last link, and the tip."""
    all_notes = list(notes)
    links = _links_of(arm, len(joints))
    base = Placement() if arm.base is None else placed(arm.base, Argument("base"), arm.snap, all_notes)
    frames: tuple[Frame, ...] = ()
    if arm.tool is not None:
        frames = (Frame("tool", len(joints) - 1, placed(arm.tool, Argument("tool"), arm.snap, all_notes)),)
    gravity: Vector = exact_vector(arm.gravity, Argument("gravity"))
    known = dict(arm.parameters.symbols) if isinstance(arm.parameters, Parameters) else {}
    # Published parameters often belong to no real body. A note says so; whoever types them in needs no warning.
    if arm.links is not None and (note := not_physical(links, str(arm.name))):
        all_notes.append(note)
    robot = Robot(
        name=arm.name,
        joints=tuple(joints),
        links=links,
        gravity=gravity,
        base=base,
        frames=frames,
        tip="tool" if frames else "",
        symbols=symbols_of(joints, links, gravity, frames, base, known),
        notes=tuple(all_notes),
        source=source,
    )
    return _bound(robot, arm.values)


def placed(value: PlacementLike, what: Part, snap: bool, notes: list[str]) -> Placement:
    """Return the Placement of a matrix or translation, noting by how much it was snapped."""
    placement, snapped = placement_from(value, what, snap)
    note_snapped(notes, f"{what}: rotation", snapped, "quaternion ratios of 0 and 1")
    return placement


def _bound(robot: Robot, values: object) -> Robot:
    if values is None:
        return robot
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise TaupiError("{values} is {got!r}, expected a mapping from symbols to numbers: dict(l1=0.5).", got=values)
    return robot.bind(**values)


def not_physical(links: Iterable[Link], where: str) -> str | None:
    """Return a sentence on the links whose parameters no real body has, with the worst eigenvalue; or None."""
    bad = [link for link in links if why_not_physical(link.body)]
    if not bad:
        return None
    worst = min(smallest_eigenvalue(link.body) for link in bad)
    names = some_of([link.name for link in bad])
    return (
        f"{where}: no real body has the inertia of {names} (smallest pseudo-inertia eigenvalue {worst:.2g}); "
        "Y pi is usable, but M(q) need not be positive definite."
    )


def warn_not_physical(links: Iterable[Link], where: str) -> None:
    """Warn, once for all links, that no real body has a link's parameters."""
    if sentence := not_physical(links, where):
        warn("{sentence}", sentence=sentence)


ROW_KEYS = ("a", "alpha", "d", "theta", "joint", "name")


def from_dh(rows: Iterable[Mapping[str, ScalarLike]], convention: str, arm: Arm) -> Robot:
    """Return a serial arm from its Denavit-Hartenberg table; see `Robot.from_dh`, which calls this."""
    if convention not in ("classic", "modified"):
        raise unknown(Argument("convention"), convention, ("classic", "modified"))
    table = [_row(row, i) for i, row in enumerate(listed(rows, "rows"), 1)]
    if not table:
        raise TaupiError(
            "The DH table has no rows. Give one per joint: dict(a=, alpha=, d=, theta=, joint='revolute')."
        )
    notes: list[str] = []
    joints = []
    for i, (row, data) in enumerate(zip(table, arm.per_joint(len(table)), strict=True)):
        before, after = dh_placements(row, convention, arm.snap, f"row {i + 1}", notes)
        joints.append(Joint(row["name"], row["joint"], i - 1, i, before=before, after=after, **data))
    return serial_robot(joints, arm, notes, Source("dh"))


def _row(row: object, i: int) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TaupiError(
            "DH row {i} is {got!r}, expected dict(a=, alpha=, d=, theta=, joint='revolute').", i=i, got=row
        )
    for key in row:
        if key not in ROW_KEYS:
            raise unknown("DH entry", key, ROW_KEYS, f"row {i}")
    kind = row.get("joint", "revolute")
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown("joint type", kind, KINDS, f"DH row {i}")
    result = {key: row.get(key, 0) for key in ("a", "alpha", "d", "theta")}
    return result | {"joint": kind, "name": row.get("name", f"joint{i}")}


def dh_placements(
    row: Mapping[str, ScalarLike], convention: str, snap: bool, where: str, notes: list[str]
) -> tuple[Placement, Placement]:
    """Return the placements before and after a joint's motion: (1, Tz(d) Rz Tx(a) Rx), or modified (Rx Tx(a), Rz Tz(d))."""
    zero = Fraction(0)
    rotation: dict[str, Matrix] = {}
    for key, axis in (("alpha", "x"), ("theta", "z")):
        rotation[key], snapped = rotation_about(axis, row[key], snap, f"{where}: {key}")
        note_snapped(notes, f"{where}: {key} = {row[key]}", snapped)
    along_x = Placement(rotation["alpha"], (exact(row["a"], f"{where}: a"), zero, zero))
    along_z = Placement(rotation["theta"], (zero, zero, exact(row["d"], f"{where}: d")))
    if convention == "classic":
        return Placement(), along_z @ along_x
    return along_x, along_z


# How far a direction's length may differ from 1: what rounding to four printed digits causes.
_LENGTH_TOLERANCE = 1e-3
# Pitch (m/rad) below which a screw is a pure rotation: what rounding a unit vector to four digits causes at a metre.
_PITCH_TOLERANCE = 1e-3


def from_poe(
    screws: Iterable[VectorLike], home: Iterable[PlacementLike], joint_names: Sequence[str] | None, arm: Arm
) -> Robot:
    """Return a serial arm from the screws of its joints; see `Robot.from_poe`, which calls this."""
    vectors = [exact_vector(s, f"screw {i}", 6) for i, s in enumerate(listed(screws, "screws"), 1)]
    n, notes = len(vectors), list[str]()
    homes = [placed(m, f"home {i}", arm.snap, notes) for i, m in enumerate(listed(home, "home"), 1)]
    if not n or len(homes) != n:
        raise TaupiError(
            "{home} has {got} placements for {n} screws, expected one per screw and at least one.", got=len(homes), n=n
        )
    names = [None] * n if joint_names is None else listed(joint_names, "joint_names", n)
    joints = []
    for i, (screw, data) in enumerate(zip(vectors, arm.per_joint(n), strict=True)):
        kind, direction, point = _line(screw, homes[i].translation, i + 1, arm.snap, notes)
        before, axis, after = _placements(direction, point, homes[i - 1] if i else Placement(), homes[i])
        joints.append(Joint(names[i] or f"joint{i + 1}", kind, i - 1, i, before, axis, after, **data))
    return serial_robot(joints, arm, notes, Source("poe"))


def _placements(
    direction: Vector, point: Vector, previous: Placement, home: Placement
) -> tuple[Placement, Vector, Placement]:
    """Return before, axis and after of M_{i-1}^-1 exp([S_i] q) M_i, in the link's own axes."""
    at_joint = Placement(home.rotation, point)
    axis = matvec(transpose(home.rotation), direction)
    after = at_joint.inverse() @ home
    shift = tuple(_simplified(v) for v in after.translation)
    return previous.inverse() @ at_joint, axis, Placement(IDENTITY3, shift) if any(shift) else Placement()


def _line(screw: Sequence[Scalar], origin: Vector, i: int, snap: bool, notes: list[str]) -> tuple[Kind, Vector, Vector]:
    """Return the kind, the unit direction and a point of a screw's axis: the point nearest to the link's origin."""
    omega: Vector = tuple(screw[:3])
    v: Vector = tuple(screw[3:])
    if not any(omega):
        return "prismatic", _unit(v, f"screw {i}: v", snap, notes), origin
    u = _unit(omega, f"screw {i}: omega", snap, notes)
    pitch = _simplified(dot(u, v))
    if is_symbolic(pitch) or abs(pitch) > _PITCH_TOLERANCE * max(1, *(0 if is_symbolic(x) else abs(x) for x in v)):
        raise TaupiError(
            "screw {i} has pitch omega . v = {pitch}, expected 0: v = -omega x r, r a point on the axis.",
            i=i,
            pitch=pitch,
        )
    foot = cross(u, v)
    along = _simplified(dot(u, tuple(a - b for a, b in zip(origin, foot, strict=True))))
    return "revolute", u, tuple(_simplified(f + along * x) for f, x in zip(foot, u, strict=True))


def _unit(values: Vector, what: str, snap: bool, notes: list[str]) -> Vector:
    u, snapped = snapped_unit_vector(values, what, snap)
    note_snapped(notes, what, snapped, "a coordinate axis")
    length = dot(u, values)
    if abs(length - 1) > _LENGTH_TOLERANCE:
        raise TaupiError("{what} has length {length:.6g}, expected 1.", what=what, length=float(length))
    return u


def _simplified(x: Scalar) -> Scalar:
    if not is_symbolic(x):
        return x
    import sympy

    return exact(sympy.expand(x))
