"""How a fit predicts logs that it has not seen: errors joint by joint, against filtered and raw torque."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown
from taupi.identification.equations import COORDINATES, Equations, arguments, spring_torque
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.hidden_links.solver import motor_torques
from taupi.identification.inputs import LogLike
from taupi.identification.results.fit import Fit
from taupi.identification.rows.block_source import naming, open_source
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.settings import Changes, takes
from taupi.signals.derivatives import central
from taupi.signals.filters import butterworth, choose_cutoff
from taupi.signals.implausible import refuse_absurd
from taupi.signals.log import Log
from taupi.signals.read import read_log
from taupi.signals.reading import Reading, Streaming
from taupi.tables import html_table, table
from taupi.threads import small_algebra


@dataclass(frozen=True)
class JointErrors:
    """Errors of one joint's predicted torque: rms (N m, N), ||tau - tau_hat|| / ||tau||, and R^2, filtered and raw."""

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
    """A fit's torque beside a measured one: `measured`, `predicted` and `raw` (N, n) at `time` (N,), and errors by joint.

    `measured` has passed the filter that the motion passed; `raw` is what was recorded.
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


@takes(reading=Reading, preparation=Changes(Preparation))
def validate(fit: Fit, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Validation:
    """Return how a `fit` predicts a `log`, or the file at a path: tau_hat = Y_b pi_b beside tau.

    The log is prepared as the fit's own were, with the largest of their cutoffs, unless settings of that are named. Every row
    counts, slow ones too.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> def log(phase):
    ...     q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fit = tp.identify(arm, log(0), terms=(), cutoff_hz=10)
    >>> tp.validate(fit, log(1)).relative < 1e-3
    True
    """
    return validated(fit, log, reading, preparation)


@small_algebra
def validated(fit: Fit, log: LogLike, reading: Reading, changes: Mapping[str, Any]) -> Validation:
    """Return how a fit predicts a log prepared as its own were, but for some changes."""
    settings = dataclasses.replace(fit.preparation, **changes)
    with naming(log if isinstance(log, str | os.PathLike) else None):
        log = _read(log, fit, reading)
        log.need("tau")
        if fit.motors_only:
            refuse_absurd(log)
            return validate_motors(fit, log, settings)
        equations = Equations.of(fit.basis)
        # The log is predicted as it is, prepared or not.
        source = open_source(log.with_(filtering=None), equations, settings, Streaming(stream=False))
        if settings.cutoff_hz is None:
            settings = dataclasses.replace(settings, cutoff_hz=_cutoff_hz(fit, source.rate_hz))
        return validate_recording(fit, Recording.of(source, equations, settings))


@small_algebra
def validate_recording(fit: Fit, recording: Recording) -> Validation:
    """Return how a fit predicts a recording that is in memory, with the largest of the fit's cutoffs; every row counts."""
    equations = recording.equations
    cutoff_hz = _cutoff_hz(fit, recording.source.rate_hz) if fit.preparation.cutoff_hz is None else None
    if cutoff_hz is not None and recording.preparation.cutoff_hz is None:
        recording = recording.with_cutoff(cutoff_hz)
    recording = dataclasses.replace(recording, slow=np.zeros(equations.count), ways={}, leave_out="row")
    parts = list(recording.rows(RowMaker(friction_plan(fit.basis))))
    if not parts:
        raise TaupiError(f"The log has no rows left to predict after filtering at {recording.cutoff_hz:.3g} Hz.")
    time, measured = (np.concatenate([getattr(p, what) for p in parts]) for what in ("time", "tau"))
    predicted = measured - np.concatenate([p.left(fit.values) for p in parts])
    source = recording.source
    (log,) = source.blocks()
    recorded = log.rows(np.rint((time - log.time[0]) * source.rate_hz).astype(int))
    raw = equations.torque(recorded)
    if equations.free and recording.through is not None:
        # In a link's row: what its spring passes on, beside what the link needs.
        ready = recording.log
        x, xd, _ = equations.motion(ready)
        at = np.searchsorted(ready.time, time - 0.5 / ready.rate_hz)
        spring = recording.through(spring_torque(fit.basis, fit.values, x, xd))[at]
        measured, predicted = measured + spring, predicted + spring
        raw = raw + spring_torque(fit.basis, fit.values, equations.positions(recorded), xd[at])
    return compared(fit, time, measured, predicted, raw, log.source.path, recording.notes)


def validate_motors(fit: Fit, log: Log, settings: Preparation) -> Validation:
    """Return how a fit from motors alone predicts a log's motor torques; where the links start is found from the log."""
    motors = motor_torques(fit.basis, fit.values, log, settings)
    names = Equations.of(fit.basis).names[fit.robot.n :]
    return compared(
        fit, motors.time, motors.measured, motors.predicted, motors.raw, log.source.path, motors.notes, names
    )


