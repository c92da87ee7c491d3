"""Elastic robots of which only the motors are measured: parameters for which the simulated answer is the recorded one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.drives import check_elastic
from taupi.dynamics.terms import Term, TermsLike
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identification.estimators.hidden_links import Answer, Behind
from taupi.identification.fitted_terms import basis_of, given_widths, open_friction, resolved, shaped
from taupi.identification.identify import ELASTIC_TERMS, frozen
from taupi.identification.problem import prior_of
from taupi.identification.results.fit import Fit, JointStatistics, Status
from taupi.identification.results.uncertainty import sandwich
from taupi.identification.results.validation import Validation, compared, errors_of
from taupi.identification.rows.equations import Equations
from taupi.identification.rows.factors import JointFactor, triangle
from taupi.identification.rows.recording import Extent, Preparation
from taupi.identification.solve import Solution, solve
from taupi.identification.tuning.friction_shape import plain_shapes
from taupi.model.robot import Robot
from taupi.signals.clean import clean_log
from taupi.signals.filters import butterworth, choose_cutoff, edge_rows
from taupi.signals.log import Log
from taupi.signals.prepare import prepare, trim_standstill
from taupi.signals.read import ColumnsLike, read_log
from taupi.version import __version__

NAME = "output_error"
# A link on a spring without damping would never forget how it was started.
TERMS = (*ELASTIC_TERMS, "damping")
# Springs so many times as stiff as described are tried where the description's own lead nowhere.
_SCALES = (0.25, 0.5, 2.0, 4.0)
# A fit that leaves more than this share of the torque has led nowhere.
_NOWHERE = 0.5
# What the motors tell less of than this share of a column stays where it began.
_HELD = 3e-4
# A step that gains, or moves, by less than this share is the last: with 1e4 samples a third of a standard error.
_STILL = 1e-5
# Positions are filtered at so many times the cutoff: for derivatives, while what is compared has the cutoff's own.
_WIDER = 4.0
# Kinds of parameters that are not negative.
_POSITIVE = ("rotor_inertia", "stiffness", "damping", "viscous", "coulomb", "link_viscous", "link_coulomb")
# A parameter with a larger relative error than this is not told by the motors.
_LOOSE = 0.5
# A stretch of time for correlated residuals lasts so many periods of the cutoff.
_PERIODS = 3


@dataclass(frozen=True, eq=False)
class Drive:
    """What the motors of a log did: positions every half step (2 N steps + 1, 3n), torque (N, n), and the length of a step.

    Positions come smoothed a little, torques as recorded; what is compared passes the same filter, F(u) = F(u_hat), but for a
    period of the cutoff at each end.
    """

    time: np.ndarray
    motors: np.ndarray
    torque: np.ndarray
    h: float
    steps: int
    cutoff_hz: float
    notes: tuple[str, ...]

    def passed(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) through the filter, without the ends."""
        rate = 1 / (self.h * self.steps)
        edge = edge_rows(rate, self.cutoff_hz)
        return butterworth(x, rate, self.cutoff_hz)[edge : len(x) - edge]

    @property
    def start(self) -> np.ndarray:
        """Where the links are at the start if springs are not bent: (q, qd), (2n,)."""
        n = self.torque.shape[1]
        return np.asarray(self.motors[0, : 2 * n])


