"""A command: how its options are spelled in errors, how it ends, and what to type after it."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import typer
from typer.core import TyperCommand

from taupi.cli.exit_codes import ExitCode
from taupi.cli.terminal import on_a_terminal
from taupi.errors import Argument, InPython, NotIdentifiedError, Spelling, TaupiError, TaupiWarning
from taupi.version import __version__

if TYPE_CHECKING:
    from click import Command as ClickCommand
    from click import Context, HelpFormatter, Parameter

TRACEBACK = "TAUPI_TRACEBACK"  # the environment variable with which a command shows where an error was raised
# ClickException, of click or of the copy of it that newer releases of Typer have.
_UsageErrors: type[Exception] = cast("type[Exception]", typer.BadParameter.__mro__[2])
SERVING = ("view", "studio", "worker")  # commands that run until they are stopped
ALL = "--help-all"  # shows every option of a command in which `--help` shows the everyday ones
# By the name of a command with more options than a screen has lines: those that most calls need.
EVERYDAY: Mapping[str, tuple[str, ...]] = {
    "identify": (
        *("output", "validate", "columns", "estimator", "terms", "cutoff_hz"),
        *("urdf", "anyway", "force", "as_json"),
    )
}


class Command(TyperCommand):
    """A command whose errors are one sentence on standard error and an exit status, never a traceback."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words after the command."""
        if self.name in EVERYDAY and ALL in args[: args.index("--") if "--" in args else None]:
            ctx.meta[ALL] = True
            args = ["--help"]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Return the words of the usage line after the command, where releases of Typer differ in the brackets that they add."""
        words = []
        for argument in (p for p in self.get_params(ctx) if p.param_type_name == "argument"):
            word = argument.metavar or str(argument.name).upper()
            words.append(word if argument.required or word.startswith("[") else f"[{word}]")
        return ["[OPTIONS]", *words]

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the options by panel; where everyday ones are named and not all were asked for, only the flags of the others."""
        arguments: list[tuple[str, str]] = []
        panels: dict[str, list[tuple[str, str]]] = {"Options": []}
        folded: dict[str, list[str]] = {}
        everyday = EVERYDAY.get(str(self.name), ())
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            if parameter.param_type_name == "argument":
                arguments.append(record)
            elif not everyday or parameter.name in (*everyday, "help"):
                panels.setdefault("Options" if everyday else _panel(parameter, "Options"), []).append(record)
            elif ctx.meta.get(ALL):
                panels.setdefault(_panel(parameter, "Others"), []).append(record)
            else:
                folded.setdefault(_panel(parameter, "Others"), []).append(long_flag(parameter.opts))
        if everyday:
            panels["Options"].append((ALL, "Show every option."))
        for title, records in {"Arguments": arguments, **panels}.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if folded:
            with formatter.section(f"More, explained by {ALL}"):
                wide = max(map(len, folded))
                for title, flags in folded.items():
                    lines = textwrap.wrap(", ".join(flags), formatter.width - wide - 6, break_on_hyphens=False)
                    formatter.write_dl([(f"{'' if k else title:<{wide}}", line) for k, line in enumerate(lines)])

    def invoke(self, ctx: Context) -> None:
        """Run the command."""
        spelling = spelling_of(self.params)
        with on_a_terminal(None if self.name in SERVING else f"taupi {self.name}"), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _warn(message, spelling)
            try:
                super().invoke(ctx)
                self._say_next(ctx)
            except (typer.Exit, typer.Abort, _UsageErrors):
                raise
            except Exception as error:
                if os.environ.get(TRACEBACK):
                    traceback.print_exc()
                code, sentence = ending(error, spelling)
                print(f"taupi: {sentence}", file=sys.stderr)
                raise typer.Exit(code) from None

    def _say_next(self, ctx: Context) -> None:
        """On a terminal, print what to type next, unless the command has already done so."""
        step = next_step(str(self.name), ctx.params) if sys.stderr.isatty() and sys.stdout.isatty() else None
        if step is not None and not ctx.params.get("as_json"):
            print(f"next: {step}", file=sys.stderr)


def _panel(option: Parameter, otherwise: str) -> str:
    """Return the heading under which the help shows an option."""
    return getattr(option, "rich_help_panel", None) or otherwise  # click's own --help has no such attribute


