"""How the command line writes settings fields that need another flag or type than their own name and type."""

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
        flag: Flag of the option; by default the field's name with dashes.
        name: Name of the option, if another option of a command already has the field's name.
        hint: Type of the value on the command line, if Python accepts more forms; by default that of the field.
        placeholder: What stands for the value in the help.
        note: What the help adds to the field's description.
        read: Function that turns the option's name and text into the value, or into several fields by name.
    """

    flag: str = ""
    name: str = ""
    hint: Any = None
    placeholder: str | None = None
    note: str = ""
    read: Callable[[str, str], Any] | None = None


PLAIN = Form()


def form_of(kind: type[Settings], field: str) -> Form:
    """Return how a field of a class is written; a base class may declare it."""
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
