"""Settings: declared, documented and checked once, for Python, for the command line and for what is saved.

A subject, such as the preparation of logs, is a frozen dataclass that derives from `Settings`. Its docstring describes each
field under "Attributes:", `checks` names how each is checked. Functions take a subject whole, or its fields as keywords of
their own (`takes`); the command line makes an option of each field.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from taupi.checks import Check
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.public_names import public_address

T = TypeVar("T")
S = TypeVar("S", bound="Settings")


@dataclass(frozen=True)
class Settings:
    """The base of every subject's settings, which are frozen dataclasses.

    >>> import dataclasses
    >>> from taupi.checks import positive
    >>> @dataclasses.dataclass(frozen=True)
    ... class Filtering(Settings):
    ...     '''How signals are filtered.
    ...
    ...     Attributes:
    ...         cutoff_hz: Of the filter, Hz.
    ...         order: Of the filter; higher is steeper.
    ...     '''
    ...
    ...     cutoff_hz: float = 5.0
    ...     order: int = 4
    ...     checks = {"cutoff_hz": positive}
    >>> Filtering.describe("order")
    'Of the filter; higher is steeper.'
    >>> Filtering(cutoff_hz=0)
    Traceback (most recent call last):
    taupi.errors.TaupiError: cutoff_hz is 0, expected a finite number above 0.
    """

    checks: ClassVar[Mapping[str, Check]] = {}

    def __post_init__(self) -> None:
        for name, check in self.checks.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the fields, in order."""
        return tuple(f.name for f in dataclasses.fields(cls))

    @classmethod
    def describe(cls, name: str) -> str:
        """Return what the docstring says about the field `name`, on one line."""
        return described_fields(cls)[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls: type[S], data: Mapping[str, Any]) -> S:
        """Return the settings in the `data` that `to_dict` returned; lists, as in JSON, become tuples again."""
        for name in data:
            if name not in cls.names():
                raise unknown("setting", name, cls.names(), cls.__name__)
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})


def described_fields(kind: type) -> dict[str, str]:
    """Return the descriptions under "Attributes:" of a class and its bases, by field."""
    descriptions: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        descriptions |= _section(inspect.cleandoc(base.__doc__ or ""))
    return descriptions


def _section(docstring: str) -> dict[str, str]:
    _, _, section = docstring.partition("Attributes:\n")
    descriptions: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        start = re.match(r"    (\w+): (.*)", line)
        if start:
            name = start[1]
            descriptions[name] = start[2].strip()
        elif line.strip() and name:
            descriptions[name] += " " + line.strip()
    return descriptions


class UnknownSettingError(TaupiError, TypeError):
    """A keyword that a function does not have."""


@dataclass(frozen=True)
class Changes:
    """A subject of `takes` that a function gets as a mapping of only those fields that the caller names.

    The fields in `without` have no meaning for the function, and are not among its keywords.
    """

    kind: type[Settings]
    without: tuple[str, ...] = ()


class _Unchanged:
    """The default of a field that stays as it was."""

    def __repr__(self) -> str:
        return "unchanged"


def takes(**subjects: type[Settings] | Changes) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function take subjects of settings whole, or their fields as keywords; both at once are refused.

    The function itself has a parameter for each subject and always gets it. Its signature and its docstring list the fields, and
    tools/write_public_names.py writes them into signatures.pyi for type checkers.
    A positional subject is replaced by its fields: they are positional arguments in its place, except those that are keyword-only
    in its class. The fields of a keyword-only subject follow the function's own positional parameters; those of further subjects
    are keywords.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Horizon(Settings):
    ...     '''How long.
    ...
    ...     Attributes:
    ...         duration: Seconds.
    ...     '''
    ...
    ...     duration: float = 10.0
    >>> @takes(horizon=Horizon)
    ... def simulate(plant, *, horizon):
    ...     '''Return what a plant does.'''
    ...     return horizon.duration
    >>> simulate("arm"), simulate("arm", duration=3), simulate("arm", 4), simulate("arm", horizon=Horizon(2))
    (10.0, 3, 4, 2)
    >>> simulate("arm", duration=3, horizon=Horizon(2))
    Traceback (most recent call last):
    taupi.errors.TaupiError: duration and horizon are both given. Put duration into horizon, or leave horizon out.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        own = inspect.signature(function)
        signature = _opened(own, subjects)
        fields = {p.name: subject for subject, kind in subjects.items() for p in _parameters(kind)}

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> T:
            for name in keywords:
                if name not in signature.parameters:
                    raise UnknownSettingError(
                        *unknown("setting", name, signature.parameters, f"{function.__name__}").parts
                    )
            try:
                bound = signature.bind(*args, **keywords).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            for subject, kind in subjects.items():
                values = {name: bound.pop(name) for name in list(bound) if fields.get(name) == subject}
                bound[subject] = _settled(subject, kind, bound.get(subject), values)
            return function(**bound)

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__subjects__ = subjects  # type: ignore[attr-defined]
        call.__doc__ = _documented(function.__doc__ or "", subjects)
        return call

    return decorate


