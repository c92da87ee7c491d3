"""Robots with elastic joints: inverse dynamics, inertia, Coriolis and gravity of links and motors together.

The coordinates are the links' q and the motors' theta, as seen through the gears; in each joint a spring connects the two. The
body of a link includes the complete motors that it carries (Zollo et al. 2014, section 3).
"""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, mass_builder, trace_robot
from taupi.dynamics.contacts import tip_ports, tip_torque
from taupi.dynamics.drives import Drives, chosen_sides, motor_port
from taupi.dynamics.joint_frames import JointFrames, carried_inward, motions, own_wrenches
from taupi.dynamics.kinematics import gathered_columns, link_placements, link_screws
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.spatial import spatial_inertia
from taupi.dynamics.terms import TermsLike, term_parameters
from taupi.dynamics.terms.columns import parameter_values
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.requirements import require_elastic
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
    following = SX.zeros(chain.n)
    for rotor in drives.following:
        p, wd = rotor.parent, SX.zeros(3)
        if rotor.coupled:
            r = frames.link_axes[p]
            wd = r.T @ links[p].wd
            moment = rotor.inertia * rotor.spin_moment(r.T @ links[p].w, qd, qdd)
            wrench[p] = wrench[p] + cs.vertcat(r @ moment, SX.zeros(3))
        following = following + rotor.inertia * rotor.own_torque(wd, qdd)
    return carried_inward(frames, wrench) + following, cs.vertcat(*motor)


@mass_builder
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

    Args:
        robot: The robot, n links and m elastic joints.
        terms: Names of friction on the motors ("coulomb", "viscous", ...), "damping" of the springs, and friction on the links
            ("link_viscous", ...); None, the default, takes all that the description states.
        coupling: Whether B has its blocks between links and rotors; True by default.
        tip_wrench: As in `inverse_dynamics`, None by default.
        frame: As in `inverse_dynamics`, "tip" by default.

    Returns:
        A program with the output tau (n + m,), N m or N.

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> still = [0.0, 0.0]
    >>> tp.elastic.inverse_dynamics(arm)(still, still, still, still, still, still).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    require_elastic(robot)
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


def _rotor_coupling(chain: Chain, drives: Drives, q: Vector) -> Matrix:
    """Return B_d, n x n, with column i = J k J_O^T z of the link that carries rotor i (Zollo et al. 2014, eq. 8)."""
    result = SX(chain.n, chain.n)
    screws = link_screws(chain, q)
    for i in drives.coupled:
        turning = gathered_columns(chain, screws[drives.parent[i]])[:3, :]
        result[:, i] = drives.rotor[i] * drives.ratio[i] * (turning.T @ drives.axis[i])
    return result


def _rotor_inertia(chain: Chain, drives: Drives, q: Vector) -> Matrix:
    """Return what rotors add to B over all links and motors, [[M_f, B_d], [B_d^T, diag(k^2 J)]] (Zollo et al. 2014, eq. 8).

    M_f is of the rotors of joints that follow others.
    """
    d = _rotor_coupling(chain, drives, q)
    own = cs.diag(cs.vertcat(*(k * k * j for k, j in zip(drives.ratio, drives.rotor, strict=True))))
    return cs.blockcat([[_following_inertia(chain, drives, q), d], [d.T, own]])


def elastic_inertia(chain: Chain, drives: Drives, q: Vector) -> Matrix:
    """Return B over links and motors of elastic joints (Zollo et al. 2014, eq. 8)."""
    links = cs.diagcat(composite_bodies(chain, q), SX(chain.n, chain.n))
    return drives.selection.T @ (links + _rotor_inertia(chain, drives, q)) @ drives.selection


def _following_inertia(chain: Chain, drives: Drives, q: Vector) -> Matrix:
    """Return what the rotors of joints that follow others add to M: J (k^2 c c^T + k (b c^T + c b^T)), b = J_O^T z."""
    result = SX.zeros(chain.n, chain.n)
    screws = link_screws(chain, q) if drives.following else []
    for rotor in drives.following:
        own = rotor.ratio**2 * rotor.c @ rotor.c.T
        if rotor.coupled:
            b = gathered_columns(chain, screws[rotor.parent])[:3, :].T @ rotor.axis
            own = own + rotor.ratio * (b @ rotor.c.T + rotor.c @ b.T)
        result = result + rotor.inertia * own
    return result


@mass_builder
def elastic_mass_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return B(q) of `robot`, the inertia of links and motors: K = v^T B v / 2 with v = (qd, thetad).

    B = [[M, B_d], [B_d^T, diag(k^2 J)]] with the rotors' inertias J and gear ratios k; rows and columns are the links, then the
    motors of elastic joints (Zollo et al. 2014, eq. 7).

    Args:
        robot: The robot, n links and m elastic joints.
        coupling: Whether B has the blocks B_d; True by default.

    Returns:
        A program of q (n,) with the output B (n + m, n + m).

    >>> import taupi as tp
    >>> tp.elastic.mass_matrix(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [[19.925, 2.1083, 0.0, 1.21], [2.1083, 0.8583, 0.0, 0.0], [0.0, 0.0, 0.2118, 0.0], [1.21, 0.0, 0.0, 0.121]]
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector) -> Matrix:
        return elastic_inertia(chain, Drives(chain, coupling), q)

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_mass_matrix", robot, body, ["q"], [Port("B", (rows, rows))])


