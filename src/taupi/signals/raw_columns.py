"""The numbers of every column of a file, whatever they mean: some of them, as for a small picture, with their range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from taupi.errors import TaupiError
from taupi.signals.formats import format_of, sniffed
from taupi.signals.formats.files import readable_source
from taupi.signals.mapping.columns import Channel, Columns
from taupi.signals.read import PathLike, block_reader, read_log
from taupi.signals.reading import Reading

_BLOCK = 50_000
_ATTEMPTS = 64  # at reading columns together, some of which hold text


@dataclass
class RawColumn:
    """Numbers of a column as the file has them.

    Attributes:
        values: (k, width), rows at equal distances, the first one among them.
        low: The least of all its numbers in each column of an array; NaN where it has none.
        high: The largest.
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass
class _SpacedRows:
    """Rows at equal distances from blocks that come one after the other, at most twice `most`."""

    most: int
    stride: int = 1
    seen: int = 0
    kept: list[np.ndarray] = field(default_factory=list)
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def add(self, block: np.ndarray) -> None:
        first = -self.seen % self.stride
        self.kept += list(block[first :: self.stride].copy())
        self.seen += len(block)
        while len(self.kept) > 2 * self.most:
            self.kept, self.stride = self.kept[::2], 2 * self.stride
        low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
        self.low = low if self.low is None else np.fmin(self.low, low)
        self.high = high if self.high is None else np.fmax(self.high, high)


def raw_columns(
    path: PathLike, widths: Mapping[str, int], reading: Reading, columns: Columns, most: int
) -> dict[str, RawColumn]:
    """Return the numbers of those columns that hold numbers throughout, `most` to twice as many rows if there are so many.

    Args:
        path: The file.
        widths: The number of columns under each name of those that are looked at.
        reading: How the file is read.
        columns: A mapping, of which only what is not about signals counts.
        most: How many rows are enough.
    """
    result: dict[str, RawColumn] = {}
    pending, attempts = [list(widths)], 0
    while pending and attempts < _ATTEMPTS:
        names = pending.pop(0)
        attempts += 1
        try:
            result |= _read(path, names, widths, reading, columns, most) if names else {}
        except TaupiError:  # one of them holds text: halves are tried, until it is alone
            half = len(names) // 2
            pending += [names[:half], names[half:]] if half else []
    return result


def _read(
    path: PathLike, names: Sequence[str], widths: Mapping[str, int], reading: Reading, columns: Columns, most: int
) -> dict[str, RawColumn]:
    """Return the numbers of some columns, read as positions, which may have any values, at any rate."""
    own = replace(
        columns, channels={"q": Channel(tuple(names))}, joints=(), labels=(), motor=None, drives={}, segment=""
    )
    settings = Reading(own, 1.0, reading.topic, reading.format)
    row = format_of(reading.format or sniffed(readable_source(path, folder=True)))
    blocks = block_reader(path, _BLOCK, None, settings)() if row.streams else [read_log(path, reading=settings)]
    samples = _SpacedRows(most)
    for block in blocks:
        samples.add(block.q)
    if samples.low is None or samples.high is None:
        return {}
    values, result, at = np.array(samples.kept), {}, 0
    for name in names:
        own_part = slice(at, at + widths[name])
        result[name] = RawColumn(values[:, own_part], samples.low[own_part], samples.high[own_part])
        at += widths[name]
    return result
