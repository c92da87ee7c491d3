"""A motion at a rate and at a speed: what every format writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.model.robot import Robot
from taupi.simulation.references import Motion


@dataclass(frozen=True, eq=False)
class Samples:
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
            f"The format {name!r} is for arms with {count} joints, {robot.name} has {robot.n}.",
            remedy=("Leave it out of ", Argument("formats"), "."),
        )
