"""Passes over all logs of a fit: which of them are open, and the pieces that each pass makes of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.rows.block_source import BlockSource
from taupi.identification.rows.pieces import Piece, compress_recordings, piece_of, with_speeds
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import SEEN, Recording
from taupi.identification.rows.workers import Workers
from taupi.signals.formats.sources import shown_address
from taupi.signals.log import Log
from taupi.signals.read import LogLike

# What is left open is chosen from the beginnings of this many long logs, or of as many short ones as hold as many samples: more
# logs cost time and change little, but a few short runs may not show what all of them show.
CHOICE_LOGS = 8
_CHOICE_SAMPLES = CHOICE_LOGS * SEEN


@dataclass(frozen=True)
class SkippedLog:
    """A log that is left out of a fit: its `name`, and the `reason` in words."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class OpenedLogs:
    """Logs of a fit, and those that are open, by index; those of `bad` could not be used."""

    logs: tuple[LogLike, ...]
    sources: dict[int, BlockSource]
    bad: dict[int, SkippedLog]

    @property
    def skipped(self) -> tuple[SkippedLog, ...]:
        """The logs that are left out."""
        return tuple(self.bad.values())

    def chosen(self, order: Sequence[int]) -> list[int]:
        """Return the indices of the open logs from which settings are chosen, the first ones in this `order`."""
        chosen: list[int] = []
        for k in order:
            if enough_for_choices([self.sources[j] for j in chosen]):
                break
            chosen += [k] if k in self.sources else []
        return sorted(chosen)


def enough_for_choices(sources: Sequence[BlockSource]) -> bool:
    """Return whether settings can be chosen from these logs: several, and enough samples."""
    samples = sum(min(source.samples, SEEN) for source in sources)
    return len(sources) >= CHOICE_LOGS and samples >= _CHOICE_SAMPLES


class Passes(Protocol):
    """Passes over all logs of a fit, here or on other machines.

    Attributes:
        logs: The logs, as they were given.
        recordings: The logs, ready to be read again.
        skipped: The logs that are left out.
        machines: The kinds of machines that read the logs; empty if it is this one alone.
    """

    logs: Sequence[LogLike]
    skipped: tuple[SkippedLog, ...]
    machines: tuple[str, ...]

    @property
    def recordings(self) -> Sequence[Recording]:
        """The logs, ready to be read again."""
        ...

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs according to a plan, in the order of the logs."""
        ...


class LocalPasses:
    """Passes over recordings that are open in this process, several at once."""

    def __init__(self, pool: Workers, recordings: Sequence[Recording], opened: OpenedLogs) -> None:
        self._pool = pool
        self._recordings = list(recordings)
        self.logs: Sequence[LogLike] = [opened.logs[k] for k in opened.sources]
        self.skipped = opened.skipped
        self.machines: tuple[str, ...] = ()

    @property
    def recordings(self) -> Sequence[Recording]:
        """The logs, ready to be read again."""
        return tuple(self._recordings)

    def pieces(self, plan: Plan) -> list[Piece]:
        """Return the pieces of all logs according to a plan, in the order of the logs."""
        parts = compress_recordings(self._pool, plan.friction, self._recordings, most=plan.most_stretches)
        self._recordings = with_speeds(self._recordings, parts)
        count = len(parts)
        return [piece_of(r, part).of_many(count) for r, part in zip(self._recordings, parts, strict=True)]


def choice_order(logs: int, seed: int) -> list[int]:
    """Return the order in which logs are considered for choices: as they are if they are few, else shuffled.

    >>> choice_order(3, 0)
    [0, 1, 2]
    >>> choice_order(12, 0) == choice_order(12, 0) != list(range(12))
    True
    """
    if logs <= CHOICE_LOGS:
        return list(range(logs))
    return [int(k) for k in np.random.default_rng(seed).permutation(logs)]


def open_logs(
    logs: Sequence[LogLike],
    order: Sequence[int],
    opened: Callable[[LogLike], BlockSource],
    pool: Workers,
    all_of_them: bool,
    skip_bad: bool,
) -> OpenedLogs:
    """Return the logs that can be used, open: `all_of_them`, or as many as settings are chosen from, in this `order`.

    `opened` returns the blocks of a log, or raises. With `skip_bad`, a log that cannot be used is left out.
    """

    def attempt(k: int) -> BlockSource | TaupiError:
        try:
            return opened(logs[k])
        except TaupiError as error:
            if not skip_bad:
                raise
            return error

    results: dict[int, BlockSource | TaupiError] = {}
    pending = list(order)
    while pending:
        usable = [r for r in results.values() if not isinstance(r, TaupiError)]
        if not all_of_them and enough_for_choices(usable):
            break
        batch = sorted(pending if all_of_them else pending[: max(CHOICE_LOGS - len(usable), 1)])
        pending = [k for k in pending if k not in batch]
        results |= dict(zip(batch, pool.map(attempt, batch), strict=True))
    names = log_names(logs)
    bad = {k: SkippedLog(names[k], str(r)) for k, r in sorted(results.items()) if isinstance(r, TaupiError)}
    sources = {k: r for k, r in sorted(results.items()) if not isinstance(r, TaupiError)}
    if not sources:
        raise TaupiError(
            "None of {count} logs can be used. The first: {reason}",
            count=len(logs),
            reason=next(iter(bad.values())).reason,
        )
    return OpenedLogs(tuple(logs), sources, bad)


def log_names(logs: Sequence[LogLike]) -> list[str]:
    """Return what messages call each log: the name of its file, with as many folders as tell it from others of that name.

    >>> log_names(["a/run.csv", "b/run.csv", "a/other.csv"])
    ['a/run.csv', 'b/run.csv', 'other.csv']

    Addresses that differ in what is not shown of them, such as `?id=1` and `?id=2`, are numbered.

    >>> log_names(["http://robot/run.csv?id=1", "http://robot/run.csv?id=2"])
    ['http://robot/run.csv (1)', 'http://robot/run.csv (2)']
    """
    paths = [log.source.path if isinstance(log, Log) else log for log in logs]
    parts = [_parts_of(path) if path else ("log",) for path in paths]
    names = [each[-1] for each in parts]
    for length in range(2, max(map(len, parts), default=0) + 1):
        counts = Counter(names)
        names = [
            "/".join(each[-length:]) if counts[name] > 1 else name for name, each in zip(names, parts, strict=True)
        ]
    counts, seen = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        seen[name] += 1
        names[k] = f"{name} ({seen[name]})" if counts[name] > 1 and paths[k] else name
    return names


def _parts_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the folders and the name of a log; the server of an address belongs to its protocol."""
    shown = shown_address(path)
    protocol, between, place = shown.rpartition("://")
    first, *others = place.split("/") if between else Path(shown).parts
    return (f"{protocol}{between}{first}", *others)
