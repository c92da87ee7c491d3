"""Passes over logs by the workers of a Dask cluster: a task for each large log or for several small ones, merged in their order.

The result does not depend on the number of workers, on their speed or on their deaths: a task is a function of logs and a plan,
lost ones are computed again, and pieces are put together by the index of their log, never in the order in which they arrive.
"""

from __future__ import annotations

import hashlib
import io
import os
import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.files import path_of, write_file
from taupi.identification.cluster.client import lost, machines
from taupi.identification.rows.passes import OpenedLogs, SkippedLog, log_names
from taupi.identification.rows.pieces import Piece, make_piece, open_piece, write_piece
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import OnDemand, Recording
from taupi.progress import counted
from taupi.signals.formats.files import identity_of_file
from taupi.signals.formats.sources import (
    HiddenAddress,
    address_of,
    file_system,
    shown_address,
)
from taupi.signals.log import Log
from taupi.signals.read import LogLike, RunOfFile
from taupi.threads import keep_freed_memory, return_free_memory

if TYPE_CHECKING:
    from distributed import Client, Future


def identity_of(log: LogLike) -> str:
    """Return a hash of a log's numbers, or of the place and the content of a file: what was replaced has another one."""
    digest = hashlib.sha256()
    if isinstance(log, Log):
        facts = (log.names, log.notes, log.source, log.filtering, log.known_torque)
        digest.update(repr(facts).encode())
        for name, values in {"time": log.time, **log.signals}.items():
            digest.update(name.encode() + np.ascontiguousarray(values, dtype=float).tobytes())
    else:
        digest.update(identity_of_file(log).encode())
        digest.update(repr(log.rows).encode() if isinstance(log, RunOfFile) else b"")
    return digest.hexdigest()[:32]


def on_workers(log: LogLike) -> LogLike:
    """Return a log as other machines find it: the absolute path of a local file, or an address whose secrets are not shown."""
    if isinstance(log, Log):
        return log
    address = address_of(log)
    place = str(Path(os.fspath(log)).absolute()) if address is None else HiddenAddress(address)
    return RunOfFile.of(place, log.rows, log.note) if isinstance(log, RunOfFile) else place


