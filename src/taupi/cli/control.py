"""The command `taupi control`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from taupi.cli import options as o


def register(app: typer.Typer, load: Callable[..., Any]) -> None:
    """Add the command to the command line; `load` reads the robot."""

    @app.command()
    def control(
        robot: o.RobotArgument,
        law: Annotated[
            list[str] | None,
            typer.Option(
                "--law",
                help="slotine-li (the default), niemeyer-slotine, walker, composite, natural, computed-torque, pd-gravity, "
                "elastic-pd-gravity (the default of elastic joints); several by commas, or repeated.",
            ),
        ] = None,
        gain: o.GainOption = None,
        known: Annotated[float, typer.Option("--known", help="The estimate starts at this part of the truth.")] = 0.5,
        reference: o.ReferenceOption = "sine",
        duration: o.DurationOption = 10.0,
        rate: o.RateOption = 1000.0,
        integrator: o.IntegratorOption = "rk4",
        substeps: o.SubstepsOption = None,
        initial: o.InitialOption = None,
        terms: Annotated[
            str, typer.Option("--terms", help="Joint terms of plant and laws: viscous,coulomb,offset,rotor.")
        ] = "",
        payload: o.PayloadOption = None,
        torque_limit: o.TorqueLimitOption = None,
        rate_limit: o.RateLimitOption = None,
        delay: o.DelayOption = "0",
        disturbance: o.DisturbanceOption = None,
        resolution: o.ResolutionOption = None,
        noise: o.NoiseOption = 0.0,
        snr_db: o.SnrOption = None,
        velocity: o.VelocityOption = None,
        sensor_delay: o.SensorDelayOption = "0",
        seed: o.SeedOption = 0,
        output: o.OutputOption = None,
        lock: o.LockOption = None,
        tip: o.TipOption = None,
        snap: o.SnapOption = True,
        rigid: o.RigidOption = False,
        force: o.ForceOption = False,
        as_json: o.JsonOption = False,
    ) -> None:
        """Let control laws follow a reference from a wrong estimate, side by side. Exit 4 where a loop diverges.

        \b
        taupi control puma560 --law slotine-li --reference puma560 --duration 5 -o out
        taupi control elbow2r --law slotine-li --law walker --payload-at 5s:2kg -o out
        """
        import taupi as tp
        from taupi.cli import controlling, laws, simulating
        from taupi.errors import TaupiError

        arm = load(robot, lock, tip, snap)
        chosen = tuple(t.strip() for t in terms.split(",") if t.strip())
        simulating.warn_late(payload, duration)
        motion = simulating.reference_of(reference, arm, duration)
        if motion is None:
            raise TaupiError("--reference is none, expected a motion to follow: sine, way-points or a file.")
        world = simulating.World(
            chosen,
            payload,
            torque_limit,
            rate_limit,
            delay,
            disturbance,
            resolution=resolution,
            noise=noise,
            snr_db=snr_db,
            velocity=velocity,
            sensor_delay=sensor_delay,
            rigid=rigid,
        )
        names = laws.names_of(law or (), laws.default_law(world.elastic(arm), "slotine-li"))
        controlling.refuse(output, names, force)
        plant, sensors, start = world.plant(arm), world.sensors(), simulating.start_at(initial, arm.n)
        steps = simulating.steps_of(plant, integrator, rate, substeps)
        trials = []
        for name, made in laws.laws_of(names, arm, chosen, gain).items():
            run = tp.simulate(
                plant,
                made,
                motion,
                duration,
                rate,
                integrator,
                steps,
                sensors=sensors,
                initial=start,
                parameters=laws.start_of(made, known),
                seed=seed,
            )
            trials.append(tp.Trial(run, made, plant, name))
        rows = [{**t.summary(), "remarks": list(t.remarks)} for t in trials]
        print(json.dumps({"robot": arm.name, "runs": rows}, indent=2) if as_json else controlling.comparison(rows))
        for trial in trials:
            for remark in trial.remarks:
                print(f"{trial.name}: {remark}", file=sys.stderr)
        if output is not None:
            paths = controlling.save(trials, output, names, force)
            print(controlling.written(paths, output), file=sys.stderr)
        raise typer.Exit(0 if all(row["complete"] for row in rows) else 4)
