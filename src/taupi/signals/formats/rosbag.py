"""Bags of ROS 1 (.bag) and ROS 2 (a folder, .db3 or .mcap), read without ROS: joint states and controller states."""

from __future__ import annotations

import bz2
import importlib
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import TaupiError, unknown
from taupi.input_files import regular_file
from taupi.model.robot import Robot
from taupi.signals.formats import read_table
from taupi.signals.formats.files import beginning, readable_source
from taupi.signals.formats.sources import RemoteFile, Source, local_path
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns, recorded_joints
from taupi.signals.mapping.tables import Table

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import Connection

# message type -> (field with the joint names, fields that may hold the arrays: the first that exists)
_TYPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sensor_msgs/msg/JointState": ("name", ("",)),
    "control_msgs/msg/JointTrajectoryControllerState": ("joint_names", ("feedback", "actual")),
    "control_msgs/msg/FollowJointTrajectoryFeedback": ("joint_names", ("actual",)),
}
_ARRAYS = {
    "position": ("position", "positions"),
    "velocity": ("velocity", "velocities"),
    "acceleration": ("acceleration", "accelerations"),
    "effort": ("effort",),
}


def sniff(path: Source) -> bool:
    """Return whether a path is a ROS 1 bag, an MCAP file, a ROS 2 database, or a folder that contains one."""
    if not isinstance(path, RemoteFile) and path.is_dir():
        return any(path.glob("*.db3")) or any(path.glob("*.mcap")) or (path / "metadata.yaml").exists()
    head = beginning(path, 16)
    return head.startswith((b"#ROSBAG", b"\x89MCAP0")) or (head.startswith(b"SQLite format") and path.suffix == ".db3")


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a topic of a bag: joints by name, time from the messages' stamps, else from when they were received."""
    return read_table(head(path, columns, robot), columns, robot, source)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays in a topic of a bag."""
    readable_source(path, "a bag", folder=True)
    # Reading pipes or devices would wait forever.
    for file in sorted(path.iterdir()) if not isinstance(path, RemoteFile) and path.is_dir() else ():
        if not file.is_dir():
            regular_file(file, "a file of a bag", missing="It is a broken link.")
    try:
        stamps, rows, names, notes = _read_topic(path, columns.topic, robot)
    except TaupiError:
        raise
    except Exception as error:  # damaged bags fail in the decompressor, the database or the deserialiser
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise TaupiError(
            "{file} cannot be read as a bag: {reason}.", file=path.name or path, reason=reason.rstrip(".")
        ) from None
    start = int(stamps[0])
    notes.append(f"time counts from the first stamp, {start // 10**9}.{start % 10**9:09d} s")
    arrays = {"time": (stamps - start) * 1e-9, **rows}
    return Table(arrays, path, labels=names, notes=tuple(notes))


def _read_topic(
    path: Source, topic: str | None, robot: Robot | None
) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[str, ...], list[str]]:
    """Return the stamps (ns), the arrays, the joint names and notes of a topic."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with (
        local_path(path) as local,
        bounded_unpacking(_size(local), path.name),
        AnyReader([local], default_typestore=store) as reader,
    ):
        connections = _choose_connections(reader, topic, path.name)
        notes = [f"topic {connections[0].topic} ({connections[0].msgtype})"]
        messages = list(_messages(reader, connections, notes, local))
    facts = JointFacts.of(messages, robot, path.name)
    return *facts.arrays(messages), facts.joints, [*notes, *facts.notes]


