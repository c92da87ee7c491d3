"""Control laws by their names on the command line, and their gains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.parsing import json_value, names
from taupi.control.laws import law_class
from taupi.errors import Argument, Message, TaupiError, unknown

if TYPE_CHECKING:
    from taupi.control.law import Law
    from taupi.model.robot import Robot

# The gains of each law, as its help lists them: help imports no law.
_LEARNING = "Lambda, K, Gamma_inv"
LAW_GAINS = {
    "slotine-li": _LEARNING,
    "niemeyer-slotine": _LEARNING,
    "walker": "Lambda, gamma, Gamma_inv",
    "composite": f"{_LEARNING}, filter_rad, weight, forgetting, gain_limit",
    "natural": "Lambda, K, gamma, Gamma_inv",
    "computed-torque": "Kp, Kd",
    "pd-gravity": "Kp, Kd",
    "operational-slotine-li": f"{_LEARNING}, damping",
    "elastic-pd-gravity": "Kp, Kd, velocity",
}
# Measures motors, and compensates gravity only: its law has no joint terms.
ELASTIC_LAW = "elastic-pd-gravity"
# Follows a task, not the joints.
TASK_LAW = "operational-slotine-li"
# With many parameters, the composite law adapts only the base ones: its filters store a number per joint and parameter.
_ADAPTS_BASE = ("composite",)
NO_GAINS = frozenset({"robot", "terms", "modifications", "adapt", "form", "task", "frame"})

GainOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gain",
        help="NAME=VALUE or LAW.NAME=VALUE: Lambda=5, K=[20,10], walker.gamma=8. May be repeated. "
        f"Gains of each law: {'; '.join(f'{law}: {gains}' for law, gains in LAW_GAINS.items())}.",
    ),
]


def law_names(options: Sequence[str]) -> list[str]:
    """Return the laws of an option that is repeated or separated by commas, each once."""
    chosen = list(dict.fromkeys(name for text in options for name in names(text)))
    for name in chosen:
        law_class(name)  # refuses what is unknown
    return chosen


def build_laws(
    chosen: Sequence[str],
    robot: Robot,
    terms: tuple[str, ...],
    gains: Sequence[str] | None,
    task: str | None = None,
) -> dict[str, Law]:
    """Return laws by their names, with the gains of `--gain`, and default gains for the robot otherwise.

    `task` is what a law in a task's coordinates controls.
    """
    classes = {name: law_class(name) for name in chosen}
    settings = {name: settings_of(c) for name, c in classes.items()}
    fields = {name: settings[name] - NO_GAINS for name in chosen}
    if task is not None and not any("task" in settings[name] for name in chosen):
        raise TaupiError("--task is for the law {task_law}, got {chosen:,}.", task_law=TASK_LAW, chosen=chosen)
    keywords: dict[str, dict[str, object]] = {name: {} for name in chosen}
    for text in gains or ():
        name, mark, value = text.partition("=")
        owner, _, gain = name.strip().rpartition(".")
        if not mark or not gain:
            raise TaupiError(
                "--gain is {got!r}, expected NAME=VALUE, such as Lambda=5 or walker.gamma=8.", got=text[:40]
            )
        if owner and owner not in chosen:
            raise unknown("law", owner, chosen, f"--gain {text[:40]}")
        having = [law for law in ([owner] if owner else chosen) if gain in fields[law]]
        if not having:
            raise unknown("gain", gain, sorted(set().union(*fields.values())), ", ".join(chosen))
        for law in having:
            keywords[law][gain] = _gain(text, value)
    for law in chosen:
        keywords[law] |= {"adapt": "base"} if law in _ADAPTS_BASE else {}
        keywords[law] |= {"terms": terms} if "terms" in settings[law] else {}
        keywords[law] |= {"task": task} if "task" in settings[law] and task is not None else {}
    return {law: _build(classes[law], robot, keywords[law], fields[law]) for law in chosen}


def settings_of(kind: type[Law]) -> set[str]:
    """Return the names of all settings of a class of laws, gains among them."""
    return {field.name for field in dataclasses.fields(kind) if field.init}


def _build(kind: type[Law], robot: Robot, keywords: dict[str, object], gains: set[str]) -> Law:
    """Return a law of a class; errors in its gains name the option that sets them."""
    try:
        return kind(robot, **keywords)
    except TaupiError as error:
        message, remedy = (
            Message.of(
                [f"--gain {p}" if isinstance(p, Argument) and p.name in gains else p for p in said.parts], said.values
            )
            for said in (error.message, error.remedy)
        )
        raise type(error)(message, remedy=remedy) from None


def _gain(text: str, value: str) -> object:
    gain = json_value(value)
    if gain is None:
        raise TaupiError("--gain is {got!r}, expected a number or a JSON list after the =.", got=text[:40])
    return gain
