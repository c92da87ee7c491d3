"""Robots with elastic joints: inverse dynamics, inertia, Coriolis and gravity of links and motors together.

The coordinates are the links' q and the motors' theta, as seen through the gears; in each joint a spring connects the two. The
body of a link includes the complete motors that it carries (Zollo et al. 2014, section 3).
"""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.drives import (
    Drives,
    check_elastic,
    chosen_sides,
    motor_port,
)
from taupi.dynamics.joint_frames import JointFrames, carried_inward, motions, own_wrenches
from taupi.dynamics.kinematics import gathered_columns, link_screws
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.recursive import tip_ports, tip_torque
from taupi.dynamics.terms import TermsLike, term_parameters
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def elastic_newton_euler(
    chain: Chain,
    drives: Drives,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    thetad: Vector,
    thetadd: Vector,
    gravity: Vector | None = None,
) -> tuple[Vector, Vector]:
    """Return the torques on links and motors, (n,) each, due to inertia and gravity; thetad has one value per motor.

    Newton-Euler with the moment J k (thetadd z + thetad w x z) of each rotor on the link p that carries it, and
    k J (z . wd_p + k thetadd) for the motor itself, J being the rotor's inertia (equations.md, E3). `gravity` is the robot's own
    by default.
    """
    frames = JointFrames(chain, q)
    links = motions(frames, qd, qdd, chain.gravity if gravity is None else gravity)
    wrench = own_wrenches(frames, links)
    motor = [drives.ratio[i] ** 2 * drives.rotor[i] * thetadd[i] for i in range(chain.n)]
    for i in drives.coupled:
        p = drives.parent[i]
        r = frames.link_axes[p]  # the rotor's axis is given in the axes of the link frame
        moment = drives.rotor[i] * drives.spin_moment(i, r.T @ links[p].w, thetad[i], thetadd[i])
        wrench[p] = wrench[p] + cs.vertcat(r @ moment, SX.zeros(3))
        motor[i] = motor[i] + drives.ratio[i] * drives.rotor[i] * cs.dot(r @ drives.axis[i], links[p].wd)
    return carried_inward(frames, wrench), cs.vertcat(*motor)


