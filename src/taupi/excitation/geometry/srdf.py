"""SRDF, the file in which MoveIt keeps the pairs of links whose collisions it does not check."""

from __future__ import annotations

from pathlib import Path

from taupi.errors import TaupiError
from taupi.model.formats import xml_tree
from taupi.model.formats.text_file import read_text


def disabled_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the pairs of links that a file disables."""
    root = xml_tree.parse(read_text(path), path.name)
    if root.tag != "robot":
        raise TaupiError(f"{path.name}: the root element is <{root.tag[:40]}>, expected <robot>: not an SRDF file.")
    pairs = []
    for node in root.all("disable_collisions"):
        first, second = (node.attributes.get(key, "") for key in ("link1", "link2"))
        if not first or not second:
            raise TaupiError(f"{path.name}, line {node.line}: <disable_collisions> names no link1 and link2.")
        pairs.append((first, second))
    return pairs
