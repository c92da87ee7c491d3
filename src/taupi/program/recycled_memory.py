"""Memory of large results that is used again once nobody holds it: its pages are there, which fresh memory has yet to get.

The system hands out fresh memory page by page when it is first written, and that takes longer than computing what is written. So
the memory of a large result is kept when the last array over it is gone, and the next result that fits is put there. At most
LIMIT bytes are kept, the most recent ones; the rest goes back to the system at once, and all of it when the process ends.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any

import numpy as np

# Bytes that are kept at most, of all results together.
LIMIT = 512 * 1024 * 1024
# Results smaller than this are quicker had from the C library.
LEAST = 1024 * 1024
_ALIGNMENT = 64


class RecycledMemory:
    """Memory that was given back, of which at most `limit` bytes are kept.

    Any thread may take memory. It comes back when the last array over it is collected, which may be in any thread and in the
    middle of anything, this class included: so its list is changed by single steps, and how much is kept is counted anew.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._free: list[np.ndarray] = []
        self._lock = threading.RLock()

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array with any content that starts at a cache line.

        Its memory is used again when it and all arrays made from it are collected, and not before: whatever views it keeps it.
        """
        count = math.prod(shape) * dtype.itemsize
        # NumPy ends the chain of bases of an array at one over an object that is no array, and every view holds that one.
        owner = np.asarray(_Loan(self, self._take(count + _ALIGNMENT)))
        start = -int(owner.__array_interface__["data"][0]) % _ALIGNMENT
        return owner[start : start + count].view(dtype).reshape(shape)

    @property
    def kept(self) -> int:
        """Bytes that are kept now."""
        return sum(memory.nbytes for memory in tuple(self._free))

    def clear(self) -> None:
        """Return what is kept to the system."""
        self._free.clear()

    def give_back(self, memory: np.ndarray) -> None:
        """Keep memory that nobody holds, and let go of the oldest beyond the limit."""
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
        except MemoryError:  # what is kept may be in the way
            self.clear()
            return np.empty(count, dtype=np.uint8)

    def after_fork(self) -> None:
        """Have a lock that is open: in the parent of this process another thread may have held it."""
        self._lock = threading.RLock()


class _Loan:
    """What all arrays over some memory hold; collected, it gives the memory back."""

    __slots__ = ("__array_interface__", "__weakref__", "_memory", "_pool")

    def __init__(self, pool: RecycledMemory, memory: np.ndarray) -> None:
        self._pool, self._memory = pool, memory
        self.__array_interface__: dict[str, Any] = memory.__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self._memory)


MEMORY = RecycledMemory()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.after_fork)
