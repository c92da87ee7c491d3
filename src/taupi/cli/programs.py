"""The programs of a robot that the command line knows by name."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.errors import Argument, TaupiError, unknown

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.program.program import Program

# Builders of taupi that need nothing but the robot; `slotine-li-regressor` is `taupi.slotine_li_regressor`.
PROGRAMS = (
    "regressor",
    "slotine-li-regressor",
    "energy-regressor",
    "inverse-dynamics",
    "forward-dynamics",
    "bias-torque",
    "gravity-torque",
    "mass-matrix",
    "mass-matrix-derivative",
    "coriolis-matrix",
    "christoffel-symbols",
    "forward-kinematics",
    "jacobian",
    "jacobian-derivative",
    "kinetic-energy",
    "potential-energy",
    "elastic-regressor",
    "elastic-inverse-dynamics",
    "elastic-forward-dynamics",
    "elastic-mass-matrix",
    "elastic-coriolis-matrix",
    "elastic-gravity-torque",
)
# The forms of a regressor.
FORMS = {"classical": "regressor", "slotine-li": "slotine-li-regressor", "elastic": "elastic-regressor"}
# Builders that need a task as well.
TASK_PROGRAMS = (
    "operational-force",
    "operational-dynamics",
    "operational-mass",
    "operational-regressor",
    "operational-planar-3r-regressor",
)
# What `taupi emit ROBOT controller --law ...` writes: a law, and no program of the robot.
CONTROLLER = "controller"
# The components that `taupi emit FIT ...` writes, which run beside a robot.
COMPONENTS = ("observer", "tracker", "estimator")

WhatOption = Annotated[str, typer.Option("--what", help=f"A program: {', '.join((*PROGRAMS, *TASK_PROGRAMS))}.")]
FormOption = Annotated[
    str | None,
    typer.Option("--form", help="classical, slotine-li or elastic; for the Coriolis matrix: christoffel, body, ..."),
]


def build_program(
    name: str,
    robot: Robot,
    terms: tuple[str, ...] = (),
    form: str | None = None,
    task: str | None = None,
    coupling: bool = True,
) -> Program:
    """Return a program of a robot by its name on the command line; settings that its builder does not take are refused."""
    import taupi as tp

    if name == "regressor" and form is not None:
        if form not in FORMS:
            raise unknown("form", form, FORMS)
        name, form = FORMS[form], None
    if name not in (*PROGRAMS, *TASK_PROGRAMS):
        raise unknown("program", name, (*PROGRAMS, *TASK_PROGRAMS, CONTROLLER, *COMPONENTS))
    family, _, rest = name.partition("-")
    place, verb = (getattr(tp, family), rest) if family in ("elastic", "operational") else (tp, name)
    builder = getattr(place, verb.replace("-", "_"))
    options = {
        "terms": terms or None,
        "form": form and form.replace("-", "_"),
        "task": task,
        "coupling": None if coupling else False,
    }
    settings = {option: value for option, value in options.items() if value is not None}
    for option, value in settings.items():
        if option not in inspect.signature(builder).parameters:
            text = ", ".join(value) if isinstance(value, tuple) else value
            raise TaupiError(f"{name} takes no ", Argument(option), f", got {text}.")
    built = builder(robot, **settings)
    program: Program = getattr(built, "regressor", built)  # a lumped form has its regressor
    return program
