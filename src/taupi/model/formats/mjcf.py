"""MuJoCo XML (MJCF), compiled by the `mujoco` package and read from the compiled model."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from taupi.errors import TaupiError, TaupiWarning
from taupi.model.body import NO_BODY, Body, body_from_com
from taupi.model.formats import urdf, xml_tree
from taupi.model.formats.link_tree import Tree, TreeJoint, motion, robot_from_tree
from taupi.model.formats.mjcf_check import check_mjcf
from taupi.model.formats.serial_arm import warn_not_physical
from taupi.model.formats.text_file import read_text
from taupi.model.placement import Placement, matmul, rotation_from_quaternion, transpose
from taupi.model.robot import Robot
from taupi.model.robot_parts import Friction, Limits, Source, Transmission
from taupi.model.scalars import SNAP_LENGTH, Matrix, Vector, VectorLike, exact, note_snapped, snapped_unit_vector

if TYPE_CHECKING:
    import numpy as np
    from mujoco import MjModel

WORLD = 0


def read(
    path: str | os.PathLike[str],
    gravity: VectorLike | None = None,
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    snap: bool = True,
) -> Robot:
    """Return the robot of the MuJoCo XML file at `path`: its tree of bodies with hinge and slide joints.

    A joint at p in its body's frame moves the body by T(p) motion(axis, q - ref) T(-p); several joints of one body follow
    each other, with massless links `body/joint` between them. `armature` becomes the rotor inertia (with a gear ratio of 1),
    `damping` viscous friction and `frictionloss` Coulomb friction. `gravity` (m/s^2) is the file's by default. Bodies without
    joints are merged into the body that they are fixed to, but stay as frames, and so do sites. `lock`, `tip` and `snap` are
    those of `taupi.model.formats.urdf.read`. A file whose root element is <robot> is read as URDF.
    """
    text = read_text(path)
    file = Path(path)
    root = xml_tree.parse(text, file.name)
    if root.tag == "robot":
        return urdf.read(path, lock, tip, (0, 0, "-9.81") if gravity is None else gravity, snap)
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise TaupiError(f"{file.name}: the root element is <{root.tag[:40]}>, expected <mujoco> or <robot>.")
    check_mjcf(root, file)
    model = compiled(file)
    _warn_ignored(model, file.name)
    tree = _tree(model, root.attributes.get("model") or file.stem, file.name, snap)
    down = tuple(map(float, model.opt.gravity)) if gravity is None else gravity
    robot = robot_from_tree(tree, lock, tip, down, snap, Source("mjcf", str(file), text))
    warn_not_physical(robot.links, file.name)
    return robot


def _mujoco() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise TaupiError("Reading MJCF needs the mujoco package. Install it with: pip install taupi[mjcf]") from None
    return mujoco


def compiled(file: Path) -> MjModel:
    """Return the model of an MJCF file, compiled by MuJoCo."""
    mujoco = _mujoco()
    try:
        return mujoco.MjModel.from_xml_path(str(file))
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        reason = re.sub(r"\s+", " ", str(error)).strip().removeprefix("XML Error: ").removeprefix("Error: ")
        raise TaupiError(f"{file.name}: MuJoCo cannot compile it: {reason[:300].rstrip('.')}.") from None


def _warn_ignored(model: MjModel, where: str) -> None:
    counts = {
        "equality constraints": model.neq,
        "tendons": model.ntendon,
        "joint springs": int((model.jnt_stiffness != 0).sum()),
    }
    ignored = [f"{count} {what}" for what, count in counts.items() if count]
    if ignored:
        message = f"{where}: {' and '.join(ignored)} ignored; the robot is the bare tree of bodies and joints."
        warnings.warn(message, TaupiWarning, stacklevel=3)


def _tree(model: MjModel, name: str, where: str, snap: bool) -> Tree:
    bodies = [model.body(b).name or f"body{b}" for b in range(model.nbody)]
    links: list[tuple[str, Body]] = [(bodies[WORLD], NO_BODY)]
    joints: list[TreeJoint] = []
    notes: list[str] = []
    for b in range(1, model.nbody):
        chain = _body_joints(model, b, bodies, where, snap, notes)
        joints += chain
        links += [(j.child, NO_BODY) for j in chain[:-1]]
        links.append((bodies[b], _inertia(model, b, bodies[b])))
    for s in range(model.nsite):
        site = model.site(s).name
        if site and site not in (n for n, _ in links):
            placement = _placement(model.site_pos[s], model.site_quat[s], snap, notes, f"site {site}")
            joints.append(TreeJoint(f"site {site}", "fixed", bodies[model.site_bodyid[s]], site, placement))
            links.append((site, NO_BODY))
    return Tree(name, where, tuple(links), tuple(joints), tuple(notes))


def _body_joints(
    model: MjModel, b: int, bodies: Sequence[str], where: str, snap: bool, notes: list[str]
) -> list[TreeJoint]:
    """Return the joints that carry a body, in order, or a fixed joint if it has none."""
    before = _placement(model.body_pos[b], model.body_quat[b], snap, notes, f"body {bodies[b]}")
    parent, first, count = bodies[model.body_parentid[b]], model.body_jntadr[b], model.body_jntnum[b]
    if not count:
        return [TreeJoint(f"fixed {bodies[b]}", "fixed", parent, bodies[b], before)]
    result = []
    for k in range(first, first + count):
        name = model.joint(k).name or f"joint{k}"
        child = bodies[b] if k == first + count - 1 else f"{bodies[b]}/{name}"
        result.append(_joint(model, k, name, parent, child, before, where, snap, notes))
        parent, before = child, Placement()
    return result


def _joint(
    model: MjModel,
    k: int,
    name: str,
    parent: str,
    child: str,
    before: Placement,
    where: str,
    snap: bool,
    notes: list[str],
) -> TreeJoint:
    kinds = {0: "free", 1: "ball", 2: "prismatic", 3: "revolute"}
    kind = kinds[int(model.jnt_type[k])]
    if kind in ("free", "ball"):
        raise TaupiError(
            f"{where}: joint {name!r} is a {kind} joint, expected a hinge or slide joint. "
            "Remove it to fix the body, or replace it by hinges and slides."
        )
    at = Placement(translation=_lengths(model.jnt_pos[k], snap))
    axis, snapped = snapped_unit_vector([float(v) for v in model.jnt_axis[k]], f"{where}: joint {name!r}: axis", snap)
    note_snapped(notes, f"joint {name}: axis = {_printed(model.jnt_axis[k])}", snapped, "a coordinate axis")
    start = float(model.qpos0[model.jnt_qposadr[k]])
    reference, snapped = motion(kind, axis, -exact(start), snap)
    note_snapped(notes, f"joint {name}: ref = {start:.6g}", snapped)
    dof = model.jnt_dofadr[k]
    return TreeJoint(
        name=name,
        kind=kind if model.jnt_limited[k] or kind == "prismatic" else "continuous",
        parent=parent,
        child=child,
        before=before @ at @ reference,
        axis=axis,
        after=at.inverse() if any(at.translation) else Placement(),
        limits=_limits(model, k),
        friction=Friction(exact(float(model.dof_damping[dof])), exact(float(model.dof_frictionloss[dof]))),
        transmission=Transmission(rotor_inertia=exact(float(model.dof_armature[dof]))),
    )


def _limits(model: MjModel, k: int) -> Limits:
    lower, upper = map(float, model.jnt_range[k]) if model.jnt_limited[k] else (None, None)
    effort = float(max(abs(model.jnt_actfrcrange[k]))) if model.jnt_actfrclimited[k] else None
    return Limits(lower, upper, None, effort)


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
