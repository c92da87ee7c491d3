"""The Lagrangian route: inverse dynamics from the energies alone, by differentiation."""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.energy import kinetic, potential


def lagrange(chain: Chain, q: Any, qd: Any, qdd: Any) -> Any:
    """Return tau = d/dt (dK/dqd) - dK/dq + dP/dq (spec 2.2)."""
    # Fresh symbols, since the caller's may be expressions.
    x, v = cs.SX.sym("x", chain.n), cs.SX.sym("v", chain.n)
    energy, height = kinetic(chain, x, v), potential(chain, x)
    momentum = cs.gradient(energy, v)
    torque = cs.jtimes(momentum, x, v) + cs.jtimes(momentum, v, qdd) - cs.gradient(energy, x) + cs.gradient(height, x)
    return cs.substitute(torque, cs.vertcat(x, v), cs.vertcat(q, qd))
