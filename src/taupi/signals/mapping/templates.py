"""The columns that a mapping names, by a list or a template, and the one that is missing among numbered ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from taupi.errors import TaupiError, shown, unknown
from taupi.signals.mapping.columns import Channel, Columns

# After a gap in numbered columns, further ones are searched for up to this number.
_MOST_JOINTS = 100

# Nothing else is read from the braces of a template: it may come from a file.
_PLACE = re.compile(r"\{joint\}|\{i(?::0([1-9]))?\}")

Pick = tuple[str, int]  # the name of a column, and the index into it if it is an array of several


def picked_columns(
    signal: str, channel: Channel, widths: Mapping[str, int], labels: Sequence[str], where: str
) -> tuple[Pick, ...]:
    """Return the columns of a signal, among those of a file with these `widths`; `labels` stand for {joint}."""
    spec = channel.columns
    if isinstance(spec, str) and is_template(spec) and spec not in widths:
        return tuple((name, 0) for name in _expand(signal, channel, widths, labels, where))
    result: list[Pick] = []
    for name in (spec,) if isinstance(spec, str) else spec:
        if name not in widths and re.search(r"\{(i|joint)[^{}]*\}", name):
            raise TaupiError(f"{signal} is {shown(name)}, expected a template with {{i}} or {{joint}} in it.")
        if name not in widths:
            raise unknown("column", name, widths, where)
        result += [(name, k) for k in range(widths[name])]
    if not result:
        raise TaupiError(f"{where}: {signal} has no columns.")
    return tuple(result)


def is_template(text: str) -> bool:
    """Return whether a text has {i}, {i:02} or {joint} in it; nothing else in braces has a meaning."""
    return _PLACE.search(text) is not None


def filled(template: str, i: int, joint: str = "") -> str:
    """Return a template with a number for each {i}, or {i:02}, and a label for each {joint}; all other text stays as it is.

    >>> filled("arm.{joint}.{i}", 2, "elbow"), filled("q{i:02}{i.real}", 1)
    ('arm.elbow.2', 'q01{i.real}')
    """
    return _PLACE.sub(lambda place: joint if place[0] == "{joint}" else f"{i:0{place[1] or 1}}", template)


def _expand(signal: str, channel: Channel, widths: Mapping[str, int], labels: Sequence[str], where: str) -> list[str]:
    template = str(channel.columns)

    def column(i: int) -> str:
        return filled(template, i)

    if "{joint}" in template:  # {i} then counts from 0
        if not labels:
            raise TaupiError(f"{signal} is {template!r} but no joints are named. Add joints = [...] to the mapping.")
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


def missing_column(column: str, signal: str, names: Sequence[str], where: str, why: str) -> TaupiError:
    """Return the error for a column that a template should have found in addition to the `names` that it has found."""
    some = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
    return TaupiError(f"{where}: {column} is missing: {signal} has {some}, and {why}.")


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
