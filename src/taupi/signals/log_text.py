"""Logs as text: a summary line and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.tables import html_lines, html_table, table

if TYPE_CHECKING:
    from taupi.signals.log import Log

_DRAWN = 20_000  # samples from which a picture is drawn, evenly spread


def summary(log: Log) -> str:
    """Return a log in one line."""
    joints = f"{log.n} joint" + ("s" if log.n > 1 else "")
    rate = f" at {log.rate_hz:.5g} Hz" if np.isfinite(log.rate_hz) else ""
    name = log.source.path.replace("\\", "/").rsplit("/", 1)[-1]
    head = f"Log {name}" if name else "Log"
    return f"{head}: {len(log)} samples of {joints}, {abs(log.duration):.5g} s{rate}: {' '.join(log.signals)}{_surroundings(log)}"


def _surroundings(log: Log) -> str:
    """Return what a log holds in addition to its joints: a base that moves, contacts and wrenches of frames."""
    parts = ["its base"] if log.base is not None else []
    parts += [
        f"{what} of {', '.join(frames)}"
        for what, frames in (("contact", log.contact), ("wrench", log.wrench))
        if frames
    ]
    return f"; {'; '.join(parts)}" if parts else ""


def log_text(log: Log) -> str:
    """Return a log's summary line and the range of each of its signals."""
    return "\n".join([summary(log), *table(_rows(log))])


def log_html(log: Log) -> str:
    """Return a log as HTML for notebooks: the range of each of its signals, and each signal over time."""
    kept = slice(None, None, len(log) // _DRAWN + 1)
    time = log.time[kept].tolist()
    pictures = [html_lines(name, time, value[kept].T.tolist()) for name, value in log.signals.items()]
    return html_table(summary(log), _rows(log)) + "".join(pictures)


def _rows(log: Log) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("joint", "unit", *log.signals)]
    spans = {name: _spans(value) for name, value in log.signals.items()}
    return rows + [(log.names[j], log.units[j], *(spans[s][j] for s in spans)) for j in range(log.n)]


def _spans(value: np.ndarray) -> list[str]:
    if not len(value):
        return ["-"] * value.shape[1]
    low, high = np.fmin.reduce(value, axis=0), np.fmax.reduce(value, axis=0)
    return ["-" if np.isnan(a) else f"{a:.4g} .. {b:.4g}" for a, b in zip(low, high, strict=True)]
