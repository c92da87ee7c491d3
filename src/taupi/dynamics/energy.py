"""Kinetic and potential energy, from differentiated positions: they share no code with the recursions."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import inertia_tensor, unskew
from taupi.dynamics.types import Expression, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def link_motions(chain: Chain, q: Vector, qd: Vector) -> list[tuple[Matrix, Vector, Vector, Vector]]:
    """Return, for each link, R, p, its angular velocity w in link axes, S(w) = R^T dR/dt, and its origin's velocity dp/dt."""
    result = []
    for r, p in link_placements(chain, q):
        turning = r.T @ chain.time_derivative(r, q, qd)
        result.append((r, p, unskew(turning), chain.time_derivative(p, q, qd)))
    return result


def kinetic(chain: Chain, q: Vector, qd: Vector) -> Expression:
    """Return K = sum_i m |pd|^2 / 2 + pd . (w x R h) + w^T R J R^T w / 2 (Gabiccini et al. 2009, eq. 9-12)."""
    total = 0
    for i, (r, _, w, pd) in enumerate(link_motions(chain, q, qd)):
        body = chain.body(i)
        m, h = body[0], body[1:4]
        total += m * cs.dot(pd, pd) / 2 + cs.dot(r.T @ pd, cs.cross(w, h)) + cs.dot(w, inertia_tensor(body) @ w) / 2
    return total


def potential(chain: Chain, q: Vector) -> Expression:
    """Return P = -sum_i g . (m p_i + R_i h_i) (Gabiccini et al. 2009, eq. 25)."""
    total = 0
    for i, (r, p) in enumerate(link_placements(chain, q)):
        body = chain.body(i)
        total -= cs.dot(chain.gravity, body[0] * p + r @ body[1:4])
    return total


@builder
def kinetic_energy(robot: Robot) -> Program:
    """Return K(q, qd) = qd^T M(q) qd / 2, the kinetic energy of `robot` in J (equations.md, D3).

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> round(float(tp.kinetic_energy(arm)([0.0, 0.0], [1.0, 0.0])), 12)
    2.5
    """
    return trace_robot("kinetic_energy", robot, kinetic, ["q", "qd"], [Port("K")])


@builder
def potential_energy(robot: Robot) -> Program:
    """Return P(q), the potential energy of `robot` in J, with g(q) = dP/dq (equations.md, D3).

    It is zero when all centres of mass are at the height of the world's origin.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> round(float(tp.potential_energy(arm)([math.pi / 2, 0.0])), 12)
    30.0
    """
    return trace_robot("potential_energy", robot, potential, ["q"], [Port("P")])
