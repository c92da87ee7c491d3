"""The page of a fit: its sections, in the order of FIT_SECTIONS; a section gets a `FitContent`."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Sequence

import numpy as np

from taupi.dynamics.terms import friction_headings
from taupi.errors import TaupiError
from taupi.identification.results.command_fit import CommandValidation
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import NUMBERS
from taupi.identification.results.torque_parts import friction_kind
from taupi.identification.results.validation import Validation
from taupi.identification.results.verdict import Reason
from taupi.reporting.chart import Line, chart_with_difference
from taupi.reporting.dots import friction_chart
from taupi.reporting.ellipsoids import BodyComparison, LinkEllipsoid, bodies_figure
from taupi.reporting.fit_content import (
    FITTED,
    HELD_OUT,
    FitContent,
    LogRow,
    ParameterRow,
    StandardRow,
    Trace,
    fit_content,
)
from taupi.reporting.page import page
from taupi.reporting.sections.base import Html, ProvenanceSection, Section, figure, listed, number, percent, table
from taupi.signals.log import Log
from taupi.tables import interval_text, with_error

_SAYS = {
    "good": "Good: nothing speaks against this fit.",
    "doubtful": "Doubtful: look at this before you use the fit.",
    "wrong": "Wrong: this is not a model of the robot.",
}


class VerdictSection:
    """The verdict, in its colour, with its reasons."""

    name = "verdict"
    title = "Verdict"
    template = '<div class="verdict $level"><p><b>$says</b></p>$reasons</div>$evidence'

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the level, what it means, and the list of reasons."""
        level, reasons = str(content.verdict.level), content.verdict.reasons
        says = f"{_SAYS[level]} {content.verdict.left_sentence}".rstrip()
        evidence = "".join(_block_bars(reason) for reason in content.verdict.details if reason.blocks)
        return {
            "level": level,
            "says": html.escape(says),
            "reasons": listed(reasons) if reasons else "",
            "evidence": evidence,
        }


# The picture of the evidence: a pair of bars per block, in the units of its drawing.
_HIGH, _WIDE, _BAR = 120.0, 56.0, 20.0


def _block_bars(reason: Reason) -> str:
    """Return the error of each left-out block of the logs, as recorded and mended, as a figure."""
    top = max(max(pair) for pair in reason.blocks) or 1.0
    bars = []
    for k, pair in enumerate(reason.blocks):
        for i, error in enumerate(pair):
            high = _HIGH * error / top
            x, y = _WIDE * k + 6 + (_BAR + 2) * i, _HIGH - high
            what = ("as recorded", "mended")[i]
            bars.append(
                f'<rect class="c{2 * i}" x="{x:.0f}" y="{y:.1f}" width="{_BAR:.0f}" height="{high:.1f}">'
                f"<title>block {k + 1}, {what}: {percent(error)}</title></rect>"
            )
    width = _WIDE * len(reason.blocks)
    words = f"{reason.cause}: the error on each block of the logs that was left out, as recorded and mended"
    return (
        f'<figure class="evidence"><figcaption>{html.escape(words)}; the highest bar is {percent(top)} '
        '<span class="key c0">as recorded</span> <span class="key c2">mended</span></figcaption>'
        f'<svg viewBox="0 0 {width:.0f} {_HIGH:.0f}" role="img" aria-label="{html.escape(words)}">'
        "<style>.evidence svg{max-width:44rem}.evidence .c0{fill:var(--c0)}.evidence .c2{fill:var(--c2)}</style>"
        f"{''.join(bars)}</svg></figure>"
    )


