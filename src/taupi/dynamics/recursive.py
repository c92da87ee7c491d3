"""Recursive Newton-Euler: inverse dynamics in two walks over the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.kinematics import frame_jacobian
from taupi.dynamics.spatial import SX, adjoint, bracket, inverse


def newton_euler(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any = None) -> Any:
    """Return tau = M qdd + c + g (spec 2.4, in recursive form; Lynch & Park 2017, 8.3).

    Outward: V_i = X_i V_p + A_i qd_i,  Vd_i = X_i Vd_p + ad(V_i) A_i qd_i + A_i qdd_i,  X_i = Ad(T_ip), Vd_0 = (0, -g).
    Inward:  F_i = sum_c X_c^T F_c + G_i Vd_i - ad(V_i)^T G_i V_i,  tau_i = A_i^T F_i.
    """
    walk = outward_walk(chain, q, qd, qdd, gravity)
    return inward_walk(chain, walk, [own_wrench(chain, i, *walk.motion[i]) for i in range(chain.links)])


@dataclass(frozen=True)
class Walk:
    """The outward half: X_i of every link, and its twist and acceleration (V_i, Vd_i) in its own frame."""

    x: list[Any]
    motion: list[tuple[Any, Any]]


def outward_walk(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any = None) -> Walk:
    """Return the motion of every link for a motion of the coordinates; the base accelerates against gravity."""
    g = chain.gravity if gravity is None else gravity
    position, velocity, acceleration = chain.spread(q), chain.spread(qd), chain.spread(qdd)
    x = [adjoint(*inverse(*chain.placement(i, position[i]))) for i in range(chain.links)]

    def out(i: int, parent: tuple[Any, Any]) -> tuple[Any, Any]:
        a = chain.screw(i)
        v = x[i] @ parent[0] + a * velocity[i]
        vd = x[i] @ parent[1] + bracket(v) @ a * velocity[i] + a * acceleration[i]
        return v, vd

    return Walk(x, chain.outward(out, (SX.zeros(6), cs.vertcat(SX.zeros(3), -g))))


def own_wrench(chain: Chain, i: int, v: Any, vd: Any) -> Any:
    """Return the wrench G_i Vd_i - ad(V_i)^T G_i V_i that moves link i."""
    inertia = chain.inertia(i)
    return inertia @ vd - bracket(v).T @ (inertia @ v)


def inward_walk(chain: Chain, walk: Walk, wrenches: list[Any]) -> Any:
    """Return the torque of the coordinates that the links' own wrenches need."""
    wrench = chain.inward(lambda i: wrenches[i], lambda i, f: walk.x[i].T @ f)
    return chain.gather([chain.screw(i).T @ wrench[i] for i in range(chain.links)])


def tip_torque(chain: Chain, q: Any, wrench: Any, frame: str, kind: str) -> Any:
    """Return J^T F, the torque that lets the tip apply the wrench F to its surroundings (spec 2.1)."""
    return frame_jacobian(chain, q, frame, kind).T @ wrench