def output_error(
    robot: Robot,
    log: Any,
    terms: TermsLike | None = None,
    *,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    cutoff_hz: float | None = None,
    slow: float | Sequence[float] | None = None,
    prior: Any = None,
    base: BaseParameters | None = None,
    iterations: int = 60,
) -> Fit:
    """Return base parameters of an elastic robot from motors alone: min sum |S^-1/2 (u - u_hat(theta, x, start))|^2.

    The links are not seen. They are simulated behind their springs, which the measured motors drive, from an unknown start;
    u_hat is the torque that the motors then need. Nonlinear least squares from the description's values, with the
    sensitivities of the simulation (a trust region; springs, rotors and friction not negative). `log` is a Log or a path: its
    theta, or its q where it has none, are the motors' positions as seen behind the gears, its tau their torque. `terms` are
    those of `taupi.identify` and "damping" by default. All base
    parameters act on the motors; which of them one log tells shows in the sensitivities: `fit.conditioning`,
    `fit.undetermined`, and the intervals. Output error as of Gautier, Janot & Vandanjon (2013), but driven by positions, so that
    nothing drifts.

    >>> import taupi as tp
    >>> try:
    ...     tp.output_error(tp.load("elbow2r"), "run.csv")
    ... except tp.TaupiError as error:
    ...     print(str(error).split(".")[0])
    elbow2r has no elastic joint
    """
    rows = _checked(robot)
    given = _motors(log, robot, columns, rate_hz)
    settings = Preparation(cutoff_hz, 1, slow=frozen(slow))
    ready, cutoff = _smoothed(given, settings)
    chosen = _smooth(resolved(TERMS if terms is None else terms, True), rows, ready, settings)
    basis = basis_of(robot, chosen, base, elastic=True)
    behind, start = Behind(basis), prior_of(prior, basis)
    drive = _drive(behind, basis.project(start), ready, given, cutoff)
    solver = _Solver(behind, drive, iterations)
    solver.solve(basis.project(start))
    settings = dataclasses.replace(settings, cutoff_hz=cutoff)
    return _fit(solver, basis, chosen, start, settings, given, drive)


def _checked(robot: Robot) -> Equations:
    if not isinstance(robot, Robot):
        raise TaupiError(f"robot is {shown(robot)}, expected a Robot: use taupi.load(...).")
    check_elastic(robot)
    rows = Equations(robot, elastic=True)
    if len(rows.sprung) < robot.n:
        stiff = [n for n in robot.joint_names if n not in robot.elastic_joints]
        raise TaupiError(f"{robot.name} has rigid joints ({', '.join(stiff)}), expected a spring in every joint.")
    return rows


def _motors(log: Any, robot: Robot, columns: ColumnsLike, rate_hz: float | None) -> Log:
    """Return a log whose q are the motors' positions."""
    if isinstance(log, str | os.PathLike):
        log = read_log(log, robot, columns, rate_hz=rate_hz)
    if not isinstance(log, Log):
        raise TaupiError(f"log is {shown(log)}, expected a Log or the path of a file.")
    log.need("tau")
    if log.theta is not None:
        log = log.with_(q=log.theta, qd=log.thetad, qdd=None, theta=None, thetad=None, thetadd=None)
    Equations(robot).refuse(log)
    return log


def _smooth(terms: Sequence[Term], rows: Equations, ready: Log, settings: Preparation) -> tuple[Term, ...]:
    (speed,) = ready.need("qd")
    directions = open_friction(terms, rows)
    if not directions:
        return tuple(terms)
    both = np.concatenate([speed, speed], axis=1)  # links move about as their motors do
    along = both @ np.array(list(directions.values())).T
    low, high = along.min(axis=0), along.max(axis=0)
    widths = None if settings.slow is None else given_widths(settings.slow, rows.robot.n)
    extent = Extent(np.maximum(-low, high), np.zeros(len(low)), low, high)
    return shaped(terms, rows, plain_shapes(list(directions), extent, widths))


def _smoothed(given: Log, settings: Preparation) -> tuple[Log, float]:
    """Return the log with positions filtered far above the cutoff, and the cutoff."""
    clean = clean_log(given)
    cutoff = settings.cutoff_hz or choose_cutoff(clean.q, clean.rate_hz).hz
    moving = trim_standstill(clean) if settings.trim else clean
    wide = min(_WIDER * cutoff, 0.4 * clean.rate_hz)
    return prepare(moving, cutoff_hz=wide, velocity=settings.velocity, trim=False, decimate=1), float(cutoff)


