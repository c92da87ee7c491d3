"""Inverse dynamics from the energies alone, by differentiation: Lagrange's equations."""

from __future__ import annotations

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.energy import kinetic, potential
from taupi.dynamics.types import SX, Vector


def lagrange(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return tau = d/dt (dK/dqd) - dK/dq + dP/dq (Gabiccini et al. 2009, eq. 4, 5)."""
    # Fresh symbols, since the caller's may be expressions.
    x, v = SX.sym("x", chain.n), SX.sym("v", chain.n)
    energy, height = kinetic(chain, x, v), potential(chain, x)
    momentum = cs.gradient(energy, v)
    torque = cs.jtimes(momentum, x, v) + cs.jtimes(momentum, v, qdd) - cs.gradient(energy, x) + cs.gradient(height, x)
    return cs.substitute(torque, cs.vertcat(x, v), cs.vertcat(q, qd))
