"""The timing of signals: delays between the encoders on both sides of a spring, and torques that are held between samples.

To first order, a signal that is late by d is the true signal less d times its rate of change. So d is the coefficient of that
rate as one more column of a row.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations, regressor_inputs, spring_columns
from taupi.identification.rows.block_source import open_source
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import Filter
from taupi.signals.derivatives import central
from taupi.signals.log import Log
from taupi.signals.reading import Streaming

# A delay is significant if it is this many standard errors from zero.
_SIGNIFICANT = 4.0
# Encoder delays below this share of a sample are not removed.
_LEAST_DELAY = 0.5
# A torque that is early by half a sample, within this share of one, is held from sample to sample.
_HALF, _TOLERANCE = 0.5, 0.2


@dataclass(frozen=True, eq=False)
class Timing:
    """Delays (s) of the motors' encoders behind those of the links (n,), and advances of the torques, with standard errors."""

    encoders: np.ndarray
    encoders_error: np.ndarray
    torque: np.ndarray
    torque_error: np.ndarray

    def encoder_delay(self, rate: float) -> tuple[float, ...] | None:
        """Return the delays that are worth removing (n,), 0 for the others; None if there are none."""
        significant = np.abs(self.encoders) > np.maximum(_SIGNIFICANT * self.encoders_error, _LEAST_DELAY / rate)
        return tuple(np.where(significant, self.encoders, 0.0).tolist()) if significant.any() else None

    def torque_is_held(self, rate: float) -> bool:
        """Return whether torques are held from sample to sample: half a sample early on every joint that shows it clearly."""
        clear = self.torque_error * rate < _TOLERANCE / 2
        return bool(clear.any() and (np.abs(self.torque[clear] * rate - _HALF) < _TOLERANCE).all())


def timing_of(recording: Recording, base: BaseParameters) -> Timing:
    """Return the timing of a recording, from the two rows of each elastic joint, filtered.

    Link: theta - q = (other columns) + d thetad, with d > 0 for a theta that is early. Viscous friction on the link would look
        the same, so it is taken for a delay. Motor: tau = (columns) + d tau', with d > 0 for a torque that is early.
    """
    equations, log, row_filter = recording.equations, recording.log, recording.row_filter
    assert row_filter is not None
    program, (x, xd, xdd), tau = base.regressor(), equations.motion(log), equations.torque(log)
    y = np.asarray(program(*regressor_inputs(program, x, xd, xdd)))
    rate, _ = central(tau, log.rate_hz)
    result = np.zeros((4, base.robot.n))
    result[1], result[3] = np.inf, np.inf
    speeds = [k for k, name in enumerate(base.names) if name.endswith((".link_viscous", ".link_coulomb"))]
    for i in equations.sprung:
        motor, spring = equations.motors[i], spring_columns(base, i)
        others = np.delete(y[:, i], [*spring, *speeds], axis=1)
        advance, error = _coefficient(others, xd[:, motor], x[:, motor] - x[:, i], row_filter)
        result[0, i], result[1, i] = -advance, error
        result[2, i], result[3, i] = _coefficient(y[:, motor], rate[:, motor], tau[:, motor], row_filter)
    return Timing(*result)


def _coefficient(columns: np.ndarray, own: np.ndarray, target: np.ndarray, row_filter: Filter) -> tuple[float, float]:
    """Return the coefficient of the column `own` (N,), next to other columns (N, p) and a constant, and its standard error."""
    apart = max(1.0, row_filter.rate_hz / (2 * row_filter.cutoff_hz))  # samples between independent ones
    everything = row_filter(np.column_stack([target, own, np.ones(len(own)), columns]))
    everything = everything[row_filter.edge : -row_filter.edge]
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


def with_timing(log: Log, base: BaseParameters, settings: Preparation) -> tuple[Preparation, list[str]]:
    """Return the settings, with the encoder delay and the kind of torque that a clean log shows if they are open, and notes."""
    equations = Equations.of(base)
    initial = dataclasses.replace(
        settings, torque=settings.torque or "sampled", encoder_delay=settings.encoder_delay or 0.0
    )
    source = open_source(log, equations, initial, Streaming())
    timing, rate, notes = timing_of(Recording.of(source, equations, initial), base), log.rate_hz, list[str]()
    delay = settings.encoder_delay
    if delay is None:
        delay = timing.encoder_delay(rate)
        if delay is not None:
            joints = zip(base.robot.joint_names, delay, strict=True)
            delays = ", ".join(f"{name} {1e3 * d:.3g}" for name, d in joints if d)
            notes.append(f"theta lags behind q and was shifted earlier, by (ms): {delays}")
    torque = settings.torque
    if torque is None:
        torque = "held" if timing.torque_is_held(rate) else "sampled"
        if torque == "held":
            notes.append("torques are held from sample to sample, so they were shifted half a sample later")
    return dataclasses.replace(settings, torque=torque, encoder_delay=delay or 0.0), notes
