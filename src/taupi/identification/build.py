"""From logs to the problem that estimators solve: read and check them, choose what is left open, and compress their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations.equations import Choices, Equations
from taupi.identification.equations.kinds import equations_of
from taupi.identification.folds.region_folds import RegionFolds
from taupi.identification.folds.relative_gains import RelativeGains
from taupi.identification.inputs import FitInputs
from taupi.identification.modulated_friction import ModulatedFriction
from taupi.identification.problem import Problem
from taupi.identification.rows.passes import OpenedLogs, Passes, choice_order, log_names, open_logs
from taupi.identification.rows.pieces import Piece, compress, piece_of
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import LogRecord
from taupi.identification.rows.workers import Workers
from taupi.identification.weighting import weighted_least_squares
from taupi.signals.formats.sources import file_name
from taupi.signals.log import Log
from taupi.signals.read import RunOfFile

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def chosen_logs(inputs: FitInputs) -> Iterator[ChosenLogs]:
    """Yield the logs of a fit, read and checked, with what was chosen from them; they are closed at the end."""
    equations = equations_of(inputs.robot, inputs.elastic)
    inputs = equations.checked(inputs)
    if np.any(inputs.preparation.relative_gains or 0.0) and not equations.has_drive_gains(inputs):
        raise TaupiError(
            "{relative_gains} is given, but the torques of {kind} are not those of single drives.",
            remedy="Leave {relative_gains} out.",
            kind=equations.kind,
        )
    with Workers(len(inputs.logs), inputs.workers) as pool, _client(inputs) as client:
        order = choice_order(len(inputs.logs), inputs.seed)
        logs = open_logs(
            inputs.logs,
            order,
            lambda log: equations.opened(log, inputs, pool.check),
            pool,
            all_of_them=client is None,
            skip_bad=inputs.skip_bad,
        )
        choices = equations.choose(inputs, logs, order, pool)
        yield ChosenLogs(inputs, equations, logs, choices, pool, client)


@dataclass(frozen=True, eq=False)
class ChosenLogs:
    """The logs of a fit with what was chosen from them, from which its problem is made in one pass over all rows."""

    inputs: FitInputs
    equations: Equations
    logs: OpenedLogs
    choices: Choices
    pool: Workers
    client: Client | str | None

    @cached_property
    def draft(self) -> Problem | None:
        """The problem of the beginnings of some logs, for a first fit that gives the load of friction that depends on it.

        It is None if there is no such friction.
        """
        choices, plan = self.choices, self.choices.plan
        if not choices.modulated:
            return None
        problem = self.equations.problem(self.inputs, plan, self._heads, modulated=choices.modulated)
        return dataclasses.replace(problem, recordings=list(choices.recordings.values()))

    @cached_property
    def _heads(self) -> list[Piece]:
        plan = self.choices.plan
        return [
            piece_of(r, compress(plan.friction, r, k, plan.most_stretches, head=True))
            for k, r in enumerate(self.choices.recordings.values())
        ]

    def friction_by_load(self, first: np.ndarray | None) -> ModulatedFriction | None:
        """Return the columns of friction that depends on load or bends with speed, with the load of a `first` fit (b,)."""
        if first is None:
            return None
        speeds = np.abs(np.concatenate([head.compressed.extremes for head in self._heads], axis=1)[0]).max(axis=0)
        return ModulatedFriction.of(self.choices.plan.base, self.choices.modulated, first, speeds)

    def folds(self, first: np.ndarray | None) -> RegionFolds | None:
        """Return rows of some logs in regions of positions, to choose by what is left out; None if rows or regions are too few.

        `first` (b,) are the parameters of a first fit of the draft, if there is one.
        """
        if self.inputs.terms is not None and self.inputs.preparation.relative_gains is not None:
            return None  # nothing is left to choose
        plan, recordings = self.choices.plan, list(self.choices.recordings.values())
        friction = self.friction_by_load(first)
        base = plan.base if friction is None else friction.base
        rows = sum(r.expected_rows(head=True) for r in recordings)
        if not self.equations.has_drive_gains(self.inputs) or rows < base.count:
            return None
        if first is None:
            linear = self.equations.problem(self.inputs, plan, self._heads)
            first = weighted_least_squares(linear, 2)[0].x
        folds = RegionFolds.of(recordings, base, first)
        return folds if folds.count > 1 else None  # of one region, where an arm stands still, nothing can be left out

    def with_relative_gains(self, gains: RelativeGains) -> ChosenLogs:
        """Return the logs with these gains divided out of their torques."""
        values = tuple(gains.values.tolist())

        def divided(preparation: Preparation) -> Preparation:
            return dataclasses.replace(preparation, relative_gains=values)

        choices = self.choices
        plan = dataclasses.replace(choices.plan, preparation=divided(choices.plan.preparation))
        recordings = {
            k: dataclasses.replace(r, preparation=divided(r.preparation)) for k, r in choices.recordings.items()
        }
        notes = (*choices.notes, gains.note(self.equations.layout.names))
        choices = dataclasses.replace(choices, plan=plan, recordings=recordings, notes=notes)
        return dataclasses.replace(self, choices=choices)

    def problem(self, first: np.ndarray | None = None) -> Problem:
        """Return the problem of all logs; `first` (b,) are the parameters of a first fit of the draft, if there is one."""
        inputs, choices, plan = self.inputs, self.choices, self.choices.plan
        friction, full = self.friction_by_load(first), plan
        if friction is not None:
            full = dataclasses.replace(plan, base=friction.base, first=friction.first)
        passes = self._passes()
        pieces = passes.pieces(full)
        pieces = [piece.named(name) for piece, name in zip(pieces, log_names(passes.logs), strict=True)]
        files = [p.record for p, log in zip(pieces, passes.logs, strict=True) if not isinstance(log, Log | RunOfFile)]
        refuse_duplicates(files)
        _refuse_differences(pieces, () if inputs.preparation.known_torque else plan.preparation.known_torque)
        notes = [*choices.notes, *(f"{each.name} is left out: {each.reason}" for each in passes.skipped)]
        if len(passes.machines) > 1:
            kinds = "; ".join(passes.machines)
            notes.append(
                f"machines of {len(passes.machines)} kinds read the logs, so that last bits may differ: {kinds}"
            )
        problem = pooled_problem(self.equations, inputs, plan, pieces, friction, notes)
        problem = dataclasses.replace(
            problem,
            shape_spread=choices.spread,
            recordings=passes.recordings,
            logs=tuple(passes.logs),
            skipped=passes.skipped,
            machines=passes.machines,
        )
        return self.equations.completed(problem, passes)

    def _passes(self) -> Passes:
        """Return passes over the logs, here or by the workers of a cluster, which continue from the stored pieces."""
        if self.client is None:
            return self.equations.passes(self.inputs, self.logs, self.choices, self.pool)
        from taupi.identification.cluster.passes import ClusterPasses, PieceStore

        store = None if self.inputs.resume is None else PieceStore(self.inputs.resume)
        return ClusterPasses(self.client, self.logs, store, self.inputs.skip_bad)


def pooled_problem(
    equations: Equations,
    inputs: FitInputs,
    plan: Plan,
    pieces: Sequence[Piece],
    friction: ModulatedFriction | None,
    notes: Sequence[str] = (),
) -> Problem:
    """Return the problem of the `pieces` of logs, whose columns are those of the plan, and of `friction` that is modulated."""
    if friction is None:
        return equations.problem(inputs, plan, pieces, notes)
    linear = [piece.with_columns(plan.base.count) for piece in pieces]
    problem = equations.problem(inputs, plan, linear, notes, friction.terms)
    return friction.problem(problem, inputs.prior, [factor for piece in pieces for factor in piece.factors])


def _client(inputs: FitInputs) -> AbstractContextManager[Client | None]:
    """Return a context that gives the client of a cluster, or None if there is no cluster."""
    if inputs.client is None:
        return nullcontext()
    from taupi.identification.cluster.client import connected

    return connected(inputs.client)


def refuse_duplicates(records: Sequence[LogRecord]) -> None:
    """Refuse a file that is given twice: its noise would be underestimated."""
    known: dict[str, LogRecord] = {}  # by hash
    for record in records:
        earlier = known.setdefault(record.sha256, record) if record.sha256 else record
        if earlier is record:
            continue
        if earlier.path == record.path:
            raise TaupiError("{name} is given twice: give each log once.", name=file_name(record.path))
        raise TaupiError(
            "{first} and {name} hold the same bytes: give each log once.", first=earlier.name, name=record.name
        )


def _refuse_differences(pieces: Sequence[Piece], adopted: tuple[str, ...]) -> None:
    """Refuse logs that state no known torque if one was `adopted` from the logs that were examined first."""
    silent = [piece.record.name for piece in pieces if not piece.stated_torque]
    if adopted and silent:
        raise TaupiError(
            "{silent} states no known torque, but other logs state {adopted}.",
            remedy="Say what acts in all of them: {known_torque}.",
            silent=silent[0],
            adopted="; ".join(adopted),
        )
