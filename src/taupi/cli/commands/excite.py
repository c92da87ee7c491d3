"""`taupi excite`: an exciting motion of a robot."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.options import Description, ForceOption, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import names, one_or_each, term_names
from taupi.command_line import recorded_command
from taupi.errors import TaupiError
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.excitation.writers import FORMATS
from taupi.files import refuse_to_replace

if TYPE_CHECKING:
    from taupi.model.robot import Robot

# Of the budget: seconds for start and files per second for the start, and the share that the search has in any case.
_START_AND_FILES, _LEAST = 4 / 3, 1 / 5
OutputOption = Annotated[Path, typer.Option("-o", "--output", help="Directory for the results.")]
FormatsOption = Annotated[
    str, typer.Option("--formats", help=f"File formats for the motion, separated by commas: {', '.join(FORMATS)}.")
]
SpeedOption = Annotated[
    float, typer.Option("--speed", help="Share of full speed at which to write the motion; 0.3 for the first try.")
]
LimitsOption = Annotated[
    Path | None,
    typer.Option(
        "--limits",
        metavar="FILE.toml",
        help="Limits that the description does not state, by quantity or by joint: lower, upper, velocity, acceleration, "
        "jerk, effort, torque_rate.",
    ),
]
SigmaOption = Annotated[
    str | None,
    typer.Option(
        "--sigma",
        metavar="X[,X...]|FIT",
        help="Torque noise in N m, or a fit: its fit.json or directory. By default 1 % of the effort limits.",
    ),
]
GivenOption = Annotated[
    list[Path] | None,
    typer.Option("--given", help="Earlier log, or fit, that the motion should complement. May be repeated."),
]
StartOption = Annotated[
    str | None,
    typer.Option(
        "--start", metavar="X,X...|LOG", help="Where the robot is now: joint positions, or a log that ends there."
    ),
]
DriveOption = Annotated[
    Path | None,
    typer.Option(
        "--drive",
        metavar="FILE.toml",
        help="The robot has no torque sensors: commands for encoders alone, with the [drive] table of a column mapping. "
        "--sigma is then the noise of the encoders in rad.",
    ),
]
NoFloorOption = Annotated[
    bool, typer.Option("--no-floor", help="The robot hangs, or reaches below its base: the same as --floor none.")
]


def excite(
    robot: RobotArgument,
    *,
    output: OutputOption,
    terms: TermsOption = "viscous,coulomb",
    limits: LimitsOption = None,
    course: Course,
    goal: Goal,
    sigma: SigmaOption = None,
    given: GivenOption = None,
    start: StartOption = None,
    drive: DriveOption = None,
    margins: Margins,
    no_floor: NoFloorOption = False,
    search: Search,
    formats: FormatsOption = "csv",
    speed: SpeedOption = 1.0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Design a motion from which a robot's parameters can be identified, proven to stay within limits. Exit 4 if there is none.

    The plane that the base is bolted to is a floor: give --floor METRES where it is another, --no-floor for a robot that hangs.

    \b
    taupi excite panda --duration 10 -o out
    taupi excite ur10 --criterion ds --only "wrist_3_link.*" --given run1.csv -o 2
    taupi excite puma560 --limits limits.toml --formats csv,ros2 -o out
    taupi excite z1.urdf --drive drive.toml --duration 20 -o out
    """
    began = time.monotonic()
    import taupi as tp
    from taupi.excitation.commands import RESULTS as COMMAND_RESULTS
    from taupi.excitation.excitation_folder import at_speed, refuse_results, write_excitation
    from taupi.excitation.writers.write import checked_formats, checked_speed
    from taupi.identification.results.fit_file import is_saved_fit, load_torque_fit
    from taupi.reporting.report import report_text
    from taupi.signals.formats.files import sha256

    share = checked_speed(speed)
    if drive is None:
        refuse_results(output, force)
    else:
        refuse_to_replace(output, COMMAND_RESULTS, force)
    arm = description.load(robot)
    chosen = checked_formats(names(formats), arm)
    if no_floor:
        margins = dataclasses.replace(margins, floor=None)
    if drive is not None:
        others = {
            "--given": given,
            "--terms": terms != "viscous,coulomb",
            "--speed": speed != 1,
            "--criterion": goal != Goal(rate=goal.rate),
            "--motion": course != Course(duration=course.duration),
            "--starts": search != Search(seed=search.seed),
        }
        _commands(
            shlex.join([robot, *description.words()]),
            arm,
            drive,
            course.duration,
            output,
            chosen,
            force,
            as_json,
            [name for name, used in others.items() if used],
            rate_hz=goal.rate,
            sigma=3e-4 if sigma is None else one_or_each("sigma", sigma),
            start=_posture(start),
            limits=limits,
            seed=search.seed,
            margins=margins,
        )
        return
    fit = sigma is not None and is_saved_fit(sigma)
    plan = tp.excite(
        arm,
        terms=term_names(terms),
        sigma=None if sigma is None else load_torque_fit(sigma) if fit else one_or_each("sigma", sigma),
        given=given or None,
        start=_posture(start),
        limits=limits,
        course=course,
        goal=goal,
        margins=margins,
        search=_within(search, time.monotonic() - began),
    )
    files = {"description": Path(arm.source.path), "limits": limits}
    hashes = {f"{name}_sha256": sha256(path) for name, path in files.items() if path is not None and path.is_file()}
    plan = at_speed(plan, share).with_record(command=recorded_command(), seed=search.seed, **hashes)
    paths = write_excitation(plan, output, chosen, share, force, {"report.html": report_text(plan)})
    print(json.dumps(plan.to_dict(), indent=2) if as_json else plan)
    page = shlex.quote(str(output / "report.html"))
    first = "" if share < 1 else ", then try the motion slowly first: the same command with --speed 0.3 and another -o"
    print(f"wrote {', '.join(map(str, paths))}; next: open {page}{first}", file=sys.stderr)


