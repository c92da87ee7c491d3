"""Column mappings: which column of a file is which signal, in which unit, and on which side of the gears."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import is_number, positive
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.input_files import parse_toml, printable, read_text
from taupi.model.robot import Robot
from taupi.signals.known_torque import check_known_torque
from taupi.signals.mapping.units import DIMENSION, factor

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Channel:
    """The columns of one signal, and how their numbers become SI: value = matrix (sign gain unit number) + offset.

    Attributes:
        columns: A list of names, or a template: `q{i}` counts, `pos_{joint}` takes the labels of the joints.
        unit: The unit of the numbers, one or one per column; SI by default.
        first: The number that `{i}` begins with; by default 0 or 1, whichever occurs in the file.
        gain: A factor, one or one per column; 1 by default.
        sign: 1 or -1, one or one per column; 1 by default.
        offset: Added last, in SI units, one or one per joint; 0 by default.
        matrix: (n, k), combines k columns into n values; by default each column is one value.
        delay: Seconds by which the numbers are late, one or one per joint; 0 by default.
    """

    columns: str | tuple[str, ...]
    unit: str | tuple[str, ...] = ""
    first: int | None = None
    gain: Numbers = ()
    sign: Numbers = ()
    offset: Numbers = ()
    matrix: tuple[Numbers, ...] = ()
    delay: Numbers = ()


@dataclass(frozen=True, slots=True)
class Motor:
    """The motor side: q = C diag(1/ratio) theta + offset, and by virtual work tau = C^-T diag(ratio) tau_m.

    The motor torque is tau_m = torque_per_ampere * current, or, for a motor driven by a voltage, torque_per_volt * (voltage -
    volts_per_speed * thetad), where the second term is the back-EMF.

    Attributes:
        ratio: Gear ratio d(motor)/d(joint), one or one per joint; 1 by default.
        coupling: (n, n), C in joint = C motor, after the gears; by default each motor drives its own joint.
        offset: Joint position where the motors are at 0, rad or m, one or one per joint; 0 by default.
        torque_per_ampere: N m/A at the motor, one or one per joint.
        torque_per_volt: N m/V at the motor, one or one per joint.
        volts_per_speed: Back-EMF of the motor, V s/rad or V s/m, one or one per joint; none by default.
    """

    ratio: Numbers = ()
    coupling: tuple[Numbers, ...] = ()
    offset: Numbers = ()
    torque_per_ampere: Numbers = ()
    torque_per_volt: Numbers = ()
    volts_per_speed: Numbers = ()

    def matrices(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (A, T) in q = A theta + offset and tau = T tau_m = A^-T tau_m, both (n, n), for `n` joints."""
        ratio = one_per_joint(self.ratio or (1.0,), n, "motor.ratio")
        if not np.all(ratio):
            raise TaupiError("motor.ratio holds 0, expected d(motor angle)/d(joint angle), which is not 0.")
        coupling = np.array(self.coupling, dtype=float) if self.coupling else np.eye(n)
        if coupling.shape != (n, n):
            raise TaupiError(f"motor.coupling has shape {coupling.shape}, expected ({n}, {n}): joint = C motor.")
        if np.linalg.matrix_rank(coupling) < n:
            raise TaupiError(
                "motor.coupling has no inverse, expected C in joint = C motor, with as many motors as joints."
            )
        return coupling / ratio, np.linalg.inv(coupling).T * ratio


