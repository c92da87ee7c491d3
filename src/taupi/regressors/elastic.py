"""The regressor of robots with elastic joints: columns for links, rotors, friction and springs, rows for links and motors."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.drives import DOCUMENT, Drives, Sides, check_elastic, elastic_parameters, motor_port, resolve_sides
from taupi.dynamics.terms import TermsLike, term_columns
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, unknown
from taupi.model.parameters import ParameterLayout
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program
from taupi.regressors.recursive import Axes, PolarisedMotion, link_columns, link_walk

ORDERS = ("grouped", "link")


def rotor_columns(
    chain: Chain, drives: Drives, walk: list[tuple[PolarisedMotion, Axes]], thetad: Vector, thetadd: Vector
) -> Matrix:
    """Return the columns of the rotors' inertias over all links and all motors, 2n x n (equations.md, E3).

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
    return cs.vertcat(cs.horzcat(*columns), cs.diag(cs.vertcat(*motor)))


def _columns(chain: Chain, sides: Sides, coupling: bool, link: tuple[Vector, ...], motor: tuple[Vector, ...]) -> Matrix:
    """Return Y with columns in the order of `elastic_parameters` and rows for links and elastic motors."""
    drives = Drives(chain, coupling)
    q, qd, qdd = link
    theta, thetad, thetadd = (drives.motors(x, y) for x, y in zip(link, motor, strict=True))
    walk = link_walk(chain, q, qd, qd, qdd)
    links = link_columns(chain, walk)
    spring = term_columns(chain, sides.spring, theta - q, thetad - qd, thetadd - qdd)
    sprung = [k * chain.n + i for k in range(len(sides.spring)) for i in drives.elastic]
    spring = spring[:, sprung]
    on_motor = term_columns(chain, sides.motor, theta, thetad, thetadd)
    on_link = term_columns(chain, sides.link, q, qd, qdd)
    rows = cs.horzcat(
        cs.vertcat(links, SX(*links.shape)),
        rotor_columns(chain, drives, walk, thetad, thetadd),
        cs.vertcat(SX(*on_motor.shape), on_motor),
        cs.vertcat(-spring, spring),
        cs.vertcat(on_link, SX(*on_link.shape)),
    )
    return drives.selection.T @ rows


def _parts(
    chain: Chain, sides: Sides, coupling: bool, link: tuple[Vector, ...], motor: tuple[Vector, ...]
) -> tuple[Matrix, Matrix, Matrix]:
    """Return Y_B, Y_C, Y_oth in the order of `elastic_parameters`: of accelerations, of products of velocities, the rest."""
    q, qd, _ = link
    zero, still = SX.zeros(chain.n), SX.zeros(*motor[1].shape)
    at_rest = _inertial(chain, coupling, (q, zero, zero), (motor[0], still, still))
    accelerated = _inertial(chain, coupling, (q, zero, link[2]), (motor[0], still, motor[2])) - at_rest
    moving = _inertial(chain, coupling, (q, qd, zero), (motor[0], motor[1], still)) - at_rest
    drives = Drives(chain, coupling)
    columns = _columns(chain, sides, coupling, link, motor)
    width = at_rest.shape[1]
    empty = SX(columns.shape[0], columns.shape[1] - width)
    y_b, y_c = (cs.horzcat(drives.selection.T @ part, empty) for part in (accelerated, moving))
    others = cs.horzcat(drives.selection.T @ at_rest, columns[:, width:])
    return y_b, y_c, others


def _inertial(chain: Chain, coupling: bool, link: tuple[Vector, ...], motor: tuple[Vector, ...]) -> Matrix:
    """Return the columns of links and rotors over all links and all motors."""
    drives = Drives(chain, coupling)
    q, qd, qdd = link
    _, thetad, thetadd = (drives.motors(x, y) for x, y in zip(link, motor, strict=True))
    walk = link_walk(chain, q, qd, qd, qdd)
    links = link_columns(chain, walk)
    return cs.horzcat(cs.vertcat(links, SX(*links.shape)), rotor_columns(chain, drives, walk, thetad, thetadd))


