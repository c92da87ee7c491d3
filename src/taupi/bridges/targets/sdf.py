"""SDF: Gazebo's own format, which Drake reads too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from taupi.bridges.alignment import vector_of
from taupi.bridges.mujoco.joint_attributes import JointAttributes, number_text, numbers_text
from taupi.bridges.mujoco.new_mjcf import element
from taupi.bridges.targets.bodies import JointedLink, base_name, roll_pitch_yaw
from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import Place, Target, register
from taupi.errors import TaupiError
from taupi.model.robot_parts import BASE

# Without these, SDF would take 1 kg and 1 kg m^2.
_LEAST_MASS, _LEAST_INERTIA = 1e-9, 1e-12


@register
class Sdf(Target):
    """One model, with links posed relative to their joints, without shapes."""

    name: ClassVar[str] = "sdf"
    title: ClassVar[str] = "SDF"
    versions: ClassVar[tuple[str, ...]] = ("1.11", "1.9")
    places: ClassVar[Mapping[str, Place]] = {
        "damping": Place("axis/dynamics/damping"),
        "dry_friction": Place("axis/dynamics/friction"),
        "stiffness": Place("axis/dynamics/spring_stiffness"),
        "offset": Place(
            "axis/dynamics/spring_reference", least=None, note="a spring of 1e-6 N m/rad that rests far away"
        ),
        "effort": Place("axis/limit/effort"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "There is no rotor inertia in SDF.",
        "Read back with Drake, which takes damping and springs and ignores friction; Gazebo itself was not run.",
    )
    checked: ClassVar[str] = "run"
    link: ClassVar[str] = "http://sdformat.org/spec?elem=joint"

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the SDF."""
        return {f"{passport.name}.sdf": _text(passport)}


def _text(passport: Passport) -> str:
    robot, root = passport.robot, base_name(passport.robot)
    followers = [piece.joint.name for piece in passport.pieces if piece.master]
    if followers:
        raise TaupiError(
            "{robot} has joints that follow others ({followers:,}), which engines read from SDF in different ways.",
            remedy="Write it for MuJoCo or as URDF.",
            robot=robot.name,
            followers=followers,
        )
    lines = [
        element("sdf", {"version": passport.version}, close=False),
        f"  <!-- gravity is the world's: {numbers_text(vector_of(robot.gravity, robot))} m/s^2 -->",
        "  " + element("model", {"name": robot.name}, close=False),
    ]
    if not all(piece.free for piece in passport.pieces if piece.parent == BASE):
        lines += [f"    {line}" for line in _base(root)]
    for piece in passport.pieces:
        lines += [f"    {line}" for line in (*_link(piece), *_joint(piece, passport, root))]
    return "\n".join([*lines, "  </model>", "</sdf>", ""])


def _base(root: str) -> list[str]:
    return [
        element("link", {"name": root}, close=False),
        *("  " + line for line in _inertial(_LEAST_MASS, np.zeros(3), np.zeros((3, 3)))),
        "</link>",
        element("joint", {"name": f"{root}_to_world", "type": "fixed"}, close=False),
        "  <parent>world</parent>",
        f"  {_tag('child', root)}",
        "</joint>",
    ]


def _link(piece: JointedLink) -> list[str]:
    pose = _pose(piece.world if piece.free else np.eye(4), "" if piece.free else piece.joint.name)
    inertial = _inertial(max(piece.mass, _LEAST_MASS), piece.com, piece.inertia)
    return [element("link", {"name": piece.link}, close=False), f"  {pose}", *("  " + t for t in inertial), "</link>"]


def _inertial(mass: float, com: np.ndarray, inertia: np.ndarray) -> list[str]:
    if np.linalg.eigvalsh(inertia)[0] < _LEAST_INERTIA:
        inertia = inertia + _LEAST_INERTIA * np.eye(3)
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    entries = "".join(_tag(name, number_text(inertia[at])) for name, at in names.items())
    return [
        "<inertial>",
        f"  <pose>{numbers_text([*com, 0, 0, 0])}</pose>",
        f"  {_tag('mass', number_text(mass))}",
        f"  <inertia>{entries}</inertia>",
        "</inertial>",
    ]


def _joint(piece: JointedLink, passport: Passport, root: str) -> list[str]:
    if piece.free:
        return []
    joint, values = piece.joint, passport.joints[piece.joint.name]
    parent = root if piece.parent == BASE else passport.pieces[piece.parent].link
    limits = [_tag(name, number_text(v)) for name, v in zip(("lower", "upper"), piece.range or (), strict=False)]
    effort = passport.drives[joint.name].effort
    limits += [_tag("effort", number_text(effort))] if effort is not None else []
    limits += [_tag("velocity", number_text(joint.limits.velocity))] if joint.limits.velocity else []
    spring = JointAttributes.of(values)
    dynamics = {"damping": values.damping, "friction": values.dry_friction}
    if spring.stiffness:
        dynamics |= {"spring_reference": spring.springref, "spring_stiffness": spring.stiffness}
    return [
        element("joint", {"name": joint.name, "type": "prismatic" if joint.prismatic else "revolute"}, close=False),
        f"  {_pose(piece.pose, parent)}",
        f"  {_tag('parent', parent)}",
        f"  {_tag('child', piece.link)}",
        "  <axis>",
        f"    <xyz>{numbers_text(piece.axis)}</xyz>",
        f"    <limit>{''.join(limits)}</limit>",
        f"    <dynamics>{''.join(_tag(name, number_text(v)) for name, v in dynamics.items())}</dynamics>",
        "  </axis>",
        "</joint>",
    ]


def _pose(pose: np.ndarray, to: str) -> str:
    start = element("pose", {"relative_to": to} if to else {}, close=False)
    return f"{start}{numbers_text([*pose[:3, 3], *roll_pitch_yaw(pose[:3, :3])])}</pose>"


def _tag(name: str, text: str) -> str:
    from xml.sax.saxutils import escape  # importing it loads half of the standard library

    return f"<{name}>{escape(text)}</{name}>"
