"""Guess which header is which signal, say so, and refuse where two readings are possible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from taupi.errors import Argument, TaupiError
from taupi.signals.units import DIMENSION, UNITS

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
}
_SIGNAL = {word: signal for signal, words in _WORDS.items() for word in words}
_MOTOR = {"q": "theta", "qd": "thetad", "qdd": "thetadd", "tau": "tau_m"} | {
    s: s for s in ("theta", "current", "voltage")
}
_WANTED = ("des", "desired", "target", "ref", "reference", "cmd", "command", "commanded", "setpoint", "goal", "nominal")
_ERRORS = ("err", "error", "std", "sigma", "var", "filtered", "filt")
_FILLERS = ("joint", "joints", "j", "axis", "actual", "measured", "meas", "act", "state", "states", "link")
# Units as they stand in headers, longest first: "rad_s2" is two words.
_UNIT_WORDS = sorted(
    {tuple(re.split(r"[^a-z0-9]+", u.lower())): u for units in UNITS.values() for u in units}.items(),
    key=lambda item: -len(item[0]),
)
_VOCABULARY = {*_SIGNAL, *_FILLERS, "motor", "mot", "m"}


@dataclass(frozen=True, slots=True)
class Header:
    """What a header says: the signal, its unit, the joint's label, and whether it is a wanted, not a measured, value."""

    name: str
    signal: str
    unit: str
    label: str
    wanted: bool
    stem: str


@dataclass(frozen=True, slots=True)
class Guess:
    """The columns of each signal, in the order of the labels, their unit, and what to say about it."""

    columns: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    labels: tuple[str, ...]
    notes: tuple[str, ...]


def parse(name: str) -> Header | None:
    """Return what a header says, or None where it says nothing that we know.

    >>> h = parse("motor_pos_rad_3")
    >>> h.signal, h.unit, h.label
    ('theta', 'rad', '3')
    >>> parse("current_des_A_1").wanted, parse("qdot2").signal, parse("comment")
    (True, 'qd', None)
    """
    tokens = _tokens(name)
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
    elif low[at] == "tau" and "m" in low[at + 1 : at + 2]:
        signal = "tau_m"
        used.add(at + 1)
    aside = [k for k, t in enumerate(low) if t in _WANTED or t in _ERRORS]
    used.update(aside)
    signal, unit, places = _unit(signal, tokens, used)
    used.update(places)
    label, places = _label(tokens, low, used)
    stem = " ".join(t for k, t in enumerate(low) if k not in places)
    return Header(name, signal, unit, label, bool(aside), stem)


def guess(names: Mapping[str, int], where: str) -> Guess:
    """Return the guess for a file's columns, name -> width (1, or k for an array of k columns).

    Two readings of one signal are refused with the candidates; wanted values (des, ref, cmd ...) never stand for measured.
    """
    headers = [h for h in map(parse, names) if h is not None]
    left = [n for n in names if parse(n) is None]
    aside = [h.name for h in headers if h.wanted]
    columns: dict[str, tuple[str, ...]] = {}
    units: dict[str, str] = {}
    labels: tuple[str, ...] = ()
    for signal in DIMENSION:
        mine = [h for h in headers if h.signal == signal and not h.wanted]
        if not mine:
            continue
        stems = list(dict.fromkeys(h.stem for h in mine))
        if len(stems) > 1 or (signal == "time" and len(mine) > 1):
            first = (
                [next(h.name for h in mine if h.stem == s) for s in stems] if len(stems) > 1 else [h.name for h in mine]
            )
            told = ", ".join(repr(n) for n in first[:6])
            which = Argument("columns", {signal: ...})
            raise TaupiError(f"{where}: {signal} could be {told}.", remedy=("Say which: ", which, "."))
        if signal != "time":
            mine, labels = _ordered(mine, labels, signal, where)
        columns[signal] = tuple(h.name for h in mine)
        units[signal] = mine[0].unit
    notes = [_told(columns, units)]
    if aside:
        notes.append(f"left out, as they are not measured: {_few(aside)}")
    if left:
        notes.append(f"left out, as no signal is known by these names: {_few(left)}")
    return Guess(columns, units, labels, tuple(notes))


def _ordered(
    mine: list[Header], labels: tuple[str, ...], signal: str, where: str
) -> tuple[list[Header], tuple[str, ...]]:
    by_label = {h.label: h for h in mine}
    if len(by_label) < len(mine):
        told = _few([h.name for h in mine])
        raise TaupiError(f"{where}: {signal} has several columns for one joint ({told}).", remedy=_SAY_WHICH)
    own = list(by_label)
    if all(label.isdigit() for label in own):
        own.sort(key=int)
    if labels and set(own) != set(labels):
        if len(mine) == 1 and own == [""]:  # an array of several columns
            return mine, labels
        raise TaupiError(
            f"{where}: {signal} has the joints {_few(own)}, but other signals {_few(labels)}.", remedy=_SAY_WHICH
        )
    order = labels or tuple(own)
    return [by_label[label] for label in order], order


def _told(columns: Mapping[str, tuple[str, ...]], units: Mapping[str, str]) -> str:
    parts = []
    for signal, names in columns.items():
        span = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
        parts.append(f"{signal} = {span} ({units[signal] or 'SI'})")
    return "columns guessed from their headers: " + "; ".join(parts)


def _few(names: list[str] | tuple[str, ...]) -> str:
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
    for words, unit in _UNIT_WORDS:
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
