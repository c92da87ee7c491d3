"""USD, the format of Isaac Sim and Newton: rigid bodies and joints of UsdPhysics, read by usd-core (extra `usd`)."""

from __future__ import annotations

import math
import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.input_files import printable, regular_file
from taupi.model.body import NO_BODY, Body, body_from_com, symmetric
from taupi.model.formats.description import noting_a_bolted_base, warn_of_description
from taupi.model.formats.file_tree import Tree, TreeJoint
from taupi.model.formats.link_tree import robot_from_tree, shortened
from taupi.model.placement import Placement, rotation_from_matrix, rotation_from_quaternion, turned
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL, Friction, Limits, Source, Transmission
from taupi.model.scalars import SNAP_LENGTH, Scalar, SnapNotes, Vector, VectorLike, exact, note_snapped

if TYPE_CHECKING:
    from pxr import Gf, Usd

__all__ = ["read"]

_WORLD = "world"
_AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
_DEGREE = math.pi / 180


def read(
    path: str | os.PathLike[str],
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    gravity: VectorLike | None = None,
    snap: bool = True,
    floating: bool | None = None,
) -> Robot:
    """Return the robot of the USD file at `path`: its rigid bodies, and the joints of UsdPhysics between them.

    A joint states its frame in both bodies, T0 and T1: child = parent T0 motion(q) T1^-1. Lengths are multiplied by
    metersPerUnit and masses by kilogramsPerUnit. A mass or an inertia of 0 means that it is to be computed from colliders, and
    is refused. Damping, friction and armature are read from the attributes newton: and mjc:, and the armature also from PhysX's.

    Args:
        path: The file: .usd, .usda, .usdc or .usdz.
        lock: Joints that are held, as in `Robot.from_urdf`, as are the following.
        tip: The link at the end of the chain that is kept; all by default.
        gravity: The acceleration vector, m/s^2; 9.81 against the stage's up axis by default.
        snap: Whether rotations that are nearly right ones are right ones.
        floating: Whether the root moves freely; None bolts it to the ground.
    """
    file = regular_file(path, "a robot description (.usd)")
    where = printable(file.name)
    if file.stat().st_size > budget().data_bytes:
        raise TaupiError("{where} is larger than {most} MiB.", where=where, most=budget().data_bytes >> 20)
    stage = _opened(file, where)
    from pxr import UsdGeom, UsdPhysics

    notes = SnapNotes()
    scene = _Stage(
        where,
        stage,
        float(UsdGeom.GetStageMetersPerUnit(stage)),
        float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
        snap,
        notes,
    )
    with _damage_refused(where):
        tree = scene.tree(Path(where).stem, floating is True)
    if gravity is None:
        gravity = (0, "-9.81", 0) if UsdGeom.GetStageUpAxis(stage) == "Y" else (0, 0, "-9.81")
    robot = robot_from_tree(tree, lock, tip, gravity, snap, Source("usd", printable(file, 4096), ""), floating)
    warn_of_description(robot, tree)
    return noting_a_bolted_base(robot, where, asked=floating is not None)


