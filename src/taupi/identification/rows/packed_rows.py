"""Rows of a triangular factor without their zeros: a third of the memory, for fits of very many logs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, overload

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
        """The rows (k, b), every bit as they were."""
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


class PackedRowsField:
    """A dataclass field that reads as an array, but is stored as it was set: as an array or as packed rows."""

    @overload
    def __get__(self, instance: None, owner: type) -> PackedRowsField: ...

    @overload
    def __get__(self, instance: object, owner: type) -> np.ndarray: ...

    def __get__(self, instance: object | None, owner: type) -> PackedRowsField | np.ndarray:
        if instance is None:
            raise AttributeError("r")  # the field has no default
        rows = self.kept(instance)
        return rows.rows if isinstance(rows, PackedRows) else rows

    def __set__(self, instance: object, rows: np.ndarray | PackedRows) -> None:
        instance.__dict__["kept_rows"] = rows

    @staticmethod
    def kept(instance: Any) -> np.ndarray | PackedRows:
        """Return the rows as they are kept."""
        rows: np.ndarray | PackedRows = instance.__dict__["kept_rows"]
        return rows
