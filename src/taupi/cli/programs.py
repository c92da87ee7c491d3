"""What the command line knows by name of a robot or a fit: programs, components that run beside a robot, plants in a unit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.options import Description
from taupi.errors import Argument, TaupiError, unknown

if TYPE_CHECKING:
    from taupi.identification.online.component import Component
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.results.fit import Fit
    from taupi.model.robot import Robot
    from taupi.program.program import Program
    from taupi.simulation.plants.driven_plant import DrivenPlant
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.rigid_plant import RigidPlant


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

ProgramArgument = Annotated[
    str | None,
    typer.Argument(metavar="[PROGRAM]", help=f"{', '.join((*PROGRAMS, *TASK_PROGRAMS))}."),
]
WhatOption = Annotated[str | None, typer.Option("--what", help="PROGRAM, as an option.")]
FormOption = Annotated[
    str | None,
    typer.Option("--form", help="classical, slotine-li or elastic; for the Coriolis matrix: christoffel, body, ..."),
]


def chosen_program(program: str | None, what: str | None, default: str) -> str:
    """Return the program that was named, by its place or by --what; the default if none was."""
    if program is not None and what is not None:
        raise TaupiError(
            "A program is named twice, {program!r} and --what {what}: name it once.", program=program, what=what
        )
    return program or what or default


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
            raise TaupiError("{name} takes no {argument}, got {text}.", name=name, argument=Argument(option), text=text)
    built = builder(robot, **settings)
    program: Program = built if isinstance(built, tp.Program) else built.regressor  # a lumped form has its regressor
    return program


def build_component(
    name: str, source: str, terms: tuple[str, ...], thresholds: Path | None, description: Description
) -> Component:
    """Return a component by its name, for the fit or the robot that `source` names; `terms` go with a robot."""
    import taupi as tp

    fit = fit_of(source)
    if thresholds is not None and name != "observer":
        raise TaupiError("--thresholds go with the observer, got {name}.", name=name)
    if fit is not None and terms:
        raise TaupiError("--terms are those of the fit: leave them out.")
    if name == "observer":
        subject = description.load(source) if fit is None else fit
        own_terms = terms if fit is None else None
        if thresholds is not None:
            return read_detector(subject, thresholds, own_terms)
        return tp.momentum_observer(subject, terms=own_terms)
    if fit is None:
        raise TaupiError(
            "The {name} needs a fit, got {got!r}: the fit.json of taupi identify, or its directory.",
            name=name,
            got=source,
        )
    return fit.tracker() if name == "tracker" else fit.recursive_estimator()


def read_detector(source: Fit | Robot, path: Path, terms: tuple[str, ...] | None = None) -> ContactDetector:
    """Return the detector for a fit, or a robot with `terms`: the thresholds in the file at `path`, and their observer."""
    import taupi as tp
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.online.thresholds import read_thresholds

    thresholds = read_thresholds(path, source if isinstance(source, tp.Robot) else source.robot)
    observer = tp.momentum_observer(source, thresholds.bandwidth_hz, terms, thresholds.tracked)
    return ContactDetector(observer, thresholds)


def fit_of(source: str) -> Fit | None:
    """Return the fit with torque in a file or directory, or None if `source` names a robot."""
    from taupi.identification.results.fit_file import load_torque_fit

    return load_torque_fit(source) if _names_a_fit(source) else None


def _names_a_fit(source: str) -> bool:
    path = Path(source)
    return path.suffix == ".json" or path.is_dir()


PLANT = "plant"


@dataclass(frozen=True)
class UnitOptions:
    """Where a unit goes and what it is like: the options --fmu, --fmi, --step and --binary."""

    path: Path | None
    fmi: str
    step: float | None
    binary: bool

    def write(self, subject: Any, name: str | None, force: bool, loop: Mapping[str, Any]) -> Path:
        """Write the unit of a plant, a law with the settings of its `loop`, or a component, and return its path."""
        import taupi as tp

        assert self.path is not None
        return tp.bridges.emit_fmu(subject, self.path, self.fmi, name, self.step, self.binary, force, **loop)

    def refuse_alone(self) -> None:
        """Refuse options of a unit where none is asked for."""
        if self.step is not None or not self.binary or self.fmi != "3.0":
            raise TaupiError("--fmi, --step and --no-binary go with --fmu FILE.fmu.")


def build_plant(
    source: str, terms: tuple[str, ...], description: Description
) -> RigidPlant | ElasticPlant | DrivenPlant:
    """Return the plant of a robot with `terms`, or of a fit with its own, with its drives if it was made from commands."""
    import taupi as tp

    fit = tp.load_fit(source) if _names_a_fit(source) else None
    if fit is not None and terms:
        raise TaupiError("--terms are those of the fit: leave them out.")
    if isinstance(fit, tp.CommandFit):
        return tp.laws.DrivenPlant.of(fit)
    robot = description.load(source) if fit is None else fit.robot_identified()
    if robot.elastic_joints:
        return tp.ElasticPlant(robot, (fit.terms if fit is not None else terms) or None)
    return tp.RigidPlant(robot, fit.terms if fit is not None else terms)
