"""A given MJCF with other inertials and joint attributes: these change in its text, every other byte stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.alignment import ArmAtZero, central, link_frames, matched_joints, matrix_of, moved_body, vector_of
from taupi.bridges.identified import Identified, unreal
from taupi.bridges.mujoco.joint_attributes import JointAttributes, numbers_text
from taupi.errors import TaupiError, warn
from taupi.model.formats import mjcf, xml_tree
from taupi.model.formats.description import read_text
from taupi.model.formats.mjcf_compile import compiled, mujoco_module
from taupi.model.formats.xml_tree import Edit, Node, edited, insert_first, set_attributes
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE

if TYPE_CHECKING:
    import mujoco

# Relative to the largest entry: rounding of MuJoCo's principal axes.
_EQUAL = 1e-12
_LEAST_MASS, _LEAST_INERTIA = 1e-9, 1e-12
_HINGE = 3  # of mjtJoint
_ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")


@dataclass(frozen=True, eq=False)
class MjcfFile:
    """An MJCF file: its text, its elements by number in the compiled model, and the robot that it describes.

    Attributes:
        path: Its path.
        text: Its text.
        model: The model that MuJoCo compiles.
        degrees: Whether angles in it are in degrees.
        bodies: The elements of the bodies, by number.
        robot: Its robot, with those joints held that ours does not have.
        joints: The names of its joints, by ours.
        least: The least mass and the least moment of inertia that MuJoCo gives a body of this file.
    """

    path: Path
    text: str
    model: mujoco.MjModel
    degrees: bool
    bodies: Mapping[int, Node]
    robot: Robot
    joints: Mapping[str, str]
    least: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def read(cls, path: Path, ours: Robot) -> MjcfFile:
        """Return the file at `path`; joints that our robot does not have are held where our reader held them, or at zero."""
        text, model = read_text(path), compiled(path)[0]
        root = xml_tree.parse(text, path.name)
        if root.tag not in ("mujoco", "mujocoinclude"):
            raise TaupiError(
                "{file}: the root element is <{tag}>, expected <mujoco>.", file=path.name, tag=root.tag[:40]
            )
        spec = mujoco_module().MjSpec.from_file(str(path))
        _refuse_compiler(spec.compiler, path.name, fused=len(spec.bodies) > model.nbody)
        robot = mjcf.read(path)
        names = [j.name for j in robot.joints]  # bodies from the file itself are not among them
        matches = matched_joints([j.name for j in ours.joints], names, path.name, ours.name)
        extra = [name for name in names if name not in matches.values()]
        if extra:
            held = dict(ours.source.lock)
            robot = mjcf.read(path, lock={name: float(held.get(name, 0)) for name in extra})
        least = float(spec.compiler.boundmass), float(spec.compiler.boundinertia)
        return cls(path, text, model, bool(spec.compiler.degree), _body_nodes(root, model), robot, matches, least)

    def inertia(self, b: int) -> np.ndarray:
        """Return the ten parameters of body number `b` in its own frame, as MuJoCo has them."""
        mujoco, m = mujoco_module(), self.model
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, m.body_iquat[b])
        r, mass, c = turn.reshape(3, 3), float(m.body_mass[b]), m.body_ipos[b]
        about = r @ np.diag(m.body_inertia[b]) @ r.T + mass * (c @ c * np.eye(3) - np.outer(c, c))
        return np.array([mass, *(mass * c), *about[np.triu_indices(3)]])


def updated_text(source: Identified, file: MjcfFile) -> str:
    """Return the text of a file with the parameters of an identified robot."""
    ours, theirs = source.robot, file.robot
    names = file.joints
    order = {j.name: k for k, j in enumerate(theirs.joints)}
    arranged = ArmAtZero.of(theirs).chosen([order[names[j.name]] for j in ours.joints])
    frames = link_frames(ours, arranged, vector_of(theirs.gravity, theirs), file.path.name)
    data = file.text.encode("utf-8")
    newline = "\r\n" if "\r\n" in file.text else "\n"
    edits: list[Edit] = []
    for joint, body in zip(ours.joints, source.bodies, strict=True):
        k = order[names[joint.name]]
        for b, own in _own_bodies(file, k, moved_body(body, frames[joint.name])).items():
            _refuse_lighter(file, b, own)
            edits += _inertial_edits(data, file.bodies[b], own, newline)
        if joint.kind not in MULTIPLE:
            wanted = JointAttributes.of(source.joints[joint.name])
            rest = wanted.springref + mjcf.follower_offset(file.model, names[joint.name])
            wanted = dataclasses.replace(wanted, springref=rest)
            edits += _joint_edits(data, file, names[joint.name], wanted)
    return edited(data, edits).decode("utf-8")


# Bodies -----------------------------------------------------------------------------------------------------------


def _own_bodies(file: MjcfFile, k: int, asked: np.ndarray) -> dict[int, np.ndarray]:
    """Return new bodies by number, for link `k` of the file's robot with its parameters in its own frame.

    Bodies that are fixed to it keep theirs; if no real body would be left, all share it in proportion to their masses.
    """
    robot, names = file.robot, mjcf.body_names(file.model)
    link = robot.links[k].name
    placed = {f.name: f.placement for f in robot.frames}
    fixed = [name for name in dict(robot.source.merged).get(link, ()) if name in names]
    # The body that the joint itself moves comes first; between two joints there is no body, but something may be fixed there.
    poses = {names.index(link): np.eye(4)} if link in names else {}
    poses |= {names.index(name): matrix_of(placed[name]) for name in fixed}
    bodies = {b: file.inertia(b) for b in poses}
    seen = {b: moved_body(body, np.linalg.inv(poses[b])) for b, body in bodies.items()}
    if _same(sum(seen.values(), start=np.zeros(10)), asked):
        return {}
    if not poses:
        raise TaupiError(
            "MJCF has no body between two joints of one body, and {link} has mass or inertia there.", link=link
        )
    first, *others = poses
    own = moved_body(asked - sum((seen[b] for b in others), start=np.zeros(10)), poses[first])
    if others and unreal(own) and not unreal(asked):
        return _shared(file, poses, bodies, asked, names[first])
    if why := unreal(own):
        raise TaupiError("MuJoCo would refuse body {name!r}: {why}.", name=names[first], why=why)
    _refuse_missing(file, [first])
    return {first: own}


def _shared(
    file: MjcfFile, poses: Mapping[int, np.ndarray], bodies: Mapping[int, np.ndarray], asked: np.ndarray, link: str
) -> dict[int, np.ndarray]:
    masses = {f: max(float(body[0]), 0.0) for f, body in bodies.items()}
    total = sum(masses.values())
    shares = {f: m / total for f, m in masses.items()} if total else {f: 1 / len(masses) for f in masses}
    parts = {f: moved_body(share * asked, poses[f]) for f, share in shares.items() if share}
    _refuse_missing(file, list(parts))
    names = mjcf.body_names(file.model)
    fixed = ", ".join(names[f] for f in parts if names[f] != link)
    warn(
        "Body {link!r} without {fixed} would not be a real body. So its parameters are shared among all of them, "
        "in proportion to their masses in the file.",
        link=link,
        fixed=fixed,
    )
    return parts


def _refuse_missing(file: MjcfFile, numbers: Sequence[int]) -> None:
    for b in numbers:
        if b not in file.bodies:
            raise TaupiError(
                "{file} has no element of body {body_name!r} of its own: it includes, attaches or replicates it.",
                remedy="Give the file that has the bodies themselves.",
                file=file.path.name,
                body_name=mjcf.body_names(file.model)[b],
            )


def _refuse_lighter(file: MjcfFile, b: int, own: np.ndarray) -> None:
    """Refuse a body that MuJoCo would make heavier by the file's boundmass or boundinertia."""
    m, _, inertia = central(own)
    if m < file.least[0] or np.linalg.eigvalsh(inertia)[0] < file.least[1]:
        raise TaupiError(
            "{file} has the compiler setting boundmass or boundinertia, with which MuJoCo would make body "
            "{body_name!r} heavier than it is.",
            remedy="Take it out of the file first.",
            file=file.path.name,
            body_name=mjcf.body_names(file.model)[b],
        )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= _EQUAL * max(np.abs(a).max(), np.abs(b).max(), _LEAST_MASS))


