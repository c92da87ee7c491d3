"""The command `taupi control`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.simulate import PayloadOption, ReferenceOption, RigidOption, RobotArgument


def register(app: typer.Typer, load: Callable[..., Any]) -> None:
    """Add the command to the command line; `load` reads the robot."""

    @app.command()
    def control(
        robot: RobotArgument,
        law: Annotated[
            str | None,
            typer.Option(
                "--law", help="slotine-li, niemeyer-slotine, walker, composite, natural, ...; several by commas."
            ),
        ] = None,
        reference: ReferenceOption = "sine",
        duration: Annotated[float, typer.Option("--duration", help="Seconds.")] = 10.0,
        rate: Annotated[float, typer.Option("--rate", help="Control periods a second.")] = 1000.0,
        known: Annotated[float, typer.Option("--known", help="The estimate starts at this part of the truth.")] = 0.5,
        terms: Annotated[str, typer.Option("--terms", help="Joint terms that the law adapts: viscous,coulomb.")] = "",
        payload: PayloadOption = None,
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="Directory for run.parquet and run.png of each law.")
        ] = None,
        lock: Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")] = None,
        tip: Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")] = None,
        rigid: RigidOption = False,
        force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        """Let control laws follow a reference from a wrong estimate, side by side. Exit 4 where a loop diverges.

        \b
        taupi control puma560 --law slotine-li --reference puma560 --duration 5
        taupi control elbow2r --law slotine-li,walker,natural --payload-at 5s:2kg -o out
        """
        import taupi as tp
        from taupi.cli import controlling, simulating
        from taupi.errors import TaupiError

        arm = load(robot, lock, tip, True)
        chosen = tuple(t.strip() for t in terms.split(",") if t.strip())
        motion = simulating.reference_of(reference, arm, duration)
        if motion is None:
            raise TaupiError("--reference is none, expected a motion to follow: sine, way-points or a file.")
        plant = simulating.plant_of(arm, chosen, simulating.payload_changes(payload), rigid)
        steps = simulating.steps_of(plant, "rk4", rate)
        rows = []
        named = law or simulating.default_law(plant, "slotine-li")
        for name in (n.strip() for n in named.split(",")):
            made = controlling.law_of(name, arm, chosen)
            start = controlling.start_of(made, known)
            run = tp.simulate(plant, made, motion, duration, rate, substeps=steps, parameters=start)
            rows.append(controlling.told(name, made, run, steady=not payload))
            if output is not None:
                for path in simulating.save(run, output / name, force):
                    print(f"wrote {path}", file=sys.stderr)
        print(json.dumps({"robot": arm.name, "runs": rows}, indent=2) if as_json else controlling.comparison(rows))
        raise typer.Exit(0 if all(row["complete"] for row in rows) else 4)