def ending(error: Exception, spelling: Spelling = str) -> tuple[ExitCode, str]:
    """Return the exit status of a command that an error ends, and the sentence that says why.

    >>> ending(RuntimeError("index 8 of 8"))[0], ending(MemoryError())[1]
    (<ExitCode.BUG: 1>, 'Not enough memory. Ask for less, or use a machine with more.')
    """
    if isinstance(error, TaupiError):
        failed = isinstance(error, NotIdentifiedError)
        return ExitCode.NOT_ACHIEVED if failed else ExitCode.BAD_INPUT, error.spelled(spelling)
    if _is_of_memory(error):
        why = f": {error}" if str(error) else ""
        return ExitCode.BAD_INPUT, f"Not enough memory{why}. Ask for less, or use a machine with more."
    if isinstance(error, FileNotFoundError) and not _in_a_folder():
        return ExitCode.BAD_INPUT, "The current folder has been deleted. Change to one that exists."
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return ExitCode.BAD_INPUT, f"{error.filename}: {error.strerror}."
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return ExitCode.BUG, (
        f"This is a bug in taupi {__version__}: {what.rstrip('.')}. Please report it where you got taupi, with the command, its "
        f"input and what it prints when it is run again with {TRACEBACK}=1."
    )


# How the dynamic loader, CasADi and Python's threads say that there is no memory left. On a disk from which nothing may be run,
# the loader cannot map a segment, either, and adds "Operation not permitted".
_NO_MEMORY = re.compile(
    r"failed to map segment(?!.*not permitted)|cannot allocate memory|std::bad_alloc|can't start new thread",
    re.IGNORECASE,
)


def _is_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or the one that it followed from, is about memory."""
    return error is not None and (
        isinstance(error, MemoryError)
        or getattr(error, "errno", None) == errno.ENOMEM
        or (isinstance(error, ImportError | OSError | RuntimeError) and bool(_NO_MEMORY.search(str(error))))
        or _is_of_memory(error.__context__)
    )


def _in_a_folder() -> bool:
    """Return whether the current folder exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _warn(message: Warning | str, spelling: Spelling) -> None:
    text = message.spelled(spelling) if isinstance(message, TaupiWarning) else str(message)
    print(f"warning: {text}", file=sys.stderr)


# Arguments whose option has a different name than in Python; of several, a command has the first.
OPTION_NAMES = {
    "torque_limits": ("torque_limit",),
    "rate_limits": ("rate_limit",),
    "payloads": ("payload_at",),
    "client": ("scheduler",),
    "path": ("fmu", "output"),
}


def spelling_of(parameters: Iterable[Parameter]) -> Spelling:
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

    commands: Mapping[str, ClickCommand] = get_command(app).commands  # type: ignore[attr-defined]
    return spelling_of(commands[command].params)


def spelled(option: Parameter, argument: Argument) -> str:
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
    >>> ignore = SimpleNamespace(opts=["--ignore"], secondary_opts=[], metavar=None)
    >>> spelled(ignore, Argument("ignore", [("link5", "floor")]))
    '--ignore link5,floor'
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
    if isinstance(value, list | tuple):  # lists of names have commas between them, lists of such lists are repeated
        inner = [item for item in value if isinstance(item, list | tuple)]
        return " ".join(f"{flag} {shlex.quote(','.join(map(str, item)))}" for item in (inner or [value]))
    return f"{flag} {shlex.quote(str(value))}"


def _toml(table: Mapping[str, object]) -> Iterator[str]:
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


# By the name of a command: what to type next, with {parameters} of the command; the first entry whose parameters were given.
STEPS: Mapping[str, tuple[str, ...]] = {
    "info": ("taupi view {robot}", "taupi info puma560"),
    "base": ("taupi excite {robot} --duration 10 -o motion",),
    "regressor": ("taupi emit {robot} regressor --language c -o source",),
    "explicit": (
        "taupi emit {robot} {program} --language c -o source",
        "taupi emit {robot} {what} --language c -o source",
        "taupi emit {robot} regressor --language c -o source",
    ),
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


def next_step(command: str, values: Mapping[str, object]) -> str | None:
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


def _words(value: object) -> _Words:
    from taupi.signals.formats.sources import shown_address

    return _Words(
        shlex.quote(shown_address(str(each))) for each in (value if isinstance(value, list | tuple) else [value])
    )


def _carried(command: str, step: Sequence[str], values: Mapping[str, object]) -> list[str]:
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


def _options(command: ClickCommand) -> dict[str, Parameter]:
    return {p.name: p for p in command.params if long_flag(p.opts)}


def _typed(option: Parameter, value: object) -> list[str]:
    """Return an option with its value, or its values, as words that a shell takes."""
    flag = long_flag(option.opts)
    if isinstance(value, bool):
        return [flag if value else long_flag(option.secondary_opts)]
    return [word for each in _words(value) for word in (flag, each)]
