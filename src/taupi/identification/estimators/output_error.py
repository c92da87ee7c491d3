"""Elastic robots of which only the motors are measured: parameters whose simulation matches the recorded motor torques."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from taupi.checks import whole_number
from taupi.dynamics.terms import Term, TermsLike
from taupi.errors import Argument, InPython, NotIdentifiedError, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identification.equations.equations import ComparedTorques
from taupi.identification.equations.joints import MotorsOnly
from taupi.identification.friction.fitted_terms import (
    base_with_terms,
    friction_widths,
    resolve_fit_terms,
    unshaped_friction,
    with_friction_shapes,
)
from taupi.identification.hidden_links.links import HiddenLinks, drive_of, motor_log, smooth_motors
from taupi.identification.hidden_links.solver import Solver, torques_of
from taupi.identification.inputs import FitInputs, PriorLike
from taupi.identification.problem import prior_of
from taupi.identification.results.assemble import fit_record
from taupi.identification.results.fit import Fit, JointStatistics
from taupi.identification.results.status import Outcome, Status
from taupi.identification.results.uncertainty import uncertainty
from taupi.identification.results.validation import Validation, errors_of, validation_of
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.factors import JointFactor, triangle
from taupi.identification.rows.preparation import FitOptions, Preparation
from taupi.identification.rows.recording import Extent, LogRecord
from taupi.identification.solve import Solution, solve
from taupi.identification.tuning.friction_shape import default_shapes
from taupi.model.robot import Robot
from taupi.settings import settle
from taupi.signals.filtering.filters import noise_bandwidth_hz
from taupi.signals.log import Log
from taupi.signals.read import LogLike, whole_log
from taupi.signals.reading import Reading, Streaming

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The motors hardly determine a parameter whose relative error is larger than this.
_LOOSE = 0.5
# Length of a stretch of time for correlated residuals, in periods of the cutoff.
_PERIODS = 3


@dataclass(frozen=True, slots=True)
class OutputError:
    """Minimise sum |S^-1/2 (u - u_hat(theta, x, start))|^2: elastic joints of which only the motors are measured.

    The links are not measured. They are simulated from an unknown start, driven by the measured motors through their springs;
    u_hat is the torque that the motors then need. This is nonlinear least squares from the values of the description, with the
    sensitivities of the simulation, in a trust region; springs, rotors and friction are not negative. It is the output-error
    method of Gautier, Janot & Vandanjon (2013), but driven by positions, so that nothing drifts.

    Attributes:
        iterations: The largest number of steps in the trust region; 60 by default.
    """

    iterations: int = 60
    name: ClassVar[str] = "output_error"

    def __post_init__(self) -> None:
        whole_number("iterations", self.iterations)

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit of one log, and, if `validated`, the comparison of its torque with that of the log.

        `inputs` are those of `taupi.identify`. The log's theta, or its q if it has none, are the motor positions on the joint
        side of the gears.
        """
        equations = MotorsOnly(RowLayout(inputs.robot, elastic=True))
        log = _only_log(inputs)
        settings = inputs.preparation
        _refuse_unused(inputs, log)
        with errors_naming(log.source.path):
            motors = motor_log(log, inputs.robot, settings)
            smooth, cutoff_hz = smooth_motors(motors, settings)
        terms = resolve_fit_terms(equations.default_terms if inputs.terms is None else inputs.terms, True)
        terms = _with_smooth_friction(terms, equations.layout, smooth, settings)
        base = base_with_terms(inputs.robot, terms, inputs.base, elastic=True)
        links, prior = HiddenLinks(base), prior_of(inputs.prior, base)
        drive = drive_of(links, base.project(prior), smooth, motors, cutoff_hz)
        solver = Solver(links, drive, self.iterations)
        solver.solve(base.project(prior))
        settings = dataclasses.replace(settings, cutoff_hz=cutoff_hz)
        source, rate_hz = motors.source, 1 / (drive.h * drive.steps)
        name = os.path.basename(source.path) or "log"
        record = LogRecord(name, source.path, source.sha256, rate_hz, drive.cutoff_hz, notes=drive.notes)
        fit = _fit(solver, base, terms, prior, settings, record, inputs.seed)
        if not validated:
            return fit, ()
        seen, names = torques_of(solver, solver.x), fit.equations.layout.names[fit.robot.n :]
        compared = ComparedTorques(names, seen.time, seen.measured, seen.predicted, seen.raw, seen.notes)
        return fit, (validation_of(fit, compared, log),)


