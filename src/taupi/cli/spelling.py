"""Python arguments spelled as options of a command: `force=True` is `--force`, `cutoff_hz` is `--cutoff`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from taupi.errors import Argument, InPython, Spelling

# Arguments whose option has a different name than in Python; of several, a command has the first.
OPTION_NAMES = {
    "torque_limits": ("torque_limit",),
    "rate_limits": ("rate_limit",),
    "payloads": ("payload_at",),
    "client": ("scheduler",),
    "path": ("fmu", "output"),
}


def spelling_of(parameters: Iterable[Any]) -> Spelling:
    """Return the function that spells arguments as a command's options; arguments without an option stay as in Python."""
    options = {p.name: p for p in parameters if any(flag.startswith("--") for flag in p.opts)}

    def spell(part: Argument | InPython) -> str:
        if isinstance(part, InPython):
            return part.elsewhere
        names = (*OPTION_NAMES.get(part.name, ()), part.name)
        option = next((options[name] for name in names if name in options), None)
        return str(part) if option is None else spelled(option, part)

    return spell


def spelling_in(command: str) -> Spelling:
    """Return the function that spells arguments as the command of this name does."""
    from typer.main import get_command

    from taupi.cli.main import app

    commands: Mapping[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return spelling_of(commands[command].params)


def spelled(option: Any, argument: Argument) -> str:
    """Return an argument as its option is written: the flag, and the value if there is one.

    >>> from types import SimpleNamespace
    >>> columns = SimpleNamespace(opts=["--columns"], secondary_opts=[], metavar="FILE")
    >>> spelled(columns, Argument("columns", {"time": ...}))
    "--columns FILE with {'time': ...}"
    >>> limits = SimpleNamespace(opts=["--limits"], secondary_opts=[], metavar="FILE.toml")
    >>> spelled(limits, Argument("limits", {"joint1": {"lower": -1, "upper": ...}}))
    '--limits FILE.toml with joint1.lower = -1, joint1.upper = ...'
    >>> elastic = SimpleNamespace(opts=["--elastic"], secondary_opts=["--rigid"], metavar=None)
    >>> spelled(elastic, Argument("elastic", False))
    '--rigid'
    """
    value, flag = argument.value, long_flag(option.opts)
    if value is None or value is True:
        return flag
    if value is False:
        return long_flag(option.secondary_opts) or f"no {flag}"
    placeholder = option.metavar or "VALUE"
    if value is ...:
        return f"{flag} {placeholder}"
    if isinstance(value, Mapping) and placeholder.endswith(".toml"):
        return f"{flag} {placeholder} with {', '.join(_toml(value))}"
    if isinstance(value, Mapping | set):  # the content of a file
        return f"{flag} {placeholder} with {argument.value_text()}"
    return f"{flag} {shlex.quote(str(value))}"


def _toml(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table, keys of inner tables with a dot."""
    for key, value in table.items():
        name = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key)
        if isinstance(value, Mapping):
            yield from (f"{name}.{line}" for line in _toml(value))
        else:
            yield f"{name} = {'...' if value is ... else json.dumps(value)}"


def long_flag(flags: Iterable[str]) -> str:
    """Return the flag of an option that begins with two dashes, nothing if there is none, as for arguments."""
    return next((flag for flag in flags if flag.startswith("--")), "")
