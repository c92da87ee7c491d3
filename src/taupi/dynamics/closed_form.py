"""Closed-form Newton-Euler: the stacked matrices of the lecture, for a fixed or moving base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.spatial import SX, adjoint, bracket, inverse
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program


@dataclass(frozen=True)
class Stacked:
    """The stacked matrices of spec 2.4: A (6n x n), G, W, L = (I - W)^-1 (6n x 6n), and E, Ad(T_i0) of the roots (6n x 6)."""

    screws: Any
    inertia: Any
    carry: Any
    transfer: Any
    root: Any


def stacked(chain: Chain, q: Any) -> Stacked:
    """Return the stacked matrices; block (i, parent) of W is Ad(T_ip), and L follows from it block row by block row."""
    joints = chain.spread(q)
    x = [adjoint(*inverse(*chain.placement(i, joints[i]))) for i in range(chain.links)]
    n, empty = chain.links, SX(6, 6)
    carry = [[empty] * n for _ in range(n)]
    transfer = [[empty] * n for _ in range(n)]
    root = [empty] * n
    for i, joint in enumerate(chain.robot.joints):
        transfer[i][i] = SX.eye(6)
        if joint.parent == BASE:
            root[i] = x[i]
            continue
        carry[i][joint.parent] = x[i]
        for j in chain.robot.path(joint.parent):
            transfer[i][j] = x[i] @ transfer[joint.parent][j]
    screws = cs.diagcat(*(chain.screw(i) for i in range(n)))
    inertia = cs.diagcat(*(chain.inertia(i) for i in range(n)))
    return Stacked(screws, inertia, cs.blockcat(carry), cs.blockcat(transfer), cs.vertcat(*root))


def _brackets(twists: Any, n: int) -> Any:
    return cs.diagcat(*(bracket(twists[6 * i : 6 * i + 6]) for i in range(n)))


def closed_form(chain: Chain, q: Any, qd: Any, qdd: Any, base_twist: Any = None, base_acceleration: Any = None) -> Any:
    """Return tau by the stacked equations (spec 2.4), without recursion.

    V = L (A qd + E V_0),  Vd = L (A qdd - adA (W V + E V_0) + E Vd_0),  F = L^T (G Vd - adV^T G V),  tau = A^T F.
    The base moves with twist V_0 and acceleration; gravity enters as Vd_0 = (0, -g).
    """
    s = stacked(chain, q)
    velocity, acceleration = cs.vertcat(*chain.spread(qd)), cs.vertcat(*chain.spread(qdd))
    v0 = SX.zeros(6) if base_twist is None else base_twist
    vd0 = cs.vertcat(SX.zeros(3), -chain.gravity)
    if base_acceleration is not None:
        vd0 = vd0 + base_acceleration
    moved = s.screws @ velocity
    v = s.transfer @ (moved + s.root @ v0)
    ad_a, ad_v = _brackets(moved, chain.links), _brackets(v, chain.links)
    vd = s.transfer @ (s.screws @ acceleration - ad_a @ (s.carry @ v + s.root @ v0) + s.root @ vd0)
    f = s.transfer.T @ (s.inertia @ vd - ad_v.T @ s.inertia @ v)
    return chain.gather(cs.vertsplit(s.screws.T @ f))


def closed_mass_matrix(chain: Chain, q: Any) -> Any:
    """Return M = A^T L^T G L A (spec 2.4)."""
    s = stacked(chain, q)
    reach = s.transfer @ s.screws
    return both_sides(chain, reach.T @ s.inertia @ reach)


def closed_mass_derivative(chain: Chain, q: Any, qd: Any) -> Any:
    """Return dM/dt = -A^T L^T W^T adA^T L^T G L A - A^T L^T G L adA W L A (spec 2.4)."""
    s = stacked(chain, q)
    reach = s.transfer @ s.screws
    ad_a = _brackets(s.screws @ cs.vertcat(*chain.spread(qd)), chain.links)
    half = reach.T @ s.inertia @ s.transfer @ ad_a @ s.carry @ reach
    return both_sides(chain, -half.T - half)


def both_sides(chain: Chain, joints: Any) -> Any:
    """Return the n x n matrix of the coordinates from that of the joints."""
    rows = chain.gather(cs.vertsplit(joints))
    return chain.gather(cs.vertsplit(rows.T)).T


@builder
def newton_euler_matrices(robot: Robot) -> Program:
    """Return the stacked matrices A, G, W, L of spec 2.4, from which M = A^T L^T G L A.

    >>> import taupi as tp
    >>> A, G, W, L = tp.newton_euler_matrices(tp.load("lecture2r"))([0.1, 0.2])
    >>> A.shape, G.shape, W.shape, L.shape
    ((12, 2), (12, 12), (12, 12), (12, 12))
    """
    n = len(robot.links)

    def body(chain: Chain, q: Any) -> tuple[Any, ...]:
        s = stacked(chain, q)
        return s.screws, s.inertia, s.carry, s.transfer

    square = (6 * n, 6 * n)
    outputs = [Port("A", (6 * n, n)), Port("G", square), Port("W", square), Port("L", square)]
    return trace_robot("newton_euler_matrices", robot, body, ["q"], outputs)


@builder
def moving_base_dynamics(robot: Robot) -> Program:
    """Return tau(q, qd, qdd, V0, Vd0) with a base that moves by the twist V0, both (angular, linear) in world axes (spec 2.4).

    Vd0 is the derivative of V0's components; gravity is added to it.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, still = [0.1] * 6, [0.0] * 6
    >>> lift = tp.moving_base_dynamics(arm)(q, still, still, still, [0, 0, 0, 0, 0, 9.81])
    >>> bool(abs(lift - 2 * tp.gravity_torque(arm)(q)).max() < 1e-12)
    True
    """
    inputs: list[str | Port] = ["q", "qd", "qdd", Port("V0", (6,)), Port("Vd0", (6,))]
    return trace_robot("moving_base_dynamics", robot, closed_form, inputs, [Port("tau", (robot.n,))])
