"""The timing of torques: whether they are held between samples.

To first order, a signal that is early by d is the true signal plus d times its rate of change. So d is the coefficient of that
rate as one more column of a row.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.row_layout import RowLayout, regressor_inputs
from taupi.identification.rows.block_source import open_source
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import Filter
from taupi.signals.filtering.derivatives import central
from taupi.signals.log import Log
from taupi.signals.reading import Streaming

# A torque that is early by half a sample, within this share of one, is held from sample to sample.
_HALF, _TOLERANCE = 0.5, 0.2


@dataclass(frozen=True, eq=False)
class TorqueTiming:
    """How early the motors' torques are (n,), s, with standard errors; infinite for rigid joints."""

    early: np.ndarray
    error: np.ndarray

    def held(self, rate: float) -> bool:
        """Return whether torques are held from sample to sample: half a sample early on every joint that shows it clearly."""
        clear = self.error * rate < _TOLERANCE / 2
        return bool(clear.any() and (np.abs(self.early[clear] * rate - _HALF) < _TOLERANCE).all())


def torque_timing(recording: Recording, base: BaseParameters) -> TorqueTiming:
    """Return the timing of the torques of a recording, from the row of each drive: tau = (columns) + d tau'.

    The row of a drive is that of its link and that of its motor together, so that the spring, whose deflection may be little more
    than the noise of its encoders, is not in it.
    """
    layout, log, row_filter = recording.layout, recording.log, recording.row_filter
    assert row_filter is not None
    program, motion, tau = base.regressor(), layout.motion(log), layout.torque(log)
    y = np.asarray(program(*regressor_inputs(program, *motion)))
    rate, _ = central(tau, log.rate_hz)
    early, error = np.zeros(base.robot.n), np.full(base.robot.n, np.inf)
    for i in layout.sprung:
        motor = layout.motors[i]
        early[i], error[i] = _coefficient(y[:, i] + y[:, motor], rate[:, motor], tau[:, motor], row_filter)
    return TorqueTiming(early, error)


def _coefficient(columns: np.ndarray, own: np.ndarray, target: np.ndarray, row_filter: Filter) -> tuple[float, float]:
    """Return the coefficient of the column `own` (N,), next to other columns (N, p) and a constant, and its standard error."""
    apart = max(1.0, row_filter.rate_hz / (2 * row_filter.cutoff_hz))  # samples between independent ones
    rows = slice(row_filter.edge, -row_filter.edge)
    everything = row_filter(np.column_stack([target, own, np.ones(len(own)), columns]), rows)
    target, matrix = everything[:, 0], everything[:, 1:]
    size = np.linalg.norm(matrix, axis=0)
    used = size > 1e-12 * size.max()
    if not used[0]:
        return 0.0, np.inf
    unit = matrix[:, used] / size[used]
    u, s, vt = np.linalg.svd(unit, full_matrices=False)
    kept = s > 1e-8 * s[0]
    inverse = vt[kept].T / s[kept]
    solution = inverse @ (u[:, kept].T @ target)
    residual = target - unit @ solution
    freedom = max(len(target) / apart - kept.sum(), 1.0)
    noise = float(residual @ residual) / apart / freedom
    error = float(np.sqrt(noise * apart) * np.linalg.norm(inverse[0]))
    return float(solution[0] / size[0]), error / float(size[0])


def with_torque_timing(log: Log, base: BaseParameters, settings: Preparation) -> tuple[Preparation, list[str]]:
    """Return the settings with the kind of torque that a clean log shows, if it is not set, and notes."""
    if settings.torque is not None:
        return settings, []
    layout = RowLayout.of(base)
    initial = dataclasses.replace(settings, torque="sampled", encoder_delay=settings.encoder_delay or 0.0)
    source = open_source(log, layout, initial, Streaming())
    if not torque_timing(Recording.of(source, layout, initial), base).held(log.rate_hz):
        return dataclasses.replace(settings, torque="sampled"), []
    note = "torques are held from sample to sample, so they were shifted half a sample later"
    return dataclasses.replace(settings, torque="held"), [note]
