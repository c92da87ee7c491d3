"""The requested part of a log, by time and by rows, and its positions with the encoders' offset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from taupi.errors import Argument, Part, TaupiError, shown
from taupi.signals.base_motion import joined_bases
from taupi.signals.log import Log
from taupi.signals.reading import Reading

R = TypeVar("R", bound=Reading)


def asked_part(log: Log, reading: Reading) -> Log:
    """Return the rows of a log that `reading` selects, encoder offsets added; the log itself if it selects nothing."""
    (part,) = asked_blocks([log], reading, len(log))
    note = _note(reading, len(part), len(log))
    return part.with_(notes=note) if note else part


def asked_blocks(blocks: Iterable[Log], reading: Reading, size: int) -> Iterator[Log]:
    """Yield the part of a log's blocks that `reading` selects, in blocks of at least `size` rows, except for the last."""
    if (reading.begin, reading.end, reading.rows) == (None, None, None):
        yield from (_with_offset(block, reading) for block in blocks)
        return
    pending: list[Log] = []
    rows, yielded, origin, last = 0, False, np.nan, np.nan
    first, stop = reading.row_range
    for block in blocks:
        if stop is not None and rows >= stop:
            break
        earliest, latest = np.fmin.reduce(block.time), np.fmax.reduce(block.time)
        origin, last = earliest if np.isnan(origin) else origin, np.fmax(last, latest)
        number, seconds = rows + np.arange(len(block)), block.time - origin + _slack(origin)
        keep = (number >= first) & (number < (np.inf if stop is None else stop))
        keep &= seconds >= (-np.inf if reading.begin is None else reading.begin)
        keep &= seconds < (np.inf if reading.end is None else reading.end)
        rows += len(block)
        if keep.any():
            pending.append(_with_offset(block.rows(keep), reading))
        if sum(map(len, pending)) >= size:
            yield concatenate_logs(pending)
            pending, yielded = [], True
    if pending:
        yield concatenate_logs(pending)
    elif not yielded:
        raise TaupiError(
            *("No sample lies within ", *_bounds(reading), f": the log has {rows} rows, {last - origin:.6g} s "),
            f"counted from its first sample (at {origin:g} s of its own time).",
        )


def _slack(origin: float) -> float:
    """Return the seconds by which rounding may put a time stamp before the time that it stands for."""
    return 1e-9 + 4 * np.finfo(float).eps * abs(origin)


def whole_logs(reading: R) -> R:
    """Return the settings that read every row of a log."""
    return dataclasses.replace(reading, begin=None, end=None, rows=None)


def concatenate_logs(parts: list[Log]) -> Log:
    """Return the log of consecutive blocks."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    fields: dict[str, Any] = {name: np.concatenate([p.signals[name] for p in parts]) for name in first.signals}
    fields["wrench"] = {name: np.concatenate([p.wrench[name] for p in parts]) for name in first.wrench}
    fields["contact"] = {name: np.concatenate([p.contact[name] for p in parts]) for name in first.contact}
    if first.base is not None:
        fields["base"] = joined_bases([p.base for p in parts if p.base is not None])
    return first.with_(time=np.concatenate([p.time for p in parts]), **fields)


def _with_offset(log: Log, reading: Reading) -> Log:
    """Return the log with the offsets of the encoders added to q."""
    if reading.encoder_offset is None:
        return log
    offset = np.asarray(reading.encoder_offset, dtype=float)
    if offset.shape not in ((), (log.n,)):
        raise TaupiError(
            Argument("encoder_offset"),
            f" is {shown(reading.encoder_offset)}, expected one number, or one for each of {log.n} joints.",
        )
    return log.with_(q=log.q + offset)


def _bounds(reading: Reading) -> list[Part]:
    """Return the settings that bound the part, as parts of a message."""
    values = {name: getattr(reading, name) for name in ("begin", "end", "rows") if getattr(reading, name) is not None}
    if "rows" in values:
        values["rows"] = ":".join("" if end is None else str(end) for end in values["rows"])
    parts: list[Part] = []
    for name, value in values.items():
        parts += [*([" and "] if parts else []), Argument(name, value)]
    return parts


def _note(reading: Reading, kept: int, rows: int) -> str:
    parts = []
    if kept < rows:
        parts.append(f"{kept} of {rows} samples are read")
    if reading.encoder_offset is not None:
        parts.append(f"encoder offset {reading.encoder_offset} added to q")
    return "; ".join(parts)
