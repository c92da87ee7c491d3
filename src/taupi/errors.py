"""The one error type that users see: a template with named values, which says what is wrong and what to do instead.

The words of a message stand in a template, and what it is about in values with names:

>>> share = 1.5
>>> error = TaupiError("{load} of {joint} is {got:g}, expected a share from 0 to below 1.", joint="elbow", got=share)
>>> str(error), error.argument, error.values["got"]
('load of elbow is 1.5, expected a share from 0 to below 1.', 'load', 1.5)

A field is one of:

    {got}           the value given as `got=...`, as `str` writes it
    {got:.3g}       the same, with a format; `{names:,}`, `{names:and}` and `{names:or}` list what a collection holds
    {got!r}         the same, as `shown` writes it: its repr, cut to a readable length; `{names!r:,}` lists
    {load}          no value of this name is given: the public argument `load`, spelled for Python or for the shell
    {force=True}    this argument with what to write for it; `...` stands for any value

Only the template is read like this: a value with braces stays what it is.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taupi.addresses import without_secrets


@dataclass(frozen=True, slots=True)
class Argument:
    """A public argument that a message is about, or, with a value, what to write for it; `...` stands for any value.

    Python spells it `cutoff_hz` or `force=True`; the command line spells the same data `--cutoff` or `--force`.

    >>> str(Argument("cutoff_hz")), str(Argument("force", True)), str(Argument("rate_hz", ...))
    ('cutoff_hz', 'force=True', 'rate_hz=...')
    >>> str(Argument("columns", {"time": ...}))
    "columns={'time': ...}"
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value_text()}"

    def value_text(self) -> str:
        """Return the value as Python writes it, `...` for any."""
        return repr(self.value).replace("Ellipsis", "...")


@dataclass(frozen=True, slots=True)
class InPython:
    """A part of a message that helps in Python only, such as a method to call; other places show `elsewhere` instead.

    >>> segments = InPython("Use log.segments(), or ", "Use ")
    >>> gap = TaupiError("time has a gap.", remedy="{segments}{long_gaps='longest'}", segments=segments)
    >>> str(gap)
    "time has a gap. Use log.segments(), or long_gaps='longest'"
    >>> gap.spelled(lambda part: part.elsewhere if isinstance(part, InPython) else f"--gaps {part.value}")
    'time has a gap. Use --gaps longest'
    """

    text: str
    elsewhere: str = ""

    def __str__(self) -> str:
        return self.text


Part = str | Argument | InPython
Spelling = Callable[[Argument | InPython], str]


# Names come from files, and may have any length and hold line breaks; a message stays one sentence.
_LONGEST_PART = 1000
# Control characters, and those that change the direction of writing, become blanks, so that no name can steer a terminal.
_TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)
_BREAKS = {code: " " for code in (*range(32), *range(127, 0xA0), 0x2028, 0x2029, *_TURNS)}

_BETWEEN = {",": ", ", "and": " and ", "or": " or "}  # what stands between the items of a collection, by its format
_FIELD = re.compile(
    r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*)(?:=(?P<value>[^{}]+)|(?P<shown>!r)?(?::(?P<format>[^{}]*))?)\}", re.ASCII
)


class Message:
    """A template with the values of its fields; a value may be a `Message` itself, whose values then belong to this one.

    Args:
        template: The words, with fields as in the description of this module. What is no field stays as it stands.
        **values: The values of the fields, of any type.

    >>> gap = Message("a gap of {seconds:g} s", seconds=3.0)
    >>> whole = Message("{file} has {gap}: give {long_gaps}.", file="run{1}.csv", gap=gap)
    >>> str(whole), whole.values["seconds"]
    ('run{1}.csv has a gap of 3 s: give long_gaps.', 3.0)
    >>> whole.parts
    ('run{1}.csv has a gap of 3 s: give ', Argument(name='long_gaps', value=None), '.')
    """

    __slots__ = ("parts", "values")

    parts: tuple[Part, ...]
    values: Mapping[str, Any]

    def __init__(self, template: str, /, **values: object) -> None:
        self.parts = _joined(_parts(template, values))
        inner = (v.values for v in values.values() if isinstance(v, Message))
        own = {name: _cleaned(v) if isinstance(v, str) else v for name, v in values.items()}
        self.values = {name: value for mapping in (*inner, own) for name, value in mapping.items()}

    @classmethod
    def of(cls, parts: Sequence[Part], values: Mapping[str, object] = {}) -> Message:
        """Return the message that consists of texts and arguments as they are; no text is read as a template."""
        message = cls.__new__(cls)
        message.parts = _joined(_cleaned(part) if isinstance(part, str) else part for part in parts)
        message.values = dict(values)
        return message

    def spelled(self, spelling: Spelling) -> str:
        """Return the text, with arguments and Python-only parts written by the function `spelling`."""
        return "".join(part if isinstance(part, str) else spelling(part) for part in self.parts)

    def __str__(self) -> str:
        return self.spelled(str)

    def __repr__(self) -> str:
        return f"Message({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[object, ...]:  # messages cross processes; what they are about may not be able to
        return Message.of, (self.parts, {name: _plain(value) for name, value in self.values.items()})


