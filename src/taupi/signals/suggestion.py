"""Suggest a column mapping for a file: what would be guessed, written as TOML with comments, to be checked and completed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.schema import finite_or_none
from taupi.settings import settle
from taupi.signals.checking.commands import TorqueLaw, law_sentence, torque_law
from taupi.signals.checking.units_found import FAR, units_found
from taupi.signals.floating_logs import recognised
from taupi.signals.log import SHARED, SIGNALS, Log
from taupi.signals.mapping.columns import Channel, Columns, gap_in, recorded_joints
from taupi.signals.mapping.controllers import KnownLog, known_log
from taupi.signals.mapping.guess import (
    WHY_NOT,
    Header,
    grippers_apart,
    known_header,
    parse_header,
    seconds_and_nanoseconds,
)
from taupi.signals.mapping.tables import Table, rows_per_joint
from taupi.signals.mapping.units import DIMENSION
from taupi.signals.mapping.words import (
    AXES,
    COMMAND_OF,
    as_number,
    counts_rows,
    numbers_segments,
    role_of,
    time_unit,
    tokens_of,
)
from taupi.signals.raw_columns import RawColumn, raw_columns
from taupi.signals.read import PathLike, read_log, read_table
from taupi.signals.reading import Reading, ReadingOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WIDTH = 118
_SAMPLES = 120  # of each column, at least, if it has so many
_NOT = {
    "commanded": "its name says that it was commanded, not measured",
    "derived": "its name says that it was computed from other columns",
    "model": "its name says that it comes from the controller's own model",
    "elsewhere": "its name says that it is not of a joint",
}


Ranges = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class SuggestedColumn:
    """A column of a file, what it is taken for, and why.

    Attributes:
        name: Its name in the file.
        place: Which number of an array it is; 0 for a column of plain numbers.
        signal: The signal that it is taken for, such as "q" or "time", or "segment" for the number of a run; "" for none.
        joint: The joint that it belongs to; "" if it belongs to none, or to all.
        unit: Its unit, as in a mapping; "" for SI, or if it is taken for nothing.
        reason: Why, in words.
        question: What should be checked, such as "degrees?"; empty if nothing is doubtful.
        could_be: Signals that it could be instead, or if it is taken for nothing.
        values: 120 to 240 of its numbers at equal distances, as the file has them, None where one is missing: enough for a small
            picture. All of them if they are fewer; none if it holds text.
        low: The least of all its numbers; None if it holds text.
        high: The largest.
    """

    name: str
    place: int = 0
    signal: str = ""
    joint: str = ""
    unit: str = ""
    reason: str = ""
    question: str = ""
    could_be: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class SuggestedSignal:
    """The columns that could hold a signal.

    Attributes:
        signal: The signal, such as "q".
        columns: Their names, one per joint.
        unit: Their unit, or "" for SI; one per column where these differ.
        low: The least value in SI units; None where the file could not be read.
        high: The largest value in SI units.
        question: What should be checked, such as "degrees?"; empty if nothing is doubtful.
        instead: Other columns that could be meant, each with its unit.
    """

    signal: str
    columns: tuple[str, ...]
    unit: str | tuple[str, ...] = ""
    low: float | None = None
    high: float | None = None
    question: str = ""
    instead: tuple[tuple[tuple[str, ...], str], ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """A column mapping that a file's headers and numbers suggest.

    Attributes:
        text: The mapping as TOML, with comments.
        missing: What it lacks before the file can be read with it, in sentences; empty if it is complete.
        signals: Its signals as data.
        joints: The names of the joints, in the order of the columns.
        left_out: The columns that are no signal, by the reason.
        columns: Every column of the file in its order, one by one: what a program shows, for a person to decide.
        remarks: What a fit needs in addition, in sentences.
    """

    text: str
    missing: tuple[str, ...] = ()
    signals: tuple[SuggestedSignal, ...] = ()
    joints: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[SuggestedColumn, ...] = ()
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return asdict(self)


def suggest_mapping(
    path: PathLike, robot: Robot | None = None, *, reading: Reading | None = None, **options: Unpack[ReadingOptions]
) -> Suggestion:
    """Return a column mapping for the file at a `path`, as its headers suggest it, to be checked and completed.

    Unlike `taupi.read_log`, it refuses nothing: if several groups of columns could be one signal, it takes the group with one
    column per joint of the robot, or else the largest, and names the others in a comment.

    Args:
        path: The file.
        robot: The robot whose joints were recorded; unknown by default.
        reading: How the file is read, whole; the defaults of `taupi.Reading` otherwise.
        **options: Fields of `taupi.Reading` instead.

    >>> import pathlib, tempfile, taupi as tp
    >>> file = pathlib.Path(tempfile.mkdtemp(), "run.csv")
    >>> _ = file.write_text("t_ms,q1_deg,q2_deg,tau_1,tau_2\\n0,0,90,1,2\\n10,1,91,1,2\\n20,2,92,1,2\\n")
    >>> suggestion = tp.signals.suggest_mapping(file)
    >>> print(*(line for line in suggestion.text.splitlines() if line and line[0] != "#"), sep="\\n")
    time = {columns = "t_ms", unit = "ms"}
    q = {columns = "q{i}_deg", unit = "deg"}  # q1_deg ... q2_deg, 0 .. 1.606 rad
    tau = "tau_{i}"  # tau_1 ... tau_2, 1 .. 2 N m
    >>> suggestion.missing
    ()
    >>> column = suggestion.columns[2]
    >>> column.name, column.signal, column.joint, column.unit, column.values
    ('q2_deg', 'q', 'joint2', 'deg', (90.0, 91.0, 92.0))
    >>> column.reason
    'its name says that it is q, in deg'
    """
    (settings,) = settle(suggest_mapping, options, (Reading, reading))
    choice = _choice(path, robot, settings)
    table, chosen = choice.table, choice.chosen
    left_out, unknown_names = _left_out(choice)
    raw = raw_columns(path, table.numeric, choice.settings, Columns.of(settings.columns), _SAMPLES)
    free = [name for name in unknown_names if name in raw]
    times = [] if "time" in chosen or choice.settings.rate_hz is not None else _times(free, raw)
    wanted = [signal for signal, known_by in _NEEDED.items() if not known_by & {*chosen, *choice.foreign}]
    several = choice.count if _POSITIONS & set(chosen) or robot else 0
    offers = _offers([n for n in free if n not in times], table.widths, several, [] if choice.law else wanted, chosen)
    lines = [*_introduction(choice), *(line for signal in choice.signals for line in _signal_lines(signal, choice))]
    if choice.segment:
        lines.append(f"segment = {json.dumps(choice.segment)}  # each run is a log of its own")
    lines += [f"# {signal} = {_foreign_entry(channel)}" for signal, channel in choice.foreign.items()]
    lines += [_time_line(name) for name in times]
    if choice.law is not None and choice.computed is not None:
        lines.append(f"# tau = {_entry(choice.computed)}  # left out: {law_sentence(choice.law)}")
    lines += _placeholders(choice, wanted, bool(times), [signal for could in offers.values() for signal in could])
    lines += [_offer_line(signal, family, raw) for family, could in offers.items() for signal in could]
    if choice.controller is None:
        lines += [line for why, some in left_out.items() for line in _listed(f"Left out, {why}", some)]
    lines += _listed("Not recognised", unknown_names)
    lines += [] if choice.floating else _base_lines([*choice.elsewhere, *unknown_names])
    currents = any("tau" in could for could in offers.values())
    lines += [*_drive(chosen, choice.count, choice.law), *_motor(chosen, choice.count, currents)]
    reasons = left_out | ({"not recognised": tuple(unknown_names)} if unknown_names else {})
    could_be = {name: ("time",) for name in times} | {name: s for family, s in offers.items() for name in family}
    could_be |= {name: (s.signal,) for s in choice.signals for some, _ in s.instead for name in some}
    could_be |= {name: (signal,) for signal, channel in choice.foreign.items() for name in channel.names}
    columns = _columns(choice, could_be, raw)
    text = "\n".join(lines) + "\n"
    return Suggestion(text, choice.missing, choice.signals, choice.joints, reasons, columns, choice.remarks(wanted))


@dataclass(frozen=True)
class _Choice:
    """What a file's columns are taken for.

    Attributes:
        table: The columns, without their rows.
        robot: The robot whose joints were recorded, if it is known.
        settings: How the file is read.
        headers: What the name of each column of numbers means; None for one that means nothing.
        controller: The controller that is known by its columns, if one is.
        groups: The groups of columns that could be each signal, the one that is taken first.
        chosen: The columns of each signal.
        foreign: Columns of signals in units that these do not have, such as torques in per cent.
        questions: What should be checked of a signal.
        ranges: The range of each signal.
        missing: What is lacking before the file can be read, in sentences.
        law: The law by which the torque follows from commands, if it was computed rather than measured.
        computed: The columns of such a torque.
    """

    table: Table
    robot: Robot | None
    settings: Reading
    headers: Mapping[str, Header | None]
    controller: KnownLog | None
    groups: Mapping[str, Sequence[Channel]]
    chosen: Mapping[str, Channel]
    foreign: Mapping[str, Channel]
    questions: Mapping[str, str]
    ranges: Ranges
    missing: tuple[str, ...]
    law: TorqueLaw | None
    computed: Channel | None

    @property
    def count(self) -> int:
        """How many joints the columns of positions, or else the robot, or other signals have; 2 as an example."""
        chosen = {**self.foreign, **self.chosen}
        counts = {
            s: sum(self.table.widths[n] for n in c.names) for s, c in chosen.items() if s not in ("time", *SHARED)
        }
        others = len(self.robot.actuated) if self.robot is not None else max(counts.values(), default=2)
        return next((counts[signal] for signal in ("q", "theta") if signal in counts), others)

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints."""
        return recorded_joints(self.robot) if self.robot else tuple(f"joint{k + 1}" for k in range(self.count))

    @property
    def segment(self) -> str:
        """The column that numbers the runs; empty if there is none."""
        return next((name for name in self.table.columns if numbers_segments(name)), "")

    @property
    def floating(self) -> tuple[str, ...]:
        """Columns of a base that moves, of forces and contacts, which are read by their names."""
        channels = recognised(self.table.numeric).channels.values()
        return tuple(name for channel in channels for name in channel.names)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Columns of sensors that belong to no joint."""
        return tuple(h.name for h in self.headers.values() if h is not None and h.role == "elsewhere")

    @property
    def signals(self) -> tuple[SuggestedSignal, ...]:
        """The signals as data."""
        return tuple(self._signal(signal, channel) for signal, channel in self.chosen.items())

    def _signal(self, signal: str, channel: Channel) -> SuggestedSignal:
        instead = tuple((other.names, str(other.unit)) for other in self.groups[signal][1:])
        low, high = self.ranges.get(signal, (None, None))
        question = self.questions.get(signal, "")
        return SuggestedSignal(signal, channel.names, channel.unit, low, high, question, instead)

    def remarks(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Return what else a fit needs, in sentences; `wanted` are the signals for which no column is known."""
        if "tau" not in wanted:
            return ()
        rest = ", and states it with the commands in [drive]" if "qdes" in self.chosen else ""
        return (
            f"no torque and no current was recognised: a fit needs one of them, or how commands drive the joints{rest}.",
        )


