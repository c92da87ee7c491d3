"""Equations of robots on which more than motors acts: a base that moves freely with its contacts, and closed loops."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from taupi.dynamics.terms import TermsLike, linear_terms, modulated_terms, resolve_terms
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identifiability.conditioning import Conditioning
from taupi.identification.equations.equations import Choices, ComparedTorques, Equations, FittedModel
from taupi.identification.floating.contact_rows import BASE_ROWS, PROJECTED, WRENCH_OFFSET
from taupi.identification.floating.floating_rows import (
    ContactSettings,
    FloatingRows,
    floating_prediction,
    floating_rows,
)
from taupi.identification.floating.roots import root_of
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.block_source import BlockSource, errors_naming
from taupi.identification.rows.factors import Compressor
from taupi.identification.rows.passes import OpenedLogs, Passes
from taupi.identification.rows.pieces import Compressed, Piece
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.identification.rows.workers import Workers
from taupi.identification.solve import WEAK
from taupi.program.program import Program
from taupi.signals.checking.standstill import MotionRows
from taupi.signals.formats.sources import file_name
from taupi.signals.log import Log
from taupi.signals.read import LogLike, asked_part, read_log

# The speed over which dry friction sets in by default, rad/s or m/s.
_SLOW = 0.05


@dataclass(frozen=True)
class ConstrainedRobot(Equations):
    """Y_b pi_b = tau + J^T f: rows of the tree, contact forces measured, or projected out with those of closed loops.

    Logs are filtered as a whole, phase of contact by phase of contact, and the estimator starts from their triangles.
    """

    rows_can_be_repeated: ClassVar[bool] = False
    # Friction whose shape has to be chosen is left out by default: on legs, impacts hide it.
    default_terms: ClassVar[TermsLike] = ("rotor", "viscous", "coulomb", "offset")

    def check(self, log: Log) -> None:
        """Refuse a log that has other joints, or no signals of a base that moves."""
        root_of(self.robot).check(log)

    def regressor(self, base: BaseParameters) -> Program:
        """Return the program of the rows Y_b: the IMU form of a floating robot."""
        return root_of(self.robot).regressor(base)

    def checked(self, inputs: FitInputs) -> FitInputs:
        """Return the inputs of a fit, or refuse streams and clusters: phases of contact are filtered one by one."""
        if inputs.reading.stream:
            raise TaupiError(
                "{stream=True} is not for {robot}, whose logs are filtered as a whole.",
                remedy="Leave it out.",
                robot=self.robot.name,
            )
        if inputs.client is not None:
            raise TaupiError("{client} is not for robots that float or have closed loops.", remedy="Leave it out.")
        return inputs

    def opened(self, log: LogLike, inputs: FitInputs, check: Callable[[], None]) -> BlockSource:
        """Return a log as one block."""
        if isinstance(log, Log):
            whole = asked_part(log, inputs.reading)
        elif isinstance(log, str | os.PathLike):
            with errors_naming(log):
                whole = read_log(log, self.robot, reading=inputs.reading)
        else:
            raise TaupiError("{logs} holds {got!r}, expected a Log or the path of a file.", got=log)
        with errors_naming(whole.source.path):
            self.check(whole)
        samples = len(whole)
        return BlockSource(lambda: iter([whole]), whole, samples, whole.rate_hz, MotionRows(0, samples, samples))

    def choose(self, inputs: FitInputs, logs: OpenedLogs, order: Sequence[int], pool: Workers) -> Choices:
        """Return the base parameters: without friction where only the rows of the base are used, which hold none."""
        base = inputs.base
        if not isinstance(base, BaseParameters):
            asked = inputs.terms
            if asked is None:
                torqueless = all(source.first.tau is None for source in logs.sources.values())
                asked = () if inputs.contact == BASE_ROWS or torqueless else self.default_terms
            elif _has_offsets(asked):
                asked = tuple(term for term in asked if term != WRENCH_OFFSET)
            terms = resolve_terms(asked)
            if modulated := modulated_terms(terms):
                raise TaupiError(
                    "{terms} names {modulated!r}, which depends on load or speed: leave it out for floating robots.",
                    modulated=modulated[0].name,
                )
            slow = _SLOW if inputs.preparation.slow is None else inputs.preparation.slow
            shaped = tuple(Coulomb(velocity=slow) if t == Coulomb() else t for t in linear_terms(terms))
            base = base_parameters(self.robot, terms=shaped)
        return Choices(Plan(base, inputs.preparation, inputs.reading, None, np.zeros(self.robot.n)))

    def passes(self, inputs: FitInputs, logs: OpenedLogs, choices: Choices, pool: Workers) -> Passes:
        """Return passes over logs as a whole."""
        settings = ContactSettings(inputs.contact, inputs.feet, _has_offsets(inputs.terms))
        return ContactPasses(logs, settings, prior_of(inputs.prior, choices.plan.base))

    def completed(self, problem: Problem, passes: Passes) -> Problem:
        """Return a problem with how contact forces were treated."""
        assert isinstance(passes, ContactPasses)
        return dataclasses.replace(
            problem, notes=(*problem.notes, *self._loop_notes(problem.conditioning)), contact=asdict(passes.settings)
        )

    def notes(self, base: BaseParameters, pieces: Sequence[Piece], conditioning: Conditioning) -> list[str]:
        """Return notes on how the rows of these logs were made."""
        return list(dict.fromkeys(note for piece in pieces for note in piece.notes))

    def _loop_notes(self, conditioning: Conditioning) -> list[str]:
        """Return notes on how many parameters closed loops determine: there are none."""
        return []

    def compared(self, fit: FittedModel, log: Log, settings: Preparation) -> ComparedTorques:
        """Return the torques of the rows that a log gives, contact forces treated as in the fit."""
        contacts = {f.name: fit.settings[f.name] for f in dataclasses.fields(ContactSettings) if f.name in fit.settings}
        rows = floating_rows(fit.basis, log, settings, ContactSettings(**contacts), fit.prior)
        used = np.flatnonzero(rows.use.any(axis=0))
        measured, predicted = rows.tau[:, used], (rows.y @ fit.values)[:, used]
        names = [self.layout.names[k] for k in used]
        return ComparedTorques(names, rows.time, measured, predicted, measured, rows.notes)

    def predicted(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Return what the motors have to provide (N, n): Y pi less measured contact wrenches."""
        return floating_prediction(fit.basis, fit.values, log)


