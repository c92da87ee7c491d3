"""The one error type that users see, with a message that says what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
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

    >>> remedy = (InPython("Use log.segments(), or ", "Use "), Argument("long_gaps", "longest"))
    >>> gap = TaupiError("time has a gap.", remedy=remedy)
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


def _shortened(part: Part) -> Part:
    if not isinstance(part, str):
        return part
    text = without_secrets(part).translate(_BREAKS)
    return text if len(text) <= _LONGEST_PART else text[:_LONGEST_PART] + "..."


class _Message(Exception):  # noqa: N818 - of errors and of warnings
    """What errors and warnings share: a message kept as data, made of texts and arguments, and its remedy."""

    def __init__(self, *parts: Part, remedy: Part | Sequence[Part] = ()) -> None:
        self.parts = tuple(_shortened(part) for part in parts)
        self.remedy = tuple(_shortened(part) for part in ((remedy,) if isinstance(remedy, Part) else remedy))
        super().__init__(self.spelled(str))

    @property
    def argument(self) -> str | None:
        """The name of the argument that is wrong, if there is one."""
        return next((part.name for part in self.parts if isinstance(part, Argument)), None)

    def spelled(self, spelling: Spelling) -> str:
        """Return the message, with its arguments and Python-only parts written by the function `spelling`."""
        wrong, remedy = (
            "".join(part if isinstance(part, str) else spelling(part) for part in parts)
            for parts in (self.parts, self.remedy)
        )
        return f"{wrong} {remedy}" if remedy else wrong


class TaupiError(_Message, ValueError):
    """Something in the user's input cannot be used; the message says what, and what to do instead.

    The message is data: `parts` are texts and `Argument`s that say what is wrong, `remedy` is what to do about it, in the same
    form. `str(error)` spells both as in Python; `error.spelled(...)` spells them for another place, such as the command line.

    >>> error = TaupiError("out.png exists already.", remedy=("Use another name, or ", Argument("force", True), "."))
    >>> str(error)
    'out.png exists already. Use another name, or force=True.'
    >>> error.spelled(lambda argument: f"--{argument.name}")
    'out.png exists already. Use another name, or --force.'
    >>> TaupiError(Argument("cutoff_hz"), " is -1, expected a positive number.").argument
    'cutoff_hz'
    """

    def about(self, place: str) -> TaupiError:
        """Return the same error with a message that begins with the place it is about, such as a file's name."""
        return type(self)(f"{place}: ", *self.parts, remedy=self.remedy)


class NotRationalError(TaupiError):
    """Exact arithmetic was asked for something whose value is not a fraction."""


class NotIdentifiedError(TaupiError):
    """Logs and settings are well-formed, but no parameters can be found from them: not identifiable, or not converged."""


class TaupiWarning(_Message, UserWarning):
    """An answer that is usable but suspect; the message states the number, and is data like that of a `TaupiError`."""


class MovedWarning(TaupiWarning, DeprecationWarning):
    """A public name was used at its former place; the message says where it is now."""


def warn(message: str | TaupiWarning, category: type[Warning] = TaupiWarning) -> None:
    """Warn of an answer that is usable but suspect, at the line outside of taupi that asked for it."""
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


def unknown(what: Part, name: str, known: Iterable[str], where: str = "") -> TaupiError:
    """Return the error for a name that does not exist: what was asked for, the nearest match, and what exists."""
    known = [str(k)[:60] for k in known]
    name = str(name)
    place = f" in {where}" if where else ""
    import difflib  # imported only when a name is misspelt: every import slows a cold start

    close = difflib.get_close_matches(name[:60], known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    return TaupiError("No ", what, f" {shown(name)}{place}.{hint} Known: {listed or 'none'}.")