def _within(search: Search, spent: float) -> Search:
    """Return a search that leaves the rest of its budget: starting took `spent` seconds, and the files take a third of that."""
    if search.budget is None:
        return search
    return dataclasses.replace(search, budget=max(search.budget - _START_AND_FILES * spent, _LEAST * search.budget))


def _commands(
    name: str,
    arm: Robot,
    drive: Path,
    duration: float,
    output: Path,
    formats: tuple[str, ...],
    force: bool,
    as_json: bool,
    unused: list[str],
    **settings: Any,
) -> None:
    """Plan commands for a robot without torque sensors, and write them with the mapping for the log of them."""
    import taupi as tp
    from taupi.reporting.report import report_text
    from taupi.signals.mapping.columns import Columns

    if unused:
        raise TaupiError("{unused:and} have no meaning with --drive. Leave them out.", unused=unused)
    law = Columns.of(drive).drive("")
    if law is None:
        raise TaupiError("{drive} has no table [drive] with the law and its gains.", drive=str(drive))
    plan = tp.excite_commands(arm, law, duration, **settings).with_record(command=recorded_command())
    paths = plan.write(output, formats, force=force, page=report_text(plan))
    print(json.dumps(plan.to_dict(), indent=2) if as_json else plan)
    mapping = shlex.quote(str(output / "drive.toml"))
    print(
        f"wrote {', '.join(map(str, paths))}; next: send the commands, record them beside the encoders, then "
        f"taupi identify {name} run.csv --columns {mapping} -o fit",
        file=sys.stderr,
    )


def _posture(text: str | None) -> tuple[float, ...] | str | None:
    """Return joint positions, or the path of a log."""
    if text is None or Path(text).exists() or any(c.isalpha() for c in text.replace("e", "")):
        return text
    values = one_or_each("start", text)
    return values if isinstance(values, tuple) else (values,)
