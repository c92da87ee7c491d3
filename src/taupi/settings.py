"""Settings: declared, documented and checked once, for Python, for the command line and for what is saved.

A subject, such as the preparation of logs, is a frozen dataclass that derives from `Settings`. Its docstring describes each
field under "Attributes:", `checks` names how each is checked. Beside the class stands a TypedDict with the same keys, from which
type checkers and editors know the keywords of functions: these take a subject whole, or its fields by
`**options: Unpack[...]`, and `settle` makes one object of either. The command line makes an option of each field.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

from taupi.checks import Check
from taupi.errors import Argument, TaupiError, unknown
from taupi.public_names import public_address

S = TypeVar("S", bound="Settings")
A = TypeVar("A", bound="Settings")
B = TypeVar("B", bound="Settings")
C = TypeVar("C", bound="Settings")
D = TypeVar("D", bound="Settings")


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
    parameter: ClassVar[str] = ""  # of functions that take the settings whole; by default the name of the class

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
        return described_fields(cls).get(name, "")  # python -OO drops docstrings

    def to_dict(self) -> dict[str, object]:
        """Return the settings as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls: type[S], data: Mapping[str, object]) -> S:
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


Whole = Settings | None


@overload
def settle(
    function: Callable[..., object],
    options: Mapping[str, object],
    a: tuple[type[A], Whole],
    /,
    *,
    without: tuple[str, ...] = (),
) -> tuple[A]: ...


@overload
def settle(
    function: Callable[..., object],
    options: Mapping[str, object],
    a: tuple[type[A], Whole],
    b: tuple[type[B], Whole],
    /,
    *,
    without: tuple[str, ...] = (),
) -> tuple[A, B]: ...


@overload
def settle(
    function: Callable[..., object],
    options: Mapping[str, object],
    a: tuple[type[A], Whole],
    b: tuple[type[B], Whole],
    c: tuple[type[C], Whole],
    d: tuple[type[D], Whole],
    /,
    *,
    without: tuple[str, ...] = (),
) -> tuple[A, B, C, D]: ...


def settle(
    function: Callable[..., object],
    options: Mapping[str, object],
    *subjects: tuple[type[Any], Whole],
    without: tuple[str, ...] = (),
) -> tuple[object, ...]:
    """Return the settings of each subject of a function: the object that was passed, or one made from the `options`.

    A subject is its class and what was passed whole, None if nothing was. Options that belong to none of the subjects, or to a
    subject that was also passed whole, are refused.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Horizon(Settings):
    ...     duration: float = 10.0
    >>> def move(plant, *, horizon=None, **options):
    ...     (horizon,) = settle(move, options, (Horizon, horizon))
    ...     return horizon.duration
    >>> move("arm"), move("arm", duration=3), move("arm", horizon=Horizon(2))
    (10.0, 3, 2)
    >>> move("arm", duration=3, horizon=Horizon(2))
    Traceback (most recent call last):
    taupi.errors.TaupiError: duration and horizon are both given. Put duration into horizon, or leave horizon out.
    >>> move("arm", duratoin=3)
    Traceback (most recent call last):
    taupi.settings.UnknownSettingError: No setting 'duratoin' in move. Did you mean 'duration'? Known: plant, horizon, duration.

    Args:
        function: The function that takes them, which errors name.
        options: Fields of the subjects, by name.
        subjects: Pairs (class, object or None).
        without: Fields that have no meaning for this function.
    """
    known = [name for kind, _ in subjects for name in kind.names() if name not in without]
    for name in options:
        if name not in known:
            raise _unknown_option(function, name, known)
    return tuple(_settled(kind, whole, options) for kind, whole in subjects)


def _settled(kind: type[S], whole: Whole, options: Mapping[str, object]) -> S:
    fields: dict[str, object] = {name: options[name] for name in kind.names() if name in options}
    if whole is None:
        return kind(**fields)
    parameter = Argument(kind.parameter or kind.__name__.lower())
    if fields:
        field = Argument(next(name for name in options if name in fields))
        raise TaupiError(
            "{field} and {parameter} are both given.",
            remedy="Put {field} into {parameter}, or leave {parameter} out.",
            field=field,
            parameter=parameter,
        )
    if isinstance(whole, kind):
        return whole
    if isinstance(whole, Settings) and issubclass(
        kind, type(whole)
    ):  # a base class leaves the other fields as they are
        return kind(**{name: getattr(whole, name) for name in whole.names()})
    raise TaupiError(
        "{parameter} is {got!r}, expected {expected}(...).",
        parameter=parameter,
        got=whole,
        expected=public_address(kind),
    )


def _unknown_option(function: Callable[..., object], name: str, known: Iterable[str]) -> UnknownSettingError:
    own = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return UnknownSettingError(
        "{unknown}", unknown=unknown("setting", name, dict.fromkeys([*own, *known]), function.__name__).message
    )


def without_none(**arguments: object) -> dict[str, object]:
    """Return those of a function's own arguments that are not None, as options for `settle`.

    >>> without_none(duration=3, rate=None)
    {'duration': 3}
    """
    return {name: value for name, value in arguments.items() if value is not None}
