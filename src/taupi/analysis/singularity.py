"""How near a configuration is to one where a task loses a direction."""

from __future__ import annotations

from taupi.dynamics.chain import require_robot
from taupi.dynamics.kinematics import Task, task_size
from taupi.dynamics.singularity_measure import SingularityMeasure, measure
from taupi.model.robot import Robot


def singularity(robot: Robot, task: Task = "position", frame: str = "tip") -> SingularityMeasure:
    """Return a measure of how near configurations q (..., n) of `robot` are to a singular one of a task.

    Calling it with q gives the singular values of J = U diag(values) V^T, the smallest of them, their ratio, the condition
    number, and the direction of the task that is lost first. Metres and radians cannot be compared, so J is taken without
    units: rows in metres are divided by the arm's reach, the sum of the offsets from its first joint to the frame, and columns
    of sliding joints are multiplied by it. A direction is one of the scaled task, its part in metres divided by the reach.

    `task` and `frame` are as in `task_coordinates`, by default the position of the tip; a user's r(q) is taken as it is.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> near = tp.operational.singularity(arm, task="xy")([[0.0, math.pi / 2], [0.0, 1e-3]])
    >>> near.condition.round(1).tolist()
    [2.6, 5000.0]
    >>> near.direction[1].round(2).tolist()
    [1.0, 0.0]
    """
    require_robot(robot)
    robot.frame(frame)
    task_size(robot, task)
    return measure(robot, task, frame)
