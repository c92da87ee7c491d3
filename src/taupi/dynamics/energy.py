"""Kinetic and potential energy, from positions differentiated, not from the recursions."""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import link_placements, time_derivative
from taupi.dynamics.spatial import inertia_tensor, unskew
from taupi.model.robot import Robot
from taupi.program.program import Port, Program


def link_motions(chain: Chain, q: Any, qd: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Return per link R, p, its angular velocity in link axes, S(w) = R^T dR/dt, and its origin's velocity dp/dt."""
    result = []
    for r, p in link_placements(chain, q):
        turning = r.T @ time_derivative(r, q, qd)
        result.append((r, p, unskew(turning), time_derivative(p, q, qd)))
    return result


def kinetic(chain: Chain, q: Any, qd: Any) -> Any:
    """Return K = sum_i m |pd|^2 / 2 + pd . (w x R h) + w^T R J R^T w / 2 (spec 2.2)."""
    total = 0
    for i, (r, _, w, pd) in enumerate(link_motions(chain, q, qd)):
        body = chain.body(i)
        m, h = body[0], body[1:4]
        total += m * cs.dot(pd, pd) / 2 + cs.dot(r.T @ pd, cs.cross(w, h)) + cs.dot(w, inertia_tensor(body) @ w) / 2
    return total


def potential(chain: Chain, q: Any) -> Any:
    """Return P = -sum_i g . (m p_i + R_i h_i) (spec 1.5)."""
    total = 0
    for i, (r, p) in enumerate(link_placements(chain, q)):
        body = chain.body(i)
        total -= cs.dot(chain.gravity, body[0] * p + r @ body[1:4])
    return total


@builder
def kinetic_energy(robot: Robot) -> Program:
    """Return K(q, qd) = qd^T M(q) qd / 2, in joules.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> round(float(tp.kinetic_energy(arm)([0.0, 0.0], [1.0, 0.0])), 12)
    2.5
    """
    return trace_robot("kinetic_energy", robot, kinetic, ["q", "qd"], [Port("K")])


@builder
def potential_energy(robot: Robot) -> Program:
    """Return P(q) with g(q) = dP/dq, in joules; zero where all centres of mass are at the base's height.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> round(float(tp.potential_energy(arm)([math.pi / 2, 0.0])), 12)
    30.0
    """
    return trace_robot("potential_energy", robot, potential, ["q"], [Port("P")])
