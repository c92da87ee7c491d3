"""A payload with its uncertainty: mass, centre of mass and inertia, which of them a log shows, and the robot that carries it."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from taupi.errors import NotIdentifiedError, TaupiError, TaupiWarning
from taupi.files import write_text
from taupi.identification.payloads.difference import STRETCHES
from taupi.identification.results.export import write_toml, write_urdf
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import check_level
from taupi.model.body import body_to_com, symmetric
from taupi.model.formats.urdf import updated_text, with_tool
from taupi.model.robot import Robot
from taupi.model.scalars import exact
from taupi.tables import estimate_text, html_table, interval_text, table, with_error

AXES = "xyz"
ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


class PayloadErrors(np.ndarray):
    """Errors of a payload (10,): of its mass, its centre of mass and its inertia, infinite for what a log does not determine.

    The order of the `ten` numbers is m, x, y, z of the centre, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about it. Parts also have names.

    >>> errors = PayloadErrors([0.1, 0.01, 0.01, 0.02, 1.0, 0.2, 0.3, 1.0, 0.4, 1.0])
    >>> errors.mass, errors["com"].tolist(), float(errors.inertia[2, 0])
    (0.1, [0.01, 0.01, 0.02], 0.3)
    """

    def __new__(cls, ten: object) -> PayloadErrors:
        """Return the errors of ten numbers."""
        return np.asarray(ten, dtype=float).view(cls)

    @property
    def mass(self) -> float:
        """The error of the mass, kg."""
        return float(self[0])

    @property
    def com(self) -> np.ndarray:
        """The errors of the centre of mass (3,), m."""
        return np.asarray(self)[1:4]

    @property
    def inertia(self) -> np.ndarray:
        """The errors of the inertia about the centre of mass (3, 3), kg m^2."""
        return np.array(symmetric(*np.asarray(self)[4:].tolist()), dtype=float)

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else np.asarray(self)[key]


@dataclass(frozen=True, eq=False, repr=False)
class PayloadEstimate:
    """A payload: what a robot carries beyond the model of its fit.

    Attributes:
        fit: The fit of the robot without it.
        frame: The frame that it is fixed to, and in whose axes everything is stated.
        parameters: Its ten parameters (10,) about the origin of the frame: m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz.
        covariance: Their covariance (10, 10), including that due to the drive gains.
        determined: Which of them the log determines (10,).
        gain_uncertainty: The share by which the gains of the drives may be off, one standard deviation.
        relative: ||tau - tau_hat|| / ||tau|| over all joints of the log, with the payload.
        before: The relative error without the payload.
        logs: The names of the logs.
        notes: What was done and seen, in words.
        noise: The part of the covariance (10, 10) that the noise of the log causes, from few stretches of time.
    """

    fit: Fit
    frame: str
    parameters: np.ndarray
    covariance: np.ndarray
    determined: np.ndarray
    gain_uncertainty: float
    relative: float
    before: float
    logs: tuple[str, ...]
    notes: tuple[str, ...] = ()
    noise: np.ndarray = field(default_factory=lambda: np.zeros((10, 10)), repr=False)

    @property
    def mass_is_seen(self) -> bool:
        """Whether the log shows the mass, and not only first moments."""
        return bool(self.determined[0])

    @property
    def mass(self) -> float:
        """The mass, kg; NaN if it is not seen."""
        return float(self.parameters[0]) if self.mass_is_seen else math.nan

    @property
    def moment(self) -> np.ndarray:
        """The first moment, mass times centre of mass (3,), in the axes of the frame, kg m."""
        return np.asarray(self.parameters[1:4])

    @property
    def moment_stderr(self) -> np.ndarray:
        """The standard errors (3,) of the first moment, infinite for what a log does not determine."""
        return self._moment_errors(self.covariance)

    def _moment_errors(self, covariance: np.ndarray) -> np.ndarray:
        return np.where(self.determined[1:4], np.sqrt(np.clip(np.diag(covariance)[1:4], 0.0, None)), np.inf)

    def moment_intervals(self, level: float = 0.95) -> np.ndarray:
        """Return half the widths (3,) of intervals of the first moment; `level` is the share that contains the truth."""
        return _half_widths(self.moment_stderr, self._moment_errors(self.noise), level)

    @property
    def com(self) -> np.ndarray:
        """The centre of mass (3,) in the axes of the frame, m; NaN if the mass is not seen."""
        if not self.mass_is_seen:
            return np.full(3, np.nan)
        return self.parameters[1:4] / self.mass if self.mass > 0 else np.zeros(3)

    @property
    def inertia(self) -> np.ndarray:
        """The inertia about the centre of mass (3, 3) in the axes of the frame, kg m^2; NaN if the mass is not seen."""
        if not self.mass_is_seen:
            return np.full((3, 3), np.nan)
        return np.array(body_to_com(self.parameters.tolist())[2], dtype=float)

    @cached_property
    def stderr(self) -> PayloadErrors:
        """The standard errors (10,), with `.mass` (kg), `.com` (3,) (m) and `.inertia` (3, 3) (kg m^2); see `PayloadErrors`."""
        return self._errors(self.covariance)

    def intervals(self, level: float = 0.95) -> PayloadErrors:
        """Return half the widths of confidence intervals, in the form of `stderr`: Student's t, since stretches are few.

        `level` is the share of intervals that contain the truth, 0.95 by default.
        """
        return PayloadErrors(_half_widths(np.asarray(self.stderr), np.asarray(self._errors(self.noise)), level))

    def _errors(self, covariance: np.ndarray) -> PayloadErrors:
        """Return the standard errors of mass, centre of mass and inertia, for a covariance of the ten parameters."""
        if not self.mass_is_seen:
            return PayloadErrors(np.full(10, np.inf))
        jacobian = self._jacobian
        errors = np.sqrt(np.clip(np.einsum("ik,kl,il->i", jacobian, covariance, jacobian), 0.0, None))
        determined = self.determined.copy()
        determined[4:] &= determined[1:4].all()
        return PayloadErrors(np.where(determined, errors, np.inf))

    @cached_property
    def _jacobian(self) -> np.ndarray:
        """The derivative (10, 10) of mass, centre of mass and inertia about it with respect to the ten parameters."""

        def physical(ten: np.ndarray) -> np.ndarray:
            m, c, tensor = body_to_com(ten.tolist())
            return np.array([m, *c, *(tensor[i][j] for i, j in ENTRIES)])

        m, size = max(self.mass, 1e-9), max(float(np.linalg.norm(self.com)), 0.05)
        steps = 1e-6 * m * np.repeat([1.0, size, size**2], [1, 3, 6])
        at = np.where(np.arange(10) == 0, m, self.parameters)
        shifted = [
            (physical(at + s * e) - physical(at - s * e)) / (2 * s) for s, e in zip(steps, np.eye(10), strict=True)
        ]
        return np.array(shifted).T

    @cached_property
    def robot(self) -> Robot:
        """The identified robot with this payload; friction for which a description has no place is left out."""
        self.require_mass()
        return self.robot_without.with_payload(self.mass, self.com, self.inertia, self.frame)

    @cached_property
    def robot_without(self) -> Robot:
        """The identified robot without this payload."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TaupiWarning)
            return self.fit.robot_identified(anyway=True)

    def require_mass(self) -> None:
        """Refuse what needs a body if only first moments are seen."""
        if not self.mass_is_seen:
            raise NotIdentifiedError(
                "The log shows first moments of the payload on {frame}, but not its mass.",
                remedy="Record a motion in which gravity turns the arm, and its wrist, up and down.",
                frame=self.frame,
            )

    # To read ------------------------------------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """One line: mass and centre of mass with their standard errors."""
        where = f"{self.frame} of {self.fit.robot.name}"
        if not self.mass_is_seen:
            parts = zip(AXES, self.moment, self.moment_stderr, strict=True)
            listed = ", ".join(f"{a} {estimate_text(1000 * h, 1000 * e)}" for a, h, e in parts if np.isfinite(e))
            head = f"Payload on {where}" if self.present else f"No payload is seen on {where}"
            return f"{head}: first moment {listed} g m; its mass is not seen in this log"
        if not self.present:
            most = self.mass + self.intervals().mass
            return f"No payload is seen on {where}: less than {most:.3g} kg."
        error = self.stderr
        com = ", ".join(
            f"{AXES[k]} {estimate_text(1000 * c, 1000 * e)} mm" if np.isfinite(e) else f"{AXES[k]} not determined"
            for k, (c, e) in enumerate(zip(self.com, error.com, strict=True))
        )
        inertia = "" if np.isfinite(error.inertia).any() else "; its inertia is not determined by this log"
        return f"Payload on {where}: {estimate_text(self.mass, error.mass)} kg, centre of mass {com}{inertia}"

    @property
    def present(self) -> bool:
        """Whether there is a payload at all: its mass is more than two standard errors (of noise and fit) from zero.

        Where its mass is not seen, a first moment has to be.
        """
        if not self.mass_is_seen:
            return bool((np.abs(self.moment) > 2 * self.moment_stderr).any())
        own = float(self.covariance[0, 0]) - (self.gain_uncertainty * self.mass) ** 2
        return self.mass > 2 * float(np.sqrt(max(own, 0.0)))

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of its numbers: quantity, value, standard error, 95 % interval, unit; the first row is the heading."""
        result: list[tuple[str, ...]] = [("payload", "value", "± standard error", "95 % interval", "unit")]
        error, half = np.asarray(self.stderr), np.asarray(self.intervals())
        error, half = np.append(error, self.moment_stderr), np.append(half, self.moment_intervals())
        inertia = [f"I{AXES[i]}{AXES[j]}" for i, j in ENTRIES]
        names = ["mass", *(f"centre {a}" for a in AXES), *inertia, *(f"first moment {a}" for a in AXES)]
        values = [self.mass, *self.com, *(self.inertia[i, j] for i, j in ENTRIES), *self.moment]
        units = ["kg", *3 * ["m"], *6 * ["kg m^2"], *3 * ["kg m"]]
        for name, value, e, h, unit in zip(names, values, error.tolist(), half.tolist(), units, strict=True):
            if np.isfinite(e):
                result.append((name, *with_error(value, e), interval_text(value - h, value + h, e), unit))
            else:
                result.append((name, "-", "-", "not determined", unit))
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the payload as plain data, ready for JSON; what is not determined is None."""
        error, half, half_moment = self.stderr, self.intervals(), self.moment_intervals()
        ends = np.repeat(self.moment_stderr[:, None], 2, axis=1)
        return {
            "schema": "taupi.payload/1",
            "robot": self.fit.robot.name,
            "frame": self.frame,
            "present": self.present,
            "mass": {
                "value": self.mass,
                "stderr": error.mass,
                "interval": [self.mass - half.mass, self.mass + half.mass],
            }
            if self.mass_is_seen
            else {"value": None, "stderr": None, "interval": None},
            "moment": {
                "value": _plain(self.moment, self.moment_stderr),
                "stderr": _plain(self.moment_stderr, self.moment_stderr),
                "interval": _plain(np.array([self.moment - half_moment, self.moment + half_moment]).T, ends),
            },
            "com": {"value": _plain(self.com, error.com), "stderr": _plain(error.com, error.com)},
            "inertia": {"value": _plain(self.inertia, error.inertia), "stderr": _plain(error.inertia, error.inertia)},
            "parameters": self.parameters.tolist(),
            "covariance": self.covariance.tolist(),
            "determined": self.determined.tolist(),
            "gain_uncertainty": self.gain_uncertainty,
            "relative": self.relative,
            "relative_without": self.before,
            "logs": list(self.logs),
            "notes": list(self.notes),
            "provenance": {**self.fit.record, "fitted_logs": [log.name for log in self.fit.logs]},
        }

    def __repr__(self) -> str:
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([self.summary, *table(self.rows()), *notes])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows(), self.notes)


