"""Product of exponentials: a serial arm from the screws of its joints and the home placements of its links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from taupi.errors import TaupiError
from taupi.model.formats.serial import per_joint, serial_robot
from taupi.model.placement import IDENTITY3, Placement, cross, dot, matvec, placement_from, transpose
from taupi.model.robot import Friction, Joint, Kind, Limits, Robot, Source, Transmission
from taupi.model.scalars import Scalar, Vector, exact, exact_vector, is_symbolic, unit_vector

# How far a direction's length may be from 1: what four printed digits leave.
_LENGTH_TOLERANCE = 1e-3
# Pitch (m/rad) below which a screw is a pure rotation: what four printed digits of a unit vector leave on a metre.
_PITCH_TOLERANCE = 1e-3


def from_poe(
    screws: Iterable[Sequence[Any]],
    home: Iterable[Any],
    *,
    links: Sequence[Mapping[str, Any]] | None = None,
    parameters: Sequence[Any] | None = None,
    gravity: Sequence[Any] = (0, 0, "-9.81"),
    base: Any = None,
    tool: Any = None,
    name: str = "arm",
    joint_names: Sequence[str] | None = None,
    limits: Sequence[Limits] | None = None,
    friction: Sequence[Friction] | None = None,
    transmissions: Sequence[Transmission] | None = None,
    values: Mapping[str, Any] | None = None,
    snap: bool = True,
) -> Robot:
    """Return a serial arm from the screws of its joints; see `Robot.from_poe`."""
    given = [exact_vector(s, f"screw {i}", 6) for i, s in enumerate(screws, 1)]
    homes = [placement_from(m, f"home {i}", snap) for i, m in enumerate(home, 1)]
    n = len(given)
    if not n or len(homes) != n:
        raise TaupiError(f"home has {len(homes)} placements for {n} screws, expected one each and at least one.")
    names = per_joint(joint_names, n, "joint_names", None)
    ranges = per_joint(limits, n, "limits", Limits())
    frictions = per_joint(friction, n, "friction", Friction())
    drives = per_joint(transmissions, n, "transmissions", Transmission())
    joints = []
    for i, screw in enumerate(given):
        kind, before, axis, after = _placements(screw, homes[i - 1] if i else Placement(), homes[i], i + 1, snap)
        data = dict(limits=ranges[i], friction=frictions[i], transmission=drives[i])
        joints.append(Joint(names[i] or f"joint{i + 1}", kind, i - 1, i, before, axis, after, **data))
    return serial_robot(
        name,
        joints,
        links=links,
        parameters=parameters,
        gravity=gravity,
        base=base,
        tool=tool,
        values=values,
        snap=snap,
        notes=(),
        source=Source("poe"),
    )


def _placements(
    screw: Sequence[Scalar], previous: Placement, home: Placement, i: int, snap: bool
) -> tuple[Kind, Placement, Vector, Placement]:
    """Return kind, before, axis and after of M_{i-1}^-1 exp([S_i] q) M_i, in the link's own axes."""
    kind, direction, point = _line(screw, home.translation, i, snap)
    at_joint = Placement(home.rotation, point)
    axis = matvec(transpose(home.rotation), direction)
    after = at_joint.inverse() @ home
    shift = tuple(_simplified(v) for v in after.translation)
    return kind, previous.inverse() @ at_joint, axis, Placement(IDENTITY3, shift) if any(shift) else Placement()


def _line(screw: Sequence[Scalar], origin: Vector, i: int, snap: bool) -> tuple[Kind, Vector, Vector]:
    """Return kind, unit direction and a point of a screw's line: the one nearest to the link's origin."""
    omega: Vector = tuple(screw[:3])
    v: Vector = tuple(screw[3:])
    if not any(omega):
        return "prismatic", _unit(v, f"screw {i}: v", snap), origin
    u = _unit(omega, f"screw {i}: omega", snap)
    pitch = _simplified(dot(u, v))
    if is_symbolic(pitch) or abs(pitch) > _PITCH_TOLERANCE * max(1, *(0 if is_symbolic(x) else abs(x) for x in v)):
        raise TaupiError(f"screw {i} has pitch omega . v = {pitch}, expected 0: v = -omega x r, r a point of the axis.")
    foot = cross(u, v)
    along = _simplified(dot(u, tuple(a - b for a, b in zip(origin, foot, strict=True))))
    return "revolute", u, tuple(_simplified(f + along * x) for f, x in zip(foot, u, strict=True))


def _unit(values: Vector, what: str, snap: bool) -> Vector:
    u = unit_vector(values, what, snap)
    length = dot(u, values)
    if abs(length - 1) > _LENGTH_TOLERANCE:
        raise TaupiError(f"{what} has length {float(length):.6g}, expected 1.")
    return u


def _simplified(x: Scalar) -> Scalar:
    if not is_symbolic(x):
        return x
    import sympy

    return exact(sympy.expand(x))