def _parts(template: str, values: Mapping[str, object]) -> Iterator[Part]:
    """Yield the texts and arguments of a template whose fields are filled in."""
    end = 0
    for field in _FIELD.finditer(template):
        yield _cleaned(template[end : field.start()])
        end = field.end()
        if (name := field["name"]) is None:
            yield field[0][0]
        elif name not in values:
            yield _argument(field)
        else:
            yield from _filled(values[name], field["shown"] is not None, field["format"] or "")
    yield _cleaned(template[end:])


def _argument(field: re.Match[str]) -> Part:
    """Return the public argument that a field names; the text of the field if what stands for its value is no literal."""
    if field["value"] is None:
        return field[0] if field["shown"] or field["format"] else Argument(field["name"])
    try:
        return Argument(field["name"], ast.literal_eval(field["value"]))
    except (ValueError, SyntaxError):
        return field[0]


def _filled(value: object, as_shown: bool, form: str) -> Iterator[Part]:
    """Yield the parts that the value of a field becomes."""
    if isinstance(value, Message):
        yield from value.parts
    elif isinstance(value, Argument | InPython):
        yield value
    elif form in _BETWEEN and isinstance(value, Collection) and not isinstance(value, str):
        for k, item in enumerate(value):
            yield _BETWEEN[form] if k else ""
            yield from _filled(item, as_shown, "")
    else:
        try:
            yield _cleaned(format(shown(value) if as_shown else value, form))
        except (TypeError, ValueError):  # a format for another type: what is wrong is worth more than how it is written
            yield _cleaned(shown(value))


