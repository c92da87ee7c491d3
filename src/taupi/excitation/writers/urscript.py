"""URScript: a program for a Universal Robots controller that follows the motion by servoj."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taupi.excitation.writers.write import TimedMotion
from taupi.files import write_text

FILE = "excitation.script"
JOINTS = 6
# s: the control period of the CB3, and four of the e-Series: the program runs on both.
PERIOD = 0.008
# s and 1, of servoj: how far it looks ahead to smooth the path, and its gain.
LOOKAHEAD, GAIN = 0.05, 500
# rad/s and rad/s^2: the move to the start.
APPROACH_SPEED, APPROACH_ACCELERATION = 0.3, 0.5


def write(samples: TimedMotion, folder: Path) -> None:
    """Write the program: it moves slowly to the start, and then sends a position every 8 ms."""
    time, motion = samples.ticks(PERIOD)
    settings = f"t={PERIOD:g}, lookahead_time={LOOKAHEAD:g}, gain={GAIN}"
    lines = [
        f"# {len(time)} positions, {PERIOD:g} s apart: {samples.length:.4g} s, at {samples.speed:g} of the speed of the design.",
        "# Limits and clearance hold from the first position on. The move to it, by movej, is not checked: keep it clear.",
        "def excitation():",
        f"  movej({_row(motion.q[0])}, a={APPROACH_ACCELERATION:g}, v={APPROACH_SPEED:g})",
        *(f"  servoj({_row(q)}, {settings})" for q in motion.q),
        "  stopj(2.0)",
        "end",
        "excitation()",
    ]
    write_text(folder / FILE, "\n".join(lines) + "\n")


def _row(q: np.ndarray) -> str:
    return "[" + ", ".join(f"{float(v):.9f}" for v in q) + "]"
