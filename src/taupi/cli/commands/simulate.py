"""`taupi simulate`: a robot under a control law."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from taupi.cli.description import Description
from taupi.cli.exit_codes import ExitCode
from taupi.cli.laws import ELASTIC_LAW, build_laws
from taupi.cli.options import ForceOption, GainOption, JsonOption, RobotArgument, RunsOption, SubstepsOption
from taupi.cli.plants import HorizonOption, PlantOptions, SensorChanges, SensorOptions, with_substeps
from taupi.cli.references import MotionOptions
from taupi.cli.run_folder import refuse_results, write_runs, written

LawOption = Annotated[
    str | None,
    typer.Option(
        "--law",
        help="computed-torque (the default), pd-gravity, slotine-li, niemeyer-slotine, walker, composite, natural, "
        "elastic-pd-gravity (the default of elastic joints) or none.",
    ),
]


def simulate(
    robot: RobotArgument,
    *,
    law: LawOption = None,
    gain: GainOption = None,
    motion: MotionOptions,
    horizon: HorizonOption,
    substeps: SubstepsOption = None,
    surroundings: PlantOptions,
    sensors: SensorChanges,
    sensing: SensorOptions,
    output: RunsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Simulate a robot under a control law; write the run and its page. Exit 4 where the loop diverges.

    \b
    taupi simulate puma560 --reference puma560 --duration 5 -o out
    taupi simulate panda --law slotine-li --payload-at 2s:1.5kg --json
    taupi simulate zollo2r --resolution 5e-6 -o out    (elastic joints: links and motors)
    """
    import taupi as tp
    from taupi.cli.show.simulation import run_data

    refuse_results(output, (), force)
    arm = description.load(robot)
    plant = surroundings.plant(arm)
    horizon = with_substeps(horizon, plant, substeps)
    surroundings.warn_of_late_payloads(horizon.duration)
    reference = motion.motion(arm, horizon.duration)
    name = law or (ELASTIC_LAW if surroundings.elastic(arm) else "computed-torque")
    free = name == "none" or reference is None
    controller = None if free else build_laws([name], arm, surroundings.term_names, gain)[name]
    run = tp.simulate(
        plant,
        controller,
        reference,
        horizon=horizon,
        sensors=sensing.sensors(sensors),
        initial=motion.start(arm.n),
        seed=sensing.seed,
    )
    trial = tp.laws.Trial(run, controller, plant, "" if free else name)
    print(json.dumps(run_data(run), indent=2) if as_json else run)
    for remark in trial.remarks:
        print(remark, file=sys.stderr)
    if output is not None:
        print(written(write_runs([trial], output, (), force), output), file=sys.stderr)
    raise typer.Exit(ExitCode.GOOD if run.complete else ExitCode.NOT_ACHIEVED)