class SummarySection:
    """How many parameters, how good, by which estimator, from which logs."""

    name = "summary"
    title = "Summary"
    template = """
<div class="figures">$figures</div>
<p>$sentence</p>
<p class="soft">The torque error is the norm of measured minus predicted torque over the norm of the measured one,
all samples and joints of a log together; the measured torque has passed the same filter as the motion.</p>
"""

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the figures and one sentence."""
        weak = sum(p.determined and not p.significant for p in content.parameters)
        held_out = [log for log in content.logs if log.role == HELD_OUT]
        rank, count = content.rank
        bent = len(content.parameters) - count
        tiles = [figure(str(len(content.parameters)), "base parameters")]
        if bent:
            tiles.append(figure(str(bent), "of these, parameters of friction that depends on load or bends with speed"))
        tiles.append(figure(percent(content.relative), "torque error on fitted logs"))
        tiles += [figure(percent(log.relative), f"torque error on {log.name}, held out") for log in held_out[:3]]
        tiles.append(
            figure(
                f"{rank} of {count}",
                f"{'other ' if bent else ''}base parameters that the logs determine",
                "" if rank == count else "warn",
            )
        )
        tiles.append(figure(f"{content.condition:.3g}", "condition, columns of length one"))
        tiles.append(figure(str(weak), "parameters that could be zero", "warn" if weak else ""))
        settings = ", ".join(f"{k} = {v}" for k, v in content.settings.items())
        sentence = f"Estimator {content.estimator}" + (f" ({settings})" if settings else "") + f". {content.status}"
        return {"figures": "".join(tiles), "sentence": html.escape(sentence.strip())}


# Points of all lines in a report together: they keep the file below about three megabytes.
POINTS = 150_000
MOST = 3000


def points_each(content: FitContent) -> int:
    """Return how many points a line may have so that the file stays small."""
    lines = sum(3 * len(trace.joints) for trace in content.traces)
    return max(200, min(MOST, POINTS // max(lines, 1)))


class TorqueSection:
    """One chart per joint and log, with the difference below it at its own scale; logs that were held out come first."""

    name = "torque"
    title = "Torque, measured and predicted"
    template = """
<p class="soft">Time counts from a log's first sample, as <code>--from</code> and <code>--to</code> do.</p>
<p class="soft hint">Drag over a chart to zoom in on a span of time, in all charts of that log. Double-click to see
all of it.</p>
$charts
"""

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the charts."""
        if not content.traces:
            return None
        points = points_each(content)
        parts = []
        for k, trace in enumerate(content.traces):
            charts = []
            for j, (joint, unit) in enumerate(zip(trace.joints, trace.units, strict=True)):
                lines = [
                    Line("measured", "measured", trace.measured[:, j]),
                    Line("predicted", "predicted", trace.predicted[:, j]),
                ]
                left = Line("measured - predicted", "residual", trace.residual[:, j])
                charts.append(chart_with_difference(joint, (unit, unit), trace.time, lines, left, f"run{k}", points))
            parts.append(f'{_heading(trace)}<div class="charts">{"".join(charts)}</div>')
        return {"charts": "\n".join(parts)}


NOTHING_HELD_OUT = (
    "No log was held out, and the error on fitted logs says little about other motions: add some with --validate."
)


class ValidationSection:
    """One table per log: held-out ones first, then all that were fitted together."""

    name = "validation"
    title = "Fit and validation"
    template = """
$missing
$tables
"""

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the tables."""
        fitted = LogRow("all fitted logs", FITTED, content.joints, content.relative)
        logs = [log for log in content.logs if log.role == HELD_OUT] + [fitted]
        missing = "" if len(logs) > 1 else f'<p class="note">{NOTHING_HELD_OUT}</p>'
        return {"tables": "\n".join(map(_log_table, logs)), "missing": missing}


def _log_table(log: LogRow) -> str:
    raw = any(j.raw == j.raw for j in log.joints)
    titles = ("joint", "unit", "samples", "rms", "relative error", "R²", "rms, unfiltered torque")[: 7 if raw else 6]
    rows = [
        (j.joint, j.unit, str(j.rows), number(j.rms), percent(j.relative), number(j.r2, 5), number(j.raw))
        for j in log.joints
    ]
    rows.append(("all", "", "", "", percent(log.relative), "", ""))
    return _heading(log) + table(titles, "name unit number", rows, {len(rows) - 1: "total"})


def _heading(log: LogRow | Trace) -> str:
    return f"<h3>{html.escape(log.name)} <small>{log.role}</small></h3>"


class ParametersSection:
    """Base parameters with their uncertainty, then standard parameters with their classes."""

    name = "parameters"
    title = "Parameters"
    template = """
