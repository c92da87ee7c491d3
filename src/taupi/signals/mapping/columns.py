"""Column mappings: which column of a file is which signal, in which unit, and on which side of the gears."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import is_number, positive, truth
from taupi.errors import TaupiError, unknown
from taupi.input_files import parse_toml, printable, read_text
from taupi.model.robot import Robot
from taupi.signals.drive import Drive
from taupi.signals.known_torque import check_known_torque
from taupi.signals.mapping.units import DIMENSION, DUTIES, factor
from taupi.tables import span_of

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Channel:
    """The columns of one signal, and how their numbers become SI: value = matrix (sign gain unit number) + offset.

    Attributes:
        columns: A list of names, or a template: `q{i}` counts, `pos_{joint}` takes the labels of the joints. Of an array,
            `qpos[2]` is one number, counted from 0, and `qpos[0:6]` are six.
        unit: The unit of the numbers, one or one per column; SI by default.
        first: The number that `{i}` begins with; by default 0 or 1, whichever occurs in the file.
        gain: A factor, one or one per column; 1 by default.
        sign: 1 or -1, one or one per column; 1 by default.
        offset: Added last, in SI units, one or one per joint; 0 by default.
        matrix: (n, k), combines k columns into n values; by default each column is one value.
        delay: Seconds by which the numbers are late, one or one per joint; 0 by default.
        wraps: Whether angles start again after a turn, as encoders of one turn count them: they are read as going on.
    """

    columns: str | tuple[str, ...]
    unit: str | tuple[str, ...] = ""
    first: int | None = None
    gain: Numbers = ()
    sign: Numbers = ()
    offset: Numbers = ()
    matrix: tuple[Numbers, ...] = ()
    delay: Numbers = ()
    wraps: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Its names of columns, or its template alone."""
        return (self.columns,) if isinstance(self.columns, str) else self.columns


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
            raise TaupiError(
                "motor.coupling has shape {got}, expected ({expected}, {expected}): joint = C motor.",
                got=coupling.shape,
                expected=n,
            )
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
        drives: How the joints were driven, by the name of the file: the first pattern such as "run_0*.csv" that fits.
        segment: The column that numbers the runs in a file, such as episodes; by default one that is named so, "" for none.
        controllers: How other controllers name their columns, tables as in `controllers.toml`.
        calibration: The calibration file of a LeRobot arm, for a data set whose positions are shares of the calibrated ranges;
            or "degrees", where they are degrees and nothing in the data set tells.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    joints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rate_hz: float | None = None
    topic: str | None = None
    motor: Motor | None = None
    known_torque: tuple[str, ...] = ()
    floating: FloatingColumns = FloatingColumns()
    drives: Mapping[str, Drive] = field(default_factory=dict)
    segment: str | None = None
    controllers: Mapping[str, Any] = field(default_factory=dict)
    calibration: str | None = None

    def drive(self, file: str) -> Drive | None:
        """Return how the joints were driven in a file of this name; None if that is not stated."""
        return next((drive for pattern, drive in self.drives.items() if fnmatchcase(file, pattern)), None)

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
            return cls.of_table(parse_toml(read_text(value, "a column mapping (.toml)"), name), name)
        if not isinstance(value, Mapping):
            raise TaupiError("{columns} is {got!r}, expected a mapping or the path of a .toml file.", got=value)
        return cls.of_table(value, "columns")

    @classmethod
    def of_table(cls, data: Mapping[str, object], where: str) -> Columns:
        """Return the mapping in a table of plain data; `where` names it in messages."""
        for key in data:
            if key not in _KEYS:
                raise unknown("key", key, _KEYS, where)
        channels = {k: _channel(k, data[k], where) for k in DIMENSION if k in data}
        rate, topic = data.get("rate_hz"), data.get("topic")
        if rate is not None:
            rate = positive(f"{where}: rate_hz", rate)
        if topic is not None and not isinstance(topic, str):
            raise TaupiError("{where}: topic is {got!r}, expected a text.", where=where, got=topic)
        joints, labels = _texts(data, "joints", where), _texts(data, "labels", where)
        if labels and joints and len(labels) != len(joints):
            raise TaupiError(
                "{where}: {count} labels for {joints_count} joints, expected one each.",
                where=where,
                count=len(labels),
                joints_count=len(joints),
            )
        motor = _motor(data["motor"], where) if "motor" in data else None
        known = check_known_torque(f"{where}: known_torque", data.get("known_torque", ()))
        drives = _drives(data["drive"], f"{where}: drive") if "drive" in data else {}
        segment, controllers = data.get("segment"), data.get("controllers", {})
        if not isinstance(segment, str | None):
            raise TaupiError("{where}: segment is {got!r}, expected the name of a column.", where=where, got=segment)
        if not isinstance(controllers, Mapping):
            raise TaupiError("{where}: controllers is {got!r}, expected tables.", where=where, got=controllers)
        calibration = data.get("calibration")
        if not isinstance(calibration, str | None):
            raise TaupiError(
                "{where}: calibration is {got!r}, expected the path of a file.", where=where, got=calibration
            )
        floating = _floating(data, where)
        return cls(
            channels, joints, labels, rate, topic, motor, known, floating, drives, segment, controllers, calibration
        )


