"""The robot: frozen data, a tree of links moved by joints, and nothing that computes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.model.body import NO_BODY, Body
from taupi.model.parameters import ParameterLayout, Parameters
from taupi.model.placement import IDENTITY, Placement
from taupi.model.scalars import Scalar, Vector, exact, exact_vector, is_symbolic

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

    `rotor_inertia` is the rotor's own (kg m^2); seen from the joint it is gear_ratio^2 times that.
    """

    gear_ratio: Scalar = _ONE
    rotor_inertia: Scalar = _ZERO
    stiffness: Scalar | None = None
    motor_axis: Vector = (_ZERO, _ZERO, _ONE)


@dataclass(frozen=True, slots=True)
class Joint:
    """One degree of freedom: link frame = parent link frame . before . motion(q) about/along axis . after.

    `axis` is a unit vector in the frame after `before`. A joint that mimics another (`mimic`) has that one's
    `coordinate` and moves by `ratio` times it.
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


@dataclass(frozen=True)
class Robot:
    """A robot: joints and the links they move, in an order in which parents come first. Joint i moves link i.

    Make one with `taupi.load`, `Robot.from_dh`, `Robot.from_urdf`, `Robot.from_poe`, `Robot.from_mjcf` or
    `Robot.from_toml`.
    """

    name: str
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    gravity: Vector = (_ZERO, _ZERO, Fraction(-981, 100))
    base: Placement = IDENTITY
    frames: tuple[Frame, ...] = ()
    tip: str = ""
    symbols: tuple[tuple[str, Fraction | None], ...] = ()
    notes: tuple[str, ...] = ()
    source: Source = field(default=Source("python"), compare=False)

    def __post_init__(self) -> None:
        if not self.joints:
            raise TaupiError(f"{self.name}: no moving joint. A robot needs at least one revolute or prismatic joint.")
        if len(self.links) != len(self.joints):
            raise TaupiError(f"{self.name}: {len(self.links)} links for {len(self.joints)} joints, expected one each.")
        for what, names in (("joint", [j.name for j in self.joints]), ("link", [k.name for k in self.links])):
            twice = [n for n, count in Counter(names).items() if count > 1]
            if twice:
                raise TaupiError(f"{self.name}: {what} name {twice[0]!r} is used twice. Give each {what} its own name.")
        for i, joint in enumerate(self.joints):
            if not BASE <= joint.parent < i:
                raise TaupiError(f"{self.name}: joint {joint.name!r} comes before its parent link.")
        for link in self.links:
            if not is_symbolic(link.body[0]) and link.body[0] < 0:
                raise TaupiError(f"{self.name}: link {link.name!r} has mass {float(link.body[0])}, expected 0 or more.")

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.joints, self.links, self.gravity, self.base, self.frames, self.symbols))

    def __hash__(self) -> int:
        return self._hash

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of generalised coordinates; joints that mimic another add none."""
        return max(j.coordinate for j in self.joints) + 1

    @cached_property
    def driving_joints(self) -> tuple[Joint, ...]:
        """The joint that owns each coordinate, in the coordinates' order."""
        owner: dict[int, Joint] = {}
        for joint in self.joints:
            if joint.coordinate not in owner or (owner[joint.coordinate].mimic and not joint.mimic):
                owner[joint.coordinate] = joint
        return tuple(owner[k] for k in range(self.n))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the coordinates' joints, in the order of q."""
        return tuple(j.name for j in self.driving_joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """The names of the moving links, in the order of pi."""
        return tuple(k.name for k in self.links)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every frame that can be asked for by name: links, frames fixed to them, and "tip"."""
        return tuple(dict.fromkeys((*self.link_names, *(f.name for f in self.frames), "tip")))

    @cached_property
    def parameters(self) -> Parameters:
        """The standard parameters pi: ten per link, see `ParameterLayout`."""
        flat = tuple(v for link in self.links for v in link.body)
        return Parameters(ParameterLayout.of_links(self.link_names), flat, self.symbols)

    @property
    def is_serial(self) -> bool:
        """Whether every joint hangs on the one before."""
        return all(j.parent == i - 1 for i, j in enumerate(self.joints))

    def frame(self, name: str) -> Frame:
        """Return a frame by name: a link's own, one fixed to a link, or "tip"."""
        for frame in self.frames:
            if frame.name == (self.tip if name == "tip" and self.tip else name):
                return frame
        wanted = (self.tip or self.links[-1].name) if name == "tip" else name
        if wanted in self.link_names:
            return Frame(wanted, self.link_names.index(wanted))
        raise unknown("frame", name, self.frame_names, self.name)

    def path(self, link: int) -> tuple[int, ...]:
        """Return the joints between the base and a link, base first."""
        result: list[int] = []
        while link != BASE:
            result.append(link)
            link = self.joints[link].parent
        return tuple(reversed(result))

    # Changed copies -----------------------------------------------------------------------------------------------

    def with_parameters(self, pi: Parameters | Sequence[Any] | np.ndarray) -> Robot:
        """Return the robot with other standard parameters, (10 links,) in our order."""
        values = pi.exact if isinstance(pi, Parameters) else tuple(pi)
        if len(values) != 10 * len(self.links):
            raise TaupiError(f"pi has {len(values)} values, expected {10 * len(self.links)}: ten per link.")
        flat = tuple(exact(v, f"pi[{i}]") for i, v in enumerate(values))
        links = tuple(dataclasses.replace(k, body=flat[10 * i : 10 * i + 10]) for i, k in enumerate(self.links))
        return dataclasses.replace(self, links=links, symbols=collect_symbols(self, links, dict(self.symbols)))

    def with_gravity(self, gravity: Sequence[Any]) -> Robot:
        """Return the robot under another gravity, the acceleration vector in base axes (it points down)."""
        changed = dataclasses.replace(self, gravity=exact_vector(gravity, "gravity"))
        return dataclasses.replace(changed, symbols=collect_symbols(changed, self.links, dict(self.symbols)))

    def with_friction(self, **values: Any) -> Robot:
        """Return the robot with other friction: viscous=, coulomb=, offset=, stribeck=, one number or one per joint."""
        return self._with_joint_data("friction", Friction, values)

    def with_transmissions(self, **values: Any) -> Robot:
        """Return it with other drives: gear_ratio=, rotor_inertia=, stiffness=, motor_axis=, one or per joint."""
        return self._with_joint_data("transmission", Transmission, values)

    def _with_joint_data(self, attribute: str, record: type, values: Mapping[str, Any]) -> Robot:
        fields = [f.name for f in dataclasses.fields(record)]
        for name in values:
            if name not in fields:
                raise unknown(attribute, name, fields)
        joints = []
        for i, joint in enumerate(self.joints):
            change = {
                name: exact_vector(v, name) if name == "motor_axis" else exact(v, name)
                for name, given in values.items()
                if (v := _for_joint(given, i, len(self.joints), name)) is not None
            }
            data = dataclasses.replace(getattr(joint, attribute), **change)
            joints.append(dataclasses.replace(joint, **{attribute: data}))
        changed = dataclasses.replace(self, joints=tuple(joints))
        return dataclasses.replace(changed, symbols=collect_symbols(changed, self.links, dict(self.symbols)))

    def bind(self, /, **values: Any) -> Robot:
        """Return the robot with values for its symbols: `robot.bind(l1=0.5)`. The names stay in explicit forms."""
        table = dict(self.symbols)
        for name, value in values.items():
            if name not in table:
                raise unknown("symbol", name, table, self.name)
            number = exact(value, name)
            if is_symbolic(number):
                raise TaupiError(f"{name} is {value!r}, expected a number.")
            table[name] = number
        return dataclasses.replace(self, symbols=tuple(table.items()))

    # Readers ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_dh(
        cls,
        rows: Iterable[Mapping[str, Any]],
        convention: str = "classic",
        *,
        links: Sequence[Mapping[str, Any]] | None = None,
        parameters: Sequence[Any] | None = None,
        gravity: Sequence[Any] = (0, 0, "-9.81"),
        base: Any = None,
        tool: Any = None,
        name: str = "arm",
        limits: Sequence[Limits] | None = None,
        friction: Sequence[Friction] | None = None,
        transmissions: Sequence[Transmission] | None = None,
        values: Mapping[str, Any] | None = None,
        snap: bool = True,
    ) -> Robot:
        """Return a serial arm from its Denavit-Hartenberg table (spec 1.1).

        Classic:  T(i-1, i) = Rz(theta + q) Tz(d) Tx(a) Rx(alpha), prismatic: Rz(theta) Tz(d + q) Tx(a) Rx(alpha).
        Modified: T(i-1, i) = Rx(alpha) Tx(a) Rz(theta + q) Tz(d), with the row's own alpha and a (Khalil's alpha_i, d_i).

        `rows` are mappings with a, alpha, d, theta (the offset of a revolute joint; d is that of a prismatic one), joint;
        what is left out is zero and revolute. Numbers or symbols (strings) anywhere. `links` state m, com, inertia at the
        centre of mass; `parameters` is pi itself instead. `base` and `tool` are 4 x 4 matrices or translations. `values`
        gives numbers to symbols.

        >>> import taupi as tp
        >>> arm = tp.Robot.from_dh([dict(a="a1"), dict(a="a2")], gravity=(0, "-g", 0))
        >>> arm.n, [s for s, _ in arm.symbols]
        (2, ['a1', 'a2', 'g'])
        """
        from taupi.model.formats.dh import from_dh

        return from_dh(
            rows,
            convention,
            links=links,
            parameters=parameters,
            gravity=gravity,
            base=base,
            tool=tool,
            name=name,
            limits=limits,
            friction=friction,
            transmissions=transmissions,
            values=values,
            snap=snap,
        )

    @classmethod
    def from_poe(
        cls,
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
        """Return a serial arm with T_i(q) = exp([S_1] q_1) ... exp([S_i] q_i) M_i (Lynch & Park 2017, eq. 4.14).

        `screws` are S_i = (omega, v) in the base frame at q = 0: a revolute joint has a unit omega and v = -omega x r, with
        r a point of its axis; a prismatic one omega = 0 and a unit v. `home` gives M_i of each link frame, a 4 x 4 matrix
        or a translation. Everything else as in `from_dh`; `tool` is given in the last link's frame.

        >>> import taupi as tp
        >>> arm = tp.Robot.from_poe([(0, 0, 1, 0, 0, 0), (0, 0, 1, 0, "-l1", 0)], [("l1", 0, 0), ("l1 + l2", 0, 0)])
        >>> arm.n, [s for s, _ in arm.symbols]
        (2, ['l1', 'l2'])
        """
        from taupi.model.formats.poe import from_poe

        return from_poe(
            screws,
            home,
            links=links,
            parameters=parameters,
            gravity=gravity,
            base=base,
            tool=tool,
            name=name,
            joint_names=joint_names,
            limits=limits,
            friction=friction,
            transmissions=transmissions,
            values=values,
            snap=snap,
        )

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        lock: Sequence[str] | Mapping[str, float] = (),
        tip: str | None = None,
        gravity: Sequence[Any] = (0, 0, "-9.81"),
        snap: bool = True,
    ) -> Robot:
        """Return a robot from a URDF file; see `taupi.model.formats.urdf.read`."""
        from taupi.model.formats.urdf import read

        return read(path, lock=lock, tip=tip, gravity=gravity, snap=snap)

    @classmethod
    def from_mjcf(cls, path: str | Path, **options: Any) -> Robot:
        """Return a robot from a MuJoCo XML file; see `taupi.model.formats.mjcf.read`."""
        from taupi.model.formats.mjcf import read

        return read(path, **options)

    @classmethod
    def from_toml(cls, path: str | Path) -> Robot:
        """Return a robot from the project's own TOML; see `taupi.model.formats.toml.read`."""
        from taupi.model.formats.toml import read

        return read(path)

    def __repr__(self) -> str:
        kinds = "".join("P" if j.prismatic else "R" for j in self.driving_joints)
        following = len(self.joints) - self.n
        more = f" and {following} that follow" if following else ""
        return f"Robot({self.name!r}, n={self.n} {kinds}{more}, {len(self.parameters)} parameters)"

    @property
    def fingerprint(self) -> str:
        """A short hash of all that the robot is, for provenance."""
        told = repr((self.joints, self.links, self.gravity, self.base, self.frames, self.symbols))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def _for_joint(given: Any, i: int, n: int, name: str) -> Any:
    if given is None or isinstance(given, str) or not hasattr(given, "__len__"):
        return given
    if name == "motor_axis" and len(given) == 3 and not hasattr(given[0], "__len__"):
        return given
    if len(given) != n:
        raise TaupiError(f"{name} has {len(given)} values, expected one or {n}: one per joint.")
    return given[i]


