"""The mass matrix that a task sees, as ellipses: principal axes of M_C at some configurations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.chain import configurations
from taupi.dynamics.kinematics import Task, linear_rows, task_coordinates, task_size
from taupi.dynamics.operational import operational_mass
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.model.robot import Robot


@dataclass(frozen=True, eq=False)
class MassEllipses:
    """Images of the unit circle (or sphere) of accelerations under M_C, at k configurations, in a task of m coordinates.

    `robot`, `task` and `frame` are those of `mass_ellipses`. `matrices` are M_C (k, m, m) in kg, `semi_axes` (k, m) their
    eigenvalues, smallest first, and the columns of `directions` (k, m, m) their unit eigenvectors, M_C = V diag(semi_axes) V^T:
    only along these is the force parallel to the acceleration. `centres` are the task's coordinates (k, m) at `q` (k, n).
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
    """Return the ellipses f = M_C a over |a| = 1 of the mass that a task of `robot` sees (equations.md, O2).

    `q`, (n,) or (k, n) in rad or m, are the configurations; a singular one is refused, since its ellipse would be infinitely
    long. `task` is "xy" (the default), "position", which gives ellipsoids, or a function r(q) with two or three coordinates.
    `frame` is the frame that moves, by default "tip".

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
        message = f" is {shown(task)}, expected 'xy', 'position' or a function r(q) of two or three coordinates."
        raise TaupiError(Argument("task"), message)
    states = configurations(robot, q)
    matrices = mass(states)
    semi_axes, directions = np.linalg.eigh(matrices)
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=-2)[..., None, :], axis=-2)
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    centres = task_coordinates(robot, task=task, frame=frame)(states)
    return MassEllipses(robot, task, frame, states, centres, matrices, semi_axes, directions)
