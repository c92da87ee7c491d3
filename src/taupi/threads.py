"""One thread of BLAS where matrices are small: factorising one is done before other threads have been woken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


# Held by the caller that has set the limit. A second one finds it set; the counts are the process's, not a thread's.
_setting = Lock()


@cache
def _controller() -> Any:
    # NumPy and SciPy bring a library each; one that is loaded after the controller is made would be missed.
    import numpy.linalg  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let linear algebra run on one thread for a while, then on as many as before.

    It may be nested, and entered by several threads. Who comes first sets the limit and lifts it again; others who are
    then still inside go on with more threads, which costs time and nothing else.

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
    """Return a function that runs with one thread of BLAS.

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