def collect_symbols(
    robot: Robot, links: Sequence[Link], known: Mapping[str, Fraction | None]
) -> tuple[tuple[str, Fraction | None], ...]:
    """Return the symbols that a robot's description uses, with the values known for them, in order of appearance."""
    return symbols_of(robot.joints, links, robot.gravity, robot.frames, robot.base, known)


def symbols_of(
    joints: Sequence[Joint],
    links: Sequence[Link],
    gravity: Vector,
    frames: Sequence[Frame],
    base: Placement,
    known: Mapping[str, Fraction | None] | None = None,
) -> tuple[tuple[str, Fraction | None], ...]:
    """Return the free symbols of a description in order of appearance, each with its value or None."""
    known = known or {}
    found: dict[str, Fraction | None] = {}

    def visit(x: Any) -> None:
        if isinstance(x, tuple):
            for y in x:
                visit(y)
        elif isinstance(x, Placement):
            visit(x.rotation)
            visit(x.translation)
        elif x is not None and not isinstance(x, Fraction | str) and is_symbolic(x):
            for symbol in sorted(x.free_symbols, key=lambda s: s.name):
                found.setdefault(symbol.name, known.get(symbol.name))

    visit(base)
    for joint in joints:
        visit((joint.before, joint.after, joint.ratio))
    visit(gravity)
    visit(tuple(k.body for k in links))
    visit(tuple(f.placement for f in frames))
    for joint in joints:
        f, t = joint.friction, joint.transmission
        visit((f.viscous, f.coulomb, f.offset, f.stribeck, t.gear_ratio, t.rotor_inertia, t.stiffness))
    return tuple(found.items())
