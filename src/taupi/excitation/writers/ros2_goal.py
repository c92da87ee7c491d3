"""ROS 2: a goal of control_msgs/action/FollowJointTrajectory as YAML, for `ros2 action send_goal`.

The joint_trajectory_controller runs it and says how it ended: tolerances are left to the controller's own settings. The goal
begins where the motion does, so the arm has to be there first.
"""

from __future__ import annotations

from pathlib import Path

from taupi.excitation.writers.ros2 import trajectory_lines
from taupi.excitation.writers.write import TimedMotion
from taupi.files import write_text

FILE = "excitation.goal.yaml"
JOINTS = None
ACTION = "/joint_trajectory_controller/follow_joint_trajectory control_msgs/action/FollowJointTrajectory"


def write(samples: TimedMotion, folder: Path) -> None:
    """Write one goal: its trajectory, as in `ros2`, and the tolerances of the controller."""
    lines = [
        f'# ros2 action send_goal {ACTION} "$(cat {FILE})"',
        "trajectory:",
        *(f"  {line}" for line in trajectory_lines(samples)),
        "path_tolerance: []",
        "goal_tolerance: []",
        "goal_time_tolerance: {sec: 0, nanosec: 0}",
    ]
    write_text(folder / FILE, "\n".join(lines) + "\n")