# Settings of the preparation that have no meaning where the links are simulated.
_UNUSED = (
    *("decimate", "order", "derivatives", "threshold", "leave_out", "torque", "encoder_delay", "known_torque"),
    "relative_gains",
)


def _refuse_unused(inputs: FitInputs, log: Log) -> None:
    """Refuse settings, and data in the log, that would have no effect: a fit must not claim what was not done."""
    if log.known_torque or log.tau_known is not None:
        raise TaupiError(
            "The log states a known torque, which has no meaning for {output_error}.", output_error=OutputError.name
        )
    default = Preparation()
    for name in _UNUSED:
        if getattr(inputs.preparation, name) != getattr(default, name):
            raise TaupiError(
                "{argument} has no meaning for {output_error}, which simulates the links.",
                remedy="Leave it out.",
                argument=Argument(name),
                output_error=OutputError.name,
            )
    if inputs.elastic is False:
        raise TaupiError("{elastic} is False, but {output_error} is for elastic joints.", output_error=OutputError.name)


def output_error(
    robot: Robot,
    log: LogLike,
    terms: TermsLike | None = None,
    *,
    prior: PriorLike = None,
    base: BaseParameters | None = None,
    iterations: int = 60,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[FitOptions],
) -> Fit:
    """Return base parameters of an elastic `robot` from its motors alone: `taupi.identify` with `OutputError(iterations)`.

    `log` is a Log or a path: its theta, or its q if it has none, are the motor positions on the joint side of the gears, its tau
    the motor torques. `terms` are those of `taupi.identify` for elastic joints, and "damping", by default; `prior` and `base` are
    as there. There are at most `iterations` (60) steps. All base parameters act on the motors; which of them a log determines
    follows from the sensitivities: see `fit.conditioning`, `fit.undetermined`, and the intervals.
    `reading` (`taupi.Streaming`) and `preparation` (`taupi.Preparation`) are given whole, or by their fields as `options`.

    >>> import taupi as tp
    >>> try:
    ...     tp.estimators.output_error(tp.load("elbow2r"), "run.csv")
    ... except tp.TaupiError as error:
    ...     print(str(error).split(".")[0])
    elbow2r has no elastic joint
    """
    settings, prepared = settle(output_error, options, (Streaming, reading), (Preparation, preparation))
    inputs = FitInputs(robot, [log], terms, base=base, prior=prior, reading=settings, preparation=prepared)
    return OutputError(iterations).fit_logs(inputs)[0]


def _only_log(inputs: FitInputs) -> Log:
    if len(inputs.logs) != 1:
        raise TaupiError(
            "{estimator} {output_error} takes one log, got {count}. Fit them one by one.",
            output_error=OutputError.name,
            count=len(inputs.logs),
        )
    if inputs.reading.stream:
        raise TaupiError(
            "{estimator} {output_error} needs the whole log at once.",
            remedy="Use {stream=False}.",
            output_error=OutputError.name,
        )
    return whole_log(inputs.logs[0], inputs.robot, inputs.reading)