@dataclass(frozen=True)
class FloatingBase(ConstrainedRobot):
    """A robot whose base moves freely: six rows of the base, then one per joint."""

    kind = "a floating robot"


@dataclass(frozen=True)
class ClosedLoopRobot(ConstrainedRobot):
    """A robot with closed loops, whose unknown forces are projected out of the rows of its tree; its base may move."""

    kind = "closed loops"

    def _loop_notes(self, conditioning: Conditioning) -> list[str]:
        values = np.asarray(conditioning.singular_values)
        seen = int((values > WEAK * values.max(initial=0.0)).sum())
        return [
            f"Of {len(values)} base parameters of the tree, {seen} combinations show with the loops closed: by singular values "
            f"above {WEAK:g} of the largest, not exactly."
        ]

    def predicted(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Refuse a log: forces of loops act on all joints, and are not known."""
        raise TaupiError(
            "{robot} has closed loops, so that torques of single joints cannot be predicted.",
            remedy="Use fit.validate(log), or tp.loops.ClosedLoops(robot, motors).motor_regressor.",
            robot=self.robot.name,
        )


class ContactPasses:
    """Passes over logs as a whole, contact forces measured or projected out."""

    def __init__(self, opened: OpenedLogs, settings: ContactSettings, prior: np.ndarray) -> None:
        self._sources = list(opened.sources.values())
        self._prior = prior
        self.settings = settings
        self.logs: Sequence[LogLike] = [opened.logs[k] for k in opened.sources]
        self.skipped = opened.skipped
        self.machines: tuple[str, ...] = ()

    @property
    def recordings(self) -> Sequence[Recording]:
        """Nothing: contact forces are taken out before rows are filtered, so that rows are not made again."""
        return ()

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs, in their order."""
        logs, base = [source.first for source in self._sources], plan.base
        rows = [floating_rows(base, log, plan.preparation, self.settings, self._prior) for log in logs]
        standing = _standing_notes(logs, rows)
        return [_piece(base, log, part, k, standing) for k, (log, part) in enumerate(zip(logs, rows, strict=True))]


def _piece(base: BaseParameters, log: Log, rows: FloatingRows, file: int, standing: Sequence[str]) -> Piece:
    compressor = Compressor(np.ones((base.robot.n, base.count), dtype=bool), rows.share)
    compressor.add(np.ascontiguousarray(np.moveaxis(rows.y, 0, 2).transpose(1, 0, 2)), rows.tau, rows.use)
    factors = tuple(f for f in compressor.result(file) if f.rows)
    speeds = np.abs(rows.qd).max(axis=0)
    extremes = np.stack([np.stack([-speeds, speeds]), np.zeros((2, len(speeds)))])
    path = log.source.path
    record = LogRecord(
        file_name(path) if path else "log",
        path,
        log.source.sha256,
        log.rate_hz,
        rows.cutoff_hz,
        notes=(*log.notes, *rows.notes),
        speeds=tuple(speeds.tolist()),
    )
    return Piece(Compressed(factors, len(rows.time), extremes), record, notes=(*rows.notes, *standing))


def _has_offsets(terms: TermsLike | None) -> bool:
    """Return whether offsets of force sensors are asked for among the terms."""
    return terms is not None and not isinstance(terms, str) and WRENCH_OFFSET in tuple(terms)


def _standing_notes(logs: Sequence[Log], rows: Sequence[FloatingRows]) -> list[str]:
    """Note what remains hidden while a robot only stands: with unknown forces at all feet, some combinations never show."""
    if not logs or any(part.plan.way != PROJECTED for part in rows):
        return []
    flags = [log.contact for log in logs]
    if not all(flag and all(on.all() for on in flag.values()) for flag in flags):
        return []
    return [
        "No foot ever leaves the ground: its forces are unknown at all times, and hide combinations of parameters that would "
        "show in a motion in which feet are lifted by turns."
    ]
