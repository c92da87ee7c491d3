"""XML as a small tree that remembers where each element stands, and edits of a text in place: every other byte stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from taupi.budget import budget, over_budget
from taupi.errors import TaupiError

MAX_DEPTH = 200


@dataclass(slots=True)
class Node:
    """An element: tag, attributes, children, its line, and the bytes at which its start tag and its end tag begin.

    Its text is kept for formats that write values as text, such as SDF.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    start: int
    end: int = -1  # for <a/> the byte after it; -1 until the parser gets there
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Node]:
        """Return the children with a tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Node | None:
        """Return the first child with a tag, or None."""
        return next(self.all(tag), None)


class _NodeBuilder:
    def __init__(self, parser: expat.XMLParserType, where: str) -> None:
        self.parser, self.where = parser, where
        self.open: list[Node] = []
        self.texts: list[list[str]] = []  # of each open element, joined once: many short texts take no longer than one
        self.root: Node | None = None
        self.count, self.most = 0, budget().nodes

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.most:
            raise over_budget(f"{self.where} has more than {self.most} elements", "nodes")
        if len(self.open) >= MAX_DEPTH:
            raise TaupiError(
                "{where} nests more than {max_depth} elements: not a robot description.",
                where=self.where,
                max_depth=MAX_DEPTH,
            )
        node = Node(tag, attributes, self.parser.CurrentLineNumber, self.parser.CurrentByteIndex)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)
        self.texts.append([])

    def end(self, _tag: str) -> None:
        node = self.open.pop()
        node.end, node.text = self.parser.CurrentByteIndex, "".join(self.texts.pop())

    def text(self, text: str) -> None:
        self.texts[-1].append(text)

    def refuse(self, *_: object) -> None:
        raise TaupiError(
            "{where} has a document type or entity declaration, which can grow without bound: remove the "
            "<!DOCTYPE ...> part.",
            where=self.where,
        )


def parse(text: str, where: str, values: bool = False) -> Node:
    """Return the root element of an XML text; document types and entities are refused, depth and size are limited.

    With `values`, the texts of elements are kept too. Robot software accepts what the standard forbids: "--" in comments, and a
    declaration that is not at the start.
    """
    data = text.encode("utf-8")
    try:
        return _parsed(data, where, values)
    except _NotWellFormedError:
        return _parsed(_without_comments(data), where, values)


_DECLARATION = re.compile(rb"\s+<\?xml")
_NOT_A_NEWLINE = re.compile(rb"[^\r\n]")


def _without_comments(data: bytes) -> bytes:
    """Return XML with comments, and a declaration that follows blanks, replaced by blanks, so that lines and bytes do not move.

    Every byte is looked at once: a pattern would search for the end of a comment from each place where one could begin.
    """
    result, at = bytearray(data), 0
    if _DECLARATION.match(data) and (end := data.find(b"?>")) >= 0:
        at = end + 2
        result[:at] = _NOT_A_NEWLINE.sub(b" ", data[:at])
    while (start := data.find(b"<!--", at)) >= 0 and (end := data.find(b"-->", start + 4)) >= 0:
        at = end + 3
        result[start:at] = _NOT_A_NEWLINE.sub(b" ", data[start:at])
    return bytes(result)


class _NotWellFormedError(TaupiError):
    """XML that is not well-formed."""


def _parsed(data: bytes, where: str, values: bool) -> Node:
    parser = expat.ParserCreate("utf-8")
    builder = _NodeBuilder(parser, where)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    if values:
        parser.buffer_text = True
        parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.EntityDeclHandler = builder.refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "syntax error")
        raise _NotWellFormedError(
            "{where} is not well-formed XML: {reason} at line {lineno}, column {offset}.",
            where=where,
            reason=reason,
            lineno=error.lineno,
            offset=error.offset,
        ) from None
    if builder.root is None:
        raise TaupiError("{where} has no XML element.", where=where)
    return builder.root


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
