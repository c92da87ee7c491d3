"""The command `taupi simulate`."""

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
    def simulate(
        robot: o.RobotArgument,
        reference: o.ReferenceOption = "sine",
        law: Annotated[
            str | None,
            typer.Option(
                "--law",
                help="computed-torque (the default), pd-gravity, slotine-li, niemeyer-slotine, walker, composite, natural, "
                "elastic-pd-gravity (the default of elastic joints) or none.",
            ),
        ] = None,
        gain: o.GainOption = None,
        duration: o.DurationOption = 10.0,
        rate: o.RateOption = 1000.0,
        integrator: o.IntegratorOption = "rk4",
        substeps: o.SubstepsOption = None,
        initial: o.InitialOption = None,
        terms: Annotated[str, typer.Option("--terms", help="Joint terms: viscous,coulomb,offset,rotor,stribeck.")] = "",
        stiction: Annotated[
            bool, typer.Option("--stiction", help="Let joints stick; needs --integrator rk45, dop853 or lsoda.")
        ] = False,
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
        """Simulate a robot under a control law; write the run and its page. Exit 4 where the loop diverges.

        \b
        taupi simulate puma560 --reference puma560 --duration 5 -o out
        taupi simulate panda --law slotine-li --payload-at 2s:1.5kg --json
        taupi simulate zollo2r --resolution 5e-6 -o out    (elastic joints: links and motors)
        """
        import taupi as tp
        from taupi.cli import controlling, laws, simulating

        controlling.refuse(output, (), force)
        arm = load(robot, lock, tip, snap)
        chosen = tuple(t.strip() for t in terms.split(",") if t.strip())
        world = simulating.World(
            chosen,
            payload,
            torque_limit,
            rate_limit,
            delay,
            disturbance,
            stiction,
            resolution,
            noise,
            snr_db,
            velocity,
            sensor_delay,
            rigid,
        )
        plant, sensors = world.plant(arm), world.sensors()
        steps = simulating.steps_of(plant, integrator, rate, substeps)
        simulating.warn_late(payload, duration)
        motion = simulating.reference_of(reference, arm, duration)
        named = law or laws.default_law(world.elastic(arm), "computed-torque")
        none = named == "none" or motion is None
        controller = None if none else laws.laws_of([named], arm, chosen, gain)[named]
        start = simulating.start_at(initial, arm.n)
        run = tp.simulate(
            plant,
            controller,
            motion,
            duration,
            rate,
            integrator,
            steps,
            sensors=sensors,
            initial=start,
            seed=seed,
        )
        trial = tp.Trial(run, controller, plant, "" if none else named)
        print(json.dumps(simulating.run_data(run), indent=2) if as_json else run)
        for remark in trial.remarks:
            print(remark, file=sys.stderr)
        if output is not None:
            paths = controlling.save([trial], output, (), force)
            print(controlling.written(paths, output), file=sys.stderr)
        raise typer.Exit(0 if run.complete else 4)