ColumnsLike = Columns | Mapping[str, Any] | str | os.PathLike[str] | None


def _channel(signal: str, value: object, where: str) -> Channel:
    at = f"{where}: {signal}"
    if isinstance(value, Channel):
        return value
    if not isinstance(value, Mapping):
        return Channel(_columns(value, at))
    known = [f.name for f in fields(Channel)]
    for key in value:
        if key not in known:
            raise unknown("key", key, known, at)
    if "columns" not in value:
        raise TaupiError("{at} names no columns. Write {signal} = {columns = ...}.", at=at, signal=signal)
    unit = value.get("unit", "")
    if not isinstance(unit, str):
        unit = _names(unit, f"{at}.unit")
    for u in (unit,) if isinstance(unit, str) else unit:
        if u:
            factor(signal, u)
        if signal == "voltage" and u in DUTIES and "gain" not in value:
            raise TaupiError(
                "{at}: {unit} is a duty, a share of the supply voltage.",
                remedy="State the supply, V: gain = 12.",
                at=at,
                unit=u,
            )
    first = value.get("first")
    if first is not None and (isinstance(first, bool) or not isinstance(first, int)):
        raise TaupiError("{at}.first is {got!r}, expected the whole number that {{i}} begins with.", at=at, got=first)
    rest = {k: _numbers(value[k], f"{at}.{k}") for k in ("gain", "sign", "offset", "delay") if k in value}
    if any(abs(s) != 1 for s in rest.get("sign", ())):
        raise TaupiError("{at}.sign is {got!r}, expected 1 or -1 for each.", at=at, got=value["sign"])
    matrix = _matrix(value["matrix"], f"{at}.matrix") if "matrix" in value else ()
    wraps = truth(f"{at}.wraps", value.get("wraps", False))
    if wraps and DIMENSION.get(signal) != "position":
        raise TaupiError("{at} has wraps, expected it of angles only.", at=at)
    return Channel(_columns(value["columns"], at), unit, first, **rest, matrix=matrix, wraps=wraps)


_GROUPS = ("base", "wrench", "contact")
_KEYS = (
    *(*DIMENSION, "joints", "labels", "rate_hz", "topic", "motor", "known_torque", "drive", "segment", "controllers"),
    *("calibration", *_GROUPS),
)
_BASE_SIGNALS = ("w", "a", "wd", "quaternion", "v", "vd")
CONVENTIONS = ("taupi", "pinocchio", "mujoco", "idyntree")


