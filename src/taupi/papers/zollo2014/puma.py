"""The study of Zollo et al. (2014) on the PUMA 560 with elastic joints, rerun: section 6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
from taupi.identification.identify import identify
from taupi.identification.rows.preparation import Preparation
from taupi.model.load import load
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014.pipelines import COUNT, Bench, Pipeline, exact_log
from taupi.signals.log import Log
from taupi.simulation.plants.elastic_plant import ElasticPlant
from taupi.simulation.record import record
from taupi.simulation.references import BSpline, Reference
from taupi.simulation.run import Run
from taupi.simulation.simulate import simulate

SEED, POINTS = 7, 24
DURATION, RATE = 8.9, 1000  # s, Hz of the log
STEPS = 20  # integration steps per sample: the spring of joint 6 alone oscillates at 7000 rad/s
CENTRE = (0.0, 0.8, -0.6, 0.0, 0.5, 0.0)
AMPLITUDE = (1.6, 1.2, 1.4, 1.8, 1.4, 2.2)
INERTIA = np.array([4.0, 6.0, 2.0, 0.2, 0.2, 0.2])  # of which the gains are multiples
SPEED = 0.1  # rad/s below which a motor's row is left out
# The gravity in base axes for each number of base parameters: along the first axis, or across it.
GRAVITY = {60: (0.0, 0.0, -9.81), 62: (0.0, -9.81, 0.0)}
OWN = "taupi.identify"


@dataclass(frozen=True)
class Puma:
    """The experiment with gravity along the first axis (60 base parameters) or across it (62), one motion per seed."""

    count: int = 60
    seed: int = SEED

    @cached_property
    def bench(self) -> Bench:
        """The arm and which rows count: those of links, and of motors that are fast."""
        return Bench(load("puma560_elastic").with_gravity(GRAVITY[self.count]), SPEED, "row")

    def motion(self) -> Reference:
        """Return the motion: random control points."""
        return BSpline.random(CENTRE, AMPLITUDE, POINTS, DURATION, self.seed)

    def run(self) -> Run:
        """Return the closed loop: RK4 at 0.05 ms, logged at 1 kHz, under continuous control."""
        robot = self.bench.robot
        plant = ElasticPlant(robot, terms=pipe.FRICTION, smoothing=0.0)
        law = ElasticPDGravity(robot, 900 * INERTIA, 42 * INERTIA)
        return simulate(plant, law, self.motion(), DURATION, rate=RATE * STEPS, every=STEPS, control="continuous")

    def estimates(self, run: Run) -> dict[str, np.ndarray]:
        """Return the base parameters (b,) that each pipeline finds."""
        counted, exact = self._measured(run, COUNT), exact_log(run)

        def estimates_of(log: Log, pipeline: Pipeline) -> dict[str, np.ndarray]:
            return self.bench.estimates(log, pipeline)

        central = estimates_of(counted, pipe.CENTRAL)
        return {
            "exact": estimates_of(exact, pipe.EXACT)["ols"],
            "central": central["ols"],
            "central, WLS": central["wls"],
            "not counted": estimates_of(self._measured(run, None), pipe.CENTRAL)["ols"],
            "literal": estimates_of(counted, pipe.LITERAL)["ols"],
            OWN: self._own(counted),
        }

    def counts(self, run: Run) -> np.ndarray:
        """Return the largest deflection of each spring, in steps of the encoders (n,)."""
        largest: np.ndarray = np.abs(run.q - self.motors(run)).max(axis=0) / COUNT
        return largest

    def motors(self, run: Run) -> np.ndarray:
        """Return the motors' positions (N, n) of a run."""
        assert run.theta is not None
        return run.theta

    def _own(self, log: Log) -> np.ndarray:
        """Return what `taupi.identify` finds when it prepares the log itself: dry friction passes the torque's filter."""
        base = self.bench.base
        settings = Preparation(20.0, 1, 5, trim=False, slow=0.0, threshold=SPEED)
        fit = identify(
            self.bench.robot,
            log,
            pipe.ESTIMATORS["ols"],
            pipe.FRICTION,
            preparation=settings,
            base=base,
            prior=np.zeros(len(base.standard)),
        )
        return fit.values[[fit.names.index(name) for name in self.bench.names]]

    def _measured(self, run: Run, resolution: float | None) -> Log:
        return record(run, resolution)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the experiment gave: the run, and the estimates (b,) of each pipeline."""

    puma: Puma
    run: Run
    estimates: dict[str, np.ndarray]

    def errors(self, name: str) -> np.ndarray:
        """Return the relative errors (b,) of a pipeline."""
        return self.puma.bench.errors(self.estimates[name])


def experiment(step: Callable[[str], None], count: int = 60, seed: int = SEED) -> Outcome:
    """Return what all pipelines find on a motion: two steps."""
    puma = Puma(count, seed)
    step(f"PUMA, {count} base parameters: motion")
    run = puma.run()
    step(f"PUMA, {count} base parameters: pipelines")
    return Outcome(puma, run, puma.estimates(run))