def _choice(path: PathLike, robot: Robot | None, settings: Reading) -> _Choice:
    table = read_table(path, robot, settings)
    own = recognised(table.numeric)
    of_base = {name for channel in own.channels.values() for name in channel.names}
    numeric = {name: width for name, width in table.numeric.items() if name not in of_base}
    headers = {name: known_header(name, width, table.units) for name, width in numeric.items()}
    known = grippers_apart([header for header in headers.values() if header is not None])
    headers |= {header.name: header for header in known}
    groups, controller = _groups(known, table.widths, robot), known_log(numeric, {})
    if controller is not None:
        groups = {"time": groups["time"]} | {signal: [channel] for signal, channel in controller.channels.items()}
        settings = replace(settings, rate_hz=settings.rate_hz or controller.rate_hz)
    chosen = {signal: groups[signal][0] for signal in DIMENSION if groups.get(signal)}
    by = rows_per_joint(table, chosen)
    missing = [f"it seems to have a row per joint, which {by} names: give each columns of its own."] if by else []
    missing += [*table.doubts, *_missing(chosen, robot, settings)]
    foreign = {signal: channel for signal, channel in chosen.items() if _foreign_unit(channel)}
    chosen = {signal: channel for signal, channel in chosen.items() if signal not in foreign}
    chosen, questions, ranges, error = _with_units(path, chosen, settings)
    if error and not missing:
        missing.append(error)
    law, computed = _law(path, chosen, settings), chosen.get("tau")
    chosen = {signal: channel for signal, channel in chosen.items() if law is None or signal != "tau"}
    return _Choice(
        table=table,
        robot=robot,
        settings=settings,
        headers=headers,
        controller=controller,
        groups=groups,
        chosen=chosen,
        foreign=foreign,
        questions=questions,
        ranges=ranges,
        missing=tuple(missing),
        law=law,
        computed=computed,
    )


