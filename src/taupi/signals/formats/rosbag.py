"""Bags: ROS 1 (.bag), ROS 2 (a folder, .db3 or .mcap), read without ROS. Joint states, and states of controllers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.model.robot import Robot
from taupi.signals.columns import Columns
from taupi.signals.formats.files import beginning, readable
from taupi.signals.log import Log, LogSource
from taupi.signals.tables import Table, build, settle

# message type -> (field of the joints' names, field that holds the arrays, or the first of several that exists)
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


def sniff(path: Path) -> bool:
    """Return whether a path is a ROS 1 bag, an MCAP file, a ROS 2 database or a folder with such in it."""
    if path.is_dir():
        return any(path.glob("*.db3")) or any(path.glob("*.mcap")) or (path / "metadata.yaml").exists()
    head = beginning(path, 16)
    return head.startswith((b"#ROSBAG", b"\x89MCAP0")) or (head.startswith(b"SQLite format") and path.suffix == ".db3")


def read(path: Path, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log of a bag's topic: joints by name, time from the messages' stamps (else when they were received)."""
    readable(path, "a bag", folder=True)
    try:
        stamps, rows, names, notes = _gathered(path, columns.topic, robot)
    except TaupiError:
        raise
    except Exception as error:  # damaged bags fail in the decompressor, the database or the deserialiser
        told = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise TaupiError(f"{path.name or path} cannot be read as a bag: {told.rstrip('.')}.") from None
    start = int(stamps[0])
    notes.append(f"time counts from the first stamp, {start // 10**9}.{start % 10**9:09d} s")
    arrays = {"time": (stamps - start) * 1e-9, **rows}
    table = Table(arrays, path.name, labels=names, notes=tuple(notes))
    return build(table, settle(table, columns, robot), source)


def _gathered(
    path: Path, topic: str | None, robot: Robot | None
) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[str, ...], list[str]]:
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        connections = _chosen(reader, topic, path.name)
        told = [f"topic {connections[0].topic} ({connections[0].msgtype})"]
        stamps, rows, names = _collected(_messages(reader, connections, told), robot, path.name, told)
    return stamps, rows, names, told


def _chosen(reader: Any, topic: str | None, where: str) -> list[Any]:
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
            f"{where} has {len(topics)} topics of joint states: {', '.join(topics[:10])}. Choose: topic=... ."
        )
    return usable


def _messages(reader: Any, connections: list[Any], told: list[str]) -> Iterator[tuple[int, Any, tuple[str, ...]]]:
    """Yield (stamp in ns, the part of the message that holds the arrays, joint names)."""
    unstamped = 0
    for connection, received, data in reader.messages(connections=connections):
        message = reader.deserialize(data, connection.msgtype)
        field, inner = _TYPES[connection.msgtype]
        stamp = message.header.stamp
        ns = int(stamp.sec) * 10**9 + int(stamp.nanosec)
        unstamped += ns == 0
        part = next((getattr(message, i) for i in inner if i and hasattr(message, i)), message)
        yield ns or received, part, tuple(getattr(message, field))
    if unstamped:
        told.append(f"{unstamped} messages have no stamp; the time they were received is taken")


def _collected(
    messages: Iterator[tuple[int, Any, tuple[str, ...]]], robot: Robot | None, where: str, told: list[str]
) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[str, ...]]:
    kept: list[tuple[int, Any, tuple[str, ...]]] = list(messages)
    if not kept:
        raise TaupiError(f"{where}: the topic has no messages.")
    counts = Counter(names for _, _, names in kept)
    wanted = robot.joint_names if robot is not None else counts.most_common(1)[0][0]
    orders = {names: [names.index(j) for j in wanted] for names in counts if set(wanted) <= set(names)}
    if not orders:
        missing = next(j for j in wanted if all(j not in names for names in counts))
        raise unknown("joint", missing, counts.most_common(1)[0][0], where)
    lost = sum(count for names, count in counts.items() if names not in orders)
    if lost:
        told.append(f"{lost} of {len(kept)} messages are about other joints and left out")
    kept = [m for m in kept if m[2] in orders]
    arrays: dict[str, np.ndarray] = {}
    for name, spellings in _ARRAYS.items():
        rows = [_values(part, spellings, len(names)) for _, part, names in kept]
        empty = sum(r is None for r in rows)
        if empty < len(rows):
            blank = np.full(len(wanted), np.nan)
            picked = [blank if r is None else r[orders[m[2]]] for r, m in zip(rows, kept, strict=True)]
            arrays[name] = np.array(picked, dtype=float)
            if empty:
                told.append(f"{empty} messages hold no {name}")
    if "position" not in arrays:
        raise TaupiError(f"{where}: the messages hold no positions.")
    return np.array([m[0] for m in kept], dtype=np.int64), arrays, tuple(wanted)


def _values(part: Any, spellings: tuple[str, ...], n: int) -> np.ndarray | None:
    value = next((getattr(part, s) for s in spellings if hasattr(part, s)), None)
    return np.asarray(value, dtype=float) if value is not None and len(value) == n else None
