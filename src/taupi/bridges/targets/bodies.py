"""A robot as most tools describe it: links with the joints that move them, as numbers, in the frames of the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.bridges.alignment import central, matrix_of, moved_body, vector_of
from taupi.bridges.identified import Identified
from taupi.model.requirements import require_tree
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE, FREE, MULTIPLE, Joint
from taupi.model.scalars import to_float


@dataclass(frozen=True, eq=False)
class JointedLink:
    """A link and the joint that moves it. The link's frame is that of the joint, in which the joint's axis goes through zero.

    Attributes:
        link: The name of the link.
        joint: The joint.
        parent: The number of the piece that carries it, -1 for the base.
        pose: Where its frame is in that of its parent at q = 0, (4, 4).
        world: The same in the world.
        axis: The unit vector (3,) of the joint; zero for a free joint.
        mass: kg.
        com: The centre of mass (3,), m.
        inertia: The inertia about it (3, 3), kg m^2.
        master: The name of the joint that it follows, "" for none.
        ratio: The ratio at which it does.
    """

    link: str
    joint: Joint
    parent: int
    pose: np.ndarray
    world: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    master: str = ""
    ratio: float = 1.0

    @property
    def free(self) -> bool:
        """Whether it is a base that moves freely."""
        return self.joint.kind == FREE

    @property
    def range(self) -> tuple[float, float] | None:
        """The limits of its position (rad, m), None if there are none."""
        low, high = self.joint.limits.lower, self.joint.limits.upper
        if self.joint.kind == "continuous" or low is None or high is None or low >= high:
            return None
        return low, high


def pieces_of(taken: Identified) -> tuple[JointedLink, ...]:
    """Return the links of an identified robot; refused are bodies that do not exist, and closed loops."""
    robot = taken.robot
    taken.refuse_unreal("A simulator")
    require_tree(robot, "which this target has no place for", "Write it for MuJoCo, from an MJCF that has them.")
    values, masters = dict(robot.symbols), robot.driving_joints
    result: list[JointedLink] = []
    for k, joint in enumerate(robot.joints):
        after = matrix_of(joint.after, values)
        carrier = matrix_of(robot.base, values) if joint.parent == BASE else np.eye(4)
        pose = carrier @ matrix_of(joint.before, values)
        if joint.parent != BASE:
            pose = matrix_of(robot.joints[joint.parent].after, values) @ pose
        world = pose if joint.parent == BASE else result[joint.parent].world @ pose
        axis = np.zeros(3) if joint.kind in MULTIPLE else vector_of(joint.axis, robot)
        mass, com, inertia = central(moved_body(taken.bodies[k], np.linalg.inv(after)))
        master = masters[joint.coordinate].name if joint.mimic else ""
        ratio = to_float(joint.ratio, joint.name, values) if joint.mimic else 1.0
        link = robot.links[k].name
        result.append(JointedLink(link, joint, joint.parent, pose, world, axis, mass, com, inertia, master, ratio))
    return tuple(result)


def base_name(robot: Robot) -> str:
    """Return a name for the link that the robot stands on, unlike any of its other links."""
    stated = robot.source.root.name if robot.source.root is not None else "base"
    name = "base" if stated == "world" else stated
    while name in robot.link_names:
        name += "_"
    return name


def principal(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the principal moments (3,) of an inertia (3, 3), and the rotation (3, 3) whose columns are their axes.

    >>> import numpy as np
    >>> moments, axes = principal(np.diag([0.1, 0.3, 0.2]))
    >>> moments.tolist(), axes.tolist()
    ([0.1, 0.3, 0.2], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    if not (inertia - np.diag(np.diag(inertia))).any():
        return np.diag(inertia), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    return moments, axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])


def roll_pitch_yaw(r: np.ndarray) -> tuple[float, float, float]:
    """Return the angles (rad) with R = Rz(yaw) Ry(pitch) Rx(roll), as URDF and SDF state rotations.

    >>> import numpy as np
    >>> roll_pitch_yaw(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    (0.0, 0.0, 1.5707963267948966)
    """
    across = float(np.hypot(r[0, 0], r[1, 0]))
    pitch = float(np.arctan2(-r[2, 0], across))
    if across > 1e-9:
        return float(np.arctan2(r[2, 1], r[2, 2])) + 0.0, pitch + 0.0, float(np.arctan2(r[1, 0], r[0, 0])) + 0.0
    return 0.0, pitch, float(np.arctan2(-r[0, 1], r[1, 1]))


def turned_to(axis: np.ndarray) -> np.ndarray:
    """Return a rotation (3, 3) that turns z to a unit `axis`.

    >>> import numpy as np
    >>> turned_to(np.array([0.0, 0.0, 1.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    if z[2] == 1.0:
        return np.eye(3)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