@contextmanager
def _damage_refused(where: str) -> Iterator[None]:
    """Turn what usd-core raises on a stage that contradicts itself into one sentence."""
    from pxr import Tf

    try:
        yield
    except TaupiError:
        raise
    except (Tf.ErrorException, RuntimeError, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        raise TaupiError("{where} is a stage with values that no joint or body can have.", where=where) from None


def _opened(file: Path, where: str) -> object:
    try:
        from pxr import Tf, Usd
    except ModuleNotFoundError:
        raise TaupiError(
            "{where} is a USD file, and reading it needs usd-core.", remedy="pip install 'taupi[usd]'.", where=where
        ) from None
    try:
        stage = Usd.Stage.Open(str(file.absolute()))
    except Tf.ErrorException:
        stage = None
    if not stage:
        raise TaupiError("{where} is not a USD file, or it is cut off or damaged.", where=where)
    return stage


@dataclass(frozen=True)
class _UsdJoint:
    """A joint between two bodies by their paths ("" is the world), with its frame in each."""

    prim: Usd.Prim
    name: str
    kind: str
    bodies: tuple[str, str]
    frames: tuple[Placement, Placement]


@dataclass
class _Stage:
    """The bodies and joints of a stage, in SI units."""

    where: str
    stage: Usd.Stage
    metre: float
    kilogram: float
    snap: bool
    notes: SnapNotes
    bodies: dict[str, Usd.Prim] = field(default_factory=dict)  # by path
    poses: dict[str, Placement] = field(default_factory=dict)
    scales: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def tree(self, name: str, floating: bool) -> Tree:
        """Return the links and joints of the articulation with the most joints, oriented from its root."""
        from pxr import Usd, UsdPhysics

        joints: list[Usd.Prim] = []
        for count, prim in enumerate(Usd.PrimRange.Stage(self.stage, Usd.TraverseInstanceProxies())):
            if count > budget().nodes:
                raise TaupiError("{where} has more than {most} prims.", where=self.where, most=budget().nodes)
            if prim.HasAPI(UsdPhysics.RigidBodyAPI):
                self.bodies[str(prim.GetPath())] = prim
            elif prim.IsA(UsdPhysics.Joint):
                joints.append(prim)
        budget().check_joints(max(len(self.bodies), len(joints)), self.where)
        if not self.bodies or not joints:
            raise TaupiError(
                "{where} has {bodies} rigid bodies and {joints} joints, expected a robot: bodies with "
                "PhysicsRigidBodyAPI, joined by UsdPhysics joints.",
                where=self.where,
                bodies=len(self.bodies),
                joints=len(joints),
            )
        enabled = (prim for prim in joints if prim.GetAttribute("physics:jointEnabled").Get() in (None, True))
        read = [self._joint(prim) for prim in enabled]
        root, reached = self._root(read)
        counts = Counter(prim.GetName() for path, prim in self.bodies.items() if path in reached)
        names = {p: self.bodies[p].GetName() if counts[self.bodies[p].GetName()] == 1 else p for p in reached}
        links = [(names[p], self._body(self.bodies[p], p != root)) for p in reached]
        if len(reached) < len(self.bodies):
            others = [p for p in self.bodies if p not in reached]
            self.notes.append(f"left out, since no joint connects them to the robot: {', '.join(others[:6])}")
        if any("" in j.bodies and j.kind != "fixed" and set(reached) & set(j.bodies) for j in read):
            names[""], root = _WORLD, ""  # its first joint moves it on the ground
            links.insert(0, (_WORLD, NO_BODY))
        ordered = self._oriented(read, root, names)
        if root and not floating:  # the root stands where the stage puts it
            links.insert(0, (_WORLD, NO_BODY))
            ordered.insert(0, TreeJoint(f"{names[root]}_to_world", "fixed", _WORLD, names[root], self._pose(root)))
        sorted_joints = tuple(sorted(ordered, key=lambda j: j.name))
        return Tree(
            name, self.where, tuple(links), sorted_joints, tuple(self.notes), large_snaps=tuple(self.notes.large)
        )

    def _root(self, joints: Sequence[_UsdJoint]) -> tuple[str, list[str]]:
        """Return the root of the largest set of bodies that joints connect, and its bodies from the root on."""
        from pxr import UsdPhysics

        beside: dict[str, list[str]] = {path: [] for path in self.bodies}
        for joint in joints:
            a, b = joint.bodies
            if a and b:
                beside[a].append(b)
                beside[b].append(a)
        best: list[str] = []
        seen: set[str] = set()
        for path in self.bodies:
            group = [] if path in seen else _reached(path, beside)
            seen |= set(group)
            best = max(best, group, key=len)
        inside = set(best)
        bolted = [body for joint in joints if "" in joint.bodies for body in joint.bodies if body in inside]
        marked = [p for p in best if self.bodies[p].HasAPI(UsdPhysics.ArticulationRootAPI)]
        children = {joint.bodies[1] for joint in joints if joint.bodies[0]}
        heads = [p for p in best if p not in children]
        root = (bolted or marked or heads or best)[0]
        return root, _reached(root, beside)

    def _oriented(self, joints: Sequence[_UsdJoint], root: str, names: Mapping[str, str]) -> list[TreeJoint]:
        """Return the joints from the root outwards; one that was stated inwards turns about the opposite axis."""
        at: dict[str, list[_UsdJoint]] = {}
        for joint in joints:
            for body in joint.bodies:
                at.setdefault(body, []).append(joint)
        used = {id(j) for j in at.get("", ()) if j.kind == "fixed"}  # which hold the root where it is
        known, queue, result = {root}, deque([root]), list[TreeJoint]()
        while queue:
            here = queue.popleft()
            for joint in at.get(here, ()):
                if id(joint) in used:
                    continue
                used.add(id(joint))
                other = joint.bodies[1] if joint.bodies[0] == here else joint.bodies[0]
                if other in known or not other:
                    raise TaupiError(
                        "{where}: joint {joint!r} closes a loop, which is not read from USD.",
                        remedy="Disable it there, or take the robot's MJCF.",
                        where=self.where,
                        joint=joint.name,
                    )
                known.add(other)
                queue.append(other)
                result.append(self._tree_joint(joint, names[here], names[other], joint.bodies[0] == here))
        return result

    def _tree_joint(self, joint: _UsdJoint, parent: str, child: str, outwards: bool) -> TreeJoint:
        first, second = joint.frames if outwards else joint.frames[::-1]
        made = TreeJoint(joint.name, joint.kind, parent, child, first, after=shortened(second.inverse()))
        if joint.kind in ("fixed", BALL):
            return made
        token = joint.prim.GetAttribute("physics:axis").Get() or "X"
        sign = 1 if outwards else -1
        axis: Vector = tuple(Fraction(sign * v) for v in _AXES[str(token)])  # type: ignore[assignment]
        limits, bounded = self._limits(joint)
        kind = joint.kind if joint.kind == "prismatic" or bounded else "continuous"
        friction, armature = self._losses(joint)
        return replace(made, kind=kind, axis=axis, limits=limits, friction=friction, transmission=armature)

    # Reading of prims -------------------------------------------------------------------------------------------------

    def _joint(self, prim: Usd.Prim) -> _UsdJoint:
        from pxr import UsdPhysics

        name = prim.GetName()
        kinds = (
            (UsdPhysics.RevoluteJoint, "revolute"),
            (UsdPhysics.PrismaticJoint, "prismatic"),
            (UsdPhysics.FixedJoint, "fixed"),
            (UsdPhysics.SphericalJoint, BALL),
        )
        kind = next((kind for schema, kind in kinds if prim.IsA(schema)), None)
        if kind is None:
            raise TaupiError(
                "{where}: joint {joint!r} is a {got}, expected a revolute, prismatic, fixed or spherical joint.",
                where=self.where,
                joint=name,
                got=printable(str(prim.GetTypeName()), 60),
            )
        joint, sides, frames = UsdPhysics.Joint(prim), [], []
        for k, (relation, position, rotation) in enumerate(
            (
                (joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
                (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
            )
        ):
            targets = [str(target) for target in relation.GetTargets()]
            path = targets[0] if targets else ""
            own = self._placed(position.Get(), rotation.Get(), self._scale(path), f"joint {name}, body {k}", self.snap)
            if path not in self.bodies:  # the world, or what stands still in it
                own = own if not path else self._pose(path) @ own
                path = ""
            sides.append(path)
            frames.append(own)
        if sides[0] == sides[1]:
            raise TaupiError("{where}: joint {joint!r} joins a body to itself.", where=self.where, joint=name)
        return _UsdJoint(prim, name, kind, (sides[0], sides[1]), (frames[0], frames[1]))

    def _placed(
        self, position: Sequence[float], rotation: Gf.Quatf, scale: Sequence[float], what: str, snap: bool
    ) -> Placement:
        """Return a placement from a stage's position and quaternion."""
        place = [0.0, 0.0, 0.0] if position is None else [float(v) for v in position]
        if not all(math.isfinite(v) for v in place):
            raise TaupiError("{where}: {what} has no position.", where=self.where, what=what)
        translation = tuple(self._length(v * s, snap) for v, s in zip(place, scale, strict=True))
        if rotation is None:
            return Placement(translation=translation)
        w, x, y, z = (_decimal(v) for v in (rotation.GetReal(), *rotation.GetImaginary()))
        if not any((w, x, y, z)):
            return Placement(translation=translation)
        matrix, snapped = rotation_from_quaternion(w, x, y, z, snap)
        note_snapped(self.notes, f"{what}: rotation", snapped, "ratios of 0 and 1")
        return Placement(matrix, translation)

    def _length(self, value: float, snap: bool) -> Scalar:
        metres = _decimal(value) * exact(self.metre)
        return Fraction(0) if snap and abs(metres) < SNAP_LENGTH else metres

    def _scale(self, path: str) -> tuple[float, float, float]:
        self._pose(path)
        return self.scales[path]

    def _pose(self, path: str) -> Placement:
        """Return where a prim stands on the stage, without its scale, which is remembered."""
        if path in self.poses:
            return self.poses[path]
        from pxr import Gf, Usd, UsdGeom

        prim = self.stage.GetPrimAtPath(path) if path else None
        if prim is None or not prim.IsValid():
            self.poses[path], self.scales[path] = Placement(), (1.0, 1.0, 1.0)
            return self.poses[path]
        world = UsdGeom.XformCache(Usd.TimeCode.Default()).GetLocalToWorldTransform(prim)
        transform = Gf.Transform(world)
        across, along, up = (float(v) for v in transform.GetScale())
        rows = Gf.Matrix3d(transform.GetRotation().GetQuat())
        matrix, snapped = rotation_from_matrix([[rows[j][i] for j in range(3)] for i in range(3)], self.snap)
        note_snapped(self.notes, f"{path}: rotation", snapped, "a right angle")
        place = tuple(self._length(float(v), self.snap) for v in transform.GetTranslation())
        if not all(math.isfinite(v) and v > 0 for v in (across, along, up)):
            raise TaupiError("{where}: {path} is mirrored, or has no size.", where=self.where, path=path)
        self.poses[path], self.scales[path] = Placement(matrix, place), (across, along, up)
        return self.poses[path]

    def _body(self, prim: Usd.Prim, moves: bool) -> Body:
        from pxr import UsdPhysics

        mass = UsdPhysics.MassAPI(prim)
        m, centre, diagonal, axes = (
            attribute.Get()
            for attribute in (
                mass.GetMassAttr(),
                mass.GetCenterOfMassAttr(),
                mass.GetDiagonalInertiaAttr(),
                mass.GetPrincipalAxesAttr(),
            )
        )
        name = prim.GetName()
        inertia = [0.0, 0.0, 0.0] if diagonal is None else [float(v) for v in diagonal]
        if not m or not any(inertia):
            if not moves:
                return NO_BODY  # the root of an arm that is bolted down needs none
            raise TaupiError(
                "{where}: {body!r} has no {missing} of its own: 0 means that it is to be computed from colliders.",
                remedy="Write it into the stage: physics:mass and physics:diagonalInertia.",
                where=self.where,
                body=name,
                missing="inertia" if m else "mass",
            )
        at = f"{self.where}: {name}"
        # The place of a mass is not part of the geometry, and not snapped.
        scale = self._scale(str(prim.GetPath()))
        placed = self._placed(centre, axes, scale, f"{at}: centre of mass", snap=False)
        kilogram, metre = exact(self.kilogram), exact(self.metre)
        moments = [_decimal(v) * kilogram * metre**2 for v in inertia]
        zero = Fraction(0)
        tensor = turned(symmetric(moments[0], zero, zero, moments[1], zero, moments[2]), placed.rotation)
        return body_from_com(_decimal(m) * kilogram, placed.translation, tensor, at)

    def _limits(self, joint: _UsdJoint) -> tuple[Limits, bool]:
        """Return the limits of a joint, and whether it has any of position."""
        turns = joint.kind == "revolute"
        unit = _DEGREE if turns else self.metre
        force = self.kilogram * self.metre * (self.metre if turns else 1.0)
        drive = f"drive:{'angular' if turns else 'linear'}:physics:maxForce"
        names = {
            "lower": ("physics:lowerLimit", unit),
            "upper": ("physics:upperLimit", unit),
            "velocity": ("physxJoint:maxJointVelocity", unit),
            "effort": (drive, force),
        }
        values = {}
        for key, (attribute, factor) in names.items():
            value = joint.prim.GetAttribute(attribute).Get()
            if isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e30:
                values[key] = float(value) * factor
        if values.get("lower", 0.0) > values.get("upper", 0.0):  # lower above upper: the joint is free
            values = {key: value for key, value in values.items() if key not in ("lower", "upper")}
        return Limits(**values), "lower" in values or "upper" in values

    def _losses(self, joint: _UsdJoint) -> tuple[Friction, Transmission]:
        """Return damping and friction, and the inertia of the drive, as the attributes of solvers state them."""

        def number(*names: str) -> float:
            for name in names:
                value = joint.prim.GetAttribute(name).Get()
                if isinstance(value, int | float) and math.isfinite(value):
                    return float(value)
            return 0.0

        turns = joint.kind == "revolute"
        force = self.kilogram * (self.metre**2 if turns else 1.0)
        newton = number("newton:damping") * (1 / _DEGREE if turns else 1.0)  # per degree, as everything of a stage
        viscous = (newton or number("mjc:damping")) * force
        coulomb = (
            number("newton:friction", "mjc:frictionloss") * self.kilogram * self.metre * (self.metre if turns else 1)
        )
        armature = number("newton:armature", "mjc:armature", "physxJoint:armature") * force
        return Friction(_decimal(viscous), _decimal(coulomb)), Transmission(rotor_inertia=_decimal(armature))


def _reached(start: str, beside: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the bodies that joints connect with one, in the order of their distance from it."""
    known, queue = {start: None}, deque([start])
    while queue:
        new = dict.fromkeys(other for other in beside[queue.popleft()] if other not in known)
        known |= new
        queue += new
    return list(known)


def _decimal(value: float) -> Fraction:
    """Return a number of a stage as the decimal that it prints as: single precision where that is what it holds."""
    import numpy as np

    number = float(value)
    if not math.isfinite(number):
        raise TaupiError("A stage holds {got}, expected finite numbers.", got=number)
    single = np.float32(number)
    result = exact(str(single)) if float(single) == number else exact(number)
    assert isinstance(result, Fraction)
    return result
