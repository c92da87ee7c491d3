"""How well a fit predicts logs that were not fitted: errors joint by joint, against filtered and raw torque."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown
from taupi.identification.equations import COORDINATES, Equations, regressor_inputs, spring_torque
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.results.drive_rows import compared_rows, encoder_torque, with_drives
from taupi.identification.results.extrapolation import Speeds, faster_joints, warn_if_faster
from taupi.identification.results.fit import Fit
from taupi.identification.results.torque_parts import TorqueParts, torque_parts
from taupi.identification.rows.block_source import errors_naming, open_source
from taupi.identification.rows.preparation import PREDICTION_CHANGES, Preparation
from taupi.identification.rows.recording import Recording, encoder_delays
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.settings import takes
from taupi.signals.checking.implausible import refuse_absurd
from taupi.signals.filtering.delay import without_delays
from taupi.signals.filtering.derivatives import central
from taupi.signals.filtering.filters import butterworth, choose_cutoff
from taupi.signals.log import Log
from taupi.signals.log_part import asked_part
from taupi.signals.read import LogLike, read_log
from taupi.signals.reading import Reading, Streaming
from taupi.tables import html_table, table
from taupi.threads import small_algebra


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

    def to_dict(self) -> dict[str, Any]:
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


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
def validate(fit: Fit, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Validation:
    """Return how well a `fit` predicts a `log`, or the log in the file at a path: tau_hat = Y_b pi_b compared with tau.

    The log is prepared as the fitted logs were, with the cutoff that was chosen for predictions, except for the settings named
    here. Every row counts, slow ones too.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(phase):
    ...     q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fit = tp.identify(arm, log(0), terms=(), cutoff_hz=10)
    >>> tp.validate(fit, log(1)).relative < 1e-3
    True
    """
    return validate_log(fit, log, reading, preparation)


@small_algebra
def validate_log(fit: Fit, log: LogLike, reading: Reading, changes: Mapping[str, Any]) -> Validation:
    """Return how well a fit predicts a log that is prepared as the fitted logs were, except for some `changes`."""
    settings = dataclasses.replace(fit.preparation, **changes)
    with errors_naming(log if isinstance(log, str | os.PathLike) else None):
        log = _read(log, fit, reading)
        if fit.robot.floating or fit.robot.loops:
            return _validate_floating(fit, log, settings)
        log.need("tau")
        if fit.motors_only:
            refuse_absurd(log)
            return validate_motors(fit, log, settings)
        validation = validate_recording(fit, recording_of(fit, log, settings))
    warn_if_faster(validation.name, validation.faster)
    return validation


def recording_of(fit: Fit, log: LogLike, settings: Preparation, reading: Reading | None = None) -> Recording:
    """Return a log, or the log in a file, prepared for prediction by a fit: with the fit's cutoff unless `settings` have one."""
    log = _read(log, fit, reading or Reading())
    equations = Equations.of(fit.basis)
    # A log that was prepared before is prepared once more.
    source = open_source(log.with_(filtering=None), equations, settings, Streaming(stream=False))
    if settings.cutoff_hz is None:
        cutoff_hz = _cutoff_hz(fit, source.rate_hz, source.lowest_cutoff_hz)
        settings = dataclasses.replace(settings, cutoff_hz=cutoff_hz)
    return Recording.of(source, equations, settings)


