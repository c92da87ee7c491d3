"""From logs to a fit: one verb, and the problem that it solves."""

from __future__ import annotations

from typing import Any

from taupi.dynamics.terms import TermsLike
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.build import build
from taupi.identification.estimators import EstimatorLike, LogEstimator, resolve_estimator
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation, validate_recording
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.reading import Streaming
from taupi.threads import small_algebra


@takes(reading=Streaming, preparation=Preparation)
def identify(
    robot: Robot,
    logs: Any,
    estimator: EstimatorLike = "consistent",
    terms: TermsLike | None = None,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: Any = None,
    workers: int | None = None,
    seed: int = 0,
    reading: Streaming,
    preparation: Preparation,
) -> Fit:
    """Return base parameters pi_b of a `robot` estimated from `logs`: tau = Y_b(q, qd, qdd) pi_b + noise.

    `logs` is a Log, a path, or several of both, fitted together, each joint of each with its own noise. `estimator` is a
    name (`"consistent"`, `"wls"`, ...), or an object with settings of its own; `terms` are columns of each joint besides its
    link, by default rotors, friction and an offset. `base` are base parameters that are known already, `prior` (p,) standard
    parameters where the logs leave something open, by default the description's own. Files are worked on by so many `workers`
    at once, by default as many as there are cores, in blocks where they are large; the answer is the same. `seed` is that of
    whatever is random.

    A robot with elastic joints is identified from both sides of its springs: (0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd)
    pi_b, from logs with q of the links, theta of the motors as seen behind the gears, and tau = u, conjugate to theta (Zollo et
    al. 2014). The cutoff is then the one at which the parameters are surest; a delay of the encoders, and a torque that is held
    from sample to sample, are found from the log. `elastic=False` takes joints as rigid. Where only the motors of elastic joints
    were measured, use `estimator="output_error"`.

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
    inputs = FitInputs(robot, logs, terms, elastic, base, prior, workers, seed, reading, preparation)
    return fit_inputs(inputs, estimator)[0]


@takes(reading=Streaming, preparation=Preparation)
def build_problem(
    robot: Robot,
    logs: Any,
    terms: TermsLike | None = None,
    *,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: Any = None,
    workers: int | None = None,
    seed: int = 0,
    reading: Streaming,
    preparation: Preparation,
) -> Problem:
    """Return what `taupi.identify` solves: logs prepared and compressed. A second estimator on it costs milliseconds.

    `robot`, `logs`, `terms`, `elastic`, `base`, `prior`, `workers` and `seed` are as in `taupi.identify`.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> problem = tp.build_problem(arm, log, terms=("viscous",))
    >>> problem.conditioning.rank, len(problem.factors)
    (8, 2)
    >>> fits = [e.fit(problem) for e in (tp.OrdinaryLeastSquares(), tp.WeightedLeastSquares())]
    """
    return build(FitInputs(robot, logs, terms, elastic, base, prior, workers, seed, reading, preparation))


@small_algebra
def fit_inputs(
    inputs: FitInputs, estimator: EstimatorLike, validated: bool = False
) -> tuple[Fit, tuple[Validation, ...]]:
    """Return the fit of an estimator, and, if `validated`, its torque beside that of the logs it was fitted to.

    The logs are those already in memory: none is read or prepared again. Logs that were streamed are left out.
    """
    chosen = resolve_estimator(estimator)
    if isinstance(chosen, LogEstimator):
        return chosen.fit_logs(inputs, validated)
    problem = build(inputs)
    fit = chosen.fit(problem)
    if not validated:
        return fit, ()
    return fit, tuple(validate_recording(fit, r) for r in problem.recordings if not r.source.streamed)
