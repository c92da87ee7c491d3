"""What to type next after a command that shows something; printed on a terminal, as other commands do for their files.

Options that were typed and that the next command has as well are typed again, so that it reads the same robot and logs.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from taupi.cli.spelling import long_flag

# By the name of a command: what to type next, with {parameters} of the command; the first entry whose parameters were given.
STEPS: Mapping[str, tuple[str, ...]] = {
    "info": ("taupi view {robot}", "taupi info puma560"),
    "base": ("taupi excite {robot} --duration 10 -o motion",),
    "regressor": ("taupi emit {robot} regressor --language c -o source",),
    "explicit": ("taupi emit {robot} {what} --language c -o source",),
    "log": (
        "taupi identify {robot} {file} -o out",
        "taupi log {file} --robot ROBOT",
    ),
    "lump": ("taupi explicit {robot}",),
    "bounds": ("taupi control {robot} -o control",),
    "validate": ("taupi report {fit} --validate {logs[0]} -o report.html",),
    "compare": (
        "taupi identify {robot} {first} -o out",
        "taupi validate {first} {logs}",
        "taupi report {first} -o report.html",
    ),
    "payload": ("open {output}/report.html in a browser", "taupi payload {fit} {logs} -o tool"),
    "study": ("open {output} in a browser", "taupi study {name} {robot} -o study.html"),
    "contacts": (
        "taupi emit {fit} observer --thresholds {output} -o observer",
        "taupi emit {fit} observer -o observer",
    ),
    "reproduce": (
        "open {output}/report.html in a browser",
        "taupi reproduce {name} -o study",
        "taupi reproduce lecture",
    ),
}


# By the name of a command: the parameter with which the command itself prints the next step.
SAID: Mapping[str, str] = {"log": "suggest"}

# Options that are about the output of one command, and by the name of a command those that the next one means otherwise.
_OWN = ("output", "force", "as_json")
_NOT_CARRIED: Mapping[str, tuple[str, ...]] = {
    "bounds": ("tolerance", "seed"),  # of the search for bounds; of a simulation
}


class _Words(tuple[str, ...]):
    """Words of a command line, which a template shows side by side."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return " ".join(self)


def next_step(command: str, values: Mapping[str, Any]) -> str | None:
    """Return what to type after a command with these values, None if the command prints it itself.

    >>> next_step("info", {"robot": "my arm.urdf", "lock": ["elbow"], "as_json": False})
    "taupi view 'my arm.urdf' --lock elbow"
    """
    words = {k: _words(v) for k, v in values.items() if v not in (None, (), [], "", False)}
    if SAID.get(command) in words:
        return None
    for step in STEPS.get(command, ()):
        try:
            return " ".join([step.format_map(words), *_carried(command, step.split(), values)])
        except KeyError:
            continue
    return None


def _words(value: Any) -> _Words:
    from taupi.signals.formats.sources import shown_address

    return _Words(
        shlex.quote(shown_address(str(each))) for each in (value if isinstance(value, list | tuple) else [value])
    )


def _carried(command: str, step: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """Return the options of a command that differ from their defaults and that the next command has as well, as typed."""
    from taupi.cli.main import command_of

    if step[0] != "taupi":
        return []
    theirs, left_out = _options(command_of(step[1])), (*_OWN, *_NOT_CARRIED.get(command, ()))
    typed: list[str] = []
    for name, option in _options(command_of(command)).items():
        value = values.get(name)
        changed = value not in (None, (), [], option.default)
        if changed and name in theirs and name not in left_out and long_flag(theirs[name].opts) not in step:
            typed += _typed(theirs[name], value)
    return typed


def _options(command: Any) -> dict[str, Any]:
    return {p.name: p for p in command.params if long_flag(p.opts)}


def _typed(option: Any, value: Any) -> list[str]:
    """Return an option with its value, or its values, as words that a shell takes."""
    flag = long_flag(option.opts)
    if isinstance(value, bool):
        return [flag if value else long_flag(option.secondary_opts)]
    return [word for each in _words(value) for word in (flag, each)]
