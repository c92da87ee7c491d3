"""`taupi study`: many simulated arms at once, and how they perform."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.description import Description
from taupi.cli.laws import GainOption
from taupi.cli.options import ForceOption, JsonOption, RobotArgument
from taupi.cli.settings import Without
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
    horizon: Annotated[Horizon, Without("every", "tolerance")],
    description: Description,
) -> None:
    """Simulate many arms whose links differ from the model in the control laws: share that converges, errors, worst case.

    \b
    taupi study robustness puma560 --roll-outs 256 -o robustness.html
    taupi study robustness puma560 --spread 0.4 --law slotine-li --law walker \\
      --device cuda --roll-outs 100000
    """
    import taupi as tp
    from taupi.cli.laws import build_laws, law_names
    from taupi.files import refuse_to_overwrite

    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    if output is None and force:
        raise TaupiError("--force is for a file: name it with --output.")
    if output is not None:
        refuse_to_overwrite(output, force)
    arm = description.load(robot)
    names = law_names(law or (), "") if law else list(LAWS)
    laws = list(build_laws(names, arm, (), gain).values())
    settings: dict[str, Any] = {"roll_outs": roll_outs, "spread": spread, "within": within, "seed": seed}
    result = tp.ensembles.robustness(arm, laws, horizon=horizon, device=device, **settings)
    print(json.dumps(result.to_dict(), indent=2) if as_json else result)
    if output is not None:
        result.write(output, force)
        print(f"wrote {output}", file=sys.stderr)
