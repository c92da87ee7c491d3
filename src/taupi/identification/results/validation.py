"""How well a fit predicts logs that were not fitted: errors joint by joint, against filtered and raw torque."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identification.equations.equations import ComparedTorques
from taupi.identification.equations.joints import RigidJoints
from taupi.identification.results.fit import Fit
from taupi.identification.results.torque_parts import (
    Speeds,
    TorqueParts,
    faster_joints,
    torque_parts,
    warn_if_faster,
)
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.preparation import PredictionOptions, Preparation, settle_prediction
from taupi.identification.rows.recording import Recording
from taupi.schema import finite_or_none
from taupi.signals.log import Log
from taupi.signals.read import LogLike, whole_log
from taupi.signals.reading import Reading
from taupi.tables import html_table, table
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class JointErrors:
    """Errors of the predicted torque of one joint, against the filtered and the raw torque.

    Attributes:
        name: The joint, or "<joint>.link" and "<joint>.motor" of an elastic joint.
        rows: The number of samples.
        rms: Root mean square of the error, N m, or N for a prismatic joint.
        relative: ||tau - tau_hat|| / ||tau||.
        r2: R^2.
        raw_rms: As `rms`, against the raw torque.
        raw_relative: As `relative`, against the raw torque.
        raw_r2: As `r2`, against the raw torque.
    """

    name: str
    rows: int
    rms: float
    relative: float
    r2: float
    raw_rms: float
    raw_relative: float
    raw_r2: float


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """The torque that a fit predicts for a log, compared with the measured one.

    Attributes:
        name: The name of the log's file, or "log".
        estimator: The estimator of the fit.
        joints: The errors of each joint.
        relative: ||tau - tau_hat|| / ||tau|| over all joints, against the filtered torque.
        raw_relative: The same against the raw torque.
        time: (N,), s.
        measured: The torque (N, n), filtered as the motion was.
        predicted: The predicted torque (N, n).
        raw: The torque (N, n) as it was recorded.
        notes: What was done to the log, in words.
        faster: The joints that move more than 1.2 times as fast as in any fitted log, by name, with both speeds.
        parts: Velocities, the torque of friction and that of the description alone; None for elastic joints and free bases.
        origin: The time of the log's first sample, s, from which `begin` and `end` count.
    """

    name: str
    estimator: str
    joints: tuple[JointErrors, ...]
    relative: float
    raw_relative: float
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    raw: np.ndarray
    notes: tuple[str, ...] = ()
    faster: Mapping[str, Speeds] = field(default_factory=dict)
    parts: TorqueParts | None = None
    origin: float = 0.0

    @property
    def elapsed(self) -> np.ndarray:
        """The time since the log's first sample (N,), s, as `begin` and `end` count it."""
        return self.time - self.origin

    @property
    def residual(self) -> np.ndarray:
        """measured - predicted (N, n)."""
        return self.measured - self.predicted

    @property
    def summary(self) -> str:
        """One line: the error over all joints and the worst joint."""
        worst = max(self.joints, key=lambda j: j.relative)
        return (
            f"{self.name}: relative error {self.relative:.2%} over all joints ({self.raw_relative:.2%} against raw torque), "
            f"{worst.relative:.2%} at worst ({worst.name})"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the errors as plain data, without the samples."""
        return {
            "log": self.name,
            "estimator": self.estimator,
            "relative": self.relative,
            "raw_relative": self.raw_relative,
            "joints": [dataclasses.asdict(j) for j in self.joints],
            "notes": list(self.notes),
            "faster": {name: speeds._asdict() for name, speeds in self.faster.items()},
        }

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("joint", "rms", "relative", "R2", "relative, raw")]
        return rows + [
            (j.name, f"{j.rms:.4g}", f"{j.relative:.2%}", f"{j.r2:.4f}", f"{j.raw_relative:.2%}") for j in self.joints
        ]

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self._rows())])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self._rows(), self.notes)


def validate(
    fit: Fit,
    log: LogLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> Validation:
    """Return how well a fit predicts a log that was not fitted: tau_hat = Y_b pi_b compared with tau.

    The log is prepared as the fitted logs were, with the cutoff that was chosen for predictions, except for the settings named
    here. Every row counts, slow ones too.

    Args:
        fit: The fit.
        log: A Log, or the path of a file.
        reading: How the file is read, a `taupi.Reading`.
        preparation: What differs in how the log is prepared, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The errors joint by joint, with measured and predicted torque.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(phase):
    ...     q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fit = tp.identify(arm, log(0), terms=(), cutoff_hz=10)
    >>> tp.validate(fit, log(1)).relative < 1e-3
    True
    """
    _require_fit("fit", fit)
    return validate_log(fit, log, *settle_prediction(validate, options, reading, preparation))


@small_algebra
def validate_log(fit: Fit, log: LogLike, reading: Reading, changes: Mapping[str, Any]) -> Validation:
    """Return how well a fit predicts a log that is prepared as the fitted logs were, except for some `changes`."""
    settings = dataclasses.replace(fit.preparation, **changes)
    with errors_naming(log if isinstance(log, str | os.PathLike) else None):
        log = whole_log(log, fit.robot, reading)
        compared = [fit.equations.compared(fit, run, settings) for run in log.runs()]
        validation = validation_of(fit, ComparedTorques.of_runs(compared), log)
    warn_if_faster(validation.name, validation.faster)
    return validation


@small_algebra
def validate_recordings(fit: Fit, recordings: Sequence[Recording]) -> Validation:
    """Return how well a fit predicts the runs of a log in memory, with its cutoff for predictions; every row counts."""
    return validation_of(fit, ComparedTorques.of_runs(compared_runs(fit, recordings)), recordings[0].source.first)


def _require_fit(name: str, fit: object) -> None:
    """Refuse what is no fit from torques; `name` is the argument."""
    if not isinstance(fit, Fit):
        raise TaupiError(
            "{argument} is {got!r}, expected a Fit: taupi.identify(...).", argument=Argument(name), got=fit
        )


def compared_runs(fit: Fit, recordings: Sequence[Recording]) -> list[ComparedTorques]:
    """Return the torques of recordings in memory, one by one, with the fit's cutoff for predictions."""
    assert isinstance(fit.equations, RigidJoints)
    return [fit.equations.compared_recording(fit, recording) for recording in recordings]


def recording_of(fit: Fit, log: LogLike, settings: Preparation, reading: Reading | None = None) -> Recording:
    """Return a log, or the log in a file, prepared for prediction by a fit: with the fit's cutoff unless `settings` have one."""
    assert isinstance(fit.equations, RigidJoints)
    return fit.equations.recording(fit, whole_log(log, fit.robot, reading or Reading()), settings)


def recordings_of(fit: Fit, log: LogLike, settings: Preparation, reading: Reading) -> list[Recording]:
    """Return the runs of a log, or of the log in a file, each prepared for prediction as by `recording_of`."""
    return [recording_of(fit, run, settings) for run in whole_log(log, fit.robot, reading).runs()]


def validation_of(fit: Fit, compared: ComparedTorques, log: Log) -> Validation:
    """Return the validation of a fit from compared torques of a log, of which the first block suffices."""
    measured, predicted, raw = compared.measured, compared.predicted, compared.raw
    validation = build_validation(
        fit, compared.time, measured, predicted, raw, log.source.path, compared.notes, names=compared.names
    )
    parts = torque_parts(fit, compared.blocks) if compared.blocks else None
    return dataclasses.replace(validation, faster=faster_joints(fit, compared.speeds), parts=parts, origin=log.origin)


def build_validation(
    fit: Fit,
    time: np.ndarray,
    measured: np.ndarray,
    predicted: np.ndarray,
    raw: np.ndarray,
    path: str = "",
    notes: tuple[str, ...] = (),
    names: Sequence[str] | None = None,
) -> Validation:
    """Return the validation of a fit: the errors of `predicted` against `measured` and `raw` (N, n), at `time` (N,).

    `names` are those of the n rows, by default of all equations of the fit; `path` is that of the log.
    """
    joints = tuple(
        JointErrors(
            name, len(time), *errors_of(measured[:, j], predicted[:, j]), *errors_of(raw[:, j], predicted[:, j])
        )
        for j, name in enumerate(RowLayout.of(fit.basis).names if names is None else names)
    )
    return Validation(
        name=os.path.basename(path) or "log",
        estimator=fit.estimator,
        joints=joints,
        relative=errors_of(measured.ravel(), predicted.ravel())[1],
        raw_relative=errors_of(raw.ravel(), predicted.ravel())[1],
        time=time,
        measured=measured,
        predicted=predicted,
        raw=raw,
        notes=notes,
    )


def predict(fit: Fit, log: Log) -> np.ndarray:
    """Return tau_hat (N, n) for the samples of a log; if qd or qdd are missing, they are derived from q, which is then filtered.

    It is the torque of the motors: known torques, those of the log and those that the fit was made with, are subtracted.
    Dry friction that has a memory starts with the log, and with each of several runs in it. For an elastic robot the rows are
    those of the links, whose torque should be 0, then those of the motors. If the deflection was fitted as a measurement, the
    offset of the encoders is that for which the torque of a link is 0 on average, and the torque of a motor is what its rotor
    and its link need together.
    """
    if not isinstance(log, Log):
        raise TaupiError("{log} is {got!r}, expected a Log: taupi.read_log(...).", got=log)
    return np.concatenate([fit.equations.predicted(fit, run) for run in log.runs()])


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two fits compared on one log.

    Attributes:
        first: The validation of the first fit.
        second: The validation of the second fit.
        names: The base parameters that both fits have (k).
        differences: Second minus first (k,).
        distances: The differences in standard errors (k,).
    """

    first: Validation
    second: Validation
    names: tuple[str, ...]
    differences: np.ndarray
    distances: np.ndarray

    @property
    def summary(self) -> str:
        """One line: which predicts better, and by how much."""
        a, b = self.first, self.second
        better, worse = (a, b) if a.relative <= b.relative else (b, a)
        if f"{better.relative:.2%}" == f"{worse.relative:.2%}":
            return f"{a.estimator} and {b.estimator} predict {a.name} alike: {better.relative:.2%} over all joints"
        errors = f"{better.relative:.2%} against {worse.relative:.2%} ({worse.estimator})"
        return f"{better.estimator} predicts {a.name} better: {errors}"

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data."""
        parameters = zip(self.names, self.differences.tolist(), self.distances.tolist(), strict=True)
        return {
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "parameters": {n: {"difference": d, "in_standard_errors": finite_or_none(s)} for n, d, s in parameters},
        }

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("joint", f"first ({self.first.estimator})", f"second ({self.second.estimator})")
        ]
        rows += [
            (a.name, f"{a.relative:.2%}", f"{b.relative:.2%}")
            for a, b in zip(self.first.joints, self.second.joints, strict=True)
        ]
        return "\n".join([self.summary, *table(rows)])


