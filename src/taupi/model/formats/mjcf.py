"""MuJoCo XML (MJCF), compiled by the `mujoco` package and read from the compiled model."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from taupi.model.body import NO_BODY, Body, body_from_com
from taupi.model.floating import FREE_JOINT
from taupi.model.formats import urdf, xml_tree
from taupi.model.formats.description_warnings import warn_of_description, warn_of_snaps
from taupi.model.formats.file_tree import Mimic, Tree, TreeFrame, TreeJoint
from taupi.model.formats.link_tree import motion, robot_from_tree
from taupi.model.formats.mjcf_compile import compiled, mujoco_module
from taupi.model.formats.mjcf_constraints import Constraints, constraints_of
from taupi.model.formats.mjcf_passive import passive_notes, reflected, warn_of_passive_forces
from taupi.model.formats.serial_arm import warn_not_physical
from taupi.model.formats.text_file import read_text
from taupi.model.placement import Placement, matmul, rotation_from_quaternion, transpose
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL, FREE, Friction, Limits, Source, Transmission
from taupi.model.scalars import (
    SNAP_LENGTH,
    Matrix,
    SnapNotes,
    Vector,
    VectorLike,
    exact,
    note_snapped,
    snapped_unit_vector,
)

if TYPE_CHECKING:
    import numpy as np
    from mujoco import MjModel

WORLD = 0
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
    robot. `lock`, `tip` and `snap` are those of `taupi.model.formats.urdf.read`. A free joint stays free, unless `floating` is
    False; True lets a base float that has none. Where one of several trees moves freely, the one with the most joints is the
    robot, or the one whose root body is `root`. A file whose root element is <robot> is read as URDF.
    """
    text = read_text(path)
    file = Path(path)
    document = xml_tree.parse(text, file.name)
    if document.tag == "robot":
        return urdf.read(path, lock, tip, (0, 0, "-9.81") if gravity is None else gravity, snap, floating)
    model, notes = compiled(file)
    tree = _tree(model, document.attributes.get("model") or file.stem, file.name, snap)
    tree = dataclasses.replace(tree, notes=(*notes, *tree.notes))
    down = _gravity(model) if gravity is None else gravity
    robot = robot_from_tree(tree, lock, tip, down, snap, Source("mjcf", str(file), text), floating, root)
    warn_of_passive_forces(model, file.name)
    warn_of_snaps(tree)
    warn_not_physical(robot.links, file.name)
    warn_of_description(robot, file.name)
    return robot


def _gravity(model: MjModel) -> tuple[float, ...]:
    """Return the file's gravity: zero if a flag switches it off."""
    off = int(model.opt.disableflags) & int(mujoco_module().mjtDisableBit.mjDSBL_GRAVITY)
    return (0.0, 0.0, 0.0) if off else tuple(map(float, model.opt.gravity))


def _tree(model: MjModel, name: str, where: str, snap: bool) -> Tree:
    notes = SnapNotes()
    bodies = body_names(model)
    joints = joint_names(model)
    rules = constraints_of(model, joints, bodies, where)
    links: list[tuple[str, Body]] = [(bodies[WORLD], NO_BODY)]
    tree_joints: list[TreeJoint] = []
    between = _between(model, bodies, joints)
    for b in range(1, model.nbody):
        chain = _body_joints(model, b, bodies, joints, between, rules, where, snap, notes)
        tree_joints += chain
        links += [(j.child, NO_BODY) for j in chain[:-1]]
        links.append((bodies[b], _inertia(model, b, bodies[b])))
    taken = {link for link, _ in links} | {frame.name for frame in rules.frames}
    frames = list(rules.frames)
    for s in range(model.nsite):
        site = model.site(s).name
        if site and site not in taken:
            placement = _placement(model.site_pos[s], model.site_quat[s], snap, notes, f"site {site}")
            frames.append(TreeFrame(site, bodies[model.site_bodyid[s]], placement))
    notes += [*rules.notes, *passive_notes(model)]
    return Tree(
        name=name,
        where=where,
        links=tuple(links),
        joints=tuple(tree_joints),
        notes=tuple(notes),
        frames=tuple(frames),
        held=tuple(rules.held.items()),
        loops=tuple(rules.loops),
        large_snaps=tuple(notes.large),
    )


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


def _between(model: MjModel, bodies: Sequence[str], joints: Sequence[str]) -> dict[int, str]:
    """Return names of the massless links between the joints of a body, and of the fixed joints of bodies that have no joint.

    The keys are the numbers of those joints, and below zero, the numbers of those bodies.
    """
    names = {k: f"{bodies[int(model.jnt_bodyid[k])]}/{joints[k]}" for k in range(model.njnt)}
    names |= {-b: f"fixed {bodies[b]}" for b in range(1, model.nbody) if not model.body_jntnum[b]}
    taken = {*bodies, *joints}
    for key in names:
        while names[key] in taken:
            names[key] += "_"
        taken.add(names[key])
    return names


