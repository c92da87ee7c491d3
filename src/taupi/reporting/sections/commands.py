"""The page of a fit from commands: positions simulated and measured, what is known, and what is not."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.commands.friction import FrictionData, friction_along
from taupi.identification.commands.stretches import Stretch
from taupi.identification.results.command_data import held_out_rows
from taupi.identification.results.command_fit import CommandFit, CommandValidation, milli
from taupi.identification.results.validation import Validation
from taupi.identification.results.verdict import Verdict
from taupi.reporting.chart import Line, chart_with_difference
from taupi.reporting.dots import friction_chart
from taupi.reporting.fit_content import FITTED, HELD_OUT
from taupi.reporting.page import page
from taupi.reporting.sections.base import Html, ProvenanceSection, Section, figure, listed, table
from taupi.reporting.sections.fit import MOST, POINTS, Logs, VerdictSection, log_list
from taupi.signals.log import Log
from taupi.tables import interval_text, with_error


@dataclass(frozen=True, eq=False)
class CommandContent:
    """A fit from commands on a page, with the logs that are drawn: each with whether it was held out or fitted."""

    fit: CommandFit
    drawn: tuple[tuple[str, CommandValidation], ...]

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"{self.fit.robot.name}, from commands and encoders"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return ", ".join(log.name for log in self.fit.logs)

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.fit.verdict

    @property
    def provenance(self) -> dict[str, object]:
        """Where the fit comes from."""
        logs = self.fit.logs
        files = [{"log": log.path or log.name, "rate_hz": f"{log.rate_hz:.6g}", "sha256": log.sha256} for log in logs]
        return {**self.fit.record, "drive": str(self.fit.drive), "step": f"{1e3 * self.fit.step:g} ms", "files": files}


def command_page(
    fit: CommandFit, validation: Logs = (), fitted: Logs = (), sections: Sequence[Section] | None = None
) -> str:
    """Return the page of a fit from commands as the text of an HTML file."""
    drawn = [
        (role, each) for role, logs in ((HELD_OUT, validation), (FITTED, fitted)) for each in _simulated(fit, logs)
    ]
    return page(CommandContent(fit, tuple(drawn)), COMMAND_SECTIONS if sections is None else sections)


def _simulated(fit: CommandFit, logs: Logs) -> list[CommandValidation]:
    return [log if isinstance(log, CommandValidation) else fit.validate(_log_of(log)) for log in log_list(logs)]


def _log_of(log: Log | Validation | str | os.PathLike[str]) -> Log | str | os.PathLike[str]:
    if isinstance(log, Validation):
        raise TaupiError("{validation} holds torques, expected positions simulated from commands: fit.validate(log).")
    return log


class CommandSummarySection:
    """How far simulated positions are off where nothing was fitted, beside what else predicts them."""

    name = "summary"
    title = "Summary"
    template = """
<div class="figures">$figures</div>
$table
<p class="soft">Positions are simulated in closed loop from the commands alone: no position is fed back to the model
after the first of a block. $band</p>
"""

    def fields(self, content: CommandContent) -> dict[str, str]:
        """Return figures and the table of held-out errors."""
        fit, h = content.fit, content.fit.held_out
        tiles = []
        if h is not None:
            tiles += [
                figure(milli(h.mae, fit.position_units), "mean position error, held out"),
                figure(milli(h.description, fit.position_units), "of the description alone"),
                figure(milli(h.linear, fit.position_units), "of the linear start"),
                figure(milli(h.resolution, fit.position_units), "steps of the encoders"),
            ]
        tiles += [
            figure(milli(each.position_error, each.units), f"mean position error on {each.name}, {role}")
            for role, each in content.drawn[:3]
        ]
        missing, count = int(fit.undetermined.sum()), len(fit.values)
        tiles.append(figure(f"{count - missing} of {count}", "parameters determined", "warn" if missing else ""))
        if any(p.kind == "delay" for p in fit.model.parameters):
            tiles.append(figure(f"{1e3 * fit.delay:.3g} ms", "delay of the commands"))
        band = ""
        if h is not None:
            band = f"Held out were {h.seconds:.3g} s with motion from {h.band[0]:.2g} to {h.band[1]:.2g} Hz."
        titles, *rows = held_out_rows(fit)
        errors = table(titles, "name number", rows, {len(rows) - 1: "total"}) if rows else ""
        return {"figures": "".join(tiles), "table": errors, "band": html.escape(band)}


class PositionSection:
    """One chart per joint and log, with the difference below it at its own scale."""

    name = "positions"
    title = "Positions, simulated and measured"
    template = """