def compare(
    first: Fit,
    second: Fit,
    log: LogLike,
    *,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> Comparison:
    """Return the comparison of two fits of a robot on a log: their errors, and x_2 - x_1 in standard errors.

    Args:
        first: A fit.
        second: Another fit of the same robot.
        log: A Log, or the path of a file, which each fit predicts as in `taupi.validate`.
        reading: How the file is read, a `taupi.Reading`.
        preparation: What differs in how the log is prepared, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        Both validations, and the differences of the base parameters that both fits have.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(phase):
    ...     q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fits = [tp.identify(arm, log(0), terms=terms, cutoff_hz=10) for terms in ((), ("viscous",))]
    >>> tp.compare(*fits, log(1)).names == fits[0].names
    True
    """
    settings, changes = settle_prediction(compare, options, reading, preparation)
    _require_fit("first", first)
    _require_fit("second", second)
    if first.robot.joint_names != second.robot.joint_names:
        raise TaupiError(
            "The fits are for different robots: {robot} and {robot_name}.",
            robot=first.robot.name,
            robot_name=second.robot.name,
        )
    a, b = (validate_log(fit, log, settings, changes) for fit in (first, second))
    shared = [n for n in first.names if n in second.names]
    i, j = ([f.names.index(n) for n in shared] for f in (first, second))
    difference = second.values[j] - first.values[i]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(difference) / np.hypot(first.stderr[i], second.stderr[j])
    return Comparison(a, b, tuple(shared), difference, distance)


def errors_of(measured: np.ndarray, predicted: np.ndarray) -> tuple[float, float, float]:
    """Return the root mean square of measured - predicted, its ratio to that of the measured, and R^2."""
    residual, power = float(np.sum((measured - predicted) ** 2)), float(np.sum(measured**2))
    variation = float(np.sum((measured - measured.mean()) ** 2))
    return (
        float(np.sqrt(residual / len(measured))),
        float(np.sqrt(residual / power)) if power > 0 else float(residual > 0),
        1 - residual / variation if variation > 0 else 0.0,
    )
