"""Rows for libfranka: seven joint positions per millisecond, for a JointPositions callback that sends one row per cycle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taupi.excitation.writers.write import TimedMotion
from taupi.files import write_text

FILE = "excitation.franka.csv"
JOINTS = 7
PERIOD = 0.001
# Rows that are equal at both ends: the controller starts and stops with zero speed and acceleration.
STILL = 3


def write(samples: TimedMotion, folder: Path) -> None:
    """Write positions (rad) only, without a header, comma separated."""
    _, motion = samples.ticks(PERIOD)
    q = np.vstack([motion.q[:1]] * (STILL - 1) + [motion.q] + [motion.q[-1:]] * (STILL - 1))
    write_text(folder / FILE, "".join(",".join(f"{float(v):.12f}" for v in row) + "\n" for row in q))
