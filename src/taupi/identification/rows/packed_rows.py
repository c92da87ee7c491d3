"""Rows of a triangular factor without their zeros: a third of the memory, for fits of very many logs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows (k, b) without zeros: columns that are zero in all rows are left out, and so is what is below the diagonal.

    Attributes:
        count: How many rows there are.
        columns: Which columns have numbers (b,).
        is_upper: Whether the rows of these columns are zero below the diagonal.
        values: The numbers, row by row.

    >>> rows = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    >>> packed = PackedRows.of(rows)
    >>> packed.values.tolist(), bool((packed.rows == rows).all())
    ([1.0, 2.0, 3.0], True)
    """

    count: int
    columns: np.ndarray
    is_upper: bool
    values: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> PackedRows:
        """Return rows (k, b) packed."""
        columns = np.asarray(rows.any(axis=0))
        dense = rows[:, columns]
        upper = _upper(*dense.shape)
        is_upper = not dense[~upper].any()
        return cls(len(rows), columns, is_upper, dense[upper] if is_upper else dense.ravel())

    @property
    def rows(self) -> np.ndarray:
        """The rows (k, b), equal to what they were."""
        width = int(self.columns.sum())
        if self.is_upper:
            dense = np.zeros((self.count, width))
            dense[_upper(self.count, width)] = self.values
        else:
            dense = self.values.reshape(self.count, width)
        full = np.zeros((self.count, len(self.columns)))
        full[:, self.columns] = dense
        return full


@cache
def _upper(rows: int, columns: int) -> np.ndarray:
    """Return which entries of a matrix are on its diagonal or above."""
    return np.triu(np.ones((rows, columns), dtype=bool))
