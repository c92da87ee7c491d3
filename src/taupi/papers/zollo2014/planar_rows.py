"""The two-joint study's figures beside ours: rows, tables and pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taupi.identification.results.uncertainty import relative_errors
from taupi.papers.study import Picture, StudyRow, StudyTable, between, figure, in_part, own_runs, shown
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import zoomed
from taupi.papers.zollo2014.planar import LEVELS, SMALLER, PlanarOutcome, friction_floor, sagging
from taupi.papers.zollo2014.published import resembling
from taupi.papers.zollo2014.singles import LITERAL, READINGS, Singles, among
from taupi.reporting.chart import ChartAxis
from taupi.simulation.run import Run

BACKWARD, RECOMMENDED = "backward", "central, WLS"
NEAR = 1e-4  # relative to the parameter
UNEXPLAINED = (
    "none of 146 settings that the text leaves open has it with the other levels; the notes say which were tried"
)
QUIET = 100  # dB, from which noise moves the median by less than a hundredth
TABLE_1, TABLE_2, FIGURES = "Zollo Table 1", "Zollo Table 2", "Zollo, section 6"
LINE = "f_2, f_1 are called real, but samples that count see the curve as a line with another f_s, f_v, by their speeds"


def planar_rows(outcome: PlanarOutcome, singles: Singles) -> list[StudyRow]:
    """Return all rows of the two-joint study, under headings: the paper's first, then our own reference runs'."""
    own = [
        *in_part("Two joints: pipelines", pipeline_rows(outcome)),
        *in_part("Two joints: noise on positions", noise_rows(outcome)),
    ]
    return [
        *in_part("Two joints: Table 1, among single motions", estimate_rows(singles)),
        *in_part("Two joints: figures of the text, among single motions", single_rows(singles)),
        *in_part("Two joints: figures of the text", figure_rows(outcome)),
        *in_part("Two joints: Table 2, among single motions", table_2_rows(singles)),
        *own_runs(own),
    ]


def estimate_rows(singles: Singles, reading: str = LITERAL) -> list[StudyRow]:
    """Return Table 1 beside single motions by a reading: how many are as near to the real value as the printed estimate is."""
    values = singles.estimates(reading)
    rows = []
    for name, symbol, real, printed, unit in published.TABLE_1:
        k = singles.bench.names.index(name)
        truth = float(singles.bench.truth[k])
        because = LINE if name.endswith((".coulomb", ".viscous")) else ""
        rows.append(among(f"{symbol}, real {real}", printed, values[:, k], truth, unit, TABLE_1, because=because))
    return rows


def single_rows(singles: Singles) -> list[StudyRow]:
    """Return the figures of section 6 that depend on motion and gains, beside the figures of single motions."""
    values = singles.estimates()
    errors = singles.signed(values)
    nearest = (
        f"motion and gains are not printed; the smallest of ours is {errors.min():.3g}, and friction makes most of it"
    )
    rows = [
        among("normalised mean error", published.NME, errors, None, "", FIGURES, because=nearest),
        among("NME without static friction", published.NME_MOVING, singles.signed(values, True), None, "", FIGURES),
        among("samples left out", published.DISCARDED, singles.left_out, None, "", FIGURES),
    ]
    for joint, (printed, degrees) in enumerate(zip(published.DEFLECTIONS, singles.deflections.T, strict=True), start=1):
        geared = float(np.mean(0.1 * degrees <= float(printed) + 0.005))
        tried = (
            f"the least of {len(degrees)} motions has {degrees.min():.2g}, and gravity alone makes "
            f"{sagging(singles.bench)[joint - 1]:.2f} with level links; k_m = 0.1 times ours is as small in {geared:.0%}"
        )
        rows.append(
            among(f"largest deflection, joint {joint}", printed, degrees, None, "degrees", FIGURES, tried=tried)
        )
    return rows


def figure_rows(outcome: PlanarOutcome) -> list[StudyRow]:
    """Return the figures of section 6 that follow from the arm, from the protocol or from Table 1 itself."""
    bench = outcome.planar.bench
    real, estimated = (np.array([float(line[k]) for line in published.TABLE_1]) for k in (2, 3))
    own = relative_errors(estimated, real, signed=True)
    half = np.array([0.5 * 10.0 ** -len(line.estimated.partition(".")[2]) for line in published.TABLE_1])
    digits = half / np.where(real == 0, 1.0, np.abs(real))  # how far rounding may move each error
    still = np.array(["fs" in line.symbol for line in published.TABLE_1])
    ends, rounded = "with or without the last", "estimates are printed rounded; without signs the mean is {:.4g}"
    return [
        figure(
            "NME of Table 1's estimates, signed mean",
            published.NME,
            abs(float(own.mean())),
            "",
            TABLE_1,
            5e-4 + float(digits.mean()),
            reason=rounded.format(np.abs(own).mean()),
        ),
        figure(
            "the same, without static friction",
            published.NME_MOVING,
            abs(float(own[~still].mean())),
            "",
            TABLE_1,
            5e-6 + float(digits[~still].mean()),
            reason=rounded.format(np.abs(own[~still]).mean()),
        ),
        figure("identifiable parameters", "14", len(bench.names), "", FIGURES),
        figure("samples", published.SAMPLES, len(outcome.runs[0]), "", FIGURES, 1.0, reason=ends),
    ]


def pipeline_rows(outcome: PlanarOutcome) -> list[StudyRow]:
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
    for slowest, text in published.FRICTION_FLOOR.items():
        what = f"least friction part of NME of an unbiased fit, if speeds are from {slowest:g} rad/s"
        rows.append(figure(what, text, friction_floor(outcome.planar.curve, slowest=slowest)))
    return rows


def table_2_rows(singles: Singles) -> list[StudyRow]:
    """Return Table 2 beside single motions: noise is added to positions, velocities and accelerations, as the text says."""
    rows = []
    for level, text in published.TABLE_2.items():
        errors = singles.noisy(level)
        # Where noise is too small to matter, the reason is that of the error without noise.
        quiet = {"because": f"single motions have {errors.min():.3g} to {errors.max():.3g}, as they have without noise"}
        reason = quiet if level >= QUIET else {"tried": UNEXPLAINED}
        rows.append(among(f"NME at SN = {level}", text, errors, None, "", TABLE_2, **reason))
    return rows


def noise_rows(outcome: PlanarOutcome) -> list[StudyRow]:
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


def growth_rows(outcome: PlanarOutcome) -> list[StudyRow]:
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


def planar_tables(outcome: PlanarOutcome, singles: Singles) -> dict[str, StudyTable]:
    """Return errors by parameter, pipelines with their spread over motions, the sweep of noise, and single motions by reading."""
    bench = outcome.planar.bench
    symbols = {line.name: line.symbol for line in published.TABLE_1}
    errors = {name: bench.errors(outcome.estimates[name]).mean(axis=0) for name in ("exact", BACKWARD, RECOMMENDED)}
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
    columns = ("all signals, WLS", "central", RECOMMENDED, "small", "small, WLS")
    noise = []
    for level in LEVELS:
        several = np.percentile(singles.noisy(level), [2.5, 50, 97.5])
        noise.append(
            (level, float(published.TABLE_2[level]), *map(float, several), *(outcome.noisy(n, level) for n in columns))
        )
    readings = zip(*(estimate_rows(singles, name) for name in READINGS), strict=True)
    shares = [
        (line.symbol, *(f"{row.share:.1%}" for row in rows))
        for line, rows in zip(published.TABLE_1, readings, strict=True)
    ]
    return {
        "planar_parameters": StudyTable(
            "Two joints: relative errors",
            (
                "parameter",
                "real",
                "published, |error| / |real|",
                "ours, exact signals",
                "ours, backward differences",
                "ours, recommended",
            ),
            tuple(parameters),
        ),
        "planar_pipelines": StudyTable(
            f"Two joints: NME by pipeline, {len(outcome.runs)} motions",
            ("pipeline", "mean", "mean without f_s", "least", "largest"),
            tuple(pipelines),
        ),
        "planar_noise": StudyTable(
            f"Two joints: NME by noise; small: a motion {SMALLER} times smaller",
            (
                "SN, dB",
                "published",
                "single motions: 2.5 %",
                "median",
                "97.5 %",
                "noise on q, qd, qdd: filter, WLS",
                "noise on q: central",
                "noise on q: central, WLS",
                "small, central",
                "small, WLS",
            ),
            tuple(noise),
        ),
        "planar_readings": StudyTable(
            f"Two joints: share of {len(singles.each)} single motions that come as near as Table 1, by reading",
            ("parameter", *READINGS),
            tuple(shares),
        ),
    }


def planar_pictures(outcome: PlanarOutcome, singles: Singles) -> tuple[Picture, ...]:
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
        "ours, literal: median of single motions": [float(np.median(singles.noisy(level))) for level in LEVELS],
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
        Picture("friction of motor 1", "N m", speeds, friction, ChartAxis("rad/s", "rad/s")),
        Picture(
            "two joints: normalised mean error",
            "",
            levels,
            {k: np.array(v) for k, v in sweep.items()},
            ChartAxis("SN in dB", "dB"),
            log=True,
        ),
    )


def _deflection(run: Run, signed: bool = False) -> np.ndarray:
    """Return |theta - q|, or theta - q, (N, n) in degrees."""
    assert run.theta is not None
    degrees = np.degrees(run.theta - run.q)
    return degrees if signed else np.abs(degrees)


def seen_friction(outcome: PlanarOutcome) -> str:
    """Return the apparent friction of the motions, in words: the line nearest to the curve."""
    seen = outcome.lines.mean(axis=0)
    names = outcome.planar.bench.names
    pairs = [f"{n} {shown(float(seen[names.index(n)]), 3)}" for n in names if n.endswith((".coulomb", ".viscous"))]
    return ", ".join(pairs)
