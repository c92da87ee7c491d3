"""Threads that share files between them, and stop together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from taupi.errors import TaupiError, shown

Item = TypeVar("Item")
Result = TypeVar("Result")


class StoppedError(Exception):
    """Other work has failed, or was interrupted, so that this one is not needed any more."""


class Workers:
    """Does the same with several things at once, by default as many as there are cores.

    Work that takes long calls `check` now and then: once something has failed elsewhere, or the user has interrupted, it raises.
    Without it a program would go on to the end of its files before it ends.

    >>> with Workers(2) as workers:
    ...     workers.map(lambda k: k * k, [1, 2, 3])
    [1, 4, 9]
    """

    def __init__(self, most: int, wanted: int | None = None) -> None:
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1):
            raise TaupiError(f"workers is {shown(wanted)}, expected a whole number of at least 1.")
        self._pool = ThreadPoolExecutor(wanted or max(1, min(most, os.cpu_count() or 1)))
        self._stop = Event()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return what the function makes of each, in their order."""
        return list(self._pool.map(function, items))

    def check(self) -> None:
        """Raise if there is no use in going on."""
        if self._stop.is_set():
            raise StoppedError
