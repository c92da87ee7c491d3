"""The links of an elastic robot whose motors alone are measured: simulated, driven by the motors of a log through the springs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.forward import solve_positive
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.signals.checking.clean import clean_log
from taupi.signals.checking.implausible import refuse_silence
from taupi.signals.checking.standstill import trim_standstill
from taupi.signals.filtering.delay import without_delays
from taupi.signals.filtering.filters import butterworth, choose_cutoff, edge_rows
from taupi.signals.log import Log
from taupi.signals.prepare import prepare

# Phase (rad) by which the fastest spring advances in one integration step, at most: RK4 is then accurate to 1e-4 of a period.
_PHASE = 0.5
# Largest number of steps from one sample to the next.
_MOST_STEPS = 64

Function = Any  # a cs.Function, or a Python function over its arguments


@dataclass(frozen=True, eq=False)
class Simulation:
    """Motor torques (N, n) of simulated links, their sensitivity (N, n, b + 2n) to base parameters and start, and q (N, n)."""

    torque: np.ndarray
    slope: np.ndarray
    q: np.ndarray


class HiddenLinks:
    """Links behind springs: M(q) qdd + ... = K (theta - q) + D (thetad - qd), integrated by RK4 for measured theta.

    The output is the torque that the motors then need; the base parameters x (b,) and the start (q, qd) of the links are unknown.
    Everything comes from the rows of the base regressor, which are linear in x: those of the links are solved for qdd.
    """

    def __init__(self, base: BaseParameters) -> None:
        self.base = base
        self.n, self.b = base.robot.n, base.count
        self._rate, self._torque = _functions(base)

    def frequency(self, x: np.ndarray, q: np.ndarray) -> float:
        """Return the largest angular frequency (rad/s) of the links, motors fixed, at base parameters x and posture q (n,)."""
        zero = np.zeros(self.n)
        state = np.concatenate([q, zero])
        s, m, parameters = cs.SX.sym("s", 2 * self.n), cs.SX.sym("m", 3 * self.n), cs.SX.sym("x", self.b)
        slope = cs.Function("slope", [s, m, parameters], [cs.jacobian(self._rate(s, m, parameters), s)])
        values = np.linalg.eigvals(np.array(slope(state, np.concatenate([q, zero, zero]), x)))
        return float(np.abs(values).max()) if np.isfinite(values).all() else np.inf

    def steps(self, x: np.ndarray, q: np.ndarray, rate_hz: float) -> int:
        """Return the number of integration steps per sample."""
        return int(np.clip(np.ceil(self.frequency(x, q) / (_PHASE * rate_hz)), 1, _MOST_STEPS))

    def run(self, x: np.ndarray, start: np.ndarray, motors: np.ndarray, h: float, steps: int) -> Simulation:
        """Simulate the links with base parameters x from `start`, (q, qd) (2n,).

        `motors` (2 N steps + 1, 3n) are (theta, thetad, thetadd) every half step; h is the length of a step, s.
        """
        loop, ends = _loop(self, steps, len(motors) // (2 * steps))
        now = motors[:-1].reshape(-1, 2 * steps, 3 * self.n)
        after = motors[2 * steps :: 2 * steps]
        block = np.concatenate([now.reshape(len(now), -1), after], axis=1).T
        first = np.concatenate([start, np.column_stack([np.zeros((2 * self.n, self.b)), np.eye(2 * self.n)]).T.ravel()])
        states = np.array(loop(first, block, x, h)).T
        states = np.vstack([first, states[:-1]])
        outputs = np.array(ends.map(len(states))(states.T, now[:, 0].T, np.tile(x[:, None], (1, len(states))))).T
        torque = outputs[:, : self.n]
        slope = outputs[:, self.n :].reshape(len(outputs), self.b + 2 * self.n, self.n).transpose(0, 2, 1)
        return Simulation(torque, slope, states[:, : self.n])


@lru_cache(maxsize=8)
def _functions(base: BaseParameters) -> tuple[Function, Function]:
    """Return d(q, qd)/dt and the motor torques as functions of (q, qd), (theta, thetad, thetadd) and x."""
    layout, n = RowLayout.of(base), base.robot.n
    program = base.regressor()
    s, m, x, qdd = (cs.SX.sym(name, size) for name, size in (("s", 2 * n), ("m", 3 * n), ("x", base.count), ("qdd", n)))
    sprung = list(layout.sprung)
    link = (s[:n], s[n:], qdd)
    motor = tuple(m[k * n : (k + 1) * n][sprung] for k in range(3))
    force = program(*link, *motor) @ x
    inertia = cs.jacobian(force[:n], qdd)
    rest = cs.substitute(force, qdd, cs.SX.zeros(n))
    acceleration = solve_positive(cs.densify(inertia), -rest[:n])
    torque = cs.substitute(force, qdd, acceleration)[list(layout.motors)]
    rate = cs.vertcat(s[n:], acceleration)
    return cs.Function("rate", [s, m, x], [rate]), cs.Function("torque", [s, m, x], [torque])


@lru_cache(maxsize=16)
def _loop(links: HiddenLinks, steps: int, samples: int) -> tuple[Function, Function]:
    """Return two functions: states with sensitivities over all samples, and the torque with its sensitivity at a state."""
    n, b = links.n, links.b
    width = b + 2 * n
    s, x, h = cs.SX.sym("s", 2 * n), cs.SX.sym("x", b), cs.SX.sym("h")
    m = [cs.SX.sym(f"m{k}", 3 * n) for k in range(3)]
    k1 = links._rate(s, m[0], x)
    k2 = links._rate(s + h / 2 * k1, m[1], x)
    k3 = links._rate(s + h / 2 * k2, m[1], x)
    k4 = links._rate(s + h * k3, m[2], x)
    end = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    step = cs.Function("step", [s, *m, x, h], [end, cs.jacobian(end, s), cs.jacobian(end, x)])
    state, block = cs.MX.sym("state", 2 * n * (1 + width)), cs.MX.sym("block", 3 * n * (2 * steps + 1))
    p, length = cs.MX.sym("x", b), cs.MX.sym("h")
    now, slope = state[: 2 * n], cs.reshape(state[2 * n :], 2 * n, width)
    for k in range(steps):
        part = [block[3 * n * (2 * k + j) : 3 * n * (2 * k + j + 1)] for j in range(3)]
        now, by_state, by_x = step(now, *part, p, length)
        slope = by_state @ slope + cs.horzcat(by_x, cs.MX.zeros(2 * n, 2 * n))
    one = cs.Function("sample", [state, block, p, length], [cs.vertcat(now, cs.vec(slope))])
    motor = cs.SX.sym("motor", 3 * n)
    # The torque at a state, with its total derivative: through the state, and directly.
    augmented, x = cs.SX.sym("augmented", 2 * n * (1 + width)), cs.SX.sym("x", b)
    here, sensitivity = augmented[: 2 * n], cs.reshape(augmented[2 * n :], 2 * n, width)
    u = links._torque(here, motor, x)
    s2 = cs.SX.sym("s2", 2 * n)
    u_state = cs.Function("u_state", [s2, motor, x], [cs.jacobian(links._torque(s2, motor, x), s2)])
    u_x = cs.Function("u_x", [s2, motor, x], [cs.jacobian(links._torque(s2, motor, x), x)])
    total = u_state(here, motor, x) @ sensitivity + cs.horzcat(u_x(here, motor, x), cs.SX(n, 2 * n))
    ends = cs.Function("ends", [augmented, motor, x], [cs.vertcat(u, cs.vec(total))])
    loop = one.mapaccum("loop", samples, 1)
    return lambda first, blocks, x, h: loop(first, blocks, np.tile(x[:, None], (1, samples)), h), ends


# Positions are filtered at this many times the cutoff, for their derivatives; the torques compared are filtered at the cutoff.
_WIDER = 4.0
_LINK_SIDE = ("q", "qd", "qdd")


@dataclass(frozen=True, eq=False)
class MotorSignals:
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
    RowLayout(robot).check(log)
    refuse_silence(log)
    clean = clean_log(log, gaps=settings)
    return without_delays(clean, clean.delays).with_(delays={}) if clean.delays else clean


def smooth_motors(clean: Log, settings: Preparation) -> tuple[Log, float]:
    """Return a clean log with positions filtered far above the cutoff, and the cutoff (Hz), chosen if it is not set."""
    cutoff = settings.cutoff_hz or choose_cutoff(clean.q, clean.rate_hz).hz
    moving = trim_standstill(clean) if settings.trim else clean
    wide = min(_WIDER * cutoff, 0.4 * clean.rate_hz)
    return prepare(moving, cutoff_hz=wide, velocity=settings.velocity, trim=False, decimate=1), float(cutoff)


def drive_of(links: HiddenLinks, x: np.ndarray, smooth: Log, clean: Log, cutoff_hz: float) -> MotorSignals:
    """Return the motors of a smoothed log on the grid that the simulation needs, with the recorded torques of the clean one."""
    from scipy.interpolate import CubicSpline

    steps = links.steps(x, smooth.q[0], smooth.rate_hz)
    h = 1 / (smooth.rate_hz * steps)
    curve = CubicSpline(smooth.time, smooth.q)
    at = smooth.time[0] + np.arange(2 * steps * (len(smooth) - 1) + 1) * h / 2
    motors = np.concatenate([curve(at), curve(at, 1), curve(at, 2)], axis=1)
    (tau,) = clean.need("tau")
    rows = np.rint((smooth.time[:-1] - clean.time[0]) * smooth.rate_hz).astype(int)
    return MotorSignals(smooth.time[:-1], motors, tau[rows], h, steps, cutoff_hz, smooth.notes)
