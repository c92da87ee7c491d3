"""`taupi emit`: a program of a robot, a controller, or a component that runs beside a robot, as source."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.laws import GainOption, build_laws
from taupi.cli.options import Description, ForceOption, RobotArgument, TaskOption, TermsOption
from taupi.cli.parsing import json_value, names
from taupi.cli.programs import (
    COMPONENTS,
    CONTROLLER,
    PLANT,
    PROGRAMS,
    TASK_PROGRAMS,
    UnitOptions,
    build_component,
    build_plant,
    build_program,
)
from taupi.control.laws import LAWS
from taupi.errors import TaupiError

DirectoryOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Directory to write to; created if missing.")
]
LanguageOption = Annotated[str, typer.Option("--language", help="c, python, matlab or cuda.")]
NameOption = Annotated[str | None, typer.Option("--name", help="Name of the function and of its files.")]
TypeOption = Annotated[str, typer.Option("--dtype", help="float64 or float32.")]
ProjectOption = Annotated[bool, typer.Option("--project", help="Add a CMake project and a call from Python.")]
LawOption = Annotated[str | None, typer.Option("--law", help="Control law of a controller: slotine-li, walker, ...")]
ThresholdsOption = Annotated[
    Path | None,
    typer.Option("--thresholds", metavar="FILE.json", help="For an observer: thresholds written by taupi contacts -o."),
]
Ros2Option = Annotated[
    Path | None,
    typer.Option("--ros2", metavar="DIRECTORY", help="Write a ROS 2 package: a ros2_control controller, or a node."),
]
FmuOption = Annotated[
    Path | None,
    typer.Option("--fmu", metavar="FILE.fmu", help="Write a Functional Mock-up Unit instead of source."),
]
FmiOption = Annotated[str, typer.Option("--fmi", help="Version of such a unit: 3.0 or 2.0.")]
StepOption = Annotated[
    float | None, typer.Option("--step", help="For the unit of a plant: its longest internal step, s.")
]
BinaryOption = Annotated[
    bool,
    typer.Option("--binary/--no-binary", help="For a unit: include a binary for this machine, or sources only."),
]
RateOption = Annotated[
    float | None, typer.Option("--rate", help="Rate of the loop that calls a controller, Hz; by default 1000.")
]
LimitsOption = Annotated[
    str | None,
    typer.Option(
        "--effort-limits",
        metavar="LIST",
        help="Torques at which a controller saturates: a number, or a JSON list with one per joint; by default the robot's.",
    ),
]
GapOption = Annotated[
    float | None,
    typer.Option("--longest-gap", help="The longest time between two samples of a controller, s; by default 0.1."),
]
ArgumentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--argument", help="A gain that is an argument of a controller's step, not a constant: K. Repeatable."
    ),
]
ProgramArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROGRAM",
        help=f"What to emit: {', '.join((*PROGRAMS, *TASK_PROGRAMS, CONTROLLER, *COMPONENTS, PLANT))}.",
    ),
]


def emit(
    robot: RobotArgument,
    program: ProgramArgument,
    *,
    directory: DirectoryOption = None,
    language: LanguageOption = "c",
    name: NameOption = None,
    terms: TermsOption = "",
    dtype: TypeOption = "float64",
    project: ProjectOption = False,
    law: LawOption = None,
    gain: GainOption = None,
    rate: RateOption = None,
    effort_limits: LimitsOption = None,
    longest_gap: GapOption = None,
    argument: ArgumentsOption = None,
    thresholds: ThresholdsOption = None,
    task: TaskOption = None,
    ros2: Ros2Option = None,
    fmu: FmuOption = None,
    fmi: FmiOption = "3.0",
    step: StepOption = None,
    binary: BinaryOption = True,
    force: ForceOption = False,
    description: Description,
) -> None:
    """Write a program of a robot, a controller, or a component as source: C99, Python, MATLAB/Octave or CUDA.

    An observer, a tracker or an estimator is made from a fit: give fit.json, or its directory, in place of the robot.

    \b
    taupi emit puma560 regressor --language c -o out --project
    taupi emit puma560 controller --law slotine-li --language c -o out
    taupi emit out/fit.json observer --thresholds thresholds.json -o observer
    taupi emit ur10 controller --law pd-gravity --argument Kp -o out
    taupi emit planar3r operational-regressor --task planar -o out
    taupi emit elbow2r plant --fmu elbow.fmu
    taupi emit out/fit.json observer --ros2 ws/src/arm_observer
    """
    import taupi as tp

    unit = UnitOptions(fmu, fmi, step, binary)
    folder = (
        _checked_folder(program, unit, directory, language, dtype, project)
        if ros2 is None
        else _checked_package(program, unit, ros2, directory, language, dtype, project)
    )
    if thresholds is not None and program not in COMPONENTS:
        raise TaupiError("--thresholds go with the observer, got {program}.", program=program)
    chosen, next_command = names(terms), None
    loop = _loop(program, rate, effort_limits, longest_gap, argument, c_only=ros2 is None and unit.path is None)
    if program == CONTROLLER or law is not None or gain:
        law = _law_of_controller(program, law)
        subject: Any = build_laws([law], description.load(robot), chosen, gain, task)[law]
    elif program in COMPONENTS:
        subject = build_component(program, robot, chosen, thresholds, description)
    elif program == PLANT:
        subject = build_plant(robot, chosen, description)
    else:
        subject = build_program(program, description.load(robot), chosen, task=task)
    if ros2 is not None:
        paths = tp.bridges.emit_ros2(subject, folder, name, force, **loop)
        next_command = f"colcon build --paths {shlex.quote(str(folder))}"
    elif unit.path is not None:
        paths = [unit.write(subject, name, force, loop)]
        next_command = f"fmpy info {shlex.quote(str(unit.path))}"
    elif isinstance(subject, tp.Program):
        paths = tp.emit(subject, language, folder, name, dtype, project, force)
        next_command = _use_command(paths, language, project)
    else:
        write = tp.emit_controller if program == CONTROLLER else tp.emit_component
        paths = write(subject, folder, language, name, force, **loop)
        next_command = _test_command(paths, folder) if language == "c" else None
    print("\n".join(map(str, paths)))
    if next_command is not None:
        print(f"wrote {len(paths)} file{'s' * (len(paths) > 1)}; next: {next_command}", file=sys.stderr)


def _checked_folder(
    program: str, unit: UnitOptions, directory: Path | None, language: str, dtype: str, project: bool
) -> Path:
    """Return the directory for source, and refuse options that do not go with what is written."""
    if unit.path is not None:
        if program not in (CONTROLLER, *COMPONENTS, PLANT):
            raise TaupiError(
                "A unit holds a {plant}, a {controller} or one of {components:,}, got {program}.",
                plant=PLANT,
                controller=CONTROLLER,
                components=COMPONENTS,
                program=program,
            )
        if directory is not None or language != "c":
            raise TaupiError("--fmu names the one file to write, with C inside: leave -o and --language out.")
        _refuse_formats("A unit", dtype, project)
        return unit.path.parent
    unit.refuse_alone()
    if program == PLANT:
        raise TaupiError("A plant is written as a Functional Mock-up Unit: add --fmu FILE.fmu.")
    if directory is None:
        raise typer.BadParameter("say where to write: -o DIRECTORY.", param_hint="--output")
    if program == CONTROLLER:
        _refuse_formats("A controller", dtype, project)
    if program in COMPONENTS:
        _refuse_formats(f"An {program}" if program[0] in "oe" else f"A {program}", dtype, project)
    return directory


def _checked_package(
    program: str, unit: UnitOptions, ros2: Path, directory: Path | None, language: str, dtype: str, project: bool
) -> Path:
    """Return the directory of a ROS 2 package, and refuse options that do not go with it."""
    if program not in (CONTROLLER, *COMPONENTS):
        raise TaupiError(
            "A ROS 2 package holds a {controller} or one of {components:,}, got {program}.",
            controller=CONTROLLER,
            components=COMPONENTS,
            program=program,
        )
    if directory is not None or language != "c" or unit.path is not None:
        raise TaupiError("--ros2 names the package to write, with C inside: leave -o, --language and --fmu out.")
    unit.refuse_alone()
    _refuse_formats("A ROS 2 package", dtype, project)
    return ros2


def _law_of_controller(program: str, law: str | None) -> str:
    """Return the name of the law, and refuse a law without a controller."""
    if program != CONTROLLER:
        raise TaupiError(
            "--law and --gain go with the program {controller}, got {program}.", controller=CONTROLLER, program=program
        )
    if law is None:
        raise TaupiError(
            "A controller needs a law: --law {laws}. Known: {other_laws:,}.", laws=next(iter(LAWS)), other_laws=LAWS
        )
    return law


def _loop(
    program: str,
    rate: float | None,
    effort_limits: str | None,
    longest_gap: float | None,
    arguments: list[str] | None,
    c_only: bool,
) -> dict[str, Any]:
    """Return the settings of the loop that a controller runs in, as far as they are given; refuse them for anything else."""
    limits = None if effort_limits is None else json_value(effort_limits)
    if effort_limits is not None and limits is None:
        raise TaupiError(
            "--effort-limits is {got!r}, expected a number or a JSON list of numbers.", got=effort_limits[:40]
        )
    every = {"rate": rate, "effort_limits": limits, "longest_gap": longest_gap, "arguments": arguments or None}
    given = {name: value for name, value in every.items() if value is not None}
    if given and program != CONTROLLER:
        raise TaupiError(
            "--rate, --effort-limits, --longest-gap and --argument go with the program {controller}, got {program}.",
            controller=CONTROLLER,
            program=program,
        )
    if "arguments" in given and not c_only:
        raise TaupiError(
            "--argument goes with a controller as source: neither a unit nor a ROS 2 package has a place for it."
        )
    return given


def _refuse_formats(what: str, dtype: str, project: bool) -> None:
    if dtype != "float64" or project:
        raise TaupiError(
            "{what} is written in float64, with its own README: leave --dtype and --project out.", what=what
        )


def _test_command(paths: list[Path], directory: Path) -> str:
    """Return the command that compiles a package in C and runs its own test."""
    stem, folder = paths[0].stem, shlex.quote(str(directory))
    sources = [path.name for path in paths if path.suffix == ".c"]
    files = " ".join(sorted(sources, key=lambda file: (not file.startswith("test_"), file == f"{stem}.c")))
    return f"cd {folder} && cc -std=c99 -O2 {files} -o test_{stem} -lm && ./test_{stem}"


def _use_command(paths: list[Path], language: str, project: bool) -> str:
    """Return the command to run after a program has been emitted."""
    first = paths[0]
    folder, file = shlex.quote(str(first.parent)), shlex.quote(str(first))
    if project:
        return f"cmake -S {folder} -B {folder}/build && cmake --build {folder}/build"
    return {
        "c": f"cc -std=c99 -O2 -c {file}",
        "python": f"PYTHONPATH={folder} python -c 'from {first.stem} import {first.stem}'",
        "matlab": f"octave --path {folder} --eval 'help {first.stem}'",
        "cuda": f"nvcc -ptx {file}",
    }[language]