def _floating(data: Mapping[str, Any], where: str) -> FloatingColumns:
    """Return the columns of base, wrench and contact, each a mapping: of signals, or of frames."""
    groups = {name: data.get(name, {}) for name in _GROUPS}
    for name, group in groups.items():
        if not isinstance(group, Mapping):
            raise TaupiError("{where}: {name} is {got!r}, expected a mapping.", where=where, name=name, got=group)
    base = dict(groups["base"])
    imu, convention = base.pop("imu", ""), base.pop("convention", "taupi")
    if not isinstance(imu, str):
        raise TaupiError("{where}: base.imu is {got!r}, expected the name of a frame.", where=where, got=imu)
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


def _drives(value: object, where: str) -> dict[str, Drive]:
    """Return the drive of each pattern of file names, and of all others; `files` states what differs from file to file."""
    if not isinstance(value, Mapping) or "files" not in value:
        return {"*": Drive.of(value, where)}
    common = {key: item for key, item in value.items() if key != "files"}
    own = value["files"]
    if not isinstance(own, Mapping) or not all(isinstance(item, Mapping) for item in own.values()):
        raise TaupiError(
            "{where}.files is {got!r}, expected a table for each file, such as {expected}.",
            where=where,
            got=own,
            expected="{'run_1.csv' = {kp = 100}}",
        )
    drives = {pattern: Drive.of({**common, **item}, f"{where}.files.{pattern}") for pattern, item in own.items()}
    return {**drives, "*": Drive.of(common, where)} if "kp" in common else drives


def _motor(value: object, where: str) -> Motor:
    if isinstance(value, Motor):
        return value
    if not isinstance(value, Mapping):
        raise TaupiError("{where}: motor is {got!r}, expected a mapping.", where=where, got=value)
    known = [f.name for f in fields(Motor)]
    for key in value:
        if key not in known:
            raise unknown("key", key, known, f"{where}: motor")
    numbers = {k: _numbers(value[k], f"{where}: motor.{k}") for k in known if k in value and k != "coupling"}
    coupling = _matrix(value["coupling"], f"{where}: motor.coupling") if "coupling" in value else ()
    return Motor(**numbers, coupling=coupling)


def _names(value: object, where: str) -> str | tuple[str, ...]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Sequence) and value and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise TaupiError(
        "{where} is {got!r}, expected the name of a column, a template or a list of names.", where=where, got=value
    )


def _columns(value: object, where: str) -> str | tuple[str, ...]:
    names = _names(value, where)
    twice = [n for n, count in Counter(names).items() if count > 1] if isinstance(names, tuple) else []
    if twice:
        raise TaupiError(
            "{where} names the column {twice!r} twice, expected another for each joint.", where=where, twice=twice[0]
        )
    return names


