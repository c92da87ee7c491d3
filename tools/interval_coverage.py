"""How often 95 % intervals contain the truth: on random robots, motions and noise, from 50 samples to 10 000.

    python tools/interval_coverage.py [--fits 100] [--samples 50,100,300,1000,3000,10000] [--estimators wls,consistent]

Prints a table in Markdown, a row per kind of log and number of samples: how many fits there were, the share of parameters that
have a finite interval, and the share of these intervals that contain the truth. Infinite intervals are left out.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

import taupi as tp
from taupi.errors import TaupiWarning
from taupi.identification.estimators import Estimator, resolve_estimator
from taupi.signals.log import Filtering

FRICTION = ("viscous", "coulomb", "offset")
ROBOTS = 25
RATE_HZ, CUTOFF_HZ = 100.0, 10.0
# Kinds of logs: "exact" rows, spread over 20 s, with white noise; "short", the same at 100 Hz, however short that makes the log;
# "filtered" from recorded positions and torques at 100 Hz; noise "correlated" over a tenth of a second, unknown to the estimator.
KINDS = ("exact", "short", "filtered", "correlated")
CORRELATION = 0.9  # from sample to sample
NOISE = 0.05  # of each joint's torque
WRONG = 1.2  # all masses of the description are wrong by a fifth: what a log leaves open is wrong, and must not look certain


@dataclass(frozen=True)
class Count:
    """For one kind of log and number of samples: fits, refusals, parameters, finite intervals, those with the truth."""

    kind: str
    samples: int
    estimator: str
    fits: int = 0
    refused: int = 0
    parameters: int = 0
    finite: int = 0
    inside: int = 0

    @property
    def coverage(self) -> float:
        """The share of the finite intervals that contain the truth; NaN if there are none."""
        return self.inside / self.finite if self.finite else float("nan")


def random_body(rng: np.random.Generator) -> dict[str, object]:
    """Return a link made of twelve point masses, so that it is physically possible."""
    m, x = rng.uniform(0.05, 0.4, 12), rng.uniform(-0.2, 0.2, (12, 3))
    com = m @ x / m.sum()
    inertia = sum(w * (p @ p * np.eye(3) - np.outer(p, p)) for w, p in zip(m, x - com, strict=True))
    return {"m": float(m.sum()), "com": com.tolist(), "inertia": np.asarray(inertia).tolist()}


def random_robot(seed: int) -> tp.Robot:
    """Return an arm of two to four joints, at right angles or parallel, with friction."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    frames = [
        {
            "a": float(rng.choice([0.0, rng.uniform(0.2, 0.5)])),
            "alpha": float(rng.choice([-np.pi / 2, 0.0, np.pi / 2])),
            "d": float(rng.uniform(0, 0.3)),
            "theta": 0.0,
            "joint": "revolute",
        }
        for _ in range(n)
    ]
    arm = tp.Robot.from_dh(frames, links=[random_body(rng) for _ in range(n)], gravity=(0, -3.0, -9.3))
    friction = {"viscous": rng.uniform(0.5, 2, n), "coulomb": rng.uniform(0.5, 2, n), "offset": rng.uniform(-1, 1, n)}
    return arm.with_friction(**{kind: values.tolist() for kind, values in friction.items()})


