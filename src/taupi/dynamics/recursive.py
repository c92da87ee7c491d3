"""Recursive Newton-Euler: inverse dynamics in two walks over the tree."""

from __future__ import annotations

from typing import Any

from taupi.dynamics.chain import Chain
from taupi.dynamics.joint_frames import JointFrames, torque
from taupi.dynamics.kinematics import frame_jacobian


def newton_euler(chain: Chain, q: Any, qd: Any, qdd: Any, gravity: Any = None) -> Any:
    """Return tau = M qdd + c + g (spec 2.4, in recursive form; Luh, Walker & Paul 1980), in the frames of the joints."""
    return torque(JointFrames(chain, q), qd, qdd, chain.gravity if gravity is None else gravity)


def tip_torque(chain: Chain, q: Any, wrench: Any, frame: str, kind: str) -> Any:
    """Return J^T F, the torque that lets the tip apply the wrench F to its surroundings (spec 2.1)."""
    return frame_jacobian(chain, q, frame, kind).T @ wrench
