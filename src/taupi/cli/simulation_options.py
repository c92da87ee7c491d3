"""What `taupi simulate` and `taupi control` share: what moves, for how long, what is seen of it, and where results go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from taupi.cli.description import Description
from taupi.cli.options import ForceOption, GainOption, JsonOption, RunsOption, SeedOption, SubstepsOption, TermsOption
from taupi.cli.parsing import names
from taupi.cli.plants import HorizonOption, PlantOptions, SensorChanges, sensors_of, with_substeps
from taupi.cli.references import MotionOptions
from taupi.cli.settings import OptionGroup

if TYPE_CHECKING:
    import numpy as np

    from taupi.control.law import Law
    from taupi.model.robot import Robot
    from taupi.simulation.horizon import Horizon
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.rigid_plant import RigidPlant
    from taupi.simulation.references import Reference
    from taupi.simulation.run import Run


@dataclass(frozen=True)
class Scene:
    """A plant, the motion that it is to follow, None for none, and everything else that a run depends on besides its law."""

    plant: RigidPlant | ElasticPlant
    reference: Reference | None
    horizon: Horizon
    options: SimulationOptions

    def run(self, law: Law | None, parameters: np.ndarray | None = None) -> Run:
        """Return the run under a law, None for no torque; its estimate starts at `parameters`, by default at the robot's own."""
        import taupi as tp

        return tp.simulate(
            self.plant,
            law,
            self.reference,
            horizon=self.horizon,
            sensors=sensors_of(self.options.sensors),
            initial=self.options.motion.start(self.plant.robot.n),
            parameters=parameters,
            seed=self.options.seed,
        )


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(OptionGroup):
    """The options of a simulation."""

    gain: GainOption = None
    motion: MotionOptions
    horizon: HorizonOption
    substeps: SubstepsOption = None
    terms: TermsOption = ""
    surroundings: PlantOptions
    sensors: SensorChanges
    seed: SeedOption = 0
    output: RunsOption = None
    force: ForceOption = False
    as_json: JsonOption = False
    description: Description

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the joint terms."""
        return names(self.terms)

    def scene(self, robot: Robot) -> Scene:
        """Return the scene for a robot, and say what a user may not expect of it."""
        self.surroundings.warn_of_late_payloads(self.horizon.duration)
        plant = self.surroundings.plant(robot, self.term_names)
        reference = self.motion.motion(robot, self.horizon.duration)
        return Scene(plant, reference, with_substeps(self.horizon, plant, self.substeps), self)
