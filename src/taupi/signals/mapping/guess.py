"""Guess which signal a column holds from its header; state the guess, and refuse headers that could mean two things."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taupi.errors import Argument, TaupiError
from taupi.signals.mapping.units import DIMENSION, UNITS

_SAY_WHICH = ("Say which: ", Argument("columns", {...}), ".")

_WORDS: dict[str, tuple[str, ...]] = {
    "time": ("t", "time", "timestamp", "timestamps", "stamp", "secs", "seconds", "clock"),
    "q": ("q", "pos", "position", "positions", "angle", "angles", "jpos"),
    "qd": ("qd", "dq", "vel", "velocity", "velocities", "qdot", "speed", "jvel"),
    "qdd": ("qdd", "ddq", "acc", "accel", "acceleration", "accelerations", "qddot", "jacc"),
    "tau": ("tau", "torque", "torques", "trq", "effort", "efforts", "force", "forces"),
    "current": ("current", "currents", "cur", "amps", "iq"),
    "voltage": ("voltage", "voltages", "volts"),
    "theta": ("theta", "thetas"),
    "thetad": ("thetad", "dtheta", "thetadot"),
    "thetadd": ("thetadd", "ddtheta", "thetaddot"),
    "tau_m": ("taum",),
    "tau_known": ("tauknown",),
}
_SIGNAL = {word: signal for signal, words in _WORDS.items() for word in words}
_MOTOR = {"q": "theta", "qd": "thetad", "qdd": "thetadd", "tau": "tau_m"} | {
    s: s for s in ("theta", "current", "voltage")
}
_COMMANDED = (
    "des",
    "desired",
    "target",
    "ref",
    "reference",
    "cmd",
    "command",
    "commanded",
    "setpoint",
    "goal",
    "nominal",
)
_ERRORS = ("err", "error", "std", "sigma", "var", "filtered", "filt")
_FILLERS = ("joint", "joints", "j", "axis", "actual", "measured", "meas", "act", "state", "states", "link")
# Units as headers spell them, longest first: "rad_s2" is two words.
_UNIT_WORDS = sorted(
    {tuple(re.split(r"[^a-z0-9]+", u.lower())): u for units in UNITS.values() for u in units}.items(),
    key=lambda item: -len(item[0]),
)
# Units of time that headers spell out.
_TIME_WORDS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"), "ns"),
}
# Words of columns that count rows, which rise as steadily as time does.
_COUNTERS = {
    "index",
    "idx",
    "row",
    "rows",
    "sample",
    "samples",
    "count",
    "counter",
    "seq",
    "sequence",
    "frame",
    "id",
    "line",
}
_VOCABULARY = {*_SIGNAL, *_FILLERS, "motor", "mot", "m", "known"}
_MOST_WORDS = 64  # words of a header; one with more is not the name of a signal


@dataclass(frozen=True, slots=True)
class Header:
    """What a header means: the signal, its unit, the label of the joint, and whether it was measured.

    `measured` is False for commanded values, errors and the like. `stem` is the header without the label.
    """

    name: str
    signal: str
    unit: str
    label: str
    measured: bool
    stem: str


@dataclass(frozen=True, slots=True)
class Guess:
    """The columns of each signal, in the order of the labels, their units, and notes on the guess."""

    columns: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    labels: tuple[str, ...]
    notes: tuple[str, ...]


def parse_header(name: str) -> Header | None:
    """Return what a header means, or None if it names no known signal.

    >>> h = parse_header("motor_pos_rad_3")
    >>> h.signal, h.unit, h.label
    ('theta', 'rad', '3')
    >>> parse_header("current_des_A_1").measured, parse_header("qdot2").signal, parse_header("comment")
    (False, 'qd', None)
    """
    tokens = _tokens(name)
    if len(tokens) > _MOST_WORDS:
        return None
    low = [t.lower() for t in tokens]
    at = next((k for k, t in enumerate(low) if t in _SIGNAL), None)
    if at is None:
        return None
    signal = _SIGNAL[low[at]]
    used = {at}
    motor = [k for k, t in enumerate(low) if t in ("motor", "mot")]
    if motor and signal in _MOTOR:
        signal = _MOTOR[signal]
        used.update(motor)
    elif low[at] == "tau" and low[at + 1 : at + 2] in (["m"], ["known"]):
        signal = f"tau_{low[at + 1]}"
        used.add(at + 1)
    not_measured = [k for k, t in enumerate(low) if t in _COMMANDED or t in _ERRORS]
    used.update(not_measured)
    signal, unit, places = _unit(signal, tokens, used)
    used.update(places)
    label, places = _label(tokens, low, used)
    stem = " ".join(t for k, t in enumerate(low) if k not in places)
    return Header(name, signal, unit, label, not not_measured, stem)


def time_unit(name: str) -> str | None:
    """Return the unit of time that is a word of a header, such as "ms"; None if there is none.

    >>> time_unit("Zeit_ms"), time_unit("nanoseconds"), time_unit("params")
    ('ms', 'ns', None)
    """
    words = [token.lower() for token in _tokens(name)]
    return next((_TIME_WORDS.get(w, w) for w in words if w in _TIME_WORDS or w in UNITS["time"]), None)


def counts_rows(name: str) -> bool:
    """Return whether a header says that its column counts rows.

    >>> counts_rows("sample_index"), counts_rows("Zeit")
    (True, False)
    """
    return any(token.lower() in _COUNTERS for token in _tokens(name))


def guess(names: Mapping[str, int], where: str) -> Guess:
    """Return the guess for a file's columns, name -> width (1, or k for an array of k columns).

    If several columns could be one signal, they are refused with the candidates; commanded values (des, ref, cmd ...) are never
    taken for measured ones.
    """
    headers = [h for h in map(parse_header, names) if h is not None]
    unknown_names = [n for n in names if parse_header(n) is None]
    not_measured = [h.name for h in headers if not h.measured]
    columns: dict[str, tuple[str, ...]] = {}
    units: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    for signal in DIMENSION:
        candidates = [h for h in headers if h.signal == signal and h.measured]
        if not candidates:
            continue
        by_stem = {h.stem: h.name for h in reversed(candidates)}
        if len(by_stem) > 1 or (signal == "time" and len(candidates) > 1):
            ambiguous = [h.name for h in candidates if len(by_stem) == 1 or by_stem[h.stem] == h.name]
            readings = ", ".join(repr(n) for n in ambiguous[:6])
            which = Argument("columns", {signal: ...})
            raise TaupiError(f"{where}: {signal} could be {readings}.", remedy=("Say which: ", which, "."))
        if signal != "time":
            candidates, labels = _by_joint(candidates, labels, signal, where)
        columns[signal] = tuple(h.name for h in candidates)
        units[signal] = candidates[0].unit
    notes = [_guess_note(columns, units)]
    if not_measured:
        notes.append(f"left out, as they are not measured: {_listed(not_measured)}")
    if unknown_names:
        notes.append(f"left out, as no signal is known by these names: {_listed(unknown_names)}")
    return Guess(columns, units, labels, tuple(notes))


def _by_joint(
    headers: list[Header], labels: tuple[str, ...], signal: str, where: str
) -> tuple[list[Header], tuple[str, ...]]:
    """Return the headers of a signal in the order of the joints' labels, and the labels."""
    by_label = {h.label: h for h in headers}
    if len(by_label) < len(headers):
        names = _listed([h.name for h in headers])
        raise TaupiError(f"{where}: {signal} has several columns for one joint ({names}).", remedy=_SAY_WHICH)
    own = list(by_label)
    if all(label.isdigit() for label in own):
        own.sort(key=lambda label: (len(label.lstrip("0")), label.lstrip("0")))  # as numbers, however long
    if labels and set(own) != set(labels):
        if len(headers) == 1 and own == [""]:  # an array of several columns
            return headers, labels
        raise TaupiError(
            f"{where}: {signal} has the joints {_listed(own)}, but other signals {_listed(labels)}"
            f"{_missing_column(headers[0], own, labels)}.",
            remedy=_SAY_WHICH,
        )
    order = labels or tuple(own)
    return [by_label[label] for label in order], order