def mapping_text(columns: Sequence[SuggestedColumn], joints: Sequence[str] = (), rate_hz: float | None = None) -> str:
    """Return the column mapping, as TOML, in which each column is what a person has made of it.

    Args:
        columns: The columns of a suggestion, of which `signal`, `joint` and `unit` may have been replaced.
        joints: The names of the joints, in whose order the columns of a signal are put; without names, they stay as they are.
        rate_hz: Samples per second, for a file without a column of time.

    >>> from dataclasses import replace
    >>> import taupi as tp
    >>> columns = [tp.signals.SuggestedColumn(name) for name in ("Uhr", "A_2", "A_1")]
    >>> columns = [replace(columns[0], signal="time", unit="ms"), *(replace(c, signal="q", unit="deg") for c in columns[1:])]
    >>> columns = [columns[0], replace(columns[1], joint="elbow"), replace(columns[2], joint="shoulder")]
    >>> print(tp.signals.mapping_text(columns, ("shoulder", "elbow")), end="")
    joints = ["shoulder", "elbow"]
    time = {columns = "Uhr", unit = "ms"}
    q = {columns = "A_{i}", unit = "deg"}
    """
    order = {joint: k for k, joint in enumerate(joints)}
    lines = [f"joints = {json.dumps(list(joints), ensure_ascii=False)}"] if joints else []
    widths = Counter(column.name for column in columns)
    for signal in DIMENSION:
        own = sorted((c for c in columns if c.signal == signal), key=lambda c: order.get(c.joint, 0))
        twice = [joint for joint, count in Counter(c.joint for c in own if c.joint).items() if count > 1]
        if twice:
            raise TaupiError(
                "{signal} of {joint} is given by two columns, expected one.", signal=signal, joint=twice[0]
            )
        if not own:
            continue
        names = tuple(f"{c.name}[{c.place}]" if widths[c.name] > 1 else c.name for c in own)
        array, first = own[0].name, own[0].place
        if len(own) > 1 and [(c.name, c.place) for c in own] == [(array, first + k) for k in range(len(own))]:
            names = (array,) if len(own) == widths[array] else (f"{array}[{first}:{first + len(own)}]",)
        units = tuple(c.unit for c in own)
        unit = units[0] if len(set(units)) == 1 else units
        clock = signal == "time" and len(own) > 1  # seconds and nanoseconds
        lines.append(f"{signal} = {_entry(Channel(names, unit, matrix=((1.0,) * len(own),) if clock else ()))}")
    segment = next((c.name for c in columns if c.signal == "segment"), None)
    lines += [f"segment = {json.dumps(segment, ensure_ascii=False)}"] if segment is not None else []
    lines += [f"rate_hz = {rate_hz!r}"] if rate_hz is not None else []
    return "\n".join(lines) + "\n"


