"""How a robot moves in the coordinates of a task: ellipses of its mass, and how near it is to a singular configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.chain import configurations, require_robot
from taupi.dynamics.kinematics import Task, linear_rows, task_coordinates, task_size
from taupi.dynamics.operational import operational_mass
from taupi.dynamics.singularity_measure import SingularityMeasure, measure
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.model.robot import Robot


@dataclass(frozen=True, eq=False)
class MassEllipses:
    """Hold the images of the unit circle (or sphere) of accelerations under M_C, at k configurations, in a task of m coordinates.

    M_C = V diag(semi_axes) V^T: only along the columns of V is the force parallel to the acceleration.

    Attributes:
        robot: The robot's name.
        task: The task, as in `mass_ellipses`.
        frame: The frame that moves.
        q: The configurations (k, n), rad or m.
        centres: The task's coordinates there, (k, m).
        matrices: M_C (k, m, m), kg.
        semi_axes: Its eigenvalues (k, m), smallest first, kg.
        directions: Its unit eigenvectors, the columns of V (k, m, m).
    """

    robot: Robot
    task: Task
    frame: str
    q: np.ndarray
    centres: np.ndarray
    matrices: np.ndarray
    semi_axes: np.ndarray
    directions: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        axes = "; ".join(", ".join(f"{x:.4g}" for x in a) for a in self.semi_axes[:3])
        more = "; ..." if len(self) > 3 else ""
        return f"MassEllipses({self.robot.name!r}, {len(self)} of {self.frame!r}, semi-axes {axes}{more} kg)"


def mass_ellipses(robot: Robot, q: ArrayLike, task: Task = "xy", frame: str = "tip") -> MassEllipses:
    """Return the ellipses f = M_C a over |a| = 1 of the mass that a task of a robot sees (equations.md, O2).

    Args:
        robot: The robot.
        q: Configurations (n,) or (k, n), rad or m. A singular one is refused: its ellipse would be infinitely long.
        task: "xy" (the default), "position", which gives ellipsoids, or a function r(q) with two or three coordinates.
        frame: The frame that moves, by default "tip".

    Returns:
        The ellipses at the k configurations.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> ellipses = tp.operational.mass_ellipses(arm, [0.0, math.pi / 2])
    >>> ellipses
    MassEllipses('lecture2r', 1 of 'tip', semi-axes 1, 2 kg)
    >>> (ellipses.directions[0].round(9) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    mass = operational_mass(robot, task=task, frame=frame)
    rows = task_size(robot, task)
    if rows not in (2, 3) or (not callable(task) and len(linear_rows(task)) != rows):
        raise TaupiError(
            "{task} is {got!r}, expected 'xy', 'position' or a function r(q) of two or three coordinates.", got=task
        )
    states = configurations(robot, q)
    matrices = mass(states)
    semi_axes, directions = np.linalg.eigh(matrices)
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=-2)[..., None, :], axis=-2)
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    centres = task_coordinates(robot, task=task, frame=frame)(states)
    return MassEllipses(robot, task, frame, states, centres, matrices, semi_axes, directions)


def singularity(robot: Robot, task: Task = "position", frame: str = "tip") -> SingularityMeasure:
    """Return a measure of how near configurations q (..., n) are to a singular one of a task.

    Metres and radians cannot be compared, so J is taken without units: rows in metres are divided by the arm's reach, the sum of
    the offsets from its first joint to the frame, and columns of sliding joints are multiplied by it. A direction is one of the
    scaled task, its part in metres divided by the reach.

    Args:
        robot: The robot.
        task: As in `task_coordinates`, by default "position"; a user's r(q) is taken as it is.
        frame: The frame that moves, by default "tip".

    Returns:
        A function of q: the singular values of J = U diag(values) V^T, the smallest of them, their ratio, the condition number,
        and the direction of the task that is lost first.

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
