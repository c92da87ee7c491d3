"""The page of simulated runs, one or several: its sections, in the order of RUN_SECTIONS; a section gets a `RunContent`."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taupi.control.law_trial import SAMPLED, Trial
from taupi.model.robot import Robot
from taupi.reporting.chart import COLOURS, Line, coloured
from taupi.reporting.film import film, strip
from taupi.reporting.page import page
from taupi.reporting.run_content import RunContent, run_content
from taupi.reporting.sections.base import Html, ProvenanceSection, Section, figure, listed, number, table
from taupi.simulation.plants.plant import ArmPlant
from taupi.simulation.run import Run

# Times by which an error has to differ between the first and the last fifth of the time to be called larger or smaller.
_CLEARLY = 1.2


class OverviewSection:
    """Key numbers of one trial; for several trials, one row each."""

    name = "overview"
    title = "Summary"
    template = """
$verdict
$figures
$table
<p class="soft">$meaning</p>
"""

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return figures or a table."""
        rows = [t.summary() for t in content.trials]
        unit = content.units("rad", "m")
        return {
            "verdict": _verdict(rows, unit),
            "figures": _figures(rows[0], unit, content.units("N m", "N")) if not content.several else "",
            "table": _runs_table(content.trials, rows) if content.several else "",
            "meaning": html.escape(
                f"Tracking is the root mean square of |q - q_des| ({unit}) over the first and the last fifth of the time. "
                f"Torques are in {content.units('N m', 'N')}, V is in J."
            )
            if "rms_error_first" in rows[0]
            else "",
        }


def _verdict(rows: list[dict[str, Any]], unit: str) -> str:
    """Return in a sentence what became of the run, or of several which one followed most closely at the end."""
    if not any(row["complete"] for row in rows):
        return _boxed(
            "wrong", f"It diverges after {rows[0]['seconds']:.4g} s" if len(rows) == 1 else "All laws diverge"
        )
    complete = [row for row in rows if row["complete"] and "rms_error_last" in row]
    if not complete:
        return ""  # a run without a motion to follow
    best, *others = sorted(complete, key=lambda row: row["rms_error_last"])
    level, words = (
        _followed(best, unit) if len(rows) == 1 else ("good", f"follows most closely at the end: {_last(best, unit)}")
    )
    if others:
        words = f"{words}; next is {others[0]['law']} with {_last(others[0], unit)}"
    if best.get("V_largest_rise", 0.0) > SAMPLED:
        level, words = "doubtful", f"{words}, but V rises"
    return _boxed(level, f"{best['law']} {words}")


def _followed(row: dict[str, Any], unit: str) -> tuple[str, str]:
    """Return whether the motion of a run is followed more closely at the end than at the start, as a level and in words."""
    first, last = row["rms_error_first"], row["rms_error_last"]
    errors = f"from {number(first, 3)} to {_last(row, unit)}"
    if first > _CLEARLY * last:
        return "good", f"follows {first / last:.2g} times as closely at the end as at the start: {errors}"
    if last > _CLEARLY * first:
        return "doubtful", f"follows less closely at the end than at the start: {errors}"
    return "good", f"follows as closely at the end as at the start: {errors}"


def _last(row: dict[str, Any], unit: str) -> str:
    return f"{number(row['rms_error_last'], 3)} {unit}"


def _boxed(level: str, words: str) -> str:
    return f'<div class="verdict {level}"><p><b>{html.escape(words)}.</b></p></div>'


def _figures(row: dict[str, Any], unit: str, torque: str) -> str:
    tiles = []
    if "rms_error_first" in row:
        tiles.append(figure(number(row["rms_error_first"], 3), f"{unit}, tracking error at first"))
        tiles.append(figure(number(row["rms_error_last"], 3), f"{unit}, at last"))
    if "rms_error_held" in row:
        tiles.append(figure(number(row["rms_error_held"], 3), f"{unit}, at last with the estimate held"))
    tiles.append(figure(number(row["largest_torque"]), f"{torque}, largest torque"))
    if "payload_mass" in row:
        carried = f"kg, estimated payload at last; it is {number(row['payload_mass'], 3)} kg"
        tiles.append(figure(number(row["payload_estimate"], 3), carried))
    if "V_first" in row:
        tiles.append(figure(f"{number(row['V_first'], 3)} → {number(row['V_last'], 3)}", "V, from first to last"))
        tiles.append(
            figure(number(max(row["V_largest_rise"], 0.0), 2), "largest rise of V in a sample, as a share of V")
        )
    if not row["complete"]:
        tiles.append(figure(f"{row['seconds']:.4g} s", "then it diverged", "warn"))
    return f'<div class="figures">{"".join(tiles)}</div>'