<p class="soft hint">Drag over a chart to zoom in on a span of time, in all charts of that log. Double-click to see
all of it.</p>
$charts
"""

    def fields(self, content: CommandContent) -> dict[str, str] | None:
        """Return the charts."""
        if not content.drawn:
            return None
        points = max(200, min(MOST, POINTS // (4 * len(content.fit.position_units) * len(content.drawn))))
        parts = []
        for k, (role, each) in enumerate(content.drawn):
            charts = []
            for j, (joint, unit) in enumerate(zip(each.joints, content.fit.position_units, strict=True)):
                lines = [
                    Line("commanded", "ghost", each.commanded[:, j]),
                    Line("measured", "measured", each.measured[:, j]),
                    Line("simulated", "predicted", each.predicted[:, j]),
                ]
                left, units = Line("simulated - measured", "residual", 1e3 * each.residual[:, j]), (unit, f"m{unit}")
                charts.append(chart_with_difference(joint, units, each.elapsed, lines, left, f"run{k}", points))
            heading = f"<h3>{html.escape(each.name)}, {role}</h3>"
            parts.append(f'{heading}<div class="charts">{"".join(charts)}</div>')
        return {"charts": "\n".join(parts)}


class ParameterSection:
    """The parameters with their intervals, what is at a bound, what is not determined."""

    name = "parameters"
    title = "Parameters"
    template = """
$units
$table
<p class="soft">Intervals allow for residuals that are related over a second; beside them, the standard error if they
were not.</p>
"""

    def fields(self, content: CommandContent) -> dict[str, str]:
        """Return the table."""
        fit = content.fit
        low, high = fit.intervals().T
        rows, marked = [], {}
        marks = zip(fit.undetermined, fit.at_bounds, fit.significant, strict=True)
        for k, (missing, at, clear) in enumerate(marks):
            word = "not determined" if missing else "at its bound" if at else "" if clear else "could be zero"
            numbers = (
                ("-", "-", "-")
                if missing
                else (
                    interval_text(low[k], high[k], fit.stderr[k]),
                    f"{fit.stderr[k]:.2g}",
                    f"{fit.white_stderr[k]:.2g}",
                )
            )
            value = f"{fit.values[k]:.2g}" if missing else with_error(fit.values[k], fit.stderr[k])[0]
            rows.append((fit.names[k], value, *numbers, fit.units[k], word))
            if word:
                marked[k] = "weak"
        titles = ("parameter", "estimate", "95 % interval", "standard error", "if unrelated", "unit", "")
        text = "No gain of the drive is known: torques and inertias are multiples of it." if fit.in_units_of_kp else ""
        return {
            "table": table(titles, "name number number number number unit text", rows, marked),
            "units": f'<p class="note">{html.escape(text)}</p>' if text else "",
        }


class CommandFrictionSection:
    """Friction over speed and over position, as identified and as the law's torque shows it."""

    name = "friction"
    title = "Friction"
    template = """
<p class="soft">Dots: the torque of the drive's law, less everything identified but friction, smoothed with the motion
and not simulated. Line: friction as identified. Dots that leave the line show friction that the model lacks; near
standstill they show what held the joint.</p>
<h3>Over speed</h3><div class="charts">$speed</div>
<h3>Over position, in the direction of motion</h3><div class="charts">$position</div>
"""

    def fields(self, content: CommandContent) -> dict[str, str] | None:
        """Return the charts of the first log that is drawn."""
        if not content.drawn or content.fit.drive.law == "duty":
            return None
        data = _friction(content)
        if data is None:
            return None
        speed, position = [], []
        for j, (joint, unit) in enumerate(zip(content.fit.robot.joint_names, content.fit.position_units, strict=True)):
            v, q = data.velocity[:, j], data.position[:, j]
            if np.ptp(v) == 0 or not np.isfinite(data.shown[:, j]).all():
                continue
            torque = f"kp {unit}" if content.fit.in_units_of_kp else "N" if unit == "m" else "N m"
            speed.append(friction_chart(joint, (f"{unit}/s", torque), v, data.shown[:, j], data.identified[:, j]))
            fast = np.abs(v) > 0.1 * np.abs(v).max()
            along = np.sign(v[fast])
            shown, identified = data.shown[fast, j] * along, data.identified[fast, j] * along
            position.append(friction_chart(joint, (unit, torque), q[fast], shown, identified, "position"))
        return {"speed": "".join(speed), "position": "".join(position)} if speed else None