# Edits ------------------------------------------------------------------------------------------------------------


def inertial_attributes(body: np.ndarray) -> dict[str, str]:
    """Return the attributes of <inertial>: a diagonal inertia if the body's axes are principal, else the full one.

    MuJoCo accepts no body without mass or without a moment of inertia; such a body gets 1e-9 kg, 1e-12 kg m^2.
    """
    m, c, inertia = central(body)
    m = max(m, _LEAST_MASS)
    if np.linalg.eigvalsh(inertia)[0] < _LEAST_INERTIA:
        inertia = inertia + _LEAST_INERTIA * np.eye(3)
    off = np.array([inertia[0, 1], inertia[0, 2], inertia[1, 2]])
    result = {"pos": numbers_text(c), "mass": numbers_text([m])}
    if np.abs(off).max() <= _EQUAL * np.abs(inertia).max():
        return {**result, "diaginertia": numbers_text(np.diag(inertia))}
    return {**result, "fullinertia": numbers_text([*np.diag(inertia), *off])}


def _inertial_edits(data: bytes, node: Node, body: np.ndarray, newline: str) -> list[Edit]:
    wanted = inertial_attributes(body)
    inertial = node.first("inertial")
    if inertial is None:
        element = "<inertial " + " ".join(f'{name}="{text}"' for name, text in wanted.items()) + "/>"
        return [insert_first(data, node, element.encode(), newline)]
    gone = (*_ORIENTATIONS, "diaginertia", "fullinertia")
    return set_attributes(data, inertial, {**dict.fromkeys(n for n in gone if n not in wanted), **wanted})