def _runs_table(trials: tuple[Trial, ...], rows: list[dict[str, Any]]) -> str:
    titles = ["law", "error, first fifth", "last fifth", "largest torque", "V, first", "last", "largest rise of V", ""]
    keys = ["rms_error_first", "rms_error_last", "largest_torque", "V_first", "V_last"]
    if any("rms_error_held" in row for row in rows):
        titles.insert(3, "last fifth, estimate held")
        keys.insert(2, "rms_error_held")
    if any("payload_estimate" in row for row in rows):
        titles.insert(-4, "payload, kg")
        keys.insert(-2, "payload_estimate")
    lines = []
    for k, (trial, row) in enumerate(zip(trials, rows, strict=True)):
        name = Html(f'<span class="key n{k} c{k % COLOURS}">{html.escape(trial.name)}</span>')
        cells = (number(row[key], 3) if key in row else "-" for key in keys)
        rise = f"{max(row['V_largest_rise'], 0.0):.1e}" if "V_largest_rise" in row else "-"
        ended = "" if row["complete"] else f"diverged after {row['seconds']:.4g} s"
        lines.append((name, *cells, rise, ended))
    return table(titles, f"name{' number' * (len(titles) - 2)} text", lines)


class ArmSection:
    """The arm at seven moments and in motion, and the norms of what should decay."""

    name = "arm"
    title = "The arm"
    template = """
<div class="wide">$strip</div>
<div class="arm"><div>$film</div><div>$sizes</div></div>
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return pictures and charts."""
        sizes = "".join(_norms(content))
        if content.robot is None:
            return {"strip": "", "film": "", "sizes": sizes} if sizes else None
        arms = content.arms()
        return {"strip": strip(content.robot, arms), "film": film(content.robot, arms), "sizes": sizes}


def _norms(content: RunContent) -> list[str]:
    charts = []
    if content.first.tracks:
        charts.append(content.chart("error |q - q_des|", content.units("rad", "m"), _error, log=True))
    if any(t.s is not None for t in content.trials):
        charts.append(content.chart("combined error |s|", content.units("rad/s", "m/s"), _s, log=True))
    if any(t.lyapunov is not None for t in content.trials):
        charts.append(content.chart("V", "J", lambda t: None if t.lyapunov is None else t.lyapunov.V, log=True))
    return charts


def _error(trial: Trial) -> np.ndarray:
    return np.linalg.norm(trial.run.error, axis=1)


def _s(trial: Trial) -> np.ndarray | None:
    return None if trial.s is None else np.linalg.norm(trial.s, axis=1)


class TrackingSection:
    """One chart per joint, then the errors, then the deflections of springs."""

    name = "tracking"
    title = "Tracking"
    template = """
<p class="soft hint">Drag over a chart to zoom in on a span of time, in all charts. Double-click to see all of it.
The moving line is the time of the film.</p>
<div class="charts">$joints</div>
<div class="charts">$errors$deflections</div>
"""

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        tracks = content.first.tracks and longest.reference is not None
        joints = []
        for j, name in enumerate(run.names):
            reference = [Line("reference", "ghost", longest.reference.q[:, j])] if tracks and longest.reference else []
            unit = content.unit(j, "rad", "m")
            joints.append(content.chart(name, unit, lambda t, j=j: t.run.q[:, j], reference))  # type: ignore[misc]
        return {
            "joints": "".join(joints),
            "errors": _differences(content, "error", "q - q_des", lambda run: run.error) if tracks else "",
            "deflections": _differences(content, "deflection", "theta - q", _deflection),
        }


def _deflection(run: Run) -> np.ndarray | None:
    return None if run.theta is None else run.theta - run.q


