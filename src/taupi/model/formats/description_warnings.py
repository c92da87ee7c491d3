"""What is suspect about a robot that was read from a file: no mass, a base that is bolted to the ground, large snaps."""

from __future__ import annotations

import dataclasses

from taupi.errors import Argument, TaupiWarning, warn
from taupi.model.floating import bolted_note
from taupi.model.formats.file_tree import Tree
from taupi.model.massless import massless_sentence
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE
from taupi.model.scalars import is_symbolic


def warn_of_description(robot: Robot, where: str) -> None:
    """Warn of links without mass."""
    if sentence := massless_sentence(robot, where):
        warn(sentence)


def warn_of_snaps(tree: Tree) -> None:
    """Warn, once, of angles of a file that were snapped by so much that torques change."""
    if not tree.large_snaps:
        return
    what, moved = max(tree.large_snaps, key=lambda pair: pair[1])
    more = f", and {len(tree.large_snaps) - 1} more," if len(tree.large_snaps) > 1 else ""
    warn(
        TaupiWarning(
            f"{tree.where}: {what}{more} was snapped by {moved:.1e} rad, which changes torques by as much.",
            remedy=(Argument("snap", False), " keeps angles as they are printed."),
        )
    )


def noting_a_bolted_base(robot: Robot, where: str, asked: bool) -> Robot:
    """Return the robot with a note on a root link that has a mass and is taken as bolted to the ground.

    There is also a warning if two or more moving branches hang on it, as legs do, and nobody `asked` to bolt it.
    """
    root = robot.source.root
    if robot.floating or root is None or is_symbolic(root.body[0]) or not float(root.body[0]):
        return robot
    sentence = bolted_note(root)
    branches = sum(j.parent == BASE for j in robot.joints)
    if branches > 1 and not asked:
        remedy = (
            Argument("floating", True),
            " lets it move; ",
            Argument("floating", False),
            " confirms that this is intended.",
        )
        warn(TaupiWarning(f"{where}: {sentence};", remedy=remedy))
    return dataclasses.replace(robot, notes=(*robot.notes, sentence))
