"""The path from where a robot is to where its motion begins."""

from __future__ import annotations

import os

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.motions.bounded import BoundedMotion, JoinedMotion, StraightMotion
from taupi.model.robot import Robot
from taupi.signals.read import read_log

# Share of the limits of speed and acceleration.
_SLOW = 0.2
# Of a minimum-jerk move by 1 in 1 s.
_SPEED, _ACCELERATION = 15 / 8, 10 / np.sqrt(3)


def start_posture(robot: Robot, start: object, limits: MotionLimits) -> np.ndarray | None:
    """Return the posture (n,) to start from: numbers, or the last sample of a file that `taupi.read_log` reads."""
    if start is None:
        return None
    if isinstance(start, str | os.PathLike):
        q = np.asarray(read_log(start, robot).q[-1], dtype=float)
    else:
        try:
            q = np.asarray(start, dtype=float)
        except (TypeError, ValueError):
            raise TaupiError(
                "{start} is {got!r}, expected {expected} joint positions.", got=start, expected=robot.n
            ) from None
    if q.shape != (robot.n,):
        raise TaupiError(
            "{start} has shape {got}, expected ({expected},): one value per joint.", got=q.shape, expected=robot.n
        )
    if not np.isfinite(q).all():
        raise TaupiError("{start} is {got!r}, expected finite numbers.", got=q.tolist())
    at = limits.spread @ q
    outside = (at < limits.lower) | (at > limits.upper)
    if outside.any():
        k = int(np.argmax(outside))
        raise TaupiError(
            "{start} is outside the limits of {joint!r}: {at:.4g}, expected {expected:.4g} to {upper:.4g}.",
            joint=limits.joints[k],
            at=at[k],
            expected=limits.lower[k],
            upper=limits.upper[k],
        )
    return q


def approached(
    motion: BoundedMotion, start: np.ndarray | None, limits: MotionLimits, periods: int = 1
) -> BoundedMotion:
    """Return a motion, repeated, with a slow straight approach before it from where the robot is."""
    parts = [motion] * periods
    if start is not None:
        first = motion(0.0).q
        far = np.abs(limits.spread @ (first - start))
        slow = max(
            float((_SPEED * far / (_SLOW * limits.velocity)).max()),
            float(np.sqrt((_ACCELERATION * far / (_SLOW * limits.acceleration)).max())),
            1.0,
        )
        parts.insert(0, StraightMotion(np.stack([start, first]), [0.0, slow]))
    return parts[0] if len(parts) == 1 else JoinedMotion(tuple(parts))
