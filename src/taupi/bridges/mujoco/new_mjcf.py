"""A new MJCF of a robot: bodies, joints and motors; links are drawn as sticks, since the shapes stay in the robot's file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from taupi.bridges.alignment import matrix_of, vector_of
from taupi.bridges.identified import Identified
from taupi.bridges.mujoco.edited_mjcf import inertial_attributes
from taupi.bridges.mujoco.engine import HARD_SOLIMP, HARD_SOLREF
from taupi.bridges.mujoco.joint_attributes import JointAttributes, numbers_text
from taupi.dynamics.orientation import quaternion
from taupi.errors import TaupiError
from taupi.model.requirements import require_tree
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL, BASE, FREE, Joint
from taupi.model.scalars import to_float

_FORBIDDEN = re.compile(r"[\x00-\x1f]")
_HARD_FRICTION = {"solreffriction": numbers_text(HARD_SOLREF), "solimpfriction": numbers_text(HARD_SOLIMP)}
# The thickness of sticks, relative to the size of the arm.
_THIN = 0.02
MOTORS: Mapping[str, str] = {}  # no actuator but motors


def new_text(
    source: Identified, actuators: Mapping[str, str] | None = MOTORS, options: Mapping[str, str] | None = None
) -> str:
    """Return an MJCF of an identified robot, whose bodies have the frames of the robot's links.

    `actuators` are elements by the name of their joint, a motor for each joint that is not among them, and none at all for None;
    `options` are further attributes of <option>.
    """
    return _Writer(source, actuators, options or {}).text()


class _Writer:
    def __init__(self, source: Identified, actuators: Mapping[str, str] | None, options: Mapping[str, str]) -> None:
        self.source, self.robot = source, source.robot
        self.actuators, self.options = actuators, options
        self.values = dict(source.robot.symbols)
        _refuse_names(self.robot)
        source.refuse_unreal("MuJoCo")
        require_tree(
            self.robot,
            "which are not written into a new MJCF",
            "Give an MJCF that has them, as the model to write into.",
        )
        lengths = [np.linalg.norm(matrix_of(j.before @ j.after, self.values)[:3, 3]) for j in self.robot.joints]
        self.thickness = _THIN * max(sum(lengths), 0.1)

    def text(self) -> str:
        robot = self.robot
        gravity = vector_of(robot.gravity, robot)
        lines = [
            element("mujoco", {"model": robot.name}, close=False),
            "  " + element("compiler", {"angle": "radian", "autolimits": "true"}),
            "  " + element("option", {**self.options, "gravity": numbers_text(gravity), "integrator": "implicitfast"}),
            "  <default>",
            "    " + element("geom", {"contype": "0", "conaffinity": "0", "mass": "0", "rgba": "0.5 0.6 0.7 1"}),
            "    " + element("joint", _HARD_FRICTION),
            "  </default>",
            "  <worldbody>",
            "    " + element("light", {"pos": "0 0 3", "dir": "0 0 -1"}),
            *self._pedestal(),
            *self._sites(BASE, "    "),
            *(line for k, j in enumerate(robot.joints) if j.parent == BASE for line in self._body(k, "    ")),
            "  </worldbody>",
            *self._equalities(),
            *self._actuators(),
            "</mujoco>",
        ]
        return "\n".join(lines) + "\n"

    def _body(self, k: int, indent: str) -> list[str]:
        robot, joint = self.robot, self.robot.joints[k]
        pose = matrix_of(joint.before @ joint.after, self.values)
        if joint.parent == BASE:
            pose = matrix_of(robot.base, self.values) @ pose
        inner = indent + "  "
        lines = [indent + element("body", {"name": robot.links[k].name, **_pose(pose)}, close=False)]
        lines.append(inner + element("inertial", inertial_attributes(self.source.bodies[k])))
        lines.append(inner + self._joint(joint))
        children = [c for c, j in enumerate(robot.joints) if j.parent == k]
        lines += [inner + text for text in self._sticks(children)]
        lines += self._sites(k, inner)
        for child in children:
            lines += self._body(child, inner)
        return [*lines, indent + "</body>"]

    def _joint(self, joint: Joint) -> str:
        if joint.kind == FREE:
            return element("freejoint", {"name": joint.name})
        after = matrix_of(joint.after, self.values)
        place = {"name": joint.name, "pos": numbers_text(-after[:3, :3].T @ after[:3, 3])}
        if joint.kind == BALL:
            return element("joint", {**place, "type": "ball"})
        axis = after[:3, :3].T @ vector_of(joint.axis, self.robot)
        kind = "slide" if joint.prismatic else "hinge"
        attributes = {**place, "type": kind, "axis": numbers_text(axis)}
        limits = joint.limits
        lower, upper = limits.lower, limits.upper
        if joint.kind != "continuous" and lower is not None and upper is not None and lower < upper:
            attributes["range"] = numbers_text([lower, upper])
        if limits.effort:
            attributes["actuatorfrcrange"] = numbers_text([-limits.effort, limits.effort])
        texts = JointAttributes.of(self.source.joints[joint.name]).texts(degrees=False)
        return element("joint", {**attributes, **{name: text for name, text in texts.items() if text != "0"}})

    def _sticks(self, children: Sequence[int]) -> list[str]:
        """Return the drawing of a link: a ball at its joint, and sticks to the joints that it carries."""
        size = self.thickness
        shapes = [element("geom", {"type": "sphere", "size": numbers_text([1.6 * size]), "rgba": "0.2 0.3 0.5 1"})]
        joints = [self.robot.joints[child] for child in children]
        ends = [matrix_of(joint.before @ joint.after, self.values)[:3, 3] for joint in joints]
        return [*shapes, *(self._stick(np.zeros(3), end) for end in ends if np.linalg.norm(end) > 0.1 * size)]

    def _pedestal(self) -> list[str]:
        """Return the drawing of the base: sticks to the joints that it carries."""
        base = matrix_of(self.robot.base, self.values)
        first = [j for j in self.robot.joints if j.parent == BASE and j.kind != FREE]
        ends = [(base @ matrix_of(j.before @ j.after, self.values))[:3, 3] for j in first]
        away = [end for end in ends if np.linalg.norm(end - base[:3, 3]) > 0.1 * self.thickness]
        return ["    " + self._stick(base[:3, 3], end) for end in away]

    def _stick(self, start: np.ndarray, end: np.ndarray) -> str:
        ends = numbers_text([*start, *end])
        return element("geom", {"type": "capsule", "fromto": ends, "size": numbers_text([self.thickness])})

    def _sites(self, link: int, indent: str) -> list[str]:
        base = matrix_of(self.robot.base, self.values) if link == BASE else np.eye(4)
        frames = [f for f in self.robot.frames if f.link == link]
        return [
            indent + element("site", {"name": f.name, **_pose(base @ matrix_of(f.placement, self.values))})
            for f in frames
        ]

    def _equalities(self) -> list[str]:
        """Return the equalities for joints that follow others: q_1 = ratio q_2."""
        followers = [j for j in self.robot.joints if j.mimic]
        if not followers:
            return []
        masters = self.robot.driving_joints
        rows = [
            "    "
            + element(
                "joint",
                {
                    "joint1": j.name,
                    "joint2": masters[j.coordinate].name,
                    "polycoef": numbers_text([0, to_float(j.ratio, j.name, self.values), 0, 0, 0]),
                },
            )
            for j in followers
        ]
        return ["  <equality>", *rows, "  </equality>"]

    def _actuators(self) -> list[str]:
        """Return an actuator for each joint that can have one, by default a motor: its control is the torque (N m, N)."""
        driven = [self.robot.driving_joints[k] for k in self.robot.actuated]
        if not driven or self.actuators is None:
            return []
        motors = [self.actuators.get(j.name) or element("motor", {"name": j.name, "joint": j.name}) for j in driven]
        return ["  <actuator>", *("    " + motor for motor in motors), "  </actuator>"]


def _pose(pose: np.ndarray) -> dict[str, str]:
    """Return the attributes of a pose, without those that are zero."""
    result = {} if not pose[:3, 3].any() else {"pos": numbers_text(pose[:3, 3])}
    if np.abs(pose[:3, :3] - np.eye(3)).max() > 0:
        result["quat"] = numbers_text(quaternion(pose[:3, :3]))
    return result


def element(tag: str, attributes: Mapping[str, str], close: bool = True) -> str:
    """Return an XML element without children, or its start tag if it is not to `close`."""
    from xml.sax.saxutils import quoteattr  # importing it loads half of the standard library

    parts = [tag, *(f"{name}={quoteattr(value)}" for name, value in attributes.items())]
    return f"<{' '.join(parts)}{'/' if close else ''}>"


def _refuse_names(robot: Robot) -> None:
    """Refuse names that MJCF cannot have: that of its own world, and those with characters that XML does not allow."""
    if "world" in robot.link_names:
        raise TaupiError(
            "{robot} has a moving link called 'world', which is the name of MuJoCo's own world.",
            remedy="Rename the link in the description.",
            robot=robot.name,
        )
    for name in (robot.name, *robot.link_names, *(j.name for j in robot.joints), *(f.name for f in robot.frames)):
        if not name or _FORBIDDEN.search(name):
            raise TaupiError(
                "{robot} has the name {name!r}, which XML cannot hold.",
                remedy="Rename it first.",
                robot=robot.name,
                name=name,
            )
