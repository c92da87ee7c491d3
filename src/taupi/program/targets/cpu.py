"""The CPU compiler: LLVM vectors over the batch, one lane a sample, built in process."""

from __future__ import annotations

import ctypes
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from taupi.errors import TaupiError, unknown
from taupi.program.arguments import batch
from taupi.program.output_layouts import checked_layout, dtype_name, output_shapes
from taupi.program.program import Program
from taupi.program.targets.simd.llvm_module import build_module
from taupi.program.targets.simd.machine_code import load

# Below this many samples a thread costs more than it saves.
_SAMPLES_A_THREAD = 512
# Outputs larger than this are written past the cache: they would not stay in it.
_STREAMED_BYTES = 32 * 1024 * 1024
_ALIGNMENT = 64
_SCALARS = {"float64": "double", "float32": "float"}


def build(program: Program, threads: int = 1, layout: str = "samples", dtype: Any = "float64") -> Kernel:
    """Return the program compiled for this machine's vector unit.

    `threads` share a large batch. `layout`: "samples", outputs (..., *shape); "batch_last", (*reversed shape, N), whose
    transpose of a regressor is the stacked matrix in Fortran order; "nonzeros", (nonzeros, N). `dtype`: "float64", "float32".
    """
    return Kernel(program, threads, layout, dtype)