def _differences(content: RunContent, word: str, formula: str, of: Callable[[Run], np.ndarray | None]) -> str:
    """Return one chart for all joints; for several runs, one chart per joint; nothing if no run has values."""
    names, values = content.first.run.names, [of(run) for run in content.runs]
    if all(v is None for v in values):
        return ""
    if not content.several and values[0] is not None:
        lines = [coloured(name, j, values[0][:, j]) for j, name in enumerate(names)]
        return content.chart_of(f"{word} {formula}", content.units("rad", "m"), lines)

    def joint(trial: Trial, j: int) -> np.ndarray | None:
        own = of(trial.run)
        return None if own is None else own[:, j]

    charts = [
        content.chart(f"{name}, {word}", content.unit(j, "rad", "m"), lambda t, j=j: joint(t, j))  # type: ignore[misc]
        for j, name in enumerate(names)
    ]
    return "".join(charts)


class SurfaceSection:
    """s of every joint; for several laws, joint by joint."""

    name = "surface"
    title = "Combined error s"
    template = """
<p class="soft">s = q̇ - q̇_d + Λ (q - q_d): while s is zero, the tracking error decays at the rate of Λ.</p>
<div class="charts">$charts</div>
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts."""
        if all(t.s is None for t in content.trials):
            return None
        names, s = content.first.run.names, content.first.s
        if not content.several and s is not None:
            lines = [coloured(name, j, s[:, j]) for j, name in enumerate(names)]
            return {"charts": content.chart_of("s", content.units("rad/s", "m/s"), lines)}
        charts = [
            content.chart(name, content.unit(j, "rad/s", "m/s"), lambda t, j=j: None if t.s is None else t.s[:, j])  # type: ignore[misc]
            for j, name in enumerate(names)
        ]
        return {"charts": "".join(charts)}


class LyapunovSection:
    """V and its rates; for several laws, one chart of rates each."""

    name = "lyapunov"
    title = "Lyapunov function"
    template = """
<p class="soft">V is ½ sᵀHs plus the distance of the estimate from the truth, with the plant's own parameters; a
payload changes the truth, so V jumps. "As claimed" is what the proof says about the continuous law; the differences
of V are those of the run.</p>
<div class="charts">$charts</div>
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts."""
        known = [t for t in content.trials if t.lyapunov is not None]
        if not known:
            return None
        if content.several:
            return {"charts": "".join(_rates(content, t, f"dV/dt, {t.name}") for t in known)}
        return {"charts": _parts(content, known[0]) + _rates(content, known[0], "dV/dt")}


def _parts(content: RunContent, trial: Trial) -> str:
    record = trial.lyapunov
    assert record is not None
    lines = [coloured("V", 0, record.V), coloured("of motion, V₁", 1, record.V_1)]
    rest = record.V - record.V_1
    if np.abs(rest).max() > 1e-12 * np.abs(record.V).max():
        lines.append(coloured("of the estimate", 2, rest))
    return content.chart_of("V", "J", lines, log=True)


def _rates(content: RunContent, trial: Trial, title: str) -> str:
    record = trial.lyapunov
    assert record is not None
    lines = [Line("by differences of V", "measured", record.numerical)]
    if np.isfinite(record.rate).any():
        lines += [coloured("by the chain rule", 1, record.rate), coloured("as claimed", 0, record.claimed)]
    return content.chart_of(title, "J/s", lines, [trial.run.time] * len(lines))


SHOWN = 8  # charts
FLOOR = 1e-3  # share of the largest parameter of the same unit that counts as a move


class EstimatesSection:
    """Charts of the parameters that moved most, with the truth; a table of all."""

    name = "estimates"
    title = "Parameters"
    template = """
$payload
<p class="soft">$shown Good tracking does not need the true values: no law learns what the motion does not show.</p>
<div class="charts">$charts</div>
<details><summary>All $count parameters</summary>$table</details>
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return charts and table."""
        learning = [t for t in content.trials if _learns(t)]
        if not learning:
            return None
        names = list(dict.fromkeys(n for t in learning for n in t.run.parameter_names))
        units = {
            n: u for t in learning if t.law for n, u in zip(t.law.parameters.names, t.law.parameters.units, strict=True)
        }
        moved = {n: max(_moves(t, n) for t in learning) for n in names}
        most = sorted(names, key=lambda n: -moved[n])[:SHOWN]
        charts = [_chart(content, learning, n, units.get(n, "")) for n in names if n in most]
        return {
            "payload": _payload(content, learning),
            "charts": "".join(charts),
            "shown": f"The {len(charts)} of {len(names)} that moved most, relative to their size.",
            "count": str(len(names)),
            "table": _estimates_table(learning, names, units),
        }


