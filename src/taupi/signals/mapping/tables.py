"""Tables of raw columns, and how a column mapping turns one into a log."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import Argument, Message, TaupiError, unknown
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.signals.floating_logs import floating_fields, recognised, written_columns
from taupi.signals.log import SHARED, SIGNALS, Filtering, Log, LogSource
from taupi.signals.mapping.columns import (
    Channel,
    Columns,
    Motor,
    Pick,
    gap_in,
    missing_column,
    next_of_template,
    one_per_joint,
    picked_columns,
    recorded_joints,
    recorded_units,
)
from taupi.signals.mapping.units import DIMENSION, factor, joint_unit, signed
from taupi.signals.mapping.words import names_joints, numbers_segments
from taupi.signals.stretches import median_step
from taupi.tables import listed

if TYPE_CHECKING:
    from taupi.signals.formats.sources import Source

# Parts of its mapping, apart from the signals, that a file written by us states.
_STORED = ("joints", "rate_hz", "known_torque", "base", "wrench", "contact", "drive", "segment")


@dataclass(frozen=True, slots=True)
class Table:
    """Raw columns of a file.

    Attributes:
        columns: By name, (N,) or (N, k).
        file: The file; None for a pandas DataFrame.
        labels: The joints of columns that are arrays; by default they are numbered.
        own: The mapping that a file written by us carries; by default none.
        notes: What was noticed, in words.
        first_row: The row of the file that the first one is; 0 by default.
        units: The units of columns whose format states them.
        text: Columns that hold text, as far as was looked; some formats leave them out of `columns`.
        doubts: What the file leaves open and a mapping has to state, in sentences.
    """

    columns: Mapping[str, np.ndarray]
    file: Source | None
    labels: tuple[str, ...] = ()
    own: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()
    first_row: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """What messages call it: the name of the file."""
        return "frame" if self.file is None else self.file.name

    @property
    def widths(self) -> dict[str, int]:
        """The number of columns under each name."""
        return {k: v.shape[1] if v.ndim == 2 else 1 for k, v in self.columns.items()}

    @property
    def numeric(self) -> dict[str, int]:
        """The number of columns under each name of those that hold no text."""
        return {k: width for k, width in self.widths.items() if k not in self.text}


@dataclass(frozen=True, slots=True)
class Layout:
    """A column mapping resolved for one file: the columns of each signal, the names and order of the joints, and notes."""

    picks: Mapping[str, tuple[Pick, ...]]
    columns: Columns
    names: tuple[str, ...]
    units: tuple[str, ...]
    order: tuple[int, ...]
    notes: tuple[str, ...]
    where: str
    robot: Robot | None = None
    filtering: Filtering | None = None  # what a file written by us states

    @property
    def file_columns(self) -> list[str]:
        """The columns of the file that are used, each once."""
        return list(dict.fromkeys(name for picks in self.picks.values() for name, _ in picks))

    @property
    def elastic(self) -> bool:
        """Whether the robot has elastic joints, so that motors and links have different positions."""
        return self.robot is not None and bool(self.robot.elastic_joints)


def resolve_layout(table: Table, columns: Columns, robot: Robot | None = None) -> Layout:
    """Return the layout of a table: columns looked up or guessed, joints named and put in the robot's order."""
    notes, stated = list(table.notes), bool(columns.joints)
    own = table.own if not columns.channels else None
    if own is not None:
        stored = Columns.of({k: v for k, v in own.items() if k in (*DIMENSION, *_STORED)})
        columns = dataclasses.replace(
            columns,
            channels=stored.channels,
            joints=columns.joints or stored.joints,
            known_torque=columns.known_torque or stored.known_torque,
            floating=stored.floating,
            drives=columns.drives or stored.drives,
            segment=stored.segment if columns.segment is None else columns.segment,
        )
        remarks = own.get("notes", ())
        notes += [str(n) for n in remarks] if isinstance(remarks, list | tuple) else []
    labels = columns.labels or columns.joints or table.labels
    widths = table.widths
    if not set(columns.channels) - {"time"}:
        if not columns.floating.channels:
            columns = dataclasses.replace(columns, floating=recognised(table.numeric))
        around = {k: picked_columns(k, c, widths, labels, table.where) for k, c in columns.floating.channels.items()}
        taken = {name for picks in around.values() for name, _ in picks}
        from taupi.signals.mapping.controllers import known_log
        from taupi.signals.mapping.guess import guess

        free = {k: v for k, v in table.numeric.items() if k not in taken}
        known = known_log(free, columns.controllers)
        guessed = known or guess(free, table.where, table.units)
        if known is not None and columns.rate_hz is None and "time" not in columns.channels:
            columns = dataclasses.replace(columns, rate_hz=known.rate_hz)
        mapped = columns.channels
        channels = {k: channel for k, channel in guessed.channels.items() if k not in mapped}
        if columns.rate_hz:
            channels.pop("time", None)
        columns = dataclasses.replace(columns, channels={**channels, **mapped})
        _rows_per_joint_refused(table, channels)
        labels = columns.joints or table.labels or guessed.labels
        notes += guessed.notes
        if table.text:
            notes.append(f"left out, as they hold text: {listed(table.text)}")
    if "time" not in columns.channels and not columns.rate_hz:
        columns, time_notes = _with_time(table, columns)
        notes += time_notes
    picks = {k: picked_columns(k, c, widths, labels, table.where) for k, c in columns.channels.items()}
    n = _joint_count(picks, columns, table)
    joints = n if robot is None else len(robot.actuated)
    if n < joints and robot and (following := next_of_template(columns, picks, list(picks))) is not None:
        raise missing_column(*following, table.where, f"{robot.name} has {joints} joints", _NOT_RECORDED)
    picks |= _segment(columns, widths, table.where)
    names, order, order_notes = _joints(labels, columns, robot, n, table, stated)
    units = _joint_units(columns, robot, own, n, order, names)
    filtering = None if own is None else _filtering(own.get("filtering"), table.where)
    picks |= {k: picked_columns(k, c, widths, labels, table.where) for k, c in columns.floating.channels.items()}
    return Layout(picks, columns, names, units, order, tuple(notes + order_notes), table.where, robot, filtering)