def _choose_connections(reader: AnyReader, topic: str | None, where: str) -> list[Connection]:
    usable = [c for c in reader.connections if c.msgtype in _TYPES]
    topics = sorted({c.topic for c in usable})
    if topic is not None:
        if topic not in topics:
            other = next((c.msgtype for c in reader.connections if c.topic == topic), None)
            if other:
                raise TaupiError(
                    "{where}: {topic} is a {got}, expected one of {types:,}.",
                    where=where,
                    topic=topic,
                    got=other,
                    types=_TYPES,
                )
            raise unknown("topic of joint states", topic, topics, where)
        return [c for c in usable if c.topic == topic]
    if not topics:
        have = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})
        raise TaupiError(
            "{where} has no topic of joint states. It has: {have}.", where=where, have=", ".join(have[:10]) or "nothing"
        )
    if len(topics) > 1:
        raise TaupiError(
            "{where} has {count} topics of joint states: {topics:,}.",
            remedy="Choose one: {topic=...}.",
            where=where,
            count=len(topics),
            topics=topics[:10],
        )
    return usable


def _size(path: Path) -> int:
    """Return the bytes of a bag: of its file, or of the files in its folder."""
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


Message = tuple[int, Any, tuple[str, ...]]  # stamp in ns, the part of a message that holds the arrays, joint names


def _messages(reader: AnyReader, connections: list[object], notes: list[str], where: Path) -> Iterator[Message]:
    size = _size(where)
    unstamped = used = 0
    clock = Clock(where.name, size)
    for connection, received, data in reader.messages(connections=connections):
        message = reader.deserialize(data, connection.msgtype)
        field, inner = _TYPES[connection.msgtype]
        stamp = message.header.stamp
        ns = int(stamp.sec) * 10**9 + int(stamp.nanosec)
        unstamped += ns == 0
        used += len(data)
        budget().check_unpacked(used, size, where.name)
        clock.check()
        part = next((getattr(message, i) for i in inner if i and hasattr(message, i)), message)
        yield ns or received, part, tuple(getattr(message, field))
    if unstamped:
        notes.append(f"{unstamped} messages have no stamp; the time they were received is taken")


