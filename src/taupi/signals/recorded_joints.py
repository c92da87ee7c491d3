"""The joints of a robot that logs have signals of: those with one velocity, which a motor may drive."""

from __future__ import annotations

from taupi.model.robot import Robot


def recorded_joints(robot: Robot) -> tuple[str, ...]:
    """Return the names of the joints of which a log has signals: all but free and ball joints, and those that follow."""
    return tuple(robot.joint_names[k] for k in robot.actuated)


def recorded_units(robot: Robot) -> tuple[str, ...]:
    """Return "rad" or "m" for each of them."""
    return tuple("m" if robot.slides[k] else "rad" for k in robot.actuated)
