"""From a fit and a log with a load to the load: `taupi.identify_payload`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.checks import not_negative, or_none
from taupi.dynamics.terms import Load
from taupi.errors import Argument, NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.inputs import LogsLike
from taupi.identification.payloads.difference import Difference, difference
from taupi.identification.payloads.fit_errors import fit_errors
from taupi.identification.payloads.later_log import later_recordings, rows_of_logs
from taupi.identification.payloads.payload_estimate import ENTRIES, PayloadEstimate
from taupi.identification.payloads.real_body import body_scale, likely_body
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import load_fit
from taupi.identification.results.verdict import Level
from taupi.identification.rows.preparation import PREDICTION_CHANGES
from taupi.identification.rows.recording import Recording
from taupi.model.body import move_body, why_not_physical
from taupi.model.robot import BASE, Robot
from taupi.model.robot_parts import Frame
from taupi.model.scalars import to_float
from taupi.settings import takes
from taupi.signals.reading import Reading
from taupi.signals.stated_gains import rests_on_gains
from taupi.threads import small_algebra

# Passes over the log in which load-dependent friction uses the payload found so far.
_PASSES = 3
# Typical extent of a payload as a share of the arm's reach: the scale for what a log cannot show.
_SIZE = 0.25
# A parameter counts as determined by the log if its standard error is below that of a body smaller than expected by this factor.
_DETERMINED = 0.15
# A mass is not determined by the log if its error is a larger share than this of the arm's mass, or, if the error is that of a
# guess at the centre of mass, of the mass itself.
_UNCERTAIN = 0.1
# The share by which torques are off as a whole, one standard deviation, if nothing is known: measured ones, and currents times
# gains that somebody stated. Two published sets of gains of the UR10e differ by 13 to 49 %, and from calibrated ones by 12 %.
_MEASURED, _STATED = 0.05, 0.1


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
@small_algebra
def identify_payload(
    fit: Fit | str | os.PathLike[str],
    log: LogsLike,
    *,
    at: str | None = None,
    gain_uncertainty: float | None = None,
    reading: Reading,
    preparation: Mapping[str, Any],
) -> PayloadEstimate:
    """Return the payload that a robot carries in a `log`, which its `fit` was made without: mass, centre of mass, inertia.

    tau = Y_b (pi_b + B_P pi_P): the ten parameters pi_P of a body fixed to a link change the base parameters through B.
    `fit` is a Fit, or the path of a fit.json: the logs that it was made from are not needed. `log` is a Log, a path, or a
    list of them with the same payload. `at` is the frame that the payload is fixed to, by default the tip, or the end of the
    longest chain of a tree that names none; results are in its axes. The log is prepared like those of the fit, except for the
    settings named here.

    The body is physically possible. Its errors are those of the noise, of the fit, of friction that drifts from run to run, and
    of the gains between motor currents and torques: masses scale with these, and `gain_uncertainty` is the share by which they
    may be off, one standard deviation. By default it is 0.1 if torques are currents or voltages times stated gains, since
    published gains of one robot differ by as much, and 0.05 if they were measured. State a smaller one if you have calibrated
    them (`taupi.identify_gains`), and 0 for a simulation. What the log leaves open, such as the inertia if the wrist hardly
    moves, has an infinite error.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> def log(robot):
    ...     return tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(robot)(q, qd, qdd))
    >>> fit = tp.identify(arm, log(arm), terms=(), cutoff_hz=10)
    >>> load = tp.identify_payload(fit, log(arm.with_payload(0.5)), gain_uncertainty=0)
    >>> round(load.mass, 2)
    0.5
    """
    fit = fit_of(fit)
    stated = or_none(not_negative)("gain_uncertainty", gain_uncertainty)
    frame = carrying_frame(fit.robot, at)
    columns, size = payload_columns(fit.basis, frame), body_size(fit.robot, frame)
    settings = dataclasses.replace(fit.preparation, **preparation)
    recordings = later_recordings(fit.basis, settings, fit.logs, log, reading)
    gain = _usual_uncertainty(recordings) if stated is None else stated
    spread, noise = fit_errors(fit), np.array([j.noise or j.rms for j in fit.joints])
    depends = any(isinstance(term, Load) for term in fit.terms)
    theta, mass = np.zeros(10), 0.1 * max(total_mass(fit.robot), 1.0)
    for _ in range(_PASSES):
        pieces = rows_of_logs(fit.basis, recordings, fit.values + columns @ theta)
        expected = body_scale(mass, size)
        prior = np.where(np.arange(10) == 0, np.inf, expected)
        estimate = difference(pieces, fit.values, columns, spread, prior, noise)
        theta, error = estimate.values, float(np.sqrt(estimate.covariance[0, 0]))
        mass = max(abs(float(theta[0])), error, 1e-6)
        if not depends and abs(mass - expected[0]) < 0.1 * mass:
            break
    _refuse_undetermined(fit.robot, estimate)
    determined = _determined(np.sqrt(np.diag(estimate.covariance)), mass, size)
    determined[1:] &= theta[0] > 2 * error  # a payload of zero has neither a centre nor an inertia
    body = likely_body(theta, estimate.covariance, size)
    names = tuple(r.source.name for r in recordings)
    return PayloadEstimate(
        fit=fit,
        frame=frame.name,
        parameters=body,
        covariance=estimate.covariance + gain_covariance(estimate, body, gain),
        determined=determined,
        gain_uncertainty=gain,
        relative=estimate.relative,
        before=estimate.before,
        logs=names,
        notes=(*_fit_notes(fit), *_notes(estimate, body, determined, gain, names)),
        noise=estimate.noise,
    )


def _usual_uncertainty(recordings: Sequence[Recording]) -> float:
    """Return the share by which torques are usually off as a whole, one standard deviation."""
    return _STATED if any(rests_on_gains(r.source.first) for r in recordings) else _MEASURED


def fit_of(fit: Any, name: str = "fit") -> Fit:
    """Return a Fit, or the one in the file at a path; `name` is the name of the argument."""
    if isinstance(fit, str | os.PathLike):
        return load_fit(fit)
    if not isinstance(fit, Fit):
        raise TaupiError(
            Argument(name), f" is {shown(fit)}, expected a Fit or the path of a fit.json: taupi.identify(...)."
        )
    return fit


def carrying_frame(robot: Robot, at: str | None) -> Frame:
    """Return the frame called `at`, which moves; for None, the tip, or the end of the longest chain of a tree without one."""
    if at is None:
        return robot.frame("tip") if robot.tip or robot.is_serial else _longest_end(robot)
    if not isinstance(at, str):
        raise TaupiError(Argument("at"), f" is {shown(at)}, expected the name of a frame: {robot.frame_names}.")
    frame = robot.frame(at)
    if frame.link == BASE:
        raise TaupiError(Argument("at"), f" is {at!r}, which is fixed to the base: a payload there moves nothing.")
    return frame


def _longest_end(robot: Robot) -> Frame:
    """Return the frame of the link that most joints move; refuse a tree with two such ends."""
    lengths = [len(robot.path(i)) for i in range(len(robot.links))]
    ends = [robot.links[i].name for i, length in enumerate(lengths) if length == max(lengths)]
    if len(ends) > 1:
        raise TaupiError(
            f"{robot.name} is a tree with several ends: {', '.join(ends)}.",
            remedy=("Name the frame that carries the load: ", Argument("at", ...), "."),
        )
    return robot.frame(ends[0])


def payload_columns(base: BaseParameters, frame: Frame) -> np.ndarray:
    """Return B_P (b, 10): what the ten parameters of a body, about the origin of a frame, add to the base parameters."""
    units = [tuple(Fraction(int(i == k)) for i in range(10)) for k in range(10)]
    moved = np.array([[float(v) for v in move_body(unit, frame.placement)] for unit in units]).T
    return np.asarray(base.projection[:, base.standard.layout.link(frame.link)] @ moved)


def body_size(robot: Robot, frame: Frame) -> float:
    """Return the probable size of a payload at a frame, m: a share of the distance to the frame, or of 1 m if that is zero."""
    known = {name: value for name, value in robot.symbols if value is not None}
    lengths = [
        np.linalg.norm([to_float(v, "a length", known) for v in place.translation])
        for i in robot.path(frame.link)
        for place in (robot.joints[i].before, robot.joints[i].after)
    ]
    return _SIZE * (float(sum(lengths)) or 1.0)


def total_mass(robot: Robot) -> float:
    """Return the mass of all links of a robot, kg, as far as its description states it."""
    values = robot.parameters.values
    return float(sum(values[robot.parameters.layout.link(i)][0] for i in range(len(robot.links))))


def gain_covariance(estimate: Difference, body: np.ndarray, gain: float) -> np.ndarray:
    """Return the covariance (10, 10) due to uncertain gains: one factor on all torques, and one on those of each joint.

    The first scales all ten parameters. The second moves the centre of mass and the inertia; as a whole they leave the mass as
    it is, since its error is that of the first.
    """
    common = np.outer(body, body)
    mass = body[0] if body[0] != 0 else 1.0
    apart = estimate.by_joint - np.outer(estimate.by_joint[:, 0] / mass, body)
    return np.asarray(gain**2 * (common + apart.T @ apart))


def _determined(errors: np.ndarray, mass: float, size: float) -> np.ndarray:
    """Return which of ten parameters with these `errors` a log determines; a product of inertia only beside its two moments."""
    clear = errors < np.where(np.arange(10) == 0, np.inf, body_scale(mass, _DETERMINED * size))
    moments = {i: clear[4 + ENTRIES.index((i, i))] for i in range(3)}
    return np.concatenate(
        [clear[:4], [c and moments[i] and moments[j] for c, (i, j) in zip(clear[4:], ENTRIES, strict=True)]]
    )


def _refuse_undetermined(robot: Robot, estimate: Difference) -> None:
    """Refuse a payload whose mass the log does not determine, and a log in which the robot is lighter than its fit."""
    mass, error = float(estimate.values[0]), float(np.sqrt(estimate.covariance[0, 0]))
    guessed = estimate.guessed[0, 0] > 0.5 * error**2 and error > _UNCERTAIN * abs(mass)
    if guessed or error > max(abs(mass), _UNCERTAIN * max(total_mass(robot), 1.0)):
        raise NotIdentifiedError(
            f"The log does not determine the mass of a payload: {mass:.3g} kg with a standard error of {error:.2g} kg.",
            remedy="Record a motion in which gravity turns the arm, and its wrist, up and down.",
        )
    if mass < -3 * error:
        raise NotIdentifiedError(
            f"The robot is lighter in the log than in the fit, by {-mass:.3g} kg ± {error:.2g}.",
            remedy="Was the fit made with a load? Make it from logs without, and give the log with the load.",
        )


def _fit_notes(fit: Fit) -> list[str]:
    """Return a note if the fit without the payload is not to be trusted."""
    if fit.verdict.level is Level.GOOD:
        return []
    return [f"the fit of the robot without the payload is {fit.verdict.level}: {' '.join(fit.verdict.reasons[:1])}"]


def _notes(
    estimate: Difference, body: np.ndarray, determined: np.ndarray, gain: float, names: tuple[str, ...]
) -> list[str]:
    notes = [
        f"the relative error of the torque in {', '.join(names)} falls from {estimate.before:.2%} to {estimate.relative:.2%} "
        "with the payload"
    ]
    if gain:
        notes.append(
            f"masses scale with the gains of the drives, which may be off by {gain:.1%} (gain_uncertainty); a known mass "
            "calibrates them: taupi gains"
        )
    if determined[1:4].any() and why_not_physical(tuple(map(Fraction, estimate.values.tolist()))):
        notes.append(
            f"no real body has the parameters that fit best (mass {estimate.values[0]:.4g} kg): these are of a likely one that "
            "can exist"
        )
    if determined[1:4].any() and not determined[4:].any():
        notes.append("the inertia is not determined: the log has too little acceleration of the wrist")
    return notes
