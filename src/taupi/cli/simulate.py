"""The command `taupi simulate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

RobotArgument = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A built-in robot, or a .urdf, .xml (MJCF) or .toml file.")
]
ReferenceOption = Annotated[
    str | None,
    typer.Option(
        "--reference", help="sine, planar2, puma560, none, way-points [[q], [q], ...], or a file of positions."
    ),
]
LawOption = Annotated[
    str | None,
    typer.Option(
        "--law",
        help="computed-torque, pd-gravity, slotine-li, niemeyer-slotine, walker or none; of elastic joints elastic-pd-gravity.",
    ),
]
RigidOption = Annotated[bool, typer.Option("--rigid", help="Take elastic joints as rigid.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Directory for run.parquet and run.png; made if missing.")
]
PayloadOption = Annotated[
    list[str] | None, typer.Option("--payload-at", help="time:mass at the tip, such as 2s:1.5kg; may be repeated.")
]


def register(app: typer.Typer, load: Callable[..., Any]) -> None:
    """Add the command to the command line; `load` reads the robot."""

    @app.command()
    def simulate(
        robot: RobotArgument,
        reference: ReferenceOption = "sine",
        law: LawOption = None,
        duration: Annotated[float, typer.Option("--duration", help="Seconds.")] = 10.0,
        rate: Annotated[float, typer.Option("--rate", help="Control periods a second.")] = 1000.0,
        integrator: Annotated[
            str,
            typer.Option(
                "--integrator", help="euler, semi_implicit, midpoint, rk4, rosenbrock, rk45, dop853, lsoda, radau, bdf."
            ),
        ] = "rk4",
        substeps: Annotated[
            int | None,
            typer.Option("--substeps", help="Steps of the integrator in a period; by default enough for springs."),
        ] = None,
        terms: Annotated[str, typer.Option("--terms", help="Joint terms: viscous,coulomb,offset,rotor,stribeck.")] = "",
        payload: PayloadOption = None,
        resolution: Annotated[
            float | None, typer.Option("--resolution", help="Encoder step in rad; velocities are then differences.")
        ] = None,
        seed: Annotated[int, typer.Option("--seed", help="Seed of the noise.")] = 0,
        output: OutputOption = None,
        lock: Annotated[list[str] | None, typer.Option("--lock", help="Joint held at zero; may be repeated.")] = None,
        tip: Annotated[str | None, typer.Option("--tip", help="Link at the end of the chain.")] = None,
        snap: Annotated[
            bool, typer.Option("--snap/--no-snap", help="Take near-right angles of the file as right angles.")
        ] = True,
        rigid: RigidOption = False,
        force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        """Simulate a robot under a control law; write the run and its picture. Exit 4 where the loop diverges.

        \b
        taupi simulate puma560 --reference puma560 --duration 5 -o out
        taupi simulate panda --law slotine-li --payload-at 2s:1.5kg --json
        taupi simulate zollo2r --resolution 5e-6 -o out    (elastic joints: links and motors)
        """
        import taupi as tp
        from taupi.cli import simulating

        arm = load(robot, lock, tip, snap)
        chosen = tuple(t.strip() for t in terms.split(",") if t.strip())
        plant = simulating.plant_of(arm, chosen, simulating.payload_changes(payload), rigid)
        steps = simulating.steps_of(plant, integrator, rate, substeps)
        motion = simulating.reference_of(reference, arm, duration)
        sensors = None if resolution is None else tp.Sensors(resolution=resolution, velocity="difference")
        named = law or simulating.default_law(plant, "computed-torque")
        controller = simulating.law_of(named if motion is not None else "none", arm, chosen)
        run = tp.simulate(plant, controller, motion, duration, rate, integrator, steps, sensors=sensors, seed=seed)
        paths = simulating.save(run, output, force) if output is not None else []
        print(json.dumps(simulating.run_data(run), indent=2) if as_json else run)
        for path in paths:
            print(f"wrote {path}", file=sys.stderr)
        if paths:
            print(f"next: taupi log {paths[0]}", file=sys.stderr)
        raise typer.Exit(0 if run.complete else 4)
