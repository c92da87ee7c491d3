"""Options of commands from settings: every field is an option, its type, default and help declared once, in its class.

A command takes a subject of settings as a parameter of its own, and the user sees one option for each field:

    def identify(robot: RobotArgument, *, reading: Reading, preparation: Preparation) -> None: ...

`Annotated[Horizon, Without("substeps")]` leaves fields out. `Annotated[dict[str, Any], Changes(Preparation)]` gives the fields
that the user named, and nothing for the others.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from taupi.cli.parsing import one_or_each
from taupi.settings import Changes, Settings

# Fields whose flag is not their name with dashes; "Subject.field" where other subjects have a field of that name too.
FLAGS = {
    "cutoff_hz": "--cutoff",
    "long_gaps": "--gaps",
    "stream": "--stream/--whole",
    "q_noise": "--noise",
    "Reading.begin": "--from",
    "Reading.end": "--to",
}
# Fields that Python takes in more forms than the command line does.
TYPES: dict[str, Any] = {"columns": Path | None, "Reading.rows": str | None}
PLACEHOLDERS = {"columns": "FILE.toml", "Reading.rows": "FIRST:STOP", "known_torque": "'JOINT = FORMULA'"}


@dataclass(frozen=True)
class Without:
    """Marks a subject of which some fields are no options of a command."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True)
class _Subject:
    """A subject of settings among the parameters of a command."""

    kind: type[Settings]
    fields: tuple[dataclasses.Field[Any], ...]
    changes: bool = False

    @classmethod
    def of(cls, annotation: Any) -> _Subject | None:
        """Return the subject that a parameter's annotation names, None where it names none."""
        base, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        changes = next((mark for mark in marks if isinstance(mark, Changes)), None)
        kind = changes.kind if changes else base
        if not (isinstance(kind, type) and issubclass(kind, Settings)):
            return None
        left_out = {name for mark in marks if isinstance(mark, Without) for name in mark.names}
        fields = tuple(f for f in dataclasses.fields(kind) if f.name not in left_out)
        return cls(kind, fields, changes is not None)

    def options(self) -> list[inspect.Parameter]:
        """Return a parameter for each field, from which an option is made."""
        return [self._option(field) for field in self.fields]

    def _option(self, field: dataclasses.Field[Any]) -> inspect.Parameter:
        hint, default = _hint(self.kind, field), None if self.changes else _default(field)
        shell, placeholder = _type_on_shell(hint)
        text = self.kind.describe(field.name) + (" May be repeated." if _repeats(hint) else "")
        flag = _of_field(FLAGS, self.kind, field) or _flag(field.name, hint, default)
        info = typer.Option(flag, help=text, metavar=_of_field(PLACEHOLDERS, self.kind, field) or placeholder)
        if _repeats(hint) or _one_or_each(hint) or self.changes:
            default, shell = None, shell | None
        return inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[shell, info]
        )

    def read(self, values: dict[str, Any]) -> Any:
        """Take the fields out of the values of a command's options, and return the settings."""
        fields: dict[str, Any] = {}
        for field in self.fields:
            value = values.pop(field.name)
            if value is not None:
                fields[field.name] = _read(field.name, _hint(self.kind, field), value)
        return fields if self.changes else self.kind(**fields)


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which an option for each field stands in place of a subject of settings."""
    hints = get_type_hints(function, include_extras=True)
    subjects: dict[str, _Subject] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        subject = _Subject.of(hints[parameter.name])
        if subject is None:
            changed = parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
            parameters.append(changed)
        else:
            subjects[parameter.name] = subject
            parameters += subject.options()

    def command(**values: Any) -> None:
        settings = {name: subject.read(values) for name, subject in subjects.items()}
        function(**values, **settings)

    command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _hint(kind: type[Settings], field: dataclasses.Field[Any]) -> Any:
    """Return the type of a field, whose class may write it as a text."""
    stated, home = _of_field(TYPES, kind, field), _home(kind, field)
    if stated is not None:
        return stated
    names = vars(sys.modules[home.__module__])
    return get_type_hints(types.SimpleNamespace(__annotations__={field.name: field.type}), names)[field.name]


def _home(kind: type[Settings], field: dataclasses.Field[Any]) -> type:
    """Return the class that declares a field."""
    return next(base for base in kind.__mro__ if field.name in inspect.get_annotations(base))


def _of_field(table: Mapping[str, Any], kind: type[Settings], field: dataclasses.Field[Any]) -> Any:
    """Return what a table states for a field of the class that declares it, or for fields of that name; None if nothing."""
    return table.get(f"{_home(kind, field).__name__}.{field.name}", table.get(field.name))


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _flag(name: str, hint: Any, default: Any) -> str:
    word = name.replace("_", "-")
    return f"--{word}/--no-{word}" if bool in _kinds(hint) and default is not False else f"--{word}"


def _kinds(hint: Any) -> tuple[Any, ...]:
    """Return the types of a field, None left out."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(kind for kind in kinds if kind is not type(None))


def _repeats(hint: Any) -> bool:
    """Tell whether a field is several words, which an option that is repeated gives."""
    return _kinds(hint) == (tuple[str, ...],)


def _one_or_each(hint: Any) -> bool:
    """Tell whether a field is a number, or one per joint."""
    return tuple[float, ...] in _kinds(hint)


def _type_on_shell(hint: Any) -> tuple[Any, str | None]:
    """Return the type of an option, and how its value is shown in the help where its type does not say it."""
    if _repeats(hint):
        return list[str], None
    if _one_or_each(hint):
        return str, "X[,X...]"
    return hint, None


def _read(name: str, hint: Any, value: Any) -> Any:
    """Return the value of a field from that of its option."""
    if _one_or_each(hint):
        return one_or_each(name, value)
    return tuple(value) if _repeats(hint) else value