def _signal_lines(signal: SuggestedSignal, choice: _Choice) -> list[str]:
    """Return the line of a signal, and lines for the columns that could be it instead, in comments."""
    name = signal.signal
    others = [f"# {name} = {_entry(other)}  # or these" for other in choice.groups[name][1:]]
    return [f"{name} = {_entry(choice.chosen[name])}{_comment(signal)}", *others]


def _foreign_unit(channel: Channel) -> str:
    """Return a unit in the name of a column that its signal cannot have; empty if there is none."""
    headers = (parse_header(name) for name in channel.names)
    return next((header.foreign_unit for header in headers if header is not None and header.foreign_unit), "")


def _foreign_entry(channel: Channel) -> str:
    """Return columns in a unit that their signal cannot have, with what is to be filled in."""
    unit, names = _foreign_unit(channel), channel.names
    columns = json.dumps(_template(names) or list(names), ensure_ascii=False)
    if unit in ("percent", "permille"):
        return f"{{columns = {columns}, gain = {[1.0] * len(names)}}}  # in {unit} of a rated value: what is one {unit} of it?"
    return f'{{columns = {columns}, unit = ""}}  # {unit}?'


def _columns(
    choice: _Choice, could_be: Mapping[str, tuple[str, ...]], raw: Mapping[str, RawColumn]
) -> tuple[SuggestedColumn, ...]:
    """Return every number of every column: what it is taken for, why, and some of its values."""
    table, joints = choice.table, choice.joints
    taken: dict[tuple[str, int], tuple[str, str, str]] = {}
    for signal, channel in choice.chosen.items():
        places = [(name, k) for name in channel.names for k in range(table.widths[name])]
        units = (channel.unit,) * len(places) if isinstance(channel.unit, str) else channel.unit
        one_each = signal != "time" and len(places) == len(joints)
        owners = joints if one_each else ("",) * len(places)
        taken |= {place: (signal, joint, unit) for place, joint, unit in zip(places, owners, units, strict=False)}
    result = []
    for name in dict.fromkeys((*table.columns, *table.text)):
        numbers = raw.get(name)
        for k in range(table.widths.get(name, 1)):
            signal, joint, unit = taken.get((name, k), ("segment" if name == choice.segment else "", "", ""))
            reason = _why(name, signal, unit, choice, name in could_be, numbers is not None)
            question = choice.questions.get(signal, "")
            values: tuple[float | None, ...] = ()
            low = high = None
            if numbers is not None:
                values = tuple(finite_or_none(v) for v in numbers.values[:, k])
                low, high = (finite_or_none(v) for v in (numbers.low[k], numbers.high[k]))
            others = () if signal else could_be.get(name, ())
            result.append(SuggestedColumn(name, k, signal, joint, unit, reason, question, others, values, low, high))
    return tuple(result)


