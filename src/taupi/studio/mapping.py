"""A column mapping as a person assigns it, column by column, and what the check of the log says about it."""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from taupi.errors import Argument, Spelling, TaupiError
from taupi.input_files import parse_toml
from taupi.model.formats.toml_writer import quoted
from taupi.model.robot import Robot
from taupi.signals.checking.check import Finding, LogReport, check_log
from taupi.signals.checking.units_found import units_found
from taupi.signals.formats import format_of, sniffed
from taupi.signals.formats.files import readable_source
from taupi.signals.log import Log
from taupi.signals.mapping.columns import Columns, recorded_joints
from taupi.signals.mapping.guess import parse_header, seconds_and_nanoseconds
from taupi.signals.mapping.units import DIMENSION, UNITS
from taupi.signals.read import log_blocks, read_log
from taupi.signals.suggestion import SuggestedColumn, Suggestion, suggest_mapping

SEGMENT = "segment"  # what the column is taken for that numbers the runs of a file
# What a column can be, in the words of the list; other signals stay in the mapping as lines of their own.
SIGNALS = {
    "time": "time",
    "q": "q: position",
    "qd": "qd: velocity",
    "qdd": "qdd: acceleration",
    "tau": "tau: torque",
    "current": "motor current",
    "voltage": "motor voltage",
    "theta": "theta: motor position",
    "thetad": "thetad: motor velocity",
    "tau_m": "tau_m: motor torque",
    "qdes": "qdes: position command",
    "qd_des": "qd_des: velocity command",
    "tau_ff": "tau_ff: torque command",
    "volts": "volts: voltage command",
    "temperature": "temperature",
    "enabled": "enabled: drive is on",
    SEGMENT: "number of the run",
}
_LARGE, _BLOCK = 20_000_000, 50_000  # bytes of a file of which only the first samples are checked, and how many
_NAMES = 1 << 16  # characters of names that a family is told by


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one column is taken for.

    Attributes:
        column: Its name in the file.
        signal: The signal, a key of `SIGNALS`; "" for none.
        joint: Which joint it belongs to, counted from 0.
        unit: Its unit; "" for SI.
        sign: 1, or -1 for a column that counts the other way round.
    """

    column: str
    signal: str = ""
    joint: int = 0
    unit: str = ""
    sign: int = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file, or all columns of an array, as the table shows it.

    Attributes:
        name: Its name in the file.
        width: How many numbers a row has under this name.
        lines: Some values of each of them.
        low: The least of all its numbers; None if it holds text.
        high: The largest.
        reason: Why it was taken for what the suggestion says.
        question: What should be checked.
        could_be: Other signals that it could be.
        family: What its name has in common with those of the other joints' columns.
        suggested: What the suggestion takes it for.
    """

    name: str
    width: int
    lines: tuple[tuple[float | None, ...], ...]
    low: float | None
    high: float | None
    reason: str
    question: str
    could_be: tuple[str, ...]
    family: str
    suggested: Assignment

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return any(v is not None for line in self.lines for v in line)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The columns of a log, as a person assigns them.

    Attributes:
        columns: In the order of the file.
        joints: The names of the joints: those of the robot, or numbered ones.
        rest: What the suggested mapping has beside signals, such as `[drive]`, as TOML.
        missing: What the suggestion lacks, in sentences.
    """

    columns: tuple[Column, ...]
    joints: tuple[str, ...]
    rest: str = ""
    missing: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells it from the columns of other files, and from those of the same file for another robot."""
        return hashlib.sha256(repr(([c.name for c in self.columns], self.joints)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class UnitOffer:
    """A unit that the numbers of a signal suggest.

    Attributes:
        signal: The signal.
        unit: The unit.
        why: What suggests it, in words; "" if an error says so.
    """

    signal: str
    unit: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known about a mapping.

    Attributes:
        text: It as TOML, as it would be saved.
        problem: Why the log cannot be read with it, in a sentence; "" if it can.
        report: The check of the log; None if it cannot be read.
        units: Units that its numbers suggest.
    """

    text: str
    problem: str = ""
    report: LogReport | None = None
    units: tuple[UnitOffer, ...] = ()

    @property
    def summary(self) -> str:
        """The log in one line; "" if it cannot be read."""
        return "" if self.report is None else self.report.summary

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the log, or worth knowing."""
        return () if self.report is None else self.report.findings


def sheet_of(path: str, robot: Robot | None) -> Sheet:
    """Return the columns of the log at a path, with what `taupi log --suggest` takes them for."""
    return _sheet(path, _state(path), robot)


def _state(path: str) -> tuple[int, int]:
    """Return what changes when a file does."""
    try:
        about = Path(path).stat()
    except OSError:
        return (0, 0)
    return about.st_mtime_ns, about.st_size


@lru_cache(maxsize=8)
def _sheet(path: str, state: tuple[int, int], robot: Robot | None) -> Sheet:
    suggestion = suggest_mapping(path, robot)
    groups: dict[str, list[SuggestedColumn]] = {}
    for column in suggestion.columns:
        groups.setdefault(column.name, []).append(column)
    joints = suggestion.joints if robot is None else recorded_joints(robot)
    columns = tuple(_column(name, parts, joints) for name, parts in groups.items())
    if robot is None:  # a person may know of more joints than were recognised
        most = max([len(joints), *(sum(c.family == other.family for other in columns) for c in columns)])
        joints = (*joints, *(f"joint{k + 1}" for k in range(len(joints), most)))
    return Sheet(columns, joints, _rest(suggestion), suggestion.missing)


def _column(name: str, parts: Sequence[SuggestedColumn], joints: Sequence[str]) -> Column:
    first = parts[0]
    joint = joints.index(first.joint) if first.joint in joints else 0
    lows, highs = ([v for v in values if v is not None] for values in ([p.low for p in parts], [p.high for p in parts]))
    return Column(
        name,
        len(parts),
        tuple(part.values for part in parts),
        min(lows, default=None),
        max(highs, default=None),
        first.reason,
        first.question,
        first.could_be,
        re.sub(r"\d+", "#", name[:_NAMES]),
        Assignment(name, first.signal, joint, first.unit),
    )


def _rest(suggestion: Suggestion) -> str:
    """Return the lines of a suggested mapping that no column of the table has: those from its first table on."""
    lines = suggestion.text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith("[")), len(lines))
    return "\n".join(lines[start:])


