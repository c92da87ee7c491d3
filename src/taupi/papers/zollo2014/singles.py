"""What the document does not print is drawn at random: many single motions by its literal reading.

A printed run is one motion under one set of gains, and neither is printed. So it is not compared with a mean over motions of
ours, but with each of them: it agrees if it could be one of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
from taupi.identification.results.uncertainty import relative_errors
from taupi.papers.study import StudyRow
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014 import planar as planar_study
from taupi.papers.zollo2014 import puma as puma_study
from taupi.papers.zollo2014.pipelines import COUNT, Bench, side_by_side
from taupi.papers.zollo2014.published import NME_PUMA, PUMA_DEFLECTION, TABLE_2
from taupi.signals.log import Log
from taupi.simulation.plants.elastic_plant import ElasticPlant
from taupi.simulation.record import record
from taupi.simulation.references import BSpline
from taupi.simulation.run import Run

MOTIONS, PUMA_MOTIONS = 200, 40
FIGURES = "Zollo, section 6"
SPEED = 0.5  # rad/s: a sample is left out if all motors are slower
MIDDLE = (0.025, 0.975)  # of our motions: a printed run is one of them if it lies among these
# What is drawn: control points, their range (rad), how many times stiffer the gains are than in our other runs.
POINTS, WIDTHS, STIFFER = (12, 60), (0.5, 4.0), (1.0, 4.0)
PUMA_POINTS, PUMA_SMALLER = (12, 36), (0.3, 1.0)


def literal(bench: Bench, ready: Log, all_slow: bool = True) -> np.ndarray:
    """Return the base parameters (b,) by plain least squares: (39)-(42) over the samples that count."""
    q, qd, qdd, theta, thetad, thetadd = (
        ready.need(name)[0] for name in ("q", "qd", "qdd", "theta", "thetad", "thetadd")
    )
    keep = counted(thetad, all_slow)
    program = bench.base.regressor()
    W = program(*(x[keep] for x in (q, qd, qdd, theta, thetad, thetadd)))
    torque = ready.need("tau")[0][keep]
    T = np.concatenate([np.zeros_like(torque), torque], axis=1)
    if len(W) < W.shape[-1]:  # too few samples are fast enough
        return np.full(len(bench.names), np.nan)
    rows = W.reshape(-1, W.shape[-1])
    scale = np.linalg.norm(rows, axis=0)
    values: np.ndarray = np.linalg.lstsq(rows / scale, T.ravel(), rcond=None)[0] / scale
    assert program.parameters is not None
    return values[[program.parameters.names.index(name) for name in bench.names]]


def counted(thetad: np.ndarray, all_slow: bool = True) -> np.ndarray:
    """Return which samples (N,) count: all but those in which all motors are slow, or in which any is."""
    fast = np.abs(thetad) >= SPEED
    keep: np.ndarray = fast.any(axis=1) if all_slow else fast.all(axis=1)
    return keep


@dataclass(frozen=True, eq=False)
class Single:
    """What one motion gives: estimates (b,) by reading, and by level of noise; what is left out; deflections in degrees."""

    estimates: dict[str, np.ndarray]
    noisy: dict[int, np.ndarray]
    left_out: int
    deflection: np.ndarray


# The readings that the text allows, by name: pipeline, and whether a sample is left out if all motors are slow, or any.
LITERAL = "central differences, all slow"
READINGS = {
    LITERAL: (pipe.LITERAL, True),
    "central differences, any slow": (pipe.LITERAL, False),
    "backward differences, all slow": (pipe.BACKWARD, True),
    "backward differences, any slow": (pipe.BACKWARD, False),
}


def drawn(seed: int) -> tuple[BSpline, tuple[np.ndarray, np.ndarray]]:
    """Return the motion of a seed and the gains of its controller: a quintic B-spline about any posture."""
    rng = np.random.default_rng([34, seed])
    count = int(rng.integers(POINTS[0], POINTS[1] + 1))
    width = np.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1]), 2))
    centre = rng.uniform(-np.pi, np.pi, 2)
    stiffer = math.exp(rng.uniform(math.log(STIFFER[0]), math.log(STIFFER[1])))
    gains = np.array(planar_study.GAINS) * np.array([[stiffer], [math.sqrt(stiffer)]])
    motion = BSpline.random(centre, width, count, planar_study.DURATION, int(rng.integers(2**31)))
    return motion, (gains[0], gains[1])


def single_motion(bench: Bench, seed: int) -> Single:
    """Return what the two-joint arm gives on the motion of a seed."""
    motion, gains = drawn(seed)
    assert bench.curve is not None
    plant = ElasticPlant(bench.robot, terms=(bench.curve,), smoothing=0.0)
    run = planar_study.continuous(plant, ElasticPDGravity(bench.robot, *gains), motion)
    log = record(run, COUNT)
    ready = {pipeline: pipeline.prepared(log) for pipeline in (pipe.LITERAL, pipe.BACKWARD)}
    estimates = {name: literal(bench, ready[pipeline], rule) for name, (pipeline, rule) in READINGS.items()}
    noisy = {level: literal(bench, pipe.shaken(ready[pipe.LITERAL], level, seed)) for level in TABLE_2}
    return Single(estimates, noisy, left_out(run), largest_deflection(run))


def left_out(run: Run) -> int:
    """Return how many samples of a run do not count."""
    return int((~counted(run.to_log().need("thetad")[0])).sum())


def largest_deflection(run: Run) -> np.ndarray:
    """Return max |theta - q| (n,) in degrees."""
    assert run.theta is not None
    largest: np.ndarray = np.degrees(np.abs(run.theta - run.q).max(axis=0))
    return largest


def single_puma(bench: Bench, seed: int) -> Single:
    """Return what the PUMA gives on the motion of a seed: the size and the control points are drawn."""
    rng = np.random.default_rng([560, seed])
    count = int(rng.integers(PUMA_POINTS[0], PUMA_POINTS[1] + 1))
    smaller = math.exp(rng.uniform(math.log(PUMA_SMALLER[0]), math.log(PUMA_SMALLER[1])))
    size = smaller * np.array(puma_study.AMPLITUDE)
    motion = BSpline.random(puma_study.CENTRE, size, count, puma_study.DURATION, int(rng.integers(2**31)))
    run = puma_study.closed_loop(bench, motion)
    estimates = {LITERAL: literal(bench, pipe.LITERAL.prepared(record(run, COUNT)))}
    return Single(estimates, {}, left_out(run), largest_deflection(run))


@dataclass(frozen=True, eq=False)
class Singles:
    """Single motions of an arm."""

    bench: Bench
    each: Sequence[Single]

    @classmethod
    def of(cls, bench: Bench, count: int, work: Callable[[Bench, int], Single] = single_motion) -> Singles:
        """Return `count` motions of an arm."""
        return cls(bench, side_by_side(lambda seed: work(bench, seed), range(count)))

    def estimates(self, reading: str = LITERAL) -> np.ndarray:
        """Return the estimates (motions, b) of a reading."""
        return np.array([single.estimates[reading] for single in self.each])

    def signed(self, values: np.ndarray, moving: bool = False) -> np.ndarray:
        """Return the normalised mean error (motions,) with signs of estimates (motions, b), `moving` without static friction."""
        return np.abs(self._errors(values, moving, True).mean(axis=1))

    def absolute(self, values: np.ndarray, moving: bool = False) -> np.ndarray:
        """Return the same of errors without signs."""
        return self._errors(values, moving, False).mean(axis=1)

    def noisy(self, level: int) -> np.ndarray:
        """Return the normalised mean error (motions,) at a level of noise."""
        return self.signed(np.array([single.noisy[level] for single in self.each]))

    @cached_property
    def left_out(self) -> np.ndarray:
        """How many samples are left out (motions,)."""
        return np.array([single.left_out for single in self.each])

    @cached_property
    def deflections(self) -> np.ndarray:
        """Largest deflections (motions, n) in degrees."""
        return np.array([single.deflection for single in self.each])

    def _errors(self, values: np.ndarray, moving: bool, signs: bool) -> np.ndarray:
        errors = relative_errors(values, self.bench.truth, signed=signs)
        keep = [not (moving and name.endswith(".coulomb")) for name in self.bench.names]
        return errors[:, keep]


def puma_single_rows(singles: Singles, by_rows: float) -> list[StudyRow]:
    """Return the figures of the text that depend on the PUMA's motion and gains, beside the figures of single motions.

    `by_rows` is the error of our own motion if only the rows of slow motors are left out.
    """
    radians = np.radians(singles.deflections).mean(axis=1)
    missing = (
        "k_m, gains and motion are not printed, and the springs of the wrist move the encoders by a few counts; if only the rows "
        f"of slow motors are left out, a motion of ours has {by_rows:.3g}"
    )
    tried = (
        f"single motions have {radians.min():.2g} to {radians.max():.2g}; 0.09 rad of six springs of 2000 N m/rad takes 180 N m "
        "in the mean of the joints, more than gravity and motion ask"
    )
    errors = singles.signed(singles.estimates())
    return [
        among("normalised mean error", NME_PUMA, errors, None, "", FIGURES, because=missing),
        among("largest deflection, mean of the joints", PUMA_DEFLECTION, radians, None, "rad", FIGURES, tried=tried),
    ]


def among(
    what: str,
    stated: str,
    values: np.ndarray,
    real: float | None = None,
    unit: str = "",
    source: str = "",
    *,
    because: str = "",
    tried: str = "",
) -> StudyRow:
    """Return the row of a figure of a printed run beside the `values` (motions,) of single motions; ours is their median.

    An estimate of a `real` value is compared by how far it is from that, any other figure as it is. It agrees if from 2.5 % to
    97.5 % of the motions are as near, or as small; what rounding of the print allows counts as equal. `because` and `tried` are
    as in `StudyRow`, for a figure that does not agree.

    >>> among("K", "99.8", np.linspace(99, 101, 101), 100.0).verdict
    'agrees'
    >>> among("K", "98.5", np.linspace(99, 101, 101), 100.0).share
    1.0
    """
    half = 0.5 * 10.0 ** -_decimals(stated)
    if real is None:
        share, side = float(np.mean(values <= float(stated) + half)), "as small"
    else:
        allowed = max(abs(float(stated) - real), half)
        share, side = float(np.mean(np.abs(values - real) <= allowed)), "as near"
    agrees = MIDDLE[0] <= share <= MIDDLE[1]
    rule = f"{MIDDLE[0]:.1%} to {MIDDLE[1]:.1%} of {len(values)} random motions are {side}"
    why: dict[str, Any] = {} if agrees else {"because": because, "tried": tried}
    return StudyRow(what, stated, float(np.nanmedian(values)), agrees, rule, unit, source, share=share, **why)


def _decimals(stated: str) -> int:
    mantissa, _, exponent = stated.partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)
