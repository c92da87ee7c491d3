"""What has changed since a fit: the alternatives that a later log is tried with, and the one that explains it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taupi.dynamics.terms import column_at_speed, drifting_terms, friction_headings, kind_of
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.inputs import LogsLike
from taupi.identification.payloads.difference import (
    Difference,
    difference,
    drift_sizes,
    inverse,
    later_recordings,
    open_directions,
    rows_of_logs,
)
from taupi.identification.payloads.identify_body import (
    body_scale,
    body_size,
    carrying_frame,
    fit_of,
    payload_columns,
    total_mass,
)
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import covariance_root
from taupi.identification.rows.preparation import PredictionOptions, Preparation, settle_prediction
from taupi.identification.rows.recording import Recording
from taupi.model.robot_parts import Frame
from taupi.schema import finite_or_none
from taupi.signals.log import Log
from taupi.signals.reading import Reading
from taupi.tables import html_table, table
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack


# A change counts if it is larger than this many standard errors: among 20 numbers, chance does that once in 800 times.
CLEARLY = 4.0


@dataclass(frozen=True)
class Change:
    """One number that may have changed.

    Attributes:
        kind: "mass", "friction" or "offset".
        owner: The frame that carries the mass, or the joint.
        value: The change, in `unit`.
        stderr: Its standard error.
        before: The number before, 0 for a mass that is added.
        unit: kg, N m or N.
        speed: The speed at which friction is compared, rad/s or m/s; 0 for others.
    """

    kind: str
    owner: str
    value: float
    stderr: float
    before: float
    unit: str
    speed: float = 0.0

    @property
    def distance(self) -> float:
        """The change in standard errors."""
        return abs(self.value) / self.stderr if self.stderr > 0 else (np.inf if self.value else 0.0)

    @property
    def clear(self) -> bool:
        """Whether it is larger than chance allows."""
        return self.distance > CLEARLY

    @property
    def sentence(self) -> str:
        """The change in words."""
        more = "more" if self.value > 0 else "less"
        size = f"{abs(self.value):.3g} {self.unit}"
        by = f"({self.distance:.{0 if self.distance >= 10 else 1}f} standard errors)"
        if self.kind == "mass":
            return f"{size} {more} on {self.owner} {by}"
        if self.kind == "offset":
            return f"{size} {more} constant torque at {self.owner} {by}"
        unit = "m/s" if self.unit == "N" else "rad/s"
        share = f", {self.value / self.before:+.0%}" if self.before else ""
        return f"{size} {more} friction of {self.owner} at {self.speed:.2g} {unit}{share} {by}"


@dataclass(frozen=True, eq=False, repr=False)
class ChangeList:
    """What has changed about a robot between two fits, or between a fit and a log.

    Attributes:
        first: The reference.
        second: What is compared.
        changes: The changes, largest in standard errors first.
        notes: What they may mean, in words.
    """

    first: str
    second: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def named(self, first: str, second: str) -> ChangeList:
        """Return the same changes with other names, `first` and `second`."""
        return replace(self, first=first, second=second)

    @property
    def clear(self) -> tuple[Change, ...]:
        """The changes that are larger than chance allows."""
        return tuple(c for c in self.changes if c.clear)

    @property
    def sentence(self) -> str:
        """What has changed, by how many standard errors."""
        if not self.clear:
            largest = self.changes[0]
            return (
                f"Between {self.first} and {self.second} nothing has changed by more than {CLEARLY:.0f} standard errors; the "
                f"largest difference is {largest.sentence}."
            )
        listed = "; ".join(c.sentence for c in self.clear[:4])
        rest = f"; and {len(self.clear) - 4} smaller changes" if len(self.clear) > 4 else ""
        return f"{self.second} has, compared with {self.first}: {listed}{rest}."

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of all changes; the first row is the heading."""
        result: list[tuple[str, ...]] = [("what", "where", "change", "±", "unit", "standard errors", "before")]
        for c in self.changes:
            before = f"{c.before:.3g}" if c.kind != "mass" else "-"
            numbers = (f"{c.value:+.3g}", f"{c.stderr:.2g}", c.unit, f"{c.distance:.1f}", before)
            result.append((c.kind, c.owner, *numbers))
        return result

    def to_dict(self) -> dict[str, object]:
        """Return the changes as plain data, ready for JSON."""
        return {
            "schema": "taupi.changes/1",
            "first": self.first,
            "second": self.second,
            "sentence": self.sentence,
            "changes": [
                {
                    "kind": c.kind,
                    "owner": c.owner,
                    "value": c.value,
                    "stderr": c.stderr,
                    "unit": c.unit,
                    "before": c.before,
                    "speed": c.speed,
                    "in_standard_errors": finite_or_none(c.distance),
                    "clear": c.clear,
                }
                for c in self.changes
            ],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return "\n".join([self.sentence, *table(self.rows()), *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return html_table(self.sentence, self.rows(), self.notes)


# Friction may change by this many times its usual change from run to run: the scale of what is expected.
_WIDE = 10.0
# Temperature is named as the reason if viscous friction changes in one direction at this share of the joints.
_MOST = 0.6


@small_algebra
def what_changed(
    first: Fit | str | os.PathLike[str],
    second: Fit | LogsLike,
    *,
    at: str | None = None,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[PredictionOptions],
) -> ChangeList:
    """Return what has changed about a robot since its first fit: a load, the friction of joints, with standard errors.

    A change of base parameters is explained by a body at a frame and by friction; what is compared is friction at the largest
    speed of the first fit's logs, which is known best. Logs are prepared as those of the first fit were, except for the settings
    named here.

    Args:
        first: The first fit, or the path of a fit.json.
        second: Another Fit of the same robot, or a log, a path or a list of logs.
        at: The frame at which a body may have been added; the tip by default.
        reading: How files are read, a `taupi.Reading`.
        preparation: What differs in how logs are prepared, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The changes; `.clear` are those that are beyond doubt.

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
    settings, changed = settle_prediction(what_changed, options, reading, preparation)
    before = fit_of(first, "first")
    frame = carrying_frame(before.robot, at)
    name = Path(first).name if isinstance(first, str | os.PathLike) else "the fit"
    columns, friction = _columns(before.basis, frame)
    if isinstance(second, Fit):
        estimate, other = _between_fits(before, second, columns, friction, frame), "the other fit"
    else:
        prepared = replace(before.preparation, **changed)
        recordings = later_recordings(before.basis, prepared, before.logs, second, settings, "second")
        estimate, other = _since_fit(before, recordings, columns, friction, frame), _logs_name(second)
    changes = _changes(before, estimate, friction, frame)
    return ChangeList(name, other, changes, tuple(_temperature(before, estimate, friction)))


def _logs_name(logs: LogsLike) -> str:
    several = [logs] if isinstance(logs, Log | str | os.PathLike) else list(logs)
    paths = [log.source.path if isinstance(log, Log) else str(log) for log in several]
    return ", ".join(Path(p).name for p in paths if p) or "the log"


def _columns(base: BaseParameters, frame: Frame) -> tuple[np.ndarray, list[int]]:
    """Return the columns (b, 10 + k) of a body and of friction, and the places of friction among the base parameters."""
    entries = base.parameters.layout.entries
    drift = drifting_terms()
    friction = [k for k, e in enumerate(entries) if e.kind in drift]
    return np.hstack([payload_columns(base, frame), np.eye(base.count)[:, friction]]), friction


def _priors(fit: Fit, friction: list[int], mass: float, frame: Frame) -> np.ndarray:
    """Return the standard deviations of what may have changed: unknown for the mass."""
    body = np.where(np.arange(10) == 0, np.inf, body_scale(mass, body_size(fit.robot, frame)))
    sizes = _WIDE * drift_sizes(fit.basis, fit.values, fit.speeds)[friction]
    return np.concatenate([body, np.where(sizes > 0, sizes, np.inf)])


def _since_fit(
    fit: Fit, recordings: Sequence[Recording], columns: np.ndarray, friction: list[int], frame: Frame
) -> Difference:
    """Return the changes of body and friction in later logs."""
    spread = np.hstack([covariance_root(fit.covariance), open_directions(fit)])
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
    if first.robot.joint_names != second.robot.joint_names:
        raise TaupiError(
            "The fits are of {first} and {second}, expected two fits of one robot.",
            first=first.robot.name,
            second=second.robot.name,
        )
    for fit in (first, second):
        fit.equations.layout.require_rigid("What changed between two fits")
    shared = [n for n in first.names if n in second.names]
    i, j = ([f.names.index(n) for n in shared] for f in (first, second))
    inertial = [n for n in (*first.names, *second.names) if n not in shared]
    links = set(first.robot.link_names)
    if any(n.split(".")[0] in links for n in inertial):
        raise TaupiError(
            "{second} has other base parameters than the first fit ({inertial}): its frames differ.",
            inertial=inertial[0],
        )
    covariance = np.zeros((len(shared), len(shared)))
    for fit, places in ((first, i), (second, j)):
        open_ones = open_directions(fit)[places]
        covariance += fit.covariance[np.ix_(places, places)] + open_ones @ open_ones.T
    # Friction that only one of the fits has absorbs part of what both share: it is left free.
    kinds = [e.kind for e in first.basis.parameters.layout.entries]
    others = [k for k in i if kinds[k] in friction_headings() and kinds[k] not in drifting_terms()]
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
        for kind, constant in (("friction", False), ("offset", True)):
            weights = np.zeros(len(estimate.values))
            for place, k in enumerate(friction):
                if entries[k].owner == owner and kind_of(entries[k].kind).constant == constant:
                    weights[10 + place] = column_at_speed(entries[k].kind, speed)
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