def joint_names(model: MjModel) -> list[str]:
    """Return the names of the joints; the only free joint is called base if it has no name."""
    names = [model.joint(k).name for k in range(model.njnt)]
    free = [k for k in range(model.njnt) if KINDS[int(model.jnt_type[k])] == FREE]
    if len(free) == 1 and not names[free[0]] and FREE_JOINT not in names:
        names[free[0]] = FREE_JOINT
    return _named(names, "joint")


def _body_joints(
    model: MjModel,
    b: int,
    bodies: Sequence[str],
    joints: Sequence[str],
    between: Mapping[int, str],
    rules: Constraints,
    where: str,
    snap: bool,
    notes: list[str],
) -> list[TreeJoint]:
    """Return the joints that carry a body, in order, or a fixed joint if it has none."""
    before = _placement(model.body_pos[b], model.body_quat[b], snap, notes, f"body {bodies[b]}")
    parent, first, count = bodies[model.body_parentid[b]], model.body_jntadr[b], model.body_jntnum[b]
    if not count:
        return [TreeJoint(between[-b], "fixed", parent, bodies[b], before)]
    result = []
    for k in range(first, first + count):
        child = bodies[b] if k == first + count - 1 else between[k]
        kind = KINDS[int(model.jnt_type[k])]
        if kind == FREE:  # its positions are those of the body in the world, whatever placement the file gives the body
            result.append(TreeJoint(joints[k], FREE, parent, child, home=before))
        elif kind == BALL:
            at = Placement(translation=_lengths(model.jnt_pos[k], snap))
            after = at.inverse() if any(at.translation) else Placement()
            result.append(TreeJoint(joints[k], BALL, parent, child, before @ at, after=after))
        else:
            mimic = rules.mimics.get(joints[k])
            result.append(_joint(model, k, joints[k], kind, parent, child, before, mimic, where, snap, notes))
        parent, before = child, Placement()
    return result


def _joint(
    model: MjModel,
    k: int,
    name: str,
    kind: str,
    parent: str,
    child: str,
    before: Placement,
    mimic: Mimic | None,
    where: str,
    snap: bool,
    notes: list[str],
) -> TreeJoint:
    at = Placement(translation=_lengths(model.jnt_pos[k], snap))
    axis, snapped = snapped_unit_vector([float(v) for v in model.jnt_axis[k]], f"{where}: joint {name!r}: axis", snap)
    note_snapped(notes, f"joint {name}: axis = {_printed(model.jnt_axis[k])}", snapped, "a coordinate axis")
    start = float(model.qpos0[model.jnt_qposadr[k]])
    reference, snapped = motion(kind, axis, -exact(start), snap)
    note_snapped(notes, f"joint {name}: ref = {start:.6g}", snapped)
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
        after=at.inverse() if any(at.translation) else Placement(),
        mimic=mimic,
        limits=_limits(model, k),
        friction=Friction(exact(damping), exact(float(model.dof_frictionloss[dof])), offset=-spring * rest),
        transmission=Transmission(rotor_inertia=exact(armature)),
        spring=spring,
    )


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
    return body_from_com(m, [float(v) for v in model.body_ipos[b]], _diagonal(rotation, principal), name)


def _diagonal(r: Matrix, principal: Sequence[float]) -> Matrix:
    """Return R D R^T, the tensor with these principal moments of inertia."""
    a, b, c = (exact(v) for v in principal)
    zero = Fraction(0)
    return matmul(matmul(r, ((a, zero, zero), (zero, b, zero), (zero, zero, c))), transpose(r))


def _placement(position: np.ndarray, quaternion: np.ndarray, snap: bool, notes: list[str], who: str) -> Placement:
    w, x, y, z = map(float, quaternion)
    if x == y == z == 0:
        return Placement(translation=_lengths(position, snap))
    rotation, snapped = rotation_from_quaternion(w, x, y, z, snap)
    note_snapped(notes, f"{who}: quat = {_printed(quaternion)}", snapped, "ratios of 0 and 1")
    return Placement(rotation, _lengths(position, snap))


def _printed(values: np.ndarray) -> str:
    return " ".join(f"{float(v):.6g}" for v in values)


def _lengths(values: np.ndarray, snap: bool) -> Vector:
    least = SNAP_LENGTH if snap else 0.0
    # NaN is not below anything: it stays, and is refused.
    return tuple(Fraction(0) if abs(v) < least else exact(float(v), "a position") for v in values)  # type: ignore[return-value]
