"""Write a robot in the project's own TOML, exactly: as decimals if they are finite, and as fractions otherwise."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from taupi.errors import TaupiError
from taupi.model.body import Body, body_from_com, body_to_com
from taupi.model.coupling import coupling_of
from taupi.model.placement import IDENTITY3, Placement, matmul, quaternion_from, rotation_about
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE, Friction, Joint, Limits, Link, Transmission
from taupi.model.scalars import Matrix, Scalar, exact, is_symbolic

_HEADER = '# Robot description for taupi: SI units and radians; formulas ("l1/2") and fractions ("1/3") are exact.\n'
# Longer decimals are easier to read as fractions.
_DIGITS = 24
_TURNS = {0: "0", 1: '"pi/2"', 2: '"pi"', 3: '"-pi/2"'}
_DEFAULT_AXIS = (Fraction(0), Fraction(0), Fraction(1))


def writes(robot: Robot) -> str:
    """Return a robot as TOML text; `reads(writes(robot))` has exactly the same joints, links, gravity, frames and capsules."""
    head = [f"name = {quoted(robot.name)}", f"gravity = {_vector(robot.gravity)}"]
    if robot.base != Placement():
        head.append(f"base = {_placement(robot.base)}")
    if robot.tip:
        head.append(f"tip = {quoted(robot.tip)}")
    if _coupled(robot):
        head.append("coupling = [" + ", ".join(_vector(tuple(row)) for row in coupling_of(robot)) + "]")
    values = [f"{name} = {number(value)}" for name, value in robot.symbols if value is not None]
    parts = [_HEADER + "[robot]\n" + "\n".join(head)]
    if values:
        parts.append("[values]\n" + "\n".join(values))
    parts += ["[[joint]]\n" + "\n".join(_joint(robot, i)) for i in range(len(robot.joints))]
    for frame in robot.frames:
        lines = [f"name = {quoted(frame.name)}", f"link = {_link_name(robot, frame.link)}"]
        if frame.placement != Placement():
            lines.append(f"origin = {_placement(frame.placement)}")
        parts.append("[[frame]]\n" + "\n".join(lines))
    for loop in robot.loops:
        ends = f"frame_a = {quoted(loop.frame_a)}\nframe_b = {quoted(loop.frame_b)}"
        parts.append(f'[[loop]]\n{ends}\nkind = "{loop.kind}"')
    for c in robot.capsules:
        ends = f"a = {list(c.a)}\nb = {list(c.b)}\nr = {c.r!r}"
        parts.append(f"[[capsule]]\nlink = {quoted(c.link)}\n{ends}")
    return "\n\n".join(parts) + "\n"


def _joint(robot: Robot, i: int) -> list[str]:
    joint: Joint = robot.joints[i]
    lines = [f"name = {quoted(joint.name)}", f'type = "{joint.kind}"']
    if joint.parent != i - 1:
        lines.append(f"parent = {_link_name(robot, joint.parent)}")
    if joint.before != Placement():
        lines.append(f"origin = {_placement(joint.before)}")
    if joint.axis != _DEFAULT_AXIS:
        lines.append(f"axis = {_vector(joint.axis)}")
    if joint.after != Placement():
        lines.append(f"after = {_placement(joint.after)}")
    master = robot.driving_joints[joint.coordinate].name
    if joint.name != master and not _coupled(robot):
        lines.append(f"mimic = {{ joint = {quoted(master)}, ratio = {number(joint.ratio)} }}")
    if joint.spring:
        lines.append(f"spring = {number(joint.spring)}")
    lines += _record("limits", joint.limits, Limits())
    lines += _record("friction", joint.friction, Friction())
    lines += _record("transmission", joint.transmission, Transmission())
    return [*lines, f"link = {_link(robot.links[i])}"]


def _coupled(robot: Robot) -> bool:
    """Return whether the motors move the joints in a way that `mimic` cannot state: several per joint, or one geared."""
    return any(j.also or (not j.mimic and j.ratio != 1) for j in robot.joints)


def _link_name(robot: Robot, index: int) -> str:
    if index != BASE:
        return quoted(robot.links[index].name)
    return '""' if "base" in robot.link_names else '"base"'


def _record(name: str, value: Any, default: Any) -> list[str]:
    entries = {f.name: v for f in fields(value) if (v := getattr(value, f.name)) != getattr(default, f.name)}
    if not entries:
        return []
    inner = ", ".join(f"{k} = {_vector(v) if isinstance(v, tuple) else number(v)}" for k, v in entries.items())
    return [f"{name} = {{ {inner} }}"]


def _link(link: Link) -> str:
    m = link.body[0]
    if not is_symbolic(m) and m < 0:
        raise TaupiError(
            "Link {link!r} has mass {m:.6g}, which a description cannot state.",
            remedy="Give it a mass of 0 or more.",
            link=link.name,
            m=float(m),
        )
    return f"{{ name = {quoted(link.name)}{_body(link.body)} }}"


def _body(body: Body) -> str:
    """Return a body as m, com and inertia about the com if these are exact and short, and as ten parameters otherwise."""
    if not any(body):
        return ""
    m, com, tensor = body_to_com(body)
    com = tuple(exact(v) for v in com)
    six = tuple(exact(tensor[i][j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    short = all(is_symbolic(v) or _decimal(v) is not None for v in (m, *com, *six))
    if short and body_from_com(m, com, six) == body:
        return f", m = {number(m)}, com = {_vector(com)}, inertia = {_vector(six)}"
    return f", parameters = {_vector(body)}"


def _placement(placement: Placement) -> str:
    parts = []
    if any(placement.translation):
        parts.append(f"xyz = {_vector(placement.translation)}")
    if placement.rotation != IDENTITY3:
        parts.append(_rotation(placement.rotation))
    return f"{{ {', '.join(parts)} }}"


def _rotation(r: Matrix) -> str:
    if any(is_symbolic(v) for row in r for v in row):
        return "rotation = [" + ", ".join(map(_vector, r)) + "]"
    if r in _quarter_turns():
        return "rpy = [" + ", ".join(_TURNS[k] for k in _quarter_turns()[r]) + "]"
    quaternion = quaternion_from(r)
    largest = max(quaternion, key=abs)
    return f"quaternion = {_vector(v / largest for v in quaternion)}"


@cache
def _quarter_turns() -> dict[Matrix, tuple[int, int, int]]:
    result: dict[Matrix, tuple[int, int, int]] = {}
    turn = {(axis, k): rotation_about(axis, f"{k}*pi/2")[0] for axis in "xyz" for k in range(4)}
    for roll, pitch, yaw in sorted(itertools.product(range(4), repeat=3), key=sum):
        result.setdefault(matmul(turn["z", yaw], matmul(turn["y", pitch], turn["x", roll])), (roll, pitch, yaw))
    return result


def _vector(values: Iterable[Scalar]) -> str:
    return "[" + ", ".join(map(number, values)) + "]"


def number(value: Scalar | float) -> str:
    """Return a scalar as TOML: an integer, a finite decimal, or a fraction or formula as text."""
    if isinstance(value, float):
        return repr(value)
    if is_symbolic(value):
        return quoted(str(value))
    text = _decimal(value)
    if text is None:
        return f'"{value}"'
    return text if "." in text or "E" in text or abs(value) < 2**63 else f'"{text}"'


def _decimal(value: Fraction) -> str | None:
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    digits = value.numerator * 10**places // value.denominator
    if rest != 1 or len(str(abs(digits))) > _DIGITS:
        return None
    return str(Decimal(digits).scaleb(-places)) if places else str(digits)


def quoted(text: str) -> str:
    """Return a text as TOML writes it."""
    # JSON's escapes are TOML's, except that TOML wants the DEL character escaped as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