@builder
def elastic_regressor_parts(
    robot: Robot, order: str = "grouped", terms: TermsLike = DOCUMENT, coupling: bool = True
) -> Program:
    """Return Y_B, Y_C, Y_oth of (q, qd, qdd, theta, thetad, thetadd) for a `robot`: the regressor in its three parts.

    Y = Y_B + Y_C + Y_oth: Y_B Pi = B(q) a holds the accelerations, Y_C Pi = C(q, v) v the products of velocities, and Y_oth the
    gravity, friction and springs (Zollo et al. 2014, eq. 13, 15, 22, 29). `order`, `terms` and `coupling` are those of
    `elastic_regressor`.

    >>> import taupi as tp
    >>> arm = tp.load("zollo2r")
    >>> state = ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.11, 0.21], [0.3, 0.4], [0.5, 0.6])
    >>> parts = tp.elastic.regressor_parts(arm)(*state)
    >>> bool(abs(sum(parts) - tp.elastic.regressor(arm)(*state)).max() < 1e-12)
    True
    """
    check_elastic(robot)
    sides = resolve_sides(terms)
    natural = elastic_parameters(robot, sides)
    places = [int(k) for k in column_order(natural.layout, order)]

    def body(chain: Chain, *x: Vector) -> tuple[Matrix, ...]:
        return tuple(part[:, places] for part in _parts(chain, sides, coupling, x[:3], x[3:]))

    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, n) for n in ("theta", "thetad", "thetadd"))]
    shape = (robot.n + len(robot.elastic_joints), len(natural))
    ports = [Port(name, shape) for name in ("Y_B", "Y_C", "Y_oth")]
    return trace_robot("elastic_regressor_parts", robot, body, inputs, ports, natural.take(places))


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

    `order` is that of the columns. In "grouped" (the default), the order of Zollo et al. (2014, eq. 13-34), Pi has masses,
    first moments (three per link), inertias (xx, yy, zz, xy, xz, yz per link), then one per joint of rotor inertia, Coulomb
    friction and viscous friction of the motor, and stiffness. In "link", each link's ten are followed by those of its joint.
    `Y.parameters` names them and holds the robot's values.

    `terms` are the friction of the motors, by default ("coulomb", "viscous"), "damping" of the springs, and friction on the links
    ("link_viscous", "link_coulomb"); those that the document does not have come last. A rigid joint, one without stiffness, has
    its motor in its link's row, and no column for a stiffness. `coupling=False` lets rotors act on no link; the default is True.
    `columns` keeps only the parameters that it names, as in `regressor`; None, the default, keeps all.

    >>> import taupi as tp
    >>> Y = tp.elastic_regressor(tp.load("zollo2r"))
    >>> Y([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.11, 0.21], [0.3, 0.4], [0.5, 0.6]).shape
    (4, 28)
    >>> Y.parameters.names[:5], Y.parameters.names[-2:]
    (('link1.m', 'link2.m', 'link1.mx', 'link1.my', 'link1.mz'), ('joint1.stiffness', 'joint2.stiffness'))
    """
    check_elastic(robot)
    sides = resolve_sides(terms)
    natural = elastic_parameters(robot, sides)
    places = [int(k) for k in column_order(natural.layout, order)]

    def body(chain: Chain, *x: Vector) -> Matrix:
        return _columns(chain, sides, coupling, x[:3], x[3:])[:, places]

    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, n) for n in ("theta", "thetad", "thetadd"))]
    shape = (robot.n + len(robot.elastic_joints), len(natural))
    program = trace_robot("elastic_regressor", robot, body, inputs, [Port("Y", shape)], natural.take(places))
    return program if columns is None else program.select(columns)
