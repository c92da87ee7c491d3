"""From two fits, or a fit and a log, to what has changed about the robot: `taupi.what_changed`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.inputs import LogsLike
from taupi.identification.payloads.change_list import Change, ChangeList
from taupi.identification.payloads.difference import Difference, difference, inverse
from taupi.identification.payloads.fit_errors import DRIFT, drift_sizes, open_directions
from taupi.identification.payloads.identify_body import body_size, carrying_frame, fit_of, payload_columns, total_mass
from taupi.identification.payloads.later_log import later_recordings, rows_of_logs
from taupi.identification.payloads.real_body import body_scale
from taupi.identification.results.fit import Fit
from taupi.identification.rows.preparation import PREDICTION_CHANGES
from taupi.model.robot_parts import Frame
from taupi.settings import takes
from taupi.signals.log import Log
from taupi.signals.reading import Reading
from taupi.threads import small_algebra

# Friction may change by this many times its usual change from run to run: the scale of what is expected.
_WIDE = 10.0
# Temperature is named as the reason if viscous friction changes in one direction at this share of the joints.
_MOST = 0.6


@takes(reading=Reading, preparation=PREDICTION_CHANGES)
@small_algebra
def what_changed(
    first: Fit | str | os.PathLike[str],
    second: Fit | LogsLike,
    *,
    at: str | None = None,
    reading: Reading,
    preparation: Mapping[str, Any],
) -> ChangeList:
    """Return what has changed about a robot since its `first` fit: a load, the friction of joints, with standard errors.

    `second` is another Fit of the same robot, or a log, a path or a list of logs. A change of base parameters is explained by a
    body at the frame `at`, by default the tip, and by friction; what is compared is friction at the largest speed of the first
    fit's logs, which is known best. `first` may be the path of a fit.json. Logs are prepared as those of the first fit were,
    except for the settings named here.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> def log(robot, seed):
    ...     tau = tp.inverse_dynamics(robot)(q, qd, qdd)
    ...     return tp.Log(t[:, 0], q, tau=tau + 0.1 * np.random.default_rng(seed).normal(size=tau.shape))
    >>> fit = tp.identify(arm, log(arm, 0), cutoff_hz=10)
    >>> changes = tp.what_changed(fit, log(arm.with_payload(0.5), 1))
    >>> [c.kind for c in changes.clear]
    ['mass']
    """
    before = fit_of(first, "first")
    frame, names = carrying_frame(before.robot, at), _name(first, "the fit")
    columns, friction = _columns(before.basis, frame)
    if isinstance(second, Fit):
        estimate, other = _between_fits(before, second, columns, friction, frame), "the other fit"
    else:
        settings = dataclasses.replace(before.preparation, **preparation)
        recordings = later_recordings(before.basis, settings, before.logs, second, reading, "second")
        estimate, other = _since_fit(before, recordings, columns, friction, frame), _logs_name(second)
    changes = _changes(before, estimate, friction, frame)
    return ChangeList(names, other, changes, tuple(_temperature(before, estimate, friction)))


def _name(fit: object, default: str) -> str:
    return Path(fit).name if isinstance(fit, str | os.PathLike) else default


def _logs_name(logs: Any) -> str:
    several = [logs] if isinstance(logs, Log | str | os.PathLike) else list(logs)
    paths = [log.source.path if isinstance(log, Log) else str(log) for log in several]
    return ", ".join(Path(p).name for p in paths if p) or "the log"


def _columns(base: BaseParameters, frame: Frame) -> tuple[np.ndarray, list[int]]:
    """Return the columns (b, 10 + k) of a body and of friction, and the places of friction among the base parameters."""
    entries = base.parameters.layout.entries
    friction = [k for k, e in enumerate(entries) if e.kind in DRIFT]
    return np.hstack([payload_columns(base, frame), np.eye(base.count)[:, friction]]), friction


def _priors(fit: Fit, friction: list[int], mass: float, frame: Frame) -> np.ndarray:
    """Return the standard deviations of what may have changed: unknown for the mass."""
    body = np.where(np.arange(10) == 0, np.inf, body_scale(mass, body_size(fit.robot, frame)))
    sizes = _WIDE * drift_sizes(fit.basis, fit.values, fit.speeds)[friction]
    return np.concatenate([body, np.where(sizes > 0, sizes, np.inf)])


def _since_fit(fit: Fit, recordings: Any, columns: np.ndarray, friction: list[int], frame: Frame) -> Difference:
    """Return the changes of body and friction in later logs."""
    eigenvalues, vectors = np.linalg.eigh(fit.covariance)
    spread = np.hstack([vectors * np.sqrt(np.clip(eigenvalues, 0.0, None)), open_directions(fit)])
    noise = np.array([j.noise or j.rms for j in fit.joints])
    mass, values = 0.1 * max(total_mass(fit.robot), 1.0), fit.values
    for _ in range(3):
        pieces = rows_of_logs(fit.basis, recordings, values)
        estimate = difference(pieces, fit.values, columns, spread, _priors(fit, friction, mass, frame), noise)
        mass = max(abs(float(estimate.values[0])), float(np.sqrt(estimate.covariance[0, 0])), 1e-6)
        values = fit.values + columns[:, :10] @ estimate.values[:10]
    return estimate


def _between_fits(first: Fit, second: Fit, columns: np.ndarray, friction: list[int], frame: Frame) -> Difference:
    """Return the changes of body and friction between two fits, by least squares in the metric of both covariances."""
    if first.robot.joint_names != second.robot.joint_names or first.basis.elastic or second.basis.elastic:
        raise TaupiError(
            f"The fits are of {first.robot.name} and {second.robot.name}, expected two fits of one robot with rigid joints."
        )
    shared = [n for n in first.names if n in second.names]
    i, j = ([f.names.index(n) for n in shared] for f in (first, second))
    inertial = [n for n in (*first.names, *second.names) if n not in shared]
    links = set(first.robot.link_names)
    if any(n.split(".")[0] in links for n in inertial):
        raise TaupiError(
            Argument("second"), f" has other base parameters than the first fit ({inertial[0]}): its frames differ."
        )
    covariance = np.zeros((len(shared), len(shared)))
    for fit, places in ((first, i), (second, j)):
        open_ones = open_directions(fit)[places]
        covariance += fit.covariance[np.ix_(places, places)] + open_ones @ open_ones.T
    # Friction that only one of the fits has absorbs part of what both share: it is left free.
    kinds = [e.kind for e in first.basis.parameters.layout.entries]
    others = [k for k in i if kinds[k] in ("load", "curve", "stribeck")]
    a = np.hstack([columns, np.eye(len(first.values))[:, others]])[i]
    y = second.values[j] - first.values[i]
    metric = inverse(covariance)
    expected = body_scale(0.1 * max(total_mass(first.robot), 1.0), body_size(first.robot, frame))
    prior = np.concatenate([[0.0], 1 / expected[1:] ** 2, np.zeros(a.shape[1] - 10)])
    cov = inverse(a.T @ metric @ a + np.diag(prior))
    theta = cov @ (a.T @ metric @ y)
    k = 10 + len(friction)
    zero = np.zeros((k, k))
    return Difference(
        theta[:k], cov[:k, :k], zero, zero, np.zeros((first.robot.n, k)), np.zeros(first.robot.n), 0.0, 0.0
    )


def _changes(fit: Fit, estimate: Difference, friction: list[int], frame: Frame) -> tuple[Change, ...]:
    """Return mass, friction at the largest speed and constant torque of each joint, by their distance from zero."""
    covariance, entries = estimate.covariance, fit.basis.parameters.layout.entries
    changes = [Change("mass", frame.name, float(estimate.values[0]), float(np.sqrt(covariance[0, 0])), 0.0, "kg")]
    units = {
        n: "N" if j.prismatic else "N m" for n, j in zip(fit.robot.joint_names, fit.robot.driving_joints, strict=True)
    }
    for owner in dict.fromkeys(entries[k].owner for k in friction):
        speed = fit.speeds.get(owner, 1.0)
        for kind, weight_of in (("friction", {"coulomb": 1.0, "viscous": speed}), ("offset", {"offset": 1.0})):
            weights = np.zeros(len(estimate.values))
            for place, k in enumerate(friction):
                if entries[k].owner == owner:
                    weights[10 + place] = weight_of.get(entries[k].kind, 0.0)
            if not weights.any():
                continue
            before = float(weights[10:] @ fit.values[friction])
            error = float(np.sqrt(max(weights @ covariance @ weights, 0.0)))
            unit, at = units.get(owner, "N m"), speed if kind == "friction" else 0.0
            changes.append(Change(kind, owner, float(weights @ estimate.values), error, before, unit, at))
    return tuple(sorted(changes, key=lambda c: -c.distance))


def _temperature(fit: Fit, estimate: Difference, friction: list[int]) -> list[str]:
    """Return a note if viscous friction changes in one direction at most joints, as it does with temperature."""
    entries = fit.basis.parameters.layout.entries
    viscous = [p for p, k in enumerate(friction) if entries[k].kind == "viscous"]
    if len(viscous) < 3:
        return []
    at = [10 + p for p in viscous]
    size = fit.values[[friction[p] for p in viscous]]
    errors = np.sqrt(np.diag(estimate.covariance))[at]
    shares = np.where(size > 0, estimate.values[at] / np.where(size > 0, size, 1.0), 0.0)
    clear = (np.abs(estimate.values[at]) > 2 * errors) & (size > 0)
    words = {-1: "less at most joints, as when gears have warmed up", 1: "more at most joints, as when they are colder"}
    for sign, meaning in words.items():
        which = clear & (np.sign(shares) == sign)
        if which.sum() >= max(3, _MOST * len(viscous)):
            return [f"viscous friction is {abs(float(np.median(shares[which]))):.0%} {meaning}"]
    return []
