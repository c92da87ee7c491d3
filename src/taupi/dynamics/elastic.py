"""Robots with elastic joints: inverse dynamics, inertia, Coriolis and gravity of links and motors together.

The coordinates are the links' q and the motors' theta, as seen through the gears; a spring is between the two of a joint. The
body of a link holds the complete motors that it carries (Zollo et al. 2014; spec B).
"""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.drives import (
    Drives,
    check_elastic,
    chosen_sides,
    motor_port,
)
from taupi.dynamics.kinematics import JACOBIANS, gathered_columns, link_screws
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.recursive import inward_walk, outward_walk, own_wrench, tip_torque
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TermsLike, term_parameters
from taupi.errors import unknown
from taupi.model.robot import Robot
from taupi.program.program import Port, Program


def elastic_newton_euler(
    chain: Chain, drives: Drives, q: Any, qd: Any, qdd: Any, thetad: Any, thetadd: Any, gravity: Any = None
) -> tuple[Any, Any]:
    """Return the forces on links and motors, (n,) each, that inertia and gravity take; theta has one value a motor.

    Newton-Euler with the moment J k (thetadd z + thetad w x z) of each rotor on the link p that carries it, and
    k J (z . wd_p + k thetadd) for the motor itself, J the rotor's inertia (spec B5).
    """
    walk = outward_walk(chain, q, qd, qdd, gravity)
    wrench = [own_wrench(chain, i, *walk.motion[i]) for i in range(chain.links)]
    motor = [drives.ratio[i] ** 2 * drives.rotor[i] * thetadd[i] for i in range(chain.n)]
    for i in drives.coupled:
        p = drives.parent[i]
        v, vd = walk.motion[p]
        moment = drives.rotor[i] * drives.spin_moment(i, v[:3], thetad[i], thetadd[i])
        wrench[p] = wrench[p] + cs.vertcat(moment, SX.zeros(3))
        motor[i] = motor[i] + drives.ratio[i] * drives.rotor[i] * cs.dot(drives.axis[i], vd[:3])
    return inward_walk(chain, walk, wrench), cs.vertcat(*motor)


