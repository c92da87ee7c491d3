"""Command options made from settings: each field is an option; its type, default and help are declared once, in its class.

A command takes a settings object as one parameter, and the user sees one option for each field:

    def identify(robot: RobotArgument, *, reading: Reading, preparation: Preparation) -> None: ...

`Annotated[Horizon, Without("substeps")]` leaves fields out, `Defaults(duration=20.0)` gives them another default.
`Annotated[dict[str, Any], Changes(Preparation)]` gives only the fields that the user named. Parameters
that several commands share are the fields of an `OptionGroup`.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, Union, get_args, get_origin, get_type_hints

import typer

from taupi.checks import not_negative
from taupi.cli.parsing import number, one_or_each, seconds
from taupi.errors import Argument, TaupiError, unknown
from taupi.excitation.settings import MOUNTING, NONE
from taupi.settings import Settings


@dataclass(frozen=True)
class Form:
    """How one field is written.

    Attributes:
        flag: Flag of the option, or several of which messages use the first; by default the field's name with dashes.
        name: Name of the option, if another option of a command already has the field's name.
        hint: Type of the value on the command line, if Python accepts more forms; by default that of the field.
        placeholder: What stands for the value in the help.
        note: What the help adds to the field's description.
        read: Function that turns the option's name and text into the value, or into several fields by name.
    """

    flag: str | tuple[str, ...] = ()
    name: str = ""
    hint: Any = None
    placeholder: str | None = None
    note: str = ""
    read: Callable[[str, str], Any] | None = None


PLAIN = Form()


def form_of(kind: type[Settings], field: str) -> Form:
    """Return how a field of a class is written; a base class may declare it."""
    return next((forms[field] for base in kind.__mro__ if field in (forms := FORMS.get(base.__name__, {}))), PLAIN)


def _sensed_velocity(name: str, text: str) -> dict[str, object]:
    """Return the fields of the sensors that exact, difference and filter:HZ stand for."""
    kind, colon, cutoff = text.partition(":")
    if kind != "filter":
        return {"velocity": text}
    if not colon:
        raise TaupiError("{argument} is filter, expected filter:HZ, such as filter:100.", argument=Argument(name))
    return {"velocity": kind, "cutoff_hz": number(name, text, cutoff.removesuffix("Hz"))}


def _floor(name: str, text: str) -> float | str:
    return text if text in (MOUNTING, NONE) else number(name, text, text)


def _delay(name: str, text: str) -> float:
    return not_negative(name, seconds(name, text))


# By the name of the class that declares them.
FORMS: dict[str, dict[str, Form]] = {
    "Reading": {
        "columns": Form(hint=Path | None, placeholder="FILE.toml"),
        "begin": Form(("--from", "--begin")),
        "end": Form(("--to", "--end")),
        "rows": Form(hint=str | None, placeholder="FIRST:STOP"),
    },
    "Streaming": {"stream": Form("--stream/--whole")},
    "Gaps": {"long_gaps": Form(("--gaps", "--long-gaps"))},
    "Smoothing": {"cutoff_hz": Form(("--cutoff", "--cutoff-hz"))},
    "Preparation": {"known_torque": Form(placeholder="'JOINT = FORMULA'")},
    "Margins": {"floor": Form(hint=str, placeholder="base|none|METRES", read=_floor)},
    "Sensors": {
        "q_noise": Form(("--noise", "--q-noise")),
        "velocity": Form(
            hint=str,
            placeholder="exact|difference|filter:HZ",
            note="By default exact, and difference where there is a resolution.",
            read=_sensed_velocity,
        ),
        "delay": Form(name="sensor_delay", hint=str, placeholder="TIME", note="Such as 0.001 or 1ms.", read=_delay),
    },
}


# Headings under which the help shows fields, by the name of the class that declares them.
PANELS: dict[str, str] = {
    "Reading": "Reading logs",
    "Streaming": "Reading logs",
    "Gaps": "Preparing signals",
    "Smoothing": "Preparing signals",
    "Preparation": "Friction and torque",
    "Description": "Reading robots",
    "ClusterOptions": "On a cluster",
    "ExportOptions": "Files",
}


def _home(kind: type[Settings], field: str) -> type:
    """Return the class that declares a field: the settings themselves, or a base."""
    return next(base for base in kind.__mro__ if field in inspect.get_annotations(base))


@dataclass(frozen=True)
class Changes:
    """Marks a mapping of those fields of settings that the user named."""

    kind: type[Settings]


@dataclass(frozen=True)
class Without:
    """Marks settings of which some fields are not options of a command."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True)
class Defaults:
    """Marks settings of which some fields have another default as options of a command."""

    values: Mapping[str, Any]

    def __init__(self, **values: object) -> None:
        object.__setattr__(self, "values", values)


class OptionGroup:
    """Base of a frozen dataclass of parameters that several commands share: options and settings."""


class _CommandParameter(Protocol):
    """What a parameter of a command becomes: options, from whose values the parameter's value is made."""

    def options(self) -> list[inspect.Parameter]:
        """Return a parameter for each option."""

    def read(self, values: dict[str, object]) -> Any:
        """Remove this parameter's options from the values, and return the value of the parameter."""


@dataclass(frozen=True)
class _Option:
    """A parameter that is an option or an argument already."""

    parameter: inspect.Parameter

    def options(self) -> list[inspect.Parameter]:
        """Return the parameter."""
        return [self.parameter]

    def read(self, values: dict[str, object]) -> Any:
        """Take its value."""
        return values.pop(self.parameter.name)


