"""A motion of a task's coordinates, derived from a motion of the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.kinematics import Task, jacobian, jacobian_derivative, task_coordinates, task_size
from taupi.dynamics.types import ArrayLike, Expression
from taupi.model.robot import Robot
from taupi.simulation.references import Motion, Reference


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """What a task of a robot does while its joints follow a motion: r(q), J qd, J qdd + dJ/dt qd.

    `motion` is that of the joints of `robot`; `task` and `frame`, by default the tip's position, are as in `jacobian`. A law in
    the coordinates of a task follows it, and the motion of the joints determines where the arm starts.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> joints = tp.Sinusoids(offset=[0.3, 0.9, -0.4], amplitude=[[0.1]] * 3, omega=[[2.0]] * 3)
    >>> motion = tp.operational.TaskMotion(joints, arm, task="planar")
    >>> [x.shape for x in motion([0.0, 0.5])]
    [(2, 3), (2, 3), (2, 3)]
    """

    motion: Reference
    robot: Robot
    task: Task = "position"
    frame: str = "tip"

    @property
    def n(self) -> int:
        """The number of the task's coordinates."""
        return task_size(self.robot, self.task)

    def __call__(self, t: ArrayLike) -> Motion:
        """Return r, rd, rdd of shape (..., m) at times `t` (...) in s."""
        q, qd, qdd = (np.asarray(x, dtype=float) for x in self.motion(t))
        choice: dict[str, Any] = {"frame": self.frame, "task": self.task}
        J, rate = jacobian(self.robot, **choice)(q), jacobian_derivative(self.robot, **choice)(q, qd)
        r = task_coordinates(self.robot, **choice)(q)

        def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
            product: np.ndarray = np.einsum("...ij,...j->...i", matrix, vector)
            return product

        return Motion(r, times(J, qd), times(J, qdd) + times(rate, qd))

    def trace(self, t: Expression) -> Motion:
        """Return r, rd, rdd as SX columns of an SX time `t`."""
        q, qd, qdd = self.motion.trace(t)
        choice: dict[str, Any] = {"frame": self.frame, "task": self.task}
        J, rate = jacobian(self.robot, **choice)(q), jacobian_derivative(self.robot, **choice)(q, qd)
        return Motion(task_coordinates(self.robot, **choice)(q), J @ qd, J @ qdd + rate @ qd)