def _rows_per_joint_refused(table: Table, channels: Mapping[str, Channel]) -> None:
    by = rows_per_joint(table, channels)
    if by:
        raise TaupiError(
            "{where} seems to have a row per joint, which its column {by!r} names, expected a row per sample.",
            remedy="Give each joint columns of its own, as a pivot table does, or map the columns of one joint: {columns}.",
            where=table.where,
            by=by,
            columns=Argument("columns", {"q": ...}),
        )


def rows_per_joint(table: Table, channels: Mapping[str, Channel]) -> str:
    """Return the column that names the joint of each row, if the rows of a table are not samples of all joints; or nothing."""
    positions = channels.get("q") or channels.get("theta")
    if positions is None or len(positions.columns) > 1 or table.widths[positions.columns[0]] > 1:
        return ""
    return next((name for name, width in table.widths.items() if width == 1 and names_joints(name)), "")


def _segment(columns: Columns, widths: Mapping[str, int], where: str) -> dict[str, tuple[Pick, ...]]:
    """Return the column that numbers the runs of a file: the one that the mapping names, or whose name says so."""
    name = columns.segment
    if name is None:
        name = next((name for name in widths if numbers_segments(name) and widths[name] == 1), "")
    elif name and name not in widths:
        raise unknown("column", name, widths, where)
    return {"segment": ((name, 0),)} if name else {}


def _filtering(data: object, where: str) -> Filtering | None:
    if data is None:
        return None
    from taupi.schema import conformed

    try:
        return Filtering(**conformed(data, Filtering, "filtering"))
    except (TypeError, ValueError):
        raise TaupiError(
            "{where}: filtering is {got!r}, expected what taupi.write_log wrote.", where=where, got=data
        ) from None


