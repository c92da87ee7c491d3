"""The part of the logs that trials are made on: the beginnings of some of them, as they were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.recording import SEEN, Recording
from taupi.signals.log import Log
from taupi.signals.prepare import PER_PERIOD

# Rows of a trial, over all logs: with ten rows per period of the cutoff, 120 periods.
ROWS = 1200
# The logs that they come from, and the least rows of each: ten periods.
MOST_LOGS, LEAST_ROWS = 12, 100
# This share of the power of q may lie above the motion; the cutoff is this many times the frequency
# where the motion ends, and the log is at least this many of its periods long.
_BEYOND, _TIMES, LEAST_PERIODS = 1e-3, 2.0, 30.0


@dataclass(frozen=True, eq=False)
class Head:
    """The beginning of a log, as it was recorded; `index` is the number of the log, `rate_hz` are its samples per second.

    `recorded` is all of it, or as much as was read of a stream at once.
    """

    log: Log
    recorded: Log
    rate_hz: float
    name: str
    index: int


def heads_of(recordings: Sequence[Recording]) -> list[Head]:
    """Return the beginnings of the recordings, of some evenly spread ones if there are many."""
    count = min(len(recordings), MOST_LOGS)
    chosen = np.unique(np.linspace(0, len(recordings) - 1, count).round().astype(int))
    rows = max(ROWS // count, LEAST_ROWS)
    return [_head(recordings[k], rows, int(k)) for k in chosen]


def _head(recording: Recording, rows: int, index: int) -> Head:
    source, log = recording.source, recording.source.recorded(SEEN)
    start, seconds = source.span[0], rows / source.rate_hz
    if recording.cutoff is not None:
        hz = recording.preparation.cutoff_hz or motion_cutoff(source.head(SEEN))
        seconds = (rows / PER_PERIOD + 4) / hz  # filters cut a period at each end
    inside = (log.time >= start) & (log.time <= min(source.span[1], start + seconds))
    return Head(log.rows(inside), log, source.rate_hz, source.name, index)


def motion_cutoff(log: Log) -> float:
    """Return a cutoff (Hz) that lets the motion pass and not much noise: twice where 99.9 % of the power of q ends.

    The cutoff of a fit is not a guide: it depends on what the model explains, which is little as long as a mistake is in the log.

    >>> import numpy as np
    >>> t = np.arange(0, 20, 0.01)
    >>> round(motion_cutoff(Log(t, np.sin(2 * np.pi * 0.5 * t)[:, None])), 1)
    1.5
    """
    q = log.q - log.q.mean(axis=0)
    spectrum = np.abs(np.fft.rfft(q * np.hanning(len(q))[:, None], axis=0)) ** 2
    share = np.cumsum(spectrum.sum(axis=1))
    end = int(np.searchsorted(share, (1 - _BEYOND) * share[-1])) + 1
    hz = _TIMES * end * log.rate_hz / len(q)
    return float(np.clip(hz, LEAST_PERIODS / max(log.duration, 1e-9), 0.3 * log.rate_hz))
