"""Identify a body that a robot carries from a log later than those of its fit, as a body that can be real."""

from __future__ import annotations

import dataclasses
import os
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import not_negative, or_none
from taupi.dynamics.terms import Load
from taupi.errors import Argument, NotIdentifiedError, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.inputs import LogsLike
from taupi.identification.payloads.difference import (
    Difference,
    difference,
    fit_errors,
    inverse,
    later_recordings,
    rows_of_logs,
)
from taupi.identification.payloads.payload_estimate import ENTRIES, PayloadEstimate
from taupi.identification.physical.cones import Cone, least_squares_in_cone, packed, unpacked
from taupi.identification.physical.region import pseudo_inertia_map
from taupi.identification.results.fit import Fit
from taupi.identification.results.fit_file import load_torque_fit
from taupi.identification.results.verdict import Level
from taupi.identification.rows.preparation import PredictionOptions, Preparation, settle_prediction
from taupi.model.body import move_body, smallest_eigenvalue, why_not_physical
from taupi.model.robot import BASE, Robot
from taupi.model.robot_parts import Frame
from taupi.model.scalars import to_float
from taupi.signals.checking.implausible import rests_on_gains
from taupi.signals.reading import Reading
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack


# The pseudo-inertia is at least this, in units of mass and size: far above rounding, far below what a torque can show.
_EDGE = 1e-6
# Steps of Newton's method, and the decrease of the objective at which it stops.
_STEPS, _DECREASE = 100, 1e-10


def body_scale(mass: float, size: float) -> np.ndarray:
    """Return the typical size of each of the ten parameters of a body: m, m l and m l^2."""
    return mass * np.repeat([1.0, size, size**2], [1, 3, 6])


def likely_body(ten: np.ndarray, covariance: np.ndarray, size: float) -> np.ndarray:
    """Return the ten parameters of a real body for an estimate `ten` with its `covariance` C; `size` is a typical length, m.

    A real body has a positive semidefinite pseudo-inertia P (Wensing, Kim & Slotine 2018). The mass is that of the nearest such
    body in the metric C^-1. Given the mass, the other nine minimise

        1/2 (pi - ten)^T C^-1 (pi - ten) - log det P,

    so that what the estimate leaves open is not filled with a body of no extent, and what it determines well stays as it is.

    >>> import numpy as np
    >>> ball = np.array([2.0, 0, 0, 0, 0.4, 0, 0, 0.4, 0, 0.4])
    >>> bool(np.allclose(likely_body(ball, 1e-12 * np.eye(10), 0.5), ball, atol=1e-6))
    True
    >>> impossible = np.array([2.0, 0.2, 0, 0, -0.1, 0, 0, 0, 0, 0])
    >>> body = likely_body(impossible, np.diag([1e-8] * 4 + [1e-2] * 6), 0.5)
    >>> body.round(2)[:2].tolist(), bool(body[4] > 0.02)
    ([2.0, 0.2], True)
    """
    mass = max(abs(float(ten[0])), 1e-9)
    scale = body_scale(mass, size)
    precision, target = inverse(covariance / np.outer(scale, scale)), ten / scale
    start = _nearest(target, precision)
    return np.asarray(_inside(start, target, precision) * scale)


