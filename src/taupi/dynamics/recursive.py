"""Recursive Newton-Euler: inverse dynamics in two walks over the tree, and the torque of a wrench at the tip."""

from __future__ import annotations

from taupi.dynamics.chain import Chain
from taupi.dynamics.joint_frames import JointFrames, torque
from taupi.dynamics.kinematics import JACOBIANS, frame_jacobian
from taupi.dynamics.types import Vector
from taupi.errors import Argument, unknown
from taupi.program.program import Port


def newton_euler(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity: Vector | None = None) -> Vector:
    """Return tau = M qdd + c + g by recursion in the frames of the joints (Luh, Walker & Paul 1980; equations.md, D16).

    `gravity` (m/s^2, world axes) is the robot's own by default.
    """
    return torque(JointFrames(chain, q), qd, qdd, chain.gravity if gravity is None else gravity)


def tip_torque(chain: Chain, q: Vector, wrench: Vector, frame: str, kind: str) -> Vector:
    """Return J^T F, the torque by which `frame` applies the wrench F to its surroundings (equations.md, D1).

    `wrench` is F in the axes of the Jacobian of that `kind`.
    """
    return frame_jacobian(chain, q, frame, kind).T @ wrench


def tip_ports(tip_wrench: str | None) -> list[Port]:
    """Return the input `f_tip` that a wrench at the tip adds to a program, or none without one; unknown axes are refused."""
    if tip_wrench is None:
        return []
    if tip_wrench not in JACOBIANS:
        raise unknown(Argument("tip_wrench"), tip_wrench, JACOBIANS)
    return [Port("f_tip", (6,), ("nx", "ny", "nz", "fx", "fy", "fz"), "moment, then force")]