def log_from_table(table: Table, layout: Layout, source: LogSource, before: dict[str, np.ndarray] | None = None) -> Log:
    """Return the log in a table with this layout: units, signs, gears and couplings applied, joints in order.

    Of a block, `before` has the angles at the end of the one before, with their turns; it is brought up to date.
    """
    raw = {k: _columns(table, picks) for k, picks in layout.picks.items()}
    time = _time(raw.pop("time", None), table, layout)
    segment = raw.pop("segment", None)
    channels, floating = layout.columns.channels, layout.columns.floating
    turning = {} if before is None else before
    signals = {k: _in_si(k, v, channels[k], layout.where, turning) for k, v in raw.items() if k in channels}
    beside = {k: _in_si(k, v, floating.channels[k], layout.where) for k, v in raw.items() if k not in channels}
    notes = list(layout.notes)
    _add_joint_side(signals, layout, notes, time)
    if "q" not in signals and "theta" not in signals:
        raise TaupiError(
            "{where}: the headers name {signals:and}, but no positions.",
            remedy="Map their columns: {columns}{begin}",
            where=layout.where,
            signals=list(signals),
            columns=Argument("columns", {"q": ...}),
            begin=_begin(table),
        )
    if "q" not in signals:
        raise TaupiError(
            "{where}: q is missing, only the motor side is known.",
            remedy="Give the gears: {columns}; or, if theta are the joints' own angles, {own}.",
            where=layout.where,
            columns=Argument("columns", {"motor": {"ratio": ...}}),
            own=Argument("columns", {"q": "theta{i}"}),
        )
    order, delays, known = list(layout.order), _delays(layout, signals), layout.columns.known_torque
    stated = [f"known torque beside tau: {'; '.join(known)}"] if known else []
    stated += [f"{name} is late by {', '.join(f'{1e3 * d:.4g}' for d in late)} ms" for name, late in delays.items()]
    notes += [note for note in stated if note not in notes]  # a file written by us has them already
    n = _joint_number(signals)
    signals = {k: np.broadcast_to(v, (len(v), n)) if k in SHARED else v for k, v in signals.items()}
    in_order = order == list(range(n))
    ordered: dict[str, Any] = dict(signals) if in_order else {k: v[:, order] for k, v in signals.items()}
    drive = layout.columns.drive(layout.where)
    return Log(
        time,
        **ordered,
        names=layout.names,
        units=layout.units,
        source=source,
        notes=tuple(notes),
        filtering=layout.filtering,
        delays=delays,
        known_torque=known,
        drive=None if drive is None else drive.of_joints(order, n),
        segment=None if segment is None else segment[:, 0],
        **floating_fields(beside, floating, time, layout.robot, layout.where),
    )


def _with_time(table: Table, columns: Columns) -> tuple[Columns, list[str]]:
    """Return the mapping with the column whose header names a time, if there is exactly one."""
    from taupi.signals.mapping.guess import parse_header, seconds_and_nanoseconds

    headers = [h for h in map(parse_header, table.numeric) if h is not None and h.signal == "time" and h.measured]
    if (clock := seconds_and_nanoseconds(headers)) is not None:
        note = f"time guessed from its headers: {' + '.join(clock.columns)} (s, ns)"
        return dataclasses.replace(columns, channels={**columns.channels, "time": clock}), [note]
    if len(headers) != 1:
        return columns, []
    (header,) = headers
    note = f"time guessed from its header: {header.name} ({header.unit or 'SI'})"
    channels = {**columns.channels, "time": Channel((header.name,), header.unit)}
    return dataclasses.replace(columns, channels=channels), [note]


def _begin(table: Table) -> str:
    """Return the end of a remedy that asks for a mapping: for a file, the command that begins one."""
    if table.file is None:
        return "."
    file = shlex.quote(printable(str(table.file), 4096))
    return f"; `taupi log {file} --suggest columns.toml` writes a first draft."


