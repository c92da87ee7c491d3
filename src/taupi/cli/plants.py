"""The plant and the sensors of a simulation, from the options of `taupi simulate` and `taupi control`."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from taupi.cli.parsing import per_joint, seconds
from taupi.cli.settings import Defaults, Without
from taupi.errors import TaupiError
from taupi.settings import Changes, Settings
from taupi.simulation.default_motions import PERIOD
from taupi.simulation.horizon import Horizon
from taupi.simulation.sensors import Sensors

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.plant import Payload
    from taupi.simulation.plants.rigid_plant import RigidPlant

_TURN = 0.7  # rad: in a step of this size RK4 loses a thousandth of an oscillation's amplitude

# How long a simulation runs; not the steps per period, which by default depend on the springs.
# Five periods of the default reference: the first and the last fifth of a run then have the same motion.
HorizonOption = Annotated[Horizon, Without("substeps"), Defaults(duration=5 * PERIOD)]


@dataclass(frozen=True)
class PlantOptions(Settings):
    """The plant: everything between the torque that a law commands and the motion.

    Attributes:
        rigid: Take elastic joints as rigid.
        stiction: Let joints stick and break away; needs --integrator rk45, dop853 or lsoda.
        payload_at: Load at the tip from a given time on, as time:mass, such as 2s:1.5kg.
        torque_limit: Largest torque, N m: one, one per joint separated by commas, or "description" for the limits in the file.
        rate_limit: Largest change of the torque, N m/s: one, or one per joint separated by commas.
        delay: Time from command to torque: 0.002 or 2ms.
        disturbance: Torque that the motors have to compensate, N m: one, or one per joint separated by commas.
    """

    rigid: bool = False
    stiction: bool = False
    payload_at: tuple[str, ...] = ()
    torque_limit: str | None = None
    rate_limit: str | None = None
    delay: str = "0"
    disturbance: str | None = None

    def elastic(self, robot: Robot) -> bool:
        """Return whether links and motors are simulated."""
        return bool(robot.elastic_joints) and not self.rigid

    def plant(self, robot: Robot, terms: tuple[str, ...]) -> RigidPlant | ElasticPlant:
        """Return the plant with joint terms by name; if the robot has elastic joints, simulate links and motors, and say so."""
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
            return tp.RigidPlant(robot, terms, stiction=self.stiction, **outside)
        if self.stiction:
            raise TaupiError(f"--stiction is for rigid joints, and {robot.name} has elastic ones: add --rigid.")
        plant = tp.ElasticPlant(robot, terms or None, **outside)
        count, friction = len(robot.elastic_joints), ", ".join(t.name for t in plant.terms) or "no friction"
        print(
            f"{robot.name} has {count} elastic joint{'s' * (count > 1)}: simulating links and motors, {friction}; "
            "--rigid makes the joints rigid",
            file=sys.stderr,
        )
        return plant

    def warn_of_late_payloads(self, duration: float) -> None:
        """Warn if a payload comes after the end."""
        for time, _ in payload_changes(self.payload_at):
            if time >= duration:
                print(
                    f"warning: --payload-at {time:g}s is after the end of the run, {duration:g} s: nothing changes",
                    file=sys.stderr,
                )


# What the user specifies about the sensors; the low-pass filter belongs to how velocities are measured.
SensorChanges = Annotated[dict[str, Any], Changes(Sensors), Without("cutoff_hz")]


def sensors_of(changes: Mapping[str, Any]) -> Sensors | None:
    """Return the sensors with `changes`, None if they are perfect; by default, encoders with a resolution measure differences."""
    if not any(changes.values()):
        return None
    counted = {"velocity": "difference"} if changes.get("resolution") else {}
    return Sensors(**{**counted, **changes})


def payload_changes(texts: Sequence[str]) -> list[tuple[float, Payload | None]]:
    """Return changes of the load, each a time and a mass, from texts such as 2s:1.5kg."""
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


def with_substeps(horizon: Horizon, plant: RigidPlant | ElasticPlant, substeps: int | None) -> Horizon:
    """Return a horizon with this many steps per period, or enough that the fastest spring turns by at most 0.7 rad per step."""
    import numpy as np

    from taupi.simulation.integrators import UNDAMPED

    if substeps is not None:
        return dataclasses.replace(horizon, substeps=substeps)
    if horizon.integrator not in UNDAMPED or not hasattr(plant, "fastest"):
        return horizon
    swing = plant.fastest(np.zeros(plant.robot.n))
    steps = max(1, math.ceil(swing / horizon.rate / _TURN))
    print(
        f"springs swing at up to {swing:.4g} rad/s: "
        f"{steps} step{'s' * (steps > 1)} of {horizon.integrator} per control period",
        file=sys.stderr,
    )
    return dataclasses.replace(horizon, substeps=steps)
