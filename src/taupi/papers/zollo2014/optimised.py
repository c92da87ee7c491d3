"""Optimised motions instead of random ones: what changes in the study if `taupi.excite` designs the experiment.

The document excites with B-splines of degree 5 whose control points it does not print. The random motions replace them; an
optimised one has the same duration and stays within the positions, speeds, accelerations and torques that these use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from taupi.excitation.excitation import Excitation
from taupi.excitation.excite import excite
from taupi.model.robot import Robot
from taupi.papers.study import Picture, StudyTable
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014 import planar as planar_study
from taupi.papers.zollo2014 import puma as puma_study
from taupi.papers.zollo2014.planar import Planar
from taupi.papers.zollo2014.puma import OWN, Puma
from taupi.simulation.references import Reference
from taupi.simulation.run import Run

# Designs of the two-joint arm, each from its own random starts.
SEEDS = (0, 1, 2)
STARTS = 2
PIPELINES = {
    "exact": pipe.EXACT,
    "backward": pipe.BACKWARD,
    "central": pipe.CENTRAL,
    "spline, Stribeck columns": pipe.SPLINE_STRIBECK,
}
NOISY = {"central": pipe.CENTRAL}
LEVELS = (70, 80, 200)


def used_limits(motions: Sequence[Reference], runs: Sequence[Run], duration: float) -> dict[str, list[float]]:
    """Return the ranges that motions use, and the torques of their runs, as limits for `taupi.excite`."""
    times = np.linspace(0.0, duration, 5000)
    q, qd, qdd = (np.concatenate(parts) for parts in zip(*(motion(times) for motion in motions), strict=True))
    torque = np.concatenate([run.tau for run in runs])
    return {
        "lower": q.min(axis=0).tolist(),
        "upper": q.max(axis=0).tolist(),
        "velocity": np.abs(qd).max(axis=0).tolist(),
        "acceleration": np.abs(qdd).max(axis=0).tolist(),
        "effort": np.abs(torque).max(axis=0).tolist(),
    }


def designed(robot: Robot, limits: Mapping[str, object], duration: float, seed: int = 0) -> Excitation:
    """Return the motion that is optimal within limits, all of which it may use; its content is below a third of the resonance."""
    return excite(robot, duration, limits=limits, margin=0.0, effort=1.0, capsules="none", starts=STARTS, seed=seed)


@dataclass(frozen=True)
class OptimisedPlanar(Planar):
    """The experiment with two joints on designed motions, by seed."""

    designs: Mapping[int, Excitation] = field(default_factory=dict, hash=False)

    def motion(self, seed: int, smaller: float = 1.0) -> Reference:
        """Return the motion of a seed; there is no smaller version of it."""
        return self.designs[seed].motion


@dataclass(frozen=True)
class OptimisedPuma(Puma):
    """The experiment with the PUMA on a designed motion."""

    design: Excitation | None = field(default=None, hash=False)

    def motion(self) -> Reference:
        """Return the motion."""
        assert self.design is not None
        return self.design.motion


@dataclass(frozen=True, eq=False)
class OptimisedOutcome:
    """The studies on random motions beside those on optimised ones.

    `errors` are the normalised mean errors of both, by method, the random motions first. `kept` are the shares of
    samples of the two-joint arm that count, `moved` how far noise of 80 dB moves its estimates.
    """

    planar: planar_study.PlanarOutcome
    puma: Mapping[int, puma_study.PumaOutcome]
    designs: Mapping[int, Excitation]
    puma_designs: Mapping[int, Excitation]
    planar_errors: Mapping[str, tuple[float, float]]
    puma_errors: Mapping[int, Mapping[str, tuple[np.ndarray, np.ndarray]]]
    kept: tuple[float, float]
    moved: tuple[float, float]


def experiment(
    step: Callable[[str], None], planar: planar_study.PlanarOutcome, puma: Mapping[int, puma_study.PumaOutcome]
) -> OptimisedOutcome:
    """Return what changes with optimised motions: a step for the two-joint arm, and one for each direction of gravity."""
    step("two joints: optimised motions")
    own, runs, designs = _planar_runs(planar)
    estimates = own.tried(runs, PIPELINES)
    noise = own.noisy(runs, NOISY, LEVELS)
    bench = planar.planar.bench
    errors = {name: (planar.nme(name)[0], bench.nme(values)[0]) for name, values in estimates.items()}
    for name in ("central", "central, WLS"):
        for level in LEVELS[:-1]:
            errors[f"{name}, SN = {level}"] = (planar.noisy(name, level), bench.nme(noise[name][level])[0])
    moved = own.moved(noise["central"][80], noise["central"][200])
    puma_designs, puma_errors = {}, {}
    for count, outcome in puma.items():
        step(f"PUMA, {count} base parameters: optimised motion")
        puma_designs[count], puma_errors[count] = _puma_errors(outcome)
    shares = (_kept(planar.planar, planar.runs), _kept(own, runs))
    return OptimisedOutcome(
        planar, puma, designs, puma_designs, errors, puma_errors, shares, (planar.moved("central", 80), moved)
    )


def _planar_runs(planar: planar_study.PlanarOutcome) -> tuple[Planar, list[Run], dict[int, Excitation]]:
    random = planar.planar
    motions = [random.motion(seed) for seed in random.seeds]
    limits = used_limits(motions, planar.runs, planar_study.DURATION)
    robot = random.bench.robot
    designs = {seed: designed(robot, limits, planar_study.DURATION, seed) for seed in SEEDS}
    own = OptimisedPlanar(SEEDS, random.curve, designs)
    return own, own.runs(), designs


def _puma_errors(
    outcome: puma_study.PumaOutcome,
) -> tuple[Excitation, dict[str, tuple[np.ndarray, np.ndarray]]]:
    random = outcome.puma
    limits = used_limits([random.motion()], [outcome.run], puma_study.DURATION)
    design = designed(random.bench.robot, limits, puma_study.DURATION)
    own = OptimisedPuma(random.count, random.seed, design)
    estimates = own.estimates(own.run())
    return design, {name: (outcome.errors(name), own.bench.errors(values)) for name, values in estimates.items()}


def _kept(planar: Planar, runs: Sequence[Run]) -> float:
    return float(np.mean([planar.bench.kept(run.to_log()).mean() for run in runs]))


# What is shown --------------------------------------------------------------------------------------------------------


def optimised_tables(outcome: OptimisedOutcome) -> dict[str, StudyTable]:
    """Return errors with random and with optimised motions, and how many times smaller they are."""
    planar = [(name, a, b, a / b) for name, (a, b) in outcome.planar_errors.items()]
    puma = []
    for count, errors in outcome.puma_errors.items():
        for name, (a, b) in errors.items():
            means = float(a.mean()), float(b.mean())
            medians = float(np.median(a)), float(np.median(b))
            puma.append((count, name, *means, means[0] / means[1], *medians, geometric(a, b), float(np.mean(b < a))))
    return {
        "planar_optimised": StudyTable(
            f"Two joints: normalised mean error with {len(outcome.planar.runs)} random and {len(SEEDS)} optimised motions",
            ("pipeline", "random", "optimised", "times smaller"),
            tuple(planar),
        ),
        "puma_optimised": StudyTable(
            "PUMA 560: errors with a random and with an optimised motion",
            (
                "base parameters",
                "pipeline",
                "mean, random",
                "mean, optimised",
                "times smaller",
                "median, random",
                "median, optimised",
                "times smaller, geometric mean",
                "share of parameters that are better",
            ),
            tuple(puma),
        ),
    }


def geometric(random: np.ndarray, optimised: np.ndarray) -> float:
    """Return how many times smaller errors are, in the geometric mean over the parameters."""
    least = np.finfo(float).tiny
    return float(np.exp(np.mean(np.log(np.maximum(random, least) / np.maximum(optimised, least)))))


def optimised_pictures(outcome: OptimisedOutcome) -> tuple[Picture, ...]:
    """Return an optimised motion of each arm beside a random one, of its first joint."""
    planar, puma = outcome.planar.planar, outcome.puma[next(iter(outcome.puma))].puma
    pictures = []
    for title, duration, random, design in (
        ("two joints", planar_study.DURATION, planar.motion(planar.seeds[0]), outcome.designs[SEEDS[0]]),
        ("PUMA", puma_study.DURATION, puma.motion(), outcome.puma_designs[puma.count]),
    ):
        time = np.linspace(0.0, duration, 1000)
        lines = {"random": random(time).q[:, 0], "optimised": design.motion(time).q[:, 0]}
        pictures.append(Picture(f"{title}: position of joint 1", "rad", time, lines))
    return tuple(pictures)


def optimised_notes(outcome: OptimisedOutcome) -> tuple[str, ...]:
    """Return what changes, in words."""
    errors, moved, kept = outcome.planar_errors, outcome.moved, outcome.kept
    promised = np.mean([d.std_factor for d in outcome.designs.values()])
    backward, central = errors["backward"], errors["central, WLS"]
    first = (
        "Optimised motions: `taupi.excite` designs motions of the same duration within the positions, speeds, accelerations and "
        f"torques that the random ones use, and promises standard deviations {promised:.2g} times smaller than of its own "
        f"random motions. Of the two-joint arm {kept[1]:.0%} of the samples count instead of {kept[0]:.0%}, and noise of "
        f"80 dB moves the estimates {moved[0] / moved[1]:.3g} times less far. The normalised mean error stays at "
        f"{central[1]:.3f} ({central[0]:.3f} with random motions; backward differences {backward[1]:.3f}, {backward[0]:.3f}), "
        "since friction called by other values than it has makes up most of it, and no motion mends a definition."
    )
    parts = []
    for count, pipelines in outcome.puma_errors.items():
        a, b = pipelines[OWN]
        design = outcome.puma_designs[count]
        parts.append(
            f"with {count} base parameters from {a.mean():.3g} to {b.mean():.3g} in the mean, and get "
            f"{geometric(a, b):.2g} times smaller in the geometric mean ({np.mean(b < a):.0%} of them better, "
            f"{design.std_factor:.2g} promised)"
        )
    pairs = [pipelines["central"] for pipelines in outcome.puma_errors.values()]
    means = " and ".join(f"from {a.mean():.3g} to {b.mean():.3g}" for a, b in pairs)
    second = (
        f"The PUMA's errors by {OWN} go, {'; '.join(parts)}. By central differences the mean goes {means}: it is made of the "
        "wrist's springs and friction, which the encoders hardly see. A design of the rigid arm's information does not know of "
        "springs and encoders, so it helps the links' parameters and leaves these to chance."
    )
    return first, second
