"""MCAP files that ROS did not write: joint states as JSON or protobuf, as Foxglove writes them."""

from __future__ import annotations

import importlib
import io
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import TaupiError, unknown
from taupi.input_files import parse_json, printable
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, blocks_from_parts, damage_refused, log_from_parts, readable_source
from taupi.signals.formats.rosbag import JointFacts, Message, unpacked
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, resolve_layout

MAGIC = b"\x89MCAP0\r\n"
_HEADER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 1, 3, 4, 5, 6
_ROS = ("ros1", "ros2")
_ARRAYS = ("position", "velocity", "acceleration", "effort")
_BATCH = 4096  # messages that are unpacked at once
_DEEPEST = 8  # messages inside of each other


def sniff(path: Source) -> bool:
    """Return whether a file is an MCAP file whose profile is not that of ROS."""
    start = beginning(path, 64)
    if not start.startswith(MAGIC) or len(start) < 21 or start[8] != _HEADER:
        return False
    (length,) = struct.unpack_from("<I", start, 17)
    return start[21 : 21 + length].decode("latin-1") not in _ROS


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a topic of joint states: joints by name, time from the stamps inside, else from when they were logged."""
    topic = _Topic.of(path, columns, robot)
    layout = resolve_layout(topic.head(), columns, robot)
    return log_from_parts(path, topic.parts(layout.file_columns), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows; one chunk is unpacked at a time, first to see what all messages have in common."""
    topic = _Topic.of(path, columns, robot)
    layout = resolve_layout(topic.head(), columns, robot)
    yield from blocks_from_parts(path, topic.parts(layout.file_columns), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays of a topic of joint states, without their rows."""
    return _Topic.of(path, columns, robot).head()


@contextmanager
def _recording(path: Source) -> Iterator[_Recording]:
    """Open a file."""
    kind = "an MCAP file"
    file = readable_source(path, kind)
    raised = (struct.error, IndexError, KeyError, ValueError, TypeError, EOFError, RuntimeError, OverflowError)
    with damage_refused(path, kind, *raised), file.open("rb") as stream:
        yield _Recording(stream, printable(path.name), size_of(file))


@dataclass(frozen=True)
class _Topic:
    """A topic of joint states in a file, and what its messages have in common."""

    path: Source
    number: int
    kind: str
    facts: JointFacts

    @classmethod
    def of(cls, path: Source, columns: Columns, robot: Robot | None) -> _Topic:
        """Return the topic of a file that is asked for, or its only one."""
        with _recording(path) as recording:
            first = {}
            for number, logged, content in recording.messages():
                if number not in first:
                    first[number] = recording.state(number, logged, content)
            number = recording.chosen(columns.topic, [n for n, state in first.items() if state is not None])
            facts = JointFacts.of(recording.states(number), robot, recording.where)
            return cls(path, number, recording.channels[number].kind, facts)

    def head(self) -> Table:
        """Return its arrays without their rows."""
        heads = {"time": np.empty(0), **{name: np.empty((0, len(self.facts.joints))) for name in self.facts.held}}
        since = f"time counts from the first stamp, {self.facts.start // 10**9}.{self.facts.start % 10**9:09d} s"
        notes = (f"topic {self.kind}", *self.facts.notes, since)
        return Table(heads, self.path, labels=self.facts.joints, notes=notes)

    def parts(self, wanted: list[str]) -> Iterator[dict[str, np.ndarray]]:
        """Yield some arrays part by part."""
        with _recording(self.path) as recording:
            states = (state for state in recording.states(self.number) if state[2] in self.facts.orders)
            while batch := list(islice(states, _BATCH)):
                stamps, arrays = self.facts.arrays(batch)
                arrays["time"] = (stamps - self.facts.start) * 1e-9
                yield {name: arrays[name] for name in wanted}


@dataclass
class _Channel:
    topic: str
    encoding: str
    schema: str
    types: Mapping[str, _Type]

    @property
    def kind(self) -> str:
        return f"{self.topic} ({self.schema or 'no schema'}, {self.encoding})"


class _Recording:
    """The channels of an open file, and its messages; one chunk is unpacked at a time, within the budget."""

    def __init__(self, stream: BinaryIO, where: str, size: int) -> None:
        self.stream, self.where, self.size = stream, where, size
        self.schemas: dict[int, tuple[str, str, bytes]] = {}
        self.channels: dict[int, _Channel] = {}
        self.clock = Clock(where, size)

    def messages(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield of each message, from the first on, the number of its channel, when it was logged, ns, and its content."""
        end = self.stream.seek(0, 2)
        self.stream.seek(len(MAGIC))
        yield from self._messages(self.stream, end)

    def _messages(self, stream: BinaryIO, end: int, inside: bool = False) -> Iterator[tuple[int, int, bytes]]:
        """Yield the messages of a file, or those inside of a chunk."""
        while len(start := stream.read(9)) == 9 and not start.startswith(MAGIC):  # which ends a file
            kind, length = struct.unpack("<BQ", start)
            if length > end - stream.tell():
                raise EOFError
            content = stream.read(length)
            if kind == _SCHEMA:
                (number,) = struct.unpack_from("<H", content)
                name, place = _text(content, 2)
                encoding, place = _text(content, place)
                (count,) = struct.unpack_from("<I", content, place)
                self.schemas[number] = (name, encoding, content[place + 4 : place + 4 + count])
            elif kind == _CHANNEL:
                self._channel(content)
            elif kind == _MESSAGE:
                number, _, logged = struct.unpack_from("<HIQ", content)
                if number not in self.channels:
                    raise KeyError
                self.clock.check()
                yield number, logged, content[22:]
            elif kind == _CHUNK and not inside:
                chunk = self._chunk(content)
                yield from self._messages(io.BytesIO(chunk), len(chunk), inside=True)

    def _channel(self, content: bytes) -> None:
        number, schema = struct.unpack_from("<HH", content)
        topic, place = _text(content, 4)
        encoding, _ = _text(content, place)
        name, kind, description = self.schemas.get(schema, ("", "", b""))
        budget().check_columns(len(self.channels) + 1, self.where)
        if number not in self.channels:
            types = _types(description) if kind == "protobuf" and "joint" in name.lower() else {}
            self.channels[number] = _Channel(topic, encoding, name, types)

    def _chunk(self, content: bytes) -> bytes:
        compression, place = _text(content, 28)
        (count,) = struct.unpack_from("<Q", content, place)
        packed = content[place + 8 : place + 8 + count]
        if not compression:
            return packed
        if compression == "lz4":
            new = importlib.import_module("lz4.frame").LZ4FrameDecompressor
        elif compression == "zstd":
            new = importlib.import_module("rosbags.rosbag2.reader").zstd.ZstdDecompressor
        else:
            raise TaupiError(
                "{where} is compressed by {got!r}, expected lz4 or zstd.", where=self.where, got=compression
            )
        return unpacked(new, packed, self.size, self.where)

    def chosen(self, topic: str | None, states: list[int]) -> int:
        """Return the channel of the topic that is asked for, or of the only one, among the topics of joint `states`."""
        usable = {self.channels[number].topic: number for number in states}
        if topic is not None and topic not in usable:
            raise unknown("topic of joint states", topic, usable, self.where)
        if not usable:
            have = ", ".join(sorted(c.kind for c in self.channels.values())[:8]) or "nothing"
            raise TaupiError(
                "{where} has no topic of joint states in JSON or protobuf. It has: {have}.", where=self.where, have=have
            )
        if len(usable) > 1 and topic is None:
            raise TaupiError(
                "{where} has {count} topics of joint states: {topics:,}.",
                remedy="Choose one: {topic=...}.",
                where=self.where,
                count=len(usable),
                topics=sorted(usable)[:10],
            )
        return usable[topic] if topic is not None else next(iter(usable.values()))

    def states(self, wanted: int) -> Iterator[Message]:
        """Yield the messages of a channel that are joint states."""
        for number, logged, content in self.messages():
            if number == wanted and (state := self.state(number, logged, content)) is not None:
                yield state

    def state(self, number: int, logged: int, content: bytes) -> Message | None:
        """Return a message of a channel as a joint state; None if it is none."""
        channel = self.channels[number]
        if channel.encoding == "json":
            value = parse_json(content, f"{self.where}: {channel.topic}", "a message")
        elif channel.encoding == "protobuf" and channel.types:
            value = _decoded(content, channel.schema, channel.types)
        else:
            return None
        return joint_state(value, logged)


def joint_state(value: object, logged: int) -> Message | None:
    """Return a joint state from a message: lists by signal, or a list of joints; None if it holds neither.

    >>> joint_state({"joints": [{"name": "a", "position": 1.0}, {"name": "b", "position": 2.0}]}, 5)
    (5, namespace(position=[1.0, 2.0]), ('a', 'b'))
    """
    if not isinstance(value, Mapping):
        return None
    joints = value.get("joints")
    if isinstance(joints, list) and joints and all(isinstance(j, Mapping) for j in joints):
        names = [j.get("name") for j in joints]
        rows = {key: [j.get(key) for j in joints] for key in _ARRAYS if any(j.get(key) is not None for j in joints)}
    else:
        rows = {key: list(value[key]) for key in _ARRAYS if isinstance(value.get(key), list) and value[key]}
        names = value.get("name") or value.get("names") or [str(k + 1) for k in range(len(rows.get("position", ())))]
    if "position" not in rows or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    numbers = {key: [np.nan if x is None else float(x) for x in row] for key, row in rows.items()}
    header = value.get("header")
    stamp = (
        value.get("timestamp") or value.get("stamp") or (header.get("stamp") if isinstance(header, Mapping) else None)
    )
    return _nanoseconds(stamp) or logged, SimpleNamespace(**numbers), tuple(names)


def _nanoseconds(stamp: object) -> int:
    """Return a stamp of two whole numbers in ns; 0 for any other."""
    if not isinstance(stamp, Mapping):
        return 0
    seconds = next((stamp[key] for key in ("sec", "secs", "seconds") if key in stamp), 0)
    rest = next((stamp[key] for key in ("nsec", "nanosec", "nsecs", "nanos") if key in stamp), 0)
    return int(seconds) * 10**9 + int(rest)


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, at)
    return data[at + 4 : at + 4 + length].decode("utf-8"), at + 4 + length


