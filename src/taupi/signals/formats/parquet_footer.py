"""How many values the columns of a Parquet file claim, from its footer (Thrift's compact protocol).

Arrow can crash the interpreter on a damaged footer, and reports too late that a list has a billion entries.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from taupi.budget import budget, over_budget
from taupi.errors import TaupiError
from taupi.signals.formats.sources import Source

_DEEPEST = 32
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData (parquet.thrift).
_ROW_GROUPS, _COLUMNS, _ROWS, _META, _VALUES = 4, 1, 3, 3, 5


@dataclass(frozen=True)
class RowGroup:
    """A group of rows: how many it has, and how many values each of its columns claims."""

    rows: int
    values: tuple[int, ...]


def row_groups(path: Source) -> list[RowGroup]:
    """Return the groups of rows that the footer of a file describes."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - 8, 0))
        tail = stream.read(8)
        length = struct.unpack("<I", tail[:4])[0] if len(tail) == 8 else 0
        if tail[4:] != b"PAR1" or length > size - 8:
            raise _damaged(path)
        if length > budget().text_bytes:
            raise over_budget(f"{path.name} has a footer of {length >> 20} MiB", "text_bytes")
        stream.seek(size - 8 - length)
        footer = stream.read(length)
    groups = _decoded(footer, budget().nodes)
    if groups is None:
        raise _damaged(path)
    return list(groups)


@lru_cache(maxsize=4)  # a fit reads its file several times, and a long footer takes as long to parse as the columns
def _decoded(footer: bytes, nodes: int) -> tuple[RowGroup, ...] | None:
    """Return the groups of rows in the bytes of a footer; None if they are damaged, or have more values than the limit."""
    try:
        groups = _Decoder(footer, nodes).struct(0)[_ROW_GROUPS]
        counts = [(group[_ROWS], *(c[_META][_VALUES] for c in group[_COLUMNS])) for group in groups]
    except (IndexError, KeyError, TypeError, struct.error):
        return None
    if not all(type(number) is int and number >= 0 for group in counts for number in group):
        return None
    return tuple(RowGroup(rows, tuple(values)) for rows, *values in counts)


def _damaged(path: Source) -> TaupiError:
    return TaupiError(f"{path.name} is not a Parquet file, or it is cut off or damaged.")


class _Decoder:
    """Reads values of Thrift's compact protocol from bytes: structs as {field: value}, lists, whole numbers, bytes."""

    def __init__(self, data: bytes, nodes: int) -> None:
        self.data, self.at, self.left = data, 0, nodes * 10

    def varint(self) -> int:
        result = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return result

    def whole(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        data, last = self.data, 0
        while True:
            head = data[self.at]
            self.at += 1
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.whole()
            kind, byte = head & 0x0F, data[self.at]
            if kind in (4, 5, 6) and byte < 0x80:  # a small number, as most are
                self.at, self.left = self.at + 1, self.left - 1
                fields[last] = (byte >> 1) ^ -(byte & 1)
            else:
                fields[last] = self.value(kind, depth + 1)

    def value(self, kind: int, depth: int) -> Any:
        self.left -= 1
        if depth > _DEEPEST or self.left < 0:
            raise KeyError
        if kind in (1, 2):  # true and false have no content
            return kind == 1
        if kind in (4, 5, 6):
            return self.whole()
        if kind in (3, 7, 8):  # a byte, a double, a text
            count = {3: 1, 7: 8}.get(kind) or self.varint()
            if self.at + count > len(self.data):
                raise KeyError
            self.at += count
            return None
        if kind in (9, 10):
            return self.items(depth)
        if kind == 12:
            return self.struct(depth)
        raise KeyError

    def items(self, depth: int) -> list[Any]:
        head = self.data[self.at]
        self.at += 1
        count = head >> 4 if head >> 4 < 15 else self.varint()
        if count > len(self.data):
            raise KeyError
        kind = head & 0x0F
        if kind in (1, 2):  # in a list, each has a byte
            self.at += count
            return []
        return [self.value(kind, depth + 1) for _ in range(count)]
