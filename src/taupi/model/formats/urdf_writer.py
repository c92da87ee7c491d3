"""Write a robot's parameters back into the URDF that it came from: inertials change, every other byte stays."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from taupi.errors import TaupiError, TaupiWarning
from taupi.files import write_text
from taupi.model.body import Body, body_to_com, move_body, why_not_physical
from taupi.model.formats import xml_tree
from taupi.model.formats.link_tree import robot_from_tree
from taupi.model.formats.xml_edits import Edit, attribute_places, edited, indent_of, insert_first, new_attribute
from taupi.model.formats.xml_tree import Node
from taupi.model.placement import Placement
from taupi.model.robot import Robot
from taupi.model.scalars import with_values

_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
Numbers = tuple[float, ...]


def write(robot: Robot, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the URDF that a `robot` was read from, with the robot's parameters; nothing but inertials changes.

    A moving link's own inertial becomes its parameters less those of the links merged into it, which keep theirs: read
    again with the same `lock` and `tip`, the file gives `robot.parameters`. If no real body has what would be left for a link,
    its parameters are shared among the merged links instead, in proportion to their masses in the file, and a warning says
    so. Only numbers that change are edited, in place: comments and the order of attributes stay. The rotation of an edited
    inertial becomes zero. A file that exists at `path` is overwritten only with `force`.

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
    """Return the text of the URDF that a robot was read from, with the robot's parameters."""
    own = _new_bodies(robot)
    data = robot.source.text.encode("utf-8")
    newline = "\r\n" if "\r\n" in robot.source.text else "\n"
    root = xml_tree.parse(robot.source.text, robot.name)
    changed = [link for link in root.all("link") if link.attributes["name"] in own]
    edits = [edit for link in changed for edit in _edits(data, link, own[link.attributes["name"]], newline)]
    return edited(data, edits).decode("utf-8")


def with_tool(text: str, parent: str, body: Body, name: str = "payload") -> str:
    """Return the text of a URDF with another link, fixed to the link `parent`, that has a `body` about the parent's origin.

    The link is called `name`, followed by a number if there is a link of this name already.
    """
    from xml.sax.saxutils import quoteattr  # loads half of the standard library, sockets and mail included

    root = xml_tree.parse(text, name)
    taken = {node.attributes.get("name") for kind in ("link", "joint") for node in root.all(kind)}
    if parent not in taken:
        raise TaupiError(f"No link {parent!r} in the URDF, to which a tool could be fixed.")
    numbered = (name if k == 0 else f"{name}{k}" for k in range(len(taken) + 1))
    own = next(n for n in numbered if n not in taken and f"{n}_joint" not in taken)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f'  <link name="{own}">',
        f"    {_inertial(_wanted(body), b'    ', newline).decode()}",
        "  </link>",
        f'  <joint name="{own}_joint" type="fixed">',
        f"    <parent link={quoteattr(parent)}/>",
        f'    <child link="{own}"/>',
        "  </joint>",
        "",
    ]
    end = text.rindex("</robot")
    start = text[:end].rstrip(" \t")
    return start + ("" if start.endswith("\n") else newline) + newline.join(lines) + text[end:]


def _new_bodies(robot: Robot) -> dict[str, Body]:
    """Return the own body of each link whose parameters changed: own_new = own_file + (asked - merged_file)."""
    from taupi.model.formats.urdf import tree_of  # here, since the reader's module imports this one

    source = robot.source
    tree = tree_of(source.text, Path(source.path).name or robot.name, source.snap)
    floating = True if robot.floating else source.floating
    original = robot_from_tree(tree, dict(source.lock), source.tip, robot.gravity, source.snap, source, floating)
    if original.link_names != robot.link_names:
        expected = ", ".join(original.link_names[:6])
        raise TaupiError(f"{robot.name} has different links than its URDF, expected {expected}, ...: read it again.")
    file_bodies, others, values = dict(tree.links), dict(original.source.merged), dict(robot.symbols)
    result: dict[str, Body] = {}
    for before, after in zip(original.links, robot.links, strict=True):
        asked = tuple(_number(v, values, after.name) for v in after.body)
        if asked == before.body:
            continue
        own = tuple(f + a - b for f, a, b in zip(file_bodies[after.name], asked, before.body, strict=True))
        beside = others.get(after.name, ())
        together = {after.name: Placement(), **{f.name: f.placement for f in original.frames if f.name in beside}}
        weighed = any(file_bodies[name][0] > 0 for name in together)
        if beside and weighed and why_not_physical(own) and not why_not_physical(asked):
            result |= _shared(after.name, asked, together, file_bodies)
            continue
        _check_remainder(after.name, own, asked, beside)
        result[after.name] = own
    return result


