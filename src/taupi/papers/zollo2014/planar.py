"""The two-joint study of Zollo et al. (2014), rerun: motions, closed loops, pipelines, noise: section 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.terms.stribeck_curve import StribeckCurve
from taupi.model.load import load
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014.pipelines import COUNT, Bench, Pipeline, side_by_side
from taupi.signals.log import Log
from taupi.simulation.plants.elastic_plant import ElasticPlant
from taupi.simulation.record import record
from taupi.simulation.references import BSpline, Reference
from taupi.simulation.run import Run
from taupi.simulation.simulate import simulate

SEEDS = (100, 101, 102, 103, 104, 105)
DURATION, RATE = 8.9, 1000  # s, Hz of the log
STEPS = 10  # of the integrator in a sample
CENTRE, PEAK, SMALLER = (-np.pi / 2, 0.0), 1.9, 3.5  # rad; the small motion is this many times smaller
SPEED = 0.5  # rad/s below which samples are left out
GAINS = ((3000.0, 1800.0), (150.0, 60.0))
HELD_GAINS = ((1500.0, 900.0), (40.0, 20.0))  # for a torque that is held for a sample
LEVELS = (20, 70, 80, 100, 200)  # dB
BETWEEN = (20, 70, 80, 90, 100, 200)  # with one level more, to see the steps of 10 dB
# Pipelines by name, over the runs of the plant with Stribeck friction under continuous control.
STRIBECK_PLANT = {
    "exact": pipe.EXACT,
    "backward": pipe.BACKWARD,
    "causal": pipe.CAUSAL,
    "late": pipe.LATE,
    "unfiltered": pipe.UNFILTERED,
    "central": pipe.CENTRAL,
    "spline": pipe.SPLINE,
    "spline, Stribeck columns": pipe.SPLINE_STRIBECK,
    "exact, Stribeck columns": pipe.EXACT_STRIBECK,
}
COULOMB_PLANT = {"exact": pipe.EXACT, "spline": pipe.SPLINE, "backward": pipe.BACKWARD}
NOISY = {"central": pipe.CENTRAL, "all signals": pipe.RECORDED}
NOISY_SMALL = {"small": pipe.CENTRAL}
NOISY_STRIBECK = {
    "spline, Stribeck columns": pipe.SPLINE_STRIBECK,
    "spline of 40 Hz, Stribeck columns": pipe.WIDE_SPLINE_STRIBECK,
}


@dataclass(frozen=True)
class Planar:
    """The experiment: the arm, one motion per seed, and the friction of the plant, the document's curve by default."""

    seeds: tuple[int, ...] = SEEDS
    curve: StribeckCurve = field(default_factory=StribeckCurve.document)

    @cached_property
    def bench(self) -> Bench:
        """The arm and which samples count: those in which both motors are fast."""
        return Bench(load("zollo2r"), SPEED, "sample", self.curve)

    def motion(self, seed: int, smaller: float = 1.0) -> Reference:
        """Return the motion of a seed, this many times `smaller`: random triangle waves."""
        return BSpline.triangles(CENTRE, PEAK / smaller, DURATION, seed)

    def runs(self, stribeck: bool = True, smaller: float = 1.0, held: bool = False) -> list[Run]:
        """Return a closed loop for each seed: RK4 at 0.1 ms, logged at 1 kHz; the control continuous, or held for a sample."""
        robot = self.bench.robot
        plant = ElasticPlant(robot, terms=(self.curve,) if stribeck else pipe.FRICTION, smoothing=0.0)
        law = ElasticPDGravity(robot, *(HELD_GAINS if held else GAINS))

        def one(seed: int) -> Run:
            motion = self.motion(seed, smaller)
            if not held:
                return continuous(plant, law, motion)
            return simulate(plant, law, motion, DURATION, rate=RATE, substeps=STEPS)

        return side_by_side(one, self.seeds)

    def measured(self, run: Run, snr_db: float | None = None, seed: int = 0, torque: str = "sampled") -> Log:
        """Return what encoders of 1250000 counts per turn log of a run, with noise on the positions if `snr_db` is given."""
        return record(run, COUNT, snr_db=snr_db, torque=torque, seed=seed)

    def tried(
        self, runs: Sequence[Run], pipelines: dict[str, Pipeline], torque: str = "sampled"
    ) -> dict[str, np.ndarray]:
        """Return the estimates (seeds, b) of each pipeline, one of "wls" under the name with ", WLS" behind it."""

        def one(run: Run) -> dict[str, np.ndarray]:
            return self._estimates(pipelines, self.measured(run, torque=torque), run.to_log())

        each = side_by_side(one, runs)
        return {name: np.array([estimates[name] for estimates in each]) for name in each[0]}

    def noisy(
        self, runs: Sequence[Run], pipelines: dict[str, Pipeline], levels: Sequence[int] = LEVELS
    ) -> dict[str, dict[int, np.ndarray]]:
        """Return the estimates (seeds, b) at levels of noise (dB), by pipeline: one draw of noise per motion.

        Noise is on the positions. A pipeline that takes recorded derivatives has it on positions, velocities and accelerations.
        """

        def one(job: tuple[int, Run, int]) -> dict[str, np.ndarray]:
            seed, run, level = job
            every = record(run, snr_db=level, qd_snr_db=level, qdd_snr_db=level, seed=seed)
            return self._estimates(pipelines, self.measured(run, level, seed), every)

        jobs = [(seed, run, level) for level in levels for seed, run in zip(self.seeds, runs, strict=True)]
        each = side_by_side(one, jobs)
        count = len(runs)
        rows = {level: each[k * count : (k + 1) * count] for k, level in enumerate(levels)}
        return {name: {level: np.array([f[name] for f in rows[level]]) for level in levels} for name in each[0]}

    def _estimates(self, pipelines: dict[str, Pipeline], counted: Log, recorded: Log) -> dict[str, np.ndarray]:
        """Return the estimates of each pipeline and estimator, "wls" under the name with ", WLS" behind it."""
        estimates: dict[str, np.ndarray] = {}
        for name, pipeline in pipelines.items():
            log = recorded if pipeline.settings.get("derivatives") == "recorded" else counted
            for estimator, values in self.bench.estimates(log, pipeline).items():
                estimates[name if estimator == "ols" else f"{name}, {estimator.upper()}"] = values
        return estimates

    def moved(self, estimates: np.ndarray, quiet: np.ndarray) -> float:
        """Return how far noise moves the estimates (seeds, b) from those without: mean of |change| / |real|."""
        scale = np.where(self.bench.truth == 0, 1.0, np.abs(self.bench.truth))
        return float((np.abs(estimates - quiet) / scale).mean())

    def line(self, run: Run) -> np.ndarray:
        """Return the real values with the apparent friction: the line f_s + f_v |v| nearest to the curve over a run's speeds.

        Above 0.5 rad/s the curve is nearly such a line, with another f_s and f_v than f_2 and f_1.
        """
        log = run.to_log().slice(pipe.ENDS, DURATION - pipe.ENDS)
        speeds = log.need("thetad")[0][self.bench.kept(log)]
        torque, seen = self.curve.torque(speeds), self.bench.truth.copy()
        for i, joint in enumerate(self.bench.robot.joint_names):
            columns = np.stack([np.sign(speeds[:, i]), speeds[:, i]], axis=1)
            line = np.linalg.lstsq(columns, torque[:, i], rcond=None)[0]
            for kind, value in zip(pipe.FRICTION, line, strict=True):
                seen[self.bench.names.index(f"{joint}.{kind}")] = value
        return seen