def compared(
    fit: Fit,
    time: np.ndarray,
    measured: np.ndarray,
    predicted: np.ndarray,
    raw: np.ndarray,
    path: str = "",
    notes: tuple[str, ...] = (),
    names: Sequence[str] | None = None,
) -> Validation:
    """Return the errors of a fit's torque, row by row: `measured`, `predicted` and `raw` (N, n) at `time` (N,).

    `names` are the rows', by default those of all its equations.
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


def predict(fit: Fit, log: Any) -> np.ndarray:
    """Return tau_hat (N, n) for the samples of a log; qd and qdd are derived from q, smoothed, where they are missing.

    Dry friction that has a memory begins with the log. Of an elastic robot it is that of links, which should be 0, and motors.
    """
    if not isinstance(log, Log):
        raise TaupiError(f"log is {shown(log)}, expected a Log: taupi.read_log(...).")
    equations = Equations.of(fit.basis)
    equations.refuse(log)
    for x, xd, xdd in COORDINATES[: 2 if equations.free else 1]:
        log = _differentiated(log, x, xd, xdd, fit, equations)
    regressor, plan = fit.basis.regressor(), friction_plan(fit.basis)
    q, qd, qdd = equations.motion(log)
    values = np.broadcast_to(fit.values, (len(q), len(fit.values)))
    predicted = np.asarray(regressor.times("pi")(*arguments(regressor, q, qd, qdd), values))
    change = plan.along(q, qd, 1 / log.rate_hz)[0] - plan.at_once(qd)
    return predicted + (change * fit.values[list(plan.places)]) @ plan.directions


def _differentiated(log: Log, x: str, xd: str, xdd: str, fit: Fit, equations: Equations) -> Log:
    """Return the log with a position's derivatives, all of it filtered, unless it has them."""
    (position,), have, rate = log.need(x), log.signals, log.rate_hz
    if xd in have and xdd in have:
        return log
    cutoff = fit.preparation.cutoff_hz or _cutoff_hz(fit, rate) or choose_cutoff(equations.positions(log), rate).hz
    smooth = butterworth(position, rate, cutoff)
    first, second = central(smooth, rate)
    if xd in have:
        first = butterworth(have[xd], rate, cutoff)
        second = central(first, rate)[0]
    return log.with_(**{x: smooth, xd: first, xdd: second})


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two fits on one log: their validations, and the parameters both have, with the difference in standard errors."""

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
        told = f"{better.relative:.2%} against {worse.relative:.2%} ({worse.estimator})"
        if f"{better.relative:.2%}" == f"{worse.relative:.2%}":
            return f"{a.estimator} and {b.estimator} predict {a.name} alike: {better.relative:.2%} over all joints"
        return f"{better.estimator} predicts {a.name} better: {told}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
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


@takes(reading=Reading, preparation=Changes(Preparation))
def compare(first: Fit, second: Fit, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Comparison:
    """Return two fits of one robot, `first` and `second`, beside each other on a `log`, or a file; see `taupi.validate`.

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
        raise TaupiError(f"The fits are of different robots: {first.robot.name} and {second.robot.name}.")
    a, b = (validated(fit, log, reading, preparation) for fit in (first, second))
    shared = [n for n in first.names if n in second.names]
    i, j = ([f.names.index(n) for n in shared] for f in (first, second))
    difference = second.values[j] - first.values[i]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(difference) / np.hypot(first.stderr[i], second.stderr[j])
    return Comparison(a, b, tuple(shared), difference, distance)


def errors_of(measured: np.ndarray, predicted: np.ndarray) -> tuple[float, float, float]:
    """Return the root mean square of measured - predicted, its share of the measured, and R^2."""
    left, power = float(np.sum((measured - predicted) ** 2)), float(np.sum(measured**2))
    spread = float(np.sum((measured - measured.mean()) ** 2))
    return (
        float(np.sqrt(left / len(measured))),
        float(np.sqrt(left / power)) if power > 0 else float(left > 0),
        1 - left / spread if spread > 0 else 0.0,
    )


def _read(log: LogLike, fit: Fit, reading: Reading) -> Log:
    if isinstance(log, Log):
        return log
    if isinstance(log, str | os.PathLike):
        return read_log(log, fit.robot, reading=reading)
    raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log or the path of a file.")


def _cutoff_hz(fit: Fit, rate_hz: float) -> float | None:
    """Return the largest cutoff of the fit's own logs, or what a log's rate allows; None for logs that came prepared."""
    own = [log.cutoff_hz for log in fit.logs if log.cutoff_hz]
    return min(max(own), 0.4 * rate_hz) if own else None
