"""Elastic robots of which only the motors are measured: parameters for which the simulated answer is the recorded one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taupi.checks import whole_number
from taupi.dynamics.drives import check_elastic
from taupi.dynamics.terms import Term, TermsLike
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identification.equations import Equations
from taupi.identification.friction.fitted_terms import basis_of, given_widths, open_friction, resolved, shaped
from taupi.identification.hidden_links.links import HiddenLinks
from taupi.identification.hidden_links.motor_log import Drive, drive_of, motors_of, smoothed_motors
from taupi.identification.hidden_links.solver import Solver, torques_of
from taupi.identification.inputs import ELASTIC_TERMS, FitInputs, LogLike
from taupi.identification.problem import prior_of
from taupi.identification.results.assemble import fit_record
from taupi.identification.results.fit import Fit, JointStatistics, Outcome, Status
from taupi.identification.results.uncertainty import sandwich
from taupi.identification.results.validation import Validation, compared, errors_of
from taupi.identification.rows.block_source import naming
from taupi.identification.rows.factors import JointFactor, triangle
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Extent, LogRecord
from taupi.identification.solve import Solution, solve
from taupi.identification.tuning.friction_shape import plain_shapes
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.log import Log
from taupi.signals.read import read_log
from taupi.signals.reading import Streaming

# A link on a spring without damping would never forget how it was started.
TERMS = (*ELASTIC_TERMS, "damping")
# A parameter with a larger relative error than this is not told by the motors.
_LOOSE = 0.5
# A stretch of time for correlated residuals lasts so many periods of the cutoff.
_PERIODS = 3


@dataclass(frozen=True, slots=True)
class OutputError:
    """Minimise sum |S^-1/2 (u - u_hat(theta, x, start))|^2: elastic joints of which only the motors are measured.

    The links are not seen. They are simulated behind their springs, which the measured motors drive, from an unknown start;
    u_hat is the torque that the motors then need. Nonlinear least squares from the description's values, with the
    sensitivities of the simulation (a trust region of at most so many `iterations`; springs, rotors and friction not negative).
    Output error as of Gautier, Janot & Vandanjon (2013), but driven by positions, so that nothing drifts.
    """

    iterations: int = 60
    name: ClassVar[str] = "output_error"

    def __post_init__(self) -> None:
        whole_number("iterations", self.iterations)

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit of one log, whose theta, or q where it has none, are the motors' positions as seen behind the gears."""
        equations = _elastic_equations(inputs.robot)
        log = _only_log(inputs)
        settings = dataclasses.replace(inputs.preparation, decimate=1)
        with naming(log.source.path):
            motors = motors_of(log, inputs.robot)
            smooth, cutoff_hz = smoothed_motors(motors, settings)
        asked = resolved(TERMS if inputs.terms is None else inputs.terms, True)
        terms = _with_smooth_friction(asked, equations, smooth, settings)
        base = basis_of(inputs.robot, terms, inputs.base, elastic=True)
        links, prior = HiddenLinks(base), prior_of(inputs.prior, base)
        drive = drive_of(links, base.project(prior), smooth, motors, cutoff_hz)
        solver = Solver(links, drive, self.iterations)
        solver.solve(base.project(prior))
        settings = dataclasses.replace(settings, cutoff_hz=cutoff_hz)
        fit = _fit(solver, base, terms, prior, settings, _log_record(motors, drive), inputs.seed)
        return fit, (_own_validation(fit, solver, log),) if validated else ()


@takes(reading=Streaming, preparation=Preparation)
def output_error(
    robot: Robot,
    log: LogLike,
    terms: TermsLike | None = None,
    *,
    prior: Any = None,
    base: BaseParameters | None = None,
    iterations: int = 60,
    reading: Streaming,
    preparation: Preparation,
) -> Fit:
    """Return base parameters of an elastic `robot` from motors alone: `taupi.identify` with `OutputError(iterations)`.

    `log` is a Log or a path: its theta, or its q where it has none, are the motors' positions as seen behind the gears, its tau
    their torque. `terms` are those of `taupi.identify` and "damping" by default; `prior` and `base` as there, `iterations` at
    most. All base parameters act on the motors; which of them one log tells shows in the sensitivities: `fit.conditioning`,
    `fit.undetermined`, and the intervals.

    >>> import taupi as tp
    >>> try:
    ...     tp.output_error(tp.load("elbow2r"), "run.csv")
    ... except tp.TaupiError as error:
    ...     print(str(error).split(".")[0])
    elbow2r has no elastic joint
    """
    inputs = FitInputs(robot, [log], terms, None, base, prior, reading=reading, preparation=preparation)
    return OutputError(iterations).fit_logs(inputs)[0]


def _only_log(inputs: FitInputs) -> Log:
    if len(inputs.logs) != 1:
        raise TaupiError(
            f"{OutputError.name} takes one log, got {len(inputs.logs)}. Cut a longer one, or fit them one by one."
        )
    log = inputs.logs[0]
    if isinstance(log, str | os.PathLike):
        return read_log(log, inputs.robot, reading=inputs.reading)
    if not isinstance(log, Log):
        raise TaupiError(f"log is {log!r}, expected a Log or the path of a file.")
    return log


