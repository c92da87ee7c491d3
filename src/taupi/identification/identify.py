"""From logs to a fit: `taupi.identify`, and the problem that it solves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from taupi.dynamics.terms import TermsLike
from taupi.errors import warn
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations.kinds import equations_of_logs
from taupi.identification.estimators import (
    AnyFit,
    EstimatorLike,
    Fitted,
    LogEstimator,
    own_estimator,
    resolve_estimator,
    triangle_estimator,
    with_knowledge,
)
from taupi.identification.estimators.consistent import problem_of_logs
from taupi.identification.inputs import FitInputs, LogsLike, PriorLike, log_list
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.verdict import Level
from taupi.identification.rows.preparation import FitOptions, Preparation
from taupi.model.robot import Robot
from taupi.settings import settle
from taupi.signals.reading import Reading, Streaming
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taupi.identification.physical.link_bounds import BoundsLike
    from taupi.identification.results.validation import Validation


def identify(
    robot: Robot,
    logs: LogsLike,
    estimator: EstimatorLike = "consistent",
    terms: TermsLike | None = None,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    prior_weight: float | None = None,
    bounds: BoundsLike = None,
    workers: int | None = None,
    seed: int = 0,
    contact: str | None = None,
    feet: str = "point",
    client: object = None,
    resume: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[FitOptions],
) -> AnyFit:
    """Return the base parameters pi_b of a robot, estimated from logs: tau = Y_b(q, qd, qdd) pi_b + noise.

    All logs are fitted together, each joint of each log with its own noise. `fit.verdict` says whether the fit is "good",
    "doubtful" or "wrong", and why, with the likely cause; if it is not good, there is also a warning.

    A robot with elastic joints is identified from both sides of its springs, (0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd)
    pi_b, from logs with q of the links, theta of the motors on the joint side of the gears, and tau = u, conjugate to theta
    (Zollo et al. 2014). The cutoff is then the one for which the parameters are most certain; it, and whether torques are held
    from sample to sample, are found from the first log, the delay of the encoders from all logs. If springs bend little beyond
    what their encoders resolve, the deflection is fitted as a measurement, with an offset of the encoders per log; `fit.springs`
    says what was found. If only the motors of elastic joints were measured, use `estimator="output_error"`.

    A floating robot is identified from logs of its joints, `log.base`, `log.wrench` and `log.contact`: six rows of its base and
    one per joint. The term "wrench_offset" is for force sensors that drift: a constant offset of each, in each log, is taken
    out. Forces of closed loops are taken out like unknown contact forces, for fixed robots too; a log of such a robot may
    contain only its motors, and the other joints follow by closing the loops.

    Logs of commands and encoders without torque, which state how the joints were driven (`taupi.Drive`, a [drive] table of the
    column mapping), are simulated in closed loop: the result is a `taupi.CommandFit`. Its terms are "rotor", "viscous",
    "coulomb", "offset", "position", "load", "stribeck", "masses" and "encoder"; by default those are taken that help to predict
    parts of the logs which were left out.

    Args:
        robot: The robot, as `taupi.load` returns it.
        logs: A Log, a path, or a list of both. A path may be a pattern (runs/*.csv), or an address (s3://bucket/run-*.parquet;
            extra `remote`), with credentials from the environment. Large files are streamed in blocks, which does not change the
            result: what cannot be done block by block is refused.
        estimator: A name, "consistent" by default, or an object such as `taupi.estimators.Feasible(total_mass=(20, 30))`.
        terms: The columns of each joint besides those of its link, as objects or names; by default rotor inertia, an offset and
            friction, which may grow with the load of the gear and bend with speed.
        elastic: Whether joints have springs; None, the default, lets the description decide, and False takes them as rigid.
        base: The base parameters for these terms, if they are known already; computed by default.
        prior: Standard parameters (p,), kg, kg m, kg m^2, or a robot, used where the logs leave parameters undetermined; those
            of the description by default.
        prior_weight: Of the parameters whose sum of squares is at most 1 + `prior_weight` times the least, those nearest to the
            prior are taken; for "ridge" it is the weight. The estimator's own by default.
        bounds: Bounds on links, {"forearm": {"mass": (3, 5)}, "total_mass": (20, 30)}, or the path of a TOML file that holds the
            same; none by default. A link has a "mass" (lower, upper), kg, a "centre" of mass within (lower corner, upper
            corner), m, and a "box" (corners), an "ellipsoid" (centre, radii) or a "hull" (points) around its body, m, in the
            frame of the link; "*" stands for every link.
        workers: How many files are processed at once, by default the number of cores. It does not change the result.
        seed: For everything random, such as which eight of many logs settings are chosen from; 0 by default, kept in the fit's
            record.
        contact: What is done about contact forces of a floating robot. "measured": their wrenches are part of the equations;
            "base": only the six rows of the base are used, which need no torque of the joints; "projected": unknown forces at the
            frames in contact are taken out of the equations. None, the default, takes what the log has.
        feet: Whether frames in contact that are projected touch at a "point", the default, which transmits only forces, or are
            "flat".
        client: A `dask.distributed.Client`, or the address of a scheduler (extra `cluster`): its workers read and compress the
            logs, which they must be able to open. By default this process does. On machines of one kind, no bit of the estimate
            depends on it.
        resume: A folder in which the pieces of logs that a `client` has finished are kept, so that the same call continues after
            an interruption; none by default.
        skip_bad: Whether logs that cannot be used are left out and named in the notes of the fit; False by default.
        reading: How files are read, a `taupi.Streaming`.
        preparation: How logs become rows, a `taupi.Preparation`: filters, slow samples, delays.
        options: The fields of `reading` and `preparation` as keywords, such as `cutoff_hz=10`.

    Returns:
        The fit: estimates, standard errors, verdict, notes and record; a `CommandFit` of logs without torque.

    Raises:
        TaupiError: If a log cannot be used, or if the arguments contradict each other or the robot.
        NotIdentifiedError: If the logs do not determine what was asked for.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fit = tp.identify(arm, log, terms=(), cutoff_hz=10)
    >>> bool(np.abs(fit.values - fit.basis.project(arm.parameters)).max() < 0.01)
    True
    """
    read, prepared = settle(identify, options, (Streaming, reading), (Preparation, preparation))
    inputs = FitInputs(
        robot,
        log_list(logs),
        terms,
        elastic=elastic,
        base=base,
        prior=prior,
        workers=workers,
        seed=seed,
        reading=read,
        preparation=prepared,
        contact=contact,
        feet=feet,
        client=client,
        resume=resume,
        skip_bad=skip_bad,
    )
    fit = fit_inputs(inputs, with_knowledge(estimator, bounds, prior_weight))[0]
    if fit.verdict.level is not Level.GOOD:
        warn("The fit is {level}. {reasons}", level=fit.verdict.level, reasons=" ".join(fit.verdict.reasons))
    return fit


@small_algebra
def build_problem(
    robot: Robot,
    logs: LogsLike,
    terms: TermsLike | None = None,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    workers: int | None = None,
    seed: int = 0,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[FitOptions],
) -> Problem:
    """Return the problem that `taupi.identify` solves, its logs prepared and compressed: a second estimator then costs little.

    Args:
        robot: The robot.
        logs: A Log, a path, or a list of both.
        terms: The joint terms, as in `taupi.identify`.
        elastic: Whether joints have springs; None, the default, lets the description decide.
        base: The base parameters for these terms; computed by default.
        prior: Standard parameters (p,), or a robot, for what the logs leave open; those of the description by default.
        workers: How many files are processed at once; by default the number of cores.
        seed: For everything random; 0 by default.
        reading: How files are read, a `taupi.Streaming`.
        preparation: How logs become rows, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The problem, which every estimator with a method `fit` takes.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> problem = tp.estimators.build_problem(arm, log, terms=("viscous",))
    >>> problem.conditioning.rank, len(problem.factors)
    (8, 2)
    >>> fits = [e.fit(problem) for e in (tp.estimators.OrdinaryLeastSquares(), tp.estimators.WeightedLeastSquares())]
    """
    settings, prepared = settle(build_problem, options, (Streaming, reading), (Preparation, preparation))
    inputs = FitInputs(
        robot,
        log_list(logs),
        terms,
        elastic=elastic,
        base=base,
        prior=prior,
        workers=workers,
        seed=seed,
        reading=settings,
        preparation=prepared,
    )
    return problem_of_logs(inputs)


@small_algebra
def fit_inputs(inputs: FitInputs, estimator: EstimatorLike, validated: bool = False) -> Fitted:
    """Return the fit of an estimator, and, if `validated`, the comparison of its torque with that of the fitted logs.

    The logs are those already in memory: none is read or prepared again. Logs that were streamed are left out.
    """
    equations, resolved = equations_of_logs(inputs), resolve_estimator(estimator)
    if equations.own_estimator is not None:
        return own_estimator(equations.own_estimator, resolved, equations.kind).fit_logs(inputs, validated)
    if not equations.rows_can_be_repeated:
        resolved = triangle_estimator(resolved, f"for {equations.kind}")
    if isinstance(resolved, LogEstimator):
        fitted = resolved.fit_logs(inputs, validated)
    else:
        problem = problem_of_logs(inputs)
        fit = _judged(resolved.fit(problem), problem)
        fitted = fit, _validations(fit, problem, inputs) if validated else ()
    if isinstance(fitted[0], Fit):
        _warn_of_springs(fitted[0])
    return fitted


def _judged(fit: Fit, problem: Problem) -> Fit:
    """Return a fit with its verdict, and with what the description could do for it."""
    from taupi.identification.results.description_errors import entropic_offer
    from taupi.identification.verdict.judge import judge

    # Nothing can be tried on rows that are not made again: the verdict rests on the fit alone.
    if not problem.recordings:
        return fit
    offer = entropic_offer(problem, fit)
    return replace(fit, judged=judge(fit, problem), notes=fit.notes if offer is None else (*fit.notes, offer))


def _validations(fit: Fit, problem: Problem, inputs: FitInputs) -> tuple[Validation, ...]:
    """Return how well a fit predicts the logs that it was made from, those of them that are in memory."""
    from taupi.identification.results.validation import validate_log, validate_recordings

    if not problem.recordings:
        return tuple(validate_log(fit, log, inputs.reading, {}) for log in problem.logs)
    return tuple(validate_recordings(fit, [recording]) for recording in problem.in_memory)


def _warn_of_springs(fit: Fit) -> None:
    """Warn about springs that the logs do not determine."""
    for spring in fit.springs if fit.fits_deflection else ():
        if not spring.determined:
            warn("The spring of {joint} is not determined: {reason}.", joint=spring.joint, reason=spring.reason)