def _drive(behind: Behind, x: np.ndarray, ready: Log, given: Log, cutoff: float) -> Drive:
    """Return the motors of a prepared log on the grid that the simulation needs, with the torque as it was recorded."""
    from scipy.interpolate import CubicSpline

    steps = behind.steps(x, ready.q[0], ready.rate_hz)
    h = 1 / (ready.rate_hz * steps)
    curve = CubicSpline(ready.time, ready.q)
    at = ready.time[0] + np.arange(2 * steps * (len(ready) - 1) + 1) * h / 2
    motors = np.concatenate([curve(at), curve(at, 1), curve(at, 2)], axis=1)
    (tau,) = clean_log(given).need("tau")
    rows = np.rint((ready.time[:-1] - given.time[0]) * ready.rate_hz).astype(int)
    return Drive(ready.time[:-1], motors, tau[rows], h, steps, cutoff, ready.notes)


class _Solver:
    """Nonlinear least squares over (start, x): start first, so that it is eliminated first."""

    def __init__(self, behind: Behind, drive: Drive, iterations: int) -> None:
        self.behind, self.drive, self.iterations = behind, drive, iterations
        self.size = 2 * behind.n
        self.torque = drive.passed(drive.torque)
        self.weight = 1 / np.maximum(np.sqrt(np.mean(self.torque**2, axis=0)), 1e-12)
        self.x, self.ok, self.word = np.zeros(0), False, ""
        self._last: tuple[bytes, Answer] | None = None

    def answer(self, v: np.ndarray) -> Answer:
        """Return the simulation at (start, x), through the filter."""
        if self._last is None or self._last[0] != v.tobytes():
            d = self.drive
            told = self.behind.run(v[self.size :], v[: self.size], d.motors, d.h, d.steps)
            known = np.isfinite(told.torque).all() and np.isfinite(told.slope).all()
            torque, slope = (d.passed(x) if known else x for x in (told.torque, told.slope))
            self._last = (v.tobytes(), Answer(torque, slope, told.q))
        return self._last[1]

    def residual(self, v: np.ndarray) -> np.ndarray:
        """Return F(u) - F(u_hat) (N, n)."""
        torque = self.answer(v).torque
        return self.torque - torque if len(torque) == len(self.torque) else np.full(self.torque.shape, np.nan)

    def slope(self, v: np.ndarray) -> np.ndarray:
        """Return d u_hat / d(start, x), (N, n, 2n + b)."""
        s = self.answer(v).slope
        return np.concatenate([s[:, :, self.behind.b :], s[:, :, : self.behind.b]], axis=2)

    def relative(self, v: np.ndarray) -> float:
        """Return the weighted residual's share of the weighted torque."""
        return float(np.linalg.norm(self.residual(v) * self.weight) / np.linalg.norm(self.torque * self.weight))

    def solve(self, x: np.ndarray, start: np.ndarray | None = None, only_start: bool = False) -> np.ndarray:
        """Return (start, x) of least squares; where the description leads nowhere, springs of other stiffness are tried."""
        start = self.drive.start if start is None else start
        best = self._once(np.concatenate([start, x]), only_start)
        if not only_start and not self.relative(best) < _NOWHERE:
            springs = [k for k, n in enumerate(self.behind.base.names) if n.endswith((".stiffness", ".damping"))]
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
        whole = v.copy()

        def put(part: np.ndarray) -> np.ndarray:
            whole[free] = part
            return whole.copy()

        low = np.full(len(v), -np.inf)
        names = self.behind.base.names
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


def _pieces(solver: _Solver, v: np.ndarray) -> list[JointFactor]:
    """Return the linear problem around the answer, [slope, slope v + residual], weighed, by motor and stretch of time."""
    slope, left = solver.slope(v) * solver.weight[:, None], solver.residual(v) * solver.weight
    rate = 1 / (solver.drive.h * solver.drive.steps)
    long = max(8, round(_PERIODS * rate / solver.drive.cutoff_hz))
    result = []
    for k, at in enumerate(range(0, len(left), long)):
        here = slice(at, at + long)
        for j in range(solver.behind.n):
            rows = np.column_stack([slope[here, j], slope[here, j] @ v + left[here, j]])
            result.append(JointFactor(0, j, triangle(rows), len(rows), 0.0, k))
    return result


