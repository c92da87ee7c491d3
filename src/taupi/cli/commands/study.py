"""`taupi study`: many simulated arms at once, and how they perform."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.laws import GainOption
from taupi.cli.options import Description, ForceOption, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import names as split_names
from taupi.cli.settings import Without
from taupi.cli.simulation import PlantOptions, SensorChanges, sensors_of
from taupi.errors import TaupiError, unknown
from taupi.simulation.horizon import Horizon

STUDIES = ("robustness",)
LAWS = ("pd-gravity", "computed-torque", "slotine-li")


def study(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="robustness: uncertain arms under several laws.")],
    robot: RobotArgument = "puma560",
    *,
    law: Annotated[
        list[str] | None,
        typer.Option(
            "--law", help="Laws, repeated or separated by commas. By default pd-gravity,computed-torque,slotine-li."
        ),
    ] = None,
    gain: GainOption = None,
    roll_outs: Annotated[int, typer.Option("--roll-outs", help="How many arms.")] = 256,
    spread: Annotated[float, typer.Option("--spread", help="How much the arms differ, as a share.")] = 0.2,
    fit: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar="FIT",
            help="A fit whose uncertainty the arms are drawn from, instead of ROBOT and --spread.",
        ),
    ] = None,
    within: Annotated[
        float, typer.Option("--within", help="Late rms error below which an arm has converged, rad or m.")
    ] = 0.05,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the arms and of their initial positions.")] = 0,
    device: Annotated[str, typer.Option("--device", help="cpu, or cuda: one GPU thread per arm.")] = "cpu",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write, a name ending in .html.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    terms: TermsOption = "",
    surroundings: Annotated[PlantOptions, Without("rigid", "stiction")],
    sensors: SensorChanges,
    horizon: Annotated[Horizon, Without("every", "tolerance")],
    description: Description,
) -> None:
    """Simulate many arms whose links differ from the model in the control laws: share that converges, errors, worst case.

    \b
    taupi study robustness puma560 --roll-outs 256 -o robustness.html
    taupi study robustness ur10 --terms viscous,coulomb --delay 2ms --noise 1e-4
    taupi study robustness --fit out --roll-outs 256
    taupi study robustness puma560 --spread 0.4 --law slotine-li --law walker \\
      --device cuda --roll-outs 100000
    """
    import taupi as tp
    from taupi.cli.laws import build_laws, law_names
    from taupi.files import refuse_to_overwrite
    from taupi.identification.results.fit_file import load_torque_fit

    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    if output is None and force:
        raise TaupiError("--force is for a file: name it with --output.")
    if output is not None:
        refuse_to_overwrite(output, force)
    drawn = None if fit is None else tp.samples(load_torque_fit(fit), roll_outs, seed)
    arm = description.load(robot) if drawn is None else drawn[0]
    laws = list(build_laws(law_names(law or ()) or LAWS, arm, split_names(terms), gain).values())
    surroundings.warn_of_late_payloads(horizon.duration)
    settings: dict[str, Any] = {
        "plant": dataclasses.replace(surroundings, rigid=True).plant(arm, split_names(terms)),
        "sensors": sensors_of(sensors),
        "roll_outs": roll_outs,
        "spread": spread,
        "within": within,
        "seed": seed,
        "samples": drawn,
    }
    result = tp.ensembles.robustness(arm, laws, horizon=horizon, device=device, **settings)
    print(json.dumps(result.to_dict(), indent=2) if as_json else result)
    if output is not None:
        result.write(output, force)
        print(f"wrote {output}", file=sys.stderr)