<p class="soft">The bar is the standard error as a share of the value, full at 100 %. Pale rows could be zero: their
interval contains zero. The description's value is what the robot's file says about the same combination; 0 often
means that it says nothing. Click on an expression that is cut off to see all of it.</p>
$base
<details><summary>Standard parameters: $counts</summary>
<p class="soft">Independent: a base parameter by itself. Combined: the torque depends on it only together with
others. Unidentifiable: no torque depends on it. Pale rows are no results of their own: the logs leave a choice, and the
value is that of the physically possible body nearest to the description.</p>
$standard</details>
"""

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return both tables."""
        titles = (
            "base parameter",
            "value",
            "± standard error",
            "unit",
            "relative",
            "",
            "95 % interval",
            "description",
            "stands for",
        )
        weak = {k: "weak" for k, p in enumerate(content.parameters) if not p.significant}
        base = table(
            titles, "name number number unit number text number number short", map(_cells, content.parameters), weak
        )
        counts = {k: sum(s.kind == k for s in content.standard) for k in ("independent", "combined", "unidentifiable")}
        solved = any(s.value is not None for s in content.standard)
        names = ("standard parameter", "unit", "class", "description", "consistent value")[: 5 if solved else 4]
        rows = (
            (s.name, s.unit, s.kind, number(s.prior, 5), "-" if s.value is None else with_error(s.value, s.stderr)[0])
            for s in content.standard
        )
        open_ = {k: "weak" for k, s in enumerate(content.standard) if not s.determined}
        return {
            "base": base,
            "standard": table(names, "name unit text number", rows, open_),
            "counts": ", ".join(f"{n} {kind}" for kind, n in counts.items()),
        }


def _cells(p: ParameterRow) -> tuple[str, ...]:
    """Return the row of a parameter; the relative error is a number and a bar, which is full at one."""
    width = 110 * (min(1.0, p.relative) if math.isfinite(p.relative) else 1.0)
    full, part = '<rect y="4" width="110" height="4"/>', f'<rect class="fill" y="2" width="{width:.1f}" height="8"/>'
    return (
        p.name,
        with_error(p.value, p.stderr)[0] if p.determined else number(p.value, 2),
        with_error(p.value, p.stderr)[1] if p.determined else "not determined",
        p.unit,
        percent(p.relative) if p.determined else "",
        Html(f'<svg class="bar" viewBox="0 0 110 12" aria-hidden="true">{full}{part}</svg>'),
        interval_text(p.low, p.high, p.stderr) if p.determined else "",
        number(p.prior, 5),
        p.stands_for,
    )


class BodiesSection:
    """An ellipsoid per link, twice, beside a table of masses, centres and sizes; and the torque error without identification."""

    name = "bodies"
    title = "The description, and what was identified"
    template = """
<p class="soft">Each link as the solid ellipsoid that has its mass, centre and inertia. Logs determine only
combinations of these numbers (the base parameters above): where they leave a choice, the identified body is the
physically possible one nearest to the description. In pale rows that is so of the mass itself, which is then no result:
weigh such a link, or take the combinations. A link whose mass affects no torque may get almost no mass, and a body
longer than the arm, which is not drawn.</p>
$errors
<div class="arm compare"><div>$picture</div><div>$table</div></div>
"""

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the picture and both tables; None if there is nothing to compare."""
        bodies = content.bodies
        if bodies is None and not content.described:
            return None
        rows = ((log, role, percent(fit), percent(without)) for log, role, fit, without in content.described)
        titles = ("log", "", "torque error, identified", "of the description alone")
        errors = table(titles, "name text number", rows) if content.described else ""
        if bodies is None:
            return {"errors": errors, "picture": "", "table": ""}
        names = ("link", "kg described", "identified", "by itself", "centre moved, mm", "mm described", "identified")
        standard = {s.name: s for s in content.standard}
        masses = [standard[f"{link}.m"] for link in bodies.links]
        each = zip(bodies.links, masses, bodies.described, bodies.identified, strict=True)
        links = ((link, *_compared(bodies, mass, before, after)) for link, mass, before, after in each)
        open_ = {k: "weak" for k, mass in enumerate(masses) if not mass.determined}
        words = table(names, "name number number text number", links, open_)
        return {"errors": errors, "picture": bodies_figure(bodies), "table": words}


_ALONE = {"combined": "not determined", "unidentifiable": "affects no torque"}


def _compared(
    bodies: BodyComparison, mass: StandardRow, described: LinkEllipsoid | None, identified: LinkEllipsoid | None
) -> tuple[str, ...]:
    """Return the masses of a link's two bodies, whether its mass is a result, how far the centre has moved, and the sizes."""
    value, error = ("-", "") if identified is None else with_error(identified.mass, mass.stderr)
    alone = f"± {error} kg" if mass.determined else _ALONE.get(mass.kind, "not determined")
    masses = ("-" if described is None else number(described.mass), value, alone)
    moved = "-"
    if described is not None and identified is not None:
        moved = number(1000 * float(np.linalg.norm(identified.com - described.com)), 3)
    return (*masses, moved, *(_size(bodies, b) for b in (described, identified)))