def mapping_text(
    assigned: Sequence[Assignment], joints: Sequence[str] = (), rate_hz: float | None = None, rest: str = ""
) -> str:
    """Return a column mapping as TOML.

    Args:
        assigned: What the columns are taken for.
        joints: The names of the joints in their order; by default they stay unnamed.
        rate_hz: Samples per second, for a file without a time column.
        rest: Further lines, at the end.

    Raises:
        TaupiError: Two columns are taken for the same signal of one joint.

    >>> print(mapping_text([Assignment("t", "time", unit="ms"), Assignment("b", "q", 1), Assignment("a", "q", 0, sign=-1)]))
    time = {columns = ["t"], unit = "ms"}
    q = {columns = ["a", "b"], sign = [-1, 1]}
    <BLANKLINE>
    """
    lines = [f"joints = [{', '.join(map(quoted, joints))}]"] if joints else []
    lines += [f"rate_hz = {rate_hz!r}"] if rate_hz is not None else []
    for signal in SIGNALS:
        columns = sorted((a for a in assigned if a.signal == signal), key=lambda a: a.joint)
        if not columns:
            continue
        if signal == SEGMENT:
            lines.append(f"segment = {quoted(_only(columns, signal).column)}")
        elif signal == "time":
            lines.append(_time_line(columns))
        else:
            for one, next_ in itertools.pairwise(columns):
                if one.joint == next_.joint:
                    raise TaupiError(
                        "{one} and {next} are both {signal} of joint {joint}. Choose another joint, or another signal, for one.",
                        one=one.column,
                        next=next_.column,
                        signal=signal,
                        joint=joints[one.joint] if one.joint < len(joints) else one.joint + 1,
                    )
            lines.append(f"{signal} = {_entry(columns)}")
    return "\n".join([*lines, *(["", rest] if rest.strip() else [])]) + "\n"


def _only(columns: Sequence[Assignment], signal: str) -> Assignment:
    if len(columns) > 1:
        raise TaupiError(
            "{one} and {next} are both the {signal}. Choose one.",
            one=columns[0].column,
            next=columns[1].column,
            signal=SIGNALS[signal],
        )
    return columns[0]