def _shared(link: str, asked: Body, places: Mapping[str, Placement], file: Mapping[str, Body]) -> dict[str, Body]:
    """Return the bodies of a moving link and of those fixed to it: the asked body in each frame, times its share of mass."""
    total = sum((file[name][0] for name in places), start=Fraction(0))
    names = ", ".join(name for name in places if name != link)
    warnings.warn(
        f"Link {link!r} without {names} would not be a real body. So its parameters are shared among all of them, in "
        "proportion to their masses in the file.",
        TaupiWarning,
        stacklevel=2,
    )
    shares = {name: file[name][0] / total for name in places}
    parts = {name: tuple(shares[name] * v for v in asked) for name in places}
    return {name: move_body(part, places[name].inverse()) for name, part in parts.items() if any(part)}


def _number(value: Any, values: Mapping[str, Fraction | None], link: str) -> Fraction:
    number = with_values(value, values)
    if not isinstance(number, Fraction):
        raise TaupiError(
            f"Link {link!r} has the parameter {value}.", remedy="Give its symbols values with robot.bind(...)."
        )
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


# Edits ----------------------------------------------------------------------------------------------------------------


def _edits(data: bytes, link: Node, own: Body, newline: str) -> list[Edit]:
    """Return the edits that give a link its inertial: values changed in place, and what is missing added."""
    wanted = _wanted(own)
    inertial = link.first("inertial")
    if inertial is None:
        return [insert_first(data, link, _inertial(wanted, indent_of(data, link.start) + b"  ", newline), newline)]
    result: list[Edit] = []
    for tag, attributes in wanted.items():
        node = inertial.first(tag)
        if node is not None:
            result += _attributes(data, node, attributes)
        elif any(attributes["xyz"]):  # only <origin> may be missing
            line = _element(tag, {"xyz": attributes["xyz"]}).encode()
            result.append(insert_first(data, inertial, line, newline))
    return result


def _wanted(own: Body) -> dict[str, dict[str, Numbers]]:
    """Return the attributes of <origin>, <mass> and <inertia>, the latter in the link's own axes."""
    m, com, tensor = body_to_com(own)
    entries: dict[str, Numbers] = {key: (float(tensor[i][j]),) for key, (i, j) in _ENTRIES.items()}
    origin = {"xyz": tuple(float(v) for v in com), "rpy": (0.0, 0.0, 0.0)}
    return {"origin": origin, "mass": {"value": (float(m),)}, "inertia": entries}


def _attributes(data: bytes, node: Node, wanted: Mapping[str, Numbers]) -> list[Edit]:
    """Return the edits of an element's attributes: those whose numbers change, and missing ones added."""
    places = attribute_places(data, node)
    if node.tag == "origin" and "quat_xyzw" in places:
        wanted = {"xyz": wanted["xyz"], "quat_xyzw": (0.0, 0.0, 0.0, 1.0)}
    result: list[Edit] = []
    for name, values in wanted.items():
        if name in places:
            if tuple(map(float, node.attributes[name].split())) != values:
                result.append((*places[name], _numbers(values).encode()))
        elif any(values):  # a missing attribute means zero
            result.append(new_attribute(data, node, name, _numbers(values)))
    return result


def _inertial(wanted: Mapping[str, Mapping[str, Numbers]], indent: bytes, newline: str) -> bytes:
    between = newline + indent.decode()
    inner = "".join(f"{between}  {_element(tag, attributes)}" for tag, attributes in wanted.items())
    return f"<inertial>{inner}{between}</inertial>".encode()


def _element(tag: str, attributes: Mapping[str, Numbers]) -> str:
    return f"<{tag} " + " ".join(f'{name}="{_numbers(values)}"' for name, values in attributes.items()) + "/>"


def _numbers(values: Numbers) -> str:
    return " ".join(repr(v) if v else "0" for v in values)
