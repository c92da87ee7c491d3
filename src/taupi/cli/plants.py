"""The plant and the sensors of a simulation, as `taupi simulate` and `taupi control` are told of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from taupi.cli.parsing import names, number, per_joint, seconds
from taupi.errors import Argument, TaupiError
from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.simulation.plants.plant import ArmPlant, Payload
    from taupi.simulation.sensors import Sensors

_TURN = 0.7  # rad: RK4 loses a thousandth of a swing's amplitude in a step of this


@dataclass(frozen=True)
class PlantOptions(Settings):
    """The plant: what stands between the torque that a law asks for and the motion.

    Attributes:
        terms: Joint terms, separated by commas: viscous,coulomb,offset,rotor,stribeck.
        rigid: Take elastic joints as rigid.
        stiction: Let joints stick and break away; needs --integrator rk45, dop853 or lsoda.
        payload_at: Load at the tip from a time on, as time:mass, such as 2s:1.5kg.
        torque_limit: Largest torque, N m: one, one per joint separated by commas, or "description" for the limits of the file.
        rate_limit: Largest change of the torque, N m/s: one, or one per joint separated by commas.
        delay: From command to torque: 0.002, 2ms.
        disturbance: Torque that the motors have to make up for, N m: one, or one per joint separated by commas.
    """

    terms: str = ""
    rigid: bool = False
    stiction: bool = False
    payload_at: tuple[str, ...] = ()
    torque_limit: str | None = None
    rate_limit: str | None = None
    delay: str = "0"
    disturbance: str | None = None

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the joint terms."""
        return names(self.terms)

    def elastic(self, robot: Robot) -> bool:
        """Tell whether links and motors are simulated."""
        return bool(robot.elastic_joints) and not self.rigid

    def plant(self, robot: Robot) -> ArmPlant:
        """Return the plant: links and motors where the robot has elastic joints, and say so."""
        import taupi as tp

        described = self.torque_limit == "description"
        outside: dict[str, Any] = {
            "payloads": payload_changes(self.payload_at),
            "torque_limits": True if described else per_joint("torque_limit", self.torque_limit, robot.n),
            "rate_limits": per_joint("rate_limit", self.rate_limit, robot.n),
            "delay": seconds("delay", self.delay),
            "disturbance": per_joint("disturbance", self.disturbance, robot.n),
        }
        if not self.elastic(robot):
            return tp.RigidPlant(robot, self.term_names, stiction=self.stiction, **outside)
        if self.stiction:
            raise TaupiError(f"--stiction is for rigid joints, and {robot.name} has elastic ones: add --rigid.")
        plant = tp.ElasticPlant(robot, self.term_names or None, **outside)
        count, friction = len(robot.elastic_joints), ", ".join(t.name for t in plant.terms) or "no friction"
        print(
            f"{robot.name} has {count} elastic joint{'s' * (count > 1)}: simulating links and motors, {friction}; "
            "--rigid holds the springs stiff",
            file=sys.stderr,
        )
        return plant

    def warn_of_late_payloads(self, duration: float) -> None:
        """Say so where a payload comes after the end."""
        for time, _ in payload_changes(self.payload_at):
            if time >= duration:
                print(
                    f"warning: --payload-at {time:g}s is after the end of the run, {duration:g} s: nothing changes",
                    file=sys.stderr,
                )


@dataclass(frozen=True)
class SensorOptions(Settings):
    """The sensors: what a law sees of the motion.

    Attributes:
        resolution: Step of the encoders, rad; velocities are then differences by default.
        noise: Standard deviation of measured positions, rad.
        snr_db: The same in decibels below the reference's root mean square.
        velocity: How the law gets velocities: exact, difference, or filter:HZ.
        sensor_delay: From motion to measurement: 0.001, 1ms.
        seed: Seed of the noise.
    """

    resolution: float | None = None
    noise: float = 0.0
    snr_db: float | None = None
    velocity: str | None = None
    sensor_delay: str = "0"
    seed: int = 0

    def sensors(self) -> Sensors | None:
        """Return the sensors, None where they are perfect."""
        import taupi as tp

        delay = seconds("sensor_delay", self.sensor_delay)
        if self.resolution is None and not self.noise and self.snr_db is None and self.velocity is None and not delay:
            return None
        kind, cutoff = self.velocity or ("exact" if self.resolution is None else "difference"), None
        if kind.startswith("filter:"):
            cutoff, kind = number("velocity", kind, kind.removeprefix("filter:").removesuffix("Hz")), "filter"
        if kind == "filter" and cutoff is None:
            raise TaupiError(Argument("velocity"), " is filter, expected filter:HZ, such as filter:100.")
        return tp.Sensors(self.resolution, self.noise, 0.0, self.snr_db, kind, cutoff, delay)


def payload_changes(texts: Sequence[str]) -> list[tuple[float, Payload | None]]:
    """Return changes of the load from texts such as 2s:1.5kg: from which time on which load."""
    import taupi as tp

    changes: list[tuple[float, Payload | None]] = []
    for text in texts:
        time, _, mass = text.partition(":")
        try:
            start, kg = float(time.strip().removesuffix("s")), float(mass.strip().removesuffix("kg"))
        except ValueError:
            raise TaupiError(f"--payload-at is {text[:40]!r}, expected time:mass, such as 2s:1.5kg.") from None
        changes.append((start, tp.Payload(kg) if kg else None))
    return changes


def steps_per_period(plant: ArmPlant, integrator: str, rate: float, substeps: int | None) -> int:
    """Return how many steps a control period has: `substeps`, or so many that the fastest spring turns by 0.7 rad in one."""
    import numpy as np

    from taupi.simulation.integrators import UNDAMPED

    if substeps is not None or integrator not in UNDAMPED or not hasattr(plant, "fastest"):
        return 1 if substeps is None else substeps
    swing = plant.fastest(np.zeros(plant.robot.n))
    steps = max(1, math.ceil(swing / rate / _TURN)) if rate > 0 else 1
    print(
        f"springs swing at up to {swing:.4g} rad/s: {steps} step{'s' * (steps > 1)} of {integrator} a control period",
        file=sys.stderr,
    )
    return steps
