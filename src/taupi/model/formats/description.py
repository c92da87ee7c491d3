"""What all readers of robot descriptions share: the text of a file, and warnings about what was read."""

from __future__ import annotations

import dataclasses
import os

from taupi.errors import TaupiError, warn
from taupi.files import path_of
from taupi.input_files import printable, read_bytes
from taupi.model.floating import bolted_note
from taupi.model.formats.file_tree import Tree
from taupi.model.formats.serial_arm import warn_not_physical
from taupi.model.massless import massless_sentence
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE
from taupi.model.scalars import is_symbolic

_EXPECTED = "a robot description (.urdf, .xml, .sdf, .usd, .toml)"


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file with its newlines as they are, refusing what cannot be a description."""
    file = path_of(path)
    return decode(read_bytes(file, _EXPECTED), printable(file.name))


def decode(data: bytes, where: str) -> str:
    """Return the text of a file's bytes; an empty file, or one that is not UTF-8, is an error."""
    if not data.strip():
        raise TaupiError("{where} is empty, expected a robot description.", where=where)
    if b"\0" in data:
        raise TaupiError("{where} is a binary file, expected the text of a robot description.", where=where)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaupiError(
            "{where} is not UTF-8 text (byte {start}). Save it as UTF-8.", where=where, start=error.start
        ) from None


def warn_of_description(robot: Robot, tree: Tree) -> None:
    """Warn of what is suspect in a description: large snaps of angles, inertias that no real body has, links without mass."""
    if tree.large_snaps:
        what, moved = max(tree.large_snaps, key=lambda pair: pair[1])
        more = f", and {len(tree.large_snaps) - 1} more," if len(tree.large_snaps) > 1 else ""
        warn(
            "{where}: {what}{more} was snapped by {moved:.1e} rad, which changes torques by as much.",
            remedy="{snap=False} keeps angles as they are printed.",
            where=tree.where,
            what=what,
            more=more,
            moved=moved,
        )
    warn_not_physical(robot.links, tree.where)
    if sentence := massless_sentence(robot, tree.where):
        warn("{sentence}", sentence=sentence)


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
        warn(
            "{where}: {sentence};",
            remedy="{floating=True} lets it move; {floating=False} confirms that this is intended.",
            where=where,
            sentence=sentence,
        )
    return dataclasses.replace(robot, notes=(*robot.notes, sentence))