def _joint_edits(data: bytes, file: MjcfFile, name: str, wanted: JointAttributes) -> list[Edit]:
    """Return the edits of a joint's attributes that MuJoCo has other values for, from its element or from its class."""
    model = file.model
    k = mjcf.joint_names(model).index(name)
    b, dof = int(model.jnt_bodyid[k]), int(model.jnt_dofadr[k])
    now = JointAttributes(
        float(model.dof_armature[dof]),
        float(model.dof_damping[dof]),
        float(model.dof_frictionloss[dof]),
        float(model.jnt_stiffness[k]),
        float(model.qpos_spring[model.jnt_qposadr[k]])
        if model.jnt_stiffness[k] and wanted.stiffness
        else wanted.springref,
    )
    curved = [
        key for key, bent in (("damping", _bent(model, "dof", dof)), ("stiffness", _bent(model, "jnt", k))) if bent
    ]
    in_degrees = file.degrees and int(model.jnt_type[k]) == _HINGE
    after = wanted.texts(in_degrees)
    begins = ["springref"] if wanted.stiffness and not now.stiffness else []  # MuJoCo keeps none without a spring
    changed = {
        key: text
        for key, text in after.items()
        if key in (*curved, *begins) or not isclose(getattr(now, key), getattr(wanted, key), rel_tol=_EQUAL)
    }
    if not changed:
        return []
    _refuse_missing(file, [b])
    node = list(_joint_nodes(file.bodies[b]))[k - int(model.body_jntadr[b])]
    return set_attributes(data, node, changed)


def _bent(model: object, owner: str, row: int) -> bool:
    """Return whether damping ("dof") or a spring ("jnt") is nonlinear, as newer releases of MuJoCo allow."""
    table = getattr(model, "dof_dampingpoly" if owner == "dof" else "jnt_stiffnesspoly", None)
    return table is not None and bool(np.any(table[row]))


def _body_nodes(root: Node, model: mujoco.MjModel) -> dict[int, Node]:
    """Return the elements of bodies by their number in the compiled model: all, in order, or those with their own name."""
    nodes = [node for world in root.all("worldbody") for node in _bodies_below(world)]
    names = [model.body(b).name for b in range(model.nbody)]
    if [node.attributes.get("name", "") for node in nodes] == names[1:]:
        return dict(enumerate(nodes, start=1))
    by_name = {node.attributes["name"]: node for node in nodes if node.attributes.get("name")}
    return {b: by_name[name] for b, name in enumerate(names) if name in by_name}


def _bodies_below(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.tag == "body":
            yield child
        if child.tag in ("body", "frame"):
            yield from _bodies_below(child)


def _joint_nodes(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.tag in ("joint", "freejoint"):
            yield child
        elif child.tag == "frame":
            yield from _joint_nodes(child)


def _refuse_compiler(compiler: mujoco.MjsCompiler, where: str, fused: bool) -> None:
    """Refuse settings that make MuJoCo use other masses than <inertial> states, and `fused` bodies."""
    mujoco = mujoco_module()
    if compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE:
        problem = 'inertiafromgeom="true", by which MuJoCo takes inertias from shapes alone'
    elif compiler.settotalmass > 0:
        problem = f"settotalmass={compiler.settotalmass:g}, by which MuJoCo scales all masses"
    elif compiler.fusestatic and fused:
        problem = 'fusestatic="true", by which MuJoCo adds bodies without joints to those that carry them'
    else:
        return
    raise TaupiError(
        "{where} has the compiler setting {problem}.",
        remedy="Take it out of the file first.",
        where=where,
        problem=problem,
    )