def _kind(subject: type[Settings] | Changes) -> type[Settings]:
    return subject.kind if isinstance(subject, Changes) else subject


def _settled(name: str, subject: type[Settings] | Changes, settings: Any, fields: dict[str, Any]) -> Any:
    kind = _kind(subject)
    if settings is None:
        return fields if isinstance(subject, Changes) else kind(**fields)
    if fields:
        one, all_of_it = Argument(next(iter(fields))), Argument(name)
        raise TaupiError(
            one,
            " and ",
            all_of_it,
            " are both given.",
            remedy=("Put ", one, " into ", all_of_it, ", or leave ", all_of_it, " out."),
        )
    if isinstance(settings, Settings) and issubclass(
        kind, type(settings)
    ):  # settings of a base class leave the rest as it is
        settings = kind(**{f: getattr(settings, f) for f in settings.names()})
    if not isinstance(settings, kind):
        raise TaupiError(Argument(name), f" is {shown(settings)}, expected {public_address(kind)}(...).")
    if isinstance(subject, Changes):
        return {f: value for f, value in settings.to_dict().items() if f not in subject.without}
    return settings


def _opened(signature: inspect.Signature, subjects: Mapping[str, type[Settings] | Changes]) -> inspect.Signature:
    """Return a signature in which subjects may be left out, and their fields join a function's own parameters."""
    keyword, own = inspect.Parameter.KEYWORD_ONLY, signature.parameters
    plain = [p for p in own.values() if p.kind is not keyword]
    named = [p for p in own.values() if p.kind is keyword and p.name not in subjects]
    for order, (name, subject) in enumerate(subjects.items()):
        names, fields = [p.name for p in plain], _parameters(subject)
        place = names.index(name) if name in names else len(names)
        first = [p for p in fields if p.kind is not keyword and (name in names or order == 0)]
        plain[place : place + 1] = first
        named += [p.replace(kind=keyword) for p in fields if p not in first]
    wholes = [own[name].replace(kind=keyword, default=None) for name in subjects]
    return signature.replace(parameters=[*plain, *named, *wholes])


def _parameters(subject: type[Settings] | Changes) -> list[inspect.Parameter]:
    """Return the fields of a subject as parameters."""
    how = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
    parameters = []
    for f in _fields(subject):
        default = _Unchanged() if isinstance(subject, Changes) else _default(f)
        parameters.append(inspect.Parameter(f.name, how[bool(f.kw_only)], default=default, annotation=f.type))
    return parameters


def _fields(subject: type[Settings] | Changes) -> list[dataclasses.Field[Any]]:
    without = subject.without if isinstance(subject, Changes) else ()
    return [f for f in dataclasses.fields(_kind(subject)) if f.name not in without]


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _documented(text: str, subjects: Mapping[str, type[Settings] | Changes]) -> str:
    """Return a docstring with the fields of each subject listed after its first paragraphs, before its example."""
    lines = []
    for name, subject in subjects.items():
        kind = _kind(subject)
        lines += [f"Fields of `{name}` (`{public_address(kind)}`), which may also be given as keywords:", ""]
        for f in _fields(subject):
            stays = isinstance(subject, Changes) or _default(f) is None
            default = "" if stays else f" ({_default(f)!r})"
            lines.append(f"- `{f.name}`{default}: {kind.describe(f.name)}")
        lines.append("")
    body, mark, example = inspect.cleandoc(text).partition("\n>>> ")
    return "\n".join([body.rstrip(), "", *lines]) + (f"\n>>> {example}\n" if mark else "")
