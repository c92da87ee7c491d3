"""The results of a batch: how they are laid out, and memory that is used again because it already has its pages."""

from __future__ import annotations

import math
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import Argument, unknown
from taupi.program.program import Program

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# "samples": (N, *shape), sample by sample. "batch_last": (*reversed shape, N), the natural order of vectors over samples; the
# transpose of a regressor in it is the stacked matrix in Fortran order. "nonzeros": (structural nonzeros, N).
LAYOUTS = ("samples", "batch_last", "nonzeros")


def checked_layout(layout: str) -> str:
    """Return a layout after checking that it exists."""
    if layout not in LAYOUTS:
        raise unknown(Argument("layout"), layout, LAYOUTS)
    return layout


def places(program: Program, port: int, layout: str) -> np.ndarray:
    """Return where each structural nonzero of an output goes, in the order in which the tape stores them.

    A place is a flat index into the output of one sample ("samples"), into the same with its axes reversed ("batch_last"), or
    the number of the nonzero ("nonzeros").
    """
    flat = program.nonzeros(port)
    if checked_layout(layout) == "nonzeros":
        return np.arange(len(flat))
    shape = program.outputs[port].shape
    if layout == "samples" or len(shape) < 2:
        return flat
    return np.ravel_multi_index(np.unravel_index(flat, shape)[::-1], shape[::-1])


def output_shapes(shapes: list[tuple[int, ...]], nonzeros: list[int], layout: str, n: int) -> list[tuple[int, ...]]:
    """Return the shapes of outputs for n samples."""
    if layout == "nonzeros":
        return [(count, n) for count in nonzeros]
    return [(n, *s) if layout == "samples" else (*s[::-1], n) for s in shapes]


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first entry; `array.ctypes.data` is the same, but takes a microsecond."""
    address: int = array.__array_interface__["data"][0]
    return address


def dtype_name(dtype: Any) -> str:
    """Return the name of a number type: "float64" for "float64", float or np.float64."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)


# The most bytes that are kept, of all results together: a share of the machine's memory, and on a small machine this many.
_SHARE = 1 / 8
LIMIT = 512 * 1024 * 1024
# Files in which Linux says how much memory a container may have.
_ALLOWED = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# For results that are smaller than this, all outputs together, the C library is faster.
LEAST = 1024 * 1024
# From this size on, the C library may ask the system for each array, and return it: then every page faults.
_LEFT_TO_C = 128 * 1024
_ALIGNMENT = 64


def kept_limit() -> int:
    """Return how many bytes are kept at most: an eighth of the memory of the machine or container, and at least 512 MiB."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return LIMIT
    for name in _ALLOWED:
        with suppress(OSError, ValueError):  # no such file, or no limit, "max"
            memory = min(memory, int(Path(name).read_text()))
    return max(LIMIT, int(_SHARE * memory))


def release_memory() -> None:
    """Return the memory of large results that nothing refers to any more to the system.

    Otherwise it is kept for the next results, up to an eighth of the machine's memory.

    >>> import taupi as tp
    >>> tp.program.release_memory()
    """
    MEMORY.clear()


def fresh(shape: tuple[int, ...], dtype: DTypeLike = float) -> np.ndarray:
    """Return an array with any content; the memory of a large one is used again, see `release_memory`."""
    kind = np.dtype(dtype)
    large = math.prod(shape) * kind.itemsize >= _LEFT_TO_C
    return MEMORY.array(shape, kind) if large else np.empty(shape, kind)


def fresh_zeros(shape: tuple[int, ...], dtype: DTypeLike = float) -> np.ndarray:
    """Return zeros, in memory as that of `fresh`."""
    array = fresh(shape, dtype)
    array.fill(0)
    return array


class RecycledMemory:
    """Memory that was returned, of which at most `limit` bytes are kept, by default `kept_limit()`.

    Any thread may take memory. It comes back when the last array over it is collected, which may be in any thread and in the
    middle of anything, this class included: so its list is changed only by atomic operations, and how much is kept is counted
    each time.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = kept_limit() if limit is None else limit
        self._free: list[np.ndarray] = []
        self._lock = threading.RLock()

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array with any content that starts at a cache line.

        Its memory is used again when it and all arrays made from it are collected, and not before: every view keeps it alive.
        """
        count = math.prod(shape) * dtype.itemsize
        # The chain of bases of a NumPy array ends at one over an object that is not an array, and every view refers to that one.
        owner = np.asarray(_Loan(self, self._take(count + _ALIGNMENT)))
        start = -address_of(owner) % _ALIGNMENT
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
        self.__array_interface__: dict[str, object] = memory.__array_interface__

    def __del__(self) -> None:
        self._pool.give_back(self._memory)


MEMORY = RecycledMemory()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=MEMORY.after_fork)