def _time_line(columns: Sequence[Assignment]) -> str:
    """Return the line of the time: one column, or one of seconds and one of nanoseconds."""
    headers = [h for h in (parse_header(a.column) for a in columns) if h is not None]
    clock = seconds_and_nanoseconds(headers) if len(columns) == 2 else None
    if clock is None:
        return f"time = {_entry([_only(columns, 'time')])}"
    names, units = (", ".join(map(quoted, values)) for values in (clock.columns, clock.unit))
    return f"time = {{columns = [{names}], unit = [{units}], matrix = {[list(row) for row in clock.matrix]}}}"


def _entry(columns: Sequence[Assignment]) -> str:
    """Return the columns of a signal with their units and signs as TOML."""
    parts = [f"columns = [{', '.join(quoted(a.column) for a in columns)}]"]
    units = list(dict.fromkeys(a.unit for a in columns))
    if units != [""]:
        dimension = UNITS[DIMENSION[columns[0].signal]]
        written = [a.unit or next(iter(dimension)) for a in columns]  # the first unit of each dimension is that of SI
        parts.append(f"unit = {quoted(units[0])}" if len(units) == 1 else f"unit = [{', '.join(map(quoted, written))}]")
    if any(a.sign < 0 for a in columns):
        parts.append(f"sign = {[a.sign for a in columns]}")
    return f"{{{', '.join(parts)}}}"


_READING = threading.Lock()  # logs are read one at a time: a person who types is faster than a large file


def answer(
    path: str,
    robot: Robot | None,
    sheet: Sheet,
    assigned: Sequence[Assignment],
    rate_hz: float | None = None,
    rest: str = "",
    spelling: Spelling = str,
) -> Answer:
    """Return what the check says about a log, read as its columns were assigned.

    Args:
        path: The log.
        robot: The robot; None if it is not known.
        sheet: The columns of the log.
        assigned: What they are taken for.
        rate_hz: Samples per second, for a file without a time column.
        rest: Further lines of the mapping.
        spelling: How arguments are written in sentences.
    """
    try:
        text = mapping_text(assigned, sheet.joints if robot is not None else (), rate_hz, rest)
    except TaupiError as error:
        return Answer("", error.spelled(spelling))
    columns = None
    try:
        columns = Columns.of_table(parse_toml(text, "columns.toml"), "columns.toml")
        if not columns.channels and not columns.floating.channels:
            return Answer(text, "No column is assigned yet: say what each column is, or begin with time and q.")
        with _READING:
            log = _read(path, robot, columns)
            report = check_log(log, robot)
    except TaupiError as error:
        units = _units_in(error)
        if columns is not None and "q" not in columns.channels and not units:
            lacking = [f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sheet.missing]
            return Answer(
                text, " ".join(lacking) or "No column is q yet, the position: choose it for one; its kind follows."
            )
        return Answer(text, error.spelled(spelling), units=units)
    joints = (
        [robot.driving_joints[k] for k in robot.actuated] if robot is not None and len(robot.actuated) == log.n else ()
    )
    offers = tuple(
        UnitOffer(s, unit, found.message) for found in units_found(log, joints) for s, unit in found.units.items()
    )
    return Answer(text, "", report, offers)


def _read(path: str, robot: Robot | None, columns: Columns) -> Log:
    """Return a log, or the beginning of one that is large."""
    file = readable_source(path, folder=True)
    if _state(path)[1] > _LARGE and format_of(sniffed(file)).streams:
        return next(log_blocks(path, _BLOCK, robot, columns=columns))
    return read_log(path, robot, columns)


def _units_in(error: TaupiError) -> tuple[UnitOffer, ...]:
    """Return the units that an error offers as a mapping to write."""
    offers = []
    for argument in error.values.values():
        if isinstance(argument, Argument) and argument.name == "columns" and isinstance(argument.value, Mapping):
            for signal, entry in argument.value.items():
                if isinstance(entry, Mapping) and isinstance(entry.get("unit"), str):
                    offers.append(UnitOffer(signal, entry["unit"]))
    return tuple(offers)
