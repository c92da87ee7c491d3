"""The PUMA study's figures beside ours: rows, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taupi.papers.study import Picture, Row, Table, between, figure, in_part
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import relative_errors
from taupi.papers.zollo2014.puma import GRAVITY, OWN, Outcome

TABLES, FIGURES = "Zollo Tables 3-6", "Zollo, section 6"
REFERENCE = "reference runs"  # printed in docs/howto/reproduce-a-study.md


def puma_rows(outcomes: Mapping[int, Outcome]) -> list[Row]:
    """Return all rows of the PUMA study, under headings."""
    return [
        *in_part("PUMA 560: figures of the text", figure_rows(outcomes)),
        *in_part("PUMA 560: pipelines", pipeline_rows(outcomes)),
    ]


def figure_rows(outcomes: Mapping[int, Outcome]) -> list[Row]:
    """Return the figures of section 6 beside ours, and those that follow from its tables."""
    real, estimated = published.puma_tables()
    own = relative_errors(estimated, real)
    literal, ours = (float(outcomes[62].errors(name).mean()) for name in ("literal", OWN))
    deflection = float(np.mean([np.abs(m.run.q - m.puma.motors(m.run)).max(axis=0).mean() for m in outcomes.values()]))
    missing = "k_m and the motion are not printed; ours is one motion of our own"
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
    """Return outcome pipeline of the reference runs beside ours, for both directions of gravity."""
    rows = []
    for count, outcome in outcomes.items():
        for name, (title, *references) in published.PUMA_PIPELINES.items():
            text, low, high = references[0 if count == 60 else 1]
            rows.append(
                between(f"{count}: {title}", text, float(outcome.errors(name).mean()), low, high, "", REFERENCE)
            )
        text, low, high = published.PUMA_MEDIAN[count]
        middle = float(np.median(outcome.errors("central")))
        rows.append(between(f"{count}: central differences, median error", text, middle, low, high, "", REFERENCE))
    counts = outcomes[60].puma.counts(outcomes[60].run)[3:]
    for joint, (text, steps) in enumerate(zip(published.PUMA_COUNTS, counts, strict=True), start=4):
        what = f"deflection of joint {joint}, counts of the encoder"
        rows.append(between(what, text, steps, float(text) / 2, float(text) * 2, "", REFERENCE))
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
    return tables


def _parameters(count: int, outcome: Outcome) -> Table:
    """Return a line for outcome base parameter; the published ones are the printed estimates put together as B pi."""
    bench = outcome.puma.bench
    printed = dict(zip(published.puma_names(), published.puma_tables()[1], strict=True))
    together = bench.base.project(np.array([printed[name] for name in bench.base.standard.names]))
    values = (bench.truth, together, *(outcome.estimates[name] for name in ("exact", "literal", "central", OWN)))
    lines = [(name, *(float(v[k]) for v in values)) for k, name in enumerate(bench.names)]
    heading = ("base parameter", "real", "published, put together", "exact signals", "literal", "central", OWN)
    return Table(f"PUMA 560: {count} base parameters", heading, tuple(lines))


def puma_pictures(outcomes: Mapping[int, Outcome]) -> tuple[Picture, ...]:
    """Return the motion and deflection of the first three joints, and errors from the least to the largest."""
    outcome = outcomes[60]
    names, run = outcome.puma.bench.robot.joint_names[:3], outcome.run
    deflection = np.degrees(outcome.puma.motors(run) - run.q)
    pictures = [
        Picture("PUMA: position q", "rad", run.time, dict(zip(names, run.q.T[:3], strict=True))),
        Picture("PUMA: deflection", "degrees", run.time, dict(zip(names, deflection.T[:3], strict=True))),
    ]
    for count, outcome in outcomes.items():
        lines = {name: np.log10(np.sort(outcome.errors(name)) + 1e-16) for name in ("literal", OWN, "exact")}
        title = f"PUMA: sorted errors of {count} base parameters"
        pictures.append(Picture(title, "log10", np.arange(1.0, count + 1), lines, "rank"))
    return tuple(pictures)
