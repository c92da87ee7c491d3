"""NPZ: NumPy arrays time, q, qd, qdd and the names of the joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taupi.excitation.writers.write import TimedMotion
from taupi.files import write_file

FILE = "excitation.npz"
JOINTS = None


def write(samples: TimedMotion, folder: Path) -> None:
    """Write the arrays; `names` are texts."""
    time, motion = samples.at(samples.rate_hz)
    arrays = {"time": time, **motion._asdict(), "names": np.array(samples.robot.joint_names)}
    write_file(folder / FILE, lambda stream: np.savez_compressed(stream, **arrays))
