"""The robot: frozen data, a tree of links moved by joints. It computes no dynamics."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.model.body import InertiaLike
from taupi.model.coordinates import Coordinates
from taupi.model.joint_data import PerJoint, with_drives, with_joint_data
from taupi.model.parameters import LINK_SIZE, ParameterLayout, Parameters
from taupi.model.placement import IDENTITY, Placement, PlacementLike
from taupi.model.robot_parts import (
    BASE,
    FREE,
    KINDS,
    MULTIPLE,
    Frame,
    Friction,
    Joint,
    Kind,
    Limits,
    Link,
    Loop,
    Source,
    Transmission,
    checked_name,
    refuse_twice,
)
from taupi.model.scalars import ScalarLike, Vector, VectorLike, exact, exact_vector, is_symbolic, items_of
from taupi.model.symbols import symbols_of

if TYPE_CHECKING:
    from roboticstoolbox import ERobot

    from taupi.model.capsule import Capsule

# The parts live in robot_parts.py; they can be imported from here as well.
__all__ = [
    "BASE",
    "KINDS",
    "Frame",
    "Friction",
    "Joint",
    "Kind",
    "Limits",
    "Link",
    "Loop",
    "Robot",
    "Source",
    "Transmission",
]

_ZERO = Fraction(0)
_NO_INERTIA = ((0, 0, 0), (0, 0, 0), (0, 0, 0))


@dataclass(frozen=True)
class Robot(Coordinates):
    """A robot: `joints` and the `links` that they move, parents first. Joint i moves link i.

    Make one with `taupi.load`, `Robot.from_dh`, `Robot.from_urdf`, `Robot.from_poe`, `Robot.from_mjcf` or
    `Robot.from_toml`.

    Attributes:
        name: The robot's name.
        joints: The joints (n,), parents first.
        links: The link that each joint moves.
        gravity: The acceleration vector, m/s^2, in world axes; (0, 0, -9.81) by default.
        base: The placement of the base in the world.
        frames: Further frames fixed to links.
        tip: The name of the frame that "tip" stands for; empty for the last link's.
        symbols: The names of the robot's symbols, each with its value or None.
        notes: What its reader changed or found suspect.
        source: Where it was read from.
        capsules: Capsules that enclose its links, if a description states them, to check that it keeps clear of itself.
        loops: Cut loops, which keep two frames together.
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
    capsules: tuple[Capsule, ...] = ()
    loops: tuple[Loop, ...] = ()

    def __post_init__(self) -> None:
        checked_name(self.name)
        if not self.joints:
            raise TaupiError(
                "{name}: no moving joint. A robot needs at least one revolute or prismatic joint.", name=self.name
            )
        if any(j.kind == FREE for j in self.joints[1:]):
            raise TaupiError("{name}: only the first joint can be free, since a robot has one base.", name=self.name)
        if len(self.links) != len(self.joints):
            raise TaupiError(
                "{name}: {count} links for {joints_count} joints, expected one each.",
                name=self.name,
                count=len(self.links),
                joints_count=len(self.joints),
            )
        links = [k.name for k in self.links]
        refuse_twice("joint", [j.name for j in self.joints], self.name)
        refuse_twice("link", links, self.name)
        refuse_twice("frame", [*links, *(f.name for f in self.frames)], self.name)
        for i, joint in enumerate(self.joints):
            if not BASE <= joint.parent < i:
                raise TaupiError(
                    "{name}: joint {joint!r} comes before its parent link.", name=self.name, joint=joint.name
                )
        for joint in self.joints:
            if joint.transmission.elastic and joint in self.following_joints:
                raise TaupiError(
                    "{name}: joint {joint!r} follows another one and has a stiffness: only a joint with a "
                    "motor of its own can be elastic.",
                    remedy="Name the elastic joints: robot.with_transmissions(joints=[...], stiffness=...).",
                    name=self.name,
                    joint=joint.name,
                )
        for capsule in self.capsules:
            self.enclosed_frame(capsule)
        for loop in self.loops:
            self.frame(loop.frame_a), self.frame(loop.frame_b)

    @property
    def _description(self) -> tuple[object, ...]:
        shapes = (self.capsules,) if self.capsules else ()
        springs = tuple(j.spring for j in self.joints)
        more = tuple(x for x in (self.loops, springs if any(springs) else ()) if x)
        return (
            self.name,
            self.joints,
            self.links,
            self.gravity,
            self.base,
            self.frames,
            self.tip,
            self.symbols,
            *shapes,
            *more,
        )

    @cached_property
    def _hash(self) -> int:
        return hash(self._description)

    def __hash__(self) -> int:
        return self._hash

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def link_names(self) -> tuple[str, ...]:
        """The names of the moving links, in the order of pi."""
        return tuple(k.name for k in self.links)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names of all frames: the links, the frames fixed to them, and "tip"."""
        return tuple(dict.fromkeys((*self.link_names, *(f.name for f in self.frames), "tip")))

    @cached_property
    def parameters(self) -> Parameters:
        """The standard parameters pi: ten per link, see `ParameterLayout`."""
        flat = tuple(v for link in self.links for v in link.body)
        return Parameters(ParameterLayout.of_links(self.link_names), flat, self.symbols)

    def frame(self, name: str) -> Frame:
        """Return the frame called `name`: a link's own frame, one fixed to a link, or "tip".

        "tip" is the frame named by `robot.tip`: the tool of a DH table, the `tip=` with which a file was read, or the end of
        a file's only chain. If none is named, as in a tree without `tip=`, it is the last link's frame.
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

    def enclosed_frame(self, capsule: Capsule) -> Frame:
        """Return the frame that a `capsule` is stated in: that of its link, or "base"."""
        known = (*self.link_names, *(f.name for f in self.frames))
        if capsule.link == "base" and "base" not in known:
            return Frame("base", BASE)
        if capsule.link not in known:
            raise unknown("link", capsule.link, ("base", *known), f"{self.name}, of a capsule")
        return self.frame(capsule.link)

    def to_rtb(self) -> ERobot:
        """Return the robot as a `Robot` of the Robotics Toolbox for Python; see `taupi.bridges.to_rtb`."""
        from taupi.bridges.rtb import to_rtb

        return to_rtb(self)

    # Changed copies -----------------------------------------------------------------------------------------------

    def with_parameters(self, pi: Parameters | VectorLike) -> Robot:
        """Return the robot with other standard parameters.

        Args:
            pi: Ten values per link, SI units, in the order of `robot.parameters`; any numbers, as estimates are.
        """
        values, expected = items_of(pi), LINK_SIZE * len(self.links)
        if values is None or len(values) != expected:
            got = f"is {shown(pi)}" if values is None else f"has {len(values)} values"
            raise TaupiError("{pi} {got}, expected {expected} values: ten per link.", got=got, expected=expected)
        layout = self.parameters.layout
        new = Parameters(layout, tuple(exact(v, name) for v, name in zip(values, layout.names, strict=True)))
        links = tuple(dataclasses.replace(k, body=new.link(i)) for i, k in enumerate(self.links))
        return self._changed(known=dict(pi.symbols) if isinstance(pi, Parameters) else {}, links=links)

    def with_gravity(self, gravity: VectorLike) -> Robot:
        """Return the robot with another `gravity`, the acceleration vector (m/s^2) in world axes, which points down."""
        return self._changed(gravity=exact_vector(gravity, Argument("gravity")))

    def with_payload(
        self, mass: ScalarLike, com: VectorLike = (0, 0, 0), inertia: InertiaLike = _NO_INERTIA, frame: str = "tip"
    ) -> Robot:
        """Return the robot with a payload fixed to one of its frames, whose link gets heavier.

        Args:
            mass: The payload's mass, kg.
            com: Its centre of mass (3,), m, in the frame; the frame's origin by default.
            inertia: Its inertia about the centre of mass in the frame's axes, kg m^2, (3, 3) or six entries; by default that of
                a point mass.
            frame: The name of the frame; "tip" by default.
        """
        from taupi.model.payload import links_with_payload

        return self._changed(links=links_with_payload(self, mass, com, inertia, frame))

    def with_friction(self, **values: PerJoint) -> Robot:
        """Return the robot with other friction.

        Args:
            **values: Fields of `Friction`, one number for all joints or one per joint: `viscous` (N m s/rad, N s/m), `coulomb`,
                `offset`, `stribeck`, `curve` (N m, N) and `load` (no unit; one for all joints leaves it out at those that follow
                others). Those left out, or None, stay as they are.

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r").with_friction(viscous=[0.2, 0.1], coulomb=0.5)
        >>> [float(joint.friction.viscous) for joint in arm.joints]
        [0.2, 0.1]
        """
        values = self._not_on_followers(values)
        return self._changed(joints=with_joint_data(self.joints, "friction", values, None, self.name))

    def with_transmissions(self, *, joints: Sequence[str] | str | None = None, **values: PerJoint) -> Robot:
        """Return the robot with other drives.

        A link's body includes all of the motors that it carries, the axial inertia of their rotors too.

        Args:
            joints: Names of the joints that change; all by default.
            **values: One for all joints, or one per joint; those left out stay as they are. `stiffness` (N m/rad, N/m) is that
                of the spring between motor and link, None or infinity for a rigid joint; one for all joints leaves those that
                follow others rigid. `damping` (N m s/rad, N s/m) acts in parallel. `rotor_inertia` (kg m^2) is about the motor's
                own axis, `gear_ratio` is d(motor angle)/d(joint angle), and `motor_axis` is in the parent link's frame, by
                default the joint's own axis. `viscous`, `coulomb`, `offset`, `stribeck`, `load` and `curve` are its friction, on
                the motor's side of the spring; `link_viscous` and `link_coulomb` act on the link's side, and only in elastic
                programs.

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r").with_transmissions(stiffness=[900, None], rotor_inertia=1e-4, gear_ratio=80)
        >>> arm.elastic_joints
        ('shoulder',)
        """
        if joints is None:
            values = self._not_on_followers(values)
        return self._changed(joints=with_drives(self.joints, values, joints, self.name))

    def _not_on_followers(self, values: dict[str, PerJoint]) -> dict[str, PerJoint]:
        """Return values in which one number for all joints leaves out those that follow others, where these cannot have it."""
        single = [j for j in self.joints if j.kind not in MULTIPLE]
        changed: dict[str, PerJoint] = {}
        for name, without in (("stiffness", None), ("load", 0)):
            value = values.get(name)
            if value is not None and items_of(value) is None:
                changed[name] = [without if j in self.following_joints else value for j in single]
        return {**values, **changed} if self.following_joints else values

    def with_coupling(self, matrix: Sequence[Sequence[ScalarLike]] | np.ndarray) -> Robot:
        """Return the robot in the coordinates of its motors: joint angles = `matrix` times motor angles after the gears.

        Torques are then the motors', matrix^T times the joints'. Each motor is named after a joint that it alone moves, if there
        is one.

        Args:
            matrix: (joints, motors); its numbers are taken exactly as they are written.

        >>> import taupi as tp
        >>> arm = tp.load("elbow2r").with_coupling([[1, 0], [-1, 1]])  # the elbow's belt runs over the shoulder
        >>> tp.forward_kinematics(arm, "forearm")([0.3, 0.5]).round(4)[:2, :2].tolist()  # turned by 0.5 rad in all
        [[0.8776, -0.4794], [0.4794, 0.8776]]
        """
        from taupi.model.coupling import coupled_joints

        return self._changed(joints=coupled_joints(self, matrix))

    def floating_base(self) -> Robot:
        """Return the robot with a floating base: the root link has its own body and moves with a free joint.

        qd is then (angular, linear velocity of the root link's frame in its own axes, joints), of size n = 6 + joints, and q is
        (position, quaternion x y z w, joints), of size n + 1. A robot that floats already is returned as it is.
        """
        from taupi.model.floating import floating_base

        return floating_base(self)

    def fixed_base(self) -> Robot:
        """Return the robot with its base bolted to the ground; one that is bolted already is returned as it is."""
        from taupi.model.floating import fixed_base

        return fixed_base(self)

    def _changed(self, known: Mapping[str, Fraction | None] | None = None, **fields: Any) -> Robot:
        """Return a copy with other fields and with its symbols collected again; `known` has values for new symbols."""
        changed = dataclasses.replace(self, **fields)
        values = dict(known or {}) | {name: value for name, value in self.symbols if value is not None}
        symbols = symbols_of(changed.joints, changed.links, changed.gravity, changed.frames, changed.base, values)
        return dataclasses.replace(changed, symbols=symbols)

    def bind(self, /, **values: ScalarLike) -> Robot:
        """Return the robot with `values` for its symbols, as in `robot.bind(l1=0.5)`. Explicit forms keep the names."""
        table = dict(self.symbols)
        for name, value in values.items():
            if name not in table:
                raise unknown("symbol", name, table, self.name)
            number = exact(value, name)
            if is_symbolic(number):
                raise TaupiError("{name} is {got!r}, expected a number.", name=name, got=value)
            table[name] = number
        return dataclasses.replace(self, symbols=tuple(table.items()))

    # Readers ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_dh(
        cls,
        rows: Iterable[Mapping[str, ScalarLike]],
        convention: str = "classic",
        *,
        links: Sequence[Mapping[str, object]] | None = None,
        parameters: Parameters | VectorLike | None = None,
        gravity: VectorLike = (0, 0, "-9.81"),
        base: PlacementLike | None = None,
        tool: PlacementLike | None = None,
        name: str = "arm",
        limits: Sequence[Limits] | None = None,
        friction: Sequence[Friction] | None = None,
        transmissions: Sequence[Transmission] | None = None,
        values: Mapping[str, ScalarLike] | None = None,
        snap: bool = True,
    ) -> Robot:
        """Return a serial arm from its Denavit-Hartenberg table.

        Classic:  T(i-1, i) = Rz(theta + q) Tz(d) Tx(a) Rx(alpha), prismatic: Rz(theta) Tz(d + q) Tx(a) Rx(alpha).
        Modified: T(i-1, i) = Rx(alpha) Tx(a) Rz(theta + q) Tz(d), with the row's own alpha and a (Khalil's alpha_i, d_i).

        Any number may be a symbol or a formula (a string).

        Args:
            rows: One mapping per joint: a, d (m), alpha, theta (rad), joint ("revolute", "continuous" or "prismatic") and name.
                What is left out is 0, "revolute" and "joint1", "joint2", ... theta is the offset of a revolute joint, d that of
                a prismatic one.
            convention: "classic", by default, or "modified".
            links: One mapping per link: m (kg), com (m), inertia about the centre of mass (kg m^2) and name. By default links
                have no mass.
            parameters: pi itself instead of `links`, ten values per link, SI units.
            gravity: The acceleration vector, m/s^2; (0, 0, -9.81) by default.
            base: Places the first frame in the world: a 4 x 4 matrix or a translation (m); the identity by default.
            tool: Places the tool in the last link's frame likewise; by default the tip is that frame.
            name: The robot's name; "arm" by default.
            limits: One `Limits` per joint, or None; none by default.
            friction: One `Friction` per joint, or None; none by default.
            transmissions: One `Transmission` per joint, or None; by default joints are rigid and without rotors.
            values: Numbers for symbols, by name; none by default.
            snap: Whether angles within 1e-5 rad of a right angle, or rounded to one, are taken for right angles; True by default.

        Returns:
            The robot, with one link per row.

        >>> import taupi as tp
        >>> arm = tp.Robot.from_dh([dict(a="a1"), dict(a="a2")], gravity=(0, "-g", 0))
        >>> arm.n, [s for s, _ in arm.symbols]
        (2, ['a1', 'a2', 'g'])
        """
        from taupi.model.formats.serial_arm import Arm, from_dh

        arm = Arm(name, links, parameters, gravity, base, tool, limits, friction, transmissions, values, snap)
        return from_dh(rows, convention, arm)

    @classmethod
    def from_poe(
        cls,
        screws: Iterable[VectorLike],
        home: Iterable[PlacementLike],
        *,
        links: Sequence[Mapping[str, object]] | None = None,
        parameters: Parameters | VectorLike | None = None,
        gravity: VectorLike = (0, 0, "-9.81"),
        base: PlacementLike | None = None,
        tool: PlacementLike | None = None,
        name: str = "arm",
        joint_names: Sequence[str] | None = None,
        limits: Sequence[Limits] | None = None,
        friction: Sequence[Friction] | None = None,
        transmissions: Sequence[Transmission] | None = None,
        values: Mapping[str, ScalarLike] | None = None,
        snap: bool = True,
    ) -> Robot:
        """Return a serial arm with T_i(q) = exp([S_1] q_1) ... exp([S_i] q_i) M_i (Lynch & Park 2017, eq. 4.14).

        Args:
            screws: S_i = (omega, v) of each joint in the base frame at q = 0: a revolute joint has a unit omega and
                v = -omega x r, with r (m) a point on its axis; a prismatic joint has omega = 0 and a unit v.
            home: M_i of each link frame, a 4 x 4 matrix or a translation (m).
            links: As in `from_dh`, like `parameters`, `gravity`, `base`, `tool`, `name`, `limits`, `friction`, `transmissions`,
                `values` and `snap`.
            parameters: See `links`.
            gravity: See `links`.
            base: See `links`.
            tool: See `links`.
            name: See `links`.
            joint_names: The names of the joints; "joint1", "joint2", ... by default.
            limits: See `links`.
            friction: See `links`.
            transmissions: See `links`.
            values: See `links`.
            snap: See `links`.

        Returns:
            The robot, with one link per screw.

        >>> import taupi as tp
        >>> arm = tp.Robot.from_poe([(0, 0, 1, 0, 0, 0), (0, 0, 1, 0, "-l1", 0)], [("l1", 0, 0), ("l1 + l2", 0, 0)])
        >>> arm.n, [s for s, _ in arm.symbols]
        (2, ['l1', 'l2'])
        """
        from taupi.model.formats.serial_arm import Arm, from_poe

        arm = Arm(name, links, parameters, gravity, base, tool, limits, friction, transmissions, values, snap)
        return from_poe(screws, home, joint_names, arm)

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        lock: Sequence[str] | Mapping[str, float] = (),
        tip: str | None = None,
        gravity: VectorLike = (0, 0, "-9.81"),
        snap: bool = True,
        floating: bool | None = None,
    ) -> Robot:
        """Return a robot from the URDF file at `path`.

        For frames, the order of joints and planar joints, see `taupi.model.formats.urdf.read`.

        Args:
            path: The file.
            lock: The joints to hold: names (held at 0) or a mapping from names to values (rad, m); none by default.
            tip: The link at which the chain from the root ends; by default all branches are kept.
            gravity: The acceleration vector, m/s^2; (0, 0, -9.81) by default.
            snap: Whether angles printed as near-right ones are taken for right angles; True by default.
            floating: Whether the base moves freely; by default it does if the file has a floating joint at its root.

        Returns:
            The robot; its `notes` say what the reader changed or found suspect.
        """
        from taupi.model.formats.urdf import read

        return read(path, lock=lock, tip=tip, gravity=gravity, snap=snap, floating=floating)

    @classmethod
    def from_mjcf(
        cls,
        path: str | Path,
        gravity: VectorLike | None = None,
        lock: Sequence[str] | Mapping[str, float] = (),
        tip: str | None = None,
        snap: bool = True,
        floating: bool | None = None,
    ) -> Robot:
        """Return a robot from the MuJoCo XML file at `path`.

        For what is read of a file, see `taupi.model.formats.mjcf.read`.

        Args:
            path: The file.
            gravity: The acceleration vector, m/s^2; the file's by default.
            lock: The joints to hold, as in `from_urdf`.
            tip: The body at which the chain from the root ends, as in `from_urdf`.
            snap: As in `from_urdf`.
            floating: Whether the base moves freely; by default it does if the file has a free joint.

        Returns:
            The robot; its `notes` say what the reader changed or found suspect.
        """
        from taupi.model.formats.mjcf import read

        return read(path, gravity, lock, tip, snap, floating)

    @classmethod
    def from_toml(cls, path: str | Path) -> Robot:
        """Return a robot from the TOML file at `path`; the module `taupi.model.formats.toml` describes the format."""
        from taupi.model.formats.toml import read

        return read(path)

    def __repr__(self) -> str:
        owners = dict.fromkeys(self.driving_joints)
        kinds = "".join({"prismatic": "P", "free": "F", "ball": "B"}.get(j.kind, "R") for j in owners)
        following = len(self.joints) - len(owners)
        more = f" and {following} that follow" if following else ""
        return f"Robot({self.name!r}, n={self.n} {kinds}{more}, {len(self.parameters)} parameters)"

    def _repr_html_(self) -> str:
        from taupi.model.robot_card import robot_card

        return robot_card(self)

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the robot's complete description, for provenance."""
        return hashlib.sha256(repr(self._description).encode()).hexdigest()[:16]
