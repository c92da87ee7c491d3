"""Drives of a fit from commands, fitted again with the steps of the simulator that they are written for."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taupi.bridges.identified import PLACES
from taupi.bridges.targets.passport import Passport, Refit
from taupi.errors import TaupiError
from taupi.identification.commands.stretches import Stretch, stretches_of
from taupi.identification.results.command_fit import CommandFit
from taupi.signals.log import Log
from taupi.signals.read import LogLike, read_log

# What stands in for what a target lacks, and belongs to the step of a simulation.
_FREE = ("armature", "damping", "dry_friction", "offset")
# The step of differences, as a share of what would account for all of a joint's torque, and how many Jacobians there are.
_DIFFERENCE, _ITERATIONS = 1e-3, 8


def refitted(passport: Passport, logs: LogLike | Sequence[LogLike]) -> Passport:
    """Return a passport whose drives make the target itself move as the encoders of `logs` show: x = argmin |q_target(x) - q|^2.

    Free are the delay, and rotor inertia, viscous and dry friction and a constant torque of each joint, as far as the target has
    a place for them. So they also stand in for what it lacks, and for what its steps do to a motion. The derivatives are
    differences of the target's own simulations.

    Args:
        passport: That of a fit from commands.
        logs: Logs of commands and encoders; the fit's own, or others.
    """
    fit = passport.source
    if not isinstance(fit, CommandFit):
        raise TaupiError(
            "{refit} is for fits from commands, whose drives belong to the steps of a simulation, and {robot} is not one.",
            robot=passport.name,
        )
    passport.target.require_simulator()
    several = [logs] if isinstance(logs, Log | str | os.PathLike) else list(logs)
    whole = [each if isinstance(each, Log) else read_log(each, fit.robot) for each in several]
    names = tuple(os.path.basename(log.source.path) or "log" for log in whole)
    stretches = [s for log, name in zip(whole, names, strict=True) for s in stretches_of(log, fit.robot, name=name)]
    searches = [_Refit.of(each, fit, stretches) for each in _with_whole_steps(passport)]
    before = searches[0].errors(passport)
    found = min((search.solve() for search in searches), key=lambda p: float(searches[0].errors(p).sum()))
    return dataclasses.replace(found, refit=Refit(passport, names, before, searches[0].errors(found)))


def _with_whole_steps(passport: Passport) -> list[Passport]:
    """Return the passports to begin from: for a target that delays by whole steps, with fewer and with more of them."""
    place = passport.target.places.get("delay")
    if place is None or not place.steps:
        return [passport]
    result = []
    for round_it in (np.floor, np.ceil):
        delays = {
            n: float(round_it(d.delay / passport.timestep)) * passport.timestep for n, d in passport.drives.items()
        }
        drives = {n: dataclasses.replace(d, delay=delays[n]) for n, d in passport.drives.items()}
        result.append(dataclasses.replace(passport, drives=drives))
    return result


@dataclass(frozen=True, eq=False)
class _Refit:
    """The numbers of a passport that are free: each of these fields of each joint, and the delay.

    Attributes:
        passport: Where the search begins.
        stretches: What the target's motion is compared with.
        fields: Names of fields of `JointValues`.
        delayed: Whether the delay is free.
        scale: The size of each number.
        noise: What residuals are divided by (n,).
    """

    passport: Passport
    stretches: Sequence[Stretch]
    fields: tuple[str, ...]
    delayed: bool
    scale: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, passport: Passport, fit: CommandFit, stretches: Sequence[Stretch]) -> _Refit:
        """Return the search, with what the target has a place for."""
        places = passport.target.places
        fields = tuple(field for field in _FREE if field in places)
        delay = places.get("delay")
        delayed = delay is not None and not delay.steps
        model = fit.model.with_kinds([*(PLACES[field] for field in fields), *(["delay"] if delayed else [])])
        noise = np.array([max(each.rms, 1e-9) for each in fit.joints])
        return cls(passport, stretches, fields, delayed, model.column("scale"), noise)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints, in the order of the coordinates."""
        return tuple(self.passport.robot.joint_names)

    @property
    def start(self) -> np.ndarray:
        """The numbers of the passport, in units of their scale."""
        p = self.passport
        numbers = [getattr(p.joints[name], field) for field in self.fields for name in self.names]
        return np.array([*numbers, *([p.drives[self.names[0]].delay] if self.delayed else [])]) / self.scale

    @property
    def least(self) -> np.ndarray:
        """The smallest numbers that the target takes."""
        signed = [self.passport.target.places[field].least is None for field in self.fields]
        return np.array([*np.repeat(np.where(signed, -np.inf, 0.0), len(self.names)), *([0.0] * self.delayed)])

    def at(self, x: np.ndarray) -> Passport:
        """Return the passport with other numbers."""
        numbers, p = (x * self.scale).tolist(), self.passport
        table = np.array(numbers[: len(self.fields) * len(self.names)]).reshape(len(self.fields), -1)
        joints, drives = dict(p.joints), dict(p.drives)
        for name, column in zip(self.names, table.T.tolist(), strict=True):
            joints[name] = dataclasses.replace(joints[name], **dict(zip(self.fields, column, strict=True)))
            drives[name] = dataclasses.replace(drives[name], delay=numbers[-1]) if self.delayed else drives[name]
        return dataclasses.replace(p, joints=joints, drives=drives)

    def _left(self, passport: Passport) -> np.ndarray:
        """Return q_target - q (N, n); what runs away is as wrong as 100 rad."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in passport.target.files(passport).items():
                (Path(folder) / name).write_text(text, encoding="utf-8", newline="")
            motions = [passport.target.motion(Path(folder), passport, s) for s in self.stretches]
        left = [(q - s.q)[s.compared] for q, s in zip(motions, self.stretches, strict=True)]
        return np.nan_to_num(np.vstack(left), nan=100.0, posinf=100.0, neginf=-100.0)

    def errors(self, passport: Passport) -> np.ndarray:
        """Return the mean |q_target - q| of each joint (n,)."""
        return np.asarray(np.abs(self._left(passport)).mean(axis=0))

    def solve(self) -> Passport:
        """Return the passport for which the target moves as measured."""
        from scipy.optimize import least_squares

        def residuals(x: np.ndarray) -> np.ndarray:
            return np.asarray((self._left(self.at(x)) / self.noise).ravel())

        def jacobian(x: np.ndarray) -> np.ndarray:
            here = residuals(x)
            return np.column_stack([(residuals(x + _DIFFERENCE * e) - here) / _DIFFERENCE for e in np.eye(len(x))])

        least = self.least
        found = least_squares(
            residuals,
            np.maximum(self.start, least + 1e-9),
            jac=jacobian,
            bounds=(least, np.full(len(least), np.inf)),
            ftol=1e-4,
            xtol=1e-4,
            max_nfev=_ITERATIONS,
        )
        return self.at(found.x)
