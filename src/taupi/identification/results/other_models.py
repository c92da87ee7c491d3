"""A model of another kind compared with a fit on a log: torques joint by joint, and what the difference looks like."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations.equations import ComparedTorques
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import (
    Validation,
    build_validation,
    compared_runs,
    recordings_of,
    validate_recordings,
    validation_of,
)
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.recording import Recording
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading
from taupi.tables import html_table, table
from taupi.threads import small_algebra

# From q, qd, qdd (N, n): the torque (N, n).
Torque = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# What a joint's difference may look like, with its unit at a revolute and at a prismatic joint.
SHAPES = (
    ("a constant torque", "N m", "N"),
    ("viscous friction", "N m s/rad", "N s/m"),
    ("dry friction", "N m", "N"),
    ("inertia of the joint's own drive", "kg m^2", "kg"),
)
# Differences below this share of a joint's torque are not explained further.
_SMALL = 0.01
# If all shapes together explain less than this share of the difference's sum of squares, none is named.
_NAMED = 0.5
_SLOW = 0.1
# Shapes are named unless bodies of links explain this much more of the difference.
_CLOSE = 0.02
# Number of rows, evenly spread, that are compared.
_ROWS = 4000
# A shape is named if it explains at least this share of the explained sum of squares.
_PART = 0.1


@dataclass(frozen=True)
class TorqueDifference:
    """How the torque of another model differs from that of a fit at one joint.

    Attributes:
        name: The joint.
        relative: The root mean square of the difference over that of the measured torque.
        values: What explains it best, in the order of `SHAPES`: a constant torque, viscous and dry friction, an armature, each
            the other model's minus the fit's.
        parts: The share of the sum of squares of the difference that each of these explains in addition to the others.
        explained: The share that all four explain together; the rest is in the bodies of links, in gravity, or in how dry
            friction sets in.
        bodies: The share that other bodies of links would explain instead.
        slow: The share of its sum of squares at less than a tenth of the joint's largest speed.
    """

    name: str
    relative: float
    values: tuple[float, ...]
    parts: tuple[float, ...]
    explained: float
    bodies: float
    slow: float

    def sentence(self, slides: bool = False) -> str:
        """Return what the difference looks like; nothing if it is below one percent of the torque."""
        if self.relative < _SMALL:
            return ""
        if self.explained < max(_NAMED, self.bodies - _CLOSE):
            where = (
                "around standstill, where dry friction sets in"
                if self.slow > _NAMED
                else "with pose and load: bodies of links, gravity, friction of loaded gears"
            )
            return f"{self.name}: {self.relative:.1%} of its torque, mostly {where}"
        rows = zip(SHAPES, self.values, self.parts, strict=True)
        named = [
            f"{value:+.3g} {force if slides else unit} of {what}"
            for (what, unit, force), value, part in rows
            if part > _PART
        ]
        return f"{self.name}: {self.relative:.1%} of its torque, {' and '.join(named) or 'of several kinds'}"


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Models of a robot on one log: a fit, and others, such as a simulator's.

    Attributes:
        fit: The validation of the fit.
        others: The validations of the other models, by name.
        differences: How the torques of the last model differ from those of the fit, joint by joint.
        slides: Whether each joint slides.
        legend: What the other models are, in words, by name; instead of what their differences look like.
    """

    fit: Validation
    others: Mapping[str, Validation]
    differences: tuple[TorqueDifference, ...]
    slides: tuple[bool, ...] = ()
    legend: Mapping[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The error of the last model over that of the fit, over all joints."""
        return list(self.others.values())[-1].relative / max(self.fit.relative, 1e-300)

    @property
    def summary(self) -> str:
        """One line: the error of each model over all joints."""
        errors = ", ".join(f"{other.relative:.2%} of {name}" for name, other in self.others.items())
        return f"{self.fit.name}: relative torque error {self.fit.relative:.2%} of the fit, {errors}"

    @property
    def sentences(self) -> list[str]:
        """What the models are; or what the difference between the last and the fit looks like, for joints where there is one."""
        if self.legend:
            return [f"{name}: {words}" for name, words in self.legend.items()]
        pairs = zip(self.differences, self.slides or [False] * len(self.differences), strict=True)
        return [sentence for d, slides in pairs if (sentence := d.sentence(slides))]

    def to_dict(self) -> dict[str, object]:
        """Return the errors as plain data, without the samples."""
        return {
            "fit": self.fit.to_dict(),
            "others": {name: other.to_dict() for name, other in self.others.items()},
            "ratio": self.ratio,
            "differences": [dataclasses.asdict(d) for d in self.differences],
        }

    def _rows(self) -> list[tuple[str, ...]]:
        models = [self.fit, *self.others.values()]
        rows: list[tuple[str, ...]] = [("joint", "fit", *self.others, "apart")]
        for joints, difference in zip(zip(*(m.joints for m in models), strict=True), self.differences, strict=True):
            rows.append((joints[0].name, *(f"{j.relative:.2%}" for j in joints), f"{difference.relative:.2%}"))
        return rows

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self._rows()), *self.sentences])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self._rows(), self.sentences)


@small_algebra
def compare_models(
    fit: Fit, models: Mapping[str, Torque | Fit], log: LogLike, reading: Reading, changes: Mapping[str, Any]
) -> ModelComparison:
    """Return a fit and other `models` on a log, prepared like the fit's own logs except for some `changes`.

    A model is a function of q, qd and qdd (N, n) that gives torques (N, n), or a fit with other values. All pass the filter that
    the measured torque passes.
    """
    if beyond := fit.equations.layout.beyond_rigid:
        raise TaupiError(
            "{robot} has {beyond}: models are compared for fixed bases and rigid joints alone.",
            robot=fit.robot.name,
            beyond=beyond,
        )
    settings = dataclasses.replace(fit.preparation, **changes)
    with errors_naming(log if isinstance(log, str | os.PathLike) else None):
        runs = recordings_of(fit, log, settings, reading)
        compared = compared_runs(fit, runs)
        own = validation_of(fit, ComparedTorques.of_runs(compared), runs[0].source.first)
        times = [run.time for run in compared]
        others = {
            name: validate_recordings(model, runs)
            if isinstance(model, Fit)
            else _validated(fit, own, runs, times, model, name)
            for name, model in models.items()
        }
    last = list(others.values())[-1]
    every = max(1, len(own.time) // _ROWS)
    rows = np.concatenate([np.arange(len(time)) % every == 0 for time in times])
    columns = np.concatenate([_shape_columns(run, time[::every]) for run, time in zip(runs, times, strict=True)])
    bodies = np.concatenate([_body_columns(fit, run, time[::every]) for run, time in zip(runs, times, strict=True)])
    apart = last.predicted - own.predicted
    differences = tuple(
        _difference(j.name, own.measured[rows, k], apart[rows, k], columns[:, :, k], bodies[:, k])
        for k, j in enumerate(own.joints)
    )
    return ModelComparison(own, others, differences, tuple(bool(s) for s in fit.robot.slides))


def without_memory(fit: Fit) -> Torque:
    """Return the torque of a fit as programs compute it: dry friction depends on the state alone, not on the earlier motion.

    Friction that depends on load or bends with speed is left out.
    """
    linear = fit.basis.linear
    regressor = linear.regressor()

    def torque(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        values = np.broadcast_to(fit.values[: linear.count], (len(q), linear.count))
        return np.asarray(regressor.times("pi")(q, qd, qdd, values))

    return torque


def _validated(
    fit: Fit, own: Validation, runs: Sequence[Recording], times: Sequence[np.ndarray], torque: Torque, name: str
) -> Validation:
    parts = []
    for recording, time in zip(runs, times, strict=True):
        q, qd, qdd = recording.layout.motion(recording.log)
        known = recording.layout.known_torque(recording.log, recording.known_torque)
        parts.append(_filtered(recording, (np.asarray(torque(q, qd, qdd)) - known) * recording.gains, time))
    other = build_validation(fit, own.time, own.measured, np.concatenate(parts), own.raw, own.name, own.notes)
    return dataclasses.replace(other, estimator=name)


def _filtered(recording: Recording, values: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return signals of the smoothed log (N, ...) in the form in which torques are compared: filtered, at some times."""
    smooth = recording.log
    flat = values.reshape(len(values), -1)
    passed = flat if recording.row_filter is None else recording.row_filter(flat)
    at = np.searchsorted(smooth.time, time - 0.5 / smooth.rate_hz)
    return passed.reshape(values.shape)[at]


def _shape_columns(recording: Recording, time: np.ndarray) -> np.ndarray:
    """Return what a difference may look like, (N, 4, n): constant, qd, its sign, qdd."""
    _, qd, qdd = recording.layout.motion(recording.log)
    slow = 0.02 * np.maximum(np.abs(qd).max(axis=0), 1e-9)
    return _filtered(recording, np.stack([np.ones_like(qd), qd, np.tanh(qd / slow), qdd], axis=1), time)


def _body_columns(fit: Fit, recording: Recording, time: np.ndarray) -> np.ndarray:
    """Return the columns (N, n, b) of the bodies of links at some times: what other masses and inertias could explain."""
    linear = fit.basis.linear
    smooth = recording.log
    at = np.searchsorted(smooth.time, time - 0.5 / smooth.rate_hz)
    motion = (x[at] for x in recording.layout.motion(smooth))
    links = [k for k, column in enumerate(linear.columns) if column < len(fit.robot.parameters)]
    return np.asarray(linear.regressor()(*motion))[:, :, links]


def _difference(
    name: str, measured: np.ndarray, difference: np.ndarray, columns: np.ndarray, bodies: np.ndarray
) -> TorqueDifference:
    power = float(np.sum(difference**2))
    relative = float(np.sqrt(power / max(float(np.sum(measured**2)), 1e-300)))
    if power == 0:
        return TorqueDifference(name, 0.0, (0.0,) * 4, (0.0,) * 4, 0.0, 0.0, 0.0)
    values = np.linalg.lstsq(columns, difference, rcond=1e-9)[0]
    left = _left(columns, difference)
    parts = [(_left(np.delete(columns, k, axis=1), difference) - left) / power for k in range(columns.shape[1])]
    speed = np.abs(columns[:, 1])
    slow = float(np.sum(difference[speed < _SLOW * speed.max()] ** 2)) / power
    with_bodies = 1 - _left(bodies, difference) / power
    return TorqueDifference(name, relative, tuple(values.tolist()), tuple(parts), 1 - left / power, with_bodies, slow)


def _left(columns: np.ndarray, target: np.ndarray) -> float:
    """Return the sum of squares that columns leave unexplained."""
    residual = target - columns @ np.linalg.lstsq(columns, target, rcond=1e-9)[0]
    return float(residual @ residual)