def _joint_count(picks: Mapping[str, tuple[Pick, ...]], columns: Columns, table: Table) -> int:
    where, sizes = table.where, {}
    for name, chosen in picks.items():
        matrix = columns.channels[name].matrix
        size = len(matrix) if matrix else len(chosen)
        if name != "time" and not (size == 1 and name in SHARED):
            sizes[name] = size
    if not sizes:
        raise TaupiError(
            "{where}: no joint signal is known.",
            remedy="Map its columns: {columns}{begin}",
            where=where,
            columns=Argument("columns", {"time": ..., "q": ...}),
            begin=_begin(table),
        )
    n = sizes.get("q", next(iter(sizes.values())))
    for name, size in sizes.items():
        if size != n:
            other = "q" if "q" in sizes else next(iter(sizes))
            fewer = name if size < n else other
            following = next_of_template(columns, picks, [fewer])
            if following is not None:
                raise missing_column(
                    *following, where, f"{other if fewer == name else name} has {max(size, n)} columns"
                )
            raise TaupiError(
                "{where}: {name} has {got} columns but {other} has {n}, expected one per joint.",
                where=where,
                name=name,
                got=size,
                other=other,
                n=n,
            )
    if columns.joints and len(columns.joints) != n:
        raise TaupiError(
            "{where}: {count} joints are named but q has {got} columns, expected one each.",
            where=where,
            count=len(columns.joints),
            got=n,
        )
    return n


def _joint_number(signals: Mapping[str, np.ndarray]) -> int:
    """Return the number of joints; one column that stands for all of them does not count."""
    return max(value.shape[1] for value in signals.values())


def _counts(labels: Sequence[str]) -> bool:
    """Return whether labels are numbered one after the other: A1, A2, A3.

    >>> _counts(("A1", "A2")), _counts(("hip", "knee")), _counts(("J_0", "J_1"))
    (True, False, True)
    """
    parts = [re.fullmatch(r"(.*?)(\d{1,6})", label) for label in labels]
    if not parts or any(part is None for part in parts):
        return False
    stems, numbers = {p[1] for p in parts if p}, [int(p[2]) for p in parts if p]
    return len(stems) == 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


_NOT_RECORDED = "If a joint of the description was not recorded, such as one of a gripper, lock it ({lock})."


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _joints(
    labels: tuple[str, ...], columns: Columns, robot: Robot | None, n: int, table: Table, stated: bool
) -> tuple[tuple[str, ...], tuple[int, ...], list[str]]:
    """Return the names of the joints, the index of each among the file's joints, and notes.

    `stated` says whether the user's mapping names the joints, so that an error asks for other names.
    """
    where, own = table.where, columns.joints or labels
    numbered = len(own) != n or all(label.isdigit() or not label for label in own)
    if robot is not None and not stated and _counts(own):  # A1 ... A6, unless the robot calls its joints so
        numbered = numbered or not {_plain(label) for label in own} & {_plain(j) for j in recorded_joints(robot)}
    if robot is None:
        return (tuple(f"j{i + 1}" for i in range(n)) if numbered else own), tuple(range(n)), []
    names = recorded_joints(robot)
    if numbered:
        if n != len(names):
            gap = gap_in(columns.channels["q"].columns if "q" in columns.channels else ())
            if gap and n < len(names):
                raise TaupiError(
                    "{where}: {gap} is missing: {robot} has {count} joints, and there are {n}.",
                    where=where,
                    gap=gap,
                    robot=robot.name,
                    count=len(names),
                    n=n,
                )
            raise TaupiError(
                "{where} has {got} joints, expected {expected}: {names:,}.",
                remedy=_NOT_RECORDED if n < len(names) else "",
                where=where,
                got=n,
                expected=len(names),
                names=names,
            )
        return names, tuple(range(n)), [f"joints in the file's order are taken as {robot.name}'s"]
    places = {_plain(label): k for k, label in enumerate(own)}
    if robot.loops and set(places) < {_plain(name) for name in names}:  # only its motors: the other joints follow
        names = tuple(name for name in names if _plain(name) in places)
    for name in names:
        if _plain(name) not in places:
            wrong = unknown("joint", name, own, where)
            joints = Argument("columns", {"joints": ...})
            remedy = "Correct {joints}: the joints of {robot}, in the order of the columns."
            if not stated:
                remedy = "Name its joints: {joints}{begin}"
            raise TaupiError(
                "{wrong}",
                remedy=Message(remedy, joints=joints, robot=robot.name, begin=_begin(table)),
                wrong=wrong.message,
            )
    order = tuple(places[_plain(name)] for name in names)
    notes = [] if order == tuple(range(n)) else [f"joints brought into the order of {robot.name}"]
    return names, order, notes


