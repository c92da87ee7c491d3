"""A pool of threads that stop together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from taupi.checks import whole_number
from taupi.threads import return_free_memory

Item = TypeVar("Item")
Result = TypeVar("Result")


class StoppedError(Exception):
    """Another thread has failed, or the user has interrupted, so that this work is no longer needed."""


class Workers:
    """Applies a function to several items at once, at most `most` of them, by default as many as there are cores.

    Long work should call `check` from time to time: it raises once another thread has failed or the user has interrupted. Without
    it, a program would read its files to the end before it stops.

    >>> with Workers(2) as workers:
    ...     workers.map(lambda k: k * k, [1, 2, 3])
    [1, 4, 9]
    """

    def __init__(self, most: int, workers: int | None = None) -> None:
        if workers is not None:
            whole_number("workers", workers)
        self._pool = ThreadPoolExecutor(workers or max(1, min(most, os.cpu_count() or 1)))
        self._stop = Event()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return the results of the function for the items, in their order."""
        return_free_memory()  # the threads will need some of their own
        return list(self._pool.map(function, items))

    def check(self) -> None:
        """Raise if there is no point in continuing."""
        if self._stop.is_set():
            raise StoppedError
