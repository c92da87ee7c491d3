"""ULog, the flight log of PX4: each message is a table of its own, and the one about joints, or the one asked for, is read."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import TaupiError, unknown
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, blocks_from_parts, damage_refused, log_from_parts, readable_source
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, resolve_layout

MAGIC = b"ULog\x01\x12\x35"
_HEADER = 16
_DTYPES = {
    **{"int8_t": "i1", "uint8_t": "u1", "int16_t": "<i2", "uint16_t": "<u2", "int32_t": "<i4", "uint32_t": "<u4"},
    **{"int64_t": "<i8", "uint64_t": "<u8", "float": "<f4", "double": "<f8", "bool": "u1", "char": "u1"},
}
_FIELD = re.compile(r"(\w+)(?:\[(\d{1,4})\])? (\w+)")
_DEEPEST = 8
_BATCH = 1 << 22  # bytes that are unpacked at once


def sniff(path: Source) -> bool:
    """Return whether a file begins as ULog files do."""
    return beginning(path, len(MAGIC)) == MAGIC


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in one message of a ULog file; stamps are in microseconds."""
    table, number = _chosen(path, columns)
    layout = resolve_layout(table, columns, robot)
    return log_from_parts(path, _parts(path, number, layout.file_columns), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows; the file is read a record at a time, first to see which messages it holds."""
    table, number = _chosen(path, columns)
    layout = resolve_layout(table, columns, robot)
    yield from blocks_from_parts(path, _parts(path, number, layout.file_columns), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the fields of one message as columns without their rows: arrays one by one, name[0], name[1] ..."""
    return _chosen(path, columns)[0]


def _chosen(path: Source, columns: Columns) -> tuple[Table, int]:
    """Return the columns of the message that is read, without their rows, and its number in the file."""
    where = printable(path.name)
    with _records(path) as records:
        logged = {number for number, _ in records.data()}
    messages = {records.names[number]: number for number in records.names if number in logged}
    if not messages:
        raise TaupiError("{where} holds no messages.", where=where)
    topic = columns.topic
    if topic is None:
        about_joints = [name for name in messages if "joint" in name]
        if len(about_joints) != 1:
            raise TaupiError(
                "{where} has {count} messages about joints. It has: {messages:,}.",
                remedy="Choose one: {topic=...}.",
                where=where,
                count=len(about_joints) or "no",
                messages=sorted(messages)[:12],
            )
        (topic,) = about_joints
    elif topic not in messages:
        raise unknown("message", topic, messages, where)
    notes = [f"message {topic}", *(["the file is cut off in its last record"] if records.short else [])]
    names = records.layouts[messages[topic]].names or ()
    heads = {name: np.empty(0) for name in names if "_padding" not in name}
    return Table(heads, path, notes=tuple(notes), units={"timestamp": "us"}), messages[topic]


def _parts(path: Source, message: int, wanted: list[str]) -> Iterator[dict[str, np.ndarray]]:
    """Yield some columns of a message part by part."""
    with _records(path) as records:
        rows: list[bytes] = []
        for number, row in records.data():
            if number == message:
                rows.append(row)
                if len(rows) * records.layouts[message].itemsize >= _BATCH:
                    yield _unpacked(rows, records.layouts[message], wanted)
                    rows = []
        if rows:
            yield _unpacked(rows, records.layouts[message], wanted)


def _unpacked(rows: list[bytes], layout: np.dtype, wanted: list[str]) -> dict[str, np.ndarray]:
    width = layout.itemsize
    table = np.frombuffer(b"".join(row[:width].ljust(width, b"\0") for row in rows), layout)  # padding may be missing
    return {name: table[name].astype(float) for name in wanted}


@contextmanager
def _records(path: Source) -> Iterator[_Records]:
    """Open a file."""
    kind = "a ULog file"
    file = readable_source(path, kind)
    raised = (struct.error, IndexError, KeyError, ValueError, TypeError, OverflowError, RecursionError)
    with damage_refused(path, kind, *raised), file.open("rb") as stream:
        yield _Records(stream, printable(path.name), size_of(file))


@dataclass
class _Records:
    """The records of an open file: the messages that it logs by number, and whether it ends within a record."""

    stream: BinaryIO
    where: str
    size: int
    names: dict[int, str] = field(default_factory=dict)
    layouts: dict[int, np.dtype] = field(default_factory=dict)
    short: bool = False

    def data(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each message that is logged, and its bytes."""
        formats: dict[str, str] = {}
        clock = Clock(self.where, self.size)
        self.stream.seek(_HEADER)
        while len(start := self.stream.read(3)) == 3:
            length, kind = struct.unpack("<HB", start)
            content = self.stream.read(length)
            if len(content) < length:  # as after a loss of power
                self.short = True
                return
            if kind == ord("F"):
                name, _, fields = content.decode("ascii", "replace").partition(":")
                formats[name] = fields
                budget().check_columns(len(formats), self.where)
            elif kind == ord("A"):
                clock.check()
                multi, number = struct.unpack_from("<BH", content)
                name = content[3:].decode("ascii", "replace")
                layout = np.dtype(_columns(name, formats, self.where, {}))
                if self.layouts.setdefault(number, layout) != layout:  # rows of one message are alike
                    raise ValueError
                self.names[number] = f"{name}_{multi}" if multi else name
            elif kind == ord("D") and length > 2:
                (number,) = struct.unpack_from("<H", content)
                if number not in self.layouts:
                    raise KeyError
                clock.check()
                yield number, content[2:]


def _columns(
    name: str, formats: Mapping[str, str], where: str, known: dict[str, list[tuple[str, str]]], depth: int = 0
) -> list[tuple[str, str]]:
    """Return the columns of a message, (name, type): of arrays one by one, and of messages inside of it.

    `known` holds the columns of messages that were looked at before: each is looked at once, however often others hold it.
    """
    if depth > _DEEPEST or name not in formats:
        raise TaupiError("{where} has no format of the message {name}.", where=where, name=printable(name))
    columns: list[tuple[str, str]] = []
    for part in formats[name].split(";"):
        match = _FIELD.fullmatch(part.strip())
        if match is None:
            continue
        kind, count, label = match[1], match[2], match[3]
        if kind not in known:
            known[kind] = [("", _DTYPES[kind])] if kind in _DTYPES else _columns(kind, formats, where, known, depth + 1)
        for k in range(int(count or 1)) if known[kind] else ():
            own = f"{label}[{k}]" if count else label
            columns += [(f"{own}.{n}" if n else own, form) for n, form in known[kind]]
            budget().check_columns(len(columns), where)
    return columns
