"""Edits of an XML text in place: attributes and elements change, every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from taupi.model.formats.xml_tree import Node

_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
_ATTRIBUTE = re.compile(rb"""\s(?P<name>[^\s=]+)\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")
Edit = tuple[int, int, bytes]  # start, stop, and the bytes that replace those between


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the bytes of a text with `edits`, none of which overlap."""
    for start, stop, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[stop:]
    return data


def attribute_places(data: bytes, node: Node) -> dict[str, tuple[int, int]]:
    """Return where the values of an element's attributes stand, without their quotes."""
    stop, _ = end_of_tag(data, node)
    return {
        m["name"].decode(): m.span("double") if m["double"] is not None else m.span("single")
        for m in _ATTRIBUTE.finditer(data, node.start, stop)
    }


def new_attribute(data: bytes, node: Node, name: str, value: str) -> Edit:
    """Return the edit that gives an element an attribute that it does not have, after the others."""
    stop, closed = end_of_tag(data, node)
    at = data.rindex(b"/", node.start, stop) if closed else stop - 1
    at = len(data[:at].rstrip())
    return at, at, f' {name}="{value}"'.encode()


def set_attributes(data: bytes, node: Node, wanted: Mapping[str, str | None]) -> list[Edit]:
    """Return the edits that give an element these attributes, and take away those that are None."""
    places = attribute_places(data, node)
    added = [name for name, value in wanted.items() if value is not None and name not in places]
    result: list[Edit] = []
    for name, value in wanted.items():
        if name not in places:
            continue
        start, stop = places[name]
        if value is None:
            begin = len(data[: data.rindex(name.encode(), node.start, start)].rstrip())
            result.append((begin, stop + 1, b""))
        elif node.attributes[name] != value:
            result.append((start, stop, value.encode()))
    if added:
        at, _, _ = new_attribute(data, node, "", "")
        result.append((at, at, "".join(f' {name}="{wanted[name]}"' for name in added).encode()))
    return result


def insert_first(data: bytes, parent: Node, element: bytes, newline: str) -> Edit:
    """Return the edit that makes an element the first child of another."""
    indent = indent_of(data, parent.start)
    stop, closed = end_of_tag(data, parent)
    text = newline.encode() + indent + b"  " + element
    if not closed:
        return stop, stop, text
    slash = data.rindex(b"/", parent.start, stop)
    return slash, stop, b">" + text + newline.encode() + indent + f"</{parent.tag}>".encode()


def end_of_tag(data: bytes, node: Node) -> tuple[int, bool]:
    """Return the byte after an element's start tag, and whether the tag closes itself."""
    match = _START_TAG.match(data, node.start)
    assert match is not None  # the parser has accepted it
    return match.end(), bool(match[1])


def indent_of(data: bytes, start: int) -> bytes:
    """Return the white space before an element that begins its line; nothing if it does not."""
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    return line if not line.strip() else b""
