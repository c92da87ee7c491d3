"""The CPU compiler: LLVM vector instructions over the batch, one lane per sample, compiled in process."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from taupi.checks import whole_number
from taupi.errors import Argument, TaupiError, unknown
from taupi.program.batch_results import LEAST, MEMORY, address_of, checked_layout, dtype_name, output_shapes
from taupi.program.ports import batch
from taupi.program.program import Program
from taupi.program.targets.one_sample import one_sample
from taupi.program.targets.simd.llvm_writer import STALE, STREAM, Module
from taupi.program.targets.simd.machine_code import begin, features, load
from taupi.progress import progress
from taupi.threads import side_by_side

if TYPE_CHECKING:
    from llvmlite.binding import ExecutionEngine
    from numpy.typing import DTypeLike

# With fewer samples than this, a thread costs more than it saves.
_SAMPLES_PER_THREAD = 512
# Outputs larger than this bypass the cache, in which they would not stay.
_STREAMED_BYTES = 32 * 1024 * 1024
_ALIGNMENT = 64
# A program with more instructions than this takes seconds to compile, and shows a progress bar.
_LONG = 30_000
_SCALARS = {"float64": "double", "float32": "float"}


def build(program: Program, threads: int = 1, layout: str = "samples", dtype: DTypeLike = "float64") -> Kernel:
    """Return the program compiled for this machine's vector unit.

    `threads` share a large batch, 1 by default. `layout` is that of the outputs: "samples", (..., *shape), the default;
    "batch_last", (*reversed shape, N), in which the transpose of a regressor is the stacked matrix in Fortran order;
    "nonzeros", (nonzeros, N). `dtype` is "float64" (the default) or "float32".
    """
    return Kernel(program, threads, layout, dtype)


def compile_ahead(*programs: Program) -> None:
    """Start to compile `programs` in a separate thread; a caller of one of them, or of its `compile`, waits for it.

    Use it for programs that will certainly be called soon, while there is other work to do.
    """
    from taupi.program.targets.simd.llvm_module import build_module

    width = vector_width(np.dtype("float64"))
    for program in programs:
        module = build_module(program, "samples", width, _SCALARS["float64"])
        begin(module.text, module.level)


class Kernel:
    """A program as machine code. It keeps no state between calls, so any number of threads may call it at once.

    `program`, `threads`, `layout` and `dtype` are as in `build`. `lanes` is the number of samples computed together, by
    default as many as a vector register holds. With one lane the code computes one sample at a time: it is slower on a
    batch, but faster on a single sample, which would fill an eighth of each vector. `compiled` is the result of another process:
    the module, the engine with its machine code, and how many entries of each output are not always zero.
    """

    def __init__(
        self,
        program: Program,
        threads: int = 1,
        layout: str = "samples",
        dtype: DTypeLike = "float64",
        lanes: int | None = None,
        compiled: tuple[Module, ExecutionEngine, list[int]] | None = None,
    ) -> None:
        threads = whole_number("threads", threads)
        checked_layout(layout)
        name = dtype_name(dtype)
        if name not in _SCALARS:
            raise unknown(Argument("dtype"), name, _SCALARS)
        self.program, self.threads, self.layout, self.dtype = program, threads, layout, np.dtype(name)
        self.lanes = vector_width(self.dtype) if lanes is None else lanes
        self.module, self._engine, self.nonzeros = compiled or _compiled(program, layout, self.lanes, name)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._run = prototype(self._engine.get_function_address("kernel"))
        self._shapes, self._sizes = [p.shape for p in program.outputs], [p.size for p in program.outputs]
        self._local = threading.local()
        self._arity = len(program.inputs)
        self._finite: dict[int, Callable[..., object]] = {}
        self._idle: list[BoundKernel] = []  # for calls with one sample, each used by one thread at a time

    def __reduce__(self) -> tuple[object, ...]:
        return Kernel, (self.program, self.threads, self.layout, self.dtype.name, self.lanes)

    @property
    def block(self) -> int:
        """The number of samples in a block: besides the output, each thread holds the results of two blocks."""
        return self.module.block

    def shapes(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for `n` samples, with batch axes flattened."""
        return output_shapes(self._shapes, self.nonzeros, self.layout, n)

    def shared_by(self, threads: int) -> Kernel:
        """Return the same machine code with as many threads for a large batch."""
        compiled = self.module, self._engine, self.nonzeros
        return Kernel(self.program, threads, self.layout, self.dtype, self.lanes, compiled)

    def __call__(self, *args: object, out: object = None, **kwargs: object) -> Any:
        """Evaluate for arrays with any leading batch axes, by position (`args`) or by name (`kwargs`).

        `out` may have arrays of the right shape and type for the results. Not all structural zeros are written: `out` must be
        zero there before the call, as the arrays of `empty` are.
        """
        if out is None and not kwargs and (result := self.one_sample(*args)) is not None:
            return result
        arrays, shape = batch(self.program.name, self.program.inputs, args, kwargs, self.dtype)
        n = math.prod(shape)
        recycled = out is None and self.layout == "samples" and n * sum(self._sizes) * self.dtype.itemsize >= LEAST
        if recycled:
            results = [MEMORY.array(s, self.dtype) for s in self.shapes(n)]
        else:
            results = self.empty(n) if out is None else self._checked_out(out, n, shape)
        if out is not None and any(np.may_share_memory(a, r) for a in arrays for r in results):
            arrays = [a.copy() for a in arrays]  # results are written while later samples are still to be read
        if n:
            self._run_all(arrays, results, n, recycled)
        if self.layout == "samples" and out is None:
            results = [r.reshape(shape + s) for r, s in zip(results, self._shapes, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    @cached_property
    def one_sample(self) -> Callable[..., object]:
        """A function of one array per input, of the kernel's number type and the input's own shape, that returns the results.

        It returns None for any other arguments; a float serves an input without axes. This is the same code as that of a batch,
        to the last bit, without the time needed to arrange a batch.
        """
        return one_sample(self) or self._one_sample

    def one_finite_sample(self, count: int) -> Callable[..., object]:
        """Return the same function, which also returns None if any of the first `count` inputs is not finite."""
        if count not in self._finite:

            def checked(*args: object) -> Any:
                finite = all(math.isfinite(sum(a.flat)) for a in args[:count] if type(a) is ndarray)
                return self._one_sample(*args) if finite else None

            self._finite[count] = one_sample(self, count) or checked
        return self._finite[count]

    def _one_sample(self, *args: object) -> Any:
        if len(args) != self._arity or self.layout != "samples":
            return None
        dtype, idle = self.dtype, self._idle
        try:  # a list's pop and append are atomic, so that threads never share one
            bound = idle.pop()
        except IndexError:
            bound = BoundKernel(self)
        for a, (place, shape) in zip(args, bound.places):  # noqa: B905 - equally long, and the check takes time
            if not (type(a) is ndarray and a.dtype is dtype and a.shape == shape) and not (
                type(a) is float and shape == ()
            ):
                idle.append(bound)
                return None
            place[...] = a
        bound.run()
        results = bound.results
        copies = results[0].copy() if len(results) == 1 else tuple([r.copy() for r in results])
        idle.append(bound)
        return copies

    def empty(self, n: int) -> list[np.ndarray]:
        """Return output arrays for `n` samples: zeros, aligned to cache lines."""
        return [_aligned_zeros(shape, self.dtype) for shape in self.shapes(n)]

    def _checked_out(self, out: Any, n: int, shape: tuple[int, ...]) -> list[np.ndarray]:
        results = [out] if not isinstance(out, list | tuple) else list(out)
        expected = self.shapes(n)
        if len(results) != len(expected):
            raise TaupiError(
                "{out} has {count} arrays, {program} has {expected_count} outputs.",
                count=len(results),
                program=self.program.name,
                expected_count=len(expected),
            )
        batched = [shape + s for s in self._shapes] if self.layout == "samples" else expected
        for array, flat, full in zip(results, expected, batched, strict=True):
            fits = isinstance(array, np.ndarray) and array.shape in (flat, full) and array.dtype == self.dtype
            if not fits or not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
                actual = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
                raise TaupiError(
                    "{out} is {got}, expected a writable, aligned, C-contiguous {dtype} array {full}.",
                    got=actual,
                    dtype=self.dtype,
                    full=full,
                )
        return results

    def fill(self, arrays: list[np.ndarray], results: list[np.ndarray]) -> None:
        """Write the `results` of samples, whatever was there before; `arrays`, (n, size), may be columns of larger ones."""
        beside = [a if a.strides[1] == a.itemsize else np.ascontiguousarray(a) for a in arrays]
        self._run_all(beside, results, len(results[0]), stale=True)

    def _run_all(self, arrays: list[np.ndarray], results: list[np.ndarray], n: int, stale: bool = False) -> None:
        """Run all n samples, divided among the threads; ctypes releases the interpreter lock meanwhile.

        Results are `stale` if they are not zero before.
        """
        parts = min(self.threads, n // _SAMPLES_PER_THREAD)
        if parts < 2:
            self._run_part(arrays, results, n, 0, n, stale)
            return
        edges = [n * k // parts // _ALIGNMENT * _ALIGNMENT for k in range(parts)] + [n]
        side_by_side(lambda k: self._run_part(arrays, results, n, edges[k], edges[k + 1], stale), parts)

    def _run_part(
        self, arrays: list[np.ndarray], results: list[np.ndarray], n: int, start: int, stop: int, stale: bool
    ) -> None:
        table = self.table(arrays, results, n, self._scratch())
        table[-1] |= STALE if stale else 0
        self._run(address_of(table), start, stop)

    def table(self, arrays: list[np.ndarray], results: list[np.ndarray], n: int, scratch: np.ndarray) -> np.ndarray:
        """Return what the machine code is called with: addresses and strides, scratch memory, whether to stream.

        `arrays` are the inputs, (n, size) or (1, size) each, with the entries of a sample beside each other, and `results` the
        outputs, for `n` samples; `scratch` is memory from `scratch()` for one caller at a time.
        """
        entries: list[int] = []
        for a in arrays:
            entries += [address_of(a), a.strides[0] // a.itemsize if len(a) == n else 0]
        for r, size in zip(results, self._sizes, strict=True):
            entries += [address_of(r), size if self.layout == "samples" else n]
        kept = address_of(scratch)
        streamed = sum(r.nbytes for r in results) > _STREAMED_BYTES
        rows = kept + self.module.kept * self.dtype.itemsize
        return np.array([*entries, kept, rows, STREAM if streamed else 0], dtype=np.int64)

    def of_arrays(self, arrays: list[np.ndarray], results: list[np.ndarray]) -> Callable[..., None]:
        """Return a function of inputs shaped as `arrays`, (n, size) each and C-contiguous, which fills `results`.

        It neither checks nor allocates anything, and only one thread may call it.
        """
        scratch = self.scratch()
        table = self.table(arrays, results, len(results[0]), scratch)
        place, count, kept_alive = address_of(table), len(results[0]), (results, scratch)

        def run(*inputs: np.ndarray, _kept_alive: object = kept_alive) -> None:
            table[: 2 * len(inputs) : 2] = [address_of(a) for a in inputs]
            self._run(place, 0, count)

        return run

    def scratch(self) -> np.ndarray:
        """Return scratch memory for one caller at a time."""
        return _aligned_zeros((self.module.kept + self.module.rows,), self.dtype)

    def _scratch(self) -> np.ndarray:
        if not hasattr(self._local, "scratch"):
            self._local.scratch = self.scratch()
        return self._local.scratch

    def bound(self) -> BoundKernel:
        """Return a form for control loops: fill its inputs, call it, read its outputs; a call allocates nothing.

        It is compiled for one sample at a time.
        """
        if self.lanes == 1 or self.layout != "samples":
            return BoundKernel(self)
        return BoundKernel(Kernel(self.program, 1, self.layout, self.dtype, lanes=1))


class BoundKernel:
    """A `kernel` bound to its own arrays, for one sample: `b.inputs["q"][:] = q; b(); b.outputs["Y"]`.

    The inputs are consecutive views into one array, `x`, so that one assignment can fill them all. Only one thread may use it.

    >>> import taupi as tp
    >>> step = tp.gravity_torque(tp.load("puma560")).compile("cpu").bound()
    >>> step.inputs["q"][:] = 0.5
    >>> step()
    >>> step.outputs["g"].shape
    (6,)
    """

    def __init__(self, kernel: Kernel) -> None:
        if kernel.layout != "samples":
            raise TaupiError(
                "A bound kernel needs layout='samples', got a kernel with layout={layout!r}.", layout=kernel.layout
            )
        program = kernel.program
        self.x = np.zeros(sum(p.size for p in program.inputs), kernel.dtype)
        ends = np.cumsum([p.size for p in program.inputs]).tolist()
        places = zip(program.inputs, ends, strict=True)
        self.inputs = {p.name: self.x[end - p.size : end].reshape(p.shape) for p, end in places}
        self.outputs = {p.name: np.zeros(p.shape, kernel.dtype) for p in program.outputs}
        self.places = [(place, place.shape) for place in self.inputs.values()]
        self.results = list(self.outputs.values())
        arrays = [self.inputs[p.name].reshape(1, p.size) for p in program.inputs]
        results = [self.outputs[p.name].reshape(1, p.size) for p in program.outputs]
        self._kept_alive = (kernel, scratch := kernel.scratch(), table := kernel.table(arrays, results, 1, scratch))
        # Called with the interpreter's lock held: releasing it costs more than computing one sample.
        prototype = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        run = prototype(kernel._engine.get_function_address("kernel"))
        self.kernel = kernel
        self.run = partial(run, ctypes.c_void_p(address_of(table)), ctypes.c_int64(0), ctypes.c_int64(1))

    def __reduce__(self) -> tuple[object, ...]:
        return BoundKernel, (self.kernel,), (self.x, self.outputs)

    def __setstate__(self, state: tuple[np.ndarray, dict[str, np.ndarray]]) -> None:
        """Fill the inputs and outputs of a copy, with the copy's own addresses."""
        self.x[:] = state[0]
        for name, value in state[1].items():
            self.outputs[name][...] = value

    def __call__(self) -> None:
        """Compute the outputs from the inputs; `run()` does the same, without the overhead of this method."""
        self.run()


def _compiled(program: Program, layout: str, lanes: int, dtype: str) -> tuple[Module, ExecutionEngine, list[int]]:
    """Return the module of a program, an engine with its machine code, and the number of nonzeros of each output."""
    from taupi.program.targets.simd.llvm_module import build_module

    with _watched(program) as step:
        step("instructions")
        module = build_module(program, layout, lanes, _SCALARS[dtype])
        step("machine code")
        engine = load(module.text, module.level)
    return module, engine, [len(program.nonzeros(k)) for k in range(len(program.outputs))]


def _watched(program: Program) -> AbstractContextManager[Callable[[str], None]]:
    """Return a progress bar for a program that takes seconds to compile, and an invisible one for others."""
    if program.function.n_instructions() < _LONG:
        return nullcontext(lambda name: None)
    return progress(f"compiling {program.name}", 2)


def vector_width(dtype: DTypeLike = "float64") -> int:
    """Return how many numbers of a type a vector register of this machine holds."""
    known = features()
    doubles = 8 if known.get("avx512f") else 4 if known.get("avx") else 2
    return doubles * (8 // np.dtype(dtype).itemsize)


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return zeros that start at a cache line. Large arrays cost nothing until they are touched."""
    count = math.prod(shape)
    memory = np.zeros(count * dtype.itemsize + _ALIGNMENT, dtype=np.uint8)
    start = -address_of(memory) % _ALIGNMENT
    return memory[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
