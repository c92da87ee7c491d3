"""The operational-space regressor: the dynamics of a task, linear in the standard parameters."""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import Task, task_jacobian, task_size, time_derivative
from taupi.dynamics.operational import check_rank, square_inverse
from taupi.dynamics.terms import TermsLike, resolve_terms, term_columns, term_parameters
from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.regressors.recursive import link_regressor


@builder
def operational_regressor(robot: Robot, task: Task = "position", frame: str = "tip", terms: TermsLike = ()) -> Program:
    """Return Y(q, qd, v, vd), m x p, with M(r) vd + C(r, rd) v + g(r) = Y pi for any v and vd (spec 3.3).

    With qrd = J^-1 v and qrdd = J^-1 (vd - dJ/dt qrd) it is J^-T Y_r(q, qd, qrd, qrdd), Y_r the Slotine-Li regressor: so that
    v = rd and vd = rdd give the task force u = J^-T tau. J must be square: the mass that a redundant arm shows to a task,
    (J M^-1 J^T)^-1, is not linear in the parameters. At a singular configuration entries are infinite or NaN.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> q, qd, v, vd = [0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]
    >>> M, C, g = tp.operational_dynamics(arm, task="planar")(q, qd)
    >>> Y = tp.operational_regressor(arm, task="planar")
    >>> bool(abs(Y(q, qd, v, vd) @ Y.parameters.values - (M @ vd + C @ v + g)).max() < 1e-10)
    True
    """
    robot.frame(frame)
    rows = task_size(robot, task)
    check_rank(robot, task, frame, rows)
    if rows != robot.n:
        raise TaupiError(
            f"The task has {rows} coordinates, {robot.name} {robot.n} joints: for a redundant arm the task's dynamics are not "
            "linear in the parameters. Choose a task with as many coordinates as joints."
        )
    chosen = resolve_terms(terms)
    parameters = robot.parameters + term_parameters(robot, chosen)

    def body(chain: Chain, q: Any, qd: Any, v: Any, vd: Any) -> Any:
        j = task_jacobian(chain, q, task, frame)
        back = square_inverse(j)
        qrd = back @ v
        qrdd = back @ (vd - time_derivative(j, q, qd) @ qrd)
        columns = cs.horzcat(link_regressor(chain, q, qd, qrd, qrdd), term_columns(chain, chosen, q, qrd, qrdd))
        return back.T @ columns

    inputs: list[str | Port] = ["q", "qd", Port("v", (rows,)), Port("vd", (rows,))]
    return trace_robot("operational_regressor", robot, body, inputs, [Port("Y", (rows, len(parameters)))], parameters)
