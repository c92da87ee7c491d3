"""When signals were taken: encoders on both sides of a spring that do not answer at once, and torques that are held.

To first order a signal that is late by d is what it should be less d times its rate. So d is the coefficient of a rate beside the
other columns of a row.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations, arguments, spring_columns
from taupi.identification.rows.block_source import open_source
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import Filter
from taupi.signals.derivatives import central
from taupi.signals.log import Log
from taupi.signals.reading import Streaming

# A time is believed where it is this many standard errors from zero.
_SURE = 4.0
# Encoders that differ by less than this share of a sample are left as they are.
_WORTH = 0.5
# A torque that is early by half a sample, give or take this share of one, is held from sample to sample.
_HALF, _ABOUT = 0.5, 0.2


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds by which motors' encoders are later than links' (n,), and torques earlier than motors; with standard errors."""

    encoders: np.ndarray
    encoders_error: np.ndarray
    torque: np.ndarray
    torque_error: np.ndarray

    def encoder_delay(self, rate: float) -> tuple[float, ...] | None:
        """Return the delays that are worth removing (n,), or None where there are none."""
        sure = np.abs(self.encoders) > np.maximum(_SURE * self.encoders_error, _WORTH / rate)
        return tuple(np.where(sure, self.encoders, 0.0).tolist()) if sure.any() else None

    def held(self, rate: float) -> bool:
        """Tell whether torques are held from sample to sample: half a sample early, on every elastic joint that tells."""
        told = self.torque_error * rate < _ABOUT / 2
        return bool(told.any() and (np.abs(self.torque[told] * rate - _HALF) < _ABOUT).all())


def times_of(recording: Recording, base: BaseParameters) -> Times:
    """Return the times of a recording, from each elastic joint's own two rows, through the filter.

    Link: theta - q = (other columns) + d thetad, d > 0 for a theta that is early. Friction of the link at its speed would look
    the same, so it is taken for a delay. Motor: tau = (columns) + d tau', d > 0 for a torque that is early.
    """
    equations, log, through = recording.equations, recording.log, recording.through
    assert through is not None
    program, (x, xd, xdd), tau = base.regressor(), equations.motion(log), equations.torque(log)
    y = np.asarray(program(*arguments(program, x, xd, xdd)))
    rate, _ = central(tau, log.rate_hz)
    result = np.zeros((4, base.robot.n))
    result[1], result[3] = np.inf, np.inf
    speeds = [k for k, name in enumerate(base.names) if name.endswith((".link_viscous", ".link_coulomb"))]
    for i in equations.sprung:
        motor, spring = equations.motors[i], spring_columns(base, i)
        others = np.delete(y[:, i], [*spring, *speeds], axis=1)
        early, error = _coefficient(others, xd[:, motor], x[:, motor] - x[:, i], through)
        result[0, i], result[1, i] = -early, error
        result[2, i], result[3, i] = _coefficient(y[:, motor], rate[:, motor], tau[:, motor], through)
    return Times(*result)


def _coefficient(columns: np.ndarray, own: np.ndarray, target: np.ndarray, through: Filter) -> tuple[float, float]:
    """Return the coefficient of `own` (N,) beside other columns (N, p) and a constant, and its standard error."""
    apart = max(1.0, through.rate_hz / (2 * through.cutoff_hz))  # samples to an independent one
    every = through(np.column_stack([target, own, np.ones(len(own)), columns]))[through.edge : -through.edge]
    target, matrix = every[:, 0], every[:, 1:]
    size = np.linalg.norm(matrix, axis=0)
    used = size > 1e-12 * size.max()
    if not used[0]:
        return 0.0, np.inf
    unit = matrix[:, used] / size[used]
    u, s, vt = np.linalg.svd(unit, full_matrices=False)
    kept = s > 1e-8 * s[0]
    inverse = vt[kept].T / s[kept]
    solution = inverse @ (u[:, kept].T @ target)
    left = target - unit @ solution
    free = max(len(target) / apart - kept.sum(), 1.0)
    noise = float(left @ left) / apart / free
    error = float(np.sqrt(noise * apart) * np.linalg.norm(inverse[0]))
    return float(solution[0] / size[0]), error / float(size[0])


def timed(log: Log, base: BaseParameters, settings: Preparation) -> tuple[Preparation, list[str]]:
    """Return settings with the delay of encoders and the kind of torque that a clean log shows, where they are left open."""
    equations = Equations.of(base)
    as_is = dataclasses.replace(
        settings, torque=settings.torque or "sampled", encoder_delay=settings.encoder_delay or 0.0
    )
    source = open_source(log, equations, as_is, Streaming())
    times, rate, notes = times_of(Recording.of(source, equations, as_is), base), log.rate_hz, list[str]()
    delay = settings.encoder_delay
    if delay is None:
        delay = times.encoder_delay(rate)
        if delay is not None:
            joints = zip(base.robot.joint_names, delay, strict=True)
            late = ", ".join(f"{name} {1e3 * d:.3g}" for name, d in joints if d)
            notes.append(f"theta is later than q by so many ms, and was brought forward: {late}")
    torque = settings.torque
    if torque is None:
        torque = "held" if times.held(rate) else "sampled"
        if torque == "held":
            notes.append("torques are held from sample to sample, so they were taken half a sample later")
    return dataclasses.replace(settings, torque=torque, encoder_delay=delay or 0.0), notes