def _payload(content: RunContent, learning: list[Trial]) -> str:
    """Return a chart of the payload's mass, true and estimated; empty without a payload."""
    carried = {id(t): t.carried for t in learning if t.carried is not None}
    if not carried:
        return ""
    true = next((c[0] for t in learning if t.run is content.longest and (c := t.carried) is not None), None)
    beside = [] if true is None else [Line("true", "ghost", true)]
    drawn = content.chart("payload", "kg", lambda t: carried[id(t)][1] if id(t) in carried else None, beside)
    words = "The payload: the mass whose torque along the run is nearest to that of the estimate beyond the bare arm."
    return f'<div class="charts">{drawn}</div><p class="soft">{words}</p>'


def _learns(trial: Trial) -> bool:
    p = trial.run.parameters
    return p is not None and bool(trial.run.parameter_names) and bool((p != p[0]).any())


def _column(trial: Trial, name: str) -> np.ndarray | None:
    if trial.run.parameters is None or name not in trial.run.parameter_names:
        return None
    column: np.ndarray = trial.run.parameters[:, trial.run.parameter_names.index(name)]
    return column


def _true(trial: Trial, name: str) -> np.ndarray | None:
    """Return the true value over time (N,)."""
    if trial.truth is None or name not in trial.run.parameter_names:
        return None
    k = trial.run.parameter_names.index(name)
    return np.broadcast_to(trial.truth[..., k], (len(trial.run),))


def _moves(trial: Trial, name: str) -> float:
    column, true = _column(trial, name), _true(trial, name)
    if column is None:
        return 0.0
    p = trial.run.parameters
    size = max(float(np.abs(v).max()) for v in (column[:1], column if true is None else true))
    return float(np.ptp(column) / max(size, FLOOR * float(np.abs(p[0]).max() if p is not None else 1.0), 1e-12))


def _chart(content: RunContent, learning: list[Trial], name: str, unit: str) -> str:
    known = next((v for t in learning if t.run is content.longest and (v := _true(t, name)) is not None), None)
    beside = [] if known is None else [Line("true", "ghost", known)]
    return content.chart(name, unit, lambda t: _column(t, name) if t in learning else None, beside)


def _estimates_table(learning: list[Trial], names: list[str], units: dict[str, str]) -> str:
    titles = [
        "parameter",
        "unit",
        "true",
        "at first",
        *(f"at last, {t.name}" if len(learning) > 1 else "at last" for t in learning),
    ]
    rows = []
    for name in names:
        true = next((v for t in learning if (v := _true(t, name)) is not None), None)
        first = next(v for t in learning if (v := _column(t, name)) is not None)
        values = [
            None if true is None else true[-1],
            first[0],
            *(None if (v := _column(t, name)) is None else v[-1] for t in learning),
        ]
        numbers = ("-" if v is None else number(float(v)) for v in values)
        rows.append((name, units.get(name, ""), *numbers))
    return table(titles, "name text number", rows)


class DrivesSection:
    """One chart per joint: the torque of each law; the commanded torque if it was limited, and the limits."""

    name = "drives"
    title = "Torques"
    template = '<div class="charts">$charts</div>'

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        plant, word = content.first.plant, "limit"
        limits = plant.torque_limits if isinstance(plant, ArmPlant) else None
        if limits is None:
            limits, word = content.first.effort_limits, "limit of the description"
        parts = []
        for j, name in enumerate(run.names):
            beside = []
            commanded, applied = run.tau_command[:, j], run.tau[:, j]
            if not content.several and not np.array_equal(commanded, applied):
                beside.append(Line("commanded", "ghost", commanded))
            most = float(np.max([np.abs(r.tau[:, j]).max() for r in content.runs]))
            if limits is not None and np.isfinite(limits[j]) and limits[j] < 1.5 * most:
                beside += [Line(n, "limit", np.full(len(longest), v)) for n, v in ((word, limits[j]), ("", -limits[j]))]
            parts.append(content.chart(name, content.unit(j, "N m", "N"), lambda t, j=j: t.run.tau[:, j], beside))  # type: ignore[misc]
        return {"charts": "".join(parts)}


class EnergySection:
    """Energy, work and heat of one run; for several runs, the residuals."""

    name = "energy"
    title = "Energy audit"
    template = """
<p class="soft">Work and heat are integrated together with the motion. The remainder, at most $worst, is only the
error of the integration.</p>
<div class="charts">$charts</div>
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts and the largest residuals."""
        known = [t for t in content.trials if t.run.energy is not None and t.run.residual is not None]
        if not known:
            return None
        worst = ", ".join(f"{np.abs(t.run.residual).max():.2g} J" + f" ({t.name})" * content.several for t in known)  # type: ignore[arg-type]
        left = content.chart("stored energy minus what it should be", "J", lambda t: t.run.residual)
        return {"charts": ("" if content.several else _kinds(content, known[0])) + left, "worst": html.escape(worst)}


