"""The motors of a log, on the time grid that a simulation of the links needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identification.equations import Equations
from taupi.identification.hidden_links.links import HiddenLinks
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.signals.checking.clean import clean_log
from taupi.signals.checking.implausible import refuse_silence
from taupi.signals.checking.standstill import trim_standstill
from taupi.signals.filtering.delay import without_delays
from taupi.signals.filtering.filters import butterworth, choose_cutoff, edge_rows
from taupi.signals.log import Log
from taupi.signals.prepare import prepare

# Positions are filtered at this many times the cutoff, for their derivatives; the torques compared are filtered at the cutoff.
_WIDER = 4.0
_LINK_SIDE = ("q", "qd", "qdd")


@dataclass(frozen=True, eq=False)
class Drive:
    """The motors of a log: (theta, thetad, thetadd) every half step (2 N steps + 1, 3n), torques (N, n), and the step h, s.

    Positions are smoothed a little, torques are as recorded. Both torques compared pass the same filter, F(u) = F(u_hat), and a
    period of the cutoff is cut at each end.
    """

    time: np.ndarray
    motors: np.ndarray
    torque: np.ndarray
    h: float
    steps: int
    cutoff_hz: float
    notes: tuple[str, ...]

    def filter(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) filtered, without the ends."""
        rate = 1 / (self.h * self.steps)
        edge = edge_rows(rate, self.cutoff_hz)
        return butterworth(x, rate, self.cutoff_hz)[edge : len(x) - edge]

    @property
    def start(self) -> np.ndarray:
        """The state of the links at the start if springs are not deflected: (q, qd), (2n,)."""
        n = self.torque.shape[1]
        return np.asarray(self.motors[0, : 2 * n])


def motor_log(log: Log, robot: Robot, settings: Preparation) -> Log:
    """Return the log cleaned, with the motor positions as q."""
    log.need("tau")
    if log.theta is not None:
        delays = {name.replace("theta", "q"): d for name, d in log.delays.items() if name not in _LINK_SIDE}
        log = log.with_(q=log.theta, qd=log.thetad, qdd=None, theta=None, thetad=None, thetadd=None, delays=delays)
    Equations(robot).check(log)
    refuse_silence(log)
    clean = clean_log(log, gaps=settings)
    return without_delays(clean, clean.delays).with_(delays={}) if clean.delays else clean


def smooth_motors(clean: Log, settings: Preparation) -> tuple[Log, float]:
    """Return a clean log with positions filtered far above the cutoff, and the cutoff (Hz), chosen if it is not set."""
    cutoff = settings.cutoff_hz or choose_cutoff(clean.q, clean.rate_hz).hz
    moving = trim_standstill(clean) if settings.trim else clean
    wide = min(_WIDER * cutoff, 0.4 * clean.rate_hz)
    return prepare(moving, cutoff_hz=wide, velocity=settings.velocity, trim=False, decimate=1), float(cutoff)


def drive_of(links: HiddenLinks, x: np.ndarray, smooth: Log, clean: Log, cutoff_hz: float) -> Drive:
    """Return the motors of a smoothed log on the grid that the simulation needs, with the recorded torques of the clean one."""
    from scipy.interpolate import CubicSpline

    steps = links.steps(x, smooth.q[0], smooth.rate_hz)
    h = 1 / (smooth.rate_hz * steps)
    curve = CubicSpline(smooth.time, smooth.q)
    at = smooth.time[0] + np.arange(2 * steps * (len(smooth) - 1) + 1) * h / 2
    motors = np.concatenate([curve(at), curve(at, 1), curve(at, 2)], axis=1)
    (tau,) = clean.need("tau")
    rows = np.rint((smooth.time[:-1] - clean.time[0]) * smooth.rate_hz).astype(int)
    return Drive(smooth.time[:-1], motors, tau[rows], h, steps, cutoff_hz, smooth.notes)