class Kernel:
    """A program as machine code. It keeps no state between calls, so that any number of threads may call it at once.

    `lanes` are the samples worked on together, by default as many as a vector register holds. One lane makes code for one sample
    at a time: on a batch it is slower, but one sample alone has not to wait for vectors of which it fills an eighth.
    """

    def __init__(
        self,
        program: Program,
        threads: Any = 1,
        layout: str = "samples",
        dtype: Any = "float64",
        lanes: int | None = None,
    ) -> None:
        if not isinstance(threads, Integral) or isinstance(threads, bool) or threads < 1:
            raise TaupiError(f"threads is {threads!r}, expected a whole number of at least 1.")
        checked_layout(layout)
        name = dtype_name(dtype)
        if name not in _SCALARS:
            raise unknown("dtype", name, _SCALARS)
        self.program, self.threads, self.layout, self.dtype = program, int(threads), layout, np.dtype(name)
        self.lanes = vector_width(self.dtype) if lanes is None else lanes
        self._module = build_module(program, layout, self.lanes, _SCALARS[name])
        self._engine = load(self._module.text)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._run = prototype(self._engine.get_function_address("kernel"))
        self._shapes, self._sizes = [p.shape for p in program.outputs], [p.size for p in program.outputs]
        self._counts = [len(program.nonzeros(k)) for k in range(len(program.outputs))]
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self._local = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.program, self.threads, self.layout, self.dtype.name, self.lanes)

    @property
    def block(self) -> int:
        """How many samples are worked on at a time: beyond the output, a thread holds the results of two such blocks."""
        return self._module.block

    def shapes(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for n samples, batch axes flat."""
        return output_shapes(self._shapes, self._counts, self.layout, n)

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate for arrays with any leading batch axes; `out` takes the results in arrays of the right shape and type.

        Not all structural zeros are written: an `out` must be zero there before, as a buffer from `empty` is.
        """
        arrays, shape = batch(self.program.name, self.program.inputs, args, kwargs, self.dtype)
        n = math.prod(shape)
        results = self.empty(n) if out is None else self._given(out, n, shape)
        if n:
            self._spread(arrays, results, n)
        if self.layout == "samples" and out is None:
            results = [r.reshape(shape + s) for r, s in zip(results, self._shapes, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def empty(self, n: int) -> list[np.ndarray]:
        """Return output buffers for n samples, zero, and aligned to the machine's cache lines."""
        return [_aligned_zeros(shape, self.dtype) for shape in self.shapes(n)]

    def _given(self, out: Any, n: int, shape: tuple[int, ...]) -> list[np.ndarray]:
        results = [out] if not isinstance(out, list | tuple) else list(out)
        expected = self.shapes(n)
        if len(results) != len(expected):
            raise TaupiError(f"out has {len(results)} arrays, {self.program.name} has {len(expected)} outputs.")
        batched = [shape + s for s in self._shapes] if self.layout == "samples" else expected
        for array, flat, full in zip(results, expected, batched, strict=True):
            fits = isinstance(array, np.ndarray) and array.shape in (flat, full) and array.dtype == self.dtype
            if not fits or not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                told = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
                raise TaupiError(
                    f"out is {told}, expected a writable, aligned, C-contiguous {self.dtype} array {full}."
                )
        return results

    def _spread(self, arrays: list[np.ndarray], results: list[np.ndarray], n: int) -> None:
        """Run samples 0..n, shared out over the threads; ctypes releases the interpreter lock meanwhile."""
        parts = min(self.threads, n // _SAMPLES_A_THREAD)
        if parts < 2:
            self._part(arrays, results, n, 0, n)
            return
        edges = [n * k // parts // _ALIGNMENT * _ALIGNMENT for k in range(parts)] + [n]
        # A process that was forked has none of its parent's threads.
        if os.getpid() not in self._pools:
            self._pools[os.getpid()] = ThreadPoolExecutor(self.threads)
        pool = self._pools[os.getpid()]
        jobs = [pool.submit(self._part, arrays, results, n, a, b) for a, b in pairwise(edges)]
        for job in jobs:
            job.result()

    def _part(self, arrays: list[np.ndarray], results: list[np.ndarray], n: int, start: int, stop: int) -> None:
        table = self.table(arrays, results, n, self._scratch())
        self._run(_address(table), start, stop)

    def table(self, arrays: list[np.ndarray], results: list[np.ndarray], n: int, scratch: np.ndarray) -> np.ndarray:
        """Return the kernel's arguments: addresses and steps of inputs and outputs, scratch memory, whether to stream."""
        entries: list[int] = []
        for a in arrays:
            entries += [_address(a), a.shape[1] if len(a) == n else 0]
        for r, size in zip(results, self._sizes, strict=True):
            entries += [_address(r), size if self.layout == "samples" else n]
        kept = _address(scratch)
        streamed = sum(r.nbytes for r in results) > _STREAMED_BYTES
        rows = kept + self._module.kept * self.dtype.itemsize
        return np.array([*entries, kept, rows, int(streamed)], dtype=np.int64)

    def scratch(self) -> np.ndarray:
        """Return scratch memory for one caller at a time."""
        return _aligned_zeros((self._module.kept + self._module.rows,), self.dtype)

    def _scratch(self) -> np.ndarray:
        if not hasattr(self._local, "scratch"):
            self._local.scratch = self.scratch()
        return self._local.scratch

    def bound(self) -> Bound:
        """Return the one-sample form for control loops: fill its inputs, call it, read its outputs; nothing is allocated.

        It has code of its own, with one lane.
        """
        if self.lanes == 1 or self.layout != "samples":
            return Bound(self)
        return Bound(Kernel(self.program, 1, self.layout, self.dtype, lanes=1))


class Bound:
    """A kernel with its own arrays: `b.inputs["q"][:] = q; b(); b.outputs["Y"]`. One caller at a time.

    The inputs are views into one array, `x`, one after the other: one assignment can fill them all.

    >>> import taupi as tp
    >>> step = tp.gravity_torque(tp.load("puma560")).compile("cpu").bound()
    >>> step.inputs["q"][:] = 0.5
    >>> step()
    >>> step.outputs["g"].shape
    (6,)
    """

    def __init__(self, kernel: Kernel) -> None:
        if kernel.layout != "samples":
            raise TaupiError(f"A bound call has one sample: compile with layout='samples', not {kernel.layout!r}.")
        program = kernel.program
        self.x = np.zeros(sum(p.size for p in program.inputs), kernel.dtype)
        ends = np.cumsum([p.size for p in program.inputs]).tolist()
        places = zip(program.inputs, ends, strict=True)
        self.inputs = {p.name: self.x[end - p.size : end].reshape(p.shape) for p, end in places}
        self.outputs = {p.name: np.zeros(p.shape, kernel.dtype) for p in program.outputs}
        arrays = [self.inputs[p.name].reshape(1, p.size) for p in program.inputs]
        results = [self.outputs[p.name].reshape(1, p.size) for p in program.outputs]
        self._kept = (kernel, scratch := kernel.scratch(), table := kernel.table(arrays, results, 1, scratch))
        # Called with the interpreter's lock held: giving it up costs more than one sample does.
        prototype = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        run = prototype(kernel._engine.get_function_address("kernel"))
        self.run = partial(run, ctypes.c_void_p(_address(table)), ctypes.c_int64(0), ctypes.c_int64(1))

    def __call__(self) -> None:
        """Evaluate the inputs into the outputs; `run()` does the same without this method around it."""
        self.run()


def _address(array: np.ndarray) -> int:
    """Return where an array's first entry lies; `array.ctypes.data` says the same in a microsecond."""
    address: int = array.__array_interface__["data"][0]
    return address


def vector_width(dtype: Any = "float64") -> int:
    """Return how many numbers this machine's vector registers hold."""
    features = llvm.get_host_cpu_features()
    doubles = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
    return doubles * (8 // np.dtype(dtype).itemsize)


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return zeros whose first entry starts a cache line. Large ones cost nothing until they are touched."""
    count = math.prod(shape)
    memory = np.zeros(count * dtype.itemsize + _ALIGNMENT, dtype=np.uint8)
    start = -_address(memory) % _ALIGNMENT
    return memory[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
