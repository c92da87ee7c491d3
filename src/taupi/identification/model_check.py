"""A robot's description held against logs: what they support, what they contradict, and what they cannot tell."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.identify import identify
from taupi.identification.inputs import LogsLike, each_run, log_list
from taupi.identification.physical.region import parameter_scales
from taupi.identification.physical.standard_parameters import term_sizes
from taupi.identification.results.description_errors import UNEXPLAINED
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation, validate
from taupi.identification.results.verdict import Level, Reason, Verdict
from taupi.identification.rows.preparation import Preparation
from taupi.model.load import load
from taupi.model.robot import Robot
from taupi.schema import finite_or_none
from taupi.settings import settle
from taupi.signals.reading import Reading, Streaming
from taupi.tables import html_table, table

SUPPORTED, CONTRADICTED, UNKNOWN = "supported", "contradicted", "cannot be told"
# One description in twenty that is right is contradicted somewhere, over all its parameters together.
_LEVEL = 0.95
# A parameter counts as supported if it is known to this share of its size.
_KNOWN = 0.5
_NAMED = 4


@dataclass(frozen=True)
class CheckedParameter:
    """A base parameter of a description beside what logs say of it.

    Attributes:
        name: The parameter.
        unit: Its unit.
        described: The description's value.
        estimate: That of the logs.
        half: Half the width of its interval, infinite for what the logs do not determine. All intervals together contain the
            truth in 95 % of cases.
        answer: "supported", "contradicted" or "cannot be told".
    """

    name: str
    unit: str
    described: float
    estimate: float
    half: float
    answer: str


@dataclass(frozen=True, eq=False, repr=False)
class ModelCheck:
    """A description held against logs.

    Attributes:
        fit: What the logs say by themselves.
        parameters: Each base parameter, described and estimated.
        described: The torque by the description, on each log.
        fitted: The torque by the fit, on each log.
    """

    fit: Fit
    parameters: tuple[CheckedParameter, ...]
    described: tuple[Validation, ...]
    fitted: tuple[Validation, ...]

    def those(self, answer: str) -> list[CheckedParameter]:
        """Return the parameters with an `answer`: "supported", "contradicted" or "cannot be told"."""
        return [p for p in self.parameters if p.answer == answer]

    @property
    def verdict(self) -> Verdict:
        """Good if nothing is contradicted; wrong if the description leaves more than half of a joint's torque."""
        reasons = []
        against = sorted(self.those(CONTRADICTED), key=lambda p: -abs(p.described - p.estimate) / p.half)
        if against:
            named = "; ".join(_said(p) for p in against[:_NAMED]) + ("; ..." if len(against) > _NAMED else "")
            reasons.append(
                Reason("parameters", f"{len(against)} parameters are contradicted: {named}.", Level.DOUBTFUL)
            )
        for validation in self.described:
            bad = [f"{j.relative:.0%} at {j.name}" for j in validation.joints if j.relative > UNEXPLAINED]
            if bad:
                sentence = f"It leaves more than half of the torque in {validation.name}: {', '.join(bad)}."
                reasons.append(Reason("torque", sentence, Level.WRONG))
        return Verdict.of(reasons)

    def to_dict(self) -> dict[str, object]:
        """Return the check as plain data."""
        return {
            "schema": "taupi.check/1",
            "robot": self.fit.robot.name,
            "verdict": {"level": str(self.verdict.level), "reasons": list(self.verdict.reasons)},
            "parameters": [{**dataclasses.asdict(p), "half": finite_or_none(p.half)} for p in self.parameters],
            "torque": [
                {"log": d.name, "described": d.relative, "fitted": f.relative}
                for d, f in zip(self.described, self.fitted, strict=True)
            ],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the parameters as rows of a table, those that are contradicted first."""
        rows: list[tuple[str, ...]] = [("parameter", "described", "log", "± 95 %", "unit", "answer")]
        for answer in (CONTRADICTED, SUPPORTED, UNKNOWN):
            for p in self.those(answer):
                half = f"{p.half:.2g}" if np.isfinite(p.half) else "-"
                rows.append((p.name, f"{p.described:.4g}", f"{p.estimate:.4g}", half, p.unit, p.answer))
        return rows

    @property
    def summary(self) -> str:
        """One line: how many parameters are supported and contradicted, and the errors of the torque."""
        counts = ", ".join(f"{len(self.those(a))} {a}" for a in (SUPPORTED, CONTRADICTED, UNKNOWN))
        pairs = zip(self.described, self.fitted, strict=True)
        errors = "; ".join(
            f"{d.name}: {d.relative:.2%} of the description, {f.relative:.2%} of a fit" for d, f in pairs
        )
        return f"{self.fit.robot.name}: {counts}. Relative torque error in {errors}"

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self.verdict.lines, *table(self.rows())])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows(), self.verdict.lines)


def check_model(
    model: Robot | str | os.PathLike[str],
    log: LogsLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
) -> ModelCheck:
    """Return what logs say about a description that somebody wrote: supported, contradicted by how much, or not to be told.

    The logs are fitted with the description as the starting point, and its base parameters, friction included, are compared with
    the estimates and their intervals.

    Args:
        model: A robot, or the path of a file that `taupi.load` reads: URDF, MJCF, SDF, USD, TOML.
        log: A log, the path of one, or several of them.
        reading: How files are read, a `taupi.Reading` or a `taupi.Streaming`; all defaults by default.
        preparation: How logs are prepared, a `taupi.Preparation`; all defaults by default.

    Returns:
        Each parameter with its answer, the errors of the torque, and a verdict in the words of that on a fit.

    Raises:
        TaupiError: If the description cannot be read, or the log cannot be fitted.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm.with_payload(1.0))(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.1, q.shape)
    >>> seen = tp.check_model(arm, tp.Log(t[:, 0], q, tau=tau), preparation=tp.Preparation(cutoff_hz=10))
    >>> str(seen.verdict.level), [p.name for p in seen.those("contradicted")][0]
    ('wrong', 'upper_arm.mxR')
    """
    robot = model if isinstance(model, Robot) else load(model)
    (read,) = settle(check_model, {}, (Streaming, reading))
    logs = each_run(log_list(log), robot, read)
    fit = identify(robot, logs, reading=read, preparation=preparation)
    if not isinstance(fit, Fit):
        raise TaupiError("{log} has commands and no torque: a description is checked by the torque that it predicts.")
    described = dataclasses.replace(fit, values=fit.basis.parameters.values)
    pairs = [(validate(described, each, reading=read), validate(fit, each, reading=read)) for each in logs]
    return ModelCheck(fit, _answers(fit), tuple(d for d, _ in pairs), tuple(f for _, f in pairs))


def _answers(fit: Fit) -> tuple[CheckedParameter, ...]:
    stated, base = fit.basis.parameters.values, fit.basis
    ends = fit.intervals(1 - (1 - _LEVEL) / max(len(stated), 1))
    half = 0.5 * (ends[:, 1] - ends[:, 0])
    sizes = np.where(fit.prior != 0, fit.prior, term_sizes(base, fit.values))
    size = np.maximum(parameter_scales(fit.robot, base.standard, sizes)[list(base.columns)], np.abs(fit.values))
    result = []
    for k, entry in enumerate(base.parameters.layout.entries):
        apart = abs(stated[k] - fit.values[k])
        answer = CONTRADICTED if apart > half[k] else SUPPORTED if half[k] < _KNOWN * size[k] else UNKNOWN
        numbers = (float(stated[k]), float(fit.values[k]), float(half[k]))
        result.append(CheckedParameter(entry.name, entry.unit, *numbers, answer))
    return tuple(result)


def _said(p: CheckedParameter) -> str:
    unit = "" if p.unit == "1" else f" {p.unit}"
    return f"{p.name} is {p.described:.3g}{unit} as described, {p.estimate:.3g} ± {p.half:.2g} by the logs"
