"""Logs from formats that deliver their columns part by part: whole, or in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from taupi.errors import TaupiError
from taupi.signals.formats.files import rebatch
from taupi.signals.log import Log, LogSource
from taupi.signals.tables import Layout, Table, build

Part = dict[str, np.ndarray]  # some rows of every column


def whole(path: Path, parts: Iterable[Part], layout: Layout, source: LogSource) -> Log:
    """Return the log of all parts."""
    held = list(parts)
    if not held:
        raise TaupiError(f"{path.name} has a header but no rows.")
    joined = {k: np.concatenate([p[k] for p in held]) for k in held[0]}
    return build(Table(joined, path.name), layout, source)


def in_blocks(path: Path, parts: Iterable[Part], layout: Layout, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in pieces of `size` rows; a piece and a part are held at a time."""
    row = 0
    for part in rebatch(parts, size):
        yield build(Table(part, path.name, first_row=row), layout, source)
        row += len(next(iter(part.values())))
