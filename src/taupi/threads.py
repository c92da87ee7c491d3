"""Threads: those of this process that share work, and one BLAS thread for small matrices, which wake up no others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")

_MOST_THREADS = 256


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
        os.register_at_fork(after_in_child=_pool.cache_clear)
    return ThreadPoolExecutor(_MOST_THREADS, "taupi")


def side_by_side(work: Callable[[int], None], count: int) -> None:
    """Call work(0) ... work(count - 1) at once: the first in this thread, the others in threads that the process keeps.

    They must not call this function themselves, and return when all of them are done.

    >>> done = []
    >>> side_by_side(done.append, 3)
    >>> sorted(done)
    [0, 1, 2]
    """
    jobs = [_pool().submit(work, k) for k in range(1, count)]
    try:
        work(0)
    finally:  # memory that they write to must not be released before, whatever happened here
        for job in jobs:
            job.exception()
    for job in jobs:
        job.result()


def in_shares(work: Callable[[slice], None], count: int, threads: int, least: int) -> None:
    """Call `work` with parts of `count` items side by side, one for each of `threads` that has at least so many.

    >>> parts = []
    >>> in_shares(parts.append, 10, threads=4, least=4)
    >>> sorted(parts, key=lambda part: part.start)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    number = max(1, min(threads, count // least))
    if number == 1:
        work(slice(0, count))
        return
    edges = [count * k // number for k in range(number + 1)]
    side_by_side(lambda k: work(slice(edges[k], edges[k + 1])), number)


# Held by the caller that has set the limit. The limit belongs to the process, not to a thread, so a second caller finds it set.
_setting = Lock()


@cache
def _controller() -> ThreadpoolController:
    # NumPy and SciPy bring a library each; the controller would miss one that is loaded after it.
    import numpy.linalg  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def blas_libraries() -> list[str]:
    """Return the libraries for matrices of this process: name, version, and the processor that their kernels are for."""
    facts = (
        " ".join(str(each[k]) for k in ("internal_api", "version", "architecture") if each.get(k))
        for each in _controller().info()
    )
    return sorted(set(facts))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread inside a `with` block, and on as many as before after it.

    Blocks may be nested, and entered by several threads at once. The first to enter sets the limit and lifts it again; any
    others that are still inside then go on with more threads, which costs time and nothing else.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     _ = np.linalg.qr(np.ones((100, 10)), mode="r")
    """
    if not _setting.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1):
            yield
    finally:
        _setting.release()


def small_algebra(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that it runs with one BLAS thread.

    >>> @small_algebra
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_blas_thread():
            return function(*args, **kwargs)

    return limited


@cache
def _trim() -> Callable[[int], int] | None:
    """Return the C library's `malloc_trim`; None if it has none."""
    import ctypes

    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not the GNU library, or no library without a name
        return None
    return trim


def return_free_memory() -> None:
    """Return memory that arrays of other threads have freed to the system: glibc keeps it for each thread that ever had some."""
    trim = _trim()
    if trim is not None:
        trim(0)


def keep_freed_memory() -> None:
    """Let the C library keep freed memory of this process for its next arrays, as it does by default.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536. That returns every larger array to the system at once, and also stops
    glibc from learning how large arrays are: page faults then cost more than half of the arithmetic.
    """
    import ctypes

    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU library
        return
    mallopt(trim_threshold, 1 << 30)
    mallopt(mmap_threshold, 32 << 20)  # the largest that glibc takes
