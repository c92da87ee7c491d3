"""Product of exponentials: a serial arm from the screws of its joints and the home placements of its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from taupi.errors import Argument, TaupiError
from taupi.model.formats.serial_arm import Arm, listed, placed, serial_robot
from taupi.model.placement import IDENTITY3, Placement, PlacementLike, cross, dot, matvec, transpose
from taupi.model.robot import Robot
from taupi.model.robot_parts import Joint, Kind, Source
from taupi.model.scalars import (
    Scalar,
    Vector,
    VectorLike,
    exact,
    exact_vector,
    is_symbolic,
    note_snapped,
    snapped_unit_vector,
)

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
            Argument("home"), f" has {len(homes)} placements for {n} screws, expected one per screw and at least one."
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
        raise TaupiError(f"screw {i} has pitch omega . v = {pitch}, expected 0: v = -omega x r, r a point on the axis.")
    foot = cross(u, v)
    along = _simplified(dot(u, tuple(a - b for a, b in zip(origin, foot, strict=True))))
    return "revolute", u, tuple(_simplified(f + along * x) for f, x in zip(foot, u, strict=True))


def _unit(values: Vector, what: str, snap: bool, notes: list[str]) -> Vector:
    u, snapped = snapped_unit_vector(values, what, snap)
    note_snapped(notes, what, snapped, "a coordinate axis")
    length = dot(u, values)
    if abs(length - 1) > _LENGTH_TOLERANCE:
        raise TaupiError(f"{what} has length {float(length):.6g}, expected 1.")
    return u


def _simplified(x: Scalar) -> Scalar:
    if not is_symbolic(x):
        return x
    import sympy

    return exact(sympy.expand(x))
