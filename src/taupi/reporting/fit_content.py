"""The content of the report of a fit, computed once from the fit and its validations: rows and lines that sections lay out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import spring_table
from taupi.identification.results.torque_parts import TorqueParts
from taupi.identification.results.validation import Validation, errors_of
from taupi.identification.results.verdict import Verdict
from taupi.identification.row_layout import RowLayout
from taupi.reporting.ellipsoids import BodyComparison, compare_bodies


@dataclass(frozen=True, eq=False)
class Trace:
    """The torque of one log, whether it was fitted, and its parts.

    `time` (N,) counts from the log's first sample; `measured` and `predicted` are torques (N, n) of the `joints`, in `units`.
    """

    name: str
    role: str  # "fitted" or "held out"
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    parts: TorqueParts | None = None

    @property
    def residual(self) -> np.ndarray:
        """Measured minus predicted (N, n)."""
        return self.measured - self.predicted


FITTED, HELD_OUT = "fitted", "held out"


@dataclass(frozen=True)
class ParameterRow:
    """An identified parameter: value, standard error, 95 % interval, what the description says, what it stands for."""

    name: str
    unit: str
    value: float
    stderr: float
    low: float
    high: float
    significant: bool
    determined: bool
    prior: float
    stands_for: str

    @property
    def relative(self) -> float:
        """The standard error as a share of the value."""
        return self.stderr / abs(self.value) if self.value else float("inf")


@dataclass(frozen=True)
class StandardRow:
    """A standard parameter: whether it can be identified, the description's value and, if the fit has one, the new value.

    `stderr` is the least standard error of the base parameters in which it is, as an error of it alone: its own if it is a base
    parameter by itself; infinite if the logs determine none of them.
    """

    name: str
    unit: str
    kind: str
    prior: float
    value: float | None
    stderr: float = float("inf")

    @property
    def determined(self) -> bool:
        """Whether the logs determine it, by itself."""
        return self.kind == "independent" and self.stderr < float("inf")


@dataclass(frozen=True)
class JointRow:
    """How well the torque of one joint is predicted: root mean square error, share of the torque, R^2.

    `raw` is the root mean square error against the torque before it was filtered.
    """

    joint: str
    unit: str
    rows: int
    rms: float
    relative: float
    r2: float
    raw: float = float("nan")


@dataclass(frozen=True)
class LogRow:
    """A log: its name, whether it was fitted, its statistics by joint and over all, what was done to its signals."""

    name: str
    role: str
    joints: tuple[JointRow, ...]
    relative: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FitContent:
    """Everything that the report of a fit shows."""

    robot: str
    verdict: Verdict
    estimator: str
    settings: dict[str, Any]
    status: str
    parameters: tuple[ParameterRow, ...]
    standard: tuple[StandardRow, ...]
    joints: tuple[JointRow, ...]
    relative: float
    logs: tuple[LogRow, ...]
    traces: tuple[Trace, ...]
    sentences: tuple[str, ...]  # about the conditioning
    rank: tuple[int, int]  # base parameters that the logs determine, and all; friction that bends is not counted
    condition: float
    notes: tuple[str, ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    springs: tuple[tuple[str, ...], ...] = ()  # the rows of `spring_table`
    bodies: BodyComparison | None = None
    described: tuple[
        tuple[str, str, float, float], ...
    ] = ()  # log, role, torque error of the fit and of the description
    spring_doubts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Identification of {self.robot}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        count = sum(log.role == FITTED for log in self.logs)
        return f"{self.estimator} on {count} log{'s' * (count != 1)}"


def fit_content(fit: Fit, held_out: Sequence[Validation], fitted: Sequence[Validation]) -> FitContent:
    """Return what a report shows about a fit, about logs that were held out, and about logs that were fitted."""
    conditioning = dict(fit.conditioning)
    of_logs = {f"{log.name}: {note}" for log in fit.logs for note in log.notes}
    sentences = tuple(conditioning.get("sentences", ()))
    condition = conditioning.get("scaled_condition")
    units = torque_units(fit)
    logs = [*((HELD_OUT, v) for v in held_out), *((FITTED, v) for v in fitted)]
    return FitContent(
        robot=fit.robot.name,
        verdict=fit.verdict,
        estimator=fit.estimator,
        settings={k: v for k, v in fit.settings.items() if k != "preparation"},
        status=f"{fit.status.message[:1].upper()}{fit.status.message[1:]}. {fit.status.remedy}".strip(),
        parameters=_parameters(fit),
        standard=_standard(fit),
        joints=tuple(JointRow(j.name, units[j.name], j.rows, j.rms, j.relative, j.r2) for j in fit.joints if j.rows),
        relative=fit.relative,
        logs=(*(_log(v, HELD_OUT, units) for v in held_out), *_fitted_logs(fit, fitted, units)),
        traces=tuple(_trace(v, role, units) for role, v in logs),
        sentences=sentences,
        rank=(int(conditioning.get("rank", fit.basis.linear.count)), fit.basis.linear.count),
        condition=float("inf") if condition is None else float(condition),
        notes=tuple(n for n in fit.notes if n not in of_logs and n not in sentences),
        provenance=_provenance(fit),
        springs=tuple(spring_table(fit)),
        bodies=compare_bodies(fit),
        described=tuple(described_error(v, role) for role, v in logs if v.parts is not None),
        spring_doubts=tuple(f"{r.joint}: {r.reason}" for r in fit.springs if fit.fits_deflection and not r.determined),
    )


def torque_units(fit: Fit) -> dict[str, str]:
    """Return the unit of each row's torque, by the row's name: N for a prismatic joint."""
    rows = RowLayout.of(fit.basis)
    return dict(zip(rows.names, rows.units, strict=True))


def _parameters(fit: Fit) -> tuple[ParameterRow, ...]:
    prior = fit.basis.project(fit.prior)
    intervals, stderr, significant = fit.intervals(), fit.stderr, fit.significant
    return tuple(
        ParameterRow(
            name=expression.name,
            unit=unit,
            value=float(fit.values[k]),
            stderr=float(stderr[k]),
            low=float(intervals[k, 0]),
            high=float(intervals[k, 1]),
            significant=bool(significant[k]),
            determined=not fit.undetermined[k],
            prior=float(prior[k]),
            stands_for=str(expression),
        )
        for k, (expression, unit) in enumerate(zip(fit.basis.expressions, fit.basis.parameters.units, strict=True))
    )


def _standard(fit: Fit) -> tuple[StandardRow, ...]:
    classes = fit.basis.classes
    layout = fit.basis.standard.layout
    values = [None] * len(layout) if fit.standard is None else [float(v) for v in fit.standard]
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = fit.stderr[:, None] / np.abs(fit.basis.projection)
    errors = np.fmin.reduce(alone, axis=0, initial=np.inf)
    rows = zip(layout.names, layout.units, fit.prior, values, errors, strict=True)
    return tuple(
        StandardRow(name, unit, classes[name], float(prior), value, float(error))
        for name, unit, prior, value, error in rows
    )


def _log(validation: Validation, role: str, units: Mapping[str, str]) -> LogRow:
    joints = tuple(
        JointRow(j.name, units[j.name], j.rows, j.rms, j.relative, j.r2, j.raw_rms) for j in validation.joints
    )
    return LogRow(validation.name, role, joints, validation.relative, tuple(validation.notes))


def _fitted_logs(fit: Fit, fitted: Sequence[Validation], units: Mapping[str, str]) -> list[LogRow]:
    drawn = {v.name for v in fitted}
    rows = [_log(v, FITTED, units) for v in fitted]
    return rows + [LogRow(log.name, FITTED, (), float("nan"), log.notes) for log in fit.logs if log.name not in drawn]


def _trace(validation: Validation, role: str, units: Mapping[str, str]) -> Trace:
    names = tuple(j.name for j in validation.joints)
    signals = validation.elapsed, validation.measured, validation.predicted
    return Trace(validation.name, role, names, tuple(units[n] for n in names), *signals, validation.parts)


def described_error(validation: Validation, role: str) -> tuple[str, str, float, float]:
    """Return a log's name and role, and the relative torque errors of the fit and of the description alone."""
    assert validation.parts is not None
    _, relative, _ = errors_of(validation.measured.ravel(), validation.parts.described.ravel())
    return validation.name, role, validation.relative, relative


def _provenance(fit: Fit) -> dict[str, object]:
    """Return the fit's provenance with its files as rows, and the settings of the preparation that are not None."""
    files = [{"log": log.path or log.name, "rate_hz": f"{log.rate_hz:.6g}", "sha256": log.sha256} for log in fit.logs]
    preparation = {k: v for k, v in dict(fit.settings.get("preparation", {})).items() if v is not None}
    return {
        **fit.record,
        "files": files,
        **({"preparation": preparation} if preparation else {}),
    }