@dataclass(frozen=True)
class _SharedOptions:
    """A group of options among the parameters of a command."""

    kind: type[OptionGroup]
    parts: dict[str, _CommandParameter]

    def options(self) -> list[inspect.Parameter]:
        """Return the options of all parts of the group."""
        return [option for part in self.parts.values() for option in part.options()]

    def read(self, values: dict[str, object]) -> Any:
        """Return the group, made of the values of its parts."""
        return self.kind(**{name: part.read(values) for name, part in self.parts.items()})


@dataclass(frozen=True)
class _SettingsOptions:
    """A settings object among the parameters of a command."""

    kind: type[Settings]
    fields: tuple[dataclasses.Field[Any], ...]
    changes: bool = False
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, annotation: object) -> _SettingsOptions | None:
        """Return the settings that a parameter's annotation names, None if it names none."""
        base, *marks = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        changes = next((mark for mark in marks if isinstance(mark, Changes)), None)
        kind = changes.kind if changes else base
        if not (isinstance(kind, type) and issubclass(kind, Settings)):
            return None
        left_out = {name for mark in marks if isinstance(mark, Without) for name in mark.names}
        fields = tuple(f for f in dataclasses.fields(kind) if f.name not in left_out)
        defaults = {name: value for mark in marks if isinstance(mark, Defaults) for name, value in mark.values.items()}
        kept = [f.name for f in fields]
        for names, known in ((left_out, kind.names()), (defaults, kept)):
            for name in names:
                if name not in known:  # a misspelt one would change nothing, without a word
                    raise unknown("setting", name, known, kind.__name__)
        return cls(kind, fields, changes is not None, defaults)

    def options(self) -> list[inspect.Parameter]:
        """Return a parameter for each field, from which an option is made."""
        return [self._option(field) for field in self.fields]

    def _option(self, field: dataclasses.Field[object]) -> inspect.Parameter:
        form, hint = form_of(self.kind, field.name), _hint(self.kind, field)
        name = form.name or field.name
        default = None if self.changes else self.defaults.get(field.name, _default(field))
        shell, placeholder = _type_on_shell(hint)
        notes = [self.kind.describe(field.name), form.note, "May be repeated." if _repeats(hint) else ""]
        info = typer.Option(
            *([form.flag] if isinstance(form.flag, str) else form.flag or [_flag(name, hint, default)]),
            help=" ".join(filter(None, notes)),
            metavar=form.placeholder or placeholder,
            rich_help_panel=PANELS.get(_home(self.kind, field.name).__name__),
        )
        if _repeats(hint) or _one_or_each(hint) or self.changes:
            default, shell = None, shell | None
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[shell, info]
        )

    def read(self, values: dict[str, Any]) -> Any:
        """Remove the fields from the values of a command's options, and return the settings."""
        fields: dict[str, Any] = {}
        for field in self.fields:
            form = form_of(self.kind, field.name)
            name = form.name or field.name
            value = values.pop(name)
            if value is not None:
                hint = _hint(self.kind, field)
                value = form.read(name, value) if form.read else _read(name, hint, value)
                fields |= value if isinstance(value, Mapping) else {field.name: value}
        return fields if self.changes else self.kind(**fields)


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each settings object, or group of options, is replaced by one option per field."""
    hints = inspect.get_annotations(function, eval_str=True)  # in Python 3.10, typing's hints lose Annotated metadata
    own = inspect.signature(function).parameters.values()
    parts = {p.name: _part(p.name, hints[p.name], p.default) for p in own}
    parameters = [option for part in parts.values() for option in part.options()]

    def command(**values: object) -> None:
        function(**{name: part.read(values) for name, part in parts.items()})

    command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _part(name: str, annotation: object, default: object) -> _CommandParameter:
    """Return what a parameter, or a field of a group, becomes by its annotation."""
    if isinstance(annotation, type) and issubclass(annotation, OptionGroup):
        hints = get_type_hints(annotation, include_extras=True)
        fields = dataclasses.fields(annotation)  # type: ignore[arg-type]
        return _SharedOptions(annotation, {f.name: _part(f.name, hints[f.name], _default(f)) for f in fields})
    subject = _SettingsOptions.of(annotation)
    if subject is not None:
        return subject
    default = inspect.Parameter.empty if default is dataclasses.MISSING else default
    return _Option(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))


def _hint(kind: type[Settings], field: dataclasses.Field[object]) -> Any:
    """Return the type of a field on the command line, or its own type, which its class may write as a string."""
    if (form := form_of(kind, field.name)).hint is not None:
        return form.hint
    names = vars(sys.modules[_home(kind, field.name).__module__])
    return get_type_hints(types.SimpleNamespace(__annotations__={field.name: field.type}), names)[field.name]


def _default(field: dataclasses.Field[object]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _flag(name: str, hint: object, default: object) -> str:
    word = name.replace("_", "-")
    return f"--{word}/--no-{word}" if bool in _kinds(hint) and default is not False else f"--{word}"


def _kinds(hint: object) -> tuple[object, ...]:
    """Return the types of a field, without None."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(kind for kind in kinds if kind is not type(None))


def _repeats(hint: object) -> bool:
    """Return whether a field holds several words, given by a repeated option."""
    return _kinds(hint) == (tuple[str, ...],)


def _one_or_each(hint: object) -> bool:
    """Return whether a field is a number, or one per joint."""
    return tuple[float, ...] in _kinds(hint)


def _type_on_shell(hint: object) -> tuple[Any, str | None]:
    """Return the type of an option, and the placeholder in the help if the type does not provide one."""
    if _repeats(hint):
        return list[str], None
    if _one_or_each(hint):
        return str, "X[,X...]"
    return hint, None


def _read(name: str, hint: Any, value: Any) -> Any:
    """Return the value of a field from the value of its option."""
    if _one_or_each(hint):
        return one_or_each(name, value)
    return tuple(value) if _repeats(hint) else value
