"""Passes over logs by the workers of a Dask cluster: a task for each log, merged in the order of the logs.

The result does not depend on the number of workers, on their speed or on their deaths: a task is a function of a log and a plan,
lost ones are computed again, and pieces are put together by the index of their log, never in the order in which they arrive.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from taupi.errors import TaupiError
from taupi.identification.cluster.client import machines
from taupi.identification.cluster.identity import identity_of, on_workers
from taupi.identification.cluster.piece_store import PieceStore
from taupi.identification.rows.on_demand import OnDemand
from taupi.identification.rows.passes import OpenedLogs, SkippedLog, log_names
from taupi.identification.rows.pieces import Piece, make_piece
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import Recording
from taupi.progress import counted
from taupi.signals.log import Log
from taupi.signals.read import LogLike
from taupi.threads import keep_freed_memory, return_free_memory

# Time limit for fetching a finished result, s; a result lost with a dying worker is computed again.
_FETCH_S = 60.0
# Why a task has no result: it was lost with a worker, or it killed too many workers.
_LOST, _KILLED = object(), object()
# How often a log is tried whose results are lost.
_ATTEMPTS = 5


class ClusterPasses:
    """Passes over logs by the workers of a cluster. The logs are opened here only if their recordings are needed."""

    def __init__(self, client: Any, opened: OpenedLogs, store: PieceStore | None, skip_bad: bool) -> None:
        self._client, self._store, self._skip_bad = client, store, skip_bad
        self.logs: Sequence[LogLike] = [log for k, log in enumerate(opened.logs) if k not in opened.bad]
        self.skipped = opened.skipped
        self.machines: tuple[str, ...] = ()
        self._plan: Plan | None = None

    @property
    def recordings(self) -> Sequence[Recording]:
        """The logs, opened when they are needed."""
        plan, logs = self._plan, tuple(self.logs)
        assert plan is not None  # there is a pass before anything else
        return OnDemand(len(logs), lambda k: plan.recording(logs[k]))

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs according to a plan, in the order of the logs."""
        self._plan = plan
        identities = [identity_of(log) for log in self.logs]
        before = machines(self._client)
        outcomes = self._outcomes(plan, identities)
        self.machines = tuple(sorted(before | machines(self._client)))
        named = zip(log_names(self.logs), outcomes, strict=True)
        bad = [(name, o) for name, o in named if isinstance(o, TaupiError)]
        if bad and (not self._skip_bad or len(bad) == len(outcomes)):
            raise bad[0][1]
        self.skipped += tuple(SkippedLog(name, str(error)) for name, error in bad)
        good = [(log, o) for log, o in zip(self.logs, outcomes, strict=True) if isinstance(o, Piece)]
        self.logs = [log for log, _ in good]
        return [_with_path(piece, log).at(k).of_many(len(good)) for k, (log, piece) in enumerate(good)]

    def _outcomes(self, plan: Plan, identities: Sequence[str]) -> list[Piece | TaupiError]:
        """Return the piece of each log, stored or new, or the error that its task ended with."""
        results: dict[int, Piece | TaupiError] = {}
        if self._store is not None:
            results |= self._store.read_all(plan, identities)
        missing = [k for k in range(len(self.logs)) if k not in results]
        # Another call, or another driver, may have the same plan and logs: its tasks are not ours to cancel.
        call = uuid.uuid4().hex[:8]
        shipped = self._client.submit(_itself, plan, key=f"taupi-plan-{plan.fingerprint}-{call}", pure=False)

        def submitted(k: int, attempt: str) -> Any:
            # The key describes what is computed: the scheduler repeats a task under the same key, and we under another.
            key = f"taupi-piece-{plan.fingerprint}-{identities[k]}-{k}-{call}-{attempt}"
            return self._client.submit(piece_task, on_workers(self.logs[k]), shipped, key=key)

        def keep(k: int, outcome: Piece | TaupiError) -> None:
            results[k] = outcome
            if self._store is not None and isinstance(outcome, Piece):
                self._store.write(plan, identities[k], outcome)
            if isinstance(outcome, TaupiError) and not self._skip_bad:
                raise outcome
            count(1)

        with counted("logs", len(missing)) as count:
            # A worker that died may have had other logs as well, which are not to blame: now each log runs on its own.
            for k in self._kept(missing, submitted, keep):
                if self._kept([k], submitted, keep, name="alone"):
                    keep(k, _deadly(log_names(self.logs)[k]))
        return [results[k] for k in range(len(self.logs))]

    def _kept(
        self,
        logs: Sequence[int],
        submitted: Callable[[int, str], Any],
        keep: Callable[[int, Piece | TaupiError], object],
        name: str = "",
    ) -> list[int]:
        """Pass the outcome of each log's task to `keep` as it arrives; return the logs whose workers died too often.

        `submitted` starts the task of a log; attempts have a `name` and a number.
        """
        from dask.distributed import as_completed

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # logs in memory are large, and have to be sent
            futures = {submitted(k, f"{name}1"): (k, 1) for k in logs}
        completed, killed = as_completed(list(futures)), list[int]()
        try:
            for future in completed:
                k, attempt = futures.pop(future)
                outcome = _outcome(future)
                future.release()
                if outcome is _LOST and attempt == _ATTEMPTS:
                    keep(k, _unreachable(log_names(self.logs)[k]))
                elif outcome is _LOST:
                    again = submitted(k, f"{name}{attempt + 1}")
                    futures[again] = k, attempt + 1
                    completed.add(again)
                elif outcome is _KILLED:
                    killed.append(k)
                else:
                    keep(k, outcome)
        finally:
            self._client.cancel(list(futures), force=True)
        return sorted(killed)


def _itself(plan: Plan) -> Plan:
    """Return the plan as a separate task, so that it is sent once to each worker, and again if all workers that had it died."""
    return plan


def piece_task(log: LogLike, plan: Plan) -> Piece:
    """Return the piece of a log: what a worker does."""
    keep_freed_memory()
    try:
        return make_piece(log, plan).packed()
    finally:
        return_free_memory()


def _outcome(future: Any) -> Any:
    """Return the result of a task, or its error if the user's input caused it, or why there is no result.

    A result that does not arrive is lost: the worker that had it died before it was fetched, and no other worker computes it.
    """
    from dask.distributed import CancelledError, KilledWorker
    from dask.distributed import TimeoutError as FetchTimeoutError  # not the built-in one before Python 3.11

    try:
        return future.result(timeout=_FETCH_S)
    except TaupiError as error:
        return error
    except (FetchTimeoutError, TimeoutError):
        return _LOST
    except KilledWorker:
        return _KILLED
    except (CancelledError, OSError) as error:
        raise TaupiError(f"The cluster was lost: {error}.", remedy="Start again; finished logs are kept.") from None


def _deadly(name: str) -> TaupiError:
    return TaupiError(
        f"{name}: every worker that was given this log died.",
        remedy="Give workers more memory, or look at the log alone: taupi identify ... on one machine.",
    )


def _unreachable(name: str) -> TaupiError:
    return TaupiError(
        f"{name}: its result did not arrive from any of {_ATTEMPTS} workers within {_FETCH_S:g} s.",
        remedy="Look at the network between the workers and this process, and start again; finished logs are kept.",
    )


def _with_path(piece: Piece, log: LogLike) -> Piece:
    """Return the piece with the path of its log as it was stated here."""
    if isinstance(log, Log):
        return piece
    from taupi.signals.formats.sources import shown_address

    return replace(piece, record=replace(piece.record, path=shown_address(log)))
