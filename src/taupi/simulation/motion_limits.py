"""What a robot's limits say of motions: whether it could follow one at all, and which it is given if none is stated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taupi.regressors.classical import regressor
from taupi.simulation.horizon import PERIOD
from taupi.simulation.plants.plant import Plant
from taupi.simulation.plants.rigid_plant import RigidPlant
from taupi.simulation.references import Motion, Sinusoids

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.model.robot_parts import Joint


MOST = 2000  # instants at which torques are computed


def broken_limits(plant: Plant, motion: Motion, time: np.ndarray) -> list[str]:
    """Return a sentence for each kind of limit that a motion breaks: the description's range and speed, the plant's torque.

    `motion` has q, qd, qdd (N, n) at `time` (N,) in s; `plant` is any plant; torques are checked for a `RigidPlant` only.
    """
    robot = plant.robot
    joints = robot.driving_joints
    lower = np.array([-np.inf if j.limits.lower is None else j.limits.lower for j in joints])
    upper = np.array([np.inf if j.limits.upper is None else j.limits.upper for j in joints])
    fastest = np.array([np.inf if not j.limits.velocity else j.limits.velocity for j in joints])
    names = robot.joint_names
    units = ["m" if j.prismatic else "rad" for j in joints]
    sentences: list[str] = []
    if np.isfinite(lower).any() or np.isfinite(upper).any():
        excess = np.maximum(motion.q - upper, lower - motion.q)
        limit = np.where(motion.q > upper, upper, lower)
        sentences += _worst("leaves its range", names, units, time, excess, motion.q, limit)
    if np.isfinite(fastest).any():
        speed, speeds = np.abs(motion.qd), [f"{u}/s" for u in units]
        sentences += _worst("is too fast", names, speeds, time, speed - fastest, speed, fastest)
    limits = plant.torque_limits
    # Outside the range, the torque means little.
    if isinstance(plant, RigidPlant) and limits is not None and not sentences:
        rows = np.unique(np.linspace(0, len(time) - 1, MOST).astype(int))
        tau = np.abs(_torque(plant, Motion(*(v[rows] for v in motion)), time[rows]))
        forces = ["N" if j.prismatic else "N m" for j in joints]
        sentences += _worst("takes too much torque", names, forces, time[rows], tau - limits, tau, limits)
    return sentences


def _worst(
    what: str,
    names: Sequence[str],
    units: Sequence[str],
    time: np.ndarray,
    excess: np.ndarray,
    values: np.ndarray,
    limit: np.ndarray,
) -> list[str]:
    """Return one sentence about the largest excess, and how many joints have one."""
    beyond = np.flatnonzero((excess > 1e-9 * (1 + np.abs(values))).any(axis=0))
    if not len(beyond):
        return []
    k, j = np.unravel_index(np.nanargmax(excess), excess.shape)
    others = len(beyond) - 1
    more = "" if not others else ", and one more joint does" if others == 1 else f", and {others} more joints do"
    unit, most = units[int(j)], np.broadcast_to(limit, values.shape)[k, j]
    place = f"{names[int(j)]}: {values[k, j]:.4g} {unit} at {time[k]:.4g} s"
    return [f"the reference {what} at {place}, the limit is {most:.4g} {unit}{more}"]


def _torque(plant: RigidPlant, motion: Motion, time: np.ndarray) -> np.ndarray:
    """Return the torque that the motion needs, with what the arm carries at each time."""
    Y = regressor(plant.robot, terms=plant.terms).compile("numpy")(*motion)
    pi = plant.parameters_at(time)
    rows = np.ascontiguousarray(np.broadcast_to(pi, (len(time), pi.shape[-1])))
    tau: np.ndarray = np.einsum("kij,kj->ki", Y, rows)
    return tau


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
