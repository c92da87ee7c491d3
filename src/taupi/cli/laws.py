"""Control laws by their names on the command line, and their gains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.parsing import json_value, names
from taupi.errors import Argument, TaupiError, unknown

if TYPE_CHECKING:
    import numpy as np

    from taupi.control.law import Law
    from taupi.model.robot import Robot

LAWS = {
    "slotine-li": "SlotineLi",
    "niemeyer-slotine": "NiemeyerSlotine",
    "walker": "Walker",
    "composite": "CompositeAdaptation",
    "natural": "NaturalAdaptation",
    "computed-torque": "ComputedTorque",
    "pd-gravity": "PDGravity",
    "operational-slotine-li": "OperationalSlotineLi",
    "elastic-pd-gravity": "ElasticPDGravity",
}
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
_NO_GAINS = ("robot", "terms", "modifications", "adapt", "form", "task", "frame")

GainOption = Annotated[
    list[str] | None,
    typer.Option(
        "--gain",
        help="NAME=VALUE or LAW.NAME=VALUE: Lambda=5, K=[20,10], walker.gamma=8. May be repeated. "
        f"Gains of each law: {'; '.join(f'{law}: {gains}' for law, gains in LAW_GAINS.items())}.",
    ),
]


def law_names(options: Sequence[str], default: str) -> list[str]:
    """Return the laws of an option that is repeated or separated by commas, each once; by default the default laws."""
    chosen = [_known(name) for text in options for name in names(text)]
    return list(dict.fromkeys(chosen)) or [default]


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
    import taupi as tp

    if task is not None and TASK_LAW not in map(_known, chosen):
        raise TaupiError(f"--task is for the law {TASK_LAW}, got {', '.join(chosen)}.")
    classes = {name: getattr(tp.laws, LAWS[_known(name)]) for name in chosen}
    fields = {name: gains_of(c) for name, c in classes.items()}
    keywords: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for text in gains or ():
        name, mark, value = text.partition("=")
        owner, _, gain = name.strip().rpartition(".")
        if not mark or not gain:
            raise TaupiError(f"--gain is {text[:40]!r}, expected NAME=VALUE, such as Lambda=5 or walker.gamma=8.")
        if owner and owner not in chosen:
            raise unknown("law", owner, chosen, f"--gain {text[:40]}")
        having = [law for law in ([owner] if owner else chosen) if gain in fields[law]]
        if not having:
            raise unknown("gain", gain, sorted(set().union(*fields.values())), ", ".join(chosen))
        for law in having:
            keywords[law][gain] = _gain(text, value)
    for law in chosen:
        keywords[law] |= {"adapt": "base"} if law in _ADAPTS_BASE else {}
        keywords[law] |= {"terms": terms} if law != ELASTIC_LAW else {}
        keywords[law] |= {"task": task} if law == TASK_LAW and task is not None else {}
    return {law: _build(classes[law], robot, keywords[law], fields[law]) for law in chosen}


def gains_of(kind: type[Law]) -> set[str]:
    """Return the names of the gains of a class of laws."""
    return {f.name for f in dataclasses.fields(kind) if f.init} - set(_NO_GAINS)


def _build(kind: Any, robot: Robot, keywords: dict[str, Any], gains: set[str]) -> Law:
    """Return a law of a class; errors in its gains name the option that sets them."""
    try:
        law: Law = kind(robot, **keywords)
    except TaupiError as error:
        parts, remedy = (
            [f"--gain {p}" if isinstance(p, Argument) and p.name in gains else p for p in texts]
            for texts in (error.parts, error.remedy)
        )
        raise type(error)(*parts, remedy=remedy) from None
    return law


def starting_estimate(law: Law, share: float) -> np.ndarray:
    """Return a law's initial estimate: a share of the robot's parameters, physically consistent if the law needs that."""
    estimate = share * law.parameters.values
    return law.real(estimate) if hasattr(law, "real") else estimate


def without_learning(law: Law) -> Law | None:
    """Return a law with its estimate fixed; None if it learns nothing, or learns through gains other than Gamma_inv as well."""
    other_ways = {"weight", "gamma"} if hasattr(law, "real") else {"weight"}
    if not hasattr(law, "Gamma_inv") or gains_of(type(law)) & other_ways:
        return None
    known: Any = law  # type checkers do not know the gains of a law in general
    held: Law = dataclasses.replace(known, Gamma_inv=0.0)
    return held


def _known(name: str) -> str:
    if name not in LAWS:
        raise unknown("law", name, LAWS)
    return name


def _gain(text: str, value: str) -> Any:
    gain = json_value(value)
    if gain is None:
        raise TaupiError(f"--gain is {text[:40]!r}, expected a number or a JSON list after the =.")
    return gain
