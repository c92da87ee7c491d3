"""The two-joint study's figures beside ours: rows, tables and pictures."""

from __future__ import annotations

import numpy as np

from taupi.papers.study import Picture, Row, Table, between, figure, in_part, shown
from taupi.papers.zollo2014 import published
from taupi.papers.zollo2014.pipelines import relative_errors
from taupi.papers.zollo2014.planar import LEVELS, SMALLER, SPEED, Outcome, friction_floor
from taupi.simulation.run import Run

LITERAL, RECOMMENDED = "literal", "central, WLS"
NEAR = 1e-4  # relative to the parameter, or to the link's own first moment where it is 0
TABLE_1, TABLE_2, FIGURES = "Zollo Table 1", "Zollo Table 2", "Zollo, section 6"
REFERENCE = "reference runs"  # printed in docs/howto/reproduce-a-study.md
_LINE = "f_2, f_1 are called real, but above 0.5 rad/s the curve is seen as a line with another f_s, f_v, by the speeds"


def planar_rows(outcome: Outcome) -> list[Row]:
    """Return all rows of the two-joint study, under headings."""
    return [
        *in_part("Two joints: Table 1, mean of the motions", estimate_rows(outcome)),
        *in_part("Two joints: figures of the text", figure_rows(outcome)),
        *in_part("Two joints: pipelines", pipeline_rows(outcome)),
        *in_part("Two joints: Table 2, noise", table_2_rows(outcome)),
        *in_part("Two joints: noise, the reference runs", noise_rows(outcome)),
    ]


def estimate_rows(outcome: Outcome) -> list[Row]:
    """Return Table 1 beside ours. It agrees where the recommended estimate is as near to the real value, or within 1e-4 of it."""
    bench, rows = outcome.planar.bench, []
    means = {name: outcome.estimates[name].mean(axis=0) for name in (LITERAL, RECOMMENDED)}
    for name, symbol, real, printed, unit in published.TABLE_1:
        k = bench.names.index(name)
        truth, size = (
            bench.truth[k],
            abs(bench.truth[k]) or abs(bench.truth[bench.names.index(name.replace("my", "mxR"))]),
        )
        digit = 0.5 * 10.0 ** -len(real.partition(".")[2])
        allowed = max(abs(float(printed) - truth), NEAR * size, digit)
        literal, ours = (float(values[k]) for values in means.values())
        agrees = abs(ours - truth) <= allowed
        rows.append(
            Row(f"{symbol}, real {real}", printed, literal, agrees, unit, TABLE_1, "" if agrees else _LINE, None, ours)
        )
    return rows


