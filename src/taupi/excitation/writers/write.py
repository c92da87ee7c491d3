"""Write a motion in several formats, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import positive
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.excitation.writers import FORMATS
from taupi.excitation.writers.samples import Samples, require_joints
from taupi.files import write_folder
from taupi.model.robot import Robot

LEAST_SPEED = 0.001  # a share: seconds become hours


def write(
    motion: Callable[[np.ndarray], Any],
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


def samples_of(motion: Any, robot: Robot, speed: float = 1.0, rate_hz: float = 100.0) -> Samples:
    """Return what formats write, with the arguments checked; `speed` is at most 1, since limits are those of the motion."""
    scale = checked_speed(speed)
    if getattr(motion, "n", robot.n) != robot.n:
        raise TaupiError(Argument("motion"), f" has {motion.n} joints, the robot has {robot.n}.")
    duration = positive("duration", getattr(motion, "duration", None))
    return Samples(motion, robot, duration, positive("rate_hz", rate_hz), scale)


def checked_speed(speed: float) -> float:
    """Return a share of the speed."""
    scale = positive("speed", speed)
    if scale > 1:
        raise TaupiError(Argument("speed"), f" is {speed:g}, expected at most 1: the motion already uses the limits.")
    if scale < LEAST_SPEED:
        raise TaupiError(Argument("speed"), f" is {speed:g}, expected at least {LEAST_SPEED:g}.")
    return scale


def checked_formats(formats: Sequence[str], robot: Robot) -> tuple[str, ...]:
    """Return names of formats, each once, that suit a robot."""
    if isinstance(formats, str) or not isinstance(formats, Sequence):
        raise TaupiError(Argument("formats"), f" is {shown(formats)}, expected a list of {', '.join(FORMATS)}.")
    for name in formats:
        if name not in FORMATS:
            raise unknown(Argument("formats"), str(name), FORMATS)
        require_joints(robot, getattr(import_module(FORMATS[name]), "JOINTS", None), name)
    return tuple(dict.fromkeys(formats))


def fill(samples: Samples, folder: Path, formats: Sequence[str]) -> None:
    """Write the files of formats into an existing folder, such as one that `taupi.files.write_folder` stages."""
    for name in formats:
        import_module(FORMATS[name]).write(samples, folder)