def _kinds(content: RunContent, trial: Trial) -> str:
    series = {
        "kinetic and potential": trial.run.energy,
        "work put in": trial.run.work,
        "heat of friction": trial.run.heat,
    }
    lines = [coloured(n, k, v - v[0]) for k, (n, v) in enumerate(series.items()) if v is not None]
    return content.chart_of("energy since the start", "J", lines)


class RunRemarksSection:
    """The remarks of every trial."""

    name = "remarks"
    title = "Warnings"
    template = "$remarks"

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the list."""
        remarks = list(dict.fromkeys((t.name, r) for t in content.trials for r in t.remarks))
        sentences = [f"{name}: {remark}" if content.several else remark for name, remark in remarks]
        return {"remarks": listed(sentences, "warn") if sentences else '<p class="good">Nothing to warn about.</p>'}


FEW = 8  # numbers that are written out
_OWN = ("robot", "loads")
_GOES_WITH = {
    "wrench": ("frame", "axes"),
    "terms": ("smoothing",),
}  # settings that have a meaning only together with another one


class SettingsSection:
    """One column per law, one row per setting; then the plant."""

    name = "settings"
    title = "Settings"
    template = """
$laws
$plant
"""

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return both tables."""
        laws = {t.name: in_words(t.law) for t in content.trials if dataclasses.is_dataclass(t.law)}
        plant: dict[str, str] = in_words(content.first.plant) if dataclasses.is_dataclass(content.first.plant) else {}
        if not laws and not plant:
            return None
        keys = list(dict.fromkeys(k for settings in laws.values() for k in settings))
        gains = ((k, *(settings.get(k, "-") for settings in laws.values())) for k in keys)
        return {
            "laws": table(["law", *laws], "name long", gains) if laws else "",
            "plant": table(["plant", ""], "name long", plant.items()) if plant else "",
        }


def in_words(settings: Any) -> dict[str, str]:
    """Return the settings of a frozen object as words, without those that are off."""
    named = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in _OWN}
    idle = {other for name, others in _GOES_WITH.items() if _off(named.get(name, 0)) for other in others}
    return {k: words(v) for k, v in named.items() if not _off(v) and k not in idle}


def _off(value: object) -> bool:
    return value is None or value is False or (isinstance(value, tuple | list | float | int) and not value)


def words(value: object) -> str:
    """Return a setting on one line: a few numbers as they are, many by how many there are and their range.

    >>> words(np.array([1.0, 2.5])), words(np.arange(1.0, 61.0)), words(np.full(6, 5.0))
    ('1, 2.5', '60 numbers, 1 .. 60', '5')
    """
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        if value.ndim == 1 and len(flat) and (flat == flat[0]).all():
            return f"{flat[0]:.4g}"
        if len(flat) <= FEW and value.ndim == 1:
            return ", ".join(f"{v:.4g}" for v in flat)
        size = " x ".join(map(str, value.shape)) if value.ndim > 1 else str(len(flat))
        return f"{size} numbers, {flat.min():.4g} .. {flat.max():.4g}" if len(flat) else "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return "; ".join(words(v) for v in value)
    return getattr(value, "name", None) or str(value)


# `taupi.report(run, ...)`, one or several; a section gets a `RunContent`.
RUN_SECTIONS: tuple[Section, ...] = (
    OverviewSection(),
    ArmSection(),
    TrackingSection(),
    SurfaceSection(),
    LyapunovSection(),
    EstimatesSection(),
    DrivesSection(),
    EnergySection(),
    RunRemarksSection(),
    SettingsSection(),
    ProvenanceSection(),
)


Runs = Run | Trial | Sequence[Run | Trial]


def run_page(
    runs: Runs,
    robot: Robot | None = None,
    sections: Sequence[Section] | None = None,
    provenance: dict[str, Any] | None = None,
) -> str:
    """Return the page of a Run, a Trial, or several; `provenance` is added to the provenance of the runs."""
    return page(run_content(runs, robot, provenance), RUN_SECTIONS if sections is None else sections)
