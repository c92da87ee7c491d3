"""Suggest a column mapping for a file: what would be guessed, written as TOML with comments, to be checked and completed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.log import SIGNALS
from taupi.signals.mapping.columns import recorded_joints
from taupi.signals.mapping.guess import Header, counts_rows, parse_header, time_unit
from taupi.signals.mapping.templates import gap_in
from taupi.signals.mapping.units import DIMENSION
from taupi.signals.read import PathLike, read_log, read_table
from taupi.signals.reading import Reading

# A joint that turns farther than this from zero, rad, was most often recorded in degrees.
_FAR = 10.0
_WIDTH = 118
_MOST = 64  # unrecognised columns that are looked at


@dataclass(frozen=True)
class Suggestion:
    """A column mapping that a file's headers suggest.

    Attributes:
        text: The mapping as TOML, with comments.
        missing: What it lacks before the file can be read with it, in sentences; empty if it is complete.
    """

    text: str
    missing: tuple[str, ...] = ()


@takes(reading=Reading)
def suggest_mapping(path: PathLike, robot: Robot | None = None, *, reading: Reading) -> Suggestion:
    """Return a column mapping for the file at a `path`, as its headers suggest it, to be checked and completed.

    Unlike `taupi.read_log`, it refuses nothing: if several groups of columns could be one signal, it takes the group with one
    column per joint of the `robot`, if there is one, or else the largest, and names the others in a comment.

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
    """
    table = read_table(path, robot, reading=reading)
    headers = [header for header in map(parse_header, table.columns) if header is not None]
    measured = [header for header in headers if header.measured]
    groups = {signal: _groups(signal, measured, table.widths, robot) for signal in DIMENSION}
    chosen = {signal: group[0] for signal, group in groups.items() if group}
    missing = _missing(chosen, robot, reading)
    values = {signal: _entry(names, units) for signal, (names, units) in chosen.items()}
    ranges, error = _ranges(path, chosen, reading)
    if error and not missing:
        missing.append(error)
    count = _joint_count(chosen, table.widths)
    lines = _introduction(table.where, robot, count)
    for signal in DIMENSION:
        if signal in chosen:
            lines.append(f"{signal} = {values[signal]}{_comment(signal, chosen[signal], ranges)}")
            lines += [f"# {signal} = {_entry(*other)}  # or these" for other in groups[signal][1:]]
    unused = [h.name for h in headers if not h.measured]
    unknown_names = [name for name in table.columns if parse_header(name) is None]
    single = [name for name in unknown_names if table.widths[name] == 1][:_MOST]
    times = [] if "time" in chosen or reading.rate_hz is not None else _times(path, single, reading)
    torques = [] if {"tau", "tau_m", "current", "voltage"} & set(chosen) else _torques(single, count)
    lines += times + _placeholders(chosen, reading, bool(times), bool(torques)) + torques
    lines += _listed("Left out, as they are not measured", unused) + _listed("Not recognised", unknown_names)
    return Suggestion("\n".join([*lines, *_motor(chosen, count, bool(torques))]) + "\n", tuple(missing))


Group = tuple[tuple[str, ...], str]  # the columns of a signal, and their unit


def _groups(signal: str, headers: Sequence[Header], widths: Mapping[str, int], robot: Robot | None) -> list[Group]:
    """Return the groups of columns that could be a signal, the likeliest first: those with a common stem."""
    stems: dict[str, list[Header]] = {}
    for header in headers:
        if header.signal == signal:
            stems.setdefault(header.stem, []).append(header)
    groups: list[Group] = []
    for members in stems.values():
        if signal == "time":
            groups += [((h.name,), h.unit) for h in members]
            continue
        numbered = all(h.label.isdigit() for h in members)
        ordered = sorted(members, key=lambda h: int(h.label)) if numbered else members
        groups.append((tuple(h.name for h in ordered), ordered[0].unit))

    def likelihood(group: Group) -> tuple[bool, int]:
        count = sum(widths[name] for name in group[0])
        return (robot is not None and count != len(robot.actuated)), -count

    return groups if signal == "time" else sorted(groups, key=likelihood)


def _entry(names: Sequence[str], unit: str) -> str:
    """Return the columns of a signal as TOML: a template if they are numbered, with their unit if there is one."""
    columns = _template(names) or (names[0] if len(names) == 1 else None)
    value = json.dumps(list(names) if columns is None else columns, ensure_ascii=False)
    return f'{{columns = {value}, unit = "{unit}"}}' if unit else value


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


def _missing(chosen: Mapping[str, Group], robot: Robot | None, reading: Reading) -> list[str]:
    """Return what a mapping lacks, in sentences."""
    sentences = []
    if "time" not in chosen and reading.rate_hz is None:
        sentences.append("no column of time was recognised: state rate_hz, or which column it is.")
    if not {"q", "theta"} & set(chosen):
        sentences.append("no joint positions were recognised: state the columns of q.")
    elif "q" not in chosen:
        sentences.append("only motor positions were recognised: state the gears under [motor].")
    for signal, (names, _) in chosen.items():
        gap = gap_in(names)
        if gap and (robot is None or len(names) < len(robot.actuated)):
            sentences.append(f"{gap} is missing among the columns of {signal}.")
    return sentences


def _ranges(
    path: PathLike, chosen: Mapping[str, Group], reading: Reading
) -> tuple[dict[str, tuple[float, float]], str]:
    """Return the range of each signal, read as suggested, and the sentence that says why it could not be read."""
    columns = {
        name: {"columns": list(names), **({"unit": unit} if unit else {})} for name, (names, unit) in chosen.items()
    }
    if not columns:
        return {}, ""
    # any rate gives the same ranges
    rate = 1.0 if reading.rate_hz is None and "time" not in columns else reading.rate_hz
    try:
        log = read_log(path, reading=Reading(columns, rate, reading.topic, reading.format))
    except TaupiError as error:
        return {}, str(error)
    spans = {"time": log.time, **log.signals}
    return {k: (float(np.fmin.reduce(v, axis=None)), float(np.fmax.reduce(v, axis=None))) for k, v in spans.items()}, ""


def _comment(signal: str, group: Group, ranges: Mapping[str, tuple[float, float]]) -> str:
    names, unit = group
    parts = [f"{names[0]} ... {names[-1]}"] if len(names) > 1 else []
    if signal in ranges and signal != "time":
        low, high = ranges[signal]
        parts.append(f"{low:.4g} .. {high:.4g} {SIGNALS[signal]}")
        if signal in ("q", "theta") and not unit and max(-low, high) > _FAR:
            parts.append('degrees? Then unit = "deg"')
    return f"  # {', '.join(parts)}" if parts else ""


def _joint_count(chosen: Mapping[str, Group], widths: Mapping[str, int]) -> int:
    """Return how many joints the columns of positions, or else of other signals, belong to; 2 as an example if there are none."""
    counts = {signal: sum(widths[name] for name in names) for signal, (names, _) in chosen.items() if signal != "time"}
    return next((counts[signal] for signal in ("q", "theta") if signal in counts), max(counts.values(), default=2))


def _introduction(where: str, robot: Robot | None, count: int) -> list[str]:
    lines = [
        f"# Which columns of {where} hold which signals, as guessed from their headers: check it, and complete it.",
        '# Each signal may have a unit, gain, sign, offset and delay: {columns = ..., unit = "deg", sign = [1, -1]}.',
        "",
    ]
    names = list(recorded_joints(robot)) if robot else [f"joint{k + 1}" for k in range(count)]
    return [*lines, f"# joints = {json.dumps(names, ensure_ascii=False)}  # in the order of the columns", ""]


def _placeholders(chosen: Mapping[str, Group], reading: Reading, times: bool, torques: bool) -> list[str]:
    """Return lines for what is not known, in comments; `times` and `torques` say whether columns for these are offered."""
    lines = []
    if "time" not in chosen:
        rate = reading.rate_hz
        why = "if that is not the time" if times else "as there is no time"
        lines.append(f"rate_hz = {rate:g}" if rate else f"# rate_hz = 1000  # samples per second, {why}")
    if "q" not in chosen:
        lines.append('# q = "q{i}"  # positions of the joints')
    if not torques and not {"tau", "tau_m", "current", "voltage"} & set(chosen):
        lines.append('# tau = "tau{i}"  # torques of the joints')
    if reading.topic is not None:
        lines.append(f"topic = {json.dumps(reading.topic)}")
    return lines


def _times(path: PathLike, names: Sequence[str], reading: Reading) -> list[str]:
    """Return which unrecognised columns could be the time, in comments: those that rise steadily and do not count rows."""
    names = [name for name in names if not counts_rows(name)]
    if not names:
        return []
    try:  # read as positions, which may have any values
        columns = {"q": {"columns": list(names)}}
        log = read_log(path, reading=Reading(columns, 1.0, reading.topic, reading.format))
    except TaupiError:
        return []
    lines = []
    for name, values in zip(names, log.q.T, strict=True):
        steps = np.diff(values)
        if len(steps) > 1 and steps.min() > 0 and np.median(steps) > 0.5 * steps.mean():
            unit, column = time_unit(name), json.dumps(name, ensure_ascii=False)
            question = "is this the time?" if unit else "is this the time, and in seconds?"
            lines.append(f'# time = {{columns = {column}, unit = "{unit or "s"}"}}  # rises steadily: {question}')
    return lines


def _torques(names: Sequence[str], count: int) -> list[str]:
    """Return which unrecognised columns could be torques or currents, in comments: groups with one column per joint."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    templates = [_template(sorted(members, key=_numbers)) for members in stems.values() if len(members) == count]
    columns = [json.dumps(template, ensure_ascii=False) for template in templates if template is not None]
    return [
        f"# tau = {column}  # one per joint: torques? If they are currents: current = {column}" for column in columns
    ]


def _numbers(name: str) -> list[tuple[int, str]]:
    """Return the numbers in the name of a column, however long, so that columns with a common stem are ordered by them."""
    return [(len(digits), digits) for digits in (word.lstrip("0") for word in re.findall(r"\d+", name))]


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = ", ".join(names)
    return ["", f"# {what}: {listed if len(listed) <= _WIDTH else listed[:_WIDTH].rpartition(', ')[0] + ', ...'}"]


def _motor(chosen: Mapping[str, Group], count: int, perhaps: bool) -> list[str]:
    """Return the table of the motors, in comments, if only the motor side was recorded, or `perhaps` currents."""
    lines = []
    if "q" not in chosen and "theta" in chosen:
        lines.append(f"# ratio = {[100] * count}  # d(motor angle)/d(joint angle)")
    if "tau" not in chosen and ("current" in chosen or perhaps):
        lines.append(f"# torque_per_ampere = {[0.1] * count}  # N m/A at the motor")
    if "tau" not in chosen and "voltage" in chosen:
        lines.append(f"# torque_per_volt = {[0.1] * count}  # N m/V at the motor")
    return ["", "# [motor]", *lines] if lines else []
