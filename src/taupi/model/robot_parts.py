"""What a robot is made of: joints, links, frames, limits, friction, drives, and where they were read from."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeVar

from taupi.errors import TaupiError, unknown
from taupi.model.body import NO_BODY, Body
from taupi.model.placement import IDENTITY, Placement
from taupi.model.scalars import Scalar, Vector, exact, is_symbolic, unit_vector

Kind = Literal["revolute", "continuous", "prismatic"]
KINDS: tuple[str, ...] = ("revolute", "continuous", "prismatic")
BASE = -1
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Range of a joint: position (rad or m), speed and effort; None where the description states none."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class Friction:
    """Friction of a joint: torque = viscous qd + coulomb sgn(qd) + offset + stribeck shape(qd)."""

    viscous: Scalar = _ZERO
    coulomb: Scalar = _ZERO
    offset: Scalar = _ZERO
    stribeck: Scalar = _ZERO


@dataclass(frozen=True, slots=True)
class Transmission:
    """Drive of a joint: gear ratio d(motor angle)/d(joint angle), rotor inertia about its axis, stiffness, motor axis.

    `rotor_inertia` is the rotor's own (kg m^2); seen from the joint it is gear_ratio^2 times that. A joint with a `stiffness`
    (N m/rad, N/m) is elastic: a spring, with `damping` (N m s/rad, N s/m), is between its motor and its link. None is a rigid
    joint. The joint's friction is then on the motor's side; `link_viscous` and `link_coulomb` are on the link's side.
    `motor_axis` is in the parent link's frame, None for the joint's own axis.
    """

    gear_ratio: Scalar = _ONE
    rotor_inertia: Scalar = _ZERO
    stiffness: Scalar | None = None
    motor_axis: Vector | None = None
    damping: Scalar = _ZERO
    link_viscous: Scalar = _ZERO
    link_coulomb: Scalar = _ZERO

    @property
    def elastic(self) -> bool:
        """Whether a spring is between motor and link."""
        return self.stiffness is not None


@dataclass(frozen=True, slots=True)
class Joint:
    """One degree of freedom: link frame = parent link frame . before . motion(q) about/along axis . after.

    `axis` is a unit vector in the frame after `before`. A joint that mimics another (`mimic`) has that one's
    `coordinate` and moves by `ratio` times it. `also` names further coordinates that move it, each with its ratio, as in
    coupled drives: see `Robot.with_coupling`.
    """

    name: str
    kind: Kind
    parent: int
    coordinate: int
    before: Placement = IDENTITY
    axis: Vector = (_ZERO, _ZERO, _ONE)
    after: Placement = IDENTITY
    ratio: Scalar = _ONE
    limits: Limits = Limits()
    friction: Friction = Friction()
    transmission: Transmission = Transmission()
    mimic: bool = False
    also: tuple[tuple[int, Scalar], ...] = ()

    @property
    def prismatic(self) -> bool:
        """Whether it slides; otherwise it turns."""
        return self.kind == "prismatic"


@dataclass(frozen=True, slots=True)
class Link:
    """A moving body: its ten parameters about its own frame's origin, in its own frame."""

    name: str
    body: Body = NO_BODY


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed to a link (or to the base, link -1)."""

    name: str
    link: int
    placement: Placement = IDENTITY


@dataclass(frozen=True, slots=True)
class Source:
    """Where a robot was read from: the format, the path, and the text, so that it can be written back."""

    format: str
    path: str = ""
    text: str = field(default="", repr=False)
    # The file's own inertials that were merged into a moving link: link name -> names of the file's links.
    merged: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # The choices it was read with, so that it can be read again.
    lock: tuple[tuple[str, Fraction], ...] = ()
    tip: str | None = None
    snap: bool = True


Record = TypeVar("Record", Friction, Transmission)


def stated(record: Record, values: Mapping[str, Any], place: str = "") -> Record:
    """Return a Friction or Transmission with other values as people state them: exact now, and checked."""
    known = [f.name for f in dataclasses.fields(record)]
    for name in values:
        if name not in known:
            raise unknown(type(record).__name__.lower(), name, known, place)
    before = f"{place}." if place else ""
    return dataclasses.replace(record, **{name: _stated(name, v, before + name) for name, v in values.items()})


def _stated(name: str, value: Any, what: str) -> Any:
    if name == "motor_axis":
        return None if value is None else unit_vector(value, what, snap=False)
    if name == "stiffness" and (value is None or _is_infinite(value)):
        return None
    number = exact(value, what)
    if name == "gear_ratio" and number == 0:
        raise TaupiError(f"{what} is 0, expected d(motor angle)/d(joint angle), which is not 0.")
    if name in ("stiffness", "damping") and not is_symbolic(number) and number < 0:
        raise TaupiError(f"{what} is {float(number):g}, expected 0 or more.")
    return number


def _is_infinite(value: Any) -> bool:
    """Tell whether a stiffness is that of a rigid joint."""
    if isinstance(value, str):
        return value.strip().lower().lstrip("+") in ("inf", "infinity")
    return isinstance(value, numbers.Real) and value == math.inf
