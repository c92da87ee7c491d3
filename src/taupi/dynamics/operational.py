"""Dynamics in the coordinates of a task: the mass matrix that a task sees, and the complete operational-space model."""

from __future__ import annotations

import dataclasses

import numpy as np

from taupi.dynamics.chain import Chain, mass_builder, random_positions, trace_robot
from taupi.dynamics.coriolis import FORMS as CORIOLIS
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.kinematics import Task, jacobian, task_jacobian, task_size
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.singularity_measure import measure
from taupi.dynamics.terms import TermsLike, resolve_terms, term_torque
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.massless import refuse_massless
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

FORMS = ("inverse", "congruence")


def check_rank(robot: Robot, task: Task, frame: str, rows: int) -> None:
    """Refuse a task whose Jacobian has full row rank nowhere: its operational mass does not exist."""
    if rows > robot.n:
        raise TaupiError(
            "The task has {rows} coordinates, {robot} has {n} joints: J cannot have full row rank.",
            rows=rows,
            robot=robot.name,
            n=robot.n,
        )
    if robot.symbols and any(value is None for _, value in robot.symbols):
        return  # decided once their values are known
    states = random_positions(robot, 8)
    rank = max(np.linalg.matrix_rank(j) for j in jacobian(robot, frame=frame, task=task).compile("numpy")(states))
    if rank < rows:
        name = repr(task) if isinstance(task, str) else "of your own"
        raise TaupiError(
            "{task} {name} has {rows} coordinates, but its Jacobian has rank {rank} everywhere on {robot}: "
            "no operational mass exists.",
            remedy="Choose fewer coordinates: 'xy' or 'planar' of an arm that moves in a plane.",
            name=name,
            rows=rows,
            rank=rank,
            robot=robot.name,
        )


def checked_task(robot: Robot, task: Task, frame: str) -> int:
    """Return the number of coordinates of a task that has full row rank somewhere; refuse others."""
    robot.frame(frame)
    rows = task_size(robot, task)
    check_rank(robot, task, frame, rows)
    return rows


def guarded(program: Program, robot: Robot, task: Task, frame: str) -> Program:
    """Return a program of (q, ...) whose plain call refuses singular configurations and warns near them."""
    return dataclasses.replace(program, guard=measure(robot, task, frame).check)


