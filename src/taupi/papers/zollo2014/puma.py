"""The study of Zollo et al. (2014) on the PUMA 560 with elastic joints, section 6: its runs, rows, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taupi.control.laws.elastic_pd_gravity import ElasticPDGravity
from taupi.identification.identify import identify
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import relative_errors
from taupi.identification.rows.preparation import Preparation
from taupi.model.load import load
from taupi.papers.study import Picture, StudyRow, StudyTable, figure, in_part, own_runs
from taupi.papers.zollo2014 import pipelines as pipe
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import COUNT, Bench, Pipeline, zoomed
from taupi.papers.zollo2014.published import resembling
from taupi.reporting.chart import ChartAxis
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
        """The arm and which rows count: the rows of links, and of motors that are fast."""
        return Bench(load("puma560_elastic").with_gravity(GRAVITY[self.count]), SPEED, "row")

    def motion(self) -> Reference:
        """Return the motion: random control points."""
        return BSpline.random(CENTRE, AMPLITUDE, POINTS, DURATION, self.seed)

    def run(self) -> Run:
        """Return the closed loop: RK4 at 0.05 ms, logged at 1 kHz, under continuous control."""
        return closed_loop(self.bench, self.motion())

    def estimates(self, run: Run) -> dict[str, np.ndarray]:
        """Return the base parameters (b,) that each pipeline finds."""
        counted, exact = self._measured(run, COUNT), run.to_log()

        def estimates_of(log: Log, pipeline: Pipeline) -> dict[str, np.ndarray]:
            return self.bench.estimates(log, pipeline)

        central = estimates_of(counted, pipe.CENTRAL)
        return {
            "exact": estimates_of(exact, pipe.EXACT)["ols"],
            "central": central["ols"],
            "central, WLS": central["wls"],
            "not counted": estimates_of(self._measured(run, None), pipe.CENTRAL)["ols"],
            "backward": estimates_of(counted, pipe.BACKWARD)["ols"],
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
        fit = own_fit(self.bench, log)
        return fit.values[[fit.names.index(name) for name in self.bench.names]]

    def _measured(self, run: Run, resolution: float | None) -> Log:
        return record(run, resolution)


def own_fit(bench: Bench, log: Log) -> Fit:
    """Return what `taupi.identify` finds when it prepares the log itself: dry friction passes the torque's filter."""
    settings = Preparation(20.0, 1, 5, trim=False, slow=0.0, threshold=SPEED)
    prior = np.zeros(len(bench.base.standard))
    ols = pipe.ESTIMATORS["ols"]
    fit = identify(bench.robot, log, ols, pipe.FRICTION, preparation=settings, base=bench.base, prior=prior)
    assert isinstance(fit, Fit)  # torques are given, so that it is no fit from commands
    return fit


def closed_loop(bench: Bench, motion: Reference) -> Run:
    """Return the closed loop on a motion: RK4 at 0.05 ms, logged at 1 kHz, under continuous control."""
    plant = ElasticPlant(bench.robot, terms=pipe.FRICTION, smoothing=0.0)
    law = ElasticPDGravity(bench.robot, 900 * INERTIA, 42 * INERTIA)
    return simulate(plant, law, motion, DURATION, rate=RATE * STEPS, every=STEPS, control="continuous")


@dataclass(frozen=True, eq=False)
class PumaOutcome:
    """What the experiment gave: the run, and the estimates (b,) of each pipeline."""

    puma: Puma
    run: Run
    estimates: dict[str, np.ndarray]

    def errors(self, name: str) -> np.ndarray:
        """Return the relative errors (b,) of a pipeline."""
        return self.puma.bench.errors(self.estimates[name])


def experiment(step: Callable[[str], None], count: int = 60, seed: int = SEED) -> PumaOutcome:
    """Return what all pipelines find on a motion: two steps."""
    puma = Puma(count, seed)
    step(f"PUMA, {count} base parameters: motion")
    run = puma.run()
    step(f"PUMA, {count} base parameters: pipelines")
    return PumaOutcome(puma, run, puma.estimates(run))


TABLES, FIGURES = "Zollo Tables 3-6", "Zollo, section 6"


def puma_rows(outcomes: Mapping[int, PumaOutcome], figures: Sequence[StudyRow] = ()) -> list[StudyRow]:
    """Return all rows of the PUMA study, under headings; `figures` come from single motions."""
    return [
        *in_part("PUMA 560: figures of the text, among single motions", figures),
        *in_part("PUMA 560: figures of the text", figure_rows(outcomes)),
        *own_runs(in_part("PUMA 560: pipelines", pipeline_rows(outcomes))),
    ]


def figure_rows(outcomes: Mapping[int, PumaOutcome]) -> list[StudyRow]:
    """Return the figures of section 6 beside ours, and those that follow from its tables."""
    real, estimated = published.puma_tables()
    own = relative_errors(estimated, real)
    across, along = outcomes[62].puma.bench.base, outcomes[60].puma.bench.base
    single = sum(kind == "independent" for kind in across.classes.values())
    return [
        figure(
            "normalised mean error of the printed tables",
            published.NME_PUMA,
            float(own.mean()),
            "",
            TABLES,
            because="the rotors of joints 1-3, printed as 0.0252 for 0.0002, make up most of it",
        ),
        figure("identifiable parameters, gravity across the first axis", "62", across.count, "", FIGURES),
        figure(
            "identifiable parameters, gravity along the first axis",
            "62",
            along.count,
            "",
            FIGURES,
            because="this is how a PUMA stands; a turn about the first axis then changes no height",
        ),
        figure(
            "parameters with a value of their own",
            "84",
            single,
            "",
            TABLES,
            because="the columns of others are zero or sums: no least squares gives their single values",
        ),
    ]