def _why(name: str, signal: str, unit: str, choice: _Choice, offered: bool, numeric: bool) -> str:
    """Return why a column is taken for a signal, or for none."""
    header, controller = choice.headers.get(name), choice.controller
    role = role_of(name) if header is None else header.role
    if not numeric:
        return "it does not hold numbers throughout"
    if signal == "segment":
        return "its name says that it numbers the runs"
    if signal and controller is not None and name in controller.channels.get(signal, Channel(())).names:
        return f"a log of {controller.name} calls {signal} so"
    if signal and (header is None or not header.measured):
        return f"its name says that it was commanded, which makes it {signal}"
    if signal and header is not None:
        of_name = f", in {unit}" if unit and header.unit == unit else ""
        return f"its name says that it is {signal}{of_name}"
    if controller is not None and (
        reason := next((why for why, some in controller.left_out.items() if name in some), "")
    ):
        return reason
    if name in choice.floating:
        return "its name says that it is of a base that moves, of a force or of a contact, and it is read as such"
    if role in _NOT:
        return _NOT[role]
    if header is not None:
        return f"its name says that it is {header.signal}, for which other columns are taken, or in a unit that it cannot have"
    return "its name says nothing, but its numbers could be it" if offered else "its name says nothing that is known"


def _groups(headers: Sequence[Header], widths: Mapping[str, int], robot: Robot | None) -> dict[str, list[Channel]]:
    """Return the groups of columns that could be each signal, the likeliest first: those with a common stem.

    Commands are taken where they are as many as the positions.
    """
    groups: dict[str, list[Channel]] = {}
    for signal in DIMENSION:
        measured = [h for h in headers if h.signal == signal and h.measured]
        if signal == "time" and (clock := seconds_and_nanoseconds(measured)) is not None:
            groups[signal] = [clock]
            continue
        groups[signal] = _by_stem(signal, measured, widths, robot)
    if groups["q"]:
        count = sum(widths[name] for name in groups["q"][0].columns)
        for command in COMMAND_OF.values():
            sent = _by_stem(command, [h for h in headers if h.command == command], widths, robot)
            groups[command] += [g for g in sent if sum(widths[name] for name in g.columns) == count]
    return groups


def _by_stem(signal: str, headers: Sequence[Header], widths: Mapping[str, int], robot: Robot | None) -> list[Channel]:
    stems: dict[str, list[Header]] = {}
    for header in headers:
        stems.setdefault(header.stem, []).append(header)
    groups: list[Channel] = []
    for members in stems.values():
        if signal == "time":
            groups += [Channel((h.name,), h.unit) for h in members]
            continue
        numbered = all(h.label.isdigit() for h in members)
        ordered = sorted(members, key=lambda h: as_number(h.label)) if numbered else members
        groups.append(Channel(tuple(h.name for h in ordered), ordered[0].unit))

    def likelihood(group: Channel) -> tuple[bool, int]:
        count = sum(widths[name] for name in group.columns)
        return (robot is not None and count != len(robot.actuated)), -count

    return groups if signal == "time" else sorted(groups, key=likelihood)


def _entry(channel: Channel) -> str:
    """Return the columns of a signal as TOML: a template if they are numbered, with their unit if there is one."""
    names = channel.names
    columns = _template(names) or (names[0] if len(names) == 1 else None)
    value = json.dumps(list(names) if columns is None else columns, ensure_ascii=False)
    unit = json.dumps(channel.unit, ensure_ascii=False)
    matrix = f", matrix = {[list(row) for row in channel.matrix]}" if channel.matrix else ""
    return f"{{columns = {value}, unit = {unit}{matrix}}}" if channel.unit else value