@small_algebra
def validate_recording(fit: Fit, recording: Recording) -> Validation:
    """Return how well a fit predicts a recording in memory, with the fit's cutoff for predictions; every row counts."""
    equations, source = recording.equations, recording.source
    if fit.preparation.cutoff_hz is None and recording.preparation.cutoff_hz is None:
        cutoff_hz = _cutoff_hz(fit, source.rate_hz, source.lowest_cutoff_hz)
        recording = recording if cutoff_hz is None else recording.with_cutoff(cutoff_hz)
    blocks = predicted_rows(fit, recording)
    time, measured = np.concatenate([rows.time for rows in blocks]), np.concatenate([rows.tau for rows in blocks])
    predicted = measured - np.concatenate([rows.residual(fit.values) for rows in blocks])
    (log,) = source.blocks()
    recorded = without_delays(log, recording.encoder_delays) if equations.sprung else log
    recorded = recorded.rows(np.rint((time - log.time[0]) * source.rate_hz).astype(int))
    raw, smooth = equations.torque(recorded), recording.log
    at = np.searchsorted(smooth.time, time - 0.5 / smooth.rate_hz)
    known = equations.known_torque(smooth, recording.known_torque)
    if known.any():  # rows hold the sum of both torques; what is compared is the measured one
        known = (known if recording.row_filter is None else recording.row_filter(known))[at]
        measured, predicted = measured - known, predicted - known
    if equations.unmeasured and recording.row_filter is not None:
        # In the row of a link, the torque of its spring is compared with what the motion of the link needs.
        row_filter, (x, xd, _) = recording.row_filter, equations.motion(smooth)
        spring = row_filter(spring_torque(fit.basis, fit.values, x, xd))[at]
        if fit.fits_deflection:
            pretended = encoder_torque(fit, xd, -predicted, lambda value: row_filter(value)[at])
            predicted = with_drives(fit, predicted)
            measured, raw = measured - pretended, raw - pretended
        measured, predicted = measured + spring, predicted + spring
        raw = raw + spring_torque(fit.basis, fit.values, equations.positions(recorded), xd[at])
    fastest = np.abs(np.concatenate([rows.qd for rows in blocks])).max(axis=0)
    speeds = {equations.names[k]: fastest[k] for k in equations.motors}  # friction acts on motors
    rows = compared_rows(fit)
    measured, predicted, raw = (v[:, rows] for v in (measured, predicted, raw))
    names = [equations.names[j] for j in rows]
    validation = build_validation(fit, time, measured, predicted, raw, log.source.path, recording.notes, names)
    parts = None if equations.sprung or known.any() else torque_parts(fit, blocks)
    return dataclasses.replace(validation, faster=faster_joints(fit, speeds), parts=parts)


def _validate_floating(fit: Fit, log: Log, settings: Preparation) -> Validation:
    """Return how well a fit of a floating robot explains the rows of a log, contact forces treated as in the fit."""
    from taupi.identification.floating.floating_rows import ContactSettings, floating_rows

    own = {f.name: fit.settings[f.name] for f in dataclasses.fields(ContactSettings) if f.name in fit.settings}
    rows = floating_rows(fit.basis, log, settings, ContactSettings(**own), fit.prior)
    used = np.flatnonzero(rows.use.any(axis=0))
    measured, predicted = rows.tau[:, used], (rows.y @ fit.values)[:, used]
    names = [Equations.of(fit.basis).names[k] for k in used]
    return build_validation(fit, rows.time, measured, predicted, measured, log.source.path, rows.notes, names)


def predicted_rows(fit: Fit, recording: Recording) -> list[Rows]:
    """Return the rows of a recording that a fit predicts, block by block; every row counts, slow ones too."""
    every = np.zeros(recording.equations.count)
    recording = dataclasses.replace(recording, least_speeds=every, one_way_signs={}, leave_out="row")
    blocks = list(recording.rows(RowMaker(friction_plan(fit.basis, fit.values))))
    if not blocks:
        raise TaupiError(f"The log has no rows left to predict after filtering at {recording.cutoff_hz:.3g} Hz.")
    return blocks


