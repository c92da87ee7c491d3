"""Logs from formats that are read part by part: all parts joined, or in blocks of a given size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import TaupiError
from taupi.signals.formats.files import rebatch
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.tables import Layout, Table, log_from_table

Part = dict[str, np.ndarray]  # some rows of every column


def log_from_parts(path: Source, parts: Iterable[Part], layout: Layout, source: LogSource) -> Log:
    """Return the log of all parts."""
    pieces, used, size = [], 0, size_of(path)
    clock = Clock(path.name, size)
    for part in parts:
        pieces.append(part)
        used += sum(column.nbytes for column in part.values())
        budget().check_unpacked(used, size, path.name)
        clock.check()
    if not pieces:
        raise TaupiError(f"{path.name} has a header but no rows.")
    columns = {k: np.concatenate([p[k] for p in pieces]) for k in pieces[0]}
    return log_from_table(Table(columns, path), layout, source)


def blocks_from_parts(
    path: Source, parts: Iterable[Part], layout: Layout, source: LogSource, size: int
) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows; memory holds one block and one part."""
    row, bytes_of_file = 0, size_of(path)

    def checked() -> Iterator[Part]:
        for part in parts:
            rows = max(len(next(iter(part.values()))), 1)
            needed = sum(column.nbytes for column in part.values()) // rows * min(size, 8 * bytes_of_file)
            budget().check_unpacked(needed, bytes_of_file, f"{path.name}: a block")
            yield part

    for part in rebatch(checked(), size):
        yield log_from_table(Table(part, path, first_row=row), layout, source)
        row += len(next(iter(part.values())))
