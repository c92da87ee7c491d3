"""The regressor of robots with elastic joints: links, rotors, friction and springs, over links and motors."""

from __future__ import annotations

from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.drives import DOCUMENT, Drives, Sides, check_elastic, elastic_parameters, motor_port, resolve_sides
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TermsLike, term_columns
from taupi.errors import unknown
from taupi.model.parameters import ParameterLayout
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.regressors.recursive import Axes, Motion, link_columns, link_walk

ORDERS = ("grouped", "link")


def rotor_columns(chain: Chain, drives: Drives, walk: list[tuple[Motion, Axes]], thetad: Any, thetadd: Any) -> Any:
    """Return the columns of the rotors' inertias over all links and all motors, 2n x n (spec B5).

    Links: the power of the moment k (thetadd z + thetad w x z) on the joints before the link that carries the rotor.
    Motors: k (z . wd + k thetadd).
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


def _columns(chain: Chain, sides: Sides, coupling: bool, link: tuple[Any, ...], motor: tuple[Any, ...]) -> Any:
    """Return Y in the order of `elastic_parameters`, its rows links and elastic motors."""
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


def column_order(layout: ParameterLayout, order: str) -> np.ndarray:
    """Return the places of the columns in an order: grouped by kind as in the document, or link by link."""
    if order not in ORDERS:
        raise unknown("order", order, ORDERS)
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
    """Return Y(q, qd, qdd, theta, thetad, thetadd), 2n x 14n, with Y Pi = (forces on the links, motor torques u) (spec B5).

    Pi, in the "grouped" order of Zollo et al. (2014): masses, first moments (3 a link), inertias (xx, yy, zz, xy, xz, yz a link),
    then one a joint: rotor inertia, Coulomb and viscous friction of the motor, stiffness. With `order="link"` each link's ten are
    followed by those of its joint. `Y.parameters` names them and holds the robot's values. `terms` are the friction of the
    motors, "damping" of the springs, and friction on the links ("link_viscous", "link_coulomb"); what the document has not
    follows at the end. A rigid joint, one without stiffness, has its motor in its link's row, and no column of stiffness.
    Without `coupling` the rotors turn no links. `columns` keeps the named parameters only.

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

    def body(chain: Chain, *x: Any) -> Any:
        return _columns(chain, sides, coupling, x[:3], x[3:])[:, places]

    inputs: list[str | Port] = ["q", "qd", "qdd", *(motor_port(robot, n) for n in ("theta", "thetad", "thetadd"))]
    shape = (robot.n + len(robot.elastic_joints), len(natural))
    program = trace_robot("elastic_regressor", robot, body, inputs, [Port("Y", shape)], natural.take(places))
    return program if columns is None else program.columns(columns)
