"""From a simulated run to base parameters of an elastic arm: the pipelines of the study, and its measure of error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from taupi.dynamics.terms import Term
from taupi.dynamics.terms.stribeck_curve import StribeckCurve
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identification.estimators import Estimator
from taupi.identification.estimators.ols import OrdinaryLeastSquares
from taupi.identification.estimators.wls import WeightedLeastSquares
from taupi.identification.identify import build_problem
from taupi.identification.results.uncertainty import relative_errors
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.papers.study import Picture
from taupi.signals.log import Log
from taupi.signals.prepare import prepare
from taupi.simulation.run import Run

COUNT = 2 * np.pi / 1250000  # rad: a step of the document's encoders
ENDS = 0.3  # s that are left out at both ends
FRICTION = ("coulomb", "viscous")
# Plain estimators: nothing is taken from a prior, however little a motion excites.
ESTIMATORS: dict[str, Estimator] = {"ols": OrdinaryLeastSquares(weak=0.0), "wls": WeightedLeastSquares(weak=0.0)}
_LOW_PASS = {"cutoff_hz": 20.0, "order": 5}

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Pipeline:
    """What is done to a log: settings of `taupi.prepare`, whether the torque stays as it was, and the estimators to use.

    With `gradient`, velocities and accelerations are two-point central differences of what was filtered, taken twice: as NumPy's
    and MATLAB's `gradient` make them.
    """

    settings: Mapping[str, Any] = field(hash=False)
    raw_torque: bool = False
    gradient: bool = False
    stribeck: bool = False
    estimators: tuple[str, ...] = ("ols",)

    def prepared(self, log: Log) -> Log:
        """Return q, theta and their derivatives, and u, as the pipeline makes them, without the ends."""
        ready = prepare(log, trim=False, decimate=1, **self.settings)
        if self.raw_torque:
            edge = (len(log) - len(ready)) // 2
            ready = ready.with_(tau=log.need("tau")[0][edge : len(log) - edge])
        if self.gradient:
            for name in ("q", "theta"):
                rate = np.gradient(ready.need(name)[0], ready.time, axis=0)
                ready = ready.with_(**{f"{name}d": rate, f"{name}dd": np.gradient(rate, ready.time, axis=0)})
        return ready.slice(log.time[0] + ENDS, log.time[-1] - ENDS)


EXACT = Pipeline({"filtering": "none", "derivatives": "recorded"})
EXACT_STRIBECK = Pipeline(EXACT.settings, stribeck=True)
# The document's "first-order numerical differentiation", by central differences; by backward ones it is a variant.
LITERAL = Pipeline(_LOW_PASS, gradient=True)
BACKWARD = Pipeline({**_LOW_PASS, "derivatives": "backward"})
CAUSAL = Pipeline({**_LOW_PASS, "filtering": "causal", "derivatives": "backward"})
LATE = Pipeline(CAUSAL.settings, raw_torque=True)
UNFILTERED = Pipeline({"filtering": "none", "derivatives": "backward"})
CENTRAL = Pipeline(_LOW_PASS, estimators=("ols", "wls"))
RECORDED = Pipeline({**_LOW_PASS, "derivatives": "recorded"}, estimators=("ols", "wls"))
# The torque has neither quantisation nor noise here, so that it needs no filter beside a spline through the positions.
SPLINE = Pipeline({"cutoff_hz": 20.0, "filtering": "none", "derivatives": "quintic"}, estimators=("ols", "wls"))
WIDE_SPLINE_STRIBECK = Pipeline({**SPLINE.settings, "cutoff_hz": 40.0}, stribeck=True, estimators=("wls",))
SPLINE_STRIBECK = Pipeline(SPLINE.settings, stribeck=True, estimators=("ols", "wls"))


@dataclass(frozen=True)
class Bench:
    """An arm with elastic joints, and which rows count: motors faster than `threshold` (rad/s), sample- or row-wise.

    `curve` is the friction that pipelines with Stribeck columns take their two shapes from.
    """

    robot: Robot
    threshold: float
    leave_out: str
    curve: StribeckCurve | None = None

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters with Coulomb and viscous friction."""
        return base_parameters(self.robot, terms=FRICTION, elastic=True)

    @cached_property
    def extended(self) -> BaseParameters:
        """The base parameters with two more columns of Stribeck friction per joint."""
        return base_parameters(self.robot, terms=self.terms(True), elastic=True)

    @cached_property
    def truth(self) -> np.ndarray:
        """The real values of the base parameters (b,): of friction, f_2 and f_1."""
        return self.base.project(self.base.standard.values)

    @property
    def names(self) -> tuple[str, ...]:
        """The base parameters' names."""
        return self.base.names

    @property
    def settings(self) -> Preparation:
        """Which rows count, and friction as sgn."""
        return Preparation(slow=0.0, threshold=self.threshold, leave_out=self.leave_out)

    def terms(self, stribeck: bool) -> tuple[str | Term, ...]:
        """Return the terms of the regressor's columns."""
        return FRICTION if not stribeck or self.curve is None else self.curve.columns

    def estimates(self, log: Log, pipeline: Pipeline) -> dict[str, np.ndarray]:
        """Return the base parameters (b,) that a pipeline finds, by estimator; parameters of further columns are left out."""
        return self.solved(pipeline.prepared(log), pipeline)

    def solved(self, ready: Log, pipeline: Pipeline) -> dict[str, np.ndarray]:
        """Return the same from a log that is prepared: derivatives and all."""
        base = self.extended if pipeline.stribeck else self.base
        problem = build_problem(
            self.robot,
            ready,
            self.terms(pipeline.stribeck),
            preparation=self.settings,
            base=base,
            prior=np.zeros(len(base.standard)),  # the robot's own would be the truth
        )
        kept = [problem.names.index(name) for name in self.names]
        return {name: ESTIMATORS[name].fit(problem).values[kept] for name in pipeline.estimators}

    def kept(self, log: Log) -> np.ndarray:
        """Return which samples (N,) of a log with velocities count: those in which every motor is fast enough."""
        fast: np.ndarray = (np.abs(log.need("thetad")[0]) >= self.threshold).all(axis=1)
        return fast

    def errors(self, values: ArrayLike, truth: ArrayLike | None = None) -> np.ndarray:
        """Return |estimate - real| / |real| of each parameter (..., b), or |estimate| if the real value is 0."""
        return relative_errors(values, self.truth if truth is None else truth)

    def nme(self, values: ArrayLike, truth: ArrayLike | None = None) -> tuple[float, float]:
        """Return the normalised mean error, over all and without static friction."""
        moving = [not name.endswith(".coulomb") for name in self.names]
        errors = self.errors(values, truth)
        return float(errors.mean()), float(errors[..., moving].mean())


