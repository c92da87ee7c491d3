"""How the command line writes fields of settings for which their name with dashes, and their own type, will not do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taupi.checks import not_negative
from taupi.cli.parsing import number, seconds
from taupi.errors import Argument, TaupiError
from taupi.settings import Settings


@dataclass(frozen=True)
class Form:
    """How one field is written.

    Attributes:
        flag: Of its option; by default its name with dashes.
        name: Of its option, where another option of a command has the field's own.
        hint: Type of the value on the command line, where Python takes more forms; by default that of the field.
        placeholder: What stands for the value in the help.
        note: What the help says besides the field's own description.
        read: Function of the option's name and its text that gives the value, or several fields by name.
    """

    flag: str = ""
    name: str = ""
    hint: Any = None
    placeholder: str | None = None
    note: str = ""
    read: Callable[[str, str], Any] | None = None


PLAIN = Form()


def form_of(kind: type[Settings], field: str) -> Form:
    """Return how a field of a class, which a base of it may declare, is written."""
    return next((forms[field] for base in kind.__mro__ if field in (forms := FORMS.get(base.__name__, {}))), PLAIN)


def _sensed_velocity(name: str, text: str) -> dict[str, Any]:
    """Return the fields of the sensors that exact, difference and filter:HZ stand for."""
    kind, colon, cutoff = text.partition(":")
    if kind != "filter":
        return {"velocity": text}
    if not colon:
        raise TaupiError(Argument(name), " is filter, expected filter:HZ, such as filter:100.")
    return {"velocity": kind, "cutoff_hz": number(name, text, cutoff.removesuffix("Hz"))}


def _delay(name: str, text: str) -> float:
    return not_negative(name, seconds(name, text))


# By the name of the class that declares them.
FORMS: dict[str, dict[str, Form]] = {
    "Reading": {
        "columns": Form(hint=Path | None, placeholder="FILE.toml"),
        "begin": Form("--from"),
        "end": Form("--to"),
        "rows": Form(hint=str | None, placeholder="FIRST:STOP"),
    },
    "Streaming": {"stream": Form("--stream/--whole")},
    "Gaps": {"long_gaps": Form("--gaps")},
    "Smoothing": {"cutoff_hz": Form("--cutoff")},
    "Preparation": {"known_torque": Form(placeholder="'JOINT = FORMULA'")},
    "Sensors": {
        "q_noise": Form("--noise"),
        "velocity": Form(
            hint=str,
            placeholder="exact|difference|filter:HZ",
            note="By default exact, and difference where there is a resolution.",
            read=_sensed_velocity,
        ),
        "delay": Form(name="sensor_delay", hint=str, placeholder="TIME", note="Such as 0.001 or 1ms.", read=_delay),
    },
}