def _friction(content: CommandContent) -> FrictionData | None:
    from taupi.dynamics.driven_rollout import Commands

    fit, (_, log) = content.fit, content.drawn[0]
    if len(log.time) < 100:
        return None
    zero = np.zeros(log.measured.shape)
    commands = Commands(log.time, log.commanded, zero, zero, zero + 1, zero, fit.drive.hold == "linear")
    gains = [float(x) for x, p in zip(fit.raw, fit.model.parameters, strict=True) if p.kind == "kp"]
    drive = dataclasses.replace(fit.drive, kp=tuple(gains)) if gains else fit.drive
    found = friction_along(fit.model, fit.raw, Stretch(log.name, 0, log.measured, zero[0], commands, drive))
    if not fit.in_units_of_kp:
        return found
    return dataclasses.replace(found, identified=found.identified / gains, shown=found.shown / gains)


class AliasSection:
    """What the logs tell apart badly, with a picture of the correlations of the estimates."""

    name = "aliases"
    title = "What is told apart badly"
    template = """
$sentences
$picture
"""

    def fields(self, content: CommandContent) -> dict[str, str]:
        """Return the sentences, and the picture."""
        fit = content.fit
        return {"sentences": listed(alias.sentence for alias in fit.aliases), "picture": _correlations(fit)}


_CELL, _LABEL = 15, 190
_MOST_CORRELATED = 60  # parameters of which correlations are drawn: those with the largest


def _correlations(fit: CommandFit) -> str:
    """Return the correlations of the estimates as squares: the darker, the less they are told apart."""
    known = np.flatnonzero(~fit.undetermined)
    if len(known) < 2:
        return ""
    deviation = np.sqrt(np.clip(np.diag(fit.covariance)[known], 1e-300, None))
    correlation = fit.covariance[np.ix_(known, known)] / deviation[:, None] / deviation
    strongest = np.abs(correlation - np.eye(len(known))).max(axis=0)
    shown = np.sort(np.argsort(-strongest, kind="stable")[:_MOST_CORRELATED])
    left, known, correlation = len(known) - len(shown), known[shown], correlation[np.ix_(shown, shown)]
    size = _CELL * len(known)
    squares, labels = [], []
    for a in range(len(known)):
        y = _CELL * a
        name = html.escape(fit.names[known[a]])
        labels.append(
            f'<text x="{_LABEL - 6}" y="{y + 12}" text-anchor="end" font-size="11" fill="currentColor">{name}</text>'
        )
        for b in range(a + 1):
            rho = float(np.clip(correlation[a, b], -1, 1))
            colour = "var(--residual)" if rho > 0 else "var(--predicted)"
            words = f"{name}, {html.escape(fit.names[known[b]])}: {rho:.2f}"
            squares.append(
                f'<rect x="{_LABEL + _CELL * b}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="{colour}" '
                f'fill-opacity="{rho * rho:.3f}" stroke="var(--rule)" stroke-width=".5"><title>{words}</title></rect>'
            )
    words = "Correlations of the estimates: blue where they rise together, orange where one falls as the other rises"
    words += f"; of {left} more, all are weaker" if left else ""
    return (
        f'<figure class="scatter" style="max-width:{_LABEL + size}px"><figcaption>{words}<small>full colour is 1; point at a '
        f'square for its number</small></figcaption><svg viewBox="0 0 {_LABEL + size} {size}" role="img" aria-label="{words}">'
        f"{''.join(labels)}{''.join(squares)}</svg></figure>"
    )


class TermSection:
    """Which terms were tried, and the notes."""

    name = "terms"
    title = "Terms, and notes"
    template = """
$terms
<h3>Notes</h3>
$notes
"""

    def fields(self, content: CommandContent) -> dict[str, str]:
        """Return the table of terms and the list of notes."""
        rows = [(name, f"{gain:.2g}", "kept" if kept else "left out") for name, gain, kept in content.fit.tried]
        titles = ("term", "gain where it was left out of the fit, in standard errors", "")
        shown = table(titles, "name number text", rows) if rows else Html("<p>The terms were given.</p>")
        return {"terms": shown, "notes": listed(content.fit.notes)}


COMMAND_SECTIONS: tuple[Section, ...] = (
    VerdictSection(),
    CommandSummarySection(),
    PositionSection(),
    ParameterSection(),
    CommandFrictionSection(),
    AliasSection(),
    TermSection(),
    ProvenanceSection(),
)