def _template(names: Sequence[str]) -> str | None:
    """Return the template of numbered columns, None if they are not numbered one by one.

    >>> _template(("q_1_deg", "q_2_deg")), _template(("q_0", "q_2"))
    ('q_{i}_deg', None)
    """
    for place in re.finditer(r"(?<!\d)\d{1,9}(?!\d)", names[0]):
        before, first, behind = names[0][: place.start()], place[0], names[0][place.end() :]
        expected = tuple(f"{before}{int(first) + k}{behind}" for k in range(len(names)))
        if len(names) > 1 and expected == tuple(names) and int(first) in (0, 1) and "{" not in before + behind:
            return f"{before}{{i}}{behind}"
    return None


def _missing(chosen: Mapping[str, Channel], robot: Robot | None, reading: Reading) -> list[str]:
    """Return what a mapping lacks, in sentences."""
    sentences = []
    if "time" not in chosen and reading.rate_hz is None:
        sentences.append("no column of time was recognised: state rate_hz, or which column it is.")
    if not {"q", "theta"} & set(chosen):
        sentences.append("no joint positions were recognised: state the columns of q.")
    elif "q" not in chosen:
        sentences.append("only motor positions were recognised: state the gears under [motor].")
    for signal, channel in chosen.items():
        names = channel.names
        if foreign := next((h for h in map(parse_header, names) if h is not None and h.foreign_unit), None):
            sentences.append(f"{foreign.foreign_unit} in {foreign.name} is no unit of {signal}: state its unit.")
        gap = gap_in(names)
        if gap and (robot is None or len(names) < len(robot.actuated)):
            sentences.append(f"{gap} is missing among the columns of {signal}.")
    return sentences


def _with_units(
    path: PathLike, chosen: dict[str, Channel], reading: Reading
) -> tuple[dict[str, Channel], dict[str, str], Ranges, str]:
    """Return the channels with the units that follow from the numbers, questions about others, and the range of each signal.

    Last comes the sentence that says why the file could not be read. A unit that a header states is kept.
    """
    log, error = _read(path, chosen, reading)
    if log is None:
        return chosen, {}, {}, error
    questions: dict[str, str] = {}
    for found in units_found(log):
        units = found.units | {COMMAND_OF[s]: unit for s, unit in found.units.items() if s in COMMAND_OF}
        for signal, unit in units.items():
            channel = chosen.get(signal)
            if channel is None or channel.unit == unit:
                continue
            if channel.unit:
                questions[signal] = f'against its header, {found.message.rstrip("?")}: if so, unit = "{unit}"'
            elif found.certain:
                chosen = {**chosen, signal: replace(channel, unit=unit)}
                questions[signal] = f"the unit follows from {found.message}"
            else:
                what = found.message.rpartition(": ")[2]
                questions[signal] = f'{what} Then unit = "{unit}"'
    if any(chosen[signal].unit for signal in questions):
        log, error = _read(path, chosen, reading)
    if log is None:
        return chosen, questions, {}, error
    spans = {"time": log.time, **log.signals}
    numbers = {k: v[np.isfinite(v)] for k, v in spans.items()}
    ranges = {k: (float(v.min()), float(v.max())) for k, v in numbers.items() if v.size}
    return chosen, questions, ranges, ""


def _law(path: PathLike, chosen: Mapping[str, Channel], reading: Reading) -> TorqueLaw | None:
    """Return the law by which the torque follows from the commands, if it was computed rather than measured."""
    log = _read(path, chosen, reading)[0] if {"tau", "qdes"} <= set(chosen) else None
    return None if log is None else torque_law(log)


def _read(path: PathLike, chosen: Mapping[str, Channel], reading: Reading) -> tuple[Log | None, str]:
    """Return the log of some channels, or the sentence that says why there is none."""
    if not chosen:
        return None, ""
    # any rate gives the same ranges
    rate = 1.0 if reading.rate_hz is None and "time" not in chosen else reading.rate_hz
    try:
        columns = replace(Columns.of(reading.columns), channels=dict(chosen))
        return read_log(path, reading=Reading(columns, rate, reading.topic, reading.format)), ""
    except TaupiError as error:
        return None, str(error)


def _comment(signal: SuggestedSignal) -> str:
    names = signal.columns
    parts = [f"{names[0]} ... {names[-1]}"] if _template(names) is not None else []
    if signal.low is not None and signal.signal != "time":
        parts.append(f"{signal.low:.4g} .. {signal.high:.4g} {SIGNALS[signal.signal]}")
    parts += [signal.question] if signal.question else []
    return f"  # {', '.join(parts)}" if parts else ""