class PieceStore:
    """A folder of pieces, one file each, named after its plan and its log, so that pieces of other fits are never read.

    The folder may be an address, such as s3://bucket/pieces. A piece appears complete or not at all.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._address = address_of(folder)
        self._folder = str(folder) if self._address is None else self._address.rstrip("/")
        if self._address is not None:
            if self._address.startswith("http"):
                raise TaupiError("{resume} is {got!r}: nothing can be written there.", got=shown_address(folder))
            return
        path = path_of(folder, "a folder for pieces", "resume")
        if path.exists() and not path.is_dir():
            raise TaupiError("{resume} is {got!r}, which is a file, expected a folder.", got=str(path))
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TaupiError(
                "{resume} is {got!r}, which cannot be made: {strerror}.", got=str(path), strerror=error.strerror
            ) from None

    def read_all(self, plan: Plan, identities: Sequence[str]) -> dict[int, Piece]:
        """Return the pieces that exist, by the index of their log; a damaged one counts as missing."""
        stored, result = self._stored(), {}
        for k, identity in enumerate(identities):
            name = _name(plan, identity)
            if name not in stored:
                continue
            try:
                piece, facts = open_piece(f"{self._folder}/{name}", plan)
            except (TaupiError, OSError):
                continue
            if facts.get("log") == identity:
                result[k] = piece.packed()
        return result

    def write(self, plan: Plan, identity: str, piece: Piece) -> None:
        """Keep a piece."""
        name, facts = _name(plan, identity), {"plan": plan.fingerprint, "log": identity}
        if self._address is None:
            write_file(Path(self._folder, name), lambda stream: write_piece(piece, stream, facts), force=True)
            return
        buffer = io.BytesIO()
        write_piece(piece, buffer, facts)
        system, path = file_system(f"{self._folder}/{name}")
        system.pipe_file(path, buffer.getvalue())

    def _stored(self) -> set[str]:
        if self._address is None:
            return {path.name for path in Path(self._folder).iterdir()}
        system, path = file_system(self._folder)
        try:
            return {each.rpartition("/")[2] for each in system.ls(path, detail=False)}
        except FileNotFoundError:  # nothing was written yet
            return set()


def _name(plan: Plan, identity: str) -> str:
    return f"{plan.fingerprint[:16]}-{identity}.piece"


# Time limit for fetching a finished result, s; a result lost with a dying worker is computed again.
_FETCH_S = 60.0
# Why a task has no result: it was lost with a worker, or it killed too many workers.
_LOST, _KILLED = object(), object()
# How often a log is tried whose results are lost.
_ATTEMPTS = 5
# A task costs the scheduler and this process some milliseconds, as much as a small log takes: logs share one up to so many bytes
# and as long as each thread of the workers has so many tasks, since their speeds differ.
_SHARED_BYTES = 4 << 20
_TASKS_PER_THREAD = 4


class ClusterPasses:
    """Passes over logs by the workers of a cluster. The logs are opened here only if their recordings are needed."""

    def __init__(self, client: Client, opened: OpenedLogs, store: PieceStore | None, skip_bad: bool) -> None:
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
        before = machines(self._client)
        outcomes = self._outcomes(plan)
        self.machines = tuple(sorted(before | machines(self._client)))
        named = zip(log_names(self.logs), outcomes, strict=True)
        bad = [(name, o) for name, o in named if isinstance(o, TaupiError)]
        if bad and (not self._skip_bad or len(bad) == len(outcomes)):
            raise bad[0][1]
        self.skipped += tuple(SkippedLog(name, str(error)) for name, error in bad)
        good = [(log, o) for log, o in zip(self.logs, outcomes, strict=True) if isinstance(o, Piece)]
        self.logs = [log for log, _ in good]
        return [_with_path(piece, log).at(k).of_many(len(good)) for k, (log, piece) in enumerate(good)]

    def _outcomes(self, plan: Plan) -> list[Piece | TaupiError]:
        """Return the piece of each log, stored or new, or the error that its task ended with."""
        results: dict[int, Piece | TaupiError] = {}
        identities: list[str] = []
        if self._store is not None:
            identities = [identity_of(log) for log in self.logs]
            results |= self._store.read_all(plan, identities)
        missing = [k for k in range(len(self.logs)) if k not in results]
        # Another call, or another driver, may have the same plan and logs: its tasks are not ours to cancel.
        call = uuid.uuid4().hex[:8]
        shipped = self._client.submit(_itself, plan, key=f"taupi-plan-{plan.fingerprint}-{call}", pure=False)

        def submitted(logs: Sequence[int], attempt: str) -> Future:
            # The key describes what is computed: the scheduler repeats a task under the same key, and we under another.
            key = f"taupi-pieces-{plan.fingerprint}-{logs[0]}-{call}-{attempt}"
            return self._client.submit(pieces_task, [on_workers(self.logs[k]) for k in logs], shipped, key=key)

        def keep(k: int, outcome: Piece | TaupiError) -> None:
            results[k] = outcome
            if self._store is not None and isinstance(outcome, Piece) and identity_of(self.logs[k]) == identities[k]:
                self._store.write(plan, identities[k], outcome)  # unless the log was replaced while it was read
            if isinstance(outcome, TaupiError) and not self._skip_bad:
                raise outcome
            count(1)

        with counted("logs", len(missing)) as count:
            # A worker that died may have had other logs as well, which are not to blame: now each log runs on its own.
            for k in self._kept(self._shared(missing), submitted, keep):
                if self._kept([[k]], submitted, keep, name="alone"):
                    deadly = TaupiError(
                        "{name}: every worker that was given this log died.",
                        remedy="Give workers more memory, or look at the log alone: taupi identify ... on one machine.",
                        name=log_names(self.logs)[k],
                    )
                    keep(k, deadly)
        return [results[k] for k in range(len(self.logs))]

    def _shared(self, logs: Sequence[int]) -> list[list[int]]:
        """Return which logs share a task: small ones that follow each other."""
        threads = max(1, sum(self._client.nthreads().values()))
        most = max(1, len(logs) // (_TASKS_PER_THREAD * threads))
        shared: list[list[int]] = []
        size = 0
        for k in logs:
            own = _bytes_of(self.logs[k])
            size += own
            if not shared or len(shared[-1]) == most or size > _SHARED_BYTES:
                shared.append([])
                size = own
            shared[-1].append(k)
        return shared

    def _kept(
        self,
        tasks: Sequence[Sequence[int]],
        submitted: Callable[[Sequence[int], str], Future],
        keep: Callable[[int, Piece | TaupiError], object],
        name: str = "",
    ) -> list[int]:
        """Pass the outcome of each log to `keep` as it arrives; return the logs of tasks whose workers died too often.

        `submitted` starts a task of some logs; attempts have a `name` and a number.
        """
        from dask.distributed import as_completed

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # logs in memory are large, and have to be sent
            futures = {submitted(logs, f"{name}1"): (logs, 1) for logs in tasks}
        completed, killed = as_completed(list(futures)), list[int]()
        try:
            for future in completed:
                logs, attempt = futures.pop(future)
                outcome = _outcome(future)
                future.release()
                if outcome is _LOST and attempt == _ATTEMPTS:
                    outcome = [_unreachable(log_names(self.logs)[k]) for k in logs]
                if outcome is _LOST:
                    again = submitted(logs, f"{name}{attempt + 1}")
                    futures[again] = logs, attempt + 1
                    completed.add(again)
                elif outcome is _KILLED:
                    killed += logs
                else:
                    for k, own in zip(logs, outcome, strict=True):
                        keep(k, own)
        finally:
            self._client.cancel(list(futures), force=True)
        return sorted(killed)


def _itself(plan: Plan) -> Plan:
    """Return the plan as a separate task, so that it is sent once to each worker, and again if all workers that had it died."""
    return plan


def pieces_task(logs: Sequence[LogLike], plan: Plan) -> list[Piece | TaupiError]:
    """Return the piece of each log, or the error of one that cannot be used: what a worker does."""

    def piece(log: LogLike) -> Piece | TaupiError:
        try:
            return make_piece(log, plan).packed()
        except TaupiError as error:  # the logs beside it are not to blame
            return error

    keep_freed_memory()
    try:
        return [piece(log) for log in logs]
    finally:
        return_free_memory()


def _bytes_of(log: LogLike) -> int:
    """Return the size of a log in memory or in a local file; of one that is elsewhere, more than logs that share a task have."""
    if isinstance(log, Log):
        return sum(values.nbytes for values in (log.time, *log.signals.values()))
    try:
        return Path(os.fspath(log)).stat().st_size if address_of(log) is None else _SHARED_BYTES + 1
    except (OSError, ValueError):  # the worker says what is wrong with it
        return 0


def _outcome(future: Future) -> Any:
    """Return the pieces or errors of a task's logs, or why there are none.

    A result that does not arrive is lost: the worker that had it died before it was fetched, and no other worker computes it.
    """
    from dask.distributed import CancelledError, KilledWorker
    from dask.distributed import TimeoutError as FetchTimeoutError  # not the built-in one before Python 3.11

    try:
        return future.result(timeout=_FETCH_S)
    except (FetchTimeoutError, TimeoutError):
        return _LOST
    except KilledWorker:
        return _KILLED
    except (CancelledError, OSError) as error:
        raise lost(error) from None


def _unreachable(name: str) -> TaupiError:
    return TaupiError(
        "{name}: its result did not arrive from any of {attempts} workers within {fetch_s:g} s.",
        remedy=("Look at the network between the workers and this process, and start again; finished logs are kept."),
        name=name,
        attempts=_ATTEMPTS,
        fetch_s=_FETCH_S,
    )


def _with_path(piece: Piece, log: LogLike) -> Piece:
    """Return the piece with the path of its log as it was stated here."""
    if isinstance(log, Log):
        return piece
    return replace(piece, record=replace(piece.record, path=shown_address(log)))
