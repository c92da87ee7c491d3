"""What to type next after a command that shows something; printed on a terminal, as other commands do for their files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

# By the name of a command: what to type next, with {parameters} of the command; the first entry whose parameters were given.
STEPS: Mapping[str, tuple[str, ...]] = {
    "info": ("taupi view {robot}", "taupi info puma560"),
    "base": ("taupi excite {robot} --duration 10 -o motion",),
    "regressor": ("taupi emit {robot} regressor --language c -o source",),
    "explicit": ("taupi emit {robot} {what} --language c -o source",),
    "log": (
        "taupi identify {robot} {file} --columns {columns} -o out",
        "taupi identify {robot} {file} -o out",
        "taupi log {file} --robot ROBOT --columns {columns}",
        "taupi log {file} --robot ROBOT",
    ),
    "lump": ("taupi explicit {robot}",),
    "bounds": ("taupi control {robot} -o control",),
    "validate": ("taupi report {fit} -o report.html",),
    "compare": ("taupi validate {first} {second}",),
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


def next_step(command: str, values: Mapping[str, Any]) -> str | None:
    """Return what to type after a command with these values, None if the command prints it itself.

    >>> next_step("info", {"robot": "my arm.urdf"})
    "taupi view 'my arm.urdf'"
    """
    words = {k: _word(v) for k, v in values.items() if v not in (None, (), [], "", False)}
    if SAID.get(command) in words:
        return None
    for step in STEPS.get(command, ()):
        try:
            return step.format_map(words)
        except KeyError:
            continue
    return None


def _word(value: Any) -> str:
    first = value[0] if isinstance(value, list | tuple) else value
    return shlex.quote(str(first))