def sagging(bench: Bench) -> np.ndarray:
    """Return the deflection (n,) in degrees that gravity alone makes with both links level: g(q) / K."""
    robot = bench.robot
    stiffness = [float(j.transmission.stiffness) for j in robot.joints if j.transmission.stiffness is not None]
    return np.degrees(np.abs(gravity_torque(robot)(np.zeros(robot.n))) / stiffness)


def continuous(plant: ElasticPlant, law: ElasticPDGravity, motion: Reference) -> Run:
    """Return a closed loop: RK4 at 0.1 ms, logged at 1 kHz, under continuous control."""
    return simulate(plant, law, motion, DURATION, rate=RATE * STEPS, every=STEPS, control="continuous")


def friction_floor(curve: StribeckCurve, parameters: int = 14, slowest: float = SPEED, fastest: float = 10.0) -> float:
    """Return the smallest contribution of friction to the normalised mean error of an unbiased fit, whatever the speeds.

    A least-squares line is an average of the chords of the curve, by weights of the samples, so its (f_s, f_v) lie in the convex
    hull of the chords' (f_s, f_v), as long as the speeds in its columns are right; backward differences are not, so that their
    fits may lie outside. There |f_s - f_2| / f_2 + |f_v - f_1| / f_1 is least by linear programming, joint by joint.
    """
    from scipy.optimize import linprog
    from scipy.spatial import ConvexHull

    speeds = np.geomspace(slowest, fastest, 300)
    viscous, coulomb = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (curve.viscous, curve.coulomb))
    torque = curve.torque(np.repeat(speeds[:, None], len(coulomb), axis=1))
    a, b = np.triu_indices(len(speeds), 1)
    least = 0.0
    for i, (f1, f2) in enumerate(zip(viscous, coulomb, strict=True)):
        slope = (torque[b, i] - torque[a, i]) / (speeds[b] - speeds[a])
        chords = np.stack([(torque[a, i] - slope * speeds[a]) / f2 - 1, slope / f1 - 1], axis=1)
        corners = chords[ConvexHull(chords).vertices]
        # Weights of the corners, then |.| of both coordinates as bounds above the coordinates and their negatives.
        m = len(corners)
        sides = np.block([[corners.T, -np.eye(2)], [-corners.T, -np.eye(2)]])
        weights = np.concatenate([np.ones(m), np.zeros(2)])[None]
        best = linprog(1 - weights[0], sides, np.zeros(4), weights, [1.0])
        least += float(best.fun)
    return least / parameters


