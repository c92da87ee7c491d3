"""CSV: time, q, qd, qdd and, if the robot has masses, tau of each joint, as `taupi.read_log` reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.excitation.limits.sampled_rows import described_terms
from taupi.excitation.writers.write import TimedMotion
from taupi.signals.log import Log
from taupi.signals.read import write_log
from taupi.simulation.references import Motion

FILE = "excitation.csv"
JOINTS = None


def write(samples: TimedMotion, folder: Path) -> None:
    """Write the motion, and the torque that it needs according to the description's parameters and friction."""
    time, motion = samples.at(samples.rate_hz)
    tau = described_torque(samples, motion)
    signals = {"q": motion.q, "qd": motion.qd, "qdd": motion.qdd} | ({} if tau is None else {"tau": tau})
    write_log(Log(time, **signals, names=samples.robot.joint_names), folder / FILE)


def described_torque(samples: TimedMotion, motion: Motion) -> np.ndarray | None:
    """Return the torque (N, n) of a motion from the description, None if it states no masses."""
    if not np.any(samples.robot.parameters.values):
        return None
    torque = inverse_dynamics(samples.robot, terms=described_terms(samples.robot, smooth=False)).compile("numpy")
    return np.asarray(torque(*motion))
