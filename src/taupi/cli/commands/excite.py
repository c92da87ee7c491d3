"""`taupi excite`: an exciting motion of a robot."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.description import Description
from taupi.cli.options import ForceOption, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import names, one_or_each
from taupi.command_line import recorded_command
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.excitation.writers import FORMATS

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
    margins: Margins,
    search: Search,
    formats: FormatsOption = "csv",
    speed: SpeedOption = 1.0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Design a motion from which a robot's parameters can be identified, proven to stay within limits. Exit 4 if there is none.

    \b
    taupi excite panda --duration 10 -o out
    taupi excite ur10 --criterion ds --only "wrist_3_link.*" --given run1.csv -o 2
    taupi excite puma560 --limits limits.toml --formats csv,ros2 -o out
    """
    import taupi as tp
    from taupi.excitation.excitation_folder import at_speed, refuse_results, write_excitation
    from taupi.excitation.writers.write import checked_formats, checked_speed
    from taupi.identification.results.fit_file import is_saved_fit
    from taupi.reporting.report import report_text
    from taupi.signals.formats.files import sha256

    share = checked_speed(speed)
    refuse_results(output, force)
    arm = description.load(robot)
    chosen = checked_formats(names(formats), arm)
    fit = sigma is not None and is_saved_fit(sigma)
    plan = tp.excite(
        arm,
        terms=() if terms.strip() == "none" else names(terms),
        sigma=None if sigma is None else tp.load_fit(sigma) if fit else one_or_each("sigma", sigma),
        given=given or None,
        start=_posture(start),
        limits=limits,
        course=course,
        goal=goal,
        margins=margins,
        search=search,
    )
    files = {"description": Path(arm.source.path), "limits": limits}
    hashes = {f"{name}_sha256": sha256(path) for name, path in files.items() if path is not None and path.is_file()}
    plan = at_speed(plan, share).with_record(command=recorded_command(), seed=search.seed, **hashes)
    paths = write_excitation(plan, output, chosen, share, force, {"report.html": report_text(plan)})
    print(json.dumps(plan.to_dict(), indent=2) if as_json else plan)
    page = shlex.quote(str(output / "report.html"))
    first = "" if share < 1 else ", then try the motion slowly first: the same command with --speed 0.3 and another -o"
    print(f"wrote {', '.join(map(str, paths))}; next: open {page}{first}", file=sys.stderr)


def _posture(text: str | None) -> tuple[float, ...] | str | None:
    """Return joint positions, or the path of a log."""
    if text is None or Path(text).exists() or any(c.isalpha() for c in text.replace("e", "")):
        return text
    values = one_or_each("start", text)
    return values if isinstance(values, tuple) else (values,)
