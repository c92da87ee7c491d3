"""Nonlinear least squares over parameters and start of links that are not measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.hidden_links.links import Answer, HiddenLinks
from taupi.identification.hidden_links.motor_log import Drive, drive_of, motors_of, smoothed_motors
from taupi.identification.rows.preparation import Preparation
from taupi.signals.log import Log

# Springs so many times as stiff as described are tried where the description's own lead nowhere.
_SCALES = (0.25, 0.5, 2.0, 4.0)
# A fit that leaves more than this share of the torque has led nowhere.
_NOWHERE = 0.5
# What the motors tell less of than this share of a column stays where it began.
_HELD = 3e-4
# A step that gains, or moves, by less than this share is the last: with 1e4 samples a third of a standard error.
_STILL = 1e-5
# Kinds of parameters that are not negative.
_POSITIVE = ("rotor_inertia", "stiffness", "damping", "viscous", "coulomb", "link_viscous", "link_coulomb")
# Steps to find where the links of a log start.
_START_STEPS = 20


class Solver:
    """Nonlinear least squares over (start, x): start first, so that it is eliminated first."""

    def __init__(self, links: HiddenLinks, drive: Drive, iterations: int) -> None:
        self.links, self.drive, self.iterations = links, drive, iterations
        self.size = 2 * links.n
        self.torque = drive.passed(drive.torque)
        self.weight = 1 / np.maximum(np.sqrt(np.mean(self.torque**2, axis=0)), 1e-12)
        self.x, self.ok, self.word = np.zeros(0), False, ""
        self._last: tuple[bytes, Answer] | None = None

    def answer(self, v: np.ndarray) -> Answer:
        """Return the simulation at (start, x), through the filter."""
        if self._last is None or self._last[0] != v.tobytes():
            d = self.drive
            answer = self.links.run(v[self.size :], v[: self.size], d.motors, d.h, d.steps)
            known = np.isfinite(answer.torque).all() and np.isfinite(answer.slope).all()
            torque, slope = (d.passed(x) if known else x for x in (answer.torque, answer.slope))
            self._last = (v.tobytes(), Answer(torque, slope, answer.q))
        return self._last[1]

    def residual(self, v: np.ndarray) -> np.ndarray:
        """Return F(u) - F(u_hat) (N, n)."""
        torque = self.answer(v).torque
        return self.torque - torque if len(torque) == len(self.torque) else np.full(self.torque.shape, np.nan)

    def slope(self, v: np.ndarray) -> np.ndarray:
        """Return d u_hat / d(start, x), (N, n, 2n + b)."""
        s = self.answer(v).slope
        return np.concatenate([s[:, :, self.links.b :], s[:, :, : self.links.b]], axis=2)

    def relative(self, v: np.ndarray) -> float:
        """Return the weighted residual's share of the weighted torque."""
        return float(np.linalg.norm(self.residual(v) * self.weight) / np.linalg.norm(self.torque * self.weight))

    def solve(self, x: np.ndarray, start: np.ndarray | None = None, only_start: bool = False) -> np.ndarray:
        """Return (start, x) of least squares; where the description leads nowhere, springs of other stiffness are tried."""
        start = self.drive.start if start is None else start
        best = self._once(np.concatenate([start, x]), only_start)
        if not only_start and not self.relative(best) < _NOWHERE:
            springs = [k for k, n in enumerate(self.links.base.names) if n.endswith((".stiffness", ".damping"))]
            for scale in _SCALES:
                other = x.copy()
                other[springs] *= scale
                found = self._once(np.concatenate([start, other]), only_start)
                best = found if self.relative(found) < self.relative(best) else best
        left = np.sqrt(np.mean(self.residual(best) ** 2, axis=0))
        if not only_start and np.isfinite(left).all() and (left > 0).all():
            self.weight = 1 / left
            best = self._once(best, only_start)
        self.x = best
        return best

    def _once(self, v: np.ndarray, only_start: bool) -> np.ndarray:
        from scipy.optimize import least_squares

        free = np.arange(self.size) if only_start else np.arange(len(v))
        everything = v.copy()

        def put(part: np.ndarray) -> np.ndarray:
            everything[free] = part
            return everything.copy()

        low = np.full(len(v), -np.inf)
        names = self.links.base.names
        low[[self.size + k for k, n in enumerate(names) if n.rpartition(".")[2] in _POSITIVE]] = 0.0
        first = np.maximum(v[free], low[free])
        if not np.isfinite(self.residual(put(first))).all():
            self.word = "no simulation at the description's values"
            return put(first)
        hold = _HELD * np.linalg.norm(
            (self.slope(put(first)) * self.weight[:, None]).reshape(-1, len(v))[:, free], axis=0
        )

        def left(p: np.ndarray) -> np.ndarray:
            return np.concatenate([(-self.residual(put(p)) * self.weight).ravel(), hold * (p - first)])

        def slope(p: np.ndarray) -> np.ndarray:
            return np.vstack([(self.slope(put(p)) * self.weight[:, None]).reshape(-1, len(v))[:, free], np.diag(hold)])

        found = least_squares(
            left,
            first,
            slope,
            bounds=(low[free], np.inf),
            x_scale="jac",
            ftol=_STILL,
            xtol=_STILL,
            max_nfev=self.iterations,
        )
        self.ok, self.word = bool(found.success), str(found.message)
        return put(found.x)


@dataclass(frozen=True, eq=False)
class MotorTorques:
    """The motors' torque of a log at `time` (N,): filtered, as simulated, and as recorded, (N, n) each."""

    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    raw: np.ndarray
    notes: tuple[str, ...]


def motor_torques(base: BaseParameters, values: np.ndarray, log: Log, settings: Preparation) -> MotorTorques:
    """Return the motors' torque that base parameters `values` (b,) explain; where the links start is found from the log."""
    log = motors_of(log, base.robot)
    smooth, cutoff_hz = smoothed_motors(log, settings)
    links = HiddenLinks(base)
    drive = drive_of(links, values, smooth, log, cutoff_hz)
    solver = Solver(links, drive, _START_STEPS)
    return torques_of(solver, solver.solve(values, only_start=True))


def torques_of(solver: Solver, v: np.ndarray) -> MotorTorques:
    """Return the torque of a solver's motors beside the one simulated at (start, x)."""
    drive, measured = solver.drive, solver.torque
    edge = (len(drive.time) - len(measured)) // 2
    time, raw = (x[edge : edge + len(measured)] for x in (drive.time, drive.torque))
    return MotorTorques(time, measured, measured - solver.residual(v), raw, drive.notes)
