"""The regressor of the energy."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.energy import link_motions
from taupi.dynamics.spatial import inertia_columns
from taupi.dynamics.types import SX, Vector
from taupi.errors import unknown
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


@builder
def energy_regressor(robot: Robot, which: str = "total") -> Program:
    """Return the row e(q, qd) of `robot`, (p,), with the energy E = e pi in J (equations.md, R13).

    Per link, the kinetic one has [ |pd|^2 / 2, (pd x w)^T R, w^T L(w) / 2 ] and the potential one [ -g . p, -g^T R, 0 ].

    Args:
        robot: The robot.
        which: The energy, "total" (the default), "kinetic" or "potential".

    Returns:
        The program e of q and qd (..., n), with results (..., p); its `parameters` name the columns.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd = [0.1] * 6, [0.2] * 6
    >>> energy = tp.energy_regressor(arm)(q, qd) @ arm.parameters.values
    >>> bool(abs(energy - tp.kinetic_energy(arm)(q, qd) - tp.potential_energy(arm)(q)) < 1e-12)
    True
    """
    kinds = ("total", "kinetic", "potential")
    if which not in kinds:
        raise unknown("energy", which, kinds)

    def body(chain: Chain, q: Vector, qd: Vector) -> Vector:
        blocks = []
        for r, p, w, pd in link_motions(chain, q, qd):
            kinetic = cs.horzcat(cs.dot(pd, pd) / 2, cs.cross(r.T @ pd, w).T, w.T @ inertia_columns(w) / 2)
            potential = cs.horzcat(-cs.dot(chain.gravity, p), -(r.T @ chain.gravity).T, SX.zeros(1, 6))
            blocks.append(kinetic if which == "kinetic" else potential if which == "potential" else kinetic + potential)
        return cs.horzcat(*blocks).T

    return trace_robot(
        "energy_regressor", robot, body, ["q", "qd"], [Port("e", (len(robot.parameters),))], robot.parameters
    )