@builder
def elastic_inverse_dynamics(
    robot: Robot,
    terms: TermsLike | None = None,
    coupling: bool = True,
    tip_wrench: str | None = None,
    frame: str = "tip",
) -> Program:
    """Return the torques B(q) a + C v + g + K_e (q, theta) + friction (+ J^T F_tip) of `robot` (Zollo et al. 2014, eq. 2).

    The rows are the links, then the motors of elastic joints, in N m or N. Inputs are q, qd, qdd (n,), then theta, thetad,
    thetadd, one value per elastic joint. In free motion the rows of elastic joints' links are zero. A rigid joint has
    theta = q: its motor is part of its link's row and has no row of its own.

    `terms` names friction on the motors ("coulomb", "viscous", ...), "damping" of the springs, and friction on the links
    ("link_viscous", ...); None, the default, takes all that the description states. `coupling=False` leaves out the blocks of B
    between links and rotors; the default is True. `tip_wrench` and `frame` are as in `inverse_dynamics`.

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> still = [0.0, 0.0]
    >>> tp.elastic.inverse_dynamics(arm)(still, still, still, still, still, still).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    check_elastic(robot)
    robot.frame(frame)
    sides = chosen_sides(robot, terms)
    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, x) for x in ("theta", "thetad", "thetadd"))]
    inputs += tip_ports(tip_wrench)

    def body(
        chain: Chain,
        q: Vector,
        qd: Vector,
        qdd: Vector,
        theta: Vector,
        thetad: Vector,
        thetadd: Vector,
        *wrench: Vector,
    ) -> Vector:
        drives = Drives(chain, coupling)
        theta, thetad, thetadd = (drives.motors(x, y) for x, y in ((q, theta), (qd, thetad), (qdd, thetadd)))
        link, motor = elastic_newton_euler(chain, drives, q, qd, qdd, thetad, thetadd)
        on_link, on_motor = drives.forces(sides, q, qd, theta, thetad)
        if tip_wrench:
            on_link = on_link + tip_torque(chain, q, wrench[0], frame, tip_wrench)
        return drives.rows(link + on_link, motor + on_motor)

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_inverse_dynamics", robot, body, inputs, [Port("tau", (rows,))])


def rotor_coupling(chain: Chain, drives: Drives, q: Vector) -> Matrix:
    """Return B_d, n x n, with column i = J k J_O^T z of the link that carries rotor i (Zollo et al. 2014, eq. 8)."""
    result = SX(chain.n, chain.n)
    screws = link_screws(chain, q)
    for i in drives.coupled:
        turning = gathered_columns(chain, screws[drives.parent[i]])[:3, :]
        result[:, i] = drives.rotor[i] * drives.ratio[i] * (turning.T @ drives.axis[i])
    return result


def elastic_inertia(chain: Chain, drives: Drives, q: Vector) -> tuple[Matrix, Matrix, Vector]:
    """Return the blocks of B over all links and motors: M, B_d and the diagonal k^2 J (Zollo et al. 2014, eq. 8)."""
    own = cs.vertcat(*(k * k * j for k, j in zip(drives.ratio, drives.rotor, strict=True)))
    return composite_bodies(chain, q), rotor_coupling(chain, drives, q), own


@builder
def elastic_mass_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return B(q) of `robot`, the inertia of links and motors: K = v^T B v / 2 with v = (qd, thetad).

    B = [[M, B_d], [B_d^T, diag(k^2 J)]] with the rotors' inertias J and gear ratios k; rows and columns are the links, then the
    motors of elastic joints (Zollo et al. 2014, eq. 7). `coupling=False` leaves B_d out; the default is True.

    >>> import taupi as tp
    >>> tp.elastic.mass_matrix(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [[19.925, 2.1083, 0.0, 1.21], [2.1083, 0.8583, 0.0, 0.0], [0.0, 0.0, 0.2118, 0.0], [1.21, 0.0, 0.0, 0.121]]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Vector) -> Matrix:
        drives = Drives(chain, coupling)
        m, d, own = elastic_inertia(chain, drives, q)
        s = drives.selection
        return s.T @ cs.blockcat([[m, d], [d.T, cs.diag(own)]]) @ s

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_mass_matrix", robot, body, ["q"], [Port("B", (rows, rows))])


@builder
def elastic_coriolis_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return the Christoffel matrix C(q, qd, thetad) of `robot`; dB/dt - 2C is skew-symmetric (Zollo et al. 2014, eq. 4).

    The velocity torques c = C v are quadratic in v = (qd, thetad), and Christoffel symbols are symmetric in the velocities, so C
    is half of dc/dv. `coupling` is as in `elastic_mass_matrix`.

    >>> import taupi as tp
    >>> C = tp.elastic.coriolis_matrix(tp.load("zollo2r"))([0.3, 0.7], [1.0, -2.0], [0.5, 0.5])
    >>> C.round(4).tolist()[0]
    [1.6105, 0.8053, 0.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Vector, qd: Vector, thetad: Vector) -> Matrix:
        drives = Drives(chain, coupling)
        rest = SX.zeros(chain.n)
        motors = drives.motors(qd, thetad)
        link, motor = elastic_newton_euler(chain, drives, q, qd, rest, motors, rest, SX.zeros(3))
        return cs.densify(cs.jacobian(drives.rows(link, motor), cs.vertcat(qd, thetad)) / 2)

    rows = robot.n + len(robot.elastic_joints)
    inputs: list[str | Port] = ["q", "qd", motor_port(robot, "thetad")]
    return trace_robot("elastic_coriolis_matrix", robot, body, inputs, [Port("C", (rows, rows))])


@builder
def elastic_gravity_torque(robot: Robot) -> Program:
    """Return g(q) of `robot` over links and motors of elastic joints (Zollo et al. 2014, eq. 12).

    The motors' rows are zero: gravity acts on the links, whose bodies include the motors.

    >>> import taupi as tp
    >>> tp.elastic.gravity_torque(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Vector) -> Vector:
        drives, rest = Drives(chain), SX.zeros(chain.n)
        return drives.rows(*elastic_newton_euler(chain, drives, q, rest, rest, rest, rest))

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_gravity_torque", robot, body, ["q"], [Port("g", (rows,))])


@builder
def elastic_stiffness_matrix(robot: Robot) -> Program:
    """Return the constant K_e = [[K, -K], [-K, K]] of `robot`, in N m/rad or N/m (Zollo et al. 2014, eq. 6).

    The potential energy of the springs is (q, theta)^T K_e (q, theta) / 2.

    >>> import taupi as tp
    >>> tp.elastic.stiffness_matrix(tp.load("zollo2r"))().tolist()[0]
    [3000.0, 0.0, -3000.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain) -> Matrix:
        drives = Drives(chain)
        spring = term_parameters(robot, chosen_sides(robot, ()).spring)
        k = cs.diag(cs.vertcat(*(chain.scalar(n, v) for n, v in zip(spring.names, spring.exact, strict=True))))
        return drives.selection.T @ cs.blockcat([[k, -k], [-k, k]]) @ drives.selection

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_stiffness_matrix", robot, body, [], [Port("K", (rows, rows))])
