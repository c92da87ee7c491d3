"""Bags of joint states, written with rosbags' own writers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

JOINT_STATE = "sensor_msgs/msg/JointState"
CONTROLLER = "control_msgs/msg/JointTrajectoryControllerState"
_CONTROLLER_DEFINITION = """std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint desired
trajectory_msgs/JointTrajectoryPoint actual
trajectory_msgs/JointTrajectoryPoint error
"""


def store(ros1: bool):
    types = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    types.register(get_types_from_msg(_CONTROLLER_DEFINITION, CONTROLLER))
    return types


def _header(types, ros1: bool, ns: int):
    stamp = types.types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)
    more = {"seq": 0} if ros1 else {}
    return types.types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **more)


def joint_state(types, ros1, ns, names, q, qd=(), tau=()):
    arrays = (np.asarray(v, dtype=np.float64) for v in (q, qd, tau))
    position, velocity, effort = arrays
    return types.types[JOINT_STATE](
        header=_header(types, ros1, ns), name=list(names), position=position, velocity=velocity, effort=effort
    )


def controller_state(types, ros1, ns, names, q, qd, qdd, tau):
    duration = types.types["builtin_interfaces/msg/Duration"](sec=0, nanosec=0)
    point = types.types["trajectory_msgs/msg/JointTrajectoryPoint"]

    def at(*values):
        p, v, a, e = (np.asarray(x, dtype=np.float64) for x in values)
        return point(positions=p, velocities=v, accelerations=a, effort=e, time_from_start=duration)

    zero = at(*(np.zeros(len(names)) for _ in range(4)))
    actual = at(q, qd, qdd, tau)
    return types.types[CONTROLLER](
        header=_header(types, ros1, ns), joint_names=list(names), desired=zero, actual=actual, error=zero
    )


def text(types, ros1, words):
    return types.types["std_msgs/msg/String"](data=words)


def write_bag(path: Path, messages, kind: str) -> Path:
    """Write (topic, type, received in ns, make(types, ros1)) messages; return what a user would open."""
    ros1 = kind == "bag"
    types = store(ros1)
    if ros1:
        target = path / "run.bag"
        writer = Writer1(target)
    else:
        target = path / "run"
        writer = Writer2(
            target, version=9, storage_plugin=StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
        )
    with writer as bag:
        connections = {}
        for topic, msgtype, received, make in messages:
            if topic not in connections:
                connections[topic] = bag.add_connection(topic, msgtype, typestore=types)
            message = make(types, ros1)
            raw = types.serialize_ros1(message, msgtype) if ros1 else types.serialize_cdr(message, msgtype)
            bag.write(connections[topic], received, raw)
    if kind == "mcap":
        return next(target.glob("*.mcap"))
    return target
