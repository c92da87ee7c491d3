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
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.model.joint_data import with_drives, with_joint_data
from taupi.model.parameters import LINK_SIZE, ParameterLayout, Parameters
from taupi.model.placement import IDENTITY, Placement
from taupi.model.robot_parts import (
    BASE,
    KINDS,
    Frame,
    Friction,
    Joint,
    Kind,
    Limits,
    Link,
    Source,
    Transmission,
)
from taupi.model.scalars import Vector, exact, exact_vector, is_symbolic, items_of
from taupi.model.symbols import collect_symbols

# The records are at home next door; whoever handles a robot finds them here too.
__all__ = [
    "BASE",
    "KINDS",
    "Frame",
    "Friction",
    "Joint",
    "Kind",
    "Limits",
    "Link",
    "Robot",
    "Source",
    "Transmission",
]

_ZERO = Fraction(0)


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
        _text(self.name)
        if not self.joints:
            raise TaupiError(f"{self.name}: no moving joint. A robot needs at least one revolute or prismatic joint.")
        if len(self.links) != len(self.joints):
            raise TaupiError(f"{self.name}: {len(self.links)} links for {len(self.joints)} joints, expected one each.")
        links = [k.name for k in self.links]
        _own_names("joint", [j.name for j in self.joints], self.name)
        _own_names("link", links, self.name)
        _own_names("frame", [*links, *(f.name for f in self.frames)], self.name)
        for i, joint in enumerate(self.joints):
            if not BASE <= joint.parent < i:
                raise TaupiError(f"{self.name}: joint {joint.name!r} comes before its parent link.")

    @property
    def _description(self) -> tuple[Any, ...]:
        return (self.name, self.joints, self.links, self.gravity, self.base, self.frames, self.tip, self.symbols)

    @cached_property
    def _hash(self) -> int:
        return hash(self._description)

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
        """Return a frame by name: a link's own, one fixed to a link, or "tip".

        "tip" is the frame that `robot.tip` names: the tool of a table, the `tip=` of a file, or the end that the file's
        one chain has. Where none is named, as in a tree without `tip=`, it is the last link's frame.
        """
        wanted = self.tip if name == "tip" and self.tip else name
        for frame in self.frames:
            if frame.name == wanted:
                return frame
        for i, link in enumerate(self.links):
            if link.name == wanted:
                return Frame(wanted, i)
        if name == "tip" and not self.tip:
            return Frame(self.links[-1].name, len(self.links) - 1)
        raise unknown("frame", wanted, self.frame_names, self.name)

    def path(self, link: int) -> tuple[int, ...]:
        """Return the joints between the base and a link, base first."""
        result: list[int] = []
        while link != BASE:
            result.append(link)
            link = self.joints[link].parent
        return tuple(reversed(result))

    # Changed copies -----------------------------------------------------------------------------------------------

    def with_parameters(self, pi: Parameters | Sequence[Any] | np.ndarray) -> Robot:
        """Return the robot with other standard parameters, (10 links,) in our order; any numbers, as estimates are."""
        values, expected = items_of(pi), LINK_SIZE * len(self.links)
        if values is None or len(values) != expected:
            got = f"is {shown(pi)}" if values is None else f"has {len(values)} values"
            raise TaupiError(f"pi {got}, expected {expected} values: ten per link.")
        layout = self.parameters.layout
        new = Parameters(layout, tuple(exact(v, name) for v, name in zip(values, layout.names, strict=True)))
        links = tuple(dataclasses.replace(k, body=new.link(i)) for i, k in enumerate(self.links))
        return self._changed(known=dict(pi.symbols) if isinstance(pi, Parameters) else {}, links=links)

    def with_gravity(self, gravity: Sequence[Any]) -> Robot:
        """Return the robot under another gravity, the acceleration vector in world axes (it points down)."""
        return self._changed(gravity=exact_vector(gravity, "gravity"))

    def with_friction(self, **values: Any) -> Robot:
        """Return the robot with other friction: viscous=, coulomb=, offset=, stribeck=, one number or one per joint."""
        return self._changed(joints=with_joint_data(self.joints, "friction", values, None, self.name))

    def with_transmissions(self, *, joints: Sequence[str] | str | None = None, **values: Any) -> Robot:
        """Return the robot with other drives, one value for all joints or one per joint; `joints` names those that change.

        `stiffness` (N m/rad, N/m) of the spring between motor and link, None or infinity for a rigid joint; its `damping`.
        `rotor_inertia` (kg m^2) about the motor's own axis; `gear_ratio` d(motor angle)/d(joint angle); `motor_axis` in the
        parent link's frame, the joint's own axis where none is given. `viscous`, `coulomb`, `offset` and `stribeck` are the
        joint's friction, which acts on the motor's side of the spring; `link_viscous` and `link_coulomb` act on the link's
        side, and only elastic programs have them. The body of a link holds the complete motors that it carries, their rotors'
        axial inertia too.

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r").with_transmissions(stiffness=[900, None], rotor_inertia=1e-4, gear_ratio=80)
        >>> arm.elastic_joints
        ('shoulder',)
        """
        return self._changed(joints=with_drives(self.joints, values, joints, self.name))

    @property
    def elastic_joints(self) -> tuple[str, ...]:
        """The names of the coordinates' joints that have a spring between motor and link, in the order of q."""
        return tuple(j.name for j in self.driving_joints if j.transmission.elastic)

    def with_coupling(self, matrix: Sequence[Sequence[Any]] | np.ndarray) -> Robot:
        """Return the robot in the coordinates of its motors: joint angles = matrix (joints, motors) motor angles, geared.

        Each motor is named after a joint that it moves by itself, or else first. Torques are then the motors' own,
        matrix^T times those of the joints. Numbers are taken exactly as they are written.

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r").with_coupling([[1, 0], [-1, 1]])  # the elbow's belt runs over the shoulder
        >>> tp.forward_kinematics(arm, "forearm")([0.3, 0.5]).round(4)[:2, :2].tolist()  # turned by 0.5 in all
        [[0.8776, -0.4794], [0.4794, 0.8776]]
        """
        from taupi.model.coupling import coupled_joints

        return self._changed(joints=coupled_joints(self, matrix))

    def _changed(self, known: Mapping[str, Fraction | None] | None = None, **fields: Any) -> Robot:
        """Return a copy with other fields and the symbols that it then has; values `known` are for new symbols."""
        changed = dataclasses.replace(self, **fields)
        values = dict(known or {}) | {name: value for name, value in self.symbols if value is not None}
        return dataclasses.replace(changed, symbols=collect_symbols(changed, values))

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
        parameters: Parameters | Sequence[Any] | np.ndarray | None = None,
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
        from taupi.model.formats.serial_arm import Arm

        arm = Arm(name, links, parameters, gravity, base, tool, limits, friction, transmissions, values, snap)
        return from_dh(rows, convention, arm)

    @classmethod
    def from_poe(
        cls,
        screws: Iterable[Sequence[Any]],
        home: Iterable[Any],
        *,
        links: Sequence[Mapping[str, Any]] | None = None,
        parameters: Parameters | Sequence[Any] | np.ndarray | None = None,
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
        from taupi.model.formats.serial_arm import Arm

        arm = Arm(name, links, parameters, gravity, base, tool, limits, friction, transmissions, values, snap)
        return from_poe(screws, home, joint_names, arm)

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
    def from_mjcf(
        cls,
        path: str | Path,
        gravity: Sequence[Any] | None = None,
        lock: Sequence[str] | Mapping[str, float] = (),
        tip: str | None = None,
        snap: bool = True,
    ) -> Robot:
        """Return a robot from a MuJoCo XML file; see `taupi.model.formats.mjcf.read`."""
        from taupi.model.formats.mjcf import read

        return read(path, gravity, lock, tip, snap)

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

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of all that the robot is, for provenance."""
        return hashlib.sha256(repr(self._description).encode()).hexdigest()[:16]


def _own_names(what: str, names: Sequence[Any], robot: str) -> None:
    for name, count in Counter(map(_text, names)).items():
        if count > 1:
            raise TaupiError(f"{robot}: {what} name {shown(name)} is used twice. Give each {what} its own name.")


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TaupiError(f"name is {shown(name)}, expected a text.")
    return name
