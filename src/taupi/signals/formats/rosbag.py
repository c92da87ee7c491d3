"""Bags of ROS 1 (.bag) and ROS 2 (a folder, .db3 or .mcap), read without ROS: joint states and controller states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import Argument, TaupiError, unknown
from taupi.input_files import regular_file
from taupi.model.robot import Robot
from taupi.signals.formats.bag_unpacking import bounded_unpacking
from taupi.signals.formats.files import beginning, readable_source
from taupi.signals.formats.sources import RemoteFile, Source, local_path
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns, recorded_joints
from taupi.signals.mapping.tables import Table, log_from_table, resolve_layout

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
    table = head(path, columns, robot)
    return log_from_table(table, resolve_layout(table, columns, robot), source)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays in a topic of a bag."""
    readable_source(path, "a bag", folder=True)
    _check_files(path)
    try:
        stamps, rows, names, notes = _read_topic(path, columns.topic, robot)
    except TaupiError:
        raise
    except Exception as error:  # damaged bags fail in the decompressor, the database or the deserialiser
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise TaupiError(f"{path.name or path} cannot be read as a bag: {reason.rstrip('.')}.") from None
    start = int(stamps[0])
    notes.append(f"time counts from the first stamp, {start // 10**9}.{start % 10**9:09d} s")
    arrays = {"time": (stamps - start) * 1e-9, **rows}
    return Table(arrays, path, labels=names, notes=tuple(notes))


def _check_files(path: Source) -> None:
    """Refuse a folder that holds pipes or devices, at which reading would wait forever."""
    for file in sorted(path.iterdir()) if not isinstance(path, RemoteFile) and path.is_dir() else ():
        if not file.is_dir():
            regular_file(file, "a file of a bag", missing="It is a broken link.")


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
        stamps, rows, names = _arrays(messages, robot, path.name, notes)
    return stamps, rows, names, notes


def _choose_connections(reader: Any, topic: str | None, where: str) -> list[Any]:
    usable = [c for c in reader.connections if c.msgtype in _TYPES]
    topics = sorted({c.topic for c in usable})
    if topic is not None:
        if topic not in topics:
            other = next((c.msgtype for c in reader.connections if c.topic == topic), None)
            if other:
                raise TaupiError(f"{where}: {topic} is a {other}, expected one of {', '.join(_TYPES)}.")
            raise unknown("topic of joint states", topic, topics, where)
        return [c for c in usable if c.topic == topic]
    if not topics:
        have = sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})
        raise TaupiError(f"{where} has no topic of joint states. It has: {', '.join(have[:10]) or 'nothing'}.")
    if len(topics) > 1:
        raise TaupiError(
            f"{where} has {len(topics)} topics of joint states: {', '.join(topics[:10])}.",
            remedy=("Choose one: ", Argument("topic", ...), "."),
        )
    return usable


def _size(path: Path) -> int:
    """Return the bytes of a bag: of its file, or of the files in its folder."""
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


Message = tuple[int, Any, tuple[str, ...]]  # stamp in ns, the part of a message that holds the arrays, joint names


def _messages(reader: Any, connections: list[Any], notes: list[str], where: Path) -> Iterator[Message]:
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


def _arrays(
    messages: list[Message], robot: Robot | None, where: str, notes: list[str]
) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[str, ...]]:
    """Return the stamps (ns), the arrays (N, n) by name, and the joint names of messages about the same joints."""
    if not messages:
        raise TaupiError(f"{where}: the topic has no messages.")
    counts = Counter(names for _, _, names in messages)
    wanted = recorded_joints(robot) if robot is not None else counts.most_common(1)[0][0]
    orders = {names: [names.index(j) for j in wanted] for names in counts if set(wanted) <= set(names)}
    if not orders:
        missing = next(j for j in wanted if all(j not in names for names in counts))
        raise unknown("joint", missing, counts.most_common(1)[0][0], where)
    lost = sum(count for names, count in counts.items() if names not in orders)
    if lost:
        notes.append(f"{lost} of {len(messages)} messages are about other joints and left out")
    messages = [m for m in messages if m[2] in orders]
    arrays: dict[str, np.ndarray] = {}
    for name, spellings in _ARRAYS.items():
        rows = [_values(part, spellings, len(names)) for _, part, names in messages]
        empty = sum(r is None for r in rows)
        if empty < len(rows):
            blank = np.full(len(wanted), np.nan)
            values = [blank if r is None else r[orders[m[2]]] for r, m in zip(rows, messages, strict=True)]
            arrays[name] = np.array(values, dtype=float)
            if empty:
                notes.append(f"{empty} messages hold no {name}")
    if "position" not in arrays:
        raise TaupiError(f"{where}: the messages hold no positions.")
    return np.array([m[0] for m in messages], dtype=np.int64), arrays, tuple(wanted)


def _values(part: Any, spellings: tuple[str, ...], n: int) -> np.ndarray | None:
    value = next((getattr(part, s) for s in spellings if hasattr(part, s)), None)
    return np.asarray(value, dtype=float) if value is not None and len(value) == n else None
