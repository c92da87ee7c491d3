"""XML as a small tree that remembers where in the file each element stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from taupi.budget import budget, over_budget
from taupi.errors import TaupiError

MAX_DEPTH = 200


@dataclass(slots=True)
class Node:
    """An element: tag, attributes, children, its line, and the bytes at which its start tag and its end tag begin."""

    tag: str
    attributes: dict[str, str]
    line: int
    start: int
    end: int = -1  # for <a/> the byte after it; -1 until the parser gets there
    children: list[Node] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Node]:
        """Return the children with a tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Node | None:
        """Return the first child with a tag, or None."""
        return next(self.all(tag), None)


class _Builder:
    def __init__(self, parser: expat.XMLParserType, where: str) -> None:
        self.parser, self.where = parser, where
        self.open: list[Node] = []
        self.root: Node | None = None
        self.count, self.most = 0, budget().nodes

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.most:
            raise over_budget(f"{self.where} has more than {self.most} elements", "nodes")
        if len(self.open) >= MAX_DEPTH:
            raise TaupiError(f"{self.where} nests more than {MAX_DEPTH} elements: not a robot description.")
        node = Node(tag, attributes, self.parser.CurrentLineNumber, self.parser.CurrentByteIndex)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def end(self, _tag: str) -> None:
        self.open.pop().end = self.parser.CurrentByteIndex

    def refuse(self, *_: object) -> None:
        raise TaupiError(
            f"{self.where} has a document type or entity declaration, which can grow without bound: "
            "remove the <!DOCTYPE ...> part."
        )


def parse(text: str, where: str) -> Node:
    """Return the root element of an XML text; document types and entities are refused, depth and size are limited.

    Robot software accepts what the standard forbids: "--" in comments, and a declaration that is not at the start.
    """
    data = text.encode("utf-8")
    try:
        return _parsed(data, where)
    except _NotWellFormedError:
        return _parsed(_without_comments(data), where)


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


def _parsed(data: bytes, where: str) -> Node:
    parser = expat.ParserCreate("utf-8")
    builder = _Builder(parser, where)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.EntityDeclHandler = builder.refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "syntax error")
        place = f"line {error.lineno}, column {error.offset}"
        raise _NotWellFormedError(f"{where} is not well-formed XML: {reason} at {place}.") from None
    if builder.root is None:
        raise TaupiError(f"{where} has no XML element.")
    return builder.root
