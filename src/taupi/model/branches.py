"""A robot that stands on the ground as several trees: arms or legs that do not feel each other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taupi.model.robot_parts import BASE

if TYPE_CHECKING:
    from taupi.model.robot import Robot


@dataclass(frozen=True)
class Branch:
    """A part of a robot that hangs on the ground by itself.

    Attributes:
        robot: The part, as a robot of its own.
        links: The numbers of its links in the whole robot.
        coordinates: The numbers of its velocities there.
    """

    robot: Robot
    links: tuple[int, ...]
    coordinates: tuple[int, ...]


def branches(robot: Robot) -> tuple[Branch, ...]:
    """Return the parts of a robot between which no joint, coupling or loop transmits anything, in the order of their joints.

    Only the ground connects them: the equations of motion of each have none of another's coordinates.

    Args:
        robot: The robot, whose base is bolted.
    """
    owner = {k: k for k in range(robot.n)}

    def root(k: int) -> int:
        while owner[k] != k:
            k = owner[k]
        return k

    for link in range(len(robot.links)):
        moved_by = [k for i in robot.path(link) for k in _coordinates(robot, i)]
        for k in moved_by:
            owner[root(k)] = root(moved_by[0])
    if robot.loops or len({root(k) for k in owner}) == 1:
        return (Branch(robot, tuple(range(len(robot.links))), tuple(range(robot.n))),)
    result = []
    for first in dict.fromkeys(root(k) for k in range(robot.n)):
        coordinates = tuple(k for k in range(robot.n) if root(k) == first)
        links = tuple(i for i, joint in enumerate(robot.joints) if joint.coordinate in coordinates)
        number, part_of = {k: i for i, k in enumerate(coordinates)}, {BASE: BASE} | {k: i for i, k in enumerate(links)}
        joints = tuple(
            dataclasses.replace(
                joint,
                parent=part_of[joint.parent],
                coordinate=number[joint.coordinate],
                also=tuple((number[k], ratio) for k, ratio in joint.also),
            )
            for joint in (robot.joints[i] for i in links)
        )
        part = robot._changed(joints=joints, links=tuple(robot.links[i] for i in links), frames=(), tip="", capsules=())
        result.append(Branch(part, links, coordinates))
    return tuple(result)


def _coordinates(robot: Robot, joint: int) -> list[int]:
    own = robot.joints[joint]
    return [*range(own.coordinate, own.coordinate + own.dof), *(k for k, _ in own.also)]