def _left_out(choice: _Choice) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the columns that are no signal by the reason, and those whose names say nothing."""
    channels = (*choice.chosen.values(), *choice.foreign.values())
    taken = {choice.segment, *choice.floating, *(name for channel in channels for name in channel.names)}
    reasons: dict[str, tuple[str, ...]] = dict(choice.controller.left_out) if choice.controller is not None else {}
    taken |= {name for some in reasons.values() for name in some}
    for name, header in choice.headers.items():
        if header is not None and not header.measured and name not in taken:
            why = WHY_NOT[header.role]
            reasons[why] = (*reasons.get(why, ()), name)
    if choice.table.text:
        reasons["as they hold text"] = choice.table.text
    return reasons, [name for name, header in choice.headers.items() if header is None and name not in taken]


def _base_lines(names: Sequence[str]) -> list[str]:
    """Return the table of an IMU, in comments, if a file has the three axes of an accelerometer or a gyroscope."""
    lines = []
    for key, sensors in (("a", ("acc", "accel", "acceleration", "accelerometer")), ("w", ("gyro", "gyroscope"))):
        words = {name: [token.lower() for token in tokens_of(name)] for name in names}
        axes = {w[-1]: name for name, w in words.items() if w and w[-1] in AXES and set(w) & set(sensors)}
        if len(axes) == len(AXES):
            lines.append(f"# {key} = {json.dumps([axes[axis] for axis in AXES])}")
    return ["", "# [base]  # if these are of an IMU on a base that moves", *lines] if lines else []


def _introduction(choice: _Choice) -> list[str]:
    joints, controller = json.dumps(list(choice.joints), ensure_ascii=False), choice.controller
    remarks = (*choice.table.notes, *(controller.notes[1:] if controller is not None else ()))
    return [
        f"# Which columns of {choice.table.where} hold which signals, as guessed from their headers: check it, and complete it.",
        '# Each signal may have a unit, gain, sign, offset and delay: {columns = ..., unit = "deg", sign = [1, -1]}.',
        "",
        f"# joints = {joints}  # in the order of the columns",
        "",
        *(f"# {note}" for note in remarks),
        *([""] if remarks else []),
    ]


def _placeholders(choice: _Choice, wanted: Sequence[str], times: bool, offered: Sequence[str]) -> list[str]:
    """Return lines for what is not known, in comments; `times` says whether columns of time are offered, `offered` signals."""
    lines = []
    if "time" not in choice.chosen:
        rate = choice.settings.rate_hz
        why = "if that is not the time" if times else "as there is no time"
        lines.append(f"rate_hz = {rate:g}" if rate else f"# rate_hz = 1000  # samples per second, {why}")
    if "q" not in choice.chosen and "q" not in offered:
        lines.append('# q = "q{i}"  # positions of the joints')
    if "tau" in wanted and "tau" not in offered and choice.law is None:
        lines.append('# tau = "tau{i}"  # torques of the joints')
    if choice.settings.topic is not None:
        lines.append(f"topic = {json.dumps(choice.settings.topic)}")
    return lines


def _times(names: Sequence[str], raw: Mapping[str, RawColumn]) -> list[str]:
    """Return which unrecognised columns could be the time: those that rise steadily and do not count rows."""
    rising = []
    for name in names:
        steps = np.diff(raw[name].values[:, 0])
        if len(steps) > 1 and steps.min() > 0 and np.median(steps) > 0.5 * steps.mean() and not counts_rows(name):
            rising.append(name)
    return rising


def _time_line(name: str) -> str:
    unit, column = time_unit(name), json.dumps(name, ensure_ascii=False)
    question = "is this the time?" if unit else "is this the time, and in seconds?"
    return f'# time = {{columns = {column}, unit = "{unit or "s"}"}}  # rises steadily: {question}'


_POSITIONS = {"q", "theta"}
_DRIVEN = {"tau", "tau_m", "current", "voltage"}
# What a mapping should have, and the signals of which one is enough.
_NEEDED = {"q": _POSITIONS, "tau": _DRIVEN}
_FAMILY = {
    "q": "# q = {0}  # one per joint, {1}: positions{2}?",
    "tau": "# tau = {0}  # one per joint, {1}: torques? If they are currents: current = {0}",
    "qdes": "# qdes = {0}  # one per joint, commanded, {1}: positions{2}?",
}


def _offer_line(signal: str, family: tuple[str, ...], raw: Mapping[str, RawColumn]) -> str:
    """Return columns that could be a signal as a line in comments, with their range; positions beyond two turns in degrees."""
    low = float(np.fmin.reduce(np.concatenate([raw[name].low for name in family])))
    high = float(np.fmax.reduce(np.concatenate([raw[name].high for name in family])))
    far = signal != "tau" and max(-low, high) > FAR
    entry = _entry(Channel(family, "deg" if far else ""))
    return _FAMILY[signal].format(entry, f"{low:.4g} .. {high:.4g}", " in degrees" if far else "")


def _offers(
    names: Sequence[str],
    widths: Mapping[str, int],
    count: int,
    wanted: Sequence[str],
    chosen: Mapping[str, Channel],
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return sets of columns with one number per joint, and the signals that each could be.

    What was commanded is never a torque, and what comes from a model or from elsewhere is nothing.
    """
    arrays = [(name,) for name in names if (widths[name] == count if count else widths[name] > 1)]
    result = {}
    for family in [*arrays, *_families([name for name in names if widths[name] == 1], count)]:
        role = next((role for role in map(role_of, family) if role), "")
        commands = ("qdes",) if role == "commanded" and "qdes" not in chosen else ()
        if could := commands if role else tuple(wanted):
            result[family] = could
    return result


