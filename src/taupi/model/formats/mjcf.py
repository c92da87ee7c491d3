"""MuJoCo XML (MJCF), compiled by the `mujoco` package and read from the compiled model."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError, warn
from taupi.model.body import NO_BODY, Body, body_from_com, symmetric
from taupi.model.floating import FREE_JOINT
from taupi.model.formats import urdf, xml_tree
from taupi.model.formats.description import read_text, warn_of_description
from taupi.model.formats.file_tree import Mimic, Tree, TreeFrame, TreeJoint
from taupi.model.formats.link_tree import motion, robot_from_tree
from taupi.model.formats.mjcf_compile import compiled, mujoco_module
from taupi.model.placement import Placement, rotation_from_quaternion, turned
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL, FREE, POINT, WELD, Friction, Limits, Loop, Source, Transmission
from taupi.model.scalars import (
    SNAP_LENGTH,
    SnapNotes,
    Vector,
    VectorLike,
    exact,
    note_snapped,
    snapped_unit_vector,
)
from taupi.tables import some_of

if TYPE_CHECKING:
    from mujoco import MjModel


KINDS = {0: FREE, 1: BALL, 2: "prismatic", 3: "revolute"}


def read(
    path: str | os.PathLike[str],
    gravity: VectorLike | None = None,
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    snap: bool = True,
    floating: bool | None = None,
    root: str | None = None,
) -> Robot:
    """Return the robot of the MuJoCo XML file at `path`: its tree of bodies with free, ball, hinge and slide joints.

    A joint at p in its body's frame moves the body by T(p) motion(axis, q - ref) T(-p); several joints of one body follow
    each other, with massless links `body/joint` between them. `armature` becomes the rotor inertia (with a gear ratio of 1),
    `damping` viscous friction, `frictionloss` Coulomb friction, `stiffness` a spring at the link and `springref` its offset.
    `gravity` (m/s^2) is the file's by default. Bodies without joints are merged into the body that they are fixed to, but stay
    as frames, and so do sites. Linear equalities of joints become joints that follow others, `connect` and `weld` loops of the
    robot. `lock`, `tip` and `snap` are as in `taupi.model.formats.urdf.read`. A free joint stays free, unless `floating` is
    False; True lets a base float that has none. Where one of several trees moves freely, the one with the most joints is the
    robot, or the one whose root body is `root`. A file whose root element is <robot> is read as URDF.
    """
    text = read_text(path)
    file = Path(path)
    document = xml_tree.parse(text, file.name)
    if document.tag == "robot":
        return urdf.read(path, lock, tip, (0, 0, "-9.81") if gravity is None else gravity, snap, floating)
    model, notes, weightless = compiled(file)
    if weightless and floating:
        raise TaupiError(
            "{file}: the mass of {weightless!r}, on which the robot stands, comes from a file that is missing.",
            remedy="Add the file, or bolt the base: {floating=False}.",
            file=file.name,
            weightless=weightless[0],
        )
    notes = (*notes, *honour_flags(model))
    tree = _MjcfModel(model, file.name, snap).tree(document.attributes.get("model") or file.stem)
    tree = dataclasses.replace(tree, notes=(*notes, *tree.notes))
    down = tuple(map(float, model.opt.gravity)) if gravity is None else gravity
    robot = robot_from_tree(tree, lock, tip, down, snap, Source("mjcf", str(file), text), floating, root)
    warn_of_passive_forces(model, file.name)
    warn_of_description(robot, tree)
    return robot


class _MjcfModel:
    """A compiled model, the names of its bodies and joints, what its equalities mean, and notes on what was snapped."""

    def __init__(self, model: MjModel, where: str, snap: bool) -> None:
        self.model, self.where, self.snap, self.notes = model, where, snap, SnapNotes()
        self.bodies, self.joints = body_names(model), joint_names(model)
        self.rules = constraints_of(model, self.joints, self.bodies, where, snap)
        self.between = self._between()

    def _between(self) -> dict[int, str]:
        """Return names of the massless links between the joints of a body, and of the fixed joints of bodies without joints.

        The keys are the numbers of those joints, and below zero, the numbers of those bodies.
        """
        model, bodies = self.model, self.bodies
        names = {k: f"{bodies[int(model.jnt_bodyid[k])]}/{self.joints[k]}" for k in range(model.njnt)}
        names |= {-b: f"fixed {bodies[b]}" for b in range(1, model.nbody) if not model.body_jntnum[b]}
        taken = {*bodies, *self.joints}
        for key in names:
            while names[key] in taken:
                names[key] += "_"
            taken.add(names[key])
        return names

    def tree(self, name: str) -> Tree:
        """Return the links and joints of the model."""
        model, rules = self.model, self.rules
        links: list[tuple[str, Body]] = [(self.bodies[WORLD], NO_BODY)]
        joints: list[TreeJoint] = []
        for b in range(1, model.nbody):
            chain = self._joints_of(b)
            joints += chain
            links += [(j.child, NO_BODY) for j in chain[:-1]]
            links.append((self.bodies[b], _inertia(model, b, self.bodies[b])))
        taken = {link for link, _ in links} | {frame.name for frame in rules.frames}
        frames = list(rules.frames)
        for s in range(model.nsite):
            site = model.site(s).name
            if site and site not in taken:
                placement = self._placement(model.site_pos[s], model.site_quat[s], f"site {site}")
                frames.append(TreeFrame(site, self.bodies[model.site_bodyid[s]], placement))
        self.notes += [*rules.notes, *passive_notes(model)]
        return Tree(
            name=name,
            where=self.where,
            links=tuple(links),
            joints=tuple(joints),
            notes=tuple(self.notes),
            frames=tuple(frames),
            held=tuple(rules.held.items()),
            loops=tuple(rules.loops),
            large_snaps=tuple(self.notes.large),
        )

    def _joints_of(self, b: int) -> list[TreeJoint]:
        """Return the joints that carry a body, in order, or a fixed joint if it has none."""
        model, body = self.model, self.bodies[b]
        before = self._placement(model.body_pos[b], model.body_quat[b], f"body {body}")
        parent, first, count = self.bodies[model.body_parentid[b]], model.body_jntadr[b], model.body_jntnum[b]
        if not count:
            return [TreeJoint(self.between[-b], "fixed", parent, body, before)]
        result = []
        for k in range(first, first + count):
            name, child = self.joints[k], body if k == first + count - 1 else self.between[k]
            kind = KINDS[int(model.jnt_type[k])]
            if kind == FREE:  # its positions place the body in the world, whatever placement the file gives the body
                result.append(TreeJoint(name, FREE, parent, child, home=self.rules.homes.get(name, before)))
            elif kind == BALL:
                at, after = self._anchor(k)
                result.append(TreeJoint(name, BALL, parent, child, before @ at, after=after))
            else:
                result.append(self._joint(k, kind, parent, child, before))
            parent, before = child, Placement()
        return result

    def _joint(self, k: int, kind: str, parent: str, child: str, before: Placement) -> TreeJoint:
        """Return a hinge or a slide."""
        model, name, snap = self.model, self.joints[k], self.snap
        at, after = self._anchor(k)
        what = f"{self.where}: joint {name!r}: axis"
        axis, snapped = snapped_unit_vector([float(v) for v in model.jnt_axis[k]], what, snap)
        note_snapped(self.notes, f"joint {name}: axis = {_printed(model.jnt_axis[k])}", snapped, "a coordinate axis")
        start = float(model.qpos0[model.jnt_qposadr[k]])
        reference, snapped = motion(kind, axis, -exact(start), snap)
        note_snapped(self.notes, f"joint {name}: ref = {start:.6g}", snapped)
        dof, spring = model.jnt_dofadr[k], exact(float(model.jnt_stiffness[k]))
        rest = exact(float(model.qpos_spring[model.jnt_qposadr[k]]))
        armature = float(model.dof_armature[dof]) + reflected(model, k, "armature")
        damping = float(model.dof_damping[dof]) + reflected(model, k, "damping")
        return TreeJoint(
            name=name,
            kind=kind if model.jnt_limited[k] or kind == "prismatic" else "continuous",
            parent=parent,
            child=child,
            before=before @ at @ reference,
            axis=axis,
            after=after,
            mimic=self.rules.mimics.get(name),
            limits=_limits(model, k),
            friction=Friction(exact(damping), exact(float(model.dof_frictionloss[dof])), offset=-spring * rest),
            transmission=Transmission(rotor_inertia=exact(armature)),
            spring=spring,
        )

    def _anchor(self, k: int) -> tuple[Placement, Placement]:
        """Return the placement of a joint in its body's frame, and its inverse."""
        at = Placement(translation=self._lengths(self.model.jnt_pos[k]))
        return at, at.inverse() if any(at.translation) else Placement()

    def _placement(self, position: np.ndarray, quaternion: np.ndarray, who: str) -> Placement:
        w, x, y, z = map(float, quaternion)
        if x == y == z == 0:
            return Placement(translation=self._lengths(position))
        rotation, snapped = rotation_from_quaternion(w, x, y, z, self.snap)
        note_snapped(self.notes, f"{who}: quat = {_printed(quaternion)}", snapped, "ratios of 0 and 1")
        return Placement(rotation, self._lengths(position))

    def _lengths(self, values: np.ndarray) -> Vector:
        least = SNAP_LENGTH if self.snap else 0.0
        # NaN is not below anything: it stays, and is refused.
        return tuple(Fraction(0) if abs(v) < least else exact(float(v), "a position") for v in values)  # type: ignore[return-value]


