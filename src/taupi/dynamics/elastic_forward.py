"""Forward dynamics of robots with elastic joints, at about the cost of a rigid arm's."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.contacts import tip_ports, tip_torque
from taupi.dynamics.drives import Drives, chosen_sides, motor_port, refuse_massless_rotors
from taupi.dynamics.elastic import elastic_inertia, elastic_newton_euler
from taupi.dynamics.forward import default_algorithm, is_coupled, solve_positive
from taupi.dynamics.spatial import adjoint, bracket, inverse
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import SX, Expression, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.massless import refuse_massless
from taupi.model.requirements import require_elastic
from taupi.model.robot import BASE, Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def by_cholesky(
    chain: Chain, drives: Drives, q: Vector, qd: Vector, thetad: Vector, link: Vector, motor: Vector
) -> tuple[Vector, Vector]:
    """Return the accelerations of links and elastic motors under the torques `link` and `motor`, (n,) each.

    The motors' block D of B is diagonal, so they are eliminated one by one: (M - B_d D^-1 B_d^T) qdd = f_q - B_d D^-1 f_theta.
    """
    rest = SX.zeros(chain.n)
    bias_link, bias_motor = elastic_newton_euler(chain, drives, q, qd, rest, thetad, rest)
    b, n = elastic_inertia(chain, drives, q), chain.n
    force = drives.rows(link - bias_link, motor - bias_motor)
    cross, diagonal = b[:n, n:], cs.diag(b[n:, n:])
    scaled = cross @ cs.diag(1 / diagonal)
    qdd = solve_positive(cs.densify(b[:n, :n] - scaled @ cross.T), force[:n] - scaled @ force[n:])
    return qdd, (force[n:] - cross.T @ qdd) / diagonal


def by_articulated_bodies(
    chain: Chain, drives: Drives, q: Vector, qd: Vector, thetad: Vector, link: Vector, motor: Vector
) -> tuple[Vector, Vector]:
    """Return the accelerations of links and elastic motors by articulated bodies, at a cost linear in the number of joints.

    A motor's own row, k J (z . wd_p + k thetadd) = f, gives its moment on link p without thetadd:
    J k thetadd z = (f / k) z - J z z^T wd_p. So on a link that carries the motor of an elastic joint, J z z^T is subtracted from
    its inertia and (f / k) z + J k thetad w x z is added to its bias wrench; the rest is as in Featherstone (2008, 7.3). The
    rotor of a rigid joint adds J k z to the joint's U and k^2 J to its D.
    """
    x = [adjoint(*inverse(*chain.placement(i, q[i]))) for i in range(chain.links)]
    screw = [chain.screw(i) for i in range(chain.links)]
    twist = chain.outward(lambda i, parent: x[i] @ parent + screw[i] * qd[i], SX.zeros(6))
    drift = [bracket(v) @ a * qd[i] for i, (v, a) in enumerate(zip(twist, screw, strict=True))]
    body = [chain.inertia(i) for i in range(chain.links)]
    wrench = [-bracket(v).T @ (g @ v) for v, g in zip(twist, body, strict=True)]
    axis = [cs.vertcat(z, SX(3, 1)) for z in drives.axis]
    for i in drives.coupled:
        p, k, j = drives.parent[i], drives.ratio[i], drives.rotor[i]
        moment = j * k * thetad[i] * cs.cross(twist[p][:3], drives.axis[i])
        if i in drives.elastic:
            body[p] = body[p] - j * axis[i] @ axis[i].T
            moment = moment + motor[i] / k * drives.axis[i]
        wrench[p] = wrench[p] + cs.vertcat(moment, SX.zeros(3))
    force, big_d, carried = [SX(0)] * chain.links, [SX(0)] * chain.links, [SX(6, 1)] * chain.links
    for i in reversed(range(chain.links)):
        k, j, p = drives.ratio[i], drives.rotor[i], drives.parent[i]
        u = body[i] @ screw[i]
        big_d[i] = screw[i].T @ u + (j * k * k if i in drives.rigid else 0)
        own = link[i] + motor[i] if i in drives.rigid else link[i]
        force[i] = own - screw[i].T @ wrench[i] - u.T @ drift[i]
        carried[i] = x[i].T @ u
        if p == BASE:
            continue
        if i in drives.rigid and i in drives.coupled:
            carried[i] = carried[i] + j * k * axis[i]
        share = carried[i] / big_d[i]
        body[p] = body[p] + x[i].T @ body[i] @ x[i] - carried[i] @ share.T
        wrench[p] = wrench[p] + x[i].T @ (wrench[i] + body[i] @ drift[i]) + share * force[i]
    qdd: list[Expression] = []

    def accelerate(i: int, parent: Vector) -> Vector:
        qdd.append((force[i] - carried[i].T @ parent) / big_d[i])
        return x[i] @ parent + drift[i] + screw[i] * qdd[i]

    accelerations = chain.outward(accelerate, cs.vertcat(SX.zeros(3), -chain.gravity))
    return cs.vertcat(*qdd), _motor_accelerations(drives, [a[:3] for a in accelerations], motor)


def _motor_accelerations(drives: Drives, alpha: list[Vector], motor: Vector) -> Vector:
    """Return thetadd = (f / (k J) - z . wd_p) / k of the elastic joints' motors."""
    result = []
    for i in drives.elastic:
        k, j = drives.ratio[i], drives.rotor[i]
        dragged = cs.dot(drives.axis[i], alpha[drives.parent[i]]) if i in drives.coupled else 0
        result.append((motor[i] / (k * j) - dragged) / k)
    return cs.vertcat(*result)


