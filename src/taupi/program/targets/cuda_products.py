"""Y^T Y and Y^T tau on the GPU: for each row of Y one product of the columns that can be nonzero there, on tensor cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

# Samples per tile: only one tile of the regressor exists at a time, 1 GB for a Panda. Smaller ones cost time: each takes ten
# launches, and the host needs 0.2 ms for them.
TILE = 1 << 18
# Partial sums per row of Y, each by its own blocks of threads: only in this way do products of few columns and many samples fill
# a card.
PARTS = 128


def column_spans(mask: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return for each row of a boolean `mask` (rows, columns) the columns, (start, stop), outside of which all are False."""
    spans = []
    for row in mask:
        columns = np.flatnonzero(row)
        spans.append((int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0))
    return tuple(spans)


def tiles(count: int, tile: int = TILE) -> Iterator[tuple[int, int, range]]:
    """Cut `count` samples into tiles of equal parts: yield samples per tile, parts per tile, and where such tiles start."""
    size = max(1, tile // PARTS) * PARTS
    start = 0
    for samples, parts in ((size, PARTS), (count % size // PARTS * PARTS, PARTS), (count % size % PARTS, 1)):
        if samples and samples <= count - start:
            stop = start + (count - start) // samples * samples
            yield samples, parts, range(start, stop, samples)
            start = stop


class RowProducts:
    """Sums of [Y_j tau_j]^T [Y_j tau_j] over samples, separate for each row j of Y and for each part of a tile.

    `spans` are the columns that row j of Y may fill, out of `columns`; a tile has `samples`, cut into `parts` of equal size.
    Each tile of Y is written into `regressor`, (columns, rows, samples), that of tau into `torque`, (rows, samples); then `add`
    adds them to the sums.
    """

    def __init__(
        self, cupy: Any, spans: Sequence[tuple[int, int]], columns: int, samples: int, parts: int, dtype: str
    ) -> None:
        from cupy_backends.cuda.libs import cublas

        self._cupy, self._spans, self._columns = cupy, spans, columns
        self._one = np.ones(1, dtype)
        buffer = cupy.zeros((columns + 1, len(spans), samples), dtype)
        self.regressor, self.torque = buffer[:columns], buffer[columns]
        self._sums = [cupy.zeros((parts, stop - start + 1, stop - start + 1), dtype) for start, stop in spans]
        # tau of row j goes into the column after its span, which the row never fills and only this product reads.
        self._copies = [
            (self.regressor[stop, j], self.torque[j]) for j, (_, stop) in enumerate(spans) if stop < columns
        ]
        self._multiply = cublas.dgemmStridedBatched if dtype == "float64" else cublas.sgemmStridedBatched
        one, step, depth = self._one.ctypes.data, len(spans) * samples, samples // parts
        self._products = [
            (
                *(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, stop - start + 1, stop - start + 1, depth, one),
                *(2 * (buffer[start, j].data.ptr, step, depth)),
                *(one, sums.data.ptr, stop - start + 1, (stop - start + 1) ** 2, parts),
            )
            for j, ((start, stop), sums) in enumerate(zip(spans, self._sums, strict=True))
        ]

    def add(self) -> None:
        """Add the tile: for each row of Y the products of its columns, of which tau is the last."""
        for column, tau in self._copies:
            column[:] = tau
        handle = self._cupy.cuda.device.get_cublas_handle()
        for arguments in self._products:
            self._multiply(handle, *arguments)

    def total(self) -> Any:
        """Return [Y tau]^T [Y tau] of all tiles, (columns + 1, columns + 1)."""
        size = self._columns + 1
        result = self._cupy.zeros((size, size), self.regressor.dtype)
        for (start, stop), sums in zip(self._spans, self._sums, strict=True):
            places = np.append(np.arange(start, stop), self._columns)
            result[np.ix_(places, places)] += sums.sum(axis=0)
        return result
