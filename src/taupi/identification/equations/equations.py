"""What every kind of equations can do: open and check logs, choose what is left open, make rows, compare, predict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from taupi.dynamics.terms import Term, TermsLike
from taupi.errors import NotIdentifiedError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning, conditioning_of_factor
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem, prior_of
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import BlockSource
from taupi.identification.rows.factors import merge_stretches, stack_factors
from taupi.identification.rows.passes import OpenedLogs, Passes
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.identification.rows.row_maker import Rows
from taupi.identification.rows.workers import Workers
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.signals.log import Log
from taupi.signals.read import LogLike

if TYPE_CHECKING:
    from taupi.identification.springs.estimate import SpringRecord


class FittedModel(Protocol):
    """What equations need to know of a fit in order to predict: a `Fit` has it."""

    @property
    def basis(self) -> BaseParameters:
        """What the base parameters stand for."""
        ...

    @property
    def values(self) -> np.ndarray:
        """The base parameters (b,)."""
        ...

    @property
    def prior(self) -> np.ndarray:
        """The standard parameters (p,) used for what the logs did not determine."""
        ...

    @property
    def springs(self) -> tuple[SpringRecord, ...]:
        """What the fitted logs showed about each spring."""
        ...

    @property
    def fits_deflection(self) -> bool:
        """Whether deflections were fitted as measurements."""
        ...

    @property
    def preparation(self) -> Preparation:
        """How the fitted logs were prepared."""
        ...

    @property
    def logs(self) -> tuple[LogRecord, ...]:
        """The records of the fitted logs."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the fit, those of the equations included."""
        ...


@dataclass(frozen=True, eq=False)
class Choices:
    """What was chosen from some of the logs and holds for all of them.

    Attributes:
        plan: How each log becomes rows.
        recordings: The logs that the choice was made from, with their cutoffs, by the index of the log.
        spread: What one standard error of each chosen shape of friction does to the base parameters (b, k).
        modulated: The terms of friction that depends on load or bends with speed.
        notes: What was chosen, in words.
    """

    plan: Plan
    recordings: Mapping[int, Recording] = field(default_factory=dict)
    spread: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    modulated: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ComparedTorques:
    """The torques of a log, row by row: measured and filtered, predicted by a fit, and as recorded.

    Attributes:
        names: The names of the n rows that are compared.
        time: (N,), s.
        measured: The torque (N, n), filtered as the motion was.
        predicted: The predicted torque (N, n).
        raw: The torque (N, n) as it was recorded.
        notes: What was done to the log, in words.
        speeds: The largest speed of each row in which friction acts, by name, rad/s or m/s.
        blocks: The rows, if their torque can be taken apart into friction and the rest.
    """

    names: Sequence[str]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    raw: np.ndarray
    notes: tuple[str, ...] = ()
    speeds: Mapping[str, float] = field(default_factory=dict)
    blocks: tuple[Rows, ...] = ()

    @classmethod
    def of_runs(cls, runs: Sequence[ComparedTorques]) -> ComparedTorques:
        """Return the rows of several runs of one log, one after the other in time."""
        if len(runs) == 1:
            return runs[0]
        first, time, end = runs[0], [], 0.0
        for run in runs:
            step = float(np.median(np.diff(run.time))) if len(run.time) > 1 else 0.0
            time.append(run.time - run.time[0] + end)
            end = float(time[-1][-1]) + step
        measured, predicted = (np.concatenate([r.measured for r in runs]), np.concatenate([r.predicted for r in runs]))
        raw = np.concatenate([run.raw for run in runs])
        speeds = {name: max(run.speeds.get(name, 0.0) for run in runs) for name in first.speeds}
        blocks = tuple(block for run in runs for block in run.blocks)
        notes = (f"{len(runs)} runs, one after the other", *first.notes)
        return cls(first.names, np.concatenate(time), measured, predicted, raw, notes, speeds, blocks)