def _nearest(target: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the body nearest to `target`, slightly inside the region of real bodies."""
    if smallest_eigenvalue(target.tolist()) > _EDGE:
        return target
    eigenvalues, v = np.linalg.eigh(precision)
    root = np.sqrt(np.clip(eigenvalues, 0.0, None))[:, None] * v.T
    unit = max(float(np.abs(root).max()), 1e-300)
    cone = Cone(np.zeros((0, 10)), np.zeros(0), (pseudo_inertia_map(),), (-2 * _EDGE * packed(np.eye(4)),))
    solution = least_squares_in_cone(cone, root / unit, root @ target / unit, np.full(10, 1e-9), target)
    short = _EDGE - smallest_eigenvalue(solution.x.tolist())
    # A small ball compensates for the solver's tolerance.
    ball = np.array([1.0, 0, 0, 0, 2.0, 0, 0, 2.0, 0, 2.0])
    return np.asarray(solution.x + max(short, 0.0) * ball)


def _inside(start: np.ndarray, target: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the minimum over all but the mass, by Newton's method from a body with a positive definite pseudo-inertia."""
    basis = np.array([unpacked(column) for column in pseudo_inertia_map()[:, 1:].T])
    first = unpacked(pseudo_inertia_map()[:, 0])

    def pseudo(pi: np.ndarray) -> np.ndarray:
        return np.asarray(pi[0] * first + np.tensordot(pi[1:], basis, axes=(0, 0)))

    def objective(pi: np.ndarray) -> float:
        sign, logarithm = np.linalg.slogdet(pseudo(pi))
        inside = sign > 0 and np.linalg.eigvalsh(pseudo(pi))[0] > 0
        return float(0.5 * (pi - target) @ precision @ (pi - target) - logarithm) if inside else np.inf

    pi = start.copy()
    for _ in range(_STEPS):
        solved = np.linalg.solve(pseudo(pi), basis)  # P^-1 E_k
        gradient = (precision @ (pi - target))[1:] - np.trace(solved, axis1=1, axis2=2)
        hessian = precision[1:, 1:] + np.einsum("iab,jba->ij", solved, solved)
        step = np.append(0.0, -np.linalg.solve(hessian, gradient))
        now, share = objective(pi), 1.0
        while objective(pi + share * step) > now + 1e-4 * share * float(gradient @ step[1:]) and share > 1e-12:
            share *= 0.5
        pi = pi + share * step
        if now - objective(pi) < _DECREASE * max(abs(now), 1.0):
            break
    return pi


# Passes over the log in which load-dependent friction uses the payload found so far.
_PASSES = 3
# Typical extent of a payload as a share of the arm's reach: the scale for what a log cannot show.
_SIZE = 0.25
# A parameter counts as determined by the log if its standard error is below that of a body smaller than expected by this factor.
_DETERMINED = 0.15
# A mass is not determined by the log if its error is a larger share than this of the arm's mass, or, if the error is that of a
# guess at the centre of mass, of the mass itself.
_UNCERTAIN = 0.1
# A mass that is not seen is taken as this share of the arm's, where the rest is estimated; its column is smaller than this.
_HIDDEN = 1e-9
# The share by which torques are off as a whole, one standard deviation, if nothing is known: measured ones, and currents times
# gains that somebody stated. Two published sets of gains of the UR10e differ by 13 to 49 %, and from calibrated ones by 12 %.
_MEASURED, _STATED = 0.05, 0.1


@small_algebra
def identify_payload(
    fit: Fit | str | os.PathLike[str],
    log: LogsLike,
    *,
    at: str | None = None,
    gain_uncertainty: float | None = None,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> PayloadEstimate:
    """Return the payload that a robot carries in a log, which its fit was made without: tau = Y_b (pi_b + B_P pi_P).

    The ten parameters pi_P of a body fixed to a link, its mass, centre of mass and inertia, change the base parameters through B.
    The body is physically possible; where its mass is not seen, only first moments are stated. Its errors are those of the noise,
    of the fit, of friction that drifts from run to run, and of the gains between motor currents and torques. What the log leaves
    open, such as the inertia if the wrist hardly moves, has an infinite error.

    Args:
        fit: A Fit without the payload, or the path of a fit.json: the logs that it was made from are not needed.
        log: A Log, a path, or a list of them with the same payload. It is prepared like those of the fit, except for the
            settings named here.
        at: The frame that the payload is fixed to, and whose axes the result has; by default the tip, or the end of the longest
            chain of a tree that names none.
        gain_uncertainty: The share by which the gains, and masses with them, may be off, one standard deviation. By default 0.1
            if torques are currents or voltages times stated gains, since published gains of one robot differ by as much, and 0.05
            if they were measured. State a smaller one if they are calibrated (`taupi.identify_gains`), and 0 for a simulation.
        reading: How files are read, a `taupi.Reading`.
        preparation: How the log is prepared, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The payload with its errors, and how much of the torque it explains.

    Raises:
        NotIdentifiedError: If the log determines neither the mass nor a first moment.

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
    settings, changes = settle_prediction(identify_payload, options, reading, preparation)
    fit = fit_of(fit)
    stated = or_none(not_negative)("gain_uncertainty", gain_uncertainty)
    frame = carrying_frame(fit.robot, at)
    columns, size = payload_columns(fit.basis, frame), body_size(fit.robot, frame)
    prepared = dataclasses.replace(fit.preparation, **changes)
    recordings = later_recordings(fit.basis, prepared, fit.logs, log, settings)
    on_gains = any(rests_on_gains(r.source.first) for r in recordings)
    gain = (_STATED if on_gains else _MEASURED) if stated is None else stated
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
        if _too_far(estimate, size) or (not depends and abs(mass - expected[0]) < 0.1 * mass):
            break
    hidden = np.abs(columns[:, 0]).max() < _HIDDEN or _mass_is_hidden(fit.robot, estimate, size)
    if hidden:
        # What is not seen does not act, and the scale of the rest is that of the arm.
        prior = body_scale(max(total_mass(fit.robot), 1.0), size) * np.where(np.arange(10) == 0, _HIDDEN, 1.0)
        pieces = rows_of_logs(fit.basis, recordings, fit.values)
        estimate = difference(pieces, fit.values, columns, spread, prior, noise)
        theta, determined = estimate.values, _moments_determined(estimate)
        if not determined.any():
            _refuse_undetermined(fit.robot, estimate)
            raise NotIdentifiedError(
                "The log shows neither the mass of a payload nor a first moment of it.",
                remedy="Record a motion in which gravity turns the arm, and its wrist, up and down.",
            )
        body = theta
    else:
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
        notes=tuple(_notes(fit, estimate, body, determined, gain, names)),
        noise=estimate.noise,
    )


def _too_far(estimate: Difference, size: float) -> bool:
    """Return whether the centre of mass would lie beyond the arm's reach: a moment acts, of which the mass is not seen."""
    values, errors = estimate.values, np.sqrt(np.diag(estimate.covariance))
    moment = float(np.max(np.abs(values[1:4]) - 2 * errors[1:4]))
    return bool(moment > (abs(values[0]) + 2 * errors[0]) * size / _SIZE)


def _mass_is_hidden(robot: Robot, estimate: Difference, size: float) -> bool:
    """Return whether the log shows a first moment of a body, but not its mass."""
    mass, error = float(estimate.values[0]), float(np.sqrt(estimate.covariance[0, 0]))
    unknown = error > max(abs(mass), _UNCERTAIN * max(total_mass(robot), 1.0))
    clear = np.abs(estimate.values) > 2 * np.sqrt(np.diag(estimate.covariance))
    return _too_far(estimate, size) or (unknown and bool((_moments_determined(estimate) & clear).any()))


def _moments_determined(estimate: Difference) -> np.ndarray:
    """Return which of ten parameters are first moments about which the log says more than their prior."""
    variance = np.maximum(np.diag(estimate.covariance), 1e-300)
    told = np.diag(estimate.guessed) < 0.5 * variance
    return np.asarray(told & np.isin(np.arange(10), (1, 2, 3)))


def fit_of(fit: object, name: str = "fit") -> Fit:
    """Return a Fit, or the one in the file at a path; `name` is the name of the argument."""
    if isinstance(fit, str | os.PathLike):
        return load_torque_fit(fit)
    if not isinstance(fit, Fit):
        raise TaupiError(
            "{argument} is {got!r}, expected a Fit or the path of a fit.json: taupi.identify(...).",
            argument=Argument(name),
            got=fit,
        )
    return fit


def carrying_frame(robot: Robot, at: str | None) -> Frame:
    """Return the frame called `at`, which moves; for None, the tip, or the end of the longest chain of a tree without one."""
    if at is None:
        return robot.frame("tip") if robot.tip or robot.is_serial else _longest_end(robot)
    if not isinstance(at, str):
        raise TaupiError(
            "{at} is {got!r}, expected the name of a frame: {frame_names}.", got=at, frame_names=robot.frame_names
        )
    frame = robot.frame(at)
    if frame.link == BASE:
        raise TaupiError("{at} is {got!r}, which is fixed to the base: a payload there moves nothing.", got=at)
    return frame


def _longest_end(robot: Robot) -> Frame:
    """Return the frame of the link that most joints move; refuse a tree with two such ends."""
    lengths = [len(robot.path(i)) for i in range(len(robot.links))]
    ends = [robot.links[i].name for i, length in enumerate(lengths) if length == max(lengths)]
    if len(ends) > 1:
        raise TaupiError(
            "{robot} is a tree with several ends: {ends:,}.",
            remedy="Name the frame that carries the load: {at=...}.",
            robot=robot.name,
            ends=ends,
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
            "The log does not determine the mass of a payload: {mass:.3g} kg with a standard error of {error:.2g} kg.",
            remedy="Record a motion in which gravity turns the arm, and its wrist, up and down.",
            mass=mass,
            error=error,
        )
    if mass < -3 * error:
        raise NotIdentifiedError(
            "The robot is lighter in the log than in the fit, by {mass:.3g} kg ± {error:.2g}.",
            remedy="Was the fit made with a load? Make it from logs without, and give the log with the load.",
            mass=-mass,
            error=error,
        )


def _notes(
    fit: Fit, estimate: Difference, body: np.ndarray, determined: np.ndarray, gain: float, names: tuple[str, ...]
) -> list[str]:
    """Return what is to be known about the payload, first of all whether the fit without it is not to be trusted."""
    notes = []
    if fit.verdict.level is not Level.GOOD:
        why = " ".join(fit.verdict.reasons[:1])
        notes.append(f"the fit of the robot without the payload is {fit.verdict.level}: {why}")
    before, after = f"{estimate.before:.2%}", f"{estimate.relative:.2%}"
    change = f"falls from {before} to {after}" if before != after else f"stays {after}"
    notes.append(f"the relative error of the torque in {', '.join(names)} {change} with the payload")
    if not determined[0]:
        notes.append(
            "only first moments are seen: of a known mass, each is this mass times where its centre lies along that axis"
        )
    if gain:
        notes.append(
            f"masses scale with the gains of the drives, which may be off by {gain:.1%} (gain_uncertainty); a known mass "
            "calibrates them: taupi gains"
        )
    if not determined[0]:
        return notes
    if determined[1:4].any() and why_not_physical(tuple(map(Fraction, estimate.values.tolist()))):
        notes.append(
            f"no real body has the parameters that fit best (mass {estimate.values[0]:.4g} kg): these are of a likely one that "
            "can exist"
        )
    if determined[1:4].any() and not determined[4:].any():
        notes.append("the inertia is not determined: the log has too little acceleration of the wrist")
    return notes
