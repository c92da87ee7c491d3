"""Nonlinear least squares over the parameters, and the initial state, of links that are not measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import kind_of
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.hidden_links.links import (
    HiddenLinks,
    MotorSignals,
    Simulation,
    drive_of,
    motor_log,
    smooth_motors,
)
from taupi.identification.rows.preparation import Preparation
from taupi.signals.log import Log

# Factors on the described stiffness that are tried if the search from the described one fails.
_SCALES = (0.25, 0.5, 2.0, 4.0)
# A search has failed if it leaves more than this share of the torque unexplained.
_FAILED = 0.5
# Strength, relative to a parameter's column, of the pull to its initial value, for what the motors do not determine.
_PULL = 3e-4
# The search ends when a step gains, or moves, less than this share: with 1e4 samples, a third of a standard error.
_TOLERANCE = 1e-5
# Largest number of steps of the search for the initial state alone.
_START_STEPS = 20


class Solver:
    """Nonlinear least squares over v = (start, x); the start comes first, so that it is eliminated first."""

    def __init__(self, links: HiddenLinks, drive: MotorSignals, iterations: int) -> None:
        self.links, self.drive, self.iterations = links, drive, iterations
        self.size = 2 * links.n
        self.torque = drive.filter(drive.torque)
        self.weight = 1 / np.maximum(np.sqrt(np.mean(self.torque**2, axis=0)), 1e-12)
        self.x, self.ok, self.message = np.zeros(0), False, ""
        self._last: tuple[bytes, Simulation] | None = None

    def simulate(self, v: np.ndarray) -> Simulation:
        """Return the simulation at v, its torque and slope filtered; the last one is kept."""
        if self._last is None or self._last[0] != v.tobytes():
            d = self.drive
            raw = self.links.run(v[self.size :], v[: self.size], d.motors, d.h, d.steps)
            finite = np.isfinite(raw.torque).all() and np.isfinite(raw.slope).all()
            torque, slope = (d.filter(x) if finite else x for x in (raw.torque, raw.slope))
            self._last = (v.tobytes(), Simulation(torque, slope, raw.q))
        return self._last[1]

    def residual(self, v: np.ndarray) -> np.ndarray:
        """Return F(u) - F(u_hat) (N, n)."""
        torque = self.simulate(v).torque
        return self.torque - torque if len(torque) == len(self.torque) else np.full(self.torque.shape, np.nan)

    def slope(self, v: np.ndarray) -> np.ndarray:
        """Return d F(u_hat) / dv, (N, n, 2n + b)."""
        s = self.simulate(v).slope
        return np.concatenate([s[:, :, self.links.b :], s[:, :, : self.links.b]], axis=2)

    def relative(self, v: np.ndarray) -> float:
        """Return the weighted residual as a share of the weighted torque."""
        return float(np.linalg.norm(self.residual(v) * self.weight) / np.linalg.norm(self.torque * self.weight))

    def solve(self, x: np.ndarray, start: np.ndarray | None = None, only_start: bool = False) -> np.ndarray:
        """Return v of least squares from initial values; if the search from these fails, other stiffnesses are tried."""
        start = self.drive.start if start is None else start
        best = self._search(np.concatenate([start, x]), only_start)
        if not only_start and not (least := self.relative(best)) < _FAILED:
            springs = [k for k, n in enumerate(self.links.base.names) if n.endswith((".stiffness", ".damping"))]
            for scale in _SCALES:
                scaled = x.copy()
                scaled[springs] *= scale
                v = self._search(np.concatenate([start, scaled]), only_start)
                error = self.relative(v)
                if error < least or np.isnan(least):  # the simulation of the described values may diverge
                    best, least = v, error
        noise = np.sqrt(np.mean(self.residual(best) ** 2, axis=0))
        if not only_start and np.isfinite(noise).all() and (noise > 0).all():
            self.weight = 1 / noise
            best = self._search(best, only_start)
        self.x = best
        return best

    def _search(self, v: np.ndarray, only_start: bool) -> np.ndarray:
        """Return v of least squares from one initial v; `ok` and `message` say how it went."""
        from scipy.optimize import least_squares

        free = np.arange(self.size) if only_start else np.arange(len(v))
        current = v.copy()

        def complete(part: np.ndarray) -> np.ndarray:
            current[free] = part
            return current.copy()

        low = np.full(len(v), -np.inf)
        names = self.links.base.names
        low[[self.size + k for k, n in enumerate(names) if kind_of(n.rpartition(".")[2]).sign != "any"]] = 0.0
        first = np.maximum(v[free], low[free])
        if not np.isfinite(self.residual(complete(first))).all():
            self.message = "the simulation diverges at the values of the description"
            return complete(first)

        def weighted_slope(p: np.ndarray) -> np.ndarray:
            return np.asarray((self.slope(complete(p)) * self.weight[:, None]).reshape(-1, len(v))[:, free])

        pull = _PULL * np.linalg.norm(weighted_slope(first), axis=0)

        def residual(p: np.ndarray) -> np.ndarray:
            return np.concatenate([(-self.residual(complete(p)) * self.weight).ravel(), pull * (p - first)])

        optimum = least_squares(
            residual,
            first,
            lambda p: np.vstack([weighted_slope(p), np.diag(pull)]),
            bounds=(low[free], np.inf),
            x_scale="jac",
            ftol=_TOLERANCE,
            xtol=_TOLERANCE,
            max_nfev=self.iterations,
        )
        self.ok, self.message = bool(optimum.success), str(optimum.message)
        return complete(optimum.x)


@dataclass(frozen=True, eq=False)
class MotorTorques:
    """The motor torques of a log at `time` (N,), (N, n) each: filtered, as simulated, and as recorded."""

    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    raw: np.ndarray
    notes: tuple[str, ...]


def motor_torques(base: BaseParameters, values: np.ndarray, log: Log, settings: Preparation) -> MotorTorques:
    """Return the motor torques of a log, and those simulated with base parameters `values` (b,).

    The initial state of the links is found from the log.
    """
    log = motor_log(log, base.robot, settings)
    smooth, cutoff_hz = smooth_motors(log, settings)
    links = HiddenLinks(base)
    drive = drive_of(links, values, smooth, log, cutoff_hz)
    solver = Solver(links, drive, _START_STEPS)
    return torques_of(solver, solver.solve(values, only_start=True))


def torques_of(solver: Solver, v: np.ndarray) -> MotorTorques:
    """Return the motor torques of a solver's log, and those simulated at v."""
    drive, measured = solver.drive, solver.torque
    edge = (len(drive.time) - len(measured)) // 2
    time, raw = (x[edge : edge + len(measured)] for x in (drive.time, drive.torque))
    return MotorTorques(time, measured, measured - solver.residual(v), raw, drive.notes)