@mass_builder
def operational_mass(robot: Robot, task: Task = "position", frame: str = "tip", form: str | None = None) -> Program:
    """Return M_C(q) of `robot`, the mass matrix that a task sees: at rest and without gravity f = M_C a (equations.md, O1).

    Args:
        robot: The robot, n velocities.
        task: As in `task_coordinates`, "position" by default.
        frame: The frame of the task, "tip" by default.
        form: "inverse", (J M^-1 J^T)^-1, for any J of full row rank, also that of a redundant arm, or "congruence",
            J^-T M J^-1, for a square one; None, the default, is "congruence" up to 3 x 3, which has the shorter formulas, and
            "inverse" otherwise.

    Returns:
        A program of q (n,) with the output M_C (m, m).

    Raises:
        TaupiError: The task has full row rank nowhere; when the program is called, that the configuration is singular.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> (tp.operational.mass(arm, task="xy")([0.0, math.pi / 2]).round(12) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if form is not None and form not in FORMS:
        raise unknown(Argument("form"), form, FORMS)
    rows = checked_task(robot, task, frame)
    if form is None:
        form = "congruence" if rows == robot.n <= 3 else "inverse"
    if form == "congruence" and rows != robot.n:
        raise TaupiError(
            "The congruence form needs a square J, got {rows} x {n}.",
            remedy="Use {form='inverse'}.",
            rows=rows,
            n=robot.n,
        )

    def body(chain: Chain, q: Vector) -> Matrix:
        j = task_jacobian(chain, q, task, frame)
        if form == "inverse":
            return solve_positive(j @ _moved_by(chain, q, j), SX.eye(rows))
        inverse = square_inverse(j)
        return inverse.T @ composite_bodies(chain, q) @ inverse

    program = trace_robot("operational_mass", robot, body, ["q"], [Port("M_C", (rows, rows))])
    return guarded(program, robot, task, frame)


def _moved_by(chain: Chain, q: Vector, j: Matrix) -> Matrix:
    """Return M^-1 J^T, the accelerations (n, m) by unit forces at the task; refuse a robot whose M is singular everywhere."""
    refuse_massless(chain.robot, rotors=False)
    return solve_positive(composite_bodies(chain, q), j.T)


def consistent_inverse(chain: Chain, q: Vector, j: Matrix) -> Matrix:
    """Return B = J^-1 of a square J, or the dynamically consistent M^-1 J^T (J M^-1 J^T)^-1 of a wide one (Khatib 1987)."""
    if j.shape[0] == j.shape[1]:
        return square_inverse(j)
    lifted = _moved_by(chain, q, j)
    return lifted @ solve_positive(j @ lifted, SX.eye(j.shape[0]))


@mass_builder
def operational_dynamics(robot: Robot, task: Task = "position", frame: str = "tip") -> Program:
    """Return M(r), C(r, rd), g(r) of `robot` as functions of (q, qd): M rdd + C rd + g = u in a task (Aldana et al., eq. 2).

    M = B^T M(q) B,  C = B^T (C(q, qd) B - M(q) B dJ/dt B),  g = B^T g(q),  with B = J^-1. A redundant arm has the dynamically
    consistent inverse instead, with which M = (J M(q)^-1 J^T)^-1. C keeps dM/dt - 2C skew-symmetric. Joint torques give
    u = B^T tau; with a redundant arm only as long as qd = B rd, without motion inside the task.

    Args:
        robot: The robot, n velocities.
        task: As in `task_coordinates`, "position" by default.
        frame: The frame of the task, "tip" by default.

    Returns:
        A program of q and qd (n,) with the outputs M (m, m), C (m, m) and g (m,).

    Raises:
        TaupiError: The task has full row rank nowhere; when the program is called, that the configuration is singular.

    >>> import taupi as tp
    >>> M, C, g = tp.operational_dynamics(tp.load("planar3r"), task="planar")([0.3, 0.9, -0.4], [0.1, 0.2, 0.3])
    >>> M.shape, C.shape, g.shape
    ((3, 3), (3, 3), (3,))
    """
    rows = checked_task(robot, task, frame)

    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[Matrix, Matrix, Vector]:
        j, m = task_jacobian(chain, q, task, frame), composite_bodies(chain, q)
        back = consistent_inverse(chain, q, j)
        rate = chain.time_derivative(j, q, qd)
        coriolis = CORIOLIS["christoffel"](chain, q, qd)
        gravity = newton_euler(chain, q, SX.zeros(chain.n), SX.zeros(chain.n))
        return back.T @ m @ back, back.T @ (coriolis @ back - m @ back @ rate @ back), back.T @ gravity

    outputs = [Port("M", (rows, rows)), Port("C", (rows, rows)), Port("g", (rows,))]
    program = trace_robot("operational_dynamics", robot, body, ["q", "qd"], outputs)
    return guarded(program, robot, task, frame)


@mass_builder
def operational_force(robot: Robot, task: Task = "position", frame: str = "tip", terms: TermsLike = ()) -> Program:
    """Return u(q, qd, v, vd) = M(r) vd + C(r, rd) v + g(r) of `robot`, the force of a task for any v and vd (equations.md, O3).

    u = B^T (M(q) qrdd + C(q, qd) qrd + g(q) + friction(q, qrd, qrdd)) with qrd = B v, qrdd = B (vd - dJ/dt qrd) and B as in
    `operational_dynamics`, from the rigid links alone. With v = rd and vd = rdd it is B^T tau; with a redundant arm only if qd =
    B rd, and without the inertia of drives. `operational_regressor` times the parameters gives the same by another route.

    Args:
        robot: The robot, n velocities.
        task: As in `task_coordinates`, "position" by default.
        frame: The frame of the task, "tip" by default.
        terms: The robot's own friction and drives, taken at the reference motion; none by default.

    Returns:
        A program of q, qd (n,), v and vd (m,) with the output u (m,).

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> q, qd, v, vd = [0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]
    >>> M, C, g = tp.operational_dynamics(arm, task="planar")(q, qd)
    >>> bool(abs(tp.operational.force(arm, task="planar")(q, qd, v, vd) - (M @ vd + C @ v + g)).max() < 1e-10)
    True
    """
    rows = checked_task(robot, task, frame)
    chosen = resolve_terms(terms)

    def body(chain: Chain, q: Vector, qd: Vector, v: Vector, vd: Vector) -> Vector:
        back, qrd, qrdd = reference_of_task(chain, q, qd, v, vd, task, frame)
        tau = composite_bodies(chain, q) @ qrdd + CORIOLIS["christoffel"](chain, q, qd) @ qrd
        tau += newton_euler(chain, q, SX.zeros(chain.n), SX.zeros(chain.n))
        return back.T @ (tau + term_torque(chain, chosen, q, qrd, qrdd))

    inputs: list[str | Port] = ["q", "qd", Port("v", (rows,)), Port("vd", (rows,))]
    program = trace_robot("operational_force", robot, body, inputs, [Port("u", (rows,))])
    return guarded(program, robot, task, frame)


def reference_of_task(
    chain: Chain, q: Vector, qd: Vector, v: Vector, vd: Vector, task: Task, frame: str
) -> tuple[Matrix, Vector, Vector]:
    """Return B, qrd = B v and qrdd = B (vd - dJ/dt qrd): the joint motion that corresponds to the task motion (v, vd)."""
    j = task_jacobian(chain, q, task, frame)
    back = consistent_inverse(chain, q, j)
    qrd = back @ v
    return back, qrd, back @ (vd - chain.time_derivative(j, q, qd) @ qrd)


def square_inverse(j: Matrix) -> Matrix:
    """Return J^-1 of a square J: up to 3 x 3 its adjugate over its determinant, beyond that by orthogonal columns.

    Neither needs pivots, which a traced program cannot choose. The adjugate is indifferent to the scaling of rows and columns,
    and keeps explicit forms short: that of the planar 3R is divided by l1 l2 sin q2 and nothing else. If two of three singular
    values are small, it loses digits with the square of the condition number.
    """
    n = j.shape[1]
    if n > 3:
        return _inverse_by_orthogonal_columns(j)
    if n == 1:
        return 1 / j
    if n == 2:
        adjugate = cs.blockcat([[j[1, 1], -j[0, 1]], [-j[1, 0], j[0, 0]]])
        return adjugate / (j[0, 0] * j[1, 1] - j[0, 1] * j[1, 0])
    a, b, c = j[:, 0], j[:, 1], j[:, 2]
    adjugate = cs.horzcat(cs.cross(b, c), cs.cross(c, a), cs.cross(a, b)).T
    return adjugate / cs.dot(a, cs.cross(b, c))


def _inverse_by_orthogonal_columns(j: Matrix) -> Matrix:
    """Return J^-1 from Q = J R^-1, Q with orthogonal columns and R with a unit diagonal (modified Gram-Schmidt).

    It loses no more digits than the condition number of J accounts for.
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