# Protobuf ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    name: str
    kind: int
    type_name: str
    repeated: bool


_Type = dict[int, _Field]
_STRING, _MESSAGE_KIND = 9, 11
_FIXED = {1: "<d", 2: "<f", 6: "<Q", 7: "<I", 15: "<i", 16: "<q"}


def _wire(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield the number of each field of a message, how it is packed, and its content."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, packing = key >> 3, key & 7
        if packing == 0:
            value, at = _varint(data, at)
            yield number, packing, value
            continue
        if packing == 2:
            length, at = _varint(data, at)
        else:
            length = {1: 8, 5: 4}[packing]
        if at + length > len(data):
            raise EOFError
        yield number, packing, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
    raise ValueError


def _types(description: bytes) -> dict[str, _Type]:
    """Return the messages that a FileDescriptorSet describes, by full name."""
    result: dict[str, _Type] = {}

    def message(data: bytes, within: str, depth: int) -> None:
        parts = list(_wire(data))
        name = within + next(bytes(v).decode() for n, _, v in parts if n == 1 and isinstance(v, bytes))
        fields: _Type = {}
        for number, _, value in parts:
            if number == 2 and isinstance(value, bytes):
                facts = {n: v for n, _, v in _wire(value)}
                text = {n: v.decode() for n, v in facts.items() if isinstance(v, bytes) and n in (1, 6)}
                kind, label = facts.get(5, 0), facts.get(4, 1)
                assert isinstance(kind, int)
                fields[int(facts[3])] = _Field(text[1], kind, text.get(6, "").lstrip("."), label == 3)
            elif number == 3 and isinstance(value, bytes) and depth < _DEEPEST:
                message(value, f"{name}.", depth + 1)
        result[name] = fields

    for number, _, file in _wire(description):
        if number != 1 or not isinstance(file, bytes):
            continue
        parts = list(_wire(file))
        package = next((bytes(v).decode() + "." for n, _, v in parts if n == 2 and isinstance(v, bytes)), "")
        for n, _, value in parts:
            if n == 4 and isinstance(value, bytes):
                message(value, package, 0)
    return result


def _decoded(data: bytes, name: str, types: Mapping[str, _Type], depth: int = 0) -> dict[str, object]:
    """Return a message as a table, as it would be in JSON; numbers, texts and messages only."""
    fields, result = types[name], dict[str, Any]()
    for number, _, value in _wire(data):
        known = fields.get(number)
        if known is None or depth > _DEEPEST:
            continue
        items: list[object]
        if known.kind == _MESSAGE_KIND and isinstance(value, bytes) and known.type_name in types:
            items = [_decoded(value, known.type_name, types, depth + 1)]
        elif known.kind == _STRING and isinstance(value, bytes):
            items = [value.decode("utf-8")]
        elif known.kind in _FIXED and isinstance(value, bytes):  # one number, or several that are packed
            form = _FIXED[known.kind]
            items = [x for (x,) in struct.iter_unpack(form, value)]
        elif isinstance(value, int):
            items = [value - (1 << 64) if value >> 63 else value]
        else:
            continue
        if known.repeated:
            result.setdefault(known.name, []).extend(items)
        elif items:
            result[known.name] = items[-1]
    return result