def _joint_units(
    columns: Columns,
    robot: Robot | None,
    own: Mapping[str, object] | None,
    n: int,
    order: tuple[int, ...],
    names: tuple[str, ...],
) -> tuple[str, ...]:
    if robot is not None:
        known = dict(zip(recorded_joints(robot), recorded_units(robot), strict=True))
        return tuple(known[name] for name in names)
    stored = own.get("units") if own else None
    if isinstance(stored, list | tuple) and len(stored) == n:
        return tuple(str(u) for u in stored)
    unit = columns.channels["q"].unit if "q" in columns.channels else ""
    each = (unit,) * n if isinstance(unit, str) else unit
    return tuple(joint_unit(each[k]) if k < len(each) else "rad" for k in order)


def _columns(table: Table, picks: tuple[Pick, ...]) -> np.ndarray:
    """Return the columns of a signal side by side (N, k); each stays in one piece in memory, as filters take it."""
    rows = len(table.columns[picks[0][0]])
    result = np.empty((len(picks), rows)).T
    for place, (name, k) in enumerate(picks):
        column = table.columns[name]
        if len(column) != rows:
            raise TaupiError(
                "{where}: {name} has {count} values but {pick} has {rows}.",
                where=table.where,
                name=name,
                count=len(column),
                pick=picks[0][0],
                rows=rows,
            )
        result[:, place] = column if column.ndim == 1 else column[:, k]
    return result


def _in_si(
    signal: str, raw: np.ndarray, channel: Channel, where: str, before: dict[str, np.ndarray] | None = None
) -> np.ndarray:
    """Return the values of a signal in SI units: matrix (sign gain unit number) + offset."""
    k = raw.shape[1]
    units = (channel.unit,) if isinstance(channel.unit, str) else channel.unit
    scale = one_per_joint([factor(signal, u) if u else 1.0 for u in units], k, f"{where}: {signal}.unit")
    if any(u.endswith("_tick") for u in units):
        each = units * k if len(units) == 1 else units
        raw = np.stack([signed(signal, u, raw[:, c]) for c, u in enumerate(each)], axis=1)
    for name, numbers in (("gain", channel.gain), ("sign", channel.sign)):
        scale = scale * one_per_joint(numbers or (1.0,), k, f"{where}: {signal}.{name}")
    value = raw if np.all(scale == 1) else raw * scale
    if channel.wraps and before is not None:
        value = _going_on(value, before.get(signal))
        before[signal] = np.array([_last(x) for x in value.T])
    if channel.matrix:
        matrix = np.array(channel.matrix)
        if matrix.shape[1] != k:
            raise TaupiError(
                "{where}: {signal}.matrix has {shape} columns for {k} columns of the file.",
                where=where,
                signal=signal,
                shape=matrix.shape[1],
                k=k,
            )
        value = combined(value, matrix)
    if channel.offset:
        value = value + one_per_joint(channel.offset, value.shape[1], f"{where}: {signal}.offset")
    return value