ALGORITHMS = {"articulated": by_articulated_bodies, "cholesky": by_cholesky}


@builder
def elastic_forward_dynamics(
    robot: Robot,
    terms: TermsLike | None = None,
    coupling: bool = True,
    algorithm: str | None = None,
    tip_wrench: str | None = None,
    frame: str = "tip",
) -> Program:
    """Return qdd and thetadd of `robot`: B (qdd, thetadd) = (0, u) - C v - g - K_e (q, theta) - friction (- J^T F_tip).

    The equation is (2) of Zollo et al. (2014). Inputs are q, qd (n,), theta, thetad (one value per elastic joint) and the motor
    torque u (one per motor, in N m or N; that of a rigid joint acts on its link).

    Args:
        robot: The robot, n links and m elastic joints.
        terms: As in `elastic_inverse_dynamics`, None by default.
        coupling: As in `elastic_inverse_dynamics`, True by default.
        algorithm: "cholesky" eliminates the motors and factorises the rest, and is the only one for mimic or coupled joints;
            "articulated" bodies take a fixed number of operations for each further joint. None, the default, takes the first up
            to 30 joints and the second for more.
        tip_wrench: As in `inverse_dynamics`, None by default.
        frame: As in `inverse_dynamics`, "tip" by default.

    Returns:
        A program with the outputs qdd (n,) and thetadd (m,), rad/s^2 or m/s^2.

    Raises:
        TaupiError: The rotor of an elastic joint has no inertia, or links at an end have no mass.

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> q, qd, theta, thetad = [0.1, 0.2], [0.3, 0.4], [0.11, 0.21], [0.5, -0.6]
    >>> qdd, thetadd = tp.elastic.forward_dynamics(arm)(q, qd, theta, thetad, [30.0, 10.0])
    >>> tp.elastic.inverse_dynamics(arm)(q, qd, qdd, theta, thetad, thetadd).round(9).tolist()[2:]
    [30.0, 10.0]
    """
    require_elastic(robot)
    refuse_massless_rotors(robot)
    refuse_massless(robot, True)
    chosen = algorithm or default_algorithm(robot)
    if chosen not in ALGORITHMS:
        raise unknown(Argument("algorithm"), chosen, ALGORITHMS)
    if chosen == "articulated" and is_coupled(robot):
        raise TaupiError(
            "{robot} has mimic or coupled joints, which articulated bodies do not cover.",
            remedy="Use {algorithm='cholesky'}.",
            robot=robot.name,
        )
    robot.frame(frame)
    sides = chosen_sides(robot, terms)
    inputs: list[str | Port] = ["q", "qd", motor_port(robot, "theta"), motor_port(robot, "thetad"), "u"]
    inputs += tip_ports(tip_wrench)

    def body(
        chain: Chain, q: Vector, qd: Vector, theta: Vector, thetad: Vector, u: Vector, *wrench: Vector
    ) -> tuple[Vector, Vector]:
        drives = Drives(chain, coupling)
        theta, thetad = drives.motors(q, theta), drives.motors(qd, thetad)
        on_link, on_motor = drives.forces(sides, q, qd, theta, thetad)
        if tip_wrench:
            on_link = on_link + tip_torque(chain, q, wrench[0], frame, tip_wrench)
        return ALGORITHMS[chosen](chain, drives, q, qd, thetad, -on_link, u - on_motor)

    outputs = [Port("qdd", (robot.n,)), Port("thetadd", (len(robot.elastic_joints),))]
    return trace_robot("elastic_forward_dynamics", robot, body, inputs, outputs)