@dataclass(frozen=True)
class JointFacts:
    """What the messages of a topic have in common: their joints, in which order each names them, and which arrays they hold."""

    joints: tuple[str, ...]
    orders: Mapping[tuple[str, ...], list[int]]
    held: tuple[str, ...]
    start: int  # the first stamp, ns
    notes: tuple[str, ...]

    @classmethod
    def of(cls, messages: Iterable[Message], robot: Robot | None, where: str) -> JointFacts:
        """Return what messages have in common, of which one is looked at at a time."""
        counts: Counter[tuple[str, ...]] = Counter()
        arrays: Counter[tuple[tuple[str, ...], str]] = Counter()
        first: dict[tuple[str, ...], tuple[int, int]] = {}
        for k, (stamp, part, names) in enumerate(messages):
            counts[names] += 1
            first.setdefault(names, (k, stamp))
            arrays.update((names, key) for key, s in _ARRAYS.items() if _values(part, s, len(names)) is not None)
        if not counts:
            raise TaupiError("{where}: the topic has no messages.", where=where)
        wanted = recorded_joints(robot) if robot is not None else counts.most_common(1)[0][0]
        orders = {names: [names.index(j) for j in wanted] for names in counts if set(wanted) <= set(names)}
        if not orders:
            missing = next(j for j in wanted if all(j not in names for names in counts))
            raise unknown("joint", missing, counts.most_common(1)[0][0], where)
        notes, kept = [], sum(counts[names] for names in orders)
        if kept < counts.total():
            notes.append(f"{counts.total() - kept} of {counts.total()} messages are about other joints and left out")
        held = {key: count for key in _ARRAYS if (count := sum(arrays[names, key] for names in orders))}
        notes += [f"{kept - count} messages hold no {key}" for key, count in held.items() if count < kept]
        if "position" not in held:
            raise TaupiError("{where}: the messages hold no positions.", where=where)
        start = min(first[names] for names in orders)[1]
        return cls(tuple(wanted), orders, tuple(held), start, tuple(notes))

    def arrays(self, messages: Iterable[Message]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the stamps (ns) and the arrays (N, n) of some messages, those about other joints left out."""
        kept = [message for message in messages if message[2] in self.orders]
        blank = np.full(len(self.joints), np.nan)
        arrays = {}
        for key in self.held:
            rows = [_values(part, _ARRAYS[key], len(names)) for _, part, names in kept]
            values = [blank if r is None else r[self.orders[m[2]]] for r, m in zip(rows, kept, strict=True)]
            arrays[key] = np.array(values, dtype=float).reshape(len(kept), len(self.joints))
        return np.array([m[0] for m in kept], dtype=np.int64), arrays


def _values(part: object, spellings: tuple[str, ...], n: int) -> np.ndarray | None:
    value = next((getattr(part, s) for s in spellings if hasattr(part, s)), None)
    return np.asarray(value, dtype=float) if value is not None and len(value) == n else None


_STEP = 1 << 20  # bytes that are unpacked at once
_SWAPPING = threading.RLock()


class _Unpacker(Protocol):
    """What the decompressors of bz2, lz4 and zstd have in common."""

    eof: bool
    needs_input: bool

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


@contextmanager
def bounded_unpacking(size: int, where: str) -> Iterator[None]:
    """Let rosbags unpack no more at a time than a file of `size` bytes may; `where` names the file in errors.

    rosbags unpacks a chunk at once, however large. Its tables of decompressors are replaced meanwhile, for one reader at a time.
    A ROS 1 bag has one chunk in memory. Chunks of an MCAP file whose times overlap are in memory together, and may have been
    scanned before, so that all of them together may unpack to twice as much.
    """
    modules: list[Any] = [
        importlib.import_module(f"rosbags.{name}")
        for name in ("rosbag1.reader", "rosbag2.reader", "rosbag2.storage_mcap")
    ]
    bag1, bag2, mcap = modules
    zstd = bag2.zstd
    lz4 = importlib.import_module("lz4.frame")

    total = [0]

    def each(new: Callable[[], Any]) -> Callable[..., bytes]:
        return lambda data, *_: unpacked(new, data, size, where)

    def together(new: Callable[[], Any]) -> Callable[..., bytes]:
        def unpack(data: bytes, *_: object) -> bytes:
            content = unpacked(new, data, size, where)
            total[0] += len(content)
            budget().check_unpacked(total[0] // 2, size, where)
            return content

        return unpack

    packed1 = {"bz2": each(bz2.BZ2Decompressor), "lz4": each(lz4.LZ4FrameDecompressor)}
    packed2 = {"lz4": together(lz4.LZ4FrameDecompressor), "zstd": together(zstd.ZstdDecompressor)}
    files = SimpleNamespace(
        decompress=each(zstd.ZstdDecompressor), open=lambda *words: _Counted(zstd.open(*words), size, where)
    )
    with _SWAPPING:
        before = bag1.decompressors, mcap.DECOMPRESSORS
        bag1.decompressors, mcap.DECOMPRESSORS = {**before[0], **packed1}, {**before[1], **packed2}
        bag2.zstd = files
        try:
            yield
        finally:
            bag1.decompressors, mcap.DECOMPRESSORS = before
            bag2.zstd = zstd


def unpacked(new: Callable[[], _Unpacker], data: bytes, size: int, where: str) -> bytes:
    """Return what some bytes unpack to, which may be several consecutive streams."""
    parts: list[bytes] = []
    count = 0
    while data:
        unpacker = new()
        while not unpacker.eof:
            part = unpacker.decompress(data, _STEP)
            data = b""
            if not part and unpacker.needs_input:
                raise EOFError("a compressed part ends too early")
            count += len(part)
            budget().check_unpacked(count, size, where)
            parts.append(part)
        data = getattr(unpacker, "unused_data", None) or b""
    return b"".join(parts)


class _Counted:
    """A stream of unpacked bytes that raises an error when there are too many."""

    def __init__(self, stream: BinaryIO, size: int, where: str) -> None:
        self._stream, self._size, self._where, self._count = stream, size, where, 0

    def read(self, count: int = -1) -> bytes:
        """Return the next bytes."""
        data: bytes = self._stream.read(count if count >= 0 else sys.maxsize)
        self._count += len(data)
        budget().check_unpacked(self._count, self._size, self._where)
        return data

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
