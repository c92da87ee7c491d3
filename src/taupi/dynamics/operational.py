"""Dynamics in the coordinates of a task: the mass that a task sees, and the whole operational-space model."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.coriolis import FORMS as CORIOLIS
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.kinematics import Task, jacobian, task_jacobian, task_size, time_derivative
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.recursive import newton_euler
from taupi.dynamics.spatial import SX
from taupi.errors import TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.program import Port, Program

FORMS = ("inverse", "congruence")


def check_rank(robot: Robot, task: Task, frame: str, rows: int) -> None:
    """Refuse a task whose Jacobian has full row rank nowhere: its operational mass does not exist."""
    if rows > robot.n:
        raise TaupiError(
            f"The task has {rows} coordinates, {robot.name} has {robot.n} joints: J cannot have full row rank."
        )
    if robot.symbols and any(value is None for _, value in robot.symbols):
        return  # decided when values are known
    states = np.random.default_rng(0).uniform(-1.5, 1.5, (8, robot.n))
    rank = max(np.linalg.matrix_rank(j) for j in jacobian(robot, frame=frame, task=task).compile("numpy")(states))
    if rank < rows:
        raise TaupiError(
            f"The task's Jacobian has rank {rank} of {rows} everywhere on {robot.name}: choose fewer coordinates."
        )


@builder
def operational_mass(robot: Robot, task: Task = "position", frame: str = "tip", form: str = "inverse") -> Program:
    """Return M_C(q), the mass matrix that a task sees: at rest and without gravity f = M_C a (spec 2.7).

    `form`: "inverse", (J M^-1 J^T)^-1, for any J of full row rank, also of a redundant arm; "congruence", J^-T M J^-1, for a
    square one. A task that has full row rank nowhere is refused; at a singular configuration entries are infinite or NaN.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> (tp.operational_mass(arm, task="xy")([0.0, math.pi / 2]).round(12) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if form not in FORMS:
        raise unknown("form of the operational mass", form, FORMS)
    robot.frame(frame)
    rows = task_size(robot, task)
    check_rank(robot, task, frame, rows)
    if form == "congruence" and rows != robot.n:
        raise TaupiError(f"The congruence form needs a square J, got {rows} x {robot.n}. Use form='inverse'.")

    def body(chain: Chain, q: Any) -> Any:
        j, m = task_jacobian(chain, q, task, frame), composite_bodies(chain, q)
        if form == "inverse":
            return solve_positive(j @ solve_positive(m, j.T), SX.eye(rows))
        inverse = square_inverse(j)
        return inverse.T @ m @ inverse

    return trace_robot("operational_mass", robot, body, ["q"], [Port("M_C", (rows, rows))])


def consistent_inverse(chain: Chain, q: Any, j: Any) -> Any:
    """Return J^-1 of a square J, and of a wide one the dynamically consistent M^-1 J^T (J M^-1 J^T)^-1 (Khatib 1987)."""
    if j.shape[0] == j.shape[1]:
        return square_inverse(j)
    lifted = solve_positive(composite_bodies(chain, q), j.T)
    return lifted @ solve_positive(j @ lifted, SX.eye(j.shape[0]))


@builder
def operational_dynamics(robot: Robot, task: Task = "position", frame: str = "tip") -> Program:
    """Return M(r), C(r, rd), g(r) of (q, qd): the model M rdd + C rd + g = u in the coordinates of a task (spec 3.2).

    M = B^T M(q) B,  C = B^T (C(q, qd) B - M(q) B dJ/dt B),  g = B^T g(q),  with B = J^-1, or for a redundant arm the dynamically
    consistent inverse, with which M = (J M(q)^-1 J^T)^-1. C keeps dM/dt - 2C skew-symmetric, and joint torques give
    u = B^T tau. A task that has full row rank nowhere is refused; at a singular configuration entries are infinite or NaN.

    >>> import taupi as tp
    >>> M, C, g = tp.operational_dynamics(tp.load("planar3r"), task="planar")([0.3, 0.9, -0.4], [0.1, 0.2, 0.3])
    >>> M.shape, C.shape, g.shape
    ((3, 3), (3, 3), (3,))
    """
    robot.frame(frame)
    rows = task_size(robot, task)
    check_rank(robot, task, frame, rows)

    def body(chain: Chain, q: Any, qd: Any) -> tuple[Any, Any, Any]:
        j, m = task_jacobian(chain, q, task, frame), composite_bodies(chain, q)
        back = consistent_inverse(chain, q, j)
        rate = time_derivative(j, q, qd)
        coriolis = CORIOLIS["christoffel"](chain, q, qd)
        gravity = newton_euler(chain, q, SX.zeros(chain.n), SX.zeros(chain.n))
        return back.T @ m @ back, back.T @ (coriolis @ back - m @ back @ rate @ back), back.T @ gravity

    outputs = [Port("M", (rows, rows)), Port("C", (rows, rows)), Port("g", (rows,))]
    return trace_robot("operational_dynamics", robot, body, ["q", "qd"], outputs)


def square_inverse(j: Any) -> Any:
    """Return J^-1 of a square J by orthogonal columns, Q = J R^-1 with R of unit diagonal (Gram-Schmidt, modified).

    It needs no pivots, which a traced program cannot choose, and loses no more digits than J itself has to lose.
    """
    n = j.shape[1]
    q, r, square = [j[:, k] for k in range(n)], SX.eye(n), []
    for k in range(n):
        square.append(cs.dot(q[k], q[k]))
        for i in range(k + 1, n):
            r[k, i] = cs.dot(q[k], q[i]) / square[k]
            q[i] = q[i] - r[k, i] * q[k]
    x = cs.vertcat(*(q[k].T / square[k] for k in range(n)))
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            x[k, :] -= r[k, i] * x[i, :]
    return x