@dataclass(frozen=True, eq=False)
class PlanarOutcome:
    """What the experiment gave: runs of large and small motions, estimates (seeds, b) by pipeline, and by level of noise."""

    planar: Planar
    runs: list[Run]
    small: list[Run]
    estimates: dict[str, np.ndarray]
    noise: dict[str, dict[int, np.ndarray]]

    def nme(self, name: str) -> tuple[float, float]:
        """Return the normalised mean error of a pipeline, mean over the motions, and without static friction."""
        return self.planar.bench.nme(self.estimates[name])

    def noisy(self, name: str, level: int) -> float:
        """Return the normalised mean error of a pipeline at a level of noise."""
        return self.planar.bench.nme(self.noise[name][level])[0]

    def moved(self, name: str, level: int) -> float:
        """Return how far noise moves the estimates of a pipeline: mean of |change| / |real| from those at 200 dB."""
        return self.planar.moved(self.noise[name][level], self.noise[name][200])

    @cached_property
    def lines(self) -> np.ndarray:
        """The real values with the friction that each run sees, (seeds, b)."""
        return np.array([self.planar.line(run) for run in self.runs])


def experiment(step: Callable[[str], None], planar: Planar | None = None) -> PlanarOutcome:
    """Return what all pipelines find on all motions: eight steps."""
    planar = planar or Planar()
    step("two joints: motions")
    runs = planar.runs()
    step("two joints: pipelines")
    estimates = planar.tried(runs, STRIBECK_PLANT)
    step("two joints: plant with Coulomb friction")
    plain = planar.tried(planar.runs(stribeck=False), COULOMB_PLANT)
    estimates |= {f"Coulomb plant, {name}": values for name, values in plain.items()}
    step("two joints: torque that is held")
    held = planar.runs(held=True)
    for name, torque in (("held", "sampled"), ("held, middle", "middle")):
        estimates |= planar.tried(held, {name: pipe.CENTRAL}, torque)
    step("two joints: small motions")
    small = planar.runs(smaller=SMALLER)
    step("two joints: noise")
    noise = planar.noisy(runs, NOISY, BETWEEN)
    step("two joints: noise, small motions")
    noise |= planar.noisy(small, NOISY_SMALL, BETWEEN)
    step("two joints: noise, Stribeck columns")
    columns = planar.noisy(runs, NOISY_STRIBECK, (70, 80, 100))
    return PlanarOutcome(planar, runs, small, estimates, noise | columns)
