"""`taupi control`: control laws side by side."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.laws import ELASTIC_LAW, build_laws, law_names
from taupi.cli.options import RobotArgument, TaskOption
from taupi.cli.simulation import SimulationOptions, refuse_results, write_runs, written
from taupi.control.laws import LAWS
from taupi.errors import TaupiError

LawsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--law",
        help=f"{', '.join(LAWS)}; several separated by commas, or repeated. By default slotine-li, and {ELASTIC_LAW} for "
        "elastic joints.",
    ),
]
KnownOption = Annotated[float, typer.Option("--known", help="Initial estimates as a share of the true parameters.")]

HeldOption = Annotated[
    bool,
    typer.Option(
        "--held", help="Also run each law with its estimate fixed at the initial value, to show what learning brings."
    ),
]


def control(
    robot: RobotArgument,
    *,
    law: LawsOption = None,
    known: KnownOption = 0.5,
    task: TaskOption = None,
    held: HeldOption = False,
    options: SimulationOptions,
) -> None:
    """Compare control laws that follow a reference from a wrong initial estimate. Exit 4 if a loop diverges.

    \b
    taupi control puma560 --law slotine-li --reference puma560 --duration 5 -o out
    taupi control elbow2r --law slotine-li --law walker --payload-at 5s:2kg -o out
    taupi control panda --known 0.3 --held --torque-limit description -o out
    taupi control planar3r --law operational-slotine-li --task planar \\
      --reference '[[0.3, 0.9, -0.4], [0.6, 1.3, -0.8]]'
    """
    import taupi as tp
    from taupi.cli.simulation import comparison_text

    arm = options.description.load(robot)
    names = law_names(law or ()) or [options.surroundings.default_law(arm, "slotine-li")]
    refuse_results(options.output, names, options.force)
    scene = options.scene(arm)
    if scene.reference is None:
        raise TaupiError("--reference is none, expected a motion to follow: sine, way-points or a file.")
    trials = []
    for name, controller in build_laws(names, arm, options.term_names, options.gain, task).items():
        estimate = controller.initial_estimate(known)
        still = controller.without_learning() if held else None
        beside = scene.run(still, estimate) if still is not None else None
        trials.append(tp.laws.Trial(scene.run(controller, estimate), controller, scene.plant, name, beside))
    rows = [{**t.summary(), "remarks": list(t.remarks)} for t in trials]
    print(json.dumps({"robot": arm.name, "runs": rows}, indent=2) if options.as_json else comparison_text(rows))
    for trial in trials:
        for remark in trial.remarks:
            print(f"{trial.name}: {remark}", file=sys.stderr)
    if options.output is not None:
        print(written(write_runs(trials, options.output, names, options.force), options.output), file=sys.stderr)
    if not all(row["complete"] for row in rows):
        raise typer.Exit(ExitCode.NOT_ACHIEVED)