def _missing_column(header: Header, own: Sequence[str], labels: Sequence[str]) -> str:
    """Return which column, or which joint of other signals, is missing, if that is the only difference."""
    here, there = ([label for label in a if label not in b] for a, b in ((labels, own), (own, labels)))
    if (here and there) or not header.label:
        return ""
    if here:
        before, _, behind = header.name.rpartition(header.label)
        return f": {before}{here[0]}{behind} is missing"
    return f": joint {there[0]} is missing there"


def _guess_note(columns: Mapping[str, tuple[str, ...]], units: Mapping[str, str]) -> str:
    parts = []
    for signal, names in columns.items():
        span = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
        parts.append(f"{signal} = {span} ({units[signal] or 'SI'})")
    return "columns guessed from their headers: " + "; ".join(parts)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    names = [n or "(none)" for n in names]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _tokens(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", name)
    result: list[str] = []
    for token in re.split(r"[^A-Za-z0-9]+", spaced):
        split = re.fullmatch(r"([A-Za-z]+)(\d+)", token)
        if split and split[1].lower() in _VOCABULARY:
            result += [split[1], split[2]]
        elif token:
            result.append(token)
    return result


def _unit(signal: str, tokens: list[str], used: set[int]) -> tuple[str, str, set[int]]:
    low = [t.lower() for t in tokens]
    present = set(low)
    for words, unit in _UNIT_WORDS:
        if words[0] not in present:
            continue
        for k in range(1, len(low) - len(words) + 1):
            places = set(range(k, k + len(words)))
            if tuple(low[k : k + len(words)]) != words or places & used:
                continue
            if len(unit) == 1 and tokens[k] != unit:  # "A" is ampere, "a" may be a joint
                continue
            if unit in UNITS[DIMENSION[signal]]:
                return signal, unit, places
            if signal == "tau" and unit in UNITS["current"]:  # an effort in ampere is a current
                return "current", unit, places
    return signal, "", set()


def _label(tokens: list[str], low: list[str], used: set[int]) -> tuple[str, set[int]]:
    rest = [k for k in range(len(tokens)) if k not in used]
    while rest and low[rest[0]] in _FILLERS and (len(rest) == 1 or tokens[rest[1]].isdigit()):
        rest = rest[1:]
    return "_".join(tokens[k] for k in rest), set(rest)