def _size(bodies: BodyComparison, body: LinkEllipsoid | None) -> str:
    """Return the three diameters of a body, the longest first."""
    if body is None:
        return "-"
    if not bodies.drawn(body):
        return "longer than the arm"
    return " x ".join(f"{2000 * v:.0f}" for v in sorted(body.lengths, reverse=True))


class SpringsSection:
    """One row per elastic joint, and objections to a spring."""

    name = "springs"
    title = "Springs and encoders"
    template = """
<p>Stiffness, and the encoders on both sides of each spring: how late the motor encoder is (negative if the link
encoder is late),
lost motion, and how much they differ without load, log by log.</p>
$table
$doubts
"""

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the table, and the doubts as a list; None for a robot without springs."""
        if not content.springs:
            return None
        titles, *rows = content.springs
        kinds = " ".join("name" if k == 0 else "number" if k in NUMBERS else "text" for k in range(len(titles)))
        return {
            "table": table(titles, kinds, rows),
            "doubts": listed(content.spring_doubts, "warn") if content.spring_doubts else "",
        }


_FRICTION_EXPLAINED = (
    "Dots are the measured torque minus everything identified except friction, over all logs drawn on this page; "
    "the line is the identified friction. Where many dots leave the line, there is friction that the model lacks."
)


class FrictionSection:
    """Friction joint by joint, with standard errors."""

    name = "friction"
    title = "Friction"
    template = """
<p class="soft">Value ± standard error. The share of the load is the part of its transmitted torque that a gear
loses. The curve is added to Coulomb friction at standstill and falls with speed, over three tenths of the largest
speed of the logs unless stated otherwise; above that speed friction is extrapolated.</p>
$table
$curves
"""

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the table; None if the fit has no friction."""
        joints: dict[str, dict[str, ParameterRow]] = {}
        for p in content.parameters:
            kind = friction_kind(p.name)
            if kind is not None:
                joints.setdefault(p.name.rpartition(".")[0], {})[kind] = p
        kinds = [kind for kind in friction_headings() if any(kind in row for row in joints.values())]
        if not kinds:
            return None
        rows = ((owner, *(_friction_text(row.get(k)) for k in kinds)) for owner, row in joints.items())
        titles = ["joint", *(friction_headings()[kind] for kind in kinds)]
        return {"table": table(titles, "name number", rows), "curves": _curves(content, set(joints))}


def _curves(content: FitContent, owners: set[str]) -> str:
    """Return the curve of each joint that has friction, over all logs that are drawn."""
    traces = [t for t in content.traces if t.parts is not None]
    if not traces:
        return ""
    charts = []
    for j, (joint, unit) in enumerate(zip(traces[0].joints, traces[0].units, strict=True)):
        if joint not in owners:
            continue
        v = np.concatenate([t.parts.velocity[:, j] for t in traces if t.parts])
        model = np.concatenate([t.parts.friction[:, j] for t in traces if t.parts])
        data = model + np.concatenate([t.residual[:, j] for t in traces])
        finite = np.isfinite(v) & np.isfinite(data) & np.isfinite(model)
        if finite.sum() > 1 and np.ptp(v[finite]) > 0:
            units = ("m/s" if unit == "N" else "rad/s", unit)
            charts.append(friction_chart(joint, units, v[finite], data[finite], model[finite]))
    return f'<p class="soft">{_FRICTION_EXPLAINED}</p><div class="charts">{"".join(charts)}</div>' if charts else ""


