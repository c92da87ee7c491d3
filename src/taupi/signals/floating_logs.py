"""Logs of floating robots from common sources: full states in some library's convention, or an IMU anywhere on the base."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.model.robot import BASE, Robot
from taupi.signals.base_motion import BaseMotion


def base_from_imu(
    robot: Robot,
    frame: str,
    gyroscope: np.ndarray,
    accelerometer: np.ndarray,
    rate_hz: float,
    angular_acceleration: np.ndarray | None = None,
) -> BaseMotion:
    """Return how the root link of a floating `robot` moves, from an IMU at a `frame` that is fixed to it.

    `gyroscope` (N, 3), rad/s, and `accelerometer` (N, 3), m/s^2, are in the axes of the frame, sampled `rate_hz` times per
    second. The accelerometer's reading is moved to the root's origin: a = R a_i - wd x r - w x (w x r), with r the place of the
    frame. `angular_acceleration` (N, 3) is wd in the frame's axes, by default central differences of the gyroscope. Use the
    signals as they were recorded: filtering comes afterwards.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r", floating=True)
    >>> still = np.zeros((5, 3))
    >>> tp.floating.base_from_imu(arm, "base", still, still + [0, 0, 9.81], 100.0).a[0].tolist()
    [0.0, 0.0, 9.81]
    """
    place = robot.frame(frame)
    if not robot.floating or place.link != 0:
        where = "the ground" if place.link == BASE else robot.links[place.link].name
        raise TaupiError(
            Argument("frame"), f" {frame!r} is fixed to {where}, expected to a root link that moves freely."
        )
    if not rate_hz > 0:
        raise TaupiError(Argument("rate_hz"), f" is {rate_hz!r}, expected a positive number.")
    matrix = place.placement.matrix
    turn, r = matrix[:3, :3], matrix[:3, 3]
    w = np.asarray(gyroscope, dtype=float) @ turn.T
    if angular_acceleration is None:
        wd = np.gradient(w, 1 / rate_hz, axis=0)
    else:
        wd = np.asarray(angular_acceleration, dtype=float) @ turn.T
    a = np.asarray(accelerometer, dtype=float) @ turn.T - np.cross(wd, r) - np.cross(w, np.cross(w, r))
    return BaseMotion(w, a, wd)


def rotations(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 3, 3) of quaternions (N, 4), x y z w, of any length but zero."""
    length = np.linalg.norm(quaternion, axis=1, keepdims=True)
    if not np.all(length > 0):
        row = int(np.flatnonzero(~(length[:, 0] > 0))[0])
        raise TaupiError(
            f"The quaternion of sample {row} has length {float(length[row, 0]):g}, expected one that is not 0."
        )
    x, y, z, w = np.moveaxis(quaternion / length, 1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axes_of(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 3, 3) from the axes of a floating base to the world's, from positions (N, nq)."""
    before = (robot.base @ robot.joints[0].before).matrix[:3, :3]
    return np.asarray(before @ rotations(q[:, 3:7]))


def gravity_of(robot: Robot) -> np.ndarray:
    """Return a robot's gravity (3,) as numbers."""
    values: Mapping[str, float] = {name: float(v) for name, v in robot.symbols if v is not None}
    return np.array([float(v.subs(values)) if hasattr(v, "subs") else float(v) for v in robot.gravity])


def base_from_states(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> BaseMotion:
    """Return how the base of a floating robot moves, from full states in our convention: a = vd + w x v - R^T g."""
    if not robot.floating:
        raise TaupiError(f"{robot.name} is bolted to the ground.", remedy="Use robot.floating_base().")
    gravity = gravity_of(robot)
    w, v = qd[:, :3], qd[:, 3:6]
    a = qdd[:, 3:6] + np.cross(w, v) - np.einsum("nji,j->ni", axes_of(robot, q), gravity)
    return BaseMotion(w, a, qdd[:, :3])