def _going_on(angles: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """Return angles (N, k) that go on where they start again after a turn, from those `before` (k,) on.

    >>> _going_on(np.array([[3.0], [np.nan], [-3.0]]), None).round(3).ravel().tolist()
    [3.0, nan, 3.283]
    """
    result = angles.copy()
    for k, own in enumerate(result.T):
        known = np.isfinite(own)
        start = [] if before is None or not np.isfinite(before[k]) else [before[k]]
        own[known] = np.unwrap(np.concatenate([start, own[known]]))[len(start) :]
    return result


def _last(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else float("nan")


def _time(raw: np.ndarray | None, table: Table, layout: Layout) -> np.ndarray:
    rate, where = layout.columns.rate_hz, layout.where
    if raw is None or "time" not in layout.picks:
        if rate is None:
            raise TaupiError(
                "{where} has no time column that is known.",
                remedy="Give {columns} or {rate_hz}{begin}",
                where=where,
                columns=Argument("columns", {"time": ...}),
                begin=_begin(table),
            )
        rows = len(next(iter(table.columns.values())))
        return (table.first_row + np.arange(rows)) / rate
    channel = layout.columns.channels["time"]
    values = _in_si("time", raw, channel, where)
    if values.shape[1] != 1:
        raise TaupiError("{where}: time has {got} columns, expected one.", where=where, got=values.shape[1])
    time = values[:, 0]
    step = median_step(time)
    if not channel.unit and not channel.gain and step > 5.0:
        likely = next((u for u in ("ms", "us", "ns") if 1e-5 <= step * factor("time", u) <= 1.0), "ms")
        raise TaupiError(
            "{where}: time steps by {step:.4g}, too much for seconds.",
            remedy="Give its unit, perhaps {columns}.",
            where=where,
            step=step,
            columns=Argument("columns", {"time": {"columns": layout.picks["time"][0][0], "unit": likely}}),
        )
    return time


def _add_joint_side(signals: dict[str, np.ndarray], layout: Layout, notes: list[str], time: np.ndarray) -> None:
    """Add to `signals` the joint side of what was recorded on the motor side, if the mapping states the gears.

    For a robot with elastic joints, the motors' positions, seen from the joint side of the gears, are kept in addition to the
    links'.
    """
    motor = layout.columns.motor
    if motor is None:
        return
    where, n = layout.where, _joint_number(signals)
    A, T = motor.matrices(n)
    formulas = _add_motor_torque(signals, motor, time, where)
    offset = one_per_joint(motor.offset or (0.0,), n, f"{where}: motor.offset")
    both_sides = layout.elastic and "q" in signals
    if "theta" in signals and ("q" not in signals or both_sides):
        name = "theta" if both_sides else "q"
        signals[name] = combined(signals["theta"], A) + offset
        formulas.append(f"{name} = C diag(1/ratio) theta + offset")
    if "thetad" in signals and ("qd" not in signals or both_sides):
        name = "thetad" if both_sides else "qd"
        signals[name] = combined(signals["thetad"], A)
        formulas.append(f"{name} = C diag(1/ratio) thetad")
    if layout.elastic and not both_sides:  # one position per joint, which must not be counted twice
        for name in ("theta", "thetad", "thetadd"):
            signals.pop(name, None)
    if "tau" not in signals and "tau_m" in signals:
        signals["tau"] = combined(signals["tau_m"], T)
        formulas.append("tau = C^-T diag(ratio) tau_m")
    if formulas:
        notes.append("from the motor side: " + "; ".join(formulas))


def combined(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return values (N, k) times a matrix (n, k), sum_j M_ij v_j: one that is missing is missed only where it is coupled to.

    >>> combined(np.array([[1.0, np.nan]]), np.eye(2)).tolist()
    [[1.0, nan]]
    """
    missing = ~np.isfinite(values)
    if not missing.any():
        return np.asarray(values @ matrix.T)
    acts = np.abs(matrix) > 1e-12 * np.abs(matrix).max(
        axis=1, keepdims=True
    )  # an inverse leaves rounding in place of zeros
    result = np.where(missing, 0.0, values) @ np.where(acts, matrix, 0.0).T
    return np.asarray(np.where(missing @ acts.T, np.nan, result))


def _delays(layout: Layout, signals: Mapping[str, np.ndarray]) -> dict[str, tuple[float, ...]]:
    """Return the delays of a log's signals that the mapping states, joint by joint in the log's order.

    A signal computed for the joint side has the delay of the signal that it is computed from.
    """
    channels, n = layout.columns.channels, _joint_number(signals)
    stated = {k: one_per_joint(c.delay, n, f"{layout.where}: {k}.delay") for k, c in channels.items() if c.delay}
    if "time" in stated:
        raise TaupiError(
            "{where}: time has a delay.", remedy="State the delay of a signal: q, tau, ...", where=layout.where
        )
    coupled = layout.columns.motor is not None and bool(layout.columns.motor.coupling)
    for own, sources in (("q", ("theta",)), ("tau", ("tau_m", "current", "voltage"))):
        source = next((s for s in sources if s in stated), None)
        if source is None or own in channels or own not in signals:
            continue
        if coupled and np.ptp(stated[source]):
            raise TaupiError(
                "{where}: {source}.delay differs from motor to motor, and motor.coupling mixes them.",
                remedy="State one delay for all.",
                where=layout.where,
                source=source,
            )
        stated[own] = stated[source]
    return {k: tuple(d[list(layout.order)].tolist()) for k, d in stated.items() if k in signals and d.any()}


def _add_motor_torque(signals: dict[str, np.ndarray], motor: Motor, time: np.ndarray, where: str) -> list[str]:
    """Add tau_m from current or voltage, if it was not recorded and the gains are known; return the formula used."""
    if "tau_m" in signals:
        return []
    n = _joint_number(signals)
    if "current" in signals and motor.torque_per_ampere:
        signals["tau_m"] = signals["current"] * one_per_joint(
            motor.torque_per_ampere, n, f"{where}: motor.torque_per_ampere"
        )
        return ["tau_m = torque_per_ampere current"]
    if "voltage" not in signals or not motor.torque_per_volt:
        return []
    gain = one_per_joint(motor.torque_per_volt, n, f"{where}: motor.torque_per_volt")
    if not motor.volts_per_speed:
        signals["tau_m"] = signals["voltage"] * gain
        return ["tau_m = torque_per_volt voltage"]
    speed = signals.get("thetad")
    if speed is None and "theta" not in signals:
        raise TaupiError(
            "{where}: motor.volts_per_speed needs the motors' speed. Map their thetad or theta.", where=where
        )
    if speed is None:  # differences are linear, and so are the filters applied later: their order does not matter
        if len(time) < 2:
            raise TaupiError(
                "{where} has {got} rows, expected at least two: theta is differentiated.", where=where, got=len(time)
            )
        speed = np.gradient(signals["theta"], time, axis=0)
    signals["tau_m"] = gain * (
        signals["voltage"] - speed * one_per_joint(motor.volts_per_speed, n, f"{where}: volts_per_speed")
    )
    return ["tau_m = torque_per_volt (voltage - volts_per_speed thetad)"]


def embedded_mapping(log: Log, flat: bool, labels: Sequence[str] = ()) -> dict[str, object]:
    """Return the mapping that a written file carries, so that it reads back as it was.

    `flat` has one column per joint, named by `labels`, by default the joints' names.
    """
    data: dict[str, object] = {"taupi_log": 1, "time": "time", "joints": list(log.names), "units": list(log.units)}
    for name in log.signals:
        data[name] = [f"{name}_{joint}" for joint in labels or log.names] if flat else name
    data["notes"] = list(log.notes)
    for name, delay in log.delays.items():
        data[name] = {"columns": data[name], "delay": list(delay)}
    if log.known_torque:
        data["known_torque"] = list(log.known_torque)
    if log.drive is not None:
        data["drive"] = log.drive.table()
    if log.filtering is not None:
        data["filtering"] = dataclasses.asdict(log.filtering)
    data |= written_columns(log, flat)[1]
    assert set(log.signals) <= set(SIGNALS)
    return data
