"""Logs of floating robots: the motion of the base from an IMU or from full states, and its columns in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from taupi.checks import positive
from taupi.errors import TaupiError
from taupi.model.requirements import require_floating
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import to_float
from taupi.signals.base_motion import BaseMotion
from taupi.signals.log import Log
from taupi.signals.mapping.columns import Channel, FloatingColumns


def base_from_imu(
    robot: Robot,
    frame: str,
    gyroscope: np.ndarray,
    accelerometer: np.ndarray,
    rate_hz: float,
    angular_acceleration: np.ndarray | None = None,
) -> BaseMotion:
    """Return how the root link of a floating `robot` moves, from an IMU at a `frame` that is fixed to it.

    The accelerometer's reading is moved to the root's origin: a = R a_i - wd x r - w x (w x r), with r the place of the frame.
    Use the signals as they were recorded: filtering comes afterwards.

    Args:
        robot: The robot, with a floating base.
        frame: The frame of the IMU, in whose axes the signals are.
        gyroscope: Angular velocity (N, 3), rad/s.
        accelerometer: What the accelerometer reads (N, 3), m/s^2.
        rate_hz: Samples per second, Hz.
        angular_acceleration: wd (N, 3), rad/s^2; by default central differences of the gyroscope.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r", floating=True)
    >>> still = np.zeros((5, 3))
    >>> tp.floating.base_from_imu(arm, "base", still, still + [0, 0, 9.81], 100.0).a[0].tolist()
    [0.0, 0.0, 9.81]
    """
    place = robot.frame(frame)
    require_floating(robot)
    if place.link != 0:
        where = "the ground" if place.link == BASE else robot.links[place.link].name
        raise TaupiError(
            "{frame} {other_frame!r} is fixed to {where}, expected to a root link that moves freely.",
            other_frame=frame,
            where=where,
        )
    rate_hz = positive("rate_hz", rate_hz)
    matrix = place.placement.matrix
    turn, r = matrix[:3, :3], matrix[:3, 3]
    seen = BaseMotion(gyroscope, accelerometer, angular_acceleration)
    w = seen.w @ turn.T
    if seen.wd is not None:
        wd = seen.wd @ turn.T
    elif len(w) > 1:
        wd = np.gradient(w, 1 / rate_hz, axis=0)
    else:
        raise TaupiError("{gyroscope} has {got} samples, expected at least 2: it is differentiated.", got=len(w))
    a = seen.a @ turn.T - np.cross(wd, r) - np.cross(w, np.cross(w, r))
    return BaseMotion(w, a, wd)


def rotations(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 3, 3) of quaternions (N, 4), x y z w, of any length but zero."""
    length = np.linalg.norm(quaternion, axis=1, keepdims=True)
    if not np.all(length > 0):
        row = int(np.flatnonzero(~(length[:, 0] > 0))[0])
        raise TaupiError(
            "The quaternion of sample {row} has length {length:g}, expected one that is not 0.",
            row=row,
            length=float(length[row, 0]),
        )
    x, y, z, w = np.moveaxis(quaternion / length, 1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axes_of(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return the rotations (N, 3, 3) from the axes of a floating base to the world's, from positions (N, nq)."""
    before = (robot.base @ robot.joints[0].before).matrix[:3, :3]
    return np.asarray(before @ rotations(q[:, 3:7]))


def gravity_of(robot: Robot) -> np.ndarray:
    """Return a robot's gravity (3,) as numbers."""
    values = dict(robot.symbols)
    return np.array([to_float(v, "gravity", values) for v in robot.gravity])


def base_from_states(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> BaseMotion:
    """Return how the base of a floating robot moves, from full states in our convention: a = vd + w x v - R^T g."""
    require_floating(robot)
    gravity = gravity_of(robot)
    w, v = qd[:, :3], qd[:, 3:6]
    a = qdd[:, 3:6] + np.cross(w, v) - np.einsum("nji,j->ni", axes_of(robot, q), gravity)
    return BaseMotion(w, a, qdd[:, :3])


# Names of columns in files that we write, which other files may use too: base_wx, wrench_<frame>_nx, contact_<frame>.
_AXES = ("x", "y", "z")
_WRENCH = ("nx", "ny", "nz", "fx", "fy", "fz")
_BASE = ("w", "a", "wd")
_WIDTHS = {"base.w": (3,), "base.a": (3,), "base.wd": (3,), "base.v": (3,), "base.vd": (3,), "base.quaternion": (4,)}
_WORLD_LINEAR, _WORLD_ANGULAR, _SCALAR_FIRST = ("mujoco", "idyntree"), ("idyntree",), ("mujoco",)


def recognised(widths: Mapping[str, int]) -> FloatingColumns:
    """Return the columns that are named as in files that we write; none if a file has no such columns.

    >>> sorted(recognised({"q1": 1, "base_w": 3, "base_ax": 1, "base_ay": 1, "base_az": 1, "contact_FL": 1}).channels)
    ['base.a', 'base.w', 'contact.FL']
    """
    channels: dict[str, Channel] = {}
    for name in _BASE:
        if columns := _named(f"base_{name}", _AXES, widths, ""):
            channels[f"base.{name}"] = Channel(columns)
    for column in widths:
        if match := re.fullmatch(r"contact_(.+)", column):
            channels[f"contact.{match[1]}"] = Channel((column,))
        if match := re.fullmatch(r"wrench_(.+)_fx", column):
            parts = _named(f"wrench_{match[1]}", _WRENCH, widths, "_") or _named(
                f"wrench_{match[1]}", _WRENCH[3:], widths, "_"
            )
            if parts:
                channels[f"wrench.{match[1]}"] = Channel(parts)
        elif (match := re.fullmatch(r"wrench_(.+)", column)) and widths[column] in (3, 6):
            channels[f"wrench.{match[1]}"] = Channel((column,))
    return FloatingColumns(channels)


def _named(stem: str, parts: Sequence[str], widths: Mapping[str, int], between: str) -> tuple[str, ...]:
    names = tuple(f"{stem}{between}{part}" for part in parts)
    if all(name in widths for name in names):
        return names
    return (stem,) if widths.get(stem) == len(parts) else ()


def floating_fields(
    raw: Mapping[str, np.ndarray], columns: FloatingColumns, time: np.ndarray, robot: Robot | None, where: str
) -> dict[str, Any]:
    """Return the fields base, wrench and contact of a log, from the values of their columns in SI units."""
    for name, value in raw.items():
        if len(value) != len(time):
            raise TaupiError(
                "{where}: {name} has {got} rows, expected {expected}: one per time stamp.",
                where=where,
                name=name,
                got=len(value),
                expected=len(time),
            )
        widths = _WIDTHS.get(name) or ((3, 6) if name.startswith("wrench.") else (1,))
        if value.shape[1] not in widths:
            expected = " or ".join(map(str, widths))
            raise TaupiError(
                "{where}: {name} has {got} columns, expected {expected}.",
                where=where,
                name=name,
                got=value.shape[1],
                expected=expected,
            )
    contact = {
        k.partition(".")[2]: _flags(v[:, 0], k, columns, where) for k, v in raw.items() if k.startswith("contact.")
    }
    wrench = {k.partition(".")[2]: v for k, v in raw.items() if k.startswith("wrench.")}
    base = {k.partition(".")[2]: v for k, v in raw.items() if k.startswith("base.")}
    motion = _base(base, columns, time, contact, robot, where) if base else None
    return {"base": motion, "wrench": wrench, "contact": contact}


def _flags(values: np.ndarray, name: str, columns: FloatingColumns, where: str) -> np.ndarray:
    frame = name.partition(".")[2]
    if frame in columns.thresholds:
        return np.asarray(values > columns.thresholds[frame])
    if not np.isin(values, (0, 1)).all():
        raise TaupiError(
            "{where}: {name} is not 0 or 1 everywhere.",
            remedy='Give the number above which it is a contact in its mapping: {columns = "...", threshold = 20}.',
            where=where,
            name=name,
        )
    return np.asarray(values == 1)


def _base(
    base: Mapping[str, np.ndarray],
    columns: FloatingColumns,
    time: np.ndarray,
    contact: Mapping[str, np.ndarray],
    robot: Robot | None,
    where: str,
) -> BaseMotion:
    if "w" not in base or ("a" not in base and not {"quaternion", "v"} <= set(base)):
        raise TaupiError(
            "{where}: base has {got:,}, expected w (angular velocity) and a (accelerometer), or w, quaternion and v.",
            where=where,
            got=base,
        )
    if not columns.imu and "a" in base:
        return BaseMotion(base["w"], base["a"], base.get("wd"))
    if robot is None:
        raise TaupiError(
            "{where}: moving an IMU to the root, or gravity to its axes, needs the robot.",
            remedy="Give it: read_log(path, {robot}).",
            where=where,
        )
    rate_hz = (len(time) - 1) / (time[-1] - time[0]) if len(time) > 1 else float("nan")
    if "a" in base:
        return base_from_imu(robot, columns.imu, base["w"], base["a"], float(rate_hz), base.get("wd"))
    return _from_states(base, columns.convention, time, contact, robot)


def _from_states(
    base: Mapping[str, np.ndarray],
    convention: str,
    time: np.ndarray,
    contact: Mapping[str, np.ndarray],
    robot: Robot,
) -> BaseMotion:
    """Return what an IMU at the root would read, from quaternion and velocities in some convention: a = R^T (vd_W - g)."""
    quaternion = base["quaternion"][:, [1, 2, 3, 0]] if convention in _SCALAR_FIRST else base["quaternion"]
    require_floating(robot, ", and the log has a base that moves")
    turn = rotations(quaternion)

    def inwards(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("nji,nj->ni", turn, x))

    angular = convention in _WORLD_ANGULAR
    w = inwards(base["w"]) if angular else base["w"]
    rate = rate_within(time, contact)
    wd = base.get("wd")
    if wd is not None and angular:
        wd = inwards(wd)
    vd = base["vd"] if "vd" in base else rate(base["v"])
    vd = inwards(vd) if convention in _WORLD_LINEAR else vd + np.cross(w, base["v"])
    fixed = (robot.base @ robot.joints[0].before).matrix[:3, :3]  # between the world and the rotated frame
    return BaseMotion(w, vd - inwards(np.broadcast_to(fixed.T @ gravity_of(robot), w.shape)), wd)


def phases(contacts: Mapping[str, np.ndarray], samples: int) -> list[slice]:
    """Return the stretches of samples in which the same frames touch the ground."""
    if not contacts:
        return [slice(0, samples)]
    flags = np.stack(list(contacts.values()), axis=1)
    cuts = np.flatnonzero((flags[1:] != flags[:-1]).any(axis=1)) + 1
    edges = [0, *cuts.tolist(), samples]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def rate_within(time: np.ndarray, contacts: Mapping[str, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return how signals (N, k) are differentiated: by central differences within each phase of contact."""
    cuts = phases(contacts, len(time))
    seconds = float(np.diff(time).mean()) if len(time) > 1 else 1.0

    def rate(x: np.ndarray) -> np.ndarray:
        parts = [np.gradient(x[s], seconds, axis=0) if s.stop - s.start > 1 else np.zeros_like(x[s]) for s in cuts]
        return np.concatenate(parts)

    return rate


# Writing --------------------------------------------------------------------------------------------------------------


def written_columns(log: Log, flat: bool) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Return the columns of a log's base, wrenches, contacts and runs, and the mapping that reads them back.

    `flat` has one column per number, else one array per signal.
    """
    columns: dict[str, np.ndarray] = {}
    mapping: dict[str, Any] = {}

    def put(group: str, key: str, stem: str, value: np.ndarray, parts: Sequence[str], between: str) -> None:
        names = [f"{stem}{between}{part}" for part in parts] if flat else [stem]
        columns.update({name: value[:, k] for k, name in enumerate(names)} if flat else {stem: value})
        mapping.setdefault(group, {})[key] = names

    if log.base is not None:
        for name, value in log.base.signals.items():
            put("base", name, f"base_{name}", value, _AXES, "")
    labels = _labels(dict.fromkeys((*log.wrench, *log.contact)), flat)
    for frame, value in log.wrench.items():
        put("wrench", frame, f"wrench_{labels[frame]}", value, _WRENCH[-value.shape[1] :], "_")
    for frame, flags in log.contact.items():
        name = f"contact_{labels[frame]}"
        columns[name], mapping.setdefault("contact", {})[frame] = flags.astype(float), [name]
    if log.segment is not None:
        columns["segment"], mapping["segment"] = log.segment, "segment"
    return columns, mapping


def _labels(frames: Mapping[str, None], flat: bool) -> dict[str, str]:
    """Return what frames are called in the names of columns: their own name, where every program reads it, or a number."""
    labels: dict[str, str] = {}
    for k, frame in enumerate(frames):
        plain = flat and re.fullmatch(r"[A-Za-z0-9.-][\w.-]*", frame) and len(frame) <= 100
        label = frame if plain else str(k + 1)
        while label in labels.values():
            label += "_"
        labels[frame] = label
    return labels