def _with_smooth_friction(
    terms: Sequence[Term], layout: RowLayout, log: Log, settings: Preparation
) -> tuple[Term, ...]:
    """Return the terms with dry friction as tanh(qd / v), from the speeds in a smoothed log."""
    (speed,) = log.need("qd")
    directions = unshaped_friction(terms, layout)
    if not directions:
        return tuple(terms)
    speeds = np.concatenate([speed, speed], axis=1)  # links move about as their motors do
    along = speeds @ np.array(list(directions.values())).T
    low, high = along.min(axis=0), along.max(axis=0)
    widths = None if settings.slow is None else friction_widths(settings.slow, layout.robot.n)
    extent = Extent(np.maximum(-low, high), np.zeros(len(low)), low, high)
    return with_friction_shapes(terms, layout, default_shapes(list(directions), extent, widths))


def _pieces(solver: Solver, v: np.ndarray) -> list[JointFactor]:
    """Return the problem linearised at v, [slope, slope v + residual], weighted, for each motor and stretch of time."""
    slope, residual = solver.slope(v) * solver.weight[:, None], solver.residual(v) * solver.weight
    rate = 1 / (solver.drive.h * solver.drive.steps)
    length = max(8, round(_PERIODS * rate / solver.drive.cutoff_hz))
    share, result = min(1.0, 2 * noise_bandwidth_hz(solver.drive.cutoff_hz) / rate), []
    for k, start in enumerate(range(0, len(residual), length)):
        stretch = slice(start, start + length)
        for j in range(solver.links.n):
            rows = np.column_stack([slope[stretch, j], slope[stretch, j] @ v + residual[stretch, j]])
            result.append(JointFactor(0, j, triangle(rows), len(rows), 0.0, k, share))
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
            "{output_error}: {solver}.",
            remedy="Describe springs and inertias nearer to those of the robot{iterations}.",
            output_error=OutputError.name,
            solver=solver.message or "not solved",
            iterations=InPython(", or raise iterations"),
        )
    pieces = _pieces(solver, v)
    r = triangle(np.vstack([f.r for f in pieces]))
    linear = solve(r, v)
    uncertain = uncertainty(pieces, {}, v, linear.spread)
    square = np.asarray(np.linalg.qr(r, mode="r"))[size:, size:]  # the start eliminated
    conditioning = conditioning_of_factor(base.regressor(), len(solver.drive.time), square[:, :-1])
    solution = Solution(v[size:], linear.spread[size:], linear.undetermined[size:], linear.condition)
    fit = Fit(
        robot=base.robot,
        terms=terms,
        basis=base,
        values=solution.x,
        covariance=uncertain.covariance[size:, size:],
        undetermined=solution.undetermined | uncertain.unknown[size:],
        freedom=uncertain.freedom[size:],
        estimator=OutputError.name,
        settings={"iterations": solver.iterations, "motors_only": True, "preparation": settings.to_dict()},
        status=Status(Outcome.SOLVED, solver.message),
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
    """Return notes on what the motors alone determine."""
    loose = [n for n, e in zip(fit.names, fit.relative_error, strict=True) if e > _LOOSE]
    notes = ["the links were not measured: they are simulated, driven by the measured motors through their springs"]
    if fit.basis.sentence:
        notes.append(fit.basis.sentence)
    if loose:
        notes.append(f"hardly determined by the motors (relative error above {_LOOSE:.0%}): {', '.join(loose)}")
    return notes


def _statistics(solver: Solver, base: BaseParameters, v: np.ndarray) -> tuple[JointStatistics, ...]:
    """Return the statistics of each row; links, which were not measured, have no samples."""
    residual, tau, n = solver.residual(v), solver.torque, solver.links.n
    result = [JointStatistics(name, 0, 0.0, 0.0, 0.0, 0.0) for name in RowLayout.of(base).names[:n]]
    for j, name in enumerate(RowLayout.of(base).names[n:]):
        rms, relative, r2 = errors_of(tau[:, j], tau[:, j] - residual[:, j])
        result.append(JointStatistics(name, len(tau), rms, relative, r2, float(1 / solver.weight[j])))
    return tuple(result)
