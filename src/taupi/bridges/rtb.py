"""Robotics Toolbox for Python: a robot as a roboticstoolbox.Robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.alignment import central, matrix_of, moved_body, vector_of
from taupi.bridges.identified import JointValues, identified
from taupi.bridges.packages import needed
from taupi.errors import TaupiError
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE

if TYPE_CHECKING:
    from roboticstoolbox import ERobot

FIELDS = ("armature", "damping", "dry_friction", "offset")


def to_rtb(source: Robot | Fit, anyway: bool = False) -> ERobot:
    """Return a robot or a fit as a `roboticstoolbox.Robot`: links with masses, friction, rotors, limits.

    A joint turns about, or slides along, the z-axis of its link there. `B` is viscous friction, `Tc` dry friction in both
    directions including a constant torque, and `Jm` the rotor's inertia behind the gear, with `G` = 1; its `robot.rne` includes
    all of it. The tool is the robot's tip. Springs have no place, and a warning says so.

    Args:
        source: A robot, or a fit.
        anyway: Whether a fit whose verdict is wrong is taken all the same, False by default.

    >>> import taupi as tp  # doctest: +SKIP
    >>> tp.load("puma560").to_rtb().fkine([0] * 6)  # doctest: +SKIP
    """
    rtb = needed("roboticstoolbox", "rtb", "to_rtb")
    taken = identified(source, anyway)
    robot = taken.robot
    odd = [j.name for j in robot.joints if j.kind in MULTIPLE or j.mimic]
    if odd:
        raise TaupiError(
            "{robot}: {odd:,} follow other joints or have several degrees of freedom, for which the "
            "Robotics Toolbox has no links.",
            robot=robot.name,
            odd=odd,
        )
    values = dict(robot.symbols)
    links: list[object] = []
    # F: the joint's own frame, with the axis as z, in our link frame.
    within: list[np.ndarray] = []
    for k, joint in enumerate(robot.joints):
        turn = np.eye(4)
        turn[:3, :3] = _with_z(vector_of(joint.axis, robot))
        before = matrix_of(joint.before, values) @ turn
        constant = before if joint.parent < 0 else np.linalg.inv(within[joint.parent]) @ before
        within.append(np.linalg.inv(turn.T @ matrix_of(joint.after, values)))
        m, c, inertia = central(moved_body(taken.bodies[k], within[k]))
        motion = (rtb.ET.tz if joint.prismatic else rtb.ET.Rz)(jindex=joint.coordinate)
        links.append(
            rtb.Link(
                rtb.ETS([rtb.ET.SE3(_orthogonal(constant)), motion]),
                name=robot.links[k].name,
                parent=links[joint.parent] if joint.parent >= 0 else None,
                joint_name=joint.name,
                m=m,
                r=c,
                I=inertia,
                G=1.0,
                **_drive(taken.joints[joint.name]),
                **_limits(joint.limits.lower, joint.limits.upper),
            )
        )
    tip = robot.frame("tip")
    tool = np.linalg.inv(within[tip.link]) @ matrix_of(tip.placement, values) if tip.link == len(links) - 1 else None
    result = rtb.Robot(
        links,
        name=robot.name,
        gravity=vector_of(robot.gravity, robot),
        base=_orthogonal(matrix_of(robot.base, values)),
        tool=None if tool is None else _orthogonal(tool),
    )
    taken.warn_of_unplaced(FIELDS, "a robot of the Robotics Toolbox")
    return result


def _drive(joint: JointValues) -> dict[str, object]:
    return {
        "Jm": joint.armature,
        "B": joint.damping,
        "Tc": [joint.dry_friction + joint.offset, -joint.dry_friction + joint.offset],
    }


def _limits(lower: float | None, upper: float | None) -> dict[str, object]:
    return {} if lower is None or upper is None else {"qlim": [lower, upper]}


def _with_z(axis: np.ndarray) -> np.ndarray:
    """Return a rotation whose third column is a unit vector; the identity for z itself."""
    z = axis / np.linalg.norm(axis)
    if z[2] > 1 - 1e-15:
        return np.eye(3)
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = other - (other @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _orthogonal(pose: np.ndarray) -> np.ndarray:
    """Return a pose whose rotation is orthogonal to double precision, as the toolbox requires."""
    left, _, right = np.linalg.svd(pose[:3, :3])
    result = pose.copy()
    result[:3, :3] = left @ right
    return result
