"""Memory of large results that is used again once nothing refers to it: it already has its pages, which fresh memory still needs.

The system hands out fresh memory page by page when it is first written, and that takes longer than computing what is written. So
the memory of a large result is kept when the last array over it is gone, and the next result that fits uses it. At most LIMIT
bytes are kept, the most recent ones; the rest is returned to the system at once, and all of it when the process ends.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

# The most bytes that are kept, of all results together.
LIMIT = 512 * 1024 * 1024
# For results that are smaller than this, all outputs together, the C library is faster.
LEAST = 1024 * 1024
_ALIGNMENT = 64


class RecycledMemory:
    """Memory that was returned, of which at most `limit` bytes are kept.

    Any thread may take memory. It comes back when the last array over it is collected, which may be in any thread and in the
    middle of anything, this class included: so its list is changed only by atomic operations, and how much is kept is counted
    each time.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._free: list[np.ndarray] = []
        self._lock = threading.RLock()

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array with any content that starts at a cache line.

        Its memory is used again when it and all arrays made from it are collected, and not before: every view keeps it alive.
        """
        count = math.prod(shape) * dtype.itemsize
        # The chain of bases of a NumPy array ends at one over an object that is not an array, and every view refers to that one.
        owner = np.asarray(_Loan(self, self._take(count + _ALIGNMENT)))
        start = -int(owner.__array_interface__["data"][0]) % _ALIGNMENT
        return owner[start : start + count].view(dtype).reshape(shape)

    @property
    def kept(self) -> int:
        """Bytes that are kept now."""
        return sum(memory.nbytes for memory in tuple(self._free))

    def clear(self) -> None:
        """Return all memory that is kept to the system."""
        self._free.clear()

    def give_back(self, memory: np.ndarray) -> None:
        """Keep memory that nothing refers to, and release the oldest beyond the limit; more than the limit is not kept."""
        if memory.nbytes > self.limit:
            return
        with self._lock:
            self._free.append(memory)
            while self.kept > self.limit:
                self._free.pop(0)

    def _take(self, count: int) -> np.ndarray:
        """Return the smallest memory that is large enough and not twice as large, or fresh memory."""
        with self._lock:
            fitting = [memory for memory in tuple(self._free) if count <= memory.nbytes <= 2 * count]
            for memory in sorted(fitting, key=lambda m: m.nbytes):
                for place, free in enumerate(self._free):
                    if free is memory:
                        return self._free.pop(place)
        try:
            return np.empty(count, dtype=np.uint8)
        except MemoryError:  # the kept memory may be in the way
            self.clear()
            return np.empty(count, dtype=np.uint8)

    def after_fork(self) -> None:
        """Create a new, open lock: in the parent of this process another thread may have held the old one."""
        self._lock = threading.RLock()


class _Loan:
    """What all arrays over some memory refer to; when it is collected, the memory is returned."""

    __slots__ = ("__array_interface__", "__weakref__", "_memory", "_pool")

    def __init__(self, pool: RecycledMemory, memory: np.ndarray) -> None:
        self._pool, self._memory = pool, memory
        self.__array_interface__: dict[str, Any] = memory.__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self._memory)


MEMORY = RecycledMemory()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.after_fork)
