"""What moves in a view: a log, a run, a trial or an exciting motion, as positions over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.control.law_trial import Trial
from taupi.errors import Argument, TaupiError, shown
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.torque_rows import torque_program
from taupi.model.robot import Robot
from taupi.signals.log import Log
from taupi.simulation.run import Run

RATE = 100  # Hz, at which an exciting motion is sampled


@dataclass(frozen=True, eq=False)
class Track:
    """Positions `q` (N, n) at times (N,) in s, counted from the first, and torques `tau` (N, n), None if unknown."""

    time: np.ndarray
    q: np.ndarray
    tau: np.ndarray | None = None

    def at(self, t: float) -> np.ndarray:
        """Return q (n,) at time `t`, interpolated linearly between samples; before and after, the robot stands still."""
        return np.array([np.interp(t, self.time, column) for column in self.q.T])

    def torque(self, t: float) -> np.ndarray | None:
        """Return tau (n,) at time `t`, None if it is not known."""
        return None if self.tau is None else np.array([np.interp(t, self.time, column) for column in self.tau.T])


def track_of(motion: Any, robot: Robot) -> Track:
    """Return the track of a Log, Run, Trial or Excitation of a robot."""
    if isinstance(motion, Trial):
        motion = motion.run
    if isinstance(motion, Excitation):
        time = np.linspace(0.0, motion.duration, max(2, round(RATE * motion.duration) + 1))
        q, qd, qdd = (np.asarray(x) for x in motion.motion(time))
        tau = torque_program(motion.robot)(q, qd, qdd)
    elif isinstance(motion, Log | Run):
        time, q, tau = motion.time, motion.q, motion.tau
    else:
        raise TaupiError(Argument("motion"), f" is {shown(motion)}, expected a Log, a Run, a Trial or an Excitation.")
    if q.shape[1] != robot.n:
        raise TaupiError(Argument("motion"), f" has {q.shape[1]} joints, {robot.name} has {robot.n}.")
    tau = None if tau is None or tau.shape != q.shape or not np.isfinite(tau).any() else np.nan_to_num(tau)
    usable = np.isfinite(q).all(axis=1)
    if usable.sum() < 2:
        raise TaupiError(Argument("motion"), f" has {int(usable.sum())} finite samples, expected at least 2.")
    return Track(time[usable] - time[usable][0], q[usable], None if tau is None else tau[usable])
