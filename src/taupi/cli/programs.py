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
)


def built(program: str, robot: Any, terms: tuple[str, ...] = ()) -> Any:
    """Return a program of a robot by its name."""
    import taupi as tp

    if program not in PROGRAMS:
        raise unknown("program", program, PROGRAMS)
    builder = getattr(tp, program.replace("-", "_"))
    if not terms:
        return builder(robot)
    if "terms" not in inspect.signature(builder).parameters:
        raise TaupiError(f"{program} takes no terms, got {', '.join(terms)}.")
    return builder(robot, terms=terms)


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
