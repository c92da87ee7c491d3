"""The entries of regressor rows that are not always zero: a third of all, for an arm of seven joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Places:
    """Where the k entries lie in rows of `shape` (p, n): at `columns` (k,) and `joints` (k,)."""

    shape: tuple[int, int]
    columns: np.ndarray
    joints: np.ndarray

    @classmethod
    def everywhere(cls, shape: tuple[int, int]) -> Places:
        """Return the places of all entries, column by column."""
        columns, joints = np.indices(shape).reshape(2, -1)
        return cls(shape, columns, joints)

    @cached_property
    def used(self) -> np.ndarray:
        """Which columns are not zero at every state in the row of each joint (n, p)."""
        used = np.zeros(self.shape[::-1], dtype=bool)
        used[self.joints, self.columns] = True
        return used

    @cached_property
    def by_joint(self) -> tuple[np.ndarray, ...]:
        """The entries of each joint's row, in the order of its columns."""
        each = (np.flatnonzero(self.joints == j) for j in range(self.shape[1]))
        return tuple(own[np.argsort(self.columns[own], kind="stable")] for own in each)


@dataclass(frozen=True, eq=False)
class Entries:
    """The `values` (k, m) of m samples at their `places`.

    >>> y = np.arange(12.0).reshape(3, 2, 2)
    >>> bool((Entries.of(y).dense() == y).all())
    True
    """

    places: Places
    values: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray) -> Entries:
        """Return the entries of rows y (p, n, m), all of them."""
        return cls(Places.everywhere(y.shape[:2]), y.reshape(-1, y.shape[2]))

    def dense(self) -> np.ndarray:
        """Return the rows y (p, n, m)."""
        y = np.zeros((*self.places.shape, self.values.shape[1]))
        y[self.places.columns, self.places.joints] = self.values
        return y

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return Y x (m, n)."""
        weights = np.zeros((self.places.shape[1], len(self.values)))
        weights[self.places.joints, np.arange(len(self.values))] = x[self.places.columns]
        return np.asarray((weights @ self.values).T)
