"""Servos whose registers are known, one TOML file each, with the sources of their numbers: what a [drive] names as `servo`."""

from __future__ import annotations

from importlib import resources
from typing import TypedDict, cast

from taupi.errors import unknown
from taupi.input_files import parse_toml
from taupi.schema import conformed


class Registers(TypedDict):
    """What one unit of each register is: duty per rad of `kp`, rad of `position`, V of `volts`.

    `load` is the duty of one unit of the register that most loggers call load or present PWM.
    """

    kp: float
    position: float
    volts: float
    load: float


class Servo(TypedDict):
    """A servo: its name, the fields of the drive that its data sheet states, and its registers."""

    name: str
    drive: dict[str, float | str | list[str]]
    registers: Registers


def names() -> tuple[str, ...]:
    """Return the names of the servos that are known.

    >>> names()
    ('xl330',)
    """
    files = (entry.name for entry in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def servo(name: str) -> Servo:
    """Return what is known of a servo.

    >>> round(servo("xl330")["registers"]["kp"] * 885, 4)  # units of PWM per rad, for each unit of the gain
    2.5465
    """
    if name not in names():
        raise unknown("servo", name, names(), "the catalogue of servos")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return cast(Servo, conformed(parse_toml(text, f"{name}.toml"), Servo, f"{name}.toml"))
