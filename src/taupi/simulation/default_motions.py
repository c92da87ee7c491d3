"""Motions for a robot about which nothing is said: within its limits, around the middle of each joint's range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.model.robot_parts import Joint
    from taupi.simulation.references import Sinusoids

PERIOD = 4.0  # s, of gentle_sines
_HARMONICS = ((1, 2), (1, 3), (2, 3))  # of its joints in turn
_GOLDEN_ANGLE = 2.399963  # rad: multiples of this angle never coincide, however many there are
_TURNS = 20.0  # rad or m: limits farther apart than this stand for a joint without limits


def gentle_sines(robot: Robot) -> Sinusoids:
    """Return two sines per joint that repeat every 4 s around mid-range, within half of the joint's range and half of its speed.

    Joints take turns in their harmonics, and phases differ by the golden angle, so that no two joints move alike. A joint that
    cannot move, because its limits are equal, stands still.

    >>> import numpy as np, taupi as tp
    >>> motion = gentle_sines(tp.load("puma560"))
    >>> bool(np.allclose(motion(1.0).q, motion(1.0 + PERIOD).q))
    True
    """
    import numpy as np  # here, because options of commands need no more of this module than the period

    from taupi.simulation.references import Sinusoids

    middle, width, speed = [], [], []
    for joint in robot.driving_joints:
        center, span = _range(joint, _TURNS)
        middle.append(center)
        width.append(min(span / 4, 0.2 if joint.prismatic else 0.5))
        speed.append(joint.limits.velocity or math.inf)  # 0 means that nobody filled it in
    omega = 2 * np.pi / PERIOD * np.array([_HARMONICS[j % len(_HARMONICS)] for j in range(robot.n)])
    amplitude = np.array(width, dtype=float)[:, None] * np.array([0.7, 0.3])
    fastest = (amplitude * omega).sum(axis=1)
    allowed = 0.5 * np.array(speed, dtype=float)
    amplitude *= np.where(fastest > allowed, allowed / np.where(fastest > 0, fastest, 1.0), 1.0)[:, None]
    return Sinusoids(middle, amplitude, omega, _GOLDEN_ANGLE * np.arange(omega.size).reshape(omega.shape))


def swing(robot: Robot) -> Sinusoids:
    """Return one sine per joint around mid-range, of half a radian or 0.1 m, less if the joint's limits are nearer.

    Frequencies rise from joint to joint, from 1 rad/s to below 3 rad/s.
    """
    from taupi.simulation.references import Sinusoids

    middle, amplitude = [], []
    for joint in robot.driving_joints:
        center, span = _range(joint, math.inf)
        middle.append(center)
        amplitude.append([min(span / 2, 0.1 if joint.prismatic else 0.5)])
    return Sinusoids(middle, amplitude, [[1.0 + 2.0 * k / robot.n] for k in range(robot.n)])


def _range(joint: Joint, most: float) -> tuple[float, float]:
    """Return the middle and the width of a joint's range; 0 and infinity if it has none, or one of `most` and more."""
    low, high = joint.limits.lower, joint.limits.upper
    if low is None or high is None or not high - low < most:
        return 0.0, math.inf
    return float(low + high) / 2, float(high - low)
