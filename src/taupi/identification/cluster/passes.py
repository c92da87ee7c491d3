"""Passes over logs by the workers of a Dask cluster: a task for each log, merged in the order of the logs.

The result does not depend on the number of workers, on their speed or on their deaths: a task is a function of a log and a plan,
lost ones are computed again, and pieces are put together by the index of their log, never as they arrive.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from taupi.errors import TaupiError
from taupi.identification.cluster.identity import identity_of, on_workers
from taupi.identification.cluster.piece_store import PieceStore
from taupi.identification.rows.on_demand import OnDemand
from taupi.identification.rows.passes import OpenedLogs, SkippedLog, log_name
from taupi.identification.rows.pieces import Piece, make_piece
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import Recording
from taupi.progress import counted
from taupi.signals.log import Log
from taupi.signals.read import LogLike
from taupi.threads import keep_freed_memory, return_free_memory


class ClusterPasses:
    """Passes over logs by the workers of a cluster. The logs are opened here only if somebody asks for their recordings."""

    def __init__(self, client: Any, opened: OpenedLogs, store: PieceStore | None, skip_bad: bool) -> None:
        self._client, self._store, self._skip_bad = client, store, skip_bad
        bad = {s.name for s in opened.skipped}
        self.logs: Sequence[LogLike] = [
            log for k, log in enumerate(opened.logs) if k in opened.sources or log_name(log) not in bad
        ]
        self.skipped = opened.skipped
        self._plan: Plan | None = None

    @property
    def recordings(self) -> Sequence[Recording]:
        """The logs, opened when they are needed."""
        plan, logs = self._plan, tuple(self.logs)
        assert plan is not None  # there is a pass before anything else
        return OnDemand(len(logs), lambda k: plan.recording(logs[k]))

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs by a plan, in the order of the logs."""
        self._plan = plan
        identities = [identity_of(log) for log in self.logs]
        outcomes = self._outcomes(plan, identities)
        bad = [(log, o) for log, o in zip(self.logs, outcomes, strict=True) if isinstance(o, TaupiError)]
        if bad and (not self._skip_bad or len(bad) == len(outcomes)):
            raise bad[0][1]
        self.skipped += tuple(SkippedLog(log_name(log), str(error)) for log, error in bad)
        good = [(log, o) for log, o in zip(self.logs, outcomes, strict=True) if isinstance(o, Piece)]
        self.logs = [log for log, _ in good]
        return [_with_path(piece, log).at(k).of_many(len(good)) for k, (log, piece) in enumerate(good)]

    def _outcomes(self, plan: Plan, identities: Sequence[str]) -> list[Piece | TaupiError]:
        """Return the piece of each log, or the error that its task ended with: those stored before, and new ones."""
        from dask.distributed import as_completed

        results: dict[int, Piece | TaupiError] = {}
        if self._store is not None:
            results |= self._store.read_all(plan, identities)
        missing = [k for k in range(len(self.logs)) if k not in results]
        shipped = self._client.submit(_itself, plan, key=f"taupi-plan-{plan.fingerprint}", pure=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # logs in memory are large, and have to travel
            futures = self._submitted(plan, shipped, identities, missing)
        try:
            with counted("logs", len(futures)) as count:
                for future in as_completed(list(futures)):
                    k = futures[future]
                    results[k] = outcome = _outcome(future, log_name(self.logs[k]))
                    future.release()
                    if self._store is not None and isinstance(outcome, Piece):
                        self._store.write(plan, identities[k], outcome)
                    if isinstance(outcome, TaupiError) and not self._skip_bad:
                        raise outcome
                    count(1)
        finally:
            self._client.cancel([future for future in futures if not future.done()], force=True)
            del shipped
        return [results[k] for k in range(len(self.logs))]

    def _submitted(self, plan: Plan, shipped: Any, identities: Sequence[str], logs: Sequence[int]) -> dict[Any, int]:
        """Return the index of the log of each task; its key says what it computes, so that one that is lost is the same again."""
        name = f"taupi-piece-{plan.fingerprint}"
        keys = {k: f"{name}-{identities[k]}-{k}" for k in logs}
        return {self._client.submit(piece_task, on_workers(self.logs[k]), shipped, key=keys[k]): k for k in logs}


def _itself(plan: Plan) -> Plan:
    """Return the plan: a task of its own, so that it travels once to each worker, and again if all who had it have died."""
    return plan


def piece_task(log: LogLike, plan: Plan) -> Piece:
    """Return the piece of a log: what a worker does."""
    keep_freed_memory()
    try:
        return make_piece(log, plan).packed()
    finally:
        return_free_memory()


def _outcome(future: Any, name: str) -> Piece | TaupiError:
    """Return the result of a task, or the error that it ended with, as one of the user's input if that is what it is."""
    from dask.distributed import CancelledError, KilledWorker

    try:
        piece: Piece = future.result()
        return piece
    except TaupiError as error:
        return error
    except KilledWorker:
        return TaupiError(
            f"{name}: every worker that was given this log died.",
            remedy="Give workers more memory, or look at the log alone: taupi identify ... on one machine.",
        )
    except (CancelledError, OSError) as error:
        raise TaupiError(f"The cluster was lost: {error}.", remedy="Start again; finished logs are kept.") from None


def _with_path(piece: Piece, log: LogLike) -> Piece:
    """Return the piece with the path of its log as it was stated here."""
    if isinstance(log, Log):
        return piece
    from taupi.signals.formats.sources import shown_address

    return replace(piece, record=replace(piece.record, path=shown_address(log)))
