"""From logs to a fit: `taupi.identify`, and the problem that it solves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, TaupiError, warn
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.build import build
from taupi.identification.estimators import Estimator, EstimatorLike, LogEstimator, resolve_estimator, with_knowledge
from taupi.identification.inputs import FitInputs, LogsLike, PriorLike, log_list
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.verdict import Level
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.reading import Streaming
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from taupi.identification.physical.bounds import BoundsLike
    from taupi.identification.results.validation import Validation

# Estimators that start from the triangles of all rows; the others pass over logs again, or simulate them.
TRIANGLE_ESTIMATORS = ("consistent", "wls", "ols", "ridge", "entropic", "feasible")


@takes(reading=Streaming, preparation=Preparation)
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
    client: Any = None,
    resume: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    reading: Streaming,
    preparation: Preparation,
) -> Fit:
    """Return the base parameters pi_b of a `robot`, estimated from `logs`: tau = Y_b(q, qd, qdd) pi_b + noise.

    `logs` is a Log, a path, or a list of both; they are fitted together, each joint of each log with its own noise. `estimator`
    is a name ("consistent" by default, "wls", ...), or an object such as `taupi.estimators.Feasible(total_mass=(20, 30))`.
    `terms` are the columns of each joint besides those of its link: rotor inertia, an offset and friction by default, which may
    grow with the load of the gear and bend with speed. `base` are the base parameters for these terms, if you have them already;
    by default they are computed. `prior` are standard parameters (p,), or a robot, used where the logs leave parameters
    undetermined; by default those of the description. With a `prior_weight`, the parameters nearest to the prior are taken whose
    sum of squares is at most 1 + `prior_weight` times the least (for "ridge" it is the weight). `bounds` on links are a mapping,
    such as {"forearm": {"mass": (3, 5)}, "total_mass": (20, 30)}, or the path of a TOML file that holds the same; a link has a
    "mass" (lower, upper), kg, a "centre" of mass within (lower corner, upper corner), m, and a "box" (corners), an "ellipsoid"
    (centre, radii) or a "hull" (points) around its body, m, in the frame of the link; "*" stands for every link. There are none
    by default. `workers` is the number of files processed at once, by default the number of cores. Large files are streamed in
    blocks. None of this changes the result: what cannot be done block by block is refused. `seed` (0) is for everything random,
    such as which eight of many logs settings are chosen from, and is kept in the fit's record.

    A path may be a pattern (runs/*.csv), or an address (s3://bucket/run-*.parquet; extra `remote`), with credentials from the
    environment. With a `client`, a `dask.distributed.Client` or the address of a scheduler (extra `cluster`), the workers of a
    cluster read and compress the logs, which they must be able to open; by default, this process does. On machines of one kind,
    no bit of the estimate depends on it. `resume` is a folder in which the pieces of finished logs are kept, so that the same
    call continues after an interruption; none by default. With `skip_bad` (False), logs that cannot be used are left out, and
    the notes of the fit name them.

    `fit.verdict` says whether the fit is "good", "doubtful" or "wrong", and why, with the likely cause; if it is not good, there
    is also a warning.

    A robot with elastic joints is identified from both sides of its springs, (0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd)
    pi_b, from logs with q of the links, theta of the motors on the joint side of the gears, and tau = u, conjugate to theta
    (Zollo et al. 2014). The cutoff is then the one for which the parameters are most certain; it, and whether torques are held
    from sample to sample, are found from the first log. The delay of the encoders is found from all logs. If springs bend little
    beyond what their encoders resolve, the deflection is fitted as a measurement, with an offset of the encoders per log;
    `fit.springs` says what was found. `elastic=False` takes the joints as rigid; by default the description decides. If only
    the motors of elastic joints were measured, use `estimator="output_error"`.

    A floating robot is identified from logs of its joints, `log.base`, `log.wrench` and `log.contact`: six rows of its base and
    one per joint. `contact` says what is done about contact forces. With "measured" their wrenches are part of the equations,
    with "base" only the six rows of the base are used, which need no torque of the joints, and with "projected" unknown forces
    at the frames in contact are taken out of the equations. None, the default, takes what the log has. `feet` says whether frames
    in contact that are projected touch at a "point" (the default), which transmits only forces, or are "flat". The term
    "wrench_offset" is for force sensors that drift: a constant offset of each, in each log, is taken out. Forces of closed
    loops are taken out in the same way, for fixed robots too; a log of such a robot may contain only its motors, and the other
    joints follow by closing the loops.

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
    settings = (elastic, base, prior, workers, seed, reading, preparation, contact, feet, client, resume, skip_bad)
    inputs = FitInputs(robot, log_list(logs), terms, *settings)
    fit = fit_inputs(inputs, with_knowledge(estimator, bounds, prior_weight))[0]
    if fit.verdict.level is not Level.GOOD:
        warn(f"The fit is {fit.verdict.level}. {' '.join(fit.verdict.reasons)}")
    return fit


@takes(reading=Streaming, preparation=Preparation)
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
    reading: Streaming,
    preparation: Preparation,
) -> Problem:
    """Return the problem that `taupi.identify` solves, its logs prepared and compressed: a second estimator then costs little.

    `robot`, `logs`, `terms`, `elastic`, `base`, `prior`, `workers` and `seed` are as in `taupi.identify`.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> problem = tp.estimators.build_problem(arm, log, terms=("viscous",))
    >>> problem.conditioning.rank, len(problem.factors)
    (8, 2)
    >>> fits = [e.fit(problem) for e in (tp.estimators.OrdinaryLeastSquares(), tp.estimators.WeightedLeastSquares())]
    """
    inputs = FitInputs(robot, log_list(logs), terms, elastic, base, prior, workers, seed, reading, preparation)
    if not (robot.floating or robot.loops):
        return build(inputs, first_values)
    from taupi.identification.floating.build import build_floating

    return build_floating(inputs)


def _warn_of_springs(fit: Fit) -> None:
    """Warn about springs that the logs do not determine."""
    if fit.fits_deflection:
        for spring in fit.springs:
            if not spring.determined:
                warn(f"The spring of {spring.joint} is not determined: {spring.reason}.")


def _floating_estimator(robot: Robot, estimator: Any) -> Estimator:
    """Return the estimator; refuse what is not for robots that float or have closed loops."""
    if robot.multiple_joints and not robot.floating:
        raise TaupiError(f"{robot.name} has ball joints, which logs have no signals for: lock them.")
    if isinstance(estimator, LogEstimator) or estimator.name not in TRIANGLE_ESTIMATORS:
        known, kind = ", ".join(TRIANGLE_ESTIMATORS), "a floating robot" if robot.floating else "closed loops"
        raise TaupiError(Argument("estimator"), f" is {estimator.name!r}, expected one of {known} for {kind}.")
    chosen: Estimator = estimator
    return chosen


def first_values(problem: Problem) -> np.ndarray:
    """Return the base parameters (b,) of a first fit, which gives the load for friction that depends on it."""
    from taupi.identification.estimators.consistent import consistent_values

    return consistent_values(problem)


def _validations(fit: Fit, inputs: FitInputs) -> tuple[Validation, ...]:
    """Return how well a fit predicts the logs that it was made from, each read again."""
    from taupi.identification.results.validation import validate_log

    return tuple(validate_log(fit, log, inputs.reading, {}) for log in inputs.logs)


@small_algebra
def fit_inputs(
    inputs: FitInputs, estimator: EstimatorLike, validated: bool = False
) -> tuple[Fit, tuple[Validation, ...]]:
    """Return the fit of an estimator, and, if `validated`, the comparison of its torque with that of the fitted logs.

    The logs are those already in memory: none is read or prepared again. Logs that were streamed are left out.
    """
    resolved = resolve_estimator(estimator)
    if inputs.robot.multiple_joints or inputs.robot.loops:
        from taupi.identification.floating.build import build_floating

        floating = _floating_estimator(inputs.robot, resolved)
        fit = floating.fit(build_floating(inputs))  # its verdict rests on the fit alone
        return fit, _validations(fit, inputs) if validated else ()
    if isinstance(resolved, LogEstimator):
        fit, validations = resolved.fit_logs(inputs, validated)
        _warn_of_springs(fit)
        return fit, validations
    problem = build(inputs, first_values)
    fit = resolved.fit(problem)
    from taupi.identification.results.description_errors import entropic_offer
    from taupi.identification.verdict.judge import judge

    offer = entropic_offer(problem, fit)
    fit = replace(fit, judged=judge(fit, problem), notes=fit.notes if offer is None else (*fit.notes, offer))
    _warn_of_springs(fit)
    if not validated:
        return fit, ()
    from taupi.identification.results.validation import validate_recording

    return fit, tuple(validate_recording(fit, r) for r in problem.in_memory)