@mass_builder
def elastic_coriolis_matrix(robot: Robot, coupling: bool = True) -> Program:
    """Return the Christoffel matrix C(q, qd, thetad) of `robot`; dB/dt - 2C is skew-symmetric (Zollo et al. 2014, eq. 4).

    The velocity torques c = C v are quadratic in v = (qd, thetad), and Christoffel symbols are symmetric in the velocities, so C
    is half of dc/dv.

    Args:
        robot: The robot, n links and m elastic joints.
        coupling: As in `elastic_mass_matrix`, True by default.

    Returns:
        A program of q, qd (n,) and thetad (m,) with the output C (n + m, n + m).

    >>> import taupi as tp
    >>> C = tp.elastic.coriolis_matrix(tp.load("zollo2r"))([0.3, 0.7], [1.0, -2.0], [0.5, 0.5])
    >>> C.round(4).tolist()[0]
    [1.6105, 0.8053, 0.0, 0.0]
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector, qd: Vector, thetad: Vector) -> Matrix:
        drives = Drives(chain, coupling)
        rest = SX.zeros(chain.n)
        motors = drives.motors(qd, thetad)
        link, motor = elastic_newton_euler(chain, drives, q, qd, rest, motors, rest, SX.zeros(3))
        return cs.densify(cs.jacobian(drives.rows(link, motor), cs.vertcat(qd, thetad)) / 2)

    rows = robot.n + len(robot.elastic_joints)
    inputs: list[str | Port] = ["q", "qd", motor_port(robot, "thetad")]
    return trace_robot("elastic_coriolis_matrix", robot, body, inputs, [Port("C", (rows, rows))])


# The parts of a body: its mass, first moment and inertia.
PARTS = {"m": slice(0, 1), "c": slice(1, 4), "I": slice(4, 10)}


@mass_builder
def elastic_mass_matrix_parts(robot: Robot, coupling: bool = True) -> Program:
    """Return B_m, B_c, B_I and B_Y of q for a `robot`: the inertia B by the kind of parameter that each part is linear in.

    B = B_m + B_c + B_I + B_Y: masses, first moments and inertias of the bodies, and the rotors, whose part has B_d and its
    transpose beside the diagonal of the motors (Zollo et al. 2014, eq. 7, 8). The derivatives H_m, H_c, H_I and H_d (9)-(11) are
    `mass_matrix_parts(robot).jacobian("q")`.

    Args:
        robot: The robot, n links and m elastic joints.
        coupling: As in `elastic_mass_matrix`, True by default.

    Returns:
        A program with four outputs (n + m, n + m), rows and columns being the links, then the motors of elastic joints.

    >>> import taupi as tp
    >>> arm, q = tp.load("zollo2r"), [0.1, 0.2]
    >>> parts = tp.elastic.mass_matrix_parts(arm)(q)
    >>> bool(abs(sum(parts) - tp.elastic.mass_matrix(arm)(q)).max() < 1e-12), parts[3].round(4).tolist()[3]
    (True, [1.21, 0.0, 0.0, 0.121])
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector) -> tuple[Matrix, ...]:
        drives, n = Drives(chain, coupling), chain.n
        jacobians = [gathered_columns(chain, columns) for columns in link_screws(chain, q)]
        parts = []
        for part in PARTS.values():
            links = SX.zeros(n, n)
            for i, j in enumerate(jacobians):
                alone = SX.zeros(10)
                alone[part] = chain.body(i)[part]
                links = links + j.T @ spatial_inertia(alone) @ j
            parts.append(cs.diagcat(links, SX.zeros(n, n)))
        parts.append(_rotor_inertia(chain, drives, q))
        return tuple(cs.densify(drives.selection.T @ part @ drives.selection) for part in parts)

    rows = robot.n + len(robot.elastic_joints)
    ports = [Port(name, (rows, rows)) for name in ("B_m", "B_c", "B_I", "B_Y")]
    return trace_robot("elastic_mass_matrix_parts", robot, body, ["q"], ports)