@dataclass(frozen=True, slots=True)
class FloatingColumns:
    """The columns of a base that moves freely, of wrenches and of contacts.

    Attributes:
        channels: By "base.w", "base.a", "base.wd", "base.quaternion", "base.v", "base.vd", "wrench.<frame>", "contact.<frame>".
        imu: The frame at which base.w and base.a were measured, in its axes; the root link's own by default.
        convention: How quaternion and velocities are written: "taupi", "pinocchio", "mujoco" or "idyntree".
        thresholds: By frame, the value of its column above which it touches the ground; without one, the column holds 0 and 1.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    imu: str = ""
    convention: str = "taupi"
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Columns:
    """A column mapping. Signals are guessed from the headers if it names none.

    Attributes:
        channels: The channel of each signal, by name.
        joints: The names of the joints, in the order of the columns.
        labels: What stands for `{joint}` in templates; by default the names of the joints.
        rate_hz: Samples per second, for a file without a time column.
        topic: The topic of a bag.
        motor: How the motor side relates to the joints; by default there is none.
        known_torque: Torques that act on the joints in addition to the motors', as formulas of q: "elbow = 12*sin(q2)".
        floating: The columns of a base that moves freely, of wrenches and of contacts; by default none.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    joints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rate_hz: float | None = None
    topic: str | None = None
    motor: Motor | None = None
    known_torque: tuple[str, ...] = ()
    floating: FloatingColumns = FloatingColumns()

    @classmethod
    def of(cls, value: ColumnsLike) -> Columns:
        """Return the mapping in `value`, which is a mapping, a dict or the path of a TOML file; an empty one for None.

        >>> Columns.of({"time": "t", "q": {"columns": "q{i}", "unit": "deg"}}).channels["q"].unit
        'deg'
        """
        if value is None:
            return cls()
        if isinstance(value, Columns):
            return value
        if isinstance(value, str | os.PathLike):
            name = printable(Path(value).name)
            return cls._from_mapping(parse_toml(read_text(value, "a column mapping (.toml)"), name), name)
        if not isinstance(value, Mapping):
            raise TaupiError(
                Argument("columns"), f" is {shown(value)}, expected a mapping or the path of a .toml file."
            )
        return cls._from_mapping(value, "columns")

    @classmethod
    def _from_mapping(cls, data: Mapping[str, Any], where: str) -> Columns:
        keys = [*DIMENSION, "joints", "labels", "rate_hz", "topic", "motor", "known_torque", *_GROUPS]
        for key in data:
            if key not in keys:
                raise unknown("key", key, keys, where)
        channels = {k: _channel(k, data[k], where) for k in DIMENSION if k in data}
        rate, topic = data.get("rate_hz"), data.get("topic")
        if rate is not None:
            rate = positive(f"{where}: rate_hz", rate)
        if topic is not None and not isinstance(topic, str):
            raise TaupiError(f"{where}: topic is {shown(topic)}, expected a text.")
        joints, labels = _texts(data, "joints", where), _texts(data, "labels", where)
        if labels and joints and len(labels) != len(joints):
            raise TaupiError(f"{where}: {len(labels)} labels for {len(joints)} joints, expected one each.")
        motor = _motor(data["motor"], where) if "motor" in data else None
        known = check_known_torque(f"{where}: known_torque", data.get("known_torque", ()))
        return cls(channels, joints, labels, rate, topic, motor, known, _floating(data, where))


ColumnsLike = Columns | Mapping[str, Any] | str | os.PathLike[str] | None


def _channel(signal: str, value: Any, where: str) -> Channel:
    at = f"{where}: {signal}"
    if isinstance(value, Channel):
        return value
    if not isinstance(value, Mapping):
        return Channel(_columns(value, at))
    known = ("columns", "unit", "first", "gain", "sign", "offset", "matrix", "delay")
    for key in value:
        if key not in known:
            raise unknown("key", key, known, at)
    if "columns" not in value:
        raise TaupiError(f"{at} names no columns. Write {signal} = {{columns = ...}}.")
    unit = value.get("unit", "")
    if not isinstance(unit, str):
        unit = _names(unit, f"{at}.unit")
    for u in (unit,) if isinstance(unit, str) else unit:
        if u:
            factor(signal, u)
    first = value.get("first")
    if first is not None and (isinstance(first, bool) or not isinstance(first, int)):
        raise TaupiError(f"{at}.first is {shown(first)}, expected the whole number that {{i}} begins with.")
    rest = {k: _numbers(value[k], f"{at}.{k}") for k in ("gain", "sign", "offset", "delay") if k in value}
    if any(abs(s) != 1 for s in rest.get("sign", ())):
        raise TaupiError(f"{at}.sign is {shown(value['sign'])}, expected 1 or -1 for each.")
    matrix = _matrix(value["matrix"], f"{at}.matrix") if "matrix" in value else ()
    return Channel(_columns(value["columns"], at), unit, first, **rest, matrix=matrix)


_GROUPS = ("base", "wrench", "contact")
_BASE_SIGNALS = ("w", "a", "wd", "quaternion", "v", "vd")
CONVENTIONS = ("taupi", "pinocchio", "mujoco", "idyntree")


