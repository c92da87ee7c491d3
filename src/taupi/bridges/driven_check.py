"""What taking a fit from commands to a simulator costs in position, on a log of commands and encoders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from taupi.bridges.export import Export
from taupi.identification.commands.stretches import stretches_of
from taupi.identification.results.command_fit import CommandFit, CommandValidation, milli
from taupi.signals.log import Log
from taupi.signals.read import LogLike, asked_part, read_log
from taupi.signals.reading import Reading
from taupi.tables import html_table, table

_PLACED = "placed"


@dataclass(frozen=True, eq=False, repr=False)
class DrivenComparison:
    """Motions of a log by its commands alone, simulated on the way from a fit to a target.

    Attributes:
        fit: The fit, by its own steps.
        others: The steps to the target by name: "placed", the fit without what has no place there, if anything has none; and the
            target, which simulates its own file.
        title: What the target is called in sentences.
        lost: What has no place there, by joint.
        timestep: The target's step, s.
        refitted: The names of the logs that drives were fitted to with the target's steps, if they were.
    """

    fit: CommandValidation
    others: Mapping[str, CommandValidation]
    title: str
    lost: Mapping[str, tuple[str, ...]]
    timestep: float
    refitted: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line: the mean errors of all."""
        means = [("the fit", self.fit), *self.others.items()]
        parts = ", ".join(f"{milli(v.position_error, v.units)} of {name}" for name, v in means)
        return f"{self.fit.name}: mean position error {parts}"

    @property
    def lag(self) -> float:
        """How much later the target's motion is than the fit's own without what is lost, s: least squares over all samples."""
        *before, target = [self.fit, *self.others.values()]
        expected = before[-1]
        moving = np.diff(expected.time) < 2 * np.median(np.diff(expected.time))
        speed = (np.diff(expected.predicted, axis=0) / np.diff(expected.time)[:, None])[moving]
        apart = (target.predicted - expected.predicted)[1:][moving]
        return -float(np.sum(apart * speed)) / max(float(np.sum(speed**2)), 1e-30)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the names mean, and what each loss costs."""
        own = (
            f"{self.title}'s simulation of the file, driven by the commands in its steps of {1e3 * self.timestep:g} ms"
        )
        result = [f"{list(self.others)[-1]}: {own}"]
        if _PLACED in self.others:
            result.insert(0, f"{_PLACED}: the fit, in its own steps, without what has no place there")
        side, change = ("later", "shorter") if self.lag > 0 else ("earlier", "longer")
        result.append(
            f"its delay, damping, friction and inertia were fitted to {', '.join(self.refitted)} with its own steps"
            if self.refitted
            else f"by its own steps, {self.title} is {1e3 * abs(self.lag):.2g} ms {side} than taupi: a delay that is {change} by "
            "this makes up for it"
        )
        own_error = self.fit.position_error
        placed = self.others[_PLACED].position_error if _PLACED in self.others else own_error
        for name, unit, before, after in zip(self.fit.joints, self.fit.units, own_error, placed, strict=True):
            if name in self.lost:
                costs = f"the position error of {name} goes from {milli(before, unit)} to {milli(after, unit)}"
                result.append(f"without {', '.join(self.lost[name])}, {costs}")
        return tuple(result)

    def to_dict(self) -> dict[str, object]:
        """Return the errors as plain data, without the samples."""
        steps = {"fit": self.fit, **self.others}
        return {"log": self.fit.name, **{name: v.to_dict() for name, v in steps.items()}, "lost": dict(self.lost)}

    def rows(self) -> list[tuple[str, ...]]:
        """Return the mean |q_sim - q| of each joint as rows of a table."""
        columns = [self.fit, *self.others.values()]
        numbers = np.stack([v.position_error for v in columns], axis=1)
        joints = zip(self.fit.joints, self.fit.units, numbers, strict=True)
        cells = [(name, *(milli(error, unit) for error in each)) for name, unit, each in joints]
        return [("joint", "fit", *self.others), *cells]

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self.rows()), *self.sentences])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows(), self.sentences)


def check_driven(export: Export, fit: CommandFit, log: LogLike, reading: Reading) -> DrivenComparison:
    """Return the position errors of a `fit` from commands on a log, of what has a place in a target, and of the target."""
    passport = export.passport
    passport.target.require_simulator()
    whole = asked_part(log, reading) if isinstance(log, Log) else read_log(log, fit.robot, reading=reading)
    own = fit.validate(whole)
    lost = {loss.joint: loss.names for loss in passport.losses}
    others = {_PLACED: passport.placed.validate(whole)} if lost else {}
    others[passport.target.name] = _driven(export, fit, whole, own)
    refitted = passport.refit.logs if passport.refit is not None else ()
    return DrivenComparison(own, others, passport.target.title, lost, passport.timestep, refitted)


def _driven(export: Export, fit: CommandFit, log: Log, own: CommandValidation) -> CommandValidation:
    """Return the motion by the target, at the samples at which the fit simulates it."""
    passport = export.passport
    name = os.path.basename(log.source.path) or "log"
    parts = [passport.target.motion(export.folder, passport, s) for s in stretches_of(log, fit.robot, name=name)]
    return CommandValidation(own.name, own.joints, own.units, own.time, own.measured, np.vstack(parts), own.commanded)
