"""How controllers and recorders name the columns of their logs: one table, `controllers.toml`, which users and packages extend.

A mapping adds tables under [controllers], and a package by an entry point of the group `taupi.controllers`, whose object is a
mapping, or the path of a TOML file, with a table per controller:

    [project.entry-points."taupi.controllers"]
    my_company = "my_package:CONTROLLERS"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from taupi.errors import TaupiError
from taupi.extensions import Extensions
from taupi.input_files import parse_toml, read_text
from taupi.signals.mapping.columns import Channel, Columns, is_template
from taupi.signals.mapping.guess import parse_header
from taupi.signals.mapping.words import numbers_segments
from taupi.tables import listed, span_of

# What installed packages add: tables, or the path of a TOML file.
ADDED: Extensions[Mapping[str, Any] | Path] = Extensions("table of controllers", "taupi.controllers")
_OWN = ("when", "note", "left_out")
_PLACE = re.compile(r"\{i\}|\{joint\}")


@dataclass(frozen=True, slots=True)
class ControllerColumns:
    """A controller, by the columns of its logs.

    Attributes:
        name: Its name.
        columns: The columns of its signals, of which a file may have some.
        when: Columns that a file must have to be one of its logs; by default the columns of its positions.
        note: What its users should know.
        left_out: Columns that are not what they seem, as templates, each with the reason.
    """

    name: str
    columns: Columns
    when: tuple[str, ...]
    note: str
    left_out: Mapping[str, str]

    @classmethod
    def of(cls, name: str, data: object, where: str) -> ControllerColumns:
        """Return the controller in a table, such as one of `controllers.toml`."""
        at = f"{where}: controllers.{name}"
        if not isinstance(data, Mapping):
            raise TaupiError("{at} is {got!r}, expected a table.", at=at, got=data)
        own = {key: data[key] for key in _OWN if key in data}
        columns = Columns.of_table({k: v for k, v in data.items() if k not in _OWN}, at)
        when, note, left_out = own.get("when", ()), own.get("note", ""), own.get("left_out", {})
        positions = columns.channels.get("q") or columns.channels.get("theta")
        if positions is None:
            raise TaupiError("{at} has no columns of q, by which its logs are recognised.", at=at)
        texts = [*when, note, *left_out, *left_out.values()] if isinstance(left_out, Mapping) else [None]
        if isinstance(when, str) or not all(isinstance(text, str) for text in texts):
            raise TaupiError(
                "{at}: expected texts: when = [...], note = '...', left_out = {{'column_{{i}}' = 'why'}}.", at=at
            )
        return cls(name, columns, tuple(when), note, left_out)

    def log_of(self, widths: Mapping[str, int]) -> KnownLog | None:
        """Return what the columns of a file are; None if the file is not one of its logs."""
        if not all(name in widths for name in self.when):
            return None
        found = {signal: matching(channel, widths) for signal, channel in self.columns.channels.items()}
        found = {signal: names for signal, names in found.items() if names}
        if not {"q", "theta"} & set(found):
            return None
        channels = {s: replace(self.columns.channels[s], columns=tuple(names)) for s, names in found.items()}
        labels = list(found.get("q") or found["theta"])
        template = self.columns.channels["q" if "q" in found else "theta"].columns
        named = isinstance(template, str) and "{joint}" in template
        reasons: dict[str, list[str]] = {}
        for pattern, why in self.left_out.items():
            for name in matching(Channel(pattern), widths):
                reasons.setdefault(why, []).append(name)
        taken = {name for names in found.values() for name in names}
        taken |= {name for name in widths if numbers_segments(name) or _is_time(name)}
        beside = [n for n in widths if n not in taken and not any(n in names for names in reasons.values())]
        spans = (f"{s} = {span_of(list(names))} ({channels[s].unit or 'SI'})" for s, names in found.items())
        notes = [f"columns of {self.name}: {'; '.join(spans)}", *([self.note] if self.note else [])]
        notes += [f"left out, {why}: {span_of(names)}" for why, names in reasons.items()]
        if beside:
            notes.append(f"left out: {listed(beside)}")
        names = tuple((found.get("q") or found["theta"]).values()) if named else ()
        rate = None if "time" in channels else self.columns.rate_hz
        notes += [f"no time in the file: {rate:g} Hz, as {self.name} records"] if rate else []
        reasoned = {why: tuple(some) for why, some in reasons.items()}
        return KnownLog(self.name, channels, names if len(names) == len(labels) else (), tuple(notes), rate, reasoned)


@dataclass(frozen=True, slots=True)
class KnownLog:
    """What the columns of a controller's log are: each signal's channel, the joints if it names them, notes, the usual rate.

    `left_out` are columns that are not what they seem, by the reason.
    """

    name: str
    channels: Mapping[str, Channel]
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    rate_hz: float | None = None
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def known_log(widths: Mapping[str, int], added: Mapping[str, object]) -> KnownLog | None:
    """Return what the columns of a file are, if a controller is known by them; `added` are tables of the user's mapping."""
    for controller in (*(ControllerColumns.of(name, data, "columns") for name, data in added.items()), *_known()):
        if (log := controller.log_of(widths)) is not None:
            return log
    return None


def matching(channel: Channel, widths: Mapping[str, int]) -> dict[str, str]:
    """Return the columns of a file that a channel names, in order, each with what stands for {i} or {joint}.

    >>> matching(Channel("A{i}_Pos"), {"A2_Pos": 1, "t": 1, "A1_Pos": 1, "A10_Pos": 1})
    {'A1_Pos': '1', 'A2_Pos': '2', 'A10_Pos': '10'}
    """
    names = channel.names
    if isinstance(channel.columns, str) and is_template(names[0]):
        pieces = [re.escape(piece) for piece in _PLACE.split(names[0])]
        places = [r"(\d{1,6})" if place == "{i}" else "(.+?)" for place in _PLACE.findall(names[0])]
        pattern = re.compile("".join(a + b for a, b in zip(pieces, [*places, ""], strict=True)))
        hits = {name: match[1] for name in widths if (match := pattern.fullmatch(name))}
        numbered = all(label.isdigit() for label in hits.values())
        return dict(sorted(hits.items(), key=lambda item: int(item[1]))) if numbered else hits
    return {name: "" for name in names} if all(name in widths for name in names) else {}


@cache
def _known() -> tuple[ControllerColumns, ...]:
    """Return the controllers of packages, which come first, and then the ones in our own table."""
    own = Path(__file__).with_name("controllers.toml")
    return (*_registered(), *_of_tables(parse_toml(own.read_text(encoding="utf-8"), own.name), own.name))


def _registered() -> Iterator[ControllerColumns]:
    for name, tables in ADDED.parts():
        data = tables if isinstance(tables, Mapping) else parse_toml(read_text(tables, "controllers"), name)
        yield from _of_tables(data, name)


def _of_tables(data: Mapping[str, object], where: str) -> Iterator[ControllerColumns]:
    return (ControllerColumns.of(name, table, where) for name, table in data.items())


def _is_time(name: str) -> bool:
    header = parse_header(name)
    return header is not None and header.signal == "time"