def _named(names: Sequence[str], what: str) -> list[str]:
    """Return names; what has none is numbered, with another number if that name is taken."""
    taken, result = set(names), []
    for k, name in enumerate(names):
        new = name or f"{what}{k}"
        while not name and new in taken:
            new += "_"
        taken.add(new)
        result.append(new)
    return result


def body_names(model: MjModel) -> list[str]:
    """Return the names of the bodies, the world first; one without a name is called body3, for example."""
    return _named([model.body(b).name for b in range(model.nbody)], "body")


def joint_names(model: MjModel) -> list[str]:
    """Return the names of the joints; the only free joint is called base if it has no name."""
    names = [model.joint(k).name for k in range(model.njnt)]
    free = [k for k in range(model.njnt) if KINDS[int(model.jnt_type[k])] == FREE]
    if len(free) == 1 and not names[free[0]] and FREE_JOINT not in names:
        names[free[0]] = FREE_JOINT
    return _named(names, "joint")


def _limits(model: MjModel, k: int) -> Limits:
    limited = bool(model.jnt_limited[k])
    lower, upper = (float(v) if limited and math.isfinite(v) else None for v in model.jnt_range[k])
    effort = float(max(abs(model.jnt_actfrcrange[k]))) if model.jnt_actfrclimited[k] else math.inf
    return Limits(lower, upper, None, effort if math.isfinite(effort) else None)


