"""Write a motion in several formats, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import positive
from taupi.errors import Argument, TaupiError, unknown
from taupi.excitation.writers import FORMATS
from taupi.files import write_folder
from taupi.model.robot import Robot
from taupi.simulation.references import Motion


@dataclass(frozen=True, eq=False)
class TimedMotion:
    """A `motion` over `duration` (s) of a `robot`, run at `speed` times its own: q(s t), s qd(s t), s^2 qdd(s t).

    A slower motion visits the same positions, so its clearance and the torque of gravity stay the same. `rate_hz` is
    the rate for formats that have none of their own.
    """

    motion: Callable[[np.ndarray], Any]
    robot: Robot
    duration: float
    rate_hz: float = 100.0
    speed: float = 1.0

    @property
    def length(self) -> float:
        """How long it takes at its speed, in s."""
        return self.duration / self.speed

    def at(self, rate_hz: float) -> tuple[np.ndarray, Motion]:
        """Return times (N,) from 0 to the end, at a rate or slightly above, and q, qd, qdd (N, n) at these times."""
        count = max(1, int(np.ceil(self.length * rate_hz * (1 - 1e-12))))
        times = np.linspace(0.0, self.length, count + 1)
        return times, self._scaled(times)

    def ticks(self, period: float) -> tuple[np.ndarray, Motion]:
        """Return times (N,) at whole multiples of a period (s), until the motion ends, and q, qd, qdd (N, n) at these times."""
        count = int(np.ceil(self.length / period * (1 - 1e-12)))
        times = period * np.arange(count + 1)
        return times, self._scaled(np.minimum(times, self.length))

    def _scaled(self, times: np.ndarray) -> Motion:
        q, qd, qdd = self.motion(np.minimum(times * self.speed, self.duration))
        return Motion(np.asarray(q), self.speed * np.asarray(qd), self.speed**2 * np.asarray(qdd))


def require_joints(robot: Robot, count: int | None, name: str) -> None:
    """Refuse a robot that does not suit a format, which is for arms with `count` joints."""
    if count is not None and robot.n != count:
        raise TaupiError(
            "The format {name!r} is for arms with {count} joints, {robot} has {n}.",
            remedy="Leave it out of {formats}.",
            name=name,
            count=count,
            robot=robot.name,
            n=robot.n,
        )


LEAST_SPEED = 0.001  # a share: seconds become hours


def write(
    motion: Callable[[np.ndarray], object],
    robot: Robot,
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("csv",),
    speed: float = 1.0,
    rate_hz: float = 100.0,
    force: bool = False,
) -> None:
    """Write a `motion` of a `robot` to a `folder`, in each of `formats`: all files appear, or none.

    `speed` scales time exactly: 0.3 takes 1/0.3 of the time along the same positions. `rate_hz` is that of the rows of CSV, NPZ
    and ROS 2; URScript and Franka have their own. Existing files are replaced only with `force`.
    """
    samples = samples_of(motion, robot, speed, rate_hz)
    names = checked_formats(formats, robot)
    write_folder(folder, lambda staged: fill(samples, staged, names), force)


def samples_of(motion: Any, robot: Robot, speed: float = 1.0, rate_hz: float = 100.0) -> TimedMotion:
    """Return what formats write, with the arguments checked; `speed` is at most 1, since limits hold for the motion as it is."""
    scale = checked_speed(speed)
    if getattr(motion, "n", robot.n) != robot.n:
        raise TaupiError("{motion} has {n} joints, the robot has {robot_n}.", n=motion.n, robot_n=robot.n)
    duration = positive("duration", getattr(motion, "duration", None))
    return TimedMotion(motion, robot, duration, positive("rate_hz", rate_hz), scale)


def checked_speed(speed: float) -> float:
    """Return a share of the speed."""
    scale = positive("speed", speed)
    if scale > 1:
        raise TaupiError("{speed} is {got:g}, expected at most 1: the motion already uses the limits.", got=speed)
    if scale < LEAST_SPEED:
        raise TaupiError("{speed} is {got:g}, expected at least {least_speed:g}.", got=speed, least_speed=LEAST_SPEED)
    return scale


def checked_formats(formats: Sequence[str], robot: Robot) -> tuple[str, ...]:
    """Return names of formats, each once, that suit a robot."""
    if isinstance(formats, str) or not isinstance(formats, Sequence):
        raise TaupiError(
            "{formats} is {got!r}, expected a list of {other_formats:,}.", got=formats, other_formats=FORMATS
        )
    for name in formats:
        if name not in FORMATS:
            raise unknown(Argument("formats"), str(name), FORMATS)
        require_joints(robot, getattr(import_module(FORMATS[name]), "JOINTS", None), name)
    return tuple(dict.fromkeys(formats))


def fill(samples: TimedMotion, folder: Path, formats: Sequence[str]) -> None:
    """Write the files of formats into an existing folder, such as one that `taupi.files.write_folder` stages."""
    for name in formats:
        import_module(FORMATS[name]).write(samples, folder)