def _texts(data: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = data.get(key, ())
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise TaupiError("{where}: {key} is {got!r}, expected a list of texts.", where=where, key=key, got=value)
    if len(set(value)) < len(value):
        raise TaupiError("{where}: {key} holds a name twice, expected each joint once.", where=where, key=key)
    return tuple(value)


def _numbers(value: Any, where: str) -> Numbers:
    items = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
    wrong = [v for v in items if not is_number(v)]
    if wrong or not len(items):
        raise TaupiError("{where} is {got!r}, expected a finite number, or one for each joint.", where=where, got=value)
    return tuple(float(v) for v in items)


def _matrix(value: object, where: str) -> tuple[Numbers, ...]:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or not len(value):
        raise TaupiError("{where} is {got!r}, expected a list of rows.", where=where, got=value)
    rows = tuple(_numbers(row, where) for row in value)
    if len({len(row) for row in rows}) > 1:
        raise TaupiError("{where} has rows of different lengths, expected a matrix.", where=where)
    return rows


def one_per_joint(values: Sequence[float], n: int, name: str) -> np.ndarray:
    """Return one number for all joints, or one for each of `n`, as an array (n,)."""
    if len(values) not in (1, n):
        raise TaupiError(
            "{name} has {got} values, expected 1 or {expected}: one per joint.", name=name, got=len(values), expected=n
        )
    return np.broadcast_to(np.array(values, dtype=float), (n,))


def recorded_joints(robot: Robot) -> tuple[str, ...]:
    """Return the names of the joints that a log has signals for: all but free and ball joints, and those that follow."""
    return tuple(robot.joint_names[k] for k in robot.actuated)


def recorded_units(robot: Robot) -> tuple[str, ...]:
    """Return "rad" or "m" for each joint that a log has signals for."""
    return tuple("m" if robot.slides[k] else "rad" for k in robot.actuated)


# After a gap in numbered columns, further ones are searched for up to this number.
_MOST_JOINTS = 100

# Nothing else is read from the braces of a template: it may come from a file.
_PART = re.compile(r"(.+)\[(\d{1,6})(?::(\d{1,6}))?\]")
_PLACE = re.compile(r"\{joint\}|\{i(?::0([1-9]))?\}")

Pick = tuple[str, int]  # the name of a column, and the index into it if it is an array of several


def picked_columns(
    signal: str, channel: Channel, widths: Mapping[str, int], labels: Sequence[str], where: str
) -> tuple[Pick, ...]:
    """Return the columns of a signal, among the columns of a file with these `widths`; `labels` stand for {joint}."""
    spec = channel.columns
    if isinstance(spec, str) and is_template(spec) and spec not in widths:
        return tuple((name, 0) for name in _expanded(signal, channel, widths, labels, where))
    result: list[Pick] = []
    for name in channel.names:
        if name not in widths and re.search(r"\{(i|joint)[^{}]*\}", name):
            raise TaupiError(
                "{signal} is {got!r}, expected a template with {{i}} or {{joint}} in it.", signal=signal, got=name
            )
        result += _numbers_of(name, widths, where)
    if not result:
        raise TaupiError("{where}: {signal} has no columns.", where=where, signal=signal)
    return tuple(result)


def _numbers_of(name: str, widths: Mapping[str, int], where: str) -> list[Pick]:
    """Return the numbers of a column, or the entries of an array that are asked for: qpos[2], or qpos[0:6] without the sixth.

    >>> _numbers_of("qpos[1:3]", {"qpos": 4}, "run.h5"), _numbers_of("q[1]", {"q[1]": 1}, "run.csv")
    ([('qpos', 1), ('qpos', 2)], [('q[1]', 0)])
    """
    part = None if name in widths else _PART.fullmatch(name)
    if part is None or widths.get(part[1], 1) == 1:
        if name not in widths:
            raise unknown("column", name, widths, where)
        return [(name, k) for k in range(widths[name])]
    first = int(part[2])
    stop = int(part[3]) if part[3] else first + 1
    if not first < stop <= widths[part[1]]:
        raise TaupiError(
            "{where}: {name} is asked for, but {array} has {width} numbers, counted from 0.",
            where=where,
            name=name,
            array=part[1],
            width=widths[part[1]],
        )
    return [(part[1], k) for k in range(first, stop)]


def is_template(text: str) -> bool:
    """Return whether a text has {i}, {i:02} or {joint} in it; nothing else in braces has a meaning."""
    return _PLACE.search(text) is not None


def filled(template: str, i: int, joint: str = "") -> str:
    """Return a template with a number for each {i}, or {i:02}, and a label for each {joint}; all other text stays as it is.

    >>> filled("arm.{joint}.{i}", 2, "elbow"), filled("q{i:02}{i.real}", 1)
    ('arm.elbow.2', 'q01{i.real}')
    """
    return _PLACE.sub(lambda place: joint if place[0] == "{joint}" else f"{i:0{place[1] or 1}}", template)


def _expanded(signal: str, channel: Channel, widths: Mapping[str, int], labels: Sequence[str], where: str) -> list[str]:
    template = str(channel.columns)

    def column(i: int) -> str:
        return filled(template, i)

    if "{joint}" in template:  # {i} then counts from 0
        if not labels:
            raise TaupiError(
                "{signal} is {got!r} but no joints are named. Add joints = [...] to the mapping.",
                signal=signal,
                got=template,
            )
        names = [filled(template, k, label) for k, label in enumerate(labels)]
    else:
        first = channel.first if channel.first is not None else (0 if column(0) in widths else 1)
        names, i = [column(first)], first
        while column(i + 1) in widths:
            i += 1
            names.append(column(i))
        later = next((k for k in range(i + 2, i + 2 + _MOST_JOINTS) if column(k) in widths), None)
        if later is not None and names[0] in widths:
            raise missing_column(column(i + 1), signal, names, where, f"there is {column(later)}")
    for name in names:
        if name not in widths:
            raise unknown("column", name, widths, where)
    return names


def missing_column(
    column: str, signal: str, names: Sequence[str], where: str, why: str, remedy: str = ""
) -> TaupiError:
    """Return the error for a column that a template should have found in addition to the `names` that it has found."""
    return TaupiError(
        "{where}: {column} is missing: {signal} has {some}, and {why}.",
        remedy=remedy,
        where=where,
        column=column,
        signal=signal,
        some=span_of(names),
        why=why,
    )


def next_of_template(
    columns: Columns, picks: Mapping[str, tuple[Pick, ...]], signals: Sequence[str]
) -> tuple[str, str, list[str]] | None:
    """Return the column that a counting template of one of `signals` would have found next, the signal, and those found."""
    for signal in signals:
        template = columns.channels[signal].columns
        names = [name for name, _ in picks[signal]]
        if signal == "time" or not isinstance(template, str) or template in names:
            continue
        if "{joint}" in template or not is_template(template):
            continue
        first = next((k for k in range(_MOST_JOINTS) if filled(template, k) == names[0]), None)
        if first is not None:
            return filled(template, first + len(names)), signal, names
    return None


def gap_in(names: str | Sequence[str]) -> str | None:
    """Return the first column that is missing among columns numbered in order; None if they are not, or none is missing.

    >>> gap_in(("q_0", "q_1", "q_3"))
    'q_2'
    """
    parts = [re.fullmatch(r"(.*?)([0-9]{1,9})(\D*)", name) for name in ([] if isinstance(names, str) else names)]
    stems = {(part[1], part[3]) for part in parts if part is not None}
    if None in parts or len(stems) != 1:
        return None
    numbers = [int(part[2]) for part in parts if part is not None]
    gap = next((a + 1 for a, b in itertools.pairwise(numbers) if b > a + 1), None)
    ((before, behind),) = stems
    return None if gap is None else f"{before}{gap}{behind}"


_TABLE = re.compile(r"^[ \t]*\[[ \t]*motor[ \t]*\][^\n]*\n?", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*\[", re.MULTILINE)


def with_gains(text: str, values: Mapping[str, Sequence[float]]) -> str:
    """Return the text of a mapping whose [motor] table states `values`, one list per key; all else stays as it is.

    >>> print(with_gains('q = "q{i}"', {"torque_per_ampere": [1.5, 2.0]}))
    q = "q{i}"
    <BLANKLINE>
    [motor]
    torque_per_ampere = [1.5, 2.0]
    <BLANKLINE>
    >>> print(with_gains('[motor]  # drives\\nratio = 100\\ntorque_per_ampere = 0.1\\n', {"torque_per_ampere": [1.5]}))
    [motor]  # drives
    ratio = 100
    torque_per_ampere = [1.5]
    <BLANKLINE>
    """
    head = _TABLE.search(text)
    if head is None:
        lines = "".join(f"{name} = {list(v)}\n" for name, v in values.items())
        return (text.rstrip("\n") + "\n\n" if text.strip() else "") + "[motor]\n" + lines
    end = _NEXT.search(text, head.end())
    stop = end.start() if end else len(text)
    body = text[head.end() : stop]
    for name, numbers in values.items():
        line = f"{name} = {list(numbers)}"
        old = re.compile(rf"^[ \t]*{name}[ \t]*=[ \t]*(\[[^\]]*\]|[^\n#]*)", re.MULTILINE)
        body = old.sub(lambda _, line=line: line, body) if old.search(body) else f"{line}\n{body}"  # type: ignore[misc]
    return text[: head.end()] + body + text[stop:]
