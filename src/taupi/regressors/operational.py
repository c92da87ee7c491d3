"""The operational-space regressor: the dynamics of a task, linear in the standard parameters."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import Task
from taupi.dynamics.operational import checked_task, guarded, reference_of_task
from taupi.dynamics.terms import TermsLike, resolve_terms, term_columns, term_parameters
from taupi.dynamics.types import Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program
from taupi.regressors.recursive import link_regressor


@builder
def operational_regressor(robot: Robot, task: Task = "position", frame: str = "tip", terms: TermsLike = ()) -> Program:
    """Return Y(q, qd, v, vd) of `robot`, m x p, with M(r) vd + C(r, rd) v + g(r) = Y pi for any v and vd (equations.md, O3).

    With qrd = B v and qrdd = B (vd - dJ/dt qrd) it is B^T Y_r(q, qd, qrd, qrdd), Y_r being the Slotine-Li regressor and B = J^-1,
    so that v = rd and vd = rdd give the task force u = B^T tau. M, C and g are as in `operational_dynamics`.

    A redundant arm has the dynamically consistent inverse B = M^-1 J^T (J M^-1 J^T)^-1 instead, which depends on the parameters.
    B is built from the robot's own (nominal) ones and kept: u = Y pi is linear in pi, and Y pi is the model of
    `operational_dynamics` for pi = `robot.parameters`. For another pi it is the task's share B^T tau of the torque with that pi.

    Args:
        robot: The robot.
        task: The task's coordinates, as in `task_coordinates`; "position" by default.
        frame: The frame whose motion is the task, "tip" by default.
        terms: Friction and drives as in `regressor`, none by default.

    Returns:
        The program Y of q, qd (..., n) and v, vd (..., m), with results (..., m, p). It refuses singular configurations.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> q, qd, v, vd = [0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]
    >>> M, C, g = tp.operational_dynamics(arm, task="planar")(q, qd)
    >>> Y = tp.operational_regressor(arm, task="planar")
    >>> bool(abs(Y(q, qd, v, vd) @ Y.parameters.values - (M @ vd + C @ v + g)).max() < 1e-10)
    True
    """
    rows = checked_task(robot, task, frame)
    chosen = resolve_terms(terms)
    parameters = robot.parameters + term_parameters(robot, chosen)

    def body(chain: Chain, q: Vector, qd: Vector, v: Vector, vd: Vector) -> Matrix:
        back, qrd, qrdd = reference_of_task(chain, q, qd, v, vd, task, frame)
        columns = cs.horzcat(link_regressor(chain, q, qd, qrd, qrdd), term_columns(chain, chosen, q, qrd, qrdd))
        return back.T @ columns

    inputs: list[str | Port] = ["q", "qd", Port("v", (rows,)), Port("vd", (rows,))]
    outputs = [Port("Y", (rows, len(parameters)))]
    program = trace_robot("operational_regressor", robot, body, inputs, outputs, parameters)
    return guarded(program, robot, task, frame)
