"""Recordings compressed to triangular factors: one pass over the rows of all logs, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from taupi.identification.friction.dry_friction import FrictionPlan, Past
from taupi.identification.rows.factors import MOST_STRETCHES, Compressor, JointFactor
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.identification.rows.workers import Workers
from taupi.progress import counted


class Extension(Protocol):
    """Further rows and columns that are compressed with those of a regressor."""

    def used(self, used: np.ndarray) -> np.ndarray:
        """Return which columns of the extended rows are not always zero, from those (n, p) of the regressor."""
        ...

    def shapes(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None
    ) -> tuple[np.ndarray, Past | None]:
        """Return functions of the motion (N, k, K) to filter together with the rows."""
        ...

    def extended(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (p', n', m), tau (m, n') and use (m, n') of the extended rows."""
        ...


@dataclass(frozen=True, eq=False)
class Compressed:
    """The factors of a recording, its number of samples, and the extremes (2, 2, n) of qd and qdd over the rows used."""

    factors: tuple[JointFactor, ...]
    samples: int
    extremes: np.ndarray


def compress_recordings(
    pool: Workers,
    plan: FrictionPlan,
    recordings: Sequence[Recording],
    extension: Extension | None = None,
    most: int = MOST_STRETCHES,
) -> list[Compressed]:
    """Return the factors of the rows of each recording, `most` of its stretches; extended if there is an `extension`."""
    with _sample_counter(recordings) as count:
        return pool.map(lambda k: compress(plan, recordings[k], k, most, count, extension), range(len(recordings)))


def with_speeds(recordings: Sequence[Recording], compressed: Sequence[Compressed]) -> list[Recording]:
    """Return recordings that know the largest speed of each of their rows."""
    pairs = zip(recordings, compressed, strict=True)
    return [replace(r, speeds=tuple(np.abs(part.extremes[0]).max(axis=0).tolist())) for r, part in pairs]


def compress(
    plan: FrictionPlan,
    recording: Recording,
    file: int,
    most: int,
    count: Callable[[int], None] = lambda samples: None,
    extension: Extension | None = None,
    head: bool = False,
) -> Compressed:
    """Return the factors of the rows of a recording, those of the log with the index `file`.

    There are `most` stretches of time; `count` is called with how many samples were done since the last call. With `head`, the
    rows are those of the beginning only.
    """
    maker = RowMaker(plan, None if extension is None else extension.shapes)
    used = maker.used if extension is None else extension.used(maker.used)
    expected = recording.expected_rows(head)
    compressor = Compressor(used, recording.independent_share, most, expected)
    low, high = np.full((2, maker.n), np.inf), np.full((2, maker.n), -np.inf)
    for rows in recording.rows(maker, head):
        compressor.add(*((rows.entries, rows.tau, rows.use) if extension is None else extension.extended(rows)))
        count(len(rows) * recording.samples_per_row)
        for k, value in enumerate((rows.qd, rows.qdd)):
            low[k] = np.minimum(low[k], np.where(rows.use, value, np.inf).min(axis=0, initial=np.inf))
            high[k] = np.maximum(high[k], np.where(rows.use, value, -np.inf).max(axis=0, initial=-np.inf))
    extremes = np.stack([low, high], axis=1)
    extremes = np.where(np.isfinite(extremes), extremes, 0.0)
    return Compressed(tuple(compressor.result(file)), compressor.samples, extremes)


def _sample_counter(recordings: Sequence[Recording]) -> AbstractContextManager[Callable[[int], None]]:
    """Return a context that gives a counter of samples, which shows progress if any recording is streamed."""
    if not any(r.source.streamed for r in recordings):
        return nullcontext(lambda samples: None)
    return counted("samples", sum(r.source.samples for r in recordings))
