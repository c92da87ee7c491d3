"""Friction that follows a robot along a log: how much a causal correction of three numbers per joint improves a fit."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.online.friction_filter import KINDS, FrictionFilter
from taupi.identification.online.tracker import FrictionTracker, filter_program
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import errors_of, predicted_rows, recording_of
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.row_maker import Rows
from taupi.program.step_loop import roll
from taupi.program.targets.cpu import Kernel
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading
from taupi.tables import table
from taupi.threads import small_algebra


@dataclass(frozen=True, eq=False, repr=False)
class Tracking:
    """The torque that a fit predicts for a log while its friction follows what was measured before.

    Its errors are online errors: past torques of this very log were used. They are not those of held-out data.

    Attributes:
        name: The name of the log's file, or "log".
        joints: The names of the joints.
        time: (N,), s.
        measured: The torque (N, n), filtered as the motion was.
        predicted: The torque (N, n) with friction that follows.
        plain: The torque (N, n) that the fit predicts alone.
        theta: The changes of (F_v, F_c, o) of each joint (N, n, 3) that were known at each row.
    """

    name: str
    joints: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    plain: np.ndarray
    theta: np.ndarray

    @property
    def relative(self) -> float:
        """||tau - tau_hat|| / ||tau|| over all joints: the online error."""
        return errors_of(self.measured.ravel(), self.predicted.ravel())[1]

    @property
    def plain_relative(self) -> float:
        """The same without the tracker."""
        return errors_of(self.measured.ravel(), self.plain.ravel())[1]

    @property
    def summary(self) -> str:
        """One line: both errors over all joints."""
        return f"{self.name}: online error {self.relative:.2%} with friction tracked, {self.plain_relative:.2%} without"

    def to_dict(self) -> dict[str, Any]:
        """Return the errors and the last changes of friction as plain data, without the samples."""
        last = {j: dict(zip(KINDS, t, strict=True)) for j, t in zip(self.joints, self.theta[-1].tolist(), strict=True)}
        return {
            "log": self.name,
            "online_relative": self.relative,
            "plain_relative": self.plain_relative,
            "changes": last,
        }

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("joint", "online error", "without", *(f"{k}, last" for k in KINDS))]
        for j, name in enumerate(self.joints):
            errors = (errors_of(self.measured[:, j], p[:, j])[1] for p in (self.predicted, self.plain))
            rows.append((name, *(f"{e:.2%}" for e in errors), *(f"{t:+.3g}" for t in self.theta[-1, j])))
        return "\n".join([self.summary, *table(rows)])


@small_algebra
def track(fit: Fit, tracker: FrictionTracker, log: LogLike, reading: Reading, changes: Mapping[str, Any]) -> Tracking:
    """Return how the friction of a `fit` follows a `log`, prepared as the fitted logs were, except for some `changes`.

    Rows pass a filter that looks ahead by about a period of its cutoff, so a row is predicted from rows that are older than that.
    """
    settings = dataclasses.replace(fit.preparation, **changes)
    with errors_naming(log if isinstance(log, str | os.PathLike) else None):
        recording = recording_of(fit, log, settings, reading)
        blocks = predicted_rows(fit, recording)
    if recording.cutoff_hz is None:
        raise TaupiError(
            "The log came prepared, and its filter is not known.", remedy="Give the log as it was recorded."
        )
    time, measured = np.concatenate([b.time for b in blocks]), np.concatenate([b.tau for b in blocks])
    residual = np.concatenate([b.residual(fit.values) for b in blocks])
    x = np.concatenate([friction_columns(fit, tracker, b) for b in blocks])
    filtering = dataclasses.replace(tracker.filter, cutoff_hz=recording.cutoff_hz)
    theta = _learnt(filtering, x, residual, 1 / recording.rate_hz)
    delay = max(1, int(np.ceil(recording.rate_hz / recording.cutoff_hz)))
    known = np.concatenate([np.zeros((delay, *theta.shape[1:])), theta])[: len(theta)]
    plain = measured - residual
    return Tracking(
        recording.source.name, fit.robot.joint_names, time, measured, plain + np.sum(x * known, axis=2), plain, known
    )


def friction_columns(fit: Fit, tracker: FrictionTracker, rows: Rows) -> np.ndarray:
    """Return x = (qd, s, 1) of each joint (N, n, 3), filtered like the rows; parts without a column are not filtered."""
    x = np.ones((len(rows), fit.robot.n, 3))
    widths = tracker.model.widths
    for j, joint in enumerate(fit.robot.joint_names):
        for k, kind in enumerate(KINDS[:2]):
            if (name := f"{joint}.{kind}") in fit.names:
                x[:, j, k] = rows.y[fit.names.index(name), j]
            else:
                x[:, j, k] = rows.qd[:, j] if kind == "viscous" else np.tanh(rows.qd[:, j] / widths[j])
    return x


def _learnt(filtering: FrictionFilter, x: np.ndarray, residual: np.ndarray, seconds: float) -> np.ndarray:
    """Return theta (N, n, 3) after each row."""
    n, steps = filtering.n, len(x)
    state = np.zeros((steps + 1, 1, 9 * n))
    state[0, 0] = filtering.start()
    inputs = {"x": np.ascontiguousarray(x.reshape(steps, 1, 3 * n)), "e": np.ascontiguousarray(residual[:, None])}
    inputs["dt"] = np.full((1, 1, 1), seconds)
    roll(Kernel(filter_program(filtering), lanes=1), {"state": state}, inputs, {"correction": np.zeros((steps, 1, n))})
    return state[1:, 0, : 3 * n].reshape(steps, n, 3)
