"""Let a robot's base float, or bolt it to the ground."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from taupi.errors import TaupiError
from taupi.model.placement import IDENTITY
from taupi.model.robot_parts import BASE, FREE, Frame, Joint, Link
from taupi.model.scalars import is_symbolic

if TYPE_CHECKING:
    from taupi.model.robot import Robot

FREE_JOINT = "base"


def bolted_note(root: Link) -> str:
    """Return the note of a reader on a root link with a mass that is taken as bolted to the ground."""
    return f"{root.name} ({float(root.body[0]):.3g} kg) is taken as bolted to the ground"


_VELOCITIES = 6


def floating_base(robot: Robot) -> Robot:
    """Return the robot with a free joint before all others, which moves its root link."""
    if robot.floating:
        return robot
    root = robot.source.root or Link(_root_name(robot))
    joints, links, frames = with_free_root(robot.joints, robot.links, robot.frames, root)
    source = dataclasses.replace(robot.source, floating=True)
    massive = robot.source.root is not None and not is_symbolic(root.body[0])
    notes = tuple(note for note in robot.notes if not massive or note != bolted_note(root))
    return robot._changed(joints=joints, links=links, frames=frames, source=source, notes=notes)


def with_free_root(
    joints: Sequence[Joint], links: Sequence[Link], frames: Sequence[Frame], root: Link
) -> tuple[tuple[Joint, ...], tuple[Link, ...], tuple[Frame, ...]]:
    """Return joints, links and frames with a free joint before all others, which moves the `root` link."""
    free = Joint(_unused(FREE_JOINT, {j.name for j in joints}), FREE, BASE, 0)
    moved = tuple(_shifted(joint, 1, _VELOCITIES) for joint in joints)
    fixed = tuple(dataclasses.replace(f, link=f.link + 1) for f in frames if f.name != root.name)
    return (free, *moved), (root, *links), fixed


def fixed_base(robot: Robot) -> Robot:
    """Return the robot without its free joint, its root link where the base is placed."""
    if not robot.floating:
        return robot
    if len(robot.joints) == 1:
        raise TaupiError(
            "{robot} has no moving joint but its base: bolted to the ground, nothing moves.", robot=robot.name
        )
    root, free = robot.links[0], robot.joints[0]
    still = free.before @ free.after
    joints = []
    for joint in robot.joints[1:]:
        moved = _shifted(joint, -1, -_VELOCITIES)
        joints.append(dataclasses.replace(moved, before=still @ joint.before) if moved.parent == BASE else moved)
    frames = [Frame(root.name, BASE, still)]
    for frame in robot.frames:
        link = frame.link - 1 if frame.link > 0 else BASE
        placement = still @ frame.placement if frame.link == 0 else frame.placement
        frames.append(Frame(frame.name, link, placement))
    source = dataclasses.replace(robot.source, root=root, floating=False)
    return robot._changed(joints=tuple(joints), links=robot.links[1:], frames=tuple(frames), source=source)


def _shifted(joint: Joint, links: int, coordinates: int) -> Joint:
    """Return a joint with its links and coordinates counted from another number."""
    parent = max(joint.parent + links, BASE)
    also = tuple((k + coordinates, ratio) for k, ratio in joint.also)
    return dataclasses.replace(joint, parent=parent, coordinate=joint.coordinate + coordinates, also=also)


def _root_name(robot: Robot) -> str:
    """Return the name of the root's frame if there is one, else a new one."""
    for frame in robot.frames:
        if frame.link == BASE and frame.placement == IDENTITY:
            return frame.name
    return _unused("base", set(robot.frame_names))


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
