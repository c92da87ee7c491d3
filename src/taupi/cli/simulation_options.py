"""What `taupi simulate` and `taupi control` share: what moves, for how long, what is measured, and where results go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from taupi.cli.description import Description
from taupi.cli.laws import GainOption
from taupi.cli.options import ForceOption, JsonOption, RunsOption, SeedOption, SubstepsOption, TermsOption
from taupi.cli.parsing import names
from taupi.cli.plants import HorizonOption, PlantOptions, SensorChanges, sensors_of, with_substeps
from taupi.cli.references import MotionOptions
from taupi.cli.settings import OptionGroup
from taupi.errors import Argument, TaupiError

if TYPE_CHECKING:
    import numpy as np

    from taupi.control.law import Law
    from taupi.model.robot import Robot
    from taupi.simulation.horizon import Horizon
    from taupi.simulation.plants.elastic_plant import ElasticPlant
    from taupi.simulation.plants.rigid_plant import RigidPlant
    from taupi.simulation.references import Reference
    from taupi.simulation.run import Run
    from taupi.simulation.task_motion import TaskMotion

SINGULAR = 1e-3  # smallest ratio of a Jacobian's singular values along a motion that a task-space law can follow


@dataclass(frozen=True)
class Scene:
    """A plant, the motion to follow (or None), and everything else that a run depends on except its law."""

    plant: RigidPlant | ElasticPlant
    reference: Reference | None
    horizon: Horizon
    options: SimulationOptions

    def run(self, law: Law | None, parameters: np.ndarray | None = None) -> Run:
        """Return the run under a law, None for no torque; the estimate starts at `parameters`, by default the robot's own."""
        import taupi as tp

        robot = self.plant.robot
        reference, initial = self.reference, self.options.motion.start(robot.n)
        if isinstance(law, tp.laws.OperationalSlotineLi) and reference is not None:
            # The task reference is the joints' motion seen in the task, from where the joints start.
            initial = reference(0.0).q if initial is None else initial
            motion = tp.operational.TaskMotion(reference, robot, law.task, law.frame)
            refuse_singular(motion, self.horizon.duration)
            reference = motion
        return tp.simulate(
            self.plant,
            law,
            reference,
            horizon=self.horizon,
            sensors=sensors_of(self.options.sensors),
            initial=initial,
            parameters=parameters,
            seed=self.options.seed,
        )


def refuse_singular(motion: TaskMotion, duration: float) -> None:
    """Refuse a joint motion along which the task Jacobian is nearly singular: no task-space law can follow it."""
    import numpy as np

    import taupi as tp

    q = np.asarray(motion.motion(np.linspace(0.0, duration, 500)).q)
    sizes = np.linalg.svd(tp.jacobian(motion.robot, motion.frame, task=motion.task)(q), compute_uv=False)
    worst = int((sizes[:, -1] / sizes[:, 0]).argmin())
    if sizes[worst, -1] < SINGULAR * sizes[worst, 0]:
        place = ", ".join(f"{x:.3g}" for x in q[worst])
        example = "[[0.3, 0.9, ...], [0.6, 1.2, ...]]"
        raise TaupiError(
            Argument("reference"),
            f" passes q = ({place}), where the task {motion.task!r} is singular: no force of the task moves it there.",
            remedy=f"Give way-points with bent joints, such as {example}.",
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
        """Return the scene for a robot, and print what may surprise a user."""
        self.surroundings.warn_of_late_payloads(self.horizon.duration)
        plant = self.surroundings.plant(robot, self.term_names)
        reference = self.motion.motion(robot, self.horizon.duration)
        return Scene(plant, reference, with_substeps(self.horizon, plant, self.substeps), self)