def pipeline_rows(outcomes: Mapping[int, PumaOutcome]) -> list[StudyRow]:
    """Return each pipeline of the reference runs beside ours, for both directions of gravity."""
    rows = []
    for count, outcome in outcomes.items():
        for name, (title, *references) in published.PUMA_PIPELINES.items():
            mean = float(outcome.errors(name).mean())
            rows.append(resembling(f"{count}: {title}", references[0 if count == 60 else 1], mean))
        middle = float(np.median(outcome.errors("central")))
        rows.append(resembling(f"{count}: central differences, median error", published.PUMA_MEDIAN[count], middle))
    counts = outcomes[60].puma.counts(outcomes[60].run)[3:]
    for joint, (text, steps) in enumerate(zip(published.PUMA_COUNTS, counts, strict=True), start=4):
        what = f"deflection of joint {joint}, counts of the encoder"
        rows.append(resembling(what, published.times(text, 2), steps))
    return rows


def puma_tables(outcomes: Mapping[int, PumaOutcome]) -> dict[str, StudyTable]:
    """Return errors by pipeline, and each base parameter: real, published, ours."""
    pipelines = []
    for count, outcome in outcomes.items():
        for name in outcome.estimates:
            e = outcome.errors(name)
            worst = outcome.puma.bench.names[e.argmax()]
            label = f"{count}, gravity {GRAVITY[count]}"
            pipelines.append((label, name, float(e.mean()), float(np.median(e)), float(e.max()), worst))
    heading = ("base parameters", "pipeline", "normalised mean error", "median", "largest", "of")
    tables = {"puma_pipelines": StudyTable("PUMA 560: error by pipeline", heading, tuple(pipelines))}
    for count, outcome in outcomes.items():
        tables[f"puma_{count}"] = _parameters(count, outcome)
    return tables | printed_tables(next(iter(outcomes.values())), OWN)


def _parameters(count: int, outcome: PumaOutcome) -> StudyTable:
    """Return a line for each base parameter; the published ones are the printed estimates put together as B pi."""
    bench = outcome.puma.bench
    printed = dict(zip(published.puma_names(), published.puma_tables()[1], strict=True))
    together = bench.base.project(np.array([printed[name] for name in bench.base.standard.names]))
    values = (bench.truth, together, *(outcome.estimates[name] for name in ("exact", "backward", "central", OWN)))
    lines = [(name, *(float(v[k]) for v in values)) for k, name in enumerate(bench.names)]
    heading = ("base parameter", "real", "published, put together", "exact signals", "backward", "central", OWN)
    return StudyTable(f"PUMA 560: {count} base parameters", heading, tuple(lines))


def puma_pictures(outcomes: Mapping[int, PumaOutcome]) -> tuple[Picture, ...]:
    """Return torque and motion of all six joints, link against motor where they differ most, and sorted errors."""
    outcome = outcomes[60]
    names, run = outcome.puma.bench.robot.joint_names, outcome.run
    deflection = np.degrees(outcome.puma.motors(run) - run.q)
    pictures = []
    for title, unit, values in (
        ("torque u", "N m", run.tau),
        ("position q", "rad", run.q),
        ("deflection", "degrees", deflection),
    ):
        for joints in (slice(0, 3), slice(3, 6)):
            lines = dict(zip(names[joints], values.T[joints], strict=True))
            pictures.append(Picture(f"PUMA: {title}, {names[joints][0]} to {names[joints][-1]}", unit, run.time, lines))
    pictures += [zoomed(f"PUMA, {name}", run, k) for k, name in enumerate(names)]
    for count, outcome in outcomes.items():
        lines = {name: np.sort(outcome.errors(name)) + 1e-16 for name in ("backward", OWN, "exact")}
        title = f"PUMA: relative errors, sorted, of {count} base parameters"
        pictures.append(Picture(title, "", np.arange(1.0, count + 1), lines, ChartAxis("rank"), log=True))
    return tuple(pictures)


# By number: title, first and last parameter, and how many stand side by side.
SHAPES = {
    3: ("joint elasticity and masses", 1, 12, 12),
    4: ("centers of mass", 13, 30, 9),
    5: ("inertia tensors", 31, 66, 9),
    6: ("motor inertias and friction", 67, 84, 9),
}
ZERO, TOGETHER = "no effect", "only in sums"


def printed_tables(outcome: PumaOutcome, pipeline: str) -> dict[str, StudyTable]:
    """Return Tables 3 to 6: real and estimated values as printed, and what one of our pipelines finds for each single parameter.

    A parameter that least squares cannot find alone has a word in place of a number: its column is zero, or it is part of sums.
    """
    real, estimated = published.puma_tables()
    own = [_alone(outcome, name, pipeline) for name in published.puma_names()]
    tables = {}
    for number, (title, first, last, width) in SHAPES.items():
        blocks: list[tuple[Any, ...]] = []
        for start in range(first - 1, last, width):
            span = slice(start, start + width)
            blocks.append(("", *(f"π{k + 1}" for k in range(start, start + width))))
            blocks.append(("Real", *map(float, real[span])))
            blocks.append(("Estimated, printed", *map(float, estimated[span])))
            blocks.append((f"Ours, {pipeline}", *own[span]))
        heading = f"Table {number}: real and estimated parameters related to {title}, as printed, and ours"
        tables[f"table_{number}"] = StudyTable(heading, tuple(blocks[0]), tuple(blocks[1:]))
    return tables


def _alone(outcome: PumaOutcome, name: str, pipeline: str) -> float | str:
    base = outcome.puma.bench.base
    kind = base.classes[name]
    if kind == "unidentifiable":
        return ZERO
    return float(outcome.estimates[pipeline][base.names.index(name)]) if kind == "independent" else TOGETHER
