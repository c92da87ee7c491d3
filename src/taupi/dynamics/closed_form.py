"""Closed-form Newton-Euler: the matrices of all links stacked, for a fixed or moving base."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.spatial import adjoint, bracket, inverse
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program


@dataclass(frozen=True)
class Stacked:
    """The stacked matrices A (6n x n), G, W, L = (I - W)^-1 (6n x 6n), E = Ad(T_i0) of the roots (6n x 6) (equations.md, D11)."""

    screws: Matrix  # A
    inertia: Matrix  # G
    carry: Matrix  # W
    transfer: Matrix  # L
    root: Matrix  # E


def stacked(chain: Chain, q: Vector) -> Stacked:
    """Return the stacked matrices; block (i, parent) of W is Ad(T_ip), and L follows from it block row by block row."""
    joints = chain.places(q)
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


def _brackets(twists: Vector, n: int) -> Matrix:
    return cs.diagcat(*(bracket(twists[6 * i : 6 * i + 6]) for i in range(n)))


def closed_form(
    chain: Chain,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base_twist: Vector | None = None,
    base_acceleration: Vector | None = None,
) -> Vector:
    """Return tau by the stacked equations, without recursion (equations.md, D12, D13).

    V = L (A qd + E V_0),  Vd = L (A qdd - adA (W V + E V_0) + E Vd_0),  F = L^T (G Vd - adV^T G V),  tau = A^T F.
    The base moves with the twist V_0 = `base_twist` and the acceleration `base_acceleration`, by default not at all; gravity
    enters as Vd_0 = (0, -g).
    """
    s = stacked(chain, q)
    velocity, acceleration = cs.vertcat(*chain.spread(qd)), cs.vertcat(*chain.spread(qdd))
    v0 = SX.zeros(6) if base_twist is None else base_twist
    vd0 = cs.vertcat(SX.zeros(3), -chain.gravity)
    if base_acceleration is not None:
        vd0 = vd0 + base_acceleration
    a_qd = s.screws @ velocity
    v = s.transfer @ (a_qd + s.root @ v0)
    ad_a, ad_v = _brackets(a_qd, chain.links), _brackets(v, chain.links)
    vd = s.transfer @ (s.screws @ acceleration - ad_a @ (s.carry @ v + s.root @ v0) + s.root @ vd0)
    f = s.transfer.T @ (s.inertia @ vd - ad_v.T @ s.inertia @ v)
    return chain.gather(chain.split(s.screws.T @ f))


def closed_mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """Return M = A^T L^T G L A (equations.md, D11)."""
    s = stacked(chain, q)
    la = s.transfer @ s.screws
    return both_sides(chain, la.T @ s.inertia @ la)


def closed_mass_derivative(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    """Return dM/dt = -A^T L^T W^T adA^T L^T G L A - A^T L^T G L adA W L A (equations.md, D14)."""
    s = stacked(chain, q)
    la = s.transfer @ s.screws
    ad_a = _brackets(s.screws @ cs.vertcat(*chain.spread(qd)), chain.links)
    half = la.T @ s.inertia @ s.transfer @ ad_a @ s.carry @ la
    return both_sides(chain, -half.T - half)


def both_sides(chain: Chain, joints: Matrix) -> Matrix:
    """Return the n x n matrix of the coordinates from the matrix of the joints, gathering its rows and its columns."""
    rows = chain.gather(chain.split(joints))
    return chain.gather(chain.split(rows.T)).T


@builder
def newton_euler_matrices(robot: Robot) -> Program:
    """Return the stacked matrices A, G, W, L of `robot` as functions of q, with M = A^T L^T G L A (equations.md, D11).

    >>> import taupi as tp
    >>> A, G, W, L = tp.closed_form.newton_euler_matrices(tp.load("lecture2r"))([0.1, 0.2])
    >>> A.shape, G.shape, W.shape, L.shape
    ((12, 2), (12, 12), (12, 12), (12, 12))
    """
    n = len(robot.links)

    def body(chain: Chain, q: Vector) -> tuple[Matrix, ...]:
        s = stacked(chain, q)
        return s.screws, s.inertia, s.carry, s.transfer

    square = (6 * n, 6 * n)
    outputs = [
        Port("A", (6 * n, sum(j.dof for j in robot.joints))),
        Port("G", square),
        Port("W", square),
        Port("L", square),
    ]
    return trace_robot("newton_euler_matrices", robot, body, ["q"], outputs)


@builder
def moving_base_dynamics(robot: Robot) -> Program:
    """Return tau(q, qd, qdd, V0, Vd0) of `robot` on a base that moves with the twist V0 (equations.md, D13).

    V0 is (angular, linear) in world axes, in rad/s and m/s, and Vd0 the derivative of its components; gravity is added to it.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, still = [0.1] * 6, [0.0] * 6
    >>> lift = tp.closed_form.moving_base_dynamics(arm)(q, still, still, still, [0, 0, 0, 0, 0, 9.81])
    >>> bool(abs(lift - 2 * tp.gravity_torque(arm)(q)).max() < 1e-12)
    True
    """
    inputs: list[str | Port] = ["q", "qd", "qdd", Port("V0", (6,)), Port("Vd0", (6,))]
    return trace_robot("moving_base_dynamics", robot, closed_form, inputs, [Port("tau", (robot.n,))])
