"""Inverse dynamics from the energies alone, by differentiation: Lagrange's equations."""

from __future__ import annotations

from taupi.dynamics.chain import Chain
from taupi.dynamics.energy import kinetic, potential
from taupi.dynamics.spatial import bracket
from taupi.dynamics.types import SX, Vector
from taupi.program.casadi_on_use import cs


def lagrange(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return tau = d/dt (dK/dqd) - dK/dq + dP/dq (Gabiccini et al. 2009, eq. 4, 5).

    For the velocities of free and ball joints dK/dq is the derivative along each of them, and -ad(v)^T dK/dv is added
    (Poincare's equations).
    """
    # Fresh symbols, since the caller's may be expressions.
    x, v = SX.sym("x", chain.robot.nq), SX.sym("v", chain.n)
    energy, height = kinetic(chain, x, v), potential(chain, x)
    momentum = cs.gradient(energy, v)
    change = cs.jtimes(momentum, x, chain.rate(x, v)) + cs.jtimes(momentum, v, qdd)
    torque = change - chain.gradient(energy, x) + chain.gradient(height, x)
    for joint in chain.robot.multiple_joints:
        own = slice(joint.coordinate, joint.coordinate + joint.dof)
        twist = cs.vertcat(v[own], SX.zeros(6 - joint.dof))
        torque[own] -= (bracket(twist).T)[: joint.dof, : joint.dof] @ momentum[own]
    return cs.substitute(torque, cs.vertcat(x, v), cs.vertcat(q, qd))
