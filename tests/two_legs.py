"""A robot of two branches, which only the ground connects."""

from __future__ import annotations

import dataclasses

import taupi as tp
from taupi.model.placement import IDENTITY
from taupi.model.robot import Frame

LEG = tp.load("elbow2r")


def two_legs() -> tp.Robot:
    """Return two arms of different lengths on one stand, their joints in turn, as some loggers have them."""
    second = LEG.with_payload(0.7, (0.1, 0.0, 0.2))
    joints = []
    for k, name in enumerate(LEG.joint_names):
        for leg, robot in enumerate((LEG, second)):
            own = robot.joints[k]
            parent = -1 if own.parent < 0 else 2 * own.parent + leg
            joints.append(dataclasses.replace(own, name=f"{name}_{leg}", parent=parent, coordinate=2 * k + leg))
    links = [
        dataclasses.replace(robot.links[k], name=f"{robot.links[k].name}_{leg}")
        for k in range(2)
        for leg, robot in enumerate((LEG, second))
    ]
    frames = (Frame("tip_1", 3, IDENTITY),)
    return dataclasses.replace(LEG, name="stand", joints=tuple(joints), links=tuple(links), frames=frames, tip="")
