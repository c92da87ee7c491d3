"""Write a robot's parameters back into the URDF it came from: inertials change, every other byte stays."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from taupi.errors import TaupiError, TaupiWarning
from taupi.model.body import Body, body_to_com, smallest_eigenvalue, why_not_physical
from taupi.model.formats import nodes
from taupi.model.formats.nodes import Node
from taupi.model.formats.text import write_text
from taupi.model.formats.tree import robot_from_tree
from taupi.model.robot import Robot
from taupi.model.scalars import bound

_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")


def write(robot: Robot, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the URDF a robot was read from with the robot's parameters, changing nothing but inertials.

    A moving link's own inertial becomes its parameters less those of the links merged into it, which keep theirs: read
    again with the same `lock` and `tip`, the file gives `robot.parameters`. A link that did not change is not touched.

    >>> import tempfile, taupi as tp
    >>> text = (
    ...     '<robot name="r"><link name="base"/><link name="arm"/><joint name="j" type="revolute">'
    ...     '<parent link="base"/><child link="arm"/></joint></robot>'
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "r.urdf").write_text(text)
    ...     robot = tp.load(f"{folder}/r.urdf").with_parameters([2, 0, 0, 0, 1, 0, 0, 1, 0, 1])
    ...     tp.write_urdf(robot, f"{folder}/new.urdf")
    ...     float(tp.load(f"{folder}/new.urdf").parameters["arm.m"])
    2.0
    """
    if robot.source.format != "urdf":
        raise TaupiError(f"{robot.name} comes from {robot.source.format}, expected URDF: there is none to write back.")
    write_text(path, updated_text(robot), force)


def updated_text(robot: Robot) -> str:
    """Return the text of the URDF a robot was read from, with the robot's parameters."""
    own = _new_bodies(robot)
    data = robot.source.text.encode("utf-8")
    newline = "\r\n" if "\r\n" in robot.source.text else "\n"
    root = nodes.parse(robot.source.text, robot.name)
    changed = [link for link in root.all("link") if link.attributes["name"] in own]
    edits = [_edit(data, link, own[link.attributes["name"]], newline) for link in changed]
    for start, stop, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[stop:]
    return data.decode("utf-8")


def _new_bodies(robot: Robot) -> dict[str, Body]:
    """Return the own body of each link whose parameters changed: own_new = own_file + (asked - merged_file)."""
    from taupi.model.formats.urdf import tree_of  # the reader offers this writer, so the one import is here

    source = robot.source
    tree = tree_of(source.text, Path(source.path).name or robot.name, source.snap)
    original = robot_from_tree(tree, dict(source.lock), source.tip, robot.gravity, source.snap, source)
    if original.link_names != robot.link_names:
        expected = ", ".join(original.link_names[:6])
        raise TaupiError(f"{robot.name} has other links than its URDF, expected {expected}, ...: read it again.")
    file_bodies, others, values = dict(tree.links), dict(source.merged), dict(robot.symbols)
    result = {}
    for before, after in zip(original.links, robot.links, strict=True):
        asked = tuple(_number(v, values, after.name) for v in after.body)
        if asked == before.body:
            continue
        own = tuple(f + a - b for f, a, b in zip(file_bodies[after.name], asked, before.body, strict=True))
        _check_remainder(after.name, own, asked, others.get(after.name, ()))
        result[after.name] = own
    return result


def _number(value: Any, values: Mapping[str, Fraction | None], link: str) -> Fraction:
    number = bound(value, values)
    if not isinstance(number, Fraction):
        raise TaupiError(f"Link {link!r} has the parameter {value}: give its symbols values with robot.bind(...).")
    return number


def _check_remainder(link: str, own: Body, asked: Body, others: tuple[str, ...]) -> None:
    shared = f" once {', '.join(others)} keep theirs" if others else ""
    if own[0] < 0:
        raise TaupiError(
            f"Link {link!r} would have mass {float(own[0]):.6g}{shared}, which a URDF cannot state. "
            f"Its mass {float(asked[0]):.6g} must be at least that of the links fixed to it."
        )
    if own[0] == 0 and any(own[1:4]):
        raise TaupiError(
            f"Link {link!r} would have mass 0 but a first moment {[float(v) for v in own[1:4]]}{shared}, "
            "which a URDF cannot state. Give it a mass above 0."
        )
    if why_not_physical(own) and not why_not_physical(asked):
        warnings.warn(
            f"Link {link!r}: its own inertial{shared} has pseudo-inertia eigenvalue {smallest_eigenvalue(own):.2g}, "
            "so no real body has it, although the merged link is one.",
            TaupiWarning,
            stacklevel=2,
        )


def _edit(data: bytes, link: Node, own: Body, newline: str) -> tuple[int, int, bytes]:
    """Return (start, stop, replacement) in bytes that give a link its inertial."""
    old = link.first("inertial")
    if old is not None:
        stop, closed = _tag(data, old)
        if not closed:
            stop = data.index(b">", old.end) + 1
        return old.start, stop, _inertial(own, _indent(data, old.start), newline)
    indent = _indent(data, link.start)
    stop, closed = _tag(data, link)
    text = newline.encode() + indent + b"  " + _inertial(own, indent + b"  ", newline)
    if not closed:
        return stop, stop, text
    slash = data.rindex(b"/", link.start, stop)
    return slash, stop, b">" + text + newline.encode() + indent + b"</link>"


def _tag(data: bytes, node: Node) -> tuple[int, bool]:
    """Return the byte after an element's start tag, and whether the tag closes itself."""
    match = _START_TAG.match(data, node.start)
    assert match is not None  # the parser has accepted it
    return match.end(), bool(match[1])


def _indent(data: bytes, start: int) -> bytes:
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    return line if not line.strip() else b""


def _inertial(own: Body, indent: bytes, newline: str) -> bytes:
    m, com, tensor = body_to_com(own)
    xyz = " ".join(repr(float(v)) for v in com)
    entries = {f"i{a}{b}": tensor["xyz".index(a)]["xyz".index(b)] for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")}
    inner = [
        f'<origin xyz="{xyz}" rpy="0 0 0"/>',
        f'<mass value="{float(m)!r}"/>',
        "<inertia " + " ".join(f'{key}="{float(v)!r}"' for key, v in entries.items()) + "/>",
    ]
    between = newline + indent.decode()
    return ("<inertial>" + "".join(f"{between}  {line}" for line in inner) + f"{between}</inertial>").encode()
