"""ROS 2: a trajectory_msgs/msg/JointTrajectory as YAML, for `ros2 topic pub` or a joint_trajectory_controller.

It splines between points with the velocities and accelerations that are given, so a moderate rate will do.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from taupi.excitation.writers.write import TimedMotion
from taupi.files import write_text

FILE = "excitation.ros2.yaml"
JOINTS = None


def write(samples: TimedMotion, folder: Path) -> None:
    """Write one document: header, joint_names, and points with positions, velocities, accelerations and time_from_start."""
    write_text(folder / FILE, "\n".join(trajectory_lines(samples)) + "\n")


def trajectory_lines(samples: TimedMotion) -> list[str]:
    """Return the lines of a JointTrajectory."""
    time, motion = samples.at(samples.rate_hz)
    names = ", ".join(json.dumps(name) for name in samples.robot.joint_names)
    lines = ["header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}", f"joint_names: [{names}]", "points:"]
    for t, q, qd, qdd in zip(time, *motion, strict=True):
        nanoseconds = round(float(t) * 1e9)
        lines += [
            f"- positions: {_row(q)}",
            f"  velocities: {_row(qd)}",
            f"  accelerations: {_row(qdd)}",
            f"  time_from_start: {{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}",
        ]
    return lines


def _row(values: np.ndarray) -> str:
    """Return numbers in a form that every YAML reader accepts as a number: 1.0e-05, not 1e-05."""
    return "[" + ", ".join(f"{float(v) + 0.0:.12e}" for v in values) + "]"