@dataclass(frozen=True)
class Equations(ABC):
    """The equations that a fit solves: which rows a log gives, how they are made, and what a fit of them predicts.

    A fit goes through the methods in this order: `opened` reads and checks a log, `choose` settles what holds for all logs,
    `passes` makes their rows, and `problem` puts these together. `compared` and `predicted` are for what comes after.
    """

    layout: RowLayout

    kind: ClassVar[str]  # in words
    # Whether the rows of a log can be made again, so that an estimator may pass over them more than once.
    rows_can_be_repeated: ClassVar[bool] = True
    default_terms: ClassVar[TermsLike] = ()
    # The one estimator for equations that are not linear in the parameters; None if any can be chosen.
    own_estimator: ClassVar[str | None] = None

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.layout.robot

    def check(self, log: Log) -> None:
        """Refuse a log that does not fit these equations."""
        self.layout.check(log)

    def regressor(self, base: BaseParameters) -> Program:
        """Return the program of the rows Y_b."""
        return base.regressor()

    def checked(self, inputs: FitInputs) -> FitInputs:
        """Return the inputs of a fit, or refuse settings that have no meaning for these equations."""
        return inputs

    def has_drive_gains(self, inputs: FitInputs) -> bool:
        """Return whether each row has the torque of one drive alone, whose gain the rows of other joints can show."""
        return False

    @abstractmethod
    def opened(self, log: LogLike, inputs: FitInputs, check: Callable[[], None]) -> BlockSource:
        """Return a log as blocks of samples that fit these equations; `check` may raise to stop a long read."""

    @abstractmethod
    def choose(self, inputs: FitInputs, logs: OpenedLogs, order: Sequence[int], pool: Workers) -> Choices:
        """Return what holds for all logs, chosen from some of them: those that are first in this `order`."""

    @abstractmethod
    def passes(self, inputs: FitInputs, logs: OpenedLogs, choices: Choices, pool: Workers) -> Passes:
        """Return passes over the rows of all logs."""

    def completed(self, problem: Problem, passes: Passes) -> Problem:
        """Return a problem with what only these equations know about it."""
        return problem

    @abstractmethod
    def compared(self, fit: FittedModel, log: Log, settings: Preparation) -> ComparedTorques:
        """Return the torques of a log that is prepared by these settings, measured and predicted by a fit."""

    @abstractmethod
    def predicted(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Return the torque (N, n) that a fit predicts for the samples of a log."""

    def facts(self, extremes: np.ndarray) -> tuple[str, ...]:
        """Return facts about the motion of each joint, from the extremes (2, k, n) of velocities and accelerations."""
        return ()

    def notes(self, base: BaseParameters, pieces: Sequence[Piece], conditioning: Conditioning) -> list[str]:
        """Return notes on how the rows of these logs were made."""
        return []

    def problem(
        self,
        inputs: FitInputs,
        plan: Plan,
        pieces: Sequence[Piece],
        notes: Sequence[str] = (),
        modulated: Sequence[Term] = (),
    ) -> Problem:
        """Return the problem of the pieces of logs, still without the columns of `modulated` friction."""
        base, program = plan.base, self.regressor(plan.base)
        factors_in_stretches = tuple(factor for piece in pieces for factor in piece.factors)
        factors = tuple(merge_stretches(factors_in_stretches))
        samples, rows = sum(piece.compressed.samples for piece in pieces), sum(f.rows for f in factors)
        if rows < base.count:
            raise NotIdentifiedError(
                "{samples} samples are left, {rows} equations for {count} parameters.",
                remedy="Give longer logs, or a smaller {decimate}.",
                samples=samples,
                rows=rows,
                count=base.count,
            )
        facts = self.facts(np.concatenate([piece.compressed.extremes for piece in pieces], axis=1))
        conditioning = conditioning_of_factor(program, samples, stack_factors(factors)[:, :-1], facts)
        rank_notes = conditioning.sentences if not conditioning.full_rank else conditioning.sentences[:1]
        cutoff_notes = () if plan.cutoffs is None else (plan.cutoffs.note,)
        return Problem(
            robot=inputs.robot,
            terms=base.terms,
            base=base,
            regressor=program,
            factors=factors,
            pieces=factors_in_stretches,
            conditioning=conditioning,
            prior=prior_of(inputs.prior, base.with_modulated(modulated))[: len(base.standard)],
            recordings=(),
            records=tuple(piece.record for piece in pieces),
            preparation=plan.preparation,
            notes=(*rank_notes, *cutoff_notes, *notes, *self.notes(base, pieces, conditioning)),
            seed=inputs.seed,
            cutoffs=plan.cutoffs,
        )