def motion(n: int, seed: int, samples: int, rate_hz: float) -> tuple[np.ndarray, ...]:
    """Return time, q, qd and qdd of sums of five sines per joint."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate_hz
    w, phase = rng.uniform(0.5, 6.0, (5, n)), rng.uniform(0, 2 * np.pi, (5, n))
    a = rng.uniform(0.2, 0.7, (5, n)) / w
    angle = w * t[:, None, None] + phase
    q, qd, qdd = a * np.sin(angle), a * w * np.cos(angle), -a * w * w * np.sin(angle)
    return t, q.sum(axis=1), qd.sum(axis=1), qdd.sum(axis=1)


def random_log(robot: tp.Robot, kind: str, seed: int, samples: int) -> tp.Log:
    """Return a log of a random motion with noise of a twentieth of each joint's torque."""
    t, q, qd, qdd = motion(robot.n, seed, samples, samples / 20.0 if kind == "exact" else RATE_HZ)
    smooth = ("viscous", tp.terms.Coulomb(0.05), "offset")
    tau = tp.inverse_dynamics(robot, terms=smooth)(q, qd, qdd)
    noise = np.random.default_rng(10_000 + seed).normal(size=tau.shape)
    if kind == "correlated":
        for k in range(1, samples):
            noise[k] = CORRELATION * noise[k - 1] + np.sqrt(1 - CORRELATION**2) * noise[k]
    tau = tau + NOISE * tau.std(axis=0) * noise
    if kind == "filtered":
        return tp.Log(t, q, tau=tau, names=robot.joint_names)
    exact = Filtering("none", None, 4, "recorded")
    return tp.Log(t, q, qd=qd, qdd=qdd, tau=tau, names=robot.joint_names, filtering=exact)


def fits(
    kind: str, samples: int, estimators: Iterable[str], number: int
) -> Iterator[tuple[str, tp.Fit | None, np.ndarray]]:
    """Yield the estimator, its fit, None if the log was refused, and the true base parameters, robot by robot."""
    for seed in range(number):
        robot = random_robot(seed % ROBOTS)
        log = random_log(robot, kind, seed, samples)
        preparation = tp.Preparation(slow=0.05, trim=False, velocity="position", cutoff_hz=CUTOFF_HZ)
        try:
            guess = robot.with_parameters(WRONG * robot.parameters.values)
            problem = tp.estimators.build_problem(guess, log, FRICTION, preparation=preparation)
        except tp.TaupiError:
            yield from ((name, None, np.zeros(0)) for name in estimators)
            continue
        truth = problem.base.project(tp.regressor(robot, terms=problem.terms).parameters)
        for name in estimators:
            estimator = resolve_estimator(name)
            assert isinstance(estimator, Estimator), f"{name} does not solve a linear problem"
            yield name, estimator.fit(problem), truth


def count(kind: str, samples: int, estimators: tuple[str, ...], number: int) -> list[Count]:
    """Return the counts of one kind of log and number of samples, one for each estimator."""
    numbers = {name: np.zeros(5, dtype=int) for name in estimators}
    for name, fit, truth in fits(kind, samples, estimators, number):
        if fit is None:
            numbers[name] += (0, 1, 0, 0, 0)
            continue
        low, high = fit.intervals().T
        finite = np.isfinite(high)
        inside = finite & (low <= truth) & (truth <= high)
        numbers[name] += (1, 0, len(truth), finite.sum(), inside.sum())
    return [Count(kind, samples, name, *map(int, values)) for name, values in numbers.items()]


def table(counts: Iterable[Count]) -> str:
    """Return the counts as a table in Markdown."""
    lines = ["| log | samples | estimator | fits | refused | finite intervals | hold the truth |", "|" + "---|" * 7]
    for c in counts:
        finite = f"{c.finite / c.parameters:.0%}" if c.parameters else "-"
        coverage = f"{c.coverage:.1%}" if c.finite else "-"
        lines.append(f"| {c.kind} | {c.samples} | `{c.estimator}` | {c.fits} | {c.refused} | {finite} | {coverage} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fits", type=int, default=100)
    options.add_argument("--samples", default="50,100,300,1000,3000,10000")
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--estimators", default="wls,consistent")
    arguments = options.parse_args()
    warnings.simplefilter("ignore", TaupiWarning)
    counts = [
        c
        for kind in arguments.kinds.split(",")
        for samples in map(int, arguments.samples.split(","))
        for c in count(kind, samples, tuple(arguments.estimators.split(",")), arguments.fits)
    ]
    print(table(counts))


if __name__ == "__main__":
    main()
