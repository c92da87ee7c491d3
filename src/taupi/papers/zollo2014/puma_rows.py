"""The PUMA study's figures beside ours: rows, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taupi.identification.results.error_measures import relative_errors
from taupi.papers.study import Picture, Row, Table, figure, in_part, own_runs
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import zoomed
from taupi.papers.zollo2014.printed_shape import printed_tables
from taupi.papers.zollo2014.published import resembling
from taupi.papers.zollo2014.puma import GRAVITY, OWN, Outcome
from taupi.reporting.chart import Axis

TABLES, FIGURES = "Zollo Tables 3-6", "Zollo, section 6"


def puma_rows(outcomes: Mapping[int, Outcome]) -> list[Row]:
    """Return all rows of the PUMA study, under headings."""
    return [
        *in_part("PUMA 560: figures of the text", figure_rows(outcomes)),
        *own_runs(in_part("PUMA 560: pipelines", pipeline_rows(outcomes))),
    ]


def figure_rows(outcomes: Mapping[int, Outcome]) -> list[Row]:
    """Return the figures of section 6 beside ours, and those that follow from its tables."""
    real, estimated = published.puma_tables()
    own = relative_errors(estimated, real)
    literal, ours = (float(outcomes[62].errors(name).mean()) for name in ("literal", OWN))
    deflection = float(np.mean([np.abs(m.run.q - m.puma.motors(m.run)).max(axis=0).mean() for m in outcomes.values()]))
    missing = "k_m, gains and motion are not printed; ours is one motion of our own"
    across, along = outcomes[62].puma.bench.base, outcomes[60].puma.bench.base
    single = sum(kind == "independent" for kind in across.classes.values())
    return [
        figure("normalised mean error", published.NME_PUMA, literal, "", FIGURES, None, missing, ours),
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
        figure(
            "largest deflection, mean of the joints",
            published.PUMA_DEFLECTION,
            deflection,
            "rad",
            FIGURES,
            because="that takes 180 N m in the mean of the joints, more than gravity and motion ask",
        ),
    ]


def pipeline_rows(outcomes: Mapping[int, Outcome]) -> list[Row]:
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


def puma_tables(outcomes: Mapping[int, Outcome]) -> dict[str, Table]:
    """Return errors by pipeline, and each base parameter: real, published, ours."""
    pipelines = []
    for count, outcome in outcomes.items():
        for name in outcome.estimates:
            e = outcome.errors(name)
            worst = outcome.puma.bench.names[e.argmax()]
            label = f"{count}, gravity {GRAVITY[count]}"
            pipelines.append((label, name, float(e.mean()), float(np.median(e)), float(e.max()), worst))
    heading = ("base parameters", "pipeline", "normalised mean error", "median", "largest", "of")
    tables = {"puma_pipelines": Table("PUMA 560: error by pipeline", heading, tuple(pipelines))}
    for count, outcome in outcomes.items():
        tables[f"puma_{count}"] = _parameters(count, outcome)
    return tables | printed_tables(next(iter(outcomes.values())), OWN)


def _parameters(count: int, outcome: Outcome) -> Table:
    """Return a line for each base parameter; the published ones are the printed estimates put together as B pi."""
    bench = outcome.puma.bench
    printed = dict(zip(published.puma_names(), published.puma_tables()[1], strict=True))
    together = bench.base.project(np.array([printed[name] for name in bench.base.standard.names]))
    values = (bench.truth, together, *(outcome.estimates[name] for name in ("exact", "literal", "central", OWN)))
    lines = [(name, *(float(v[k]) for v in values)) for k, name in enumerate(bench.names)]
    heading = ("base parameter", "real", "published, put together", "exact signals", "literal", "central", OWN)
    return Table(f"PUMA 560: {count} base parameters", heading, tuple(lines))


def puma_pictures(outcomes: Mapping[int, Outcome]) -> tuple[Picture, ...]:
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
        lines = {name: np.log10(np.sort(outcome.errors(name)) + 1e-16) for name in ("literal", OWN, "exact")}
        title = f"PUMA: sorted errors of {count} base parameters"
        pictures.append(Picture(title, "log10", np.arange(1.0, count + 1), lines, Axis("rank")))
    return tuple(pictures)
