"""Which samples of a robot are possible at all: what emitted code refuses to compute with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.model.robot import Robot
from taupi.model.robot_parts import Limits
from taupi.program.ports import Port

# Beyond these a number is no measurement: 1000 rad are 160 turns of a joint without limits.
_UNLIMITED = {"position": 1e3, "velocity": 1e3, "acceleration": 1e5, "effort": 1e6}
# So many times a limit of the description: drives overshoot, and limits are stated for what is allowed.
_BEYOND = {"position": 2.0, "velocity": 10.0, "acceleration": 10.0, "effort": 10.0}
_KINDS = {
    "q": "position",
    "theta": "position",
    "qd": "velocity",
    "thetad": "velocity",
    "qdd": "acceleration",
    "tau": "effort",
}


def possible_signals(robot: Robot, ports: Sequence[Port]) -> dict[str, np.ndarray]:
    """Return the largest absolute values of signals (k,), by name: far beyond the limits of joints, or of anything that moves.

    Args:
        robot: The robot, whose description states limits or not.
        ports: The signals: q, qd, qdd, theta, thetad or tau, or the same with _des; others are of a task.

    >>> import taupi as tp
    >>> arm = tp.load("panda")
    >>> {k: v[:2].tolist() for k, v in possible_signals(arm, [Port("q", (7,), arm.joint_names), Port("r_des", (2,))]).items()}
    {'q': [5.7946, 3.5256], 'r_des': [100000.0, 100000.0]}
    """
    result = {}
    for port in ports:
        kind = _KINDS.get(port.name.removesuffix("_des"))
        if kind is None or port.labels != robot.joint_names:
            result[port.name] = np.full(port.size, _UNLIMITED["acceleration"])
            continue
        limits = [_largest(joint.limits, kind) for joint in robot.driving_joints]
        result[port.name] = np.array(
            [_UNLIMITED[kind] if limit is None else _BEYOND[kind] * limit for limit in limits], dtype=float
        )
    return result


def _largest(limits: Limits, kind: str) -> float | None:
    if kind == "position":
        known = limits.lower is not None and limits.upper is not None
        return max(abs(float(limits.lower)), abs(float(limits.upper))) or None if known else None  # type: ignore[arg-type]
    limit = {"velocity": limits.velocity, "acceleration": limits.acceleration, "effort": limits.effort}[kind]
    return None if not limit else float(limit)


def stated_efforts(robot: Robot) -> np.ndarray:
    """Return the effort limit of each joint (n,), N m or N; inf where the description states none."""
    limits = [joint.limits.effort for joint in robot.driving_joints]
    return np.array([np.inf if limit is None else float(limit) for limit in limits])