def _half_widths(error: np.ndarray, noise: np.ndarray, level: float) -> np.ndarray:
    """Return half the widths of intervals for standard errors, of which those due to `noise` come from few stretches.

    By Satterthwaite (1946): the part due to noise has the degrees of freedom of the stretches; the rest is taken as exact.
    """
    from scipy.stats import t

    check_level(level)
    known = np.isfinite(error)
    share = np.where(known, noise, 0.0) / np.where(known & (error > 0), error, 1.0)
    freedom = (STRETCHES - 1) / np.maximum(share**4, 1e-9)
    return np.asarray(error * t.ppf(0.5 + level / 2, freedom))


def _plain(values: np.ndarray, errors: np.ndarray) -> Any:
    """Return numbers as nested lists, None where their error is infinite."""
    if np.ndim(values) > 1:
        return [_plain(v, e) for v, e in zip(values, errors, strict=True)]
    return [float(v) if np.isfinite(e) else None for v, e in zip(values, errors, strict=True)]


@write_urdf.register
def _(source: PayloadEstimate, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    source.require_mass()
    robot = source.fit.robot_identified(anyway)
    if robot.source.format != "urdf":
        raise TaupiError(
            "{robot} comes from {format}, expected URDF: there is none to write back.",
            robot=robot.name,
            format=robot.source.format,
        )
    body = tuple(exact(float(v)) for v in source.parameters)
    write_text(path, with_tool(updated_text(robot), source.frame, body), force)


@write_toml.register
def _(source: PayloadEstimate, path: str | os.PathLike[str], force: bool = False, anyway: bool = False) -> None:
    source.require_mass()
    body = source.fit.robot_identified(anyway).with_payload(source.mass, source.com, source.inertia, source.frame)
    write_toml(body, path, force)