def _elastic_equations(robot: Robot) -> Equations:
    check_elastic(robot)
    rows = Equations(robot, elastic=True)
    if len(rows.sprung) < robot.n:
        stiff = [n for n in robot.joint_names if n not in robot.elastic_joints]
        raise TaupiError(f"{robot.name} has rigid joints ({', '.join(stiff)}), expected a spring in every joint.")
    return rows


def _with_smooth_friction(
    terms: Sequence[Term], rows: Equations, ready: Log, settings: Preparation
) -> tuple[Term, ...]:
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


def _pieces(solver: Solver, v: np.ndarray) -> list[JointFactor]:
    """Return the linear problem around the answer, [slope, slope v + residual], weighed, by motor and stretch of time."""
    slope, left = solver.slope(v) * solver.weight[:, None], solver.residual(v) * solver.weight
    rate = 1 / (solver.drive.h * solver.drive.steps)
    long = max(8, round(_PERIODS * rate / solver.drive.cutoff_hz))
    result = []
    for k, at in enumerate(range(0, len(left), long)):
        here = slice(at, at + long)
        for j in range(solver.links.n):
            rows = np.column_stack([slope[here, j], slope[here, j] @ v + left[here, j]])
            result.append(JointFactor(0, j, triangle(rows), len(rows), 0.0, k))
    return result


def _fit(
    solver: Solver,
    base: BaseParameters,
    terms: tuple[Term, ...],
    prior: np.ndarray,
    settings: Preparation,
    log: LogRecord,
    seed: int,
) -> Fit:
    v, size = solver.x, solver.size
    if not solver.ok or not np.isfinite(solver.residual(v)).all():
        raise NotIdentifiedError(
            f"{OutputError.name}: {solver.word or 'not solved'}. Describe springs and inertias nearer to the robot's, or raise "
            "iterations."
        )
    pieces = _pieces(solver, v)
    r = triangle(np.vstack([f.r for f in pieces]))
    linear = solve(r, v)
    covariance, freedom = sandwich(pieces, {}, v, linear.spread)
    square = np.asarray(np.linalg.qr(r, mode="r"))[size:, size:]  # the start eliminated
    conditioning = conditioning_of_factor(base.regressor(), len(solver.drive.time), square[:, :-1])
    solution = Solution(v[size:], linear.spread[size:], linear.undetermined[size:], linear.condition)
    fit = Fit(
        robot=base.robot,
        terms=terms,
        basis=base,
        values=solution.x,
        covariance=covariance[size:, size:],
        undetermined=solution.undetermined,
        freedom=freedom,
        estimator=OutputError.name,
        settings={"iterations": solver.iterations, "motors_only": True, "preparation": settings.to_dict()},
        status=Status(Outcome.SOLVED, solver.word),
        conditioning=conditioning.to_dict(),
        joints=_statistics(solver, base, v),
        notes=(*conditioning.sentences[:1], *solver.drive.notes),
        logs=(log,),
        record=fit_record(base.robot, seed),
        prior=prior,
        triangle=square,
    )
    return dataclasses.replace(fit, notes=(*fit.notes, *_notes(fit)))


def _notes(fit: Fit) -> list[str]:
    """Return in words what motors alone tell."""
    loose = [n for n, e in zip(fit.names, fit.relative_error, strict=True) if e > _LOOSE]
    notes = ["links were not seen: they are simulated behind their springs, which the measured motors drive"]
    if fit.basis.sentence:
        notes.append(fit.basis.sentence)
    if loose:
        notes.append(f"the motors hardly tell (relative error above {_LOOSE:.0%}): {', '.join(loose)}")
    return notes


def _statistics(solver: Solver, base: BaseParameters, v: np.ndarray) -> tuple[JointStatistics, ...]:
    """Return each row's statistics; links, which were not seen, have no samples."""
    left, tau, n = solver.residual(v), solver.torque, solver.links.n
    result = [JointStatistics(name, 0, 0.0, 0.0, 0.0, 0.0) for name in Equations.of(base).names[:n]]
    for j, name in enumerate(Equations.of(base).names[n:]):
        rms, relative, r2 = errors_of(tau[:, j], tau[:, j] - left[:, j])
        result.append(JointStatistics(name, len(tau), rms, relative, r2, float(1 / solver.weight[j])))
    return tuple(result)


def _log_record(log: Log, drive: Drive) -> LogRecord:
    name = os.path.basename(log.source.path) or "log"
    return LogRecord(name, log.source.path, log.source.sha256, 1 / (drive.h * drive.steps), notes=drive.notes)


def _own_validation(fit: Fit, solver: Solver, log: Log) -> Validation:
    motors, names = torques_of(solver, solver.x), Equations.of(fit.basis).names[fit.robot.n :]
    return compared(
        fit, motors.time, motors.measured, motors.predicted, motors.raw, log.source.path, motors.notes, names
    )