def shaken(log: Log, snr_db: float, seed: int) -> Log:
    """Return a log with white noise on positions, velocities and accelerations of links and motors: the document's."""
    rng, noisy = np.random.default_rng(seed), {}
    for name in ("q", "qd", "qdd", "theta", "thetad", "thetadd"):
        (value,) = log.need(name)
        rms = np.sqrt(np.mean(value**2, axis=0))
        noisy[name] = value + rms * 10 ** (-snr_db / 20) * rng.standard_normal(value.shape)
    return log.with_(**noisy)


def zoomed(title: str, run: Run, joint: int, seconds: float = 0.3) -> Picture:
    """Return link and motor of a joint around where they differ most: the zooms of Figures 5 and 7."""
    assert run.theta is not None
    middle = run.time[np.abs(run.theta[:, joint] - run.q[:, joint]).argmax()]
    span = np.abs(run.time - middle) <= seconds / 2
    lines = {"link q": run.q[span, joint], "motor theta": run.theta[span, joint]}
    return Picture(f"{title}: link and motor, where they differ most", "rad", run.time[span], lines)


def side_by_side(work: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return `work` of each item, on all cores; the first item runs alone, so that programs are compiled once."""
    first, *rest = items
    done = [work(first)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [*done, *pool.map(work, rest)]