def _joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with texts that follow each other as one."""
    result: list[Part] = []
    for part in parts:
        if isinstance(part, str) and result and isinstance(result[-1], str):
            result[-1] += part
        elif part != "":
            result.append(part)
    return tuple(result)


def _cleaned(text: str) -> str:
    text = without_secrets(text).translate(_BREAKS)
    return text if len(text) <= _LONGEST_PART else text[:_LONGEST_PART] + "..."


def _plain(value: object) -> object:
    """Return a value that every process can read: the value itself if it is plain data, else what is shown of it."""
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value)) if type(value) in (tuple, list) else shown(value)
    return value if value is None or type(value) in (str, bool, int, float, Argument, InPython) else shown(value)


class _WithMessage(Exception):  # noqa: N818 - of errors and of warnings
    """What errors and warnings share: a message kept as data, and its remedy."""

    def __init__(
        self, template: str | Message = "", /, *, remedy: str | Message | InPython = "", **values: object
    ) -> None:
        self.message = template if isinstance(template, Message) else Message(template, **values)
        if isinstance(remedy, InPython):
            self.remedy = Message("{remedy}", remedy=remedy)
        else:
            self.remedy = remedy if isinstance(remedy, Message) else Message(remedy, **values)
        super().__init__(self.spelled(str))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The texts and arguments that say what is wrong."""
        return self.message.parts

    @property
    def values(self) -> Mapping[str, Any]:
        """What the message and its remedy are about, by name: `error.values["got"]`."""
        return {**self.remedy.values, **self.message.values}

    @property
    def argument(self) -> str | None:
        """The name of the argument that is wrong, if there is one."""
        return next((part.name for part in self.message.parts if isinstance(part, Argument)), None)

    def spelled(self, spelling: Spelling) -> str:
        """Return the message, with its arguments and Python-only parts written by the function `spelling`."""
        return (
            f"{self.message.spelled(spelling)} {self.remedy.spelled(spelling)}"
            if self.remedy.parts
            else self.message.spelled(spelling)
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (type(self), self.message, self.remedy)


def _made_again(kind: type[_WithMessage], message: Message, remedy: Message) -> _WithMessage:
    return kind(message, remedy=remedy)


class TaupiError(_WithMessage, ValueError):
    """Something in the user's input cannot be used; the message says what, and what to do instead.

    Args:
        template: What is wrong, as a template whose fields are described in `taupi.errors`.
        remedy: What to do about it, as a template over the same values.
        **values: What the message is about. They stay data: `error.values`.

    `str(error)` spells both as in Python; `error.spelled(...)` spells them for another place, such as the command line.

    >>> error = TaupiError("{file} exists already.", remedy="Use another name, or {force=True}.", file="out.png")
    >>> str(error)
    'out.png exists already. Use another name, or force=True.'
    >>> error.spelled(lambda argument: f"--{argument.name}")
    'out.png exists already. Use another name, or --force.'
    >>> wrong = TaupiError("{cutoff_hz} is {got!r}, expected a positive number.", got=-1)
    >>> wrong.argument, wrong.values
    ('cutoff_hz', {'got': -1})
    """

    def about(self, place: str) -> TaupiError:
        """Return the same error with a message that begins with the place it is about, such as a file's name."""
        return type(self)(Message("{place}: {wrong}", place=place, wrong=self.message), remedy=self.remedy)


class NotRationalError(TaupiError):
    """Exact arithmetic was asked for something whose value is not a fraction."""


class NotIdentifiedError(TaupiError):
    """Logs and settings are well-formed, but no parameters can be found from them: not identifiable, or not converged."""


class TaupiWarning(_WithMessage, UserWarning):
    """An answer that is usable but suspect; the message states the number, and is data like that of a `TaupiError`."""


class MovedWarning(TaupiWarning, DeprecationWarning):
    """A public name was used at its former place; the message says where it is now."""


def warn(
    template: str | TaupiWarning, /, *, remedy: str = "", category: type[Warning] = TaupiWarning, **values: object
) -> None:
    """Warn of an answer that is usable but suspect, at the line outside of taupi that asked for it.

    Args:
        template: What is suspect, as a template over `values`, or the warning itself.
        remedy: What to do about it, as a template over the same values.
        category: The kind of warning.
        **values: What the message is about.
    """
    message: str | Warning = template
    if isinstance(template, str):
        warning = TaupiWarning(template, remedy=remedy, **values)
        message = warning if category is TaupiWarning else str(warning)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "taupi":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def shown(value: object, limit: int = 60) -> str:
    """Return a value as an error message shows it: its repr, without secrets of addresses, cut to a readable length."""
    try:
        text = without_secrets(repr(value))
    except RecursionError:
        return "a deeply nested value"
    except Exception:  # a number of thousands of digits, or an object whose repr fails
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "..."


def ordinal(k: int) -> str:
    """Return a number as an ordinal.

    >>> [ordinal(k) for k in (2, 3, 6, 11, 21, 112)]
    ['2nd', '3rd', '6th', '11th', '21st', '112th']
    """
    ending = "th" if k % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{ending}"


def unknown(
    what: str | Argument | Message, name: object, known: Iterable[str], where: str = "", remedy: str = ""
) -> TaupiError:
    """Return the error for a name that does not exist: what was asked for, the nearest match, and what exists.

    >>> error = unknown("joint", "elbo", ["shoulder", "elbow"], "arm.urdf")
    >>> str(error), error.values["close"]
    ("No joint 'elbo' in arm.urdf. Did you mean 'elbow'? Known: shoulder, elbow.", 'elbow')
    """
    import difflib  # imported only when a name is misspelt: every import slows a cold start

    every = [str(k)[:60] for k in known]
    listed = every[:12]
    close = next(iter(difflib.get_close_matches(str(name)[:60], every, n=1)), None)
    template = "No {what} {name!r}"
    template += " in {where}." if where else "."
    template += " Did you mean {close!r}?" if close else ""
    template += " Known: {known:,}" if every else " Known: none"
    template += " and {more} more." if len(every) > len(listed) else "."
    more = len(every) - len(listed)
    return TaupiError(
        template, what=what, name=str(name), known=listed, where=where, close=close, more=more, remedy=remedy
    )