def validate_motors(fit: Fit, log: Log, settings: Preparation) -> Validation:
    """Return how well a fit from motors alone predicts a log's motor torques; the links' initial state is found from the log."""
    from taupi.identification.hidden_links.solver import motor_torques

    motors = motor_torques(fit.basis, fit.values, log, settings)
    names = Equations.of(fit.basis).names[fit.robot.n :]
    return build_validation(
        fit, motors.time, motors.measured, motors.predicted, motors.raw, log.source.path, motors.notes, names
    )


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
        for j, name in enumerate(Equations.of(fit.basis).names if names is None else names)
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
    Dry friction that has a memory starts with the log. For an elastic robot the rows are those of the links, whose torque should
    be 0, then those of the motors. If the deflection was fitted as a measurement, the offset of the encoders is that for which
    the torque of a link is 0 on average, and the torque of a motor is what its rotor and its link need together.
    """
    if not isinstance(log, Log):
        raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log: taupi.read_log(...).")
    if fit.robot.floating or fit.robot.loops:
        from taupi.identification.floating.floating_rows import floating_prediction

        return floating_prediction(fit.basis, fit.values, log)
    equations = Equations.of(fit.basis)
    equations.check(log)
    if not log.rate_hz > 0 and len(log) > 1:
        raise TaupiError("time of the log does not step forwards.", remedy="Sort it first: taupi.clean_log(log).")
    if equations.sprung and not log.is_prepared:
        log = without_delays(log, encoder_delays(fit.preparation, equations))
    for x, xd, xdd in COORDINATES[: 2 if equations.unmeasured else 1]:
        log = _with_derivatives(log, x, xd, xdd, fit, equations)
    linear, plan = fit.basis.linear, friction_plan(fit.basis, fit.values)
    regressor = linear.regressor()
    motion = equations.motion(log)
    q, qd, _ = motion

    def torque(values: np.ndarray) -> np.ndarray:
        each = np.broadcast_to(values, (len(q), len(values)))
        return np.asarray(regressor.times("pi")(*regressor_inputs(regressor, *motion), each))

    known = equations.known_torque(log, log.known_torque or fit.preparation.known_torque)
    predicted = torque(fit.values[: linear.count])
    s = plan.along_motion(q, qd, 1 / log.rate_hz)[0]
    memory = s - plan.memoryless(qd)  # programs have friction without memory
    predicted = predicted + (memory * fit.values[list(plan.places)]) @ plan.directions
    if plan.modulation is not None:
        load = torque(plan.modulation.rigid) - known
        columns = plan.modulation.columns(s, qd, load) * fit.values[linear.count :]
        predicted += columns @ np.eye(equations.count)[list(plan.modulation.joints)]
    predicted = predicted - known
    if not fit.fits_deflection:
        return predicted
    return with_drives(fit, predicted) + encoder_torque(fit, qd, -predicted)


def _with_derivatives(log: Log, x: str, xd: str, xdd: str, fit: Fit, equations: Equations) -> Log:
    """Return the log with the derivatives of a position, all filtered; the log itself if it has them."""
    (position,), signals, rate = log.need(x), log.signals, log.rate_hz
    if xd in signals and xdd in signals:
        return log
    cutoff = fit.preparation.cutoff_hz or _cutoff_hz(fit, rate) or choose_cutoff(equations.positions(log), rate).hz
    smooth = butterworth(position, rate, cutoff)
    velocity, acceleration = central(smooth, rate)
    if xd in signals:
        velocity = butterworth(signals[xd], rate, cutoff)
        acceleration = central(velocity, rate)[0]
    return log.with_(**{x: smooth, xd: velocity, xdd: acceleration})


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

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        parameters = zip(self.names, self.differences.tolist(), self.distances.tolist(), strict=True)
        return {
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "parameters": {
                n: {"difference": d, "in_standard_errors": s if np.isfinite(s) else None} for n, d, s in parameters
            },
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


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
def compare(first: Fit, second: Fit, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Comparison:
    """Return the comparison of two fits of a robot, `first` and `second`, on a `log`, or a file; see `taupi.validate`.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(phase):
    ...     q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fits = [tp.identify(arm, log(0), terms=terms, cutoff_hz=10) for terms in ((), ("viscous",))]
    >>> tp.compare(*fits, log(1)).names == fits[0].names
    True
    """
    if first.robot.joint_names != second.robot.joint_names:
        raise TaupiError(f"The fits are for different robots: {first.robot.name} and {second.robot.name}.")
    a, b = (validate_log(fit, log, reading, preparation) for fit in (first, second))
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


def _read(log: LogLike, fit: Fit, reading: Reading) -> Log:
    if isinstance(log, Log):
        return asked_part(log, reading)
    if isinstance(log, str | os.PathLike):
        return read_log(log, fit.robot, reading=reading)
    raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log or the path of a file.")


def _cutoff_hz(fit: Fit, rate_hz: float, lowest_hz: float = 0.0) -> float | None:
    """Return the cutoff of predictions, as far as a log's rate and length allow; None if all fitted logs came prepared.

    It is the one that was chosen for predictions, the median over the fitted logs, or else the largest of their own cutoffs.
    """
    chosen = [log.validation_hz for log in fit.logs if log.validation_hz]
    cutoffs = [log.cutoff_hz for log in fit.logs if log.cutoff_hz]
    if not cutoffs:
        return None
    return min(max(float(np.median(chosen)) if chosen else max(cutoffs), lowest_hz), 0.4 * rate_hz)