def _floating(data: Mapping[str, Any], where: str) -> FloatingColumns:
    """Return the columns of base, wrench and contact, each a mapping: of signals, or of frames."""
    groups = {name: data.get(name, {}) for name in _GROUPS}
    for name, group in groups.items():
        if not isinstance(group, Mapping):
            raise TaupiError(f"{where}: {name} is {shown(group)}, expected a mapping.")
    base = dict(groups["base"])
    imu, convention = base.pop("imu", ""), base.pop("convention", "taupi")
    if not isinstance(imu, str):
        raise TaupiError(f"{where}: base.imu is {shown(imu)}, expected the name of a frame.")
    if convention not in CONVENTIONS:
        raise unknown("base.convention", convention, CONVENTIONS, where)
    channels, thresholds = {}, {}
    for key, value in base.items():
        if key not in _BASE_SIGNALS:
            raise unknown("key", key, (*_BASE_SIGNALS, "imu", "convention"), f"{where}: base")
        channels[f"base.{key}"] = _channel(f"base.{key}", value, where)
    for name in ("wrench", "contact"):
        for frame, value in groups[name].items():
            own = dict(value) if isinstance(value, Mapping) else value
            if name == "contact" and isinstance(own, dict) and "threshold" in own:
                (thresholds[frame],) = _numbers(own.pop("threshold"), f"{where}: contact.{frame}.threshold")[:1]
            channels[f"{name}.{frame}"] = _channel(f"{name}.{frame}", own, where)
    return FloatingColumns(channels, imu, convention, thresholds)


def _motor(value: Any, where: str) -> Motor:
    if isinstance(value, Motor):
        return value
    if not isinstance(value, Mapping):
        raise TaupiError(f"{where}: motor is {shown(value)}, expected a mapping.")
    known = ("ratio", "coupling", "offset", "torque_per_ampere", "torque_per_volt", "volts_per_speed")
    for key in value:
        if key not in known:
            raise unknown("key", key, known, f"{where}: motor")
    numbers = {k: _numbers(value[k], f"{where}: motor.{k}") for k in known if k in value and k != "coupling"}
    coupling = _matrix(value["coupling"], f"{where}: motor.coupling") if "coupling" in value else ()
    return Motor(**numbers, coupling=coupling)


def _names(value: Any, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Sequence) and value and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise TaupiError(f"{where} is {shown(value)}, expected the name of a column, a template or a list of names.")


def _columns(value: Any, where: str) -> str | tuple[str, ...]:
    names = _names(value, where)
    twice = [n for n, count in Counter(names).items() if count > 1] if isinstance(names, tuple) else []
    if twice:
        raise TaupiError(f"{where} names the column {shown(twice[0])} twice, expected another for each joint.")
    return names


def _texts(data: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = data.get(key, ())
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise TaupiError(f"{where}: {key} is {shown(value)}, expected a list of texts.")
    if len(set(value)) < len(value):
        raise TaupiError(f"{where}: {key} holds a name twice, expected each joint once.")
    return tuple(value)


def _numbers(value: Any, where: str) -> Numbers:
    items = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
    wrong = [v for v in items if not is_number(v)]
    if wrong or not len(items):
        raise TaupiError(f"{where} is {shown(value)}, expected a finite number, or one for each joint.")
    return tuple(float(v) for v in items)


def _matrix(value: Any, where: str) -> tuple[Numbers, ...]:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or not len(value):
        raise TaupiError(f"{where} is {shown(value)}, expected a list of rows.")
    rows = tuple(_numbers(row, where) for row in value)
    if len({len(row) for row in rows}) > 1:
        raise TaupiError(f"{where} has rows of different lengths, expected a matrix.")
    return rows


def one_per_joint(values: Sequence[float], n: int, name: str) -> np.ndarray:
    """Return one number for all joints, or one for each of `n`, as an array (n,)."""
    if len(values) not in (1, n):
        raise TaupiError(f"{name} has {len(values)} values, expected 1 or {n}: one per joint.")
    return np.broadcast_to(np.array(values, dtype=float), (n,))


def recorded_joints(robot: Robot) -> tuple[str, ...]:
    """Return the names of the joints that a log has signals for: all but free and ball joints, and those that follow."""
    return tuple(robot.joint_names[k] for k in robot.actuated)


def recorded_units(robot: Robot) -> tuple[str, ...]:
    """Return "rad" or "m" for each joint that a log has signals for."""
    return tuple("m" if robot.slides[k] else "rad" for k in robot.actuated)