def figure_rows(outcome: Outcome) -> list[Row]:
    """Return the figures of section 6 beside ours, and those that follow from Table 1 itself."""
    bench, floor = outcome.planar.bench, friction_floor(outcome.planar.curve)
    (literal, moving), (ours, ours_moving) = outcome.nme(LITERAL), outcome.nme(RECOMMENDED)
    below = f"friction alone gives {floor:.3f} or more, whatever the speeds from {SPEED} to 10 rad/s: f_2, f_1 are called real"
    real, estimated = (np.array([float(line[k]) for line in published.TABLE_1]) for k in (2, 3))
    own = relative_errors(estimated, real)
    still = np.array(["fs" in line.symbol for line in published.TABLE_1])
    samples, slow = len(outcome.runs[0]), float(np.mean([(~bench.kept(run.to_log())).sum() for run in outcome.runs]))
    rows = [
        figure("normalised mean error", published.NME, literal, "", FIGURES, None, below, ours),
        figure(
            "the same, without static friction", published.NME_MOVING, moving, "", FIGURES, None, _LINE, ours_moving
        ),
        # Estimates are printed rounded, so their mean error may be off by a unit of its last digit.
        figure("normalised mean error of Table 1's estimates", published.NME, float(own.mean()), "", TABLE_1, 1e-3),
        figure(
            "the same, without static friction",
            published.NME_MOVING,
            float(own[~still].mean()),
            "",
            TABLE_1,
            because="another mean was taken, or a table of another run is printed",
        ),
        figure("identifiable parameters", "14", len(bench.names), "", FIGURES),
        figure("samples", published.SAMPLES, samples, "", FIGURES, 1.0),
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
        for what, ours, (text, low, high) in zip(("NME", "NME without f_s"), outcome.nme(name), wanted, strict=True):
            rows.append(between(f"{title}: {what}", text, ours, low, high, "", REFERENCE))
    bench = outcome.planar.bench
    for name, (text, low, high) in published.PLANAR_LINE.items():
        ours = bench.nme(outcome.estimates[name], outcome.lines)[0]
        rows.append(between(f"{name}: NME against the line nearest to the curve", text, ours, low, high, "", REFERENCE))
    sure = [k for k, n in enumerate(bench.names) if n.endswith((".stiffness", ".mR", ".mxR"))]
    for name in ("central", RECOMMENDED):
        worst = float(bench.errors(outcome.estimates[name]).mean(axis=0)[sure].max())
        rows.append(between(f"{name}: error of K, m*, cx*, at most", "1e-4", worst, 0.0, NEAR, "", REFERENCE))
    low, high = published.FLOOR.low, published.FLOOR.high
    rows.append(
        between("recommended (central, WLS): NME", "0.129", outcome.nme(RECOMMENDED)[0], low, high, "", REFERENCE)
    )
    rows.append(
        between(
            "least friction part of NME", "0.117", friction_floor(outcome.planar.curve), 0.1165, 0.1175, "", REFERENCE
        )
    )
    return rows


def table_2_rows(outcome: Outcome) -> list[Row]:
    """Return Table 2 beside ours: errors at levels of noise."""
    floor = friction_floor(outcome.planar.curve)
    rows = []
    for level, text in published.TABLE_2.items():
        far = "it goes with the motion and with 1 / deflection^2, which are not printed"
        why = f"friction alone gives {floor:.3f} or more" if float(text) < floor else far
        ours, best = outcome.noisy("literal", level), outcome.noisy(RECOMMENDED, level)
        rows.append(figure(f"NME at SN = {level}", text, ours, "", TABLE_2, None, why, best))
    return rows


def noise_rows(outcome: Outcome) -> list[Row]:
    """Return the noise levels of the reference runs, and how errors grow with noise and fall with deflection."""
    rows = []
    # With Stribeck columns errors under noise vary much from motion to motion; what matters is that they are no worse.
    for title, name, texts, least in (
        ("central", "central", published.PLANAR_NOISE, 0.5),
        (f"central, motion {SMALLER} times smaller", "small", published.PLANAR_NOISE_SMALL, 0.5),
        ("spline, Stribeck columns, WLS", "spline, Stribeck columns, WLS", published.PLANAR_NOISE_STRIBECK, 0.1),
    ):
        for level, text in texts.items():
            low, high = float(text) * least, float(text) * 2
            rows.append(
                between(f"{title}: NME at SN = {level}", text, outcome.noisy(name, level), low, high, "", REFERENCE)
            )
    level, text, most = published.PLANAR_NOISE_WLS
    rows.append(
        between(f"recommended: NME at SN = {level}", text, outcome.noisy(RECOMMENDED, level), 0.0, most, "", REFERENCE)
    )
    return [*rows, *growth_rows(outcome)]


def growth_rows(outcome: Outcome) -> list[Row]:
    """Return that what noise adds goes with its power, ten times for 10 dB, and with 1 / deflection^2."""
    rows = []
    for title, name, steps in (
        ("", "central", ((70, 80), (80, 90))),
        ("small motion, ", "small", ((80, 90), (90, 100))),
    ):
        for a, b in steps:
            ratio = outcome.moved(name, a) / outcome.moved(name, b)
            rows.append(between(f"{title}what noise adds, SN = {a} over {b}", "10", ratio, 5.0, 20.0, "", REFERENCE))
    squares = [np.mean([np.square(_deflection(run)).mean() for run in runs]) for runs in (outcome.runs, outcome.small)]
    wanted, ours = squares[0] / squares[1], outcome.moved("small", 80) / outcome.moved("central", 80)
    what = "what noise adds, small over large motion, SN = 80; as 1 / deflection^2"
    rows.append(between(what, f"{wanted:.3g}", ours, wanted / 3, wanted * 3, "", REFERENCE))
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
    columns = ("literal", "central", RECOMMENDED, "all signals", "small", "small, WLS")
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
                "ours, literal",
                "central",
                "ours, recommended",
                "noise on q, qd, qdd",
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
        "ours, recommended": [outcome.noisy(RECOMMENDED, level) for level in LEVELS],
    }
    label = f"two joints, motion {outcome.planar.seeds[0]}"
    return (
        Picture(f"{label}: position q", "rad", run.time, dict(zip(names, run.q.T, strict=True))),
        Picture(f"{label}: torque u", "N m", run.time, dict(zip(names, run.tau.T, strict=True))),
        Picture(
            f"{label}: deflection", "degrees", run.time, dict(zip(names, _deflection(run, signed=True).T, strict=True))
        ),
        Picture("friction of motor 1", "N m", speeds, friction, "rad/s"),
        Picture(
            "two joints: normalised mean error", "log10", levels, {k: np.log10(v) for k, v in sweep.items()}, "SN in dB"
        ),
    )


def _deflection(run: Run, signed: bool = False) -> np.ndarray:
    """Return |theta - q|, or theta - q, (N, n) in degrees."""
    assert run.theta is not None
    degrees = np.degrees(run.theta - run.q)
    return degrees if signed else np.abs(degrees)


def seen_friction(outcome: Outcome) -> str:
    """Return the friction that the motions see, in words: the line nearest to the curve."""
    seen = outcome.lines.mean(axis=0)
    names = outcome.planar.bench.names
    pairs = [f"{n} {shown(float(seen[names.index(n)]), 3)}" for n in names if n.endswith((".coulomb", ".viscous"))]
    return ", ".join(pairs)
