"""From a fit and validations to what a report tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taupi.identification.equations import Equations
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation
from taupi.report.content import Content, JointRow, ParameterRow, RunRow, StandardRow
from taupi.report.traces import Trace

FITTED, HELD_OUT = "fitted", "held out"


def gathered(fit: Fit, held_out: Sequence[Validation], fitted: Sequence[Validation]) -> Content:
    """Return what a report tells of a fit, of logs that were held out, and of those that were fitted."""
    conditioning = dict(fit.conditioning)
    runs = [dict(run) for run in fit.provenance.get("runs", ())]
    own = {f"{run['name']}: {note}" for run in runs for note in run.get("notes", ())}
    sentences = tuple(conditioning.get("sentences", ()))
    total = conditioning.get("scaled_condition")
    units = torque_units(fit)
    rows = [*(_run(v, HELD_OUT, units) for v in held_out), *_fitted_runs(runs, fitted, units)]
    both = [*((v, HELD_OUT) for v in held_out), *((v, FITTED) for v in fitted)]
    traces = [(v, role, tuple(j.name for j in v.joints)) for v, role in both]
    return Content(
        robot=fit.robot.name,
        estimator=fit.estimator,
        settings={k: v for k, v in fit.settings.items() if k != "preparation"},
        status=f"{fit.status.message[:1].upper()}{fit.status.message[1:]}. {fit.status.remedy}".strip(),
        parameters=_parameters(fit),
        standard=_standard(fit),
        joints=tuple(JointRow(j.name, units[j.name], j.rows, j.rms, j.relative, j.r2) for j in fit.joints if j.rows),
        relative=fit.relative,
        runs=tuple(rows),
        traces=tuple(
            Trace(v.name, role, names, tuple(units[n] for n in names), v.time, v.measured, v.predicted)
            for v, role, names in traces
        ),
        sentences=sentences,
        rank=(int(conditioning.get("rank", len(fit.values))), len(fit.values)),
        condition=float("inf") if total is None else float(total),
        notes=tuple(n for n in fit.notes if n not in own and n not in sentences),
        provenance={
            **{k: v for k, v in fit.provenance.items() if k != "runs"},
            "files": _files(runs),
            **_settings(fit),
        },
    )


def torque_units(fit: Fit) -> dict[str, str]:
    """Return the unit of each row's torque, by the row's name: N where a joint slides."""
    rows = Equations.of(fit.basis)
    return dict(zip(rows.names, rows.units, strict=True))


def _parameters(fit: Fit) -> tuple[ParameterRow, ...]:
    prior = fit.basis.project(fit.prior)
    intervals, stderr, significant = fit.intervals(), fit.stderr, fit.significant
    return tuple(
        ParameterRow(
            name=e.name,
            unit=unit,
            value=float(fit.values[k]),
            stderr=float(stderr[k]),
            low=float(intervals[k, 0]),
            high=float(intervals[k, 1]),
            significant=bool(significant[k]),
            determined=not fit.undetermined[k],
            prior=float(prior[k]),
            stands_for=str(e),
        )
        for k, (e, unit) in enumerate(zip(fit.basis.expressions, fit.basis.parameters.units, strict=True))
    )


def _standard(fit: Fit) -> tuple[StandardRow, ...]:
    classes = fit.basis.classes
    layout = fit.basis.standard.layout
    solved = [None] * len(layout) if fit.standard is None else [float(v) for v in fit.standard]
    rows = zip(layout.names, layout.units, fit.prior, solved, strict=True)
    return tuple(StandardRow(name, unit, classes[name], float(prior), value) for name, unit, prior, value in rows)


def _run(v: Validation, role: str, units: Mapping[str, str]) -> RunRow:
    joints = tuple(JointRow(j.name, units[j.name], j.rows, j.rms, j.relative, j.r2, j.raw_rms) for j in v.joints)
    return RunRow(v.name, role, joints, v.relative, tuple(v.notes))


def _fitted_runs(
    runs: Sequence[dict[str, Any]], fitted: Sequence[Validation], units: Mapping[str, str]
) -> list[RunRow]:
    seen = {v.name: v for v in fitted}
    rows = [_run(v, FITTED, units) for v in fitted]
    return rows + [
        RunRow(run["name"], FITTED, (), float("nan"), tuple(run.get("notes", ())))
        for run in runs
        if run["name"] not in seen
    ]


def _files(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"log": run.get("path") or run["name"], "rate_hz": f"{run['rate_hz']:.6g}", "sha256": run["sha256"]}
        for run in runs
    ]


def _settings(fit: Fit) -> dict[str, Any]:
    given = {k: v for k, v in dict(fit.settings.get("preparation", {})).items() if v is not None}
    return {"preparation": given} if given else {}
