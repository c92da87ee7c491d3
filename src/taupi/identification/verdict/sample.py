"""The part of the logs that trials are made on: the beginnings of some of them, as they were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.recording import SEEN, Recording
from taupi.signals.log import Log

# Rows of a trial, over all logs: with ten rows per period of the cutoff, 120 periods, and ten times the base parameters of an arm.
ROWS = 1200
# The logs that they come from, and the least rows of each: ten periods.
MOST_LOGS, LEAST_ROWS = 12, 100


@dataclass(frozen=True, eq=False)
class Head:
    """The beginning of a log, as it was recorded, with the rate and the cutoff of its recording; None if it came prepared."""

    log: Log
    rate_hz: float
    cutoff_hz: float | None
    name: str
    index: int


def heads_of(recordings: Sequence[Recording]) -> list[Head]:
    """Return the beginnings of the recordings, of some evenly spread ones if there are many."""
    count = min(len(recordings), MOST_LOGS)
    chosen = np.unique(np.linspace(0, len(recordings) - 1, count).round().astype(int))
    rows = max(ROWS // count, LEAST_ROWS)
    return [_head(recordings[k], rows, int(k)) for k in chosen]


def _head(recording: Recording, rows: int, index: int) -> Head:
    source, seconds = recording.source, rows / recording.rate_hz
    if recording.cutoff_hz is not None:
        seconds += 4 / recording.cutoff_hz  # filters cut a period at each end
    log, start = source.recorded(SEEN), source.span[0]
    inside = (log.time >= start) & (log.time <= min(source.span[1], start + seconds))
    return Head(log.rows(inside), source.rate_hz, recording.cutoff_hz, source.name, index)
