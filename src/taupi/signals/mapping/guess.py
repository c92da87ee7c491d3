"""Guess which signal a column holds from its header; state the guess, and refuse headers that could mean two things."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from taupi.errors import Argument, Message, TaupiError
from taupi.signals.log import COMMANDS, SHARED
from taupi.signals.mapping import words
from taupi.signals.mapping.columns import Channel
from taupi.signals.mapping.units import DIMENSION, UNITS, example
from taupi.tables import listed, span_of

_SAY_WHICH = Message("Say which: {columns}.", columns=Argument("columns", {...}))
_MOST_WORDS = 64  # words of a header; one with more is not the name of a signal
# What a log can do without: such columns are left out where they do not fit the joints.
_BESIDE = (*COMMANDS, *SHARED)
# Why columns are left out, by the role that their headers have.
WHY_NOT = {
    "commanded": "as they are not measured",
    "derived": "as they are not measured",
    "model": "as the controller's own model, or what it estimates by it",
    "elsewhere": "as they are not of a joint",
}


@dataclass(frozen=True, slots=True)
class Header:
    """What a header means: the signal, its unit, the label of the joint, and its role.

    The role is "measured", "commanded", "model" (of the controller), "derived" (an error, or filtered) or "elsewhere" (not of a
    joint). `stem` is the header without the label.
    """

    name: str
    signal: str
    unit: str
    label: str
    role: str
    stem: str

    @property
    def measured(self) -> bool:
        """Whether it is of a joint, and measured."""
        return self.role == "measured"

    @property
    def command(self) -> str:
        """The signal that it commands; empty if it is not commanded, or to nothing that a log holds."""
        return words.COMMAND_OF.get(self.signal, "") if self.role == "commanded" else ""

    @property
    def foreign_unit(self) -> str:
        """A unit in the header that its signal cannot have, such as degrees for a velocity; empty if there is none."""
        if (other := words.unit_unknown(self.name)) and (self.label or not self.unit):
            return other
        if (
            self.signal == "time"
            and self.label
            and not self.unit
            and ":" not in (stated := words.in_brackets(self.name))
        ):
            return stated  # hh:mm:ss is how it is written
        parts = (words.split_number(word)[0] for word in self.label.lower().split("_"))
        return next((word for word in parts if word in words.NEVER_A_JOINT and word != self.unit), "")


@dataclass(frozen=True, slots=True)
class Guess:
    """The channel of each signal, its columns in the order of the labels; the labels, and notes on the guess."""

    channels: Mapping[str, Channel]
    labels: tuple[str, ...]
    notes: tuple[str, ...]


def parse_header(name: str, width: int = 1) -> Header | None:
    """Return what a header means, or None if it names no known signal; `width` is the number of columns under it.

    >>> h = parse_header("motor_pos_rad_3")
    >>> h.signal, h.unit, h.label
    ('theta', 'rad', '3')
    >>> h = parse_header("Istmoment A1 [Nm]")
    >>> h.signal, h.unit, h.label
    ('tau', 'Nm', 'A1')
    >>> parse_header("current_des_A_1").measured, parse_header("qdot2").signal, parse_header("comment")
    (False, 'qd', None)
    """
    tokens = words.tokens_of(name)
    if len(tokens) > _MOST_WORDS:
        return None
    low = [t.lower() for t in tokens]
    signal, at = _noun(name, low)
    if not signal:
        return None
    used = set() if at is None else {at}
    motor = [k for k, t in enumerate(low) if t in words.MOTOR_WORDS]
    if "present" in low or "goal" in low:  # of a servo, whose motors are its joints
        used.update(motor)
    elif motor and signal in words.ON_MOTOR_SIDE:
        signal = words.ON_MOTOR_SIDE[signal]
        used.update(motor)
    elif at is not None:
        second = at + 2 if low[at + 1 : at + 2] and low[at + 1].isdigit() else at + 1  # tau_ff1, tau1_ff
        if pair := words.PAIRS.get((low[at], low[second] if second < len(low) else "")):
            signal = pair
            used.add(second)
    roles = {k: words.ROLES[t] for k, t in enumerate(low) if t in words.ROLES and k not in used}
    roles |= dict.fromkeys(_desired(low, at, width), "commanded")
    used.update(roles)
    if words.MEASURED & set(low):  # a name inside an action says what it is
        roles = {k: role for k, role in roles.items() if low[k] not in words.OUTPUTS}
    for k, t in enumerate(low):
        if t in words.CONTEXT and k not in used:
            used.update({k, k + 1} if low[k + 1 : k + 2] == ["state"] else {k})
    signal, unit, tokens, used = _unit(signal, tokens, used)
    low = [t.lower() for t in tokens]
    label, places = _label(tokens, low, used)
    stem = " ".join(t for k, t in enumerate(low) if k not in places)
    role = next((r for r in ("elsewhere", "model", "derived", "commanded") if r in roles.values()), "measured")
    if signal == "qdd" and label.lower() in words.AXES:  # of an accelerometer
        role = "elsewhere"
    return Header(name, signal, unit, label, role, stem)


def _desired(low: Sequence[str], at: int | None, width: int) -> list[int]:
    """Return the place of a d behind the noun that means "desired", as in q_d[0], q1_d and tau_J_d."""
    after = [] if at is None else low[at + 1 : at + 3]
    if at is None or "d" not in after:
        return []
    alone = width > 1 if len(after) == 1 else after[1].isdigit()  # q_d alone may be the joint d
    if after[0] == "d":
        return [at + 1] if alone else []
    return [at + 2] if after[0].isdigit() or after[0] == "j" else []


def _noun(name: str, low: Sequence[str]) -> tuple[str, int | None]:
    """Return the signal that a header names, and the place of the word that does; none where its unit does, or nothing."""
    at = next((k for k, t in enumerate(low) if t in words.SIGNAL), None)
    if at is not None:
        return words.SIGNAL[low[at]], at
    signal = words.unit_in_brackets(name)[0]  # a unit decides where no noun does
    if not signal and low and low[0] in words.GOALS and all(t.isdigit() or t in words.FILLERS for t in low[1:]):
        signal = "q"  # what a servo is told is where to go
    return signal, None


def known_header(name: str, width: int, units: Mapping[str, str]) -> Header | None:
    """Return what a header means, with its unit from `units` if that is known from elsewhere."""
    header = parse_header(name, width)
    return header if header is None or name not in units else replace(header, unit=units[name])


def guess(names: Mapping[str, int], where: str, units: Mapping[str, str] | None = None) -> Guess:
    """Return the guess for a file's columns, name -> width (1, or k for an array), with `units` where these are known.

    If several columns could be one signal, they are refused with the candidates. What was commanded (des, ref, cmd, Soll ...) is
    never taken for a measurement: where it fits the joints, it becomes a command.
    """
    known = {n: known_header(n, width, units or {}) for n, width in names.items() if not words.numbers_segments(n)}
    headers = grippers_apart([h for h in known.values() if h is not None])
    left_out: dict[str, list[str]] = {why: [] for why in WHY_NOT.values()}
    unknown_names = [name for name, header in known.items() if header is None]
    channels: dict[str, Channel] = {}
    labels: tuple[str, ...] = ()
    for signal in DIMENSION:
        candidates = [h for h in headers if h.signal == signal and h.measured]
        if not candidates:
            continue
        if signal in _BESIDE:
            fitting = _beside(candidates, labels)
            if fitting is None:
                unknown_names += [h.name for h in candidates]
            else:
                channels[signal] = Channel(tuple(h.name for h in fitting), fitting[0].unit)
            continue
        if signal == "time" and (clock := seconds_and_nanoseconds(candidates)) is not None:
            channels["time"] = clock
            continue
        _refuse_two_readings(signal, candidates, where)
        if signal != "time":
            candidates, labels = _by_joint(candidates, labels, signal, where)
        channels[signal] = Channel(tuple(h.name for h in candidates), candidates[0].unit)
    channels |= _commands(headers, channels, labels)
    taken = {name for channel in channels.values() for name in channel.columns}
    for header in headers:
        if not header.measured and header.name not in taken:
            left_out[WHY_NOT[header.role]].append(header.name)
    notes = [_guess_note(channels)]
    notes += [f"left out, {why}: {_listed(some)}" for why, some in left_out.items() if some]
    if unknown_names:
        notes.append(f"left out, as no signal is known by these names: {_listed(unknown_names)}")
    return Guess(channels, labels, tuple(notes))


def grippers_apart(headers: Sequence[Header]) -> list[Header]:
    """Return headers in which grippers are no joints, if columns of another kind hold the same signal of the joints."""

    def of_gripper(header: Header) -> bool:
        return any(token.lower() in words.GRIPPERS for token in words.tokens_of(header.name))

    joints = {(h.signal, h.role): h.stem for h in headers if not of_gripper(h)}
    return [
        replace(h, role="elsewhere") if of_gripper(h) and joints.get((h.signal, h.role), h.stem) != h.stem else h
        for h in headers
    ]


def _commands(
    headers: Sequence[Header], channels: Mapping[str, Channel], labels: tuple[str, ...]
) -> dict[str, Channel]:
    """Return the channels of commands, in the unit of what they command if their headers state none."""
    result = {}
    for measured, command in words.COMMAND_OF.items():
        fitting = _beside([h for h in headers if h.command == command], labels)
        if fitting is not None and command not in channels:
            unit = fitting[0].unit or (channels[measured].unit if measured in channels else "")
            result[command] = Channel(tuple(h.name for h in fitting), unit)
    return result


def _refuse_two_readings(signal: str, candidates: Sequence[Header], where: str) -> None:
    """Refuse headers with a unit that their signal cannot have, and several groups of columns for one signal."""
    for header in candidates:
        if header.foreign_unit:
            raise TaupiError(
                "{where}: {header!r} is {got}, with the unit {foreign_unit}, expected a unit such as {expected}.",
                remedy="State its unit, or a gain: {columns}.",
                where=where,
                header=header.name,
                got=signal,
                foreign_unit=header.foreign_unit,
                expected=example(signal),
                columns=Argument("columns", {signal: ...}),
            )
    by_stem = {h.stem: h.name for h in reversed(candidates)}
    if len(by_stem) > 1 or (signal == "time" and len(candidates) > 1):
        ambiguous = [h.name for h in candidates if len(by_stem) == 1 or by_stem[h.stem] == h.name]
        readings = ", ".join(repr(n) for n in ambiguous[:6])
        raise TaupiError(
            "{where}: {signal} could be {readings}.",
            remedy="Say which: {columns}.",
            where=where,
            signal=signal,
            readings=readings,
            columns=Argument("columns", {signal: ...}),
        )


def seconds_and_nanoseconds(candidates: Sequence[Header]) -> Channel | None:
    """Return the channel of a time stamp that is written as two columns, such as stamp_sec and stamp_nanosec; None otherwise."""
    by_unit = {h.unit: h.name for h in candidates}
    if len(candidates) != 2 or set(by_unit) != {"s", "ns"}:
        return None
    return Channel((by_unit["s"], by_unit["ns"]), ("s", "ns"), matrix=((1.0, 1.0),))


def _beside(headers: list[Header], labels: tuple[str, ...]) -> list[Header] | None:
    """Return the headers of a signal that a log can do without, in the order of the joints; None if they do not fit them."""
    if not headers or len({h.stem for h in headers}) > 1 or len({h.unit for h in headers}) > 1:
        return None
    if len(headers) == 1 and headers[0].label == "":
        return headers
    by_label = {h.label: h for h in headers}
    numbered = _counted_alike(by_label, labels) or {label: label for label in by_label}
    if len(by_label) < len(headers) or set(numbered) != set(labels):
        return None
    return [by_label[numbered[label]] for label in labels]


def _counted_alike(own: Collection[str], labels: Collection[str]) -> dict[str, str]:
    """Return which of a signal's own labels each label of the joints is: A1 is 1, J01 is 1; none if they count differently.

    >>> _counted_alike(["A1", "A2"], ["2", "1"]), _counted_alike(["fr1", "fr2"], ["1", "2"])
    ({'1': 'A1', '2': 'A2'}, {})
    """

    def numbers(some: Collection[str]) -> dict[str, str]:
        parts = {label: re.fullmatch(r"([A-Za-z]?)0*([0-9]{1,6})", label) for label in some}
        letters = {part[1] for part in parts.values() if part}
        return {part[2]: label for label, part in parts.items() if part} if len(letters) == 1 else {}

    mine, theirs = numbers(own), numbers(labels)
    alike = set(mine) == set(theirs) and len(mine) == len(own) and len(theirs) == len(labels)
    return {theirs[number]: label for number, label in mine.items()} if alike else {}


def _by_joint(
    headers: list[Header], labels: tuple[str, ...], signal: str, where: str
) -> tuple[list[Header], tuple[str, ...]]:
    """Return the headers of a signal in the order of the joints' labels, and the labels."""
    by_label = {h.label: h for h in headers}
    if len(by_label) < len(headers):
        names = _listed([h.name for h in headers])
        raise TaupiError(
            "{where}: {signal} has several columns for one joint ({names}).",
            remedy=_SAY_WHICH,
            where=where,
            signal=signal,
            names=names,
        )
    own = list(by_label)
    if all(label.isdigit() for label in own):
        own.sort(key=words.as_number)
    if labels and (numbered := _counted_alike(own, labels)):
        by_label = {label: by_label[mine] for label, mine in numbered.items()}
    elif labels and set(own) != set(labels):
        if len(headers) == 1 and own == [""]:  # an array of several columns
            return headers, labels
        raise TaupiError(
            "{where}: {signal} has the joints {own}, but other signals {labels}{missing_column}.",
            remedy=_SAY_WHICH,
            where=where,
            signal=signal,
            own=_listed(own),
            labels=_listed(labels),
            missing_column=_missing_column(headers[0], own, labels),
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


def _guess_note(channels: Mapping[str, Channel]) -> str:
    parts = []
    for signal, channel in channels.items():
        unit = channel.unit if isinstance(channel.unit, str) else ", ".join(channel.unit)
        parts.append(f"{signal} = {span_of(channel.names)} ({unit or 'SI'})")
    return "columns guessed from their headers: " + "; ".join(parts)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return listed([n or "(none)" for n in names])


def _unit(signal: str, tokens: list[str], used: set[int]) -> tuple[str, str, list[str], set[int]]:
    """Return the signal, its unit, and the tokens, with the places of those that are used up, now with the unit's.

    A number that follows a unit of several letters without a gap, as in q_deg1, is the joint's, and a token of its own.
    """
    low = []
    for token in tokens:
        word, number = words.split_number(token.lower())
        low.append(words.SPELLED_OUT.get(word, word) + number)
    for spelled, unit in words.UNIT_WORDS:
        ampere = signal == "tau" and unit in UNITS["current"]  # an effort in ampere is a current
        if not ampere and unit not in UNITS[DIMENSION[signal]]:
            continue
        for k in range(1, len(low) - len(spelled) + 1):
            last = k + len(spelled) - 1
            number = low[last].removeprefix(spelled[-1])
            follows = number != low[last] and number.isdecimal() and len(unit) > 1
            if tuple(low[k:last]) != spelled[:-1] or not (low[last] == spelled[-1] or follows):
                continue
            places = set(range(k, last + 1))
            if places & used or (len(tokens[k]) == len(unit) == 1 and tokens[k] != unit):
                continue  # "A" is ampere, "a" may be a joint
            if follows:
                tokens = [*tokens[:last], tokens[last].removesuffix(number), number, *tokens[last + 1 :]]
                used = {p + (p > last) for p in used}
            return "current" if ampere else signal, unit, tokens, used | places
    return signal, "", tokens, used


def _label(tokens: list[str], low: list[str], used: set[int]) -> tuple[str, set[int]]:
    rest = [k for k in range(len(tokens)) if k not in used]
    while rest and low[rest[0]] in words.FILLERS:
        noun = low[rest[0] + 1 : rest[0] + 2]  # joint_position_elbow is about the elbow
        if len(rest) > 1 and not tokens[rest[1]].isdigit() and not (noun and noun[0] in words.SIGNAL):
            break
        rest = rest[1:]
    if len(rest) > 1 and tokens[rest[0]].isdigit() and low[rest[1]] in words.FILLERS:  # the first axis
        rest = [rest[0], *rest[2:]]
    return "_".join(tokens[k] for k in rest), set(rest)
