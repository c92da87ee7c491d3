"""How near a configuration is to one where the task loses a direction."""

from __future__ import annotations

from taupi.dynamics.kinematics import Task, task_size
from taupi.dynamics.singularity_measure import SingularityMeasure, measure
from taupi.errors import TaupiError
from taupi.model.robot import Robot


def singularity(robot: Robot, task: Task = "position", frame: str = "tip") -> SingularityMeasure:
    """Return a measure of how near configurations q (..., n) are to a singular one of a task.

    Called with q it gives the singular values of J, the smallest of them, the condition, their ratio and the direction of the
    task that is lost first, J = U diag(values) V^T. Metres and radians do not compare, so J has none: rows in metres are divided
    by the arm's reach, the sum of the offsets from its first joint to the frame, and columns of sliding joints multiplied by it.
    A direction is one of the scaled task, its part in metres over the reach. A user's r(q) is taken as it is.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> near = tp.singularity(arm, task="xy")([[0.0, math.pi / 2], [0.0, 1e-3]])
    >>> near.condition.round(1).tolist()
    [2.6, 5000.0]
    >>> near.direction[1].round(2).tolist()
    [1.0, 0.0]
    """
    if not isinstance(robot, Robot):
        raise TaupiError(f"robot is {type(robot).__name__}, expected a Robot: use taupi.load(...) or Robot.from_...")
    robot.frame(frame)
    task_size(robot, task)
    return measure(robot, task, frame)