def _friction_text(p: ParameterRow | None) -> str:
    if p is None:
        return ""
    unit = "" if p.unit == "1" else f" {p.unit}"
    return (
        f"{' ± '.join(with_error(p.value, p.stderr))}{unit}"
        if p.determined
        else f"{number(p.value)}{unit}, not determined"
    )


class ResidualsSection:
    """Numbers that separate noise from effects that the model lacks; the lines are below the torque."""

    name = "residuals"
    title = "Residuals"
    template = """
<p class="soft">Noise has no memory: a residual that follows the motion is an effect that the model lacks. The
standard errors allow for it.</p>
$tables
"""

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return one table per log."""
        if not content.traces:
            return None
        return {"tables": "\n".join(_heading(trace) + _spread(trace) for trace in content.traces)}


def _spread(trace: Trace) -> str:
    """Return the table of mean, standard deviation, largest value and correlation from sample to sample."""
    rows = []
    for j, (joint, unit) in enumerate(zip(trace.joints, trace.units, strict=True)):
        r = trace.residual[np.isfinite(trace.residual[:, j]), j]
        if not len(r):
            continue
        centred = r - r.mean()
        power = float(centred @ centred)
        lag = float(centred[1:] @ centred[:-1]) / power if power else float("nan")
        rows.append((joint, unit, *(number(float(v), 3) for v in (r.mean(), r.std(), np.abs(r).max(), lag))))
    titles = ("joint", "unit", "mean", "standard deviation", "largest", "correlation of neighbours")
    return table(titles, "name unit number", rows)


class WarningsSection:
    """The sentences about the conditioning, and the notes of the fit."""

    name = "warnings"
    title = "What the logs determine, and notes"
    template = """
$sentences
<h3>Notes</h3>
$notes
"""

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return both lists."""
        weak = [p.name for p in content.parameters if p.determined and not p.significant]
        notes = list(content.notes)
        if weak:
            some = ", ".join(weak[:12]) + (f" and {len(weak) - 12} more" if len(weak) > 12 else "")
            notes.append(f"{len(weak)} parameters could be zero: {some}.")
        return {"sentences": listed(content.sentences), "notes": listed(notes) if notes else "<p>None.</p>"}


class SignalsSection:
    """The notes of every log, in the order in which things were done."""

    name = "signals"
    title = "What was done to the signals"
    template = "$logs"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return one list per log."""
        logs = [log for log in content.logs if log.notes]
        if not logs:
            return None
        return {"logs": "\n".join(_heading(log) + listed(log.notes) for log in logs)}


# `taupi.report(fit, ...)`; a section gets a `FitContent`.
FIT_SECTIONS: tuple[Section, ...] = (
    VerdictSection(),
    SummarySection(),
    TorqueSection(),
    ValidationSection(),
    ParametersSection(),
    BodiesSection(),
    SpringsSection(),
    FrictionSection(),
    ResidualsSection(),
    WarningsSection(),
    SignalsSection(),
    ProvenanceSection(),
)


LogLike = Validation | CommandValidation | Log | str | os.PathLike[str]
Logs = LogLike | Sequence[LogLike]


def fit_page(fit: Fit, validation: Logs = (), fitted: Logs = (), sections: Sequence[Section] | None = None) -> str:
    """Return the page of a fit as the text of an HTML file, with the arguments of `taupi.report`."""
    held_out, seen = _validations(fit, validation), _validations(fit, fitted)
    return page(fit_content(fit, held_out, seen), FIT_SECTIONS if sections is None else sections)


def _validations(fit: Fit, logs: Logs) -> list[Validation]:
    return [log if isinstance(log, Validation) else fit.validate(_log_of(log)) for log in log_list(logs)]


def log_list(logs: Logs) -> list[LogLike]:
    """Return one log or validation, or several, as a list."""
    return [logs] if isinstance(logs, Validation | CommandValidation | Log | str | os.PathLike) else list(logs)


def _log_of(log: Log | CommandValidation | str | os.PathLike[str]) -> Log | str | os.PathLike[str]:
    if isinstance(log, CommandValidation):
        raise TaupiError("{validation} holds positions simulated from commands, expected torques: fit.validate(log).")
    return log
