"""The regressor of robots with elastic joints: columns for links, rotors, friction and springs, rows for links and motors."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.drives import (
    DOCUMENT,
    Drives,
    FollowingRotor,
    Sides,
    elastic_parameters,
    motor_port,
    resolve_sides,
)
from taupi.dynamics.terms import TermsLike, follower_columns, term_columns
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, unknown
from taupi.model.parameters import ParameterLayout
from taupi.model.requirements import require_elastic
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program
from taupi.regressors.recursive import Axes, PolarisedMotion, link_columns, link_walk

ORDERS = ("grouped", "link")


def rotor_columns(
    chain: Chain,
    drives: Drives,
    walk: list[tuple[PolarisedMotion, Axes]],
    link: tuple[Vector, ...],
    thetad: Vector,
    thetadd: Vector,
) -> Matrix:
    """Return the columns of the rotors' inertias over all links and all motors, 2n x (n + following) (equations.md, E3).

    Links: the power of the moment k (thetadd z + thetad w x z) on the joints between the base and the link that carries the
    rotor. Motors: k (z . wd + k thetadd).
    """
    motor = [drives.ratio[i] ** 2 * thetadd[i] for i in range(chain.n)]
    columns = [SX(chain.n, 1) for _ in range(chain.n)]
    for i in drives.coupled:
        motion, axes = walk[drives.parent[i]]
        moment = drives.spin_moment(i, motion.w, thetad[i], thetadd[i])
        rows = [axes[j][0].T @ moment if j in axes else SX(1, 1) for j in range(chain.links)]
        columns[i] = chain.gather(rows)
        motor[i] = motor[i] + drives.ratio[i] * cs.dot(drives.axis[i], motion.alpha)
    following = [_following_column(chain, rotor, walk, link) for rotor in drives.following]
    own = cs.vertcat(cs.horzcat(*columns), cs.diag(cs.vertcat(*motor)))
    return cs.horzcat(own, *(cs.vertcat(column, SX(chain.n, 1)) for column in following))


def _following_column(
    chain: Chain, rotor: FollowingRotor, walk: list[tuple[PolarisedMotion, Axes]], link: tuple[Vector, ...]
) -> Vector:
    """Return the column of the rotor of a joint that follows others, over all links; `link` is (q, qd, qdd)."""
    _, qd, qdd = link
    if not rotor.coupled:
        return rotor.own_torque(SX.zeros(3), qdd)
    motion, axes = walk[rotor.parent]
    moment = rotor.spin_moment(motion.w, qd, qdd)
    rows = [axes[j][0].T @ moment if j in axes else SX(1, 1) for j in range(chain.links)]
    return chain.gather(rows) + rotor.own_torque(motion.alpha, qdd)


def _columns(chain: Chain, sides: Sides, drives: Drives, link: tuple[Vector, ...], motor: tuple[Vector, ...]) -> Matrix:
    """Return Y with columns in the order of `elastic_parameters` and rows for links and elastic motors."""
    q, qd, qdd = link
    theta, thetad, thetadd = (drives.motors(x, y) for x, y in zip(link, motor, strict=True))
    inertial = _inertial(chain, drives, link, thetad, thetadd)
    spring = term_columns(chain, sides.spring, theta - q, thetad - qd, thetadd - qdd, followers=False)
    sprung = [k * chain.n + i for k in range(len(sides.spring)) for i in drives.elastic]
    spring = spring[:, sprung]
    on_motor = term_columns(chain, sides.motor, theta, thetad, thetadd, followers=False)
    on_link = cs.horzcat(term_columns(chain, sides.link, q, qd, qdd), follower_columns(chain, sides.motor, q, qd, qdd))
    rows = cs.horzcat(
        inertial,
        cs.vertcat(SX(*on_motor.shape), on_motor),
        cs.vertcat(-spring, spring),
        cs.vertcat(on_link, SX(*on_link.shape)),
    )
    return drives.selection.T @ rows


def _parts(
    chain: Chain, sides: Sides, coupling: bool, link: tuple[Vector, ...], motor: tuple[Vector, ...]
) -> tuple[Matrix, Matrix, Matrix]:
    """Return Y_B, Y_C, Y_oth in the order of `elastic_parameters`: of accelerations, of products of velocities, the rest."""
    drives, zero = Drives(chain, coupling), SX.zeros(chain.n)
    q, qd, qdd = link
    thetad, thetadd = drives.motors(qd, motor[1]), drives.motors(qdd, motor[2])
    at_rest = _inertial(chain, drives, (q, zero, zero), zero, zero)
    accelerated = _inertial(chain, drives, (q, zero, qdd), zero, thetadd) - at_rest
    moving = _inertial(chain, drives, (q, qd, zero), thetad, zero) - at_rest
    columns = _columns(chain, sides, drives, link, motor)
    width = at_rest.shape[1]
    empty = SX(columns.shape[0], columns.shape[1] - width)
    y_b, y_c = (cs.horzcat(drives.selection.T @ part, empty) for part in (accelerated, moving))
    others = cs.horzcat(drives.selection.T @ at_rest, columns[:, width:])
    return y_b, y_c, others


def _inertial(chain: Chain, drives: Drives, link: tuple[Vector, ...], thetad: Vector, thetadd: Vector) -> Matrix:
    """Return the columns of links and rotors over all links and all motors; `link` is (q, qd, qdd)."""
    q, qd, qdd = link
    walk = link_walk(chain, q, qd, qd, qdd)
    links = link_columns(chain, walk)
    return cs.horzcat(cs.vertcat(links, SX(*links.shape)), rotor_columns(chain, drives, walk, link, thetad, thetadd))


@builder
def elastic_regressor_parts(
    robot: Robot, order: str = "grouped", terms: TermsLike = DOCUMENT, coupling: bool = True
) -> Program:
    """Return Y_B, Y_C, Y_oth of (q, qd, qdd, theta, thetad, thetadd) for a `robot`: the regressor in its three parts.

    Y = Y_B + Y_C + Y_oth: Y_B Pi = B(q) a holds the accelerations, Y_C Pi = C(q, v) v the products of velocities, and Y_oth the
    gravity, friction and springs (Zollo et al. 2014, eq. 13, 15, 22, 29).

    Args:
        robot: A robot with elastic joints.
        order: The order of the columns, as in `elastic_regressor`: "grouped" (the default) or "link".
        terms: Friction as in `elastic_regressor`, by default ("coulomb", "viscous") of the motors.
        coupling: Whether rotors act on the links that carry them, True by default.

    Returns:
        The program with three results (..., 2n, p).

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> state = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.11, 0.21], [0.3, 0.4], [0.5, 0.6])
    >>> parts = tp.elastic.regressor_parts(arm)(*state)
    >>> bool(abs(sum(parts) - tp.elastic.regressor(arm)(*state)).max() < 1e-12)
    True
    """
    require_elastic(robot)
    sides = resolve_sides(terms)
    natural = elastic_parameters(robot, sides)
    places = [int(k) for k in column_order(natural.layout, order)]

    def body(chain: Chain, *x: Vector) -> tuple[Matrix, ...]:
        return tuple(part[:, places] for part in _parts(chain, sides, coupling, x[:3], x[3:]))

    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, n) for n in ("theta", "thetad", "thetadd"))]
    shape = (robot.n + len(robot.elastic_joints), len(natural))
    ports = [Port(name, shape) for name in ("Y_B", "Y_C", "Y_oth")]
    return trace_robot("elastic_regressor_parts", robot, body, inputs, ports, natural.take(places))


@builder
def elastic_rate_regressors(
    robot: Robot, order: str = "grouped", terms: TermsLike = DOCUMENT, coupling: bool = True
) -> Program:
    """Return Y_H (n, 2n, p) of (q, qd, thetad) for a `robot`: H_k v = Y_H[k] Pi with H_k = dB/dq_k and v = (qd, thetad).

    Y_H[k] is the derivative of Y_B, at the accelerations v, with respect to q_k; its columns of masses, first moments,
    inertias and rotors are (24) to (28) of Zollo et al. (2014). Y_C is the sum of qd_k Y_H[k], less v^T Y_H[k] / 2 in row k
    (eq. 22, 23, B.14-B.20).

    Args:
        robot: A robot with elastic joints.
        order: The order of the columns, as in `elastic_regressor`: "grouped" (the default) or "link".
        terms: Friction as in `elastic_regressor`, by default ("coulomb", "viscous") of the motors: columns of zeros.
        coupling: Whether rotors act on the links that carry them, True by default.

    Returns:
        The program, with results (..., n, 2n, p).

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> tp.elastic.rate_regressors(arm)([0.1, 0.2], [0.3, 0.4], [0.5, 0.6]).shape
    (2, 4, 28)
    """
    require_elastic(robot)
    natural = elastic_parameters(robot, resolve_sides(terms))
    places = [int(k) for k in column_order(natural.layout, order)]

    def body(chain: Chain, q: Vector, qd: Vector, thetad: Vector) -> list[Matrix]:
        drives, zero = Drives(chain, coupling), SX.zeros(chain.n)
        at_rest = _inertial(chain, drives, (q, zero, zero), zero, zero)
        moved = _inertial(chain, drives, (q, zero, qd), zero, drives.motors(qd, thetad)) - at_rest
        accelerated = drives.selection.T @ moved
        empty = SX(accelerated.shape[0], len(natural) - accelerated.shape[1])
        rates = cs.jacobian(cs.vec(accelerated), q)
        parts = [cs.reshape(rates[:, k], *accelerated.shape) for k in range(chain.n)]
        return [cs.horzcat(part, empty)[:, places] for part in parts]

    inputs: list[str | Port] = ["q", "qd", motor_port(robot, "thetad")]
    shape = (robot.n, robot.n + len(robot.elastic_joints), len(natural))
    return trace_robot("elastic_rate_regressors", robot, body, inputs, [Port("Y_H", shape)], natural.take(places))


def column_order(layout: ParameterLayout, order: str) -> np.ndarray:
    """Return the places of the parameters in an order: grouped by kind as in Zollo et al. (2014), or link by link."""
    if order not in ORDERS:
        raise unknown(Argument("order"), order, ORDERS)
    if order == "grouped":
        return layout.order("zollo")
    return np.array(sorted(range(len(layout)), key=lambda k: layout.entries[k].index), dtype=int)


@builder
def elastic_regressor(
    robot: Robot,
    order: str = "grouped",
    terms: TermsLike = DOCUMENT,
    coupling: bool = True,
    columns: tuple[str, ...] | str | None = None,
) -> Program:
    """Return Y(q, qd, qdd, theta, thetad, thetadd) of `robot`, 2n x 14n, with Y Pi = (torques on the links, motor torques u).

    A rigid joint, one without stiffness, has its motor in its link's row, and no column for a stiffness.

    Args:
        robot: A robot with elastic joints.
        order: The order of the columns. In "grouped" (the default), that of Zollo et al. (2014, eq. 13-34), Pi has masses, first
            moments (three per link), inertias (xx, yy, zz, xy, xz, yz per link), then one per joint of rotor inertia, Coulomb
            friction and viscous friction of the motor, and stiffness. In "link", each link's ten are followed by the
            parameters of its joint.
        terms: Friction of the motors, by default ("coulomb", "viscous"), "damping" of the springs, and friction on the links
            ("link_viscous", "link_coulomb"); columns of terms that the paper does not have come last.
        coupling: Whether rotors act on the links that carry them, True by default.
        columns: The parameters whose columns are kept, by name or pattern; None, the default, keeps all.

    Returns:
        The program Y of positions, velocities and accelerations of links and motors, in rad or m and s, the motors' on the joint
        side of the gears, with results (..., 2n, p); `Y.parameters` names the columns and holds the robot's values.

    >>> import taupi as tp
    >>> Y = tp.elastic_regressor(tp.load("zollo2r"))
    >>> Y([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.11, 0.21], [0.3, 0.4], [0.5, 0.6]).shape
    (4, 28)
    >>> Y.parameters.names[:5], Y.parameters.names[-2:]
    (('link1.m', 'link2.m', 'link1.mx', 'link1.my', 'link1.mz'), ('joint1.stiffness', 'joint2.stiffness'))
    """
    require_elastic(robot)
    sides = resolve_sides(terms)
    natural = elastic_parameters(robot, sides)
    places = [int(k) for k in column_order(natural.layout, order)]

    def body(chain: Chain, *x: Vector) -> Matrix:
        return _columns(chain, sides, Drives(chain, coupling), x[:3], x[3:])[:, places]

    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, n) for n in ("theta", "thetad", "thetadd"))]
    shape = (robot.n + len(robot.elastic_joints), len(natural))
    program = trace_robot("elastic_regressor", robot, body, inputs, [Port("Y", shape)], natural.take(places))
    return program if columns is None else program.select(columns)
