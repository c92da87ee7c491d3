"""The two-joint study's figures beside ours: rows, tables and pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taupi.identification.results.error_measures import relative_errors
from taupi.papers.study import Picture, Row, Table, between, figure, in_part, own_runs, shown
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import zoomed
from taupi.papers.zollo2014.planar import LEVELS, SMALLER, Outcome, friction_floor
from taupi.papers.zollo2014.published import resembling
from taupi.reporting.chart import Axis
from taupi.simulation.run import Run

LITERAL, RECOMMENDED = "literal", "central, WLS"
NEAR = 1e-4  # relative to the parameter
TABLE_1, TABLE_2, FIGURES = "Zollo Table 1", "Zollo Table 2", "Zollo, section 6"
LINE = "f_2, f_1 are called real, but above 0.5 rad/s the curve is seen as a line with another f_s, f_v, by the speeds"
LATE = "backward differences come half a period late, and accelerations a whole one; with central ones it is as near"
UNKNOWN = "motion and gains are not printed"


def planar_rows(outcome: Outcome) -> list[Row]:
    """Return all rows of the two-joint study, under headings: those of the paper, then those of our own reference runs."""
    own = [
        *in_part("Two joints: pipelines", pipeline_rows(outcome)),
        *in_part("Two joints: motions that were searched for", reached_rows(outcome)),
        *in_part("Two joints: noise on positions", noise_rows(outcome)),
    ]
    return [
        *in_part("Two joints: Table 1, mean of the motions", estimate_rows(outcome)),
        *in_part("Two joints: figures of the text", figure_rows(outcome)),
        *in_part("Two joints: Table 2, noise on positions, velocities and accelerations", table_2_rows(outcome)),
        *own_runs(own),
    ]


def estimate_rows(outcome: Outcome) -> list[Row]:
    """Return Table 1 beside ours. The literal estimate agrees if it is as near to the real value as the printed one."""
    bench, rows = outcome.planar.bench, []
    means = {name: outcome.estimates[name].mean(axis=0) for name in (LITERAL, RECOMMENDED)}
    for name, symbol, real, printed, unit in published.TABLE_1:
        k = bench.names.index(name)
        truth, digit = bench.truth[k], 0.5 * 10.0 ** -len(real.partition(".")[2])
        allowed = max(abs(float(printed) - truth), digit)
        literal, ours = (float(values[k]) for values in means.values())
        because = LINE if name.endswith((".coulomb", ".viscous")) else LATE if abs(ours - truth) <= allowed else ""
        rule = f"within {allowed:.2g} of the real value, as the printed one is, or by its rounding"
        agrees = abs(literal - truth) <= allowed
        reason = "" if agrees else because
        rows.append(Row(f"{symbol}, real {real}", printed, literal, agrees, rule, unit, TABLE_1, reason, allowed, ours))
    return rows


def reachable(outcome: Outcome) -> str:
    """Return why the printed error is not ours: some motions and gains reach it, but most do not."""
    bench = outcome.planar.bench
    least = min(bench.nme(values)[0] for values in outcome.reached.values())
    return f"{UNKNOWN}; the literal pipeline reaches {least:.3f} on a motion that was searched for, and more on most"


def figure_rows(outcome: Outcome) -> list[Row]:
    """Return the figures of section 6 beside ours, and those that follow from Table 1 itself."""
    bench = outcome.planar.bench
    (literal, moving), (ours, ours_moving) = outcome.nme(LITERAL), outcome.nme(RECOMMENDED)
    real, estimated = (np.array([float(line[k]) for line in published.TABLE_1]) for k in (2, 3))
    own = relative_errors(estimated, real)
    still = np.array(["fs" in line.symbol for line in published.TABLE_1])
    samples, slow = len(outcome.runs[0]), float(np.mean([(~bench.kept(run.to_log())).sum() for run in outcome.runs]))
    ends, another = "with or without the last", "another mean was taken, or a table of another run is printed"
    slower = f"{UNKNOWN}; backward differences are late, and friction is seen as another line"
    rows = [
        figure("normalised mean error", published.NME, literal, "", FIGURES, None, reachable(outcome), ours),
        figure("NME without static friction", published.NME_MOVING, moving, "", FIGURES, None, slower, ours_moving),
        figure(
            "NME of Table 1's estimates",
            published.NME,
            float(own.mean()),
            "",
            TABLE_1,
            1e-3,
            reason="estimates are printed rounded",
        ),
        figure(
            "the same, without static friction",
            published.NME_MOVING,
            float(own[~still].mean()),
            "",
            TABLE_1,
            because=another,
        ),
        figure("identifiable parameters", "14", len(bench.names), "", FIGURES),
        figure("samples", published.SAMPLES, samples, "", FIGURES, 1.0, reason=ends),
        figure("samples left out", published.DISCARDED, slow, "", FIGURES, because="control points are not printed"),
    ]
    sag, largest = outcome.planar.sagging(), np.mean([_deflection(run).max(axis=0) for run in outcome.runs], axis=0)
    for joint, (printed, degrees, alone) in enumerate(zip(published.DEFLECTIONS, largest, sag, strict=True), start=1):
        reason = (
            f"gravity alone makes {alone:.2f} degrees with level links, so it cannot come from the motion that is drawn"
        )
        rows.append(figure(f"largest deflection, joint {joint}", printed, degrees, "degrees", FIGURES, because=reason))
    return rows


def pipeline_rows(outcome: Outcome) -> list[Row]:
    """Return each pipeline of the reference runs beside ours; the limits are how far other motions may differ."""
    rows = []
    for name, (title, *wanted) in published.PLANAR_PIPELINES.items():
        for what, ours, reference in zip(("NME", "NME without f_s"), outcome.nme(name), wanted, strict=True):
            rows.append(resembling(f"{title}: {what}", reference, ours))
    bench = outcome.planar.bench
    for name, reference in published.PLANAR_LINE.items():
        ours = bench.nme(outcome.estimates[name], outcome.lines)[0]
        rows.append(resembling(f"{name}: NME against the line nearest to the curve", reference, ours))
    sure = [k for k, n in enumerate(bench.names) if n.endswith((".stiffness", ".mR", ".mxR"))]
    for name in ("central", RECOMMENDED):
        worst = float(bench.errors(outcome.estimates[name]).mean(axis=0)[sure].max())
        rows.append(between(f"{name}: error of K, m*, cx*, at most", "1e-4", worst, 0.0, NEAR, "a limit"))
    floor = published.FLOOR._replace(text="0.129")
    rows.append(resembling("recommended (central, WLS): NME", floor, outcome.nme(RECOMMENDED)[0]))
    rows.append(figure("least friction part of NME of an unbiased fit", "0.117", friction_floor(outcome.planar.curve)))
    return rows


def reached_rows(outcome: Outcome) -> list[Row]:
    """Return the literal pipeline on motions and gains that were searched for: 0.103 is within reach."""
    bench = outcome.planar.bench
    return [
        figure(f"literal, {title}: NME", text, bench.nme(values)[0])
        for text, (title, values) in zip(published.REACHED, outcome.reached.items(), strict=True)
    ]


def table_2_rows(outcome: Outcome) -> list[Row]:
    """Return Table 2 beside ours: errors at levels of noise, which is added after differentiation."""
    rows = []
    for level, text in published.TABLE_2.items():
        ours, small = outcome.noisy("literal", level), outcome.noisy("small, literal", level)
        other = f"on a motion {SMALLER} times smaller ours is {small:.3g}"
        why = f"{UNKNOWN}, nor is where noise enters; {other}"
        best = outcome.noisy("all signals, WLS", level)
        row = figure(f"NME at SN = {level}", text, ours, "", TABLE_2, None, why, best)
        if level == 20 and not row.agrees:  # neither the size nor the place of the noise explains it
            row = replace(row, because="", tried=f"{other}, so that size does not explain it; {why.partition(';')[0]}")
        rows.append(row)
    return rows


def noise_rows(outcome: Outcome) -> list[Row]:
    """Return the noise levels of the reference runs, and how errors grow with noise and fall with deflection."""
    rows = []
    for title, name, texts in (
        ("central", "central", published.PLANAR_NOISE),
        (f"central, motion {SMALLER} times smaller", "small", published.PLANAR_NOISE_SMALL),
    ):
        for level, text in texts.items():
            ours = outcome.noisy(name, level)
            rows.append(resembling(f"{title}: NME at SN = {level}", published.times(text, 2), ours))
    for level, text in published.PLANAR_NOISE_STRIBECK.items():
        ours, wide = (outcome.noisy(f"{name}, Stribeck columns, WLS", level) for name in ("spline", "spline of 40 Hz"))
        why = f"it goes with the spline's bandwidth, 20 Hz here and not stated there: with 40 Hz it is {wide:.3g}"
        what = f"spline, Stribeck columns, WLS: NME at SN = {level}"
        row = resembling(what, published.times(text, 2), ours)
        rows.append(row if row.agrees else replace(row, because=why))
    level, text = published.PLANAR_NOISE_WLS
    ours = outcome.noisy(RECOMMENDED, level)
    rows.append(resembling(f"recommended: NME at SN = {level}", published.times(text, 2), ours))
    return [*rows, *growth_rows(outcome)]


def growth_rows(outcome: Outcome) -> list[Row]:
    """Return rows that show that the effect of noise scales with its power, and, between 70 and 100 dB, with deflection."""
    rows = []
    for title, name, steps in (
        ("", "central", ((70, 80), (80, 90))),
        ("small motion, ", "small", ((80, 90), (90, 100))),
    ):
        for a, b in steps:
            ratio = outcome.moved(name, a) / outcome.moved(name, b)
            ten = published.times("10", 2, "one draw of noise is taken")
            rows.append(resembling(f"{title}what noise adds, SN = {a} over {b}", ten, ratio))
    squares = [np.mean([np.square(_deflection(run)).mean() for run in runs]) for runs in (outcome.runs, outcome.small)]
    wanted, ours = squares[0] / squares[1], outcome.moved("small", 80) / outcome.moved("central", 80)
    what = "what noise adds, small over large motion, SN = 80; as 1 / deflection^2"
    rows.append(resembling(what, published.times(f"{wanted:.3g}", 3, "speeds matter too"), ours))
    return rows


def planar_tables(outcome: Outcome) -> dict[str, Table]:
    """Return errors by parameter, pipelines with their spread over motions, and the sweep of noise."""
    bench = outcome.planar.bench
    symbols = {line.name: line.symbol for line in published.TABLE_1}
    errors = {name: bench.errors(outcome.estimates[name]).mean(axis=0) for name in ("exact", LITERAL, RECOMMENDED)}
    printed = {n: relative_errors(float(est), float(real)) for n, _, real, est, _ in published.TABLE_1}
    parameters = [
        (symbols[n], float(bench.truth[k]), float(printed[n]), *(float(e[k]) for e in errors.values()))
        for n, k in ((line.name, bench.names.index(line.name)) for line in published.TABLE_1)
    ]
    pipelines = []
    for name, values in outcome.estimates.items():
        each = [bench.nme(v)[0] for v in values]
        title = published.PLANAR_PIPELINES[name][0] if name in published.PLANAR_PIPELINES else name
        pipelines.append((title, *outcome.nme(name), min(each), max(each)))
    columns = ("literal", "all signals, WLS", "central", RECOMMENDED, "small", "small, WLS")
    noise = [
        (level, float(published.TABLE_2[level]), *(outcome.noisy(name, level) for name in columns)) for level in LEVELS
    ]
    return {
        "planar_parameters": Table(
            "Two joints: relative errors",
            (
                "parameter",
                "real",
                "published, |error| / |real|",
                "ours, exact signals",
                "ours, literal",
                "ours, recommended",
            ),
            tuple(parameters),
        ),
        "planar_pipelines": Table(
            f"Two joints: NME by pipeline, {len(outcome.runs)} motions",
            ("pipeline", "mean", "mean without f_s", "least", "largest"),
            tuple(pipelines),
        ),
        "planar_noise": Table(
            f"Two joints: NME by noise; small: a motion {SMALLER} times smaller",
            (
                "SN, dB",
                "published",
                "noise on q, qd, qdd: literal",
                "noise on q, qd, qdd: filter, WLS",
                "noise on q: central",
                "noise on q: central, WLS",
                "small, central",
                "small, WLS",
            ),
            tuple(noise),
        ),
    }


def planar_pictures(outcome: Outcome) -> tuple[Picture, ...]:
    """Return a motion with its deflection and torque, friction over speed, and errors over noise."""
    run, bench, names = outcome.runs[0], outcome.planar.bench, outcome.planar.bench.robot.joint_names
    speeds = np.linspace(0.005, 4.0, 800)
    curve = outcome.planar.curve.torque(np.repeat(speeds[:, None], 2, axis=1))[:, 0]
    fs, fv = (bench.names.index(f"joint1.{kind}") for kind in ("coulomb", "viscous"))
    mean = outcome.estimates[RECOMMENDED].mean(axis=0)
    friction = {
        "the plant's curve": curve,
        "called real: f_2 + f_1 v": bench.truth[fs] + bench.truth[fv] * speeds,
        "found: f_s + f_v v": mean[fs] + mean[fv] * speeds,
    }
    levels = np.array(LEVELS, dtype=float)
    sweep = {
        "published": [float(published.TABLE_2[level]) for level in LEVELS],
        "ours, literal": [outcome.noisy("literal", level) for level in LEVELS],
        "ours, recommended": [outcome.noisy("all signals, WLS", level) for level in LEVELS],
    }
    label = f"two joints, motion {outcome.planar.seeds[0]}"
    return (
        Picture(f"{label}: position q", "rad", run.time, dict(zip(names, run.q.T, strict=True))),
        Picture(f"{label}: torque u", "N m", run.time, dict(zip(names, run.tau.T, strict=True))),
        Picture(
            f"{label}: deflection", "degrees", run.time, dict(zip(names, _deflection(run, signed=True).T, strict=True))
        ),
        *(zoomed(f"{label}, {name}", run, k) for k, name in enumerate(names)),
        Picture("friction of motor 1", "N m", speeds, friction, Axis("rad/s", "rad/s")),
        Picture(
            "two joints: normalised mean error",
            "log10",
            levels,
            {k: np.log10(v) for k, v in sweep.items()},
            Axis("SN in dB", "dB"),
        ),
    )


def _deflection(run: Run, signed: bool = False) -> np.ndarray:
    """Return |theta - q|, or theta - q, (N, n) in degrees."""
    assert run.theta is not None
    degrees = np.degrees(run.theta - run.q)
    return degrees if signed else np.abs(degrees)


def seen_friction(outcome: Outcome) -> str:
    """Return the apparent friction of the motions, in words: the line nearest to the curve."""
    seen = outcome.lines.mean(axis=0)
    names = outcome.planar.bench.names
    pairs = [f"{n} {shown(float(seen[names.index(n)]), 3)}" for n in names if n.endswith((".coulomb", ".viscous"))]
    return ", ".join(pairs)