def _families(names: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """Return sets of columns that seem to hold one number per joint, whatever they are called.

    There are `count` of them, or any number if it is 0. Their names differ in a number, or else in a word.

    >>> _families(["Achse1_Ist", "Achse2_Ist", "oil"], 2), _families(["hip_ist", "knee_ist"], 2)
    ([('Achse1_Ist', 'Achse2_Ist')], [('hip_ist', 'knee_ist')])
    """
    numbered: dict[str, list[str]] = {}
    for name in names:
        numbered.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    families = [tuple(sorted(members, key=_numbers)) for members in numbered.values()]
    families = [f for f in families if (len(f) == count if count else len(f) > 1) and _template(f) is not None]
    rest = [name for name in names if not any(name in family for family in families)]
    words: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for name in rest:
        parts = re.split(r"([^A-Za-z0-9]+)", name)
        for k in range(0, len(parts), 2) if len(parts) > 1 else ():
            words.setdefault((k, (*parts[:k], *parts[k + 1 :])), []).append(name)
    named = [tuple(members) for members in words.values() if count > 1 and len(members) == count]
    times = Counter(name for family in named for name in family)  # twice where either word could be the joint's
    return families + [family for family in named if all(times[name] == 1 for name in family)]


def _numbers(name: str) -> list[tuple[int, str]]:
    """Return the numbers in the name of a column, so that columns with a common stem are ordered by them."""
    return [as_number(digits) for digits in re.findall(r"\d+", name)]


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(names)
    return ["", f"# {what}: {listed if len(listed) <= _WIDTH else listed[:_WIDTH].rpartition(', ')[0] + ', ...'}"]


def _motor(chosen: Mapping[str, Channel], count: int, perhaps: bool) -> list[str]:
    """Return the table of the motors, in comments, if only the motor side was recorded, or `perhaps` currents."""
    lines = []
    if "q" not in chosen and "theta" in chosen:
        lines.append(f"# ratio = {[100] * count}  # d(motor angle)/d(joint angle)")
    if "tau" not in chosen and ("current" in chosen or perhaps):
        lines.append(f"# torque_per_ampere = {[0.1] * count}  # N m/A at the motor")
    if "tau" not in chosen and "voltage" in chosen:
        lines.append(f"# torque_per_volt = {[0.1] * count}  # N m/V at the motor")
    return ["", "# [motor]", *lines] if lines else []


def _drive(chosen: Mapping[str, Channel], count: int, law: TorqueLaw | None) -> list[str]:
    """Return the table of the drive: as the torque shows it, or in comments, if there are commands and no torque."""
    if law is not None:
        return ["", "[drive]", *(f"{key} = {json.dumps(value)}" for key, value in law.table.items())]
    if "qdes" not in chosen or {"tau", "tau_m", "current"} & set(chosen):
        return []
    return [
        "",
        "# If no torque was measured: how commands drove the joints.",
        "# [drive]",
        '# law = "pd"  # kp (qdes - q) - kd qd in the drive; "pd_host": on the host, at rate_hz; "duty": of a servo',
        f'# kp = {[100.0] * count}  # N m/rad; of a servo duty per rad, or servo = "xl330" and kp_register',
        f"# kd = {[1.0] * count}  # N m s/rad",
        '# unknown = ["kp"]  # if these are only a guess',
    ]
