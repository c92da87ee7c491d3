"""The programs of a robot that the command line knows by name."""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path
from typing import Any

from taupi.errors import TaupiError, unknown

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

TASK_PROGRAMS = ("operational-force", "operational-dynamics", "operational-mass", "operational-regressor")

CONTROLLER = "controller"  # what `taupi emit ROBOT controller --law ...` writes; a law, and no program of the robot


def built(
    program: str,
    robot: Any,
    terms: tuple[str, ...] = (),
    form: str | None = None,
    task: str | None = None,
    coupling: bool = True,
) -> Any:
    """Return a program of a robot by its name, with the settings that were given."""
    import taupi as tp

    if program == "regressor" and form is not None:
        if form not in FORMS:
            raise unknown("form", form, FORMS)
        program, form = FORMS[form], None
    if program not in (*PROGRAMS, *TASK_PROGRAMS):
        raise unknown("program", program, (*PROGRAMS, *TASK_PROGRAMS, CONTROLLER))
    family, _, rest = program.partition("-")
    place, name = (getattr(tp, family), rest) if family in ("elastic", "operational") else (tp, program)
    builder = getattr(place, name.replace("-", "_"))
    form = form and form.replace("-", "_")
    given = {"terms": terms or None, "form": form, "task": task, "coupling": None if coupling else False}
    settings = {name: value for name, value in given.items() if value is not None}
    for name, value in settings.items():
        if name not in inspect.signature(builder).parameters:
            told = ", ".join(value) if isinstance(value, tuple) else value
            raise TaupiError(f"{program} takes no {name}, got {told}.")
    return builder(robot, **settings)


def next_step(paths: list[Path], language: str, project: bool) -> str:
    """Return the command that people run after these files have been written."""
    first = paths[0]
    folder = shlex.quote(str(first.parent))
    file = shlex.quote(str(first))
    if project:
        return f"cmake -S {folder} -B {folder}/build && cmake --build {folder}/build"
    return {
        "c": f"cc -std=c99 -O2 -c {file}",
        "python": f"PYTHONPATH={folder} python -c 'from {first.stem} import {first.stem}'",
        "matlab": f"octave --path {folder} --eval 'help {first.stem}'",
        "cuda": f"nvcc -ptx {file}",
    }[language]