def _inertia(model: MjModel, b: int, name: str) -> Body:
    m = float(model.body_mass[b])
    principal = [float(v) for v in model.body_inertia[b]]
    if not m and not any(principal):
        return NO_BODY
    w, x, y, z = map(float, model.body_iquat[b])
    rotation, _ = rotation_from_quaternion(w, x, y, z, snap=False)
    xx, yy, zz = (exact(v) for v in principal)
    zero = Fraction(0)
    tensor = turned(symmetric(xx, zero, zero, yy, zero, zz), rotation)
    return body_from_com(m, [float(v) for v in model.body_ipos[b]], tensor, name)


def _printed(values: np.ndarray) -> str:
    return " ".join(f"{float(v):.6g}" for v in values)


_CONNECT, _WELD, _JOINT = 0, 1, 2
_BODY = 1  # mjOBJ_BODY
_FREE = 0
WORLD = 0
_OTHER_EQUALITIES = {3: "tendon", 4: "flex", 5: "flex", 6: "flex", 7: "distance"}


@dataclass
class Constraints:
    """What the equalities of a model become: joints that follow, joints that are held, loops with their frames, notes.

    `homes` are the placements at which free joints are held, by joint, for bodies that are welded to the world.
    """

    mimics: dict[str, Mimic] = field(default_factory=dict)
    held: dict[str, Fraction] = field(default_factory=dict)
    homes: dict[str, Placement] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    frames: list[TreeFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def constraints_of(model: MjModel, joints: Sequence[str], bodies: Sequence[str], where: str, snap: bool) -> Constraints:
    """Return what the active equality constraints of a model mean for its tree; `joints` and `bodies` are the names."""
    result = Constraints()
    other: list[str] = []
    curved: list[str] = []
    for k in range(model.neq):
        if not model.eq_active0[k]:
            continue
        kind = int(model.eq_type[k])
        if kind == _JOINT:
            _joint_equality(model, k, joints, result, curved)
        elif kind in (_CONNECT, _WELD):
            _loop(model, k, joints, bodies, result, snap)
        else:
            other.append(_OTHER_EQUALITIES.get(kind, "unknown"))
    count = len(result.mimics) + len(result.held) - len(result.homes)
    if count:
        what = "1 equality of joints is" if count == 1 else f"{count} equalities between joints are"
        result.notes.append(f"{what} taken as rigid, though MuJoCo's {'is' if count == 1 else 'are'} soft")
    if curved:
        warn(
            "{where}: equalities that are not linear are ignored, so that these joints move independently: {names}.",
            where=where,
            names=some_of(curved),
        )
    if other:
        warn(
            "{where}: {count} equality constraints ignored ({other:,}).",
            where=where,
            count=len(other),
            other=sorted(set(other)),
        )
    return result


def _joint_equality(model: MjModel, k: int, joints: Sequence[str], result: Constraints, curved: list[str]) -> None:
    """Take q1 = q1_0 + a0 + a1 (q2 - q2_0), with q_0 of the reference configuration, as a joint that follows another.

    If joint 1 follows another joint p already, q1 = r p + o, that joint follows instead: p = (q1 - o) / r.
    """
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    name = joints[first]
    a0, a1, *higher = (exact(float(v)) for v in model.eq_data[k][:5])
    offset = exact(float(model.qpos0[model.jnt_qposadr[first]])) + a0
    if second >= 0 and any(higher):
        curved.append(name)
        return
    driver, ratio, shift = _driver(name, result)
    if driver is None or ratio == 0:
        result.notes.append(f"joint {name}: an equality is ignored, since the joint is held already")
        return
    if second < 0:
        result.held[driver] = (offset - shift) / ratio
        return
    master = joints[second]
    if _driver(master, result)[0] == driver:
        result.notes.append(f"joint {name}: an equality with {master}, which follows it already, is ignored")
        return
    offset -= a1 * exact(float(model.qpos0[model.jnt_qposadr[second]]))
    result.mimics[driver] = Mimic(master, a1 / ratio, (offset - shift) / ratio)


def follower_offset(model: MjModel, joint: str) -> float:
    """Return where a joint that follows another is when that is at zero; 0 for one that moves by itself.

    A robot counts the position of a follower from there, MuJoCo that of its spring from the joint's own zero.
    """
    result, joints = Constraints(), joint_names(model)
    for k in range(model.neq):
        if model.eq_active0[k] and int(model.eq_type[k]) == _JOINT:
            _joint_equality(model, k, joints, result, [])
    return float(_driver(joint, result)[2])


def _driver(joint: str, result: Constraints) -> tuple[str | None, Fraction, Fraction]:
    """Return the joint that a joint ultimately follows, None if it is held, with the ratio and offset between the two."""
    ratio, offset = Fraction(1), Fraction(0)
    while joint in result.mimics:
        mimic = result.mimics[joint]
        offset += ratio * mimic.offset
        ratio *= mimic.ratio
        joint = mimic.master
    return (None if joint in result.held else joint), ratio, offset


def _loop(
    model: MjModel, k: int, joints: Sequence[str], bodies: Sequence[str], result: Constraints, snap: bool
) -> None:
    """Take a connection or weld as a loop of two frames, or, between a free body and the world, as a base that is held."""
    kind = POINT if int(model.eq_type[k]) == _CONNECT else WELD
    name = model.equality(k).name or f"loop{k}"
    links, places = _ends(model, k, kind, snap)
    if any(int(model.body_mocapid[link]) >= 0 for link in links):
        result.notes.append(f"{name} is left out: it ties the robot to a body that is moved from outside (mocap)")
        return
    if kind == WELD:
        for (body, place), (other, its_place) in (
            zip(links, places, strict=True),
            zip(links[::-1], places[::-1], strict=True),
        ):
            joint = int(model.body_jntadr[body])
            base = joint if joint >= 0 and int(model.jnt_type[joint]) == _FREE else None
            if base is not None and int(model.body_weldid[other]) == WORLD and joints[base] not in result.held:
                result.held[joints[base]] = Fraction(0)
                result.homes[joints[base]] = _still(model, other, snap) @ its_place @ place.inverse()
                result.notes.append(f"{bodies[body]} is welded to the world: its free joint {joints[base]} is held")
                return
    names = (f"{name}.a", f"{name}.b")
    for frame, link, place in zip(names, links, places, strict=True):
        result.frames.append(TreeFrame(frame, bodies[link], place))
    result.loops.append(Loop(*names, kind))


def _ends(model: MjModel, k: int, kind: str, snap: bool) -> tuple[list[int], list[Placement]]:
    """Return the two bodies that a connection or weld ties together, and where it holds each of them, in its own frame.

    A weld of bodies has the anchor in body 2, the same point in body 1, and the orientation of body 2 in body 1.
    """
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if int(model.eq_objtype[k]) != _BODY:
        sites = (first, second)
        places = [_at(model.site_pos[s], model.site_quat[s], snap=snap) for s in sites]
        return [int(model.site_bodyid[s]) for s in sites], places
    data = [float(v) for v in model.eq_data[k]]
    links = [first, max(second, 0)]
    if kind == POINT:
        return links, [_at(data[:3]), _at(data[3:6])]
    return links, [_at(data[3:6], data[6:10], snap), _at(data[:3])]


def _still(model: MjModel, body: int, snap: bool) -> Placement:
    """Return the placement in the world of a body that never moves."""
    result = Placement()
    while body != WORLD:
        result = _at(model.body_pos[body], model.body_quat[body], snap) @ result
        body = int(model.body_parentid[body])
    return result


def _at(
    position: Sequence[float] | np.ndarray, quaternion: Sequence[float] | np.ndarray | None = None, snap: bool = False
) -> Placement:
    translation = tuple(exact(float(v)) for v in position)
    if quaternion is None:
        return Placement(translation=translation)
    w, x, y, z = (float(v) for v in quaternion)
    return Placement(rotation_from_quaternion(w, x, y, z, snap)[0], translation)


# What MuJoCo leaves out of the motion where a flag of <option><flag/></option> disables it: the arrays of the model that hold it.
_DISABLED: dict[str, tuple[str, ...]] = {
    "gravity": ("opt.gravity", "body_gravcomp"),
    "equality": ("eq_active0",),
    "frictionloss": ("dof_frictionloss", "tendon_frictionloss", "actuator_frictionloss"),
    "spring": ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    "damper": (
        *("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly"),
        *("actuator_damping", "actuator_dampingpoly"),
    ),
    "medium and gravity compensation": ("body_gravcomp", "opt.density", "opt.viscosity"),
}
_IMPLIED = {"constraint": ("equality", "frictionloss"), "passive": ("spring", "damper")}
_POLYNOMIALS = ("dof_dampingpoly", "jnt_stiffnesspoly", "actuator_dampingpoly")


def honour_flags(model: MjModel) -> tuple[str, ...]:
    """Take out of a compiled model what its file's flags disable, as MuJoCo does while it simulates; return a note on it.

    Without constraints there are neither equalities nor dry friction; without springs and dampers there are no passive forces
    at all. Gravity that is off is no news: it is in `Robot.gravity`.
    """
    flags = mujoco_module().mjtDisableBit.__members__.items()
    off = {name.removeprefix("mjDSBL_").lower() for name, bit in flags if int(bit) & int(model.opt.disableflags)}
    off |= {part for name in off for part in _IMPLIED.get(name, ())}
    if {"spring", "damper"} <= off:
        off.add("medium and gravity compensation")
    gone = []
    for what in (name for name in _DISABLED if name in off):
        for name in _DISABLED[what]:
            owner = model.opt if name.startswith("opt.") else model
            values = getattr(owner, name.removeprefix("opt."), None)  # MuJoCo's versions differ in what they have
            if values is None or not np.any(values):
                continue
            if isinstance(values, np.ndarray):
                values[:] = 0
            else:
                setattr(owner, name.removeprefix("opt."), 0.0)
            gone += [what] if what != "gravity" and what not in gone else []
    return (f"switched off by the file's flags, and left out: {', '.join(gone)}",) if gone else ()


def reflected(model: MjModel, k: int, name: str) -> float:
    """Return the "armature" or "damping" that an actuator adds to a hinge or slide: gear^2 times its own."""
    actuator = int(model.jnt_actuatorid[k]) if hasattr(model, "jnt_actuatorid") else -1
    if actuator < 0:
        return 0.0
    gear, own = float(model.actuator_gear[actuator][0]), np.atleast_1d(getattr(model, f"actuator_{name}")[actuator])
    return gear**2 * float(own[0])


def warn_of_passive_forces(model: MjModel, where: str) -> None:
    """Warn of what MuJoCo adds to the torque and the robot does not have: gravity compensation, tendons that act, and more."""
    massive = (model.body_mass > 0) & (np.arange(model.nbody) > 0)
    compensated = int(((model.body_gravcomp != 0) & massive).sum())
    if compensated:
        every_body = compensated == int(massive.sum()) and bool(np.all(model.body_gravcomp[massive] == 1))
        hint = (
            " robot.with_gravity((0, 0, 0)) has the same effect, since every body is compensated." if every_body else ""
        )
        warn(
            "{where}: gravity is in tau here; MuJoCo compensates it for {compensated} bodies.{hint}",
            where=where,
            compensated=compensated,
            hint=hint,
        )
    if acting := _acting(model):
        warn(
            "{where}: {ntendon} tendons are ignored, and with them their {acting:,}.",
            where=where,
            ntendon=model.ntendon,
            acting=acting,
        )
    bent = [name for name in _POLYNOMIALS if np.any(getattr(model, name, 0))]
    if bent:
        warn("{where}: damping and springs that are not linear are taken as linear ({bent:,}).", where=where, bent=bent)
    several = [k for k in range(model.njnt) if int(model.jnt_type[k]) < 2]
    own = [k for k in several if _acts(model, k)]
    if own:
        names = ", ".join(model.joint(k).name or f"joint{k}" for k in own[:4])
        warn(
            "{where}: springs, damping, friction and armature of free and ball joints are ignored ({names}).",
            where=where,
            names=names,
        )


def _acting(model: MjModel) -> list[str]:
    """Return what tendons do by themselves, or through the actuators that pull at them."""
    pulling = [int(a) for a in getattr(model, "tendon_actuatorid", ()) if a >= 0]
    return [
        name
        for name in ("stiffness", "damping", "frictionloss", "armature")
        if np.any(getattr(model, f"tendon_{name}"))
        or (pulling and np.any(getattr(model, f"actuator_{name}", np.zeros(model.nu))[pulling]))
    ]


def _acts(model: MjModel, k: int) -> bool:
    """Return whether a free or ball joint has a spring, damping, friction or armature of its own."""
    first = int(model.jnt_dofadr[k])
    rates = slice(first, first + (6 if int(model.jnt_type[k]) == 0 else 3))
    parts = (model.dof_damping, model.dof_frictionloss, model.dof_armature)
    driven = any(reflected(model, k, name) for name in ("armature", "damping"))
    return bool(model.jnt_stiffness[k]) or driven or any(bool(np.any(part[rates])) for part in parts)


def passive_notes(model: MjModel) -> list[str]:
    """Return notes on what only carries actuators, or acts from outside: tendons and the surrounding medium."""
    notes = []
    if model.ntendon and not _acting(model):
        notes.append(f"{model.ntendon} tendons, which only carry actuators, are left out")
    if model.opt.density or model.opt.viscosity:
        notes.append("forces of the medium (density, viscosity) are left out")
    return notes