def _fit(
    solver: _Solver,
    basis: BaseParameters,
    terms: tuple[Term, ...],
    prior: np.ndarray,
    settings: Preparation,
    log: Log,
    drive: Drive,
) -> Fit:
    v, size = solver.x, solver.size
    if not solver.ok or not np.isfinite(solver.residual(v)).all():
        raise NotIdentifiedError(
            f"{NAME}: {solver.word or 'not solved'}. Describe springs and inertias nearer to the robot's, or raise iterations."
        )
    pieces = _pieces(solver, v)
    r = triangle(np.vstack([f.r for f in pieces]))
    whole = solve(r, v)
    covariance, freedom = sandwich(pieces, {}, v, whole.spread)
    square = np.asarray(np.linalg.qr(r, mode="r"))[size:, size:]  # the start eliminated
    seen = conditioning_of_factor(basis.regressor(), len(drive.time), square[:, :-1])
    solution = Solution(v[size:], whole.spread[size:], whole.undetermined[size:], whole.condition)
    fit = Fit(
        robot=basis.robot,
        terms=terms,
        basis=basis,
        values=solution.x,
        covariance=covariance[size:, size:],
        undetermined=solution.undetermined,
        freedom=freedom,
        estimator=NAME,
        settings={"iterations": solver.iterations, "preparation": settings.to_dict()},
        status=Status(True, solver.word, ""),
        conditioning=seen.to_dict(),
        joints=_statistics(solver, basis, v),
        notes=(*seen.sentences[:1], *drive.notes),
        provenance=_provenance(basis.robot, log, drive),
        prior=prior,
        triangle=square,
    )
    return dataclasses.replace(fit, notes=(*fit.notes, *_told(fit)))


def _told(fit: Fit) -> list[str]:
    """Return in words what motors alone tell."""
    loose = [n for n, e in zip(fit.names, fit.relative_error, strict=True) if e > _LOOSE]
    result = ["links were not seen: they are simulated behind their springs, which the measured motors drive"]
    if fit.basis.sentence:
        result.append(fit.basis.sentence)
    if loose:
        result.append(f"the motors hardly tell (relative error above {_LOOSE:.0%}): {', '.join(loose)}")
    return result


def _statistics(solver: _Solver, basis: BaseParameters, v: np.ndarray) -> tuple[JointStatistics, ...]:
    """Return each row's statistics; links, which were not seen, have no samples."""
    left, tau, n = solver.residual(v), solver.torque, solver.behind.n
    result = [JointStatistics(name, 0, 0.0, 0.0, 0.0, 0.0) for name in Equations.of(basis).names[:n]]
    for j, name in enumerate(Equations.of(basis).names[n:]):
        rms, relative, r2 = errors_of(tau[:, j], tau[:, j] - left[:, j])
        result.append(JointStatistics(name, len(tau), rms, relative, r2, float(1 / solver.weight[j])))
    return tuple(result)


def _provenance(robot: Robot, log: Log, drive: Drive) -> dict[str, Any]:
    rate = 1 / (drive.h * drive.steps)
    name = os.path.basename(log.source.path) or "log"
    run = {
        "name": name,
        "path": log.source.path,
        "sha256": log.source.sha256,
        "rate_hz": rate,
        "notes": list(drive.notes),
    }
    record = {"version": __version__, "robot": robot.name, "fingerprint": robot.fingerprint, "seed": 0}
    return {**record, "runs": [run]}


def validate_motors(fit: Fit, log: Log, settings: Preparation) -> Validation:
    """Return how a fit from motors alone predicts a log's motor torques; where the links start is found from the log."""
    given = _motors(log, fit.robot, None, None)
    ready, cutoff = _smoothed(given, settings)
    behind = Behind(fit.basis)
    drive = _drive(behind, fit.values, ready, given, cutoff)
    solver = _Solver(behind, drive, 20)
    v = solver.solve(fit.values, only_start=True)
    measured = solver.torque
    predicted = measured - solver.residual(v)
    edge = (len(drive.time) - len(measured)) // 2
    time, raw = (x[edge : edge + len(measured)] for x in (drive.time, drive.torque))
    motors = Equations.of(fit.basis).names[behind.n :]
    return compared(fit, time, measured, predicted, raw, log.source.path, drive.notes, motors)
