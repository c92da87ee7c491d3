"""Recordings that are opened when they are needed: of logs that other machines have read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import overload

from taupi.identification.rows.recording import Recording

# As many as a verdict examines.
_KEPT = 12


class OnDemand(Sequence[Recording]):
    """A sequence of `count` recordings; the function `opened` returns the one with an index, and a few are kept."""

    def __init__(self, count: int, opened: Callable[[int], Recording]) -> None:
        self._count = count
        self._opened = lru_cache(maxsize=_KEPT)(opened)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Recording: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Recording]: ...

    def __getitem__(self, index: int | slice) -> Recording | Sequence[Recording]:
        if isinstance(index, slice):
            return [self._opened(k) for k in range(*index.indices(self._count))]
        return self._opened(range(self._count)[index])
