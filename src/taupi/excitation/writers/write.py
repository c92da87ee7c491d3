"""Write a motion in several formats, all or nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from taupi.checks import positive
from taupi.errors import Argument, TaupiError, unknown
from taupi.excitation.motions.bounded import BoundedMotion
from taupi.excitation.writers import FORMATS
from taupi.files import write_folder
from taupi.model.robot import Robot
from taupi.simulation.references import Motion

LEAST_SPEED = 0.001  # a share: seconds become hours


@dataclass(frozen=True, eq=False)
class TimedMotion:
    """A `motion` of a `robot`, run at `speed` times its own: q(s t), s qd(s t), s^2 qdd(s t).

    A slower motion visits the same positions, so its clearance and the torque of gravity stay the same. `rate_hz` is
    the rate for formats that have none of their own.
    """

    motion: BoundedMotion
    robot: Robot
    rate_hz: float = 100.0
    speed: float = 1.0

    def __post_init__(self) -> None:
        positive("rate_hz", self.rate_hz)
        if self.motion.n != self.robot.n:
            raise TaupiError("{motion} has {n} joints, the robot has {robot_n}.", n=self.motion.n, robot_n=self.robot.n)

    @property
    def length(self) -> float:
        """How long it takes at its speed, in s."""
        return self.motion.duration / self.speed

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
        q, qd, qdd = self.motion(np.minimum(times * self.speed, self.motion.duration))
        return Motion(np.asarray(q), self.speed * np.asarray(qd), self.speed**2 * np.asarray(qdd))


def checked_speed(speed: float) -> float:
    """Return a share of the speed: at most 1, since limits hold for the motion as it is."""
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
        count = import_module(FORMATS[name]).JOINTS
        if count not in (None, robot.n):
            raise TaupiError(
                "The format {name!r} is for arms with {count} joints, {robot} has {n}.",
                remedy="Leave it out of {formats}.",
                name=name,
                count=count,
                robot=robot.name,
                n=robot.n,
            )
    return tuple(dict.fromkeys(formats))


def motion_files() -> tuple[str, ...]:
    """Return the names of the files that formats write; a new result without some of them removes the old ones."""
    return tuple(import_module(module).FILE for module in FORMATS.values())


def write(
    samples: TimedMotion,
    folder: str | os.PathLike[str],
    formats: Sequence[str],
    force: bool = False,
    texts: Mapping[str, str] | None = None,
    results: Sequence[str] = (),
) -> list[Path]:
    """Write a motion in each of its formats, and `texts` by their names, all files or none, and return their paths.

    Existing files are replaced only with `force`; then those of earlier `results`, and motions, that are not written are removed.
    """
    chosen = checked_formats(formats, samples.robot)
    written: list[str] = []

    def fill(staged: Path) -> None:
        for name, text in (texts or {}).items():
            (staged / name).write_text(text, encoding="utf-8")
        for name in chosen:
            import_module(FORMATS[name]).write(samples, staged)
        written.extend(sorted(path.name for path in staged.iterdir()))

    write_folder(folder, fill, force, own=(*results, *motion_files()))
    return [Path(folder) / name for name in written]