@builder
def elastic_inverse_dynamics(
    robot: Robot,
    terms: TermsLike | None = None,
    coupling: bool = True,
    tip_wrench: str | None = None,
    frame: str = "tip",
) -> Program:
    """Return (links' forces, motors' torques) = B(q) a + C v + g + K_e (q, theta) + friction (+ J^T F_tip) (spec B2).

    Inputs q, qd, qdd (n,), then theta, thetad, thetadd, one value per elastic joint. Free motion has zero in the rows of elastic
    joints' links. A rigid joint has theta = q: its motor is in its link's row, and it has no row of its own. `terms`: friction on
    the motors ("coulomb", "viscous", ...), "damping" of the springs, friction on the links ("link_viscous", ...); by
    default all that the description states. Without `coupling`, B has no blocks between links and rotors. `tip_wrench` is
    as in `inverse_dynamics`.

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> still = [0.0, 0.0]
    >>> tp.elastic_inverse_dynamics(arm)(still, still, still, still, still, still).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    check_elastic(robot)
    if tip_wrench is not None and tip_wrench not in JACOBIANS:
        raise unknown("axes of the tip wrench", tip_wrench, JACOBIANS)
    robot.frame(frame)
    sides = chosen_sides(robot, terms)
    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, x) for x in ("theta", "thetad", "thetadd"))]
    inputs += [Port("f_tip", (6,), ("nx", "ny", "nz", "fx", "fy", "fz"), "moment, then force")] if tip_wrench else []

    def body(chain: Chain, q: Any, qd: Any, qdd: Any, theta: Any, thetad: Any, thetadd: Any, *wrench: Any) -> Any:
        drives = Drives(chain, coupling)
        theta, thetad, thetadd = (drives.motors(x, y) for x, y in ((q, theta), (qd, thetad), (qdd, thetadd)))
        link, motor = elastic_newton_euler(chain, drives, q, qd, qdd, thetad, thetadd)
        on_link, on_motor = drives.forces(sides, q, qd, theta, thetad)
        if tip_wrench:
            on_link = on_link + tip_torque(chain, q, wrench[0], frame, tip_wrench)
        return drives.rows(link + on_link, motor + on_motor)

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_inverse_dynamics", robot, body, inputs, [Port("tau", (rows,))])


def rotor_coupling(chain: Chain, drives: Drives, q: Any) -> Any:
    """Return B_d, n x n, column i = J k J_O^T z of the link that carries rotor i (spec B4)."""
    result = SX(chain.n, chain.n)
    screws = link_screws(chain, q)
    for i in drives.coupled:
        turning = gathered_columns(chain, screws[drives.parent[i]])[:3, :]
        result[:, i] = drives.rotor[i] * drives.ratio[i] * (turning.T @ drives.axis[i])
    return result


def elastic_inertia(chain: Chain, drives: Drives, q: Any) -> tuple[Any, Any, Any]:
    """Return the blocks of B over all links and all motors: M, B_d, and the diagonal k^2 J of the motors (spec B4)."""
    own = cs.vertcat(*(k * k * j for k, j in zip(drives.ratio, drives.rotor, strict=True)))
    return composite_bodies(chain, q), rotor_coupling(chain, drives, q), own


@builder
def elastic_mass_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return B(q), the inertia of links and motors: kinetic energy = v^T B v / 2 with v = (qd, thetad) (spec B4).

    B = [[M, B_d], [B_d^T, diag(k^2 J)]], J the rotors' inertias; rows and columns are links, then motors of elastic joints.

    >>> import taupi as tp
    >>> tp.elastic_mass_matrix(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [[19.925, 2.1083, 0.0, 1.21], [2.1083, 0.8583, 0.0, 0.0], [0.0, 0.0, 0.2118, 0.0], [1.21, 0.0, 0.0, 0.121]]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Any) -> Any:
        drives = Drives(chain, coupling)
        m, d, own = elastic_inertia(chain, drives, q)
        s = drives.selection
        return s.T @ cs.blockcat([[m, d], [d.T, cs.diag(own)]]) @ s

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_mass_matrix", robot, body, ["q"], [Port("B", (rows, rows))])


@builder
def elastic_coriolis_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return C(q, qd, thetad), Christoffel's: dB/dt - 2C is skew-symmetric (spec B4).

    The velocity forces c = C v are quadratic in v = (qd, thetad); with Christoffel's symbols, symmetric in the velocities,
    C is half of dc/dv.

    >>> import taupi as tp
    >>> C = tp.elastic_coriolis_matrix(tp.load("zollo2r"))([0.3, 0.7], [1.0, -2.0], [0.5, 0.5])
    >>> C.round(4).tolist()[0]
    [1.6105, 0.8053, 0.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Any, qd: Any, thetad: Any) -> Any:
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
    """Return g(q) over links and motors of elastic joints: gravity pulls on links alone, which hold the motors (spec B2).

    >>> import taupi as tp
    >>> tp.elastic_gravity_torque(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain, q: Any) -> Any:
        drives, rest = Drives(chain), SX.zeros(chain.n)
        return drives.rows(*elastic_newton_euler(chain, drives, q, rest, rest, rest, rest))

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_gravity_torque", robot, body, ["q"], [Port("g", (rows,))])


@builder
def elastic_stiffness_matrix(robot: Robot) -> Program:
    """Return K_e = [[K, -K], [-K, K]], constant: potential energy of the springs = (q, theta)^T K_e (q, theta) / 2 (spec B2).

    >>> import taupi as tp
    >>> tp.elastic_stiffness_matrix(tp.load("zollo2r"))().tolist()[0]
    [3000.0, 0.0, -3000.0, 0.0]
    """
    check_elastic(robot)

    def body(chain: Chain) -> Any:
        drives = Drives(chain)
        spring = term_parameters(robot, chosen_sides(robot, ()).spring)
        k = cs.diag(cs.vertcat(*(chain.scalar(n, v) for n, v in zip(spring.names, spring.exact, strict=True))))
        return drives.selection.T @ cs.blockcat([[k, -k], [-k, k]]) @ drives.selection

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_stiffness_matrix", robot, body, [], [Port("K", (rows, rows))])