@mass_builder
def elastic_coriolis_parts(robot: Robot, coupling: bool = True) -> Program:
    """Return C_1, C_2 and C_3 of (q, qd, thetad) for a `robot`, whose sum is the Christoffel matrix C.

    With H_k = dB/dq_k and v = (qd, thetad): C_1 = sum_k qd_k H_k / 2, row k of C_2 is -v^T H_k / 2, and C_3 = -C_2^T. In the
    paper they have one, two and three primes (Zollo et al. 2014, eq. B.2-B.13).

    Args:
        robot: The robot, n links and m elastic joints.
        coupling: As in `elastic_mass_matrix`, True by default.

    Returns:
        A program with three outputs (n + m, n + m).

    >>> import taupi as tp
    >>> arm, state = tp.load("zollo2r"), ([0.3, 0.7], [1.0, -2.0], [0.5, 0.5])
    >>> parts = tp.elastic.coriolis_parts(arm)(*state)
    >>> bool(abs(sum(parts) - tp.elastic.coriolis_matrix(arm)(*state)).max() < 1e-12)
    True
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector, qd: Vector, thetad: Vector) -> tuple[Matrix, ...]:
        drives = Drives(chain, coupling)
        inertia = elastic_inertia(chain, drives, q)
        momentum = inertia @ cs.vertcat(qd, thetad)
        first = cs.reshape(cs.jtimes(cs.vec(inertia), q, qd), *inertia.shape) / 2
        second = cs.vertcat(-cs.jacobian(momentum, q).T / 2, SX(len(drives.elastic), inertia.shape[0]))
        return cs.densify(first), cs.densify(second), cs.densify(-second.T)

    rows = robot.n + len(robot.elastic_joints)
    inputs: list[str | Port] = ["q", "qd", motor_port(robot, "thetad")]
    ports = [Port(name, (rows, rows)) for name in ("C_1", "C_2", "C_3")]
    return trace_robot("elastic_coriolis_parts", robot, body, inputs, ports)


@mass_builder
def elastic_gravity_parts(robot: Robot) -> Program:
    """Return g_m and g_c of q for a `robot`: what masses and first moments add to the torque of gravity.

    g_m = -sum_i m_i J_P^T g_0 and g_c = -sum_i J_O^T (R_i c_i x g_0) (Zollo et al. 2014, eq. 31); both are zero in the rows of
    motors of elastic joints.

    Args:
        robot: The robot, n links and m elastic joints.

    Returns:
        A program with two outputs (n + m,), N m or N.

    >>> import taupi as tp
    >>> arm, q = tp.load("zollo2r"), [0.1, 0.2]
    >>> bool(abs(sum(tp.elastic.gravity_parts(arm)(q)) - tp.elastic.gravity_torque(arm)(q)).max() < 1e-12)
    True
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector) -> tuple[Vector, ...]:
        drives, rest = Drives(chain), SX.zeros(chain.n)
        masses, moments = SX(0), SX(0)
        for i, (r, p) in enumerate(link_placements(chain, q)):
            link = chain.body(i)
            masses -= link[0] * cs.dot(chain.gravity, p)
            moments -= cs.dot(chain.gravity, r @ link[1:4])
        return tuple(cs.densify(drives.rows(cs.gradient(energy, q), rest)) for energy in (masses, moments))

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_gravity_parts", robot, body, ["q"], [Port(name, (rows,)) for name in ("g_m", "g_c")])


@mass_builder
def elastic_gravity_torque(robot: Robot) -> Program:
    """Return g(q) of `robot` over links and motors of elastic joints (Zollo et al. 2014, eq. 12).

    The motors' rows are zero: gravity acts on the links, whose bodies include the motors.

    Args:
        robot: The robot, n links and m elastic joints.

    Returns:
        A program of q (n,) with the output g (n + m,), N m or N.

    >>> import taupi as tp
    >>> tp.elastic.gravity_torque(tp.load("zollo2r"))([0.0, 0.0]).round(4).tolist()
    [127.53, 24.525, 0.0, 0.0]
    """
    require_elastic(robot)

    def body(chain: Chain, q: Vector) -> Vector:
        drives, rest = Drives(chain), SX.zeros(chain.n)
        return drives.rows(*elastic_newton_euler(chain, drives, q, rest, rest, rest, rest))

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_gravity_torque", robot, body, ["q"], [Port("g", (rows,))])


@builder
def elastic_stiffness_matrix(robot: Robot) -> Program:
    """Return the constant K_e = [[K, -K], [-K, K]] of `robot`, in N m/rad or N/m (Zollo et al. 2014, eq. 6).

    The potential energy of the springs is (q, theta)^T K_e (q, theta) / 2.

    Args:
        robot: The robot, n links and m elastic joints.

    Returns:
        A program without inputs and with the output K (n + m, n + m).

    >>> import taupi as tp
    >>> tp.elastic.stiffness_matrix(tp.load("zollo2r"))().tolist()[0]
    [3000.0, 0.0, -3000.0, 0.0]
    """
    require_elastic(robot)

    def body(chain: Chain) -> Matrix:
        drives = Drives(chain)
        spring = term_parameters(robot, chosen_sides(robot, ()).spring, followers=False)
        k = cs.diag(parameter_values(chain, spring))
        return drives.selection.T @ cs.blockcat([[k, -k], [-k, k]]) @ drives.selection

    rows = robot.n + len(robot.elastic_joints)
    return trace_robot("elastic_stiffness_matrix", robot, body, [], [Port("K", (rows, rows))])
