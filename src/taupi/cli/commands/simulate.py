"""`taupi simulate`: a robot under a control law."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.laws import ELASTIC_LAW, build_laws
from taupi.cli.options import RobotArgument
from taupi.cli.simulation import SimulationOptions, refuse_results, write_runs, written
from taupi.control.laws import LAWS

LawOption = Annotated[
    str | None,
    typer.Option(
        "--law",
        help=f"{', '.join(LAWS)} or none. By default computed-torque, and {ELASTIC_LAW} for elastic joints.",
    ),
]


def simulate(robot: RobotArgument, *, law: LawOption = None, options: SimulationOptions) -> None:
    """Simulate a robot under a control law; write the run and its page. Exit 4 if the loop diverges.

    \b
    taupi simulate puma560 --reference puma560 --duration 5 -o out
    taupi simulate panda --law slotine-li --payload-at 2s:1.5kg --json
    taupi simulate zollo2r --resolution 5e-6 -o out    (its joints are elastic)
    """
    import taupi as tp
    from taupi.cli.simulation import run_data

    refuse_results(options.output, (), options.force)
    arm = options.description.load(robot)
    scene = options.scene(arm)
    name = law or options.surroundings.default_law(arm, "computed-torque")
    free = name == "none" or scene.reference is None
    controller = None if free else build_laws([name], arm, options.term_names, options.gain)[name]
    run = scene.run(controller)
    trial = tp.laws.Trial(run, controller, scene.plant, "" if free else name)
    print(json.dumps(run_data(run), indent=2) if options.as_json else run)
    for remark in trial.remarks:
        print(remark, file=sys.stderr)
    if options.output is not None:
        print(written(write_runs([trial], options.output, (), options.force), options.output), file=sys.stderr)
    if not run.complete:
        raise typer.Exit(ExitCode.NOT_ACHIEVED)
