"""What a robot is made of: joints, links, frames, limits, friction, drives, and where it was read from."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeVar

from taupi.errors import Argument, Part, TaupiError, unknown
from taupi.model.body import NO_BODY, Body
from taupi.model.placement import IDENTITY, Placement
from taupi.model.scalars import Scalar, Vector, exact, is_symbolic, unit_vector

Kind = Literal["revolute", "continuous", "prismatic", "free", "ball"]
# Joints of one degree of freedom, and of several: "free" moves in all directions, "ball" turns about a point.
KINDS: tuple[str, ...] = ("revolute", "continuous", "prismatic")
FREE: Final = "free"
BALL: Final = "ball"
MULTIPLE = (FREE, BALL)
_VELOCITIES = {FREE: ("wx", "wy", "wz", "vx", "vy", "vz"), BALL: ("wx", "wy", "wz")}
_POSITIONS = {FREE: ("px", "py", "pz", "hx", "hy", "hz", "hw"), BALL: ("hx", "hy", "hz", "hw")}
BASE = -1
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a joint; None for what the description does not state.

    `lower` and `upper` are positions (rad or m), `velocity` the largest speed (rad/s or m/s), `effort` the largest torque or
    force (N m or N), `acceleration` the largest acceleration (rad/s^2 or m/s^2), which a URDF cannot state. Positions of a joint
    that follows another one are counted without its offset, which is part of `before`.
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    acceleration: float | None = None

    def without_offset(self, offset: Scalar) -> Limits:
        """Return the limits of position - `offset`; a range about an offset that is a symbol is not known.

        >>> Limits(0.0, 0.5, velocity=2.0).without_offset(Fraction(1, 4))
        Limits(lower=-0.25, upper=0.25, velocity=2.0, effort=None, acceleration=None)
        """
        if offset == 0:
            return self
        if is_symbolic(offset):
            return dataclasses.replace(self, lower=None, upper=None)
        by = float(offset)
        ends = {"lower": self.lower, "upper": self.upper}
        return dataclasses.replace(self, **{name: None if v is None else v - by for name, v in ends.items()})


@dataclass(frozen=True, slots=True)
class Friction:
    """Friction of a joint: `viscous` qd + `offset` + (`coulomb` + `stribeck` shape(qd) + `curve` bend(qd) + `load` |l|) sgn(qd).

    `viscous` is in N m s/rad (N s/m for a prismatic joint); `load`, a share of the torque l that the gear transmits, has no unit;
    the others are in N m (N). All are 0 by default.
    """

    viscous: Scalar = _ZERO
    coulomb: Scalar = _ZERO
    offset: Scalar = _ZERO
    stribeck: Scalar = _ZERO
    load: Scalar = _ZERO
    curve: Scalar = _ZERO

    def with_spring_at(self, spring: Scalar, offset: Scalar) -> Friction:
        """Return the friction and the constant torque of a `spring` (N m/rad, N/m) at positions counted without `offset`.

        >>> Friction().with_spring_at(Fraction(3), Fraction(1, 2)).offset
        Fraction(3, 2)
        """
        return self if spring == 0 or offset == 0 else dataclasses.replace(self, offset=self.offset + spring * offset)


@dataclass(frozen=True, slots=True)
class Transmission:
    """Drive of a joint: a motor, a gear and, in an elastic joint, a spring between the motor and the link.

    `gear_ratio` is d(motor angle)/d(joint angle), 1 by default. `rotor_inertia` is the rotor's own, about its axis (kg m^2, 0
    by default); seen from the joint it is gear_ratio^2 times that. A joint with a `stiffness` (N m/rad, N/m) is elastic: a
    spring of that stiffness and with `damping` (N m s/rad, N s/m) connects its motor to its link; None means rigid. The
    friction of an elastic joint acts on the motor's side of the spring; `link_viscous` and `link_coulomb` act on the link's
    side. `motor_axis` is in the parent link's frame; None means the joint's own axis.
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
        """Whether there is a spring between motor and link."""
        return self.stiffness is not None


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint: link frame = parent link frame . before . motion(q) about/along axis . after.

    `name` and `kind` ("revolute", "continuous" or "prismatic") describe the joint; `parent` is the number of the link that it
    is mounted on (-1 for the base) and `coordinate` the entry of qd that moves it, times `ratio`. `before` and `after` are
    placements, and `axis` is a unit vector in the frame that follows `before`. `mimic` marks a joint that follows another
    one's coordinate; `also` lists further coordinates that move it, each with its ratio, as in coupled drives (see
    `Robot.with_coupling`). `limits`, `friction` and `transmission` are its own; `spring` (N m/rad, N/m) is the stiffness of a
    spring that pulls its link to q = 0, as in the term "spring".

    A "free" joint has six velocities, angular before linear, in the axes of the frame that it moves, and seven positions: where
    that frame is, and its quaternion (x, y, z, w). A "ball" joint has the three angular velocities and the quaternion. Both
    have no axis, motor, friction or limits, and start at the entry `coordinate` of qd.
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
    spring: Scalar = field(default=_ZERO, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in MULTIPLE:
            return
        plain = Joint(self.name, "revolute", self.parent, self.coordinate)
        for name in ("ratio", "limits", "friction", "transmission", "mimic", "also", "spring"):
            if getattr(self, name) != getattr(plain, name):
                raise TaupiError(
                    "Joint {name!r} is {kind}, and has {other_name}: that is for joints with one degree of freedom.",
                    name=self.name,
                    kind=self.kind,
                    other_name=name,
                )
        if self.kind == FREE and self.parent != BASE:
            raise TaupiError(
                "Joint {name!r} is free, and moves on another link: only a root link can move freely.", name=self.name
            )

    @property
    def prismatic(self) -> bool:
        """Whether the joint slides rather than turns."""
        return self.kind == "prismatic"

    @property
    def dof(self) -> int:
        """How many velocities the joint has: 6 if free, 3 if a ball joint, else 1."""
        return len(self.velocity_names)

    @property
    def size(self) -> int:
        """How many positions the joint has: 7 if free, 4 if a ball joint, else 1."""
        return len(self.position_names)

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """The names of its velocities: its own, or `base.wx` to `base.vz` of a free joint called base."""
        return tuple(f"{self.name}.{k}" for k in _VELOCITIES[self.kind]) if self.kind in MULTIPLE else (self.name,)

    @property
    def position_names(self) -> tuple[str, ...]:
        """The names of its positions: its own, or `base.px` to `base.hw` of a free joint called base."""
        return tuple(f"{self.name}.{k}" for k in _POSITIONS[self.kind]) if self.kind in MULTIPLE else (self.name,)


@dataclass(frozen=True, slots=True)
class Link:
    """A moving link: its `name`, and its `body`, ten parameters about the link frame's origin and in its axes."""

    name: str
    body: Body = NO_BODY


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame called `name`, fixed to link number `link` (-1 for the base) at `placement`."""

    name: str
    link: int
    placement: Placement = IDENTITY


POINT, WELD = "point", "weld"


@dataclass(frozen=True, slots=True)
class Loop:
    """A closed loop, cut: two frames of the tree that are kept together by an unknown force.

    Attributes:
        frame_a: The name of one frame.
        frame_b: The name of the other.
        kind: "point", by default, if their origins stay together; "weld" if their axes do as well.
    """

    frame_a: str
    frame_b: str
    kind: str = POINT

    def __post_init__(self) -> None:
        if self.kind not in (POINT, WELD):
            raise unknown(Argument("kind"), self.kind, (POINT, WELD))

    @property
    def rows(self) -> int:
        """How many equations keep it closed: 3, or 6 for a weld."""
        return 3 if self.kind == POINT else 6


@dataclass(frozen=True, slots=True)
class Source:
    """Where a robot was read from: `format`, `path` and `text` of its file, so that it can be written back.

    `merged` lists, for each moving link, the file's links whose inertia was merged into it. `lock`, `tip`, `snap` and `floating`
    are the options that the file was read with, so that it can be read again in the same way. `root` is the link that is bolted
    to the ground, with what is fixed to it: its body affects no torque, unless the base floats.
    """

    format: str
    path: str = ""
    text: str = field(default="", repr=False)
    merged: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lock: tuple[tuple[str, Fraction], ...] = ()
    tip: str | None = None
    snap: bool = True
    root: Link | None = field(default=None, repr=False)
    floating: bool | None = None


Record = TypeVar("Record", Friction, Transmission)


def stated(record: Record, values: Mapping[str, object], place: str = "") -> Record:
    """Return a Friction or Transmission with other values as people state them, checked and made exact."""
    known = [f.name for f in dataclasses.fields(record)]
    for name in values:
        if name not in known:
            raise unknown(type(record).__name__.lower(), name, known, place)
    return dataclasses.replace(
        record,
        **{name: _stated(name, v, f"{place}.{name}" if place else Argument(name)) for name, v in values.items()},
    )


def _stated(name: str, value: Any, what: Part) -> Any:
    if name == "motor_axis":
        return None if value is None else unit_vector(value, what, snap=False)
    if name == "stiffness" and (value is None or _is_infinite(value)):
        return None
    number = exact(value, what)
    if name == "gear_ratio" and number == 0:
        raise TaupiError("{what} is 0, expected d(motor angle)/d(joint angle), which is not 0.", what=what)
    if name in ("stiffness", "damping") and not is_symbolic(number) and number < 0:
        raise TaupiError("{what} is {got:g}, expected 0 or more.", what=what, got=float(number))
    return number


def _is_infinite(value: object) -> bool:
    """Return whether a stiffness is infinite, as in a rigid joint."""
    if isinstance(value, str):
        return value.strip().lower().lstrip("+") in ("inf", "infinity")
    return isinstance(value, numbers.Real) and value == math.inf


def refuse_twice(what: str, names: Sequence[object], robot: str) -> None:
    """Refuse a name that is used twice in a robot."""
    for name, count in Counter(map(checked_name, names)).items():
        if count > 1:
            raise TaupiError(
                "{robot}: {what} name {name!r} is used twice. Give each {what} its own name.",
                robot=robot,
                what=what,
                name=name,
            )


def checked_name(name: object) -> str:
    """Return a name, or refuse what is not text."""
    if not isinstance(name, str):
        raise TaupiError("{name} is {got!r}, expected a text.", got=name)
    return name
