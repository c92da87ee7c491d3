"""The CUDA compiler: a program's CUDA source compiled by NVRTC through CuPy, one thread per sample; arrays stay on the GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from taupi.errors import Argument, Message, TaupiError, unknown
from taupi.program.batch_results import checked_layout, dtype_name, output_shapes
from taupi.program.emitters.cuda_roll import THREADS as ROLL_THREADS
from taupi.program.program import Port, Program

if TYPE_CHECKING:
    from types import ModuleType

    import cupy
    from numpy.typing import DTypeLike


# Samples per tile: only one tile of the regressor exists at a time, 1 GB for a Panda. Smaller ones cost time: each takes ten
# launches, and the host needs 0.2 ms for them.
TILE = 1 << 18
# Partial sums per row of Y, each by its own blocks of threads: only in this way do products of few columns and many samples fill
# a card.
PARTS = 128


def column_spans(mask: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Return for each row of a boolean `mask` (rows, columns) the columns, (start, stop), outside of which all are False."""
    spans = []
    for row in mask:
        columns = np.flatnonzero(row)
        spans.append((int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0))
    return tuple(spans)


def tiles(count: int, tile: int = TILE) -> Iterator[tuple[int, int, range]]:
    """Cut `count` samples into tiles of equal parts: yield samples per tile, parts per tile, and where such tiles start."""
    size = max(1, tile // PARTS) * PARTS
    start = 0
    for samples, parts in ((size, PARTS), (count % size // PARTS * PARTS, PARTS), (count % size % PARTS, 1)):
        if samples and samples <= count - start:
            stop = start + (count - start) // samples * samples
            yield samples, parts, range(start, stop, samples)
            start = stop


_ON_CPU = Message("Compile for the CPU: {target='cpu'}.")


class RowProducts:
    """Sums of [Y_j tau_j]^T [Y_j tau_j] over samples, separate for each row j of Y and for each part of a tile.

    `spans` are the columns that row j of Y may fill, out of `columns`; a tile has `samples`, cut into `parts` of equal size.
    Each tile of Y is written into `regressor`, (columns, rows, samples), that of tau into `torque`, (rows, samples); then `add`
    adds them to the sums.
    """

    def __init__(
        self, cupy: ModuleType, spans: Sequence[tuple[int, int]], columns: int, samples: int, parts: int, dtype: str
    ) -> None:
        from cupy_backends.cuda.libs import cublas

        self._cupy, self._spans, self._columns = cupy, spans, columns
        self._one = np.ones(1, dtype)
        buffer = cupy.zeros((columns + 1, len(spans), samples), dtype)
        self.regressor, self.torque = buffer[:columns], buffer[columns]
        self._sums = [cupy.zeros((parts, stop - start + 1, stop - start + 1), dtype) for start, stop in spans]
        # tau of row j goes into the column after its span, which the row never fills and only this product reads.
        self._copies = [
            (self.regressor[stop, j], self.torque[j]) for j, (_, stop) in enumerate(spans) if stop < columns
        ]
        self._multiply = cublas.dgemmStridedBatched if dtype == "float64" else cublas.sgemmStridedBatched
        one, step, depth = self._one.ctypes.data, len(spans) * samples, samples // parts
        self._products = [
            (
                *(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, stop - start + 1, stop - start + 1, depth, one),
                *(2 * (buffer[start, j].data.ptr, step, depth)),
                *(one, sums.data.ptr, stop - start + 1, (stop - start + 1) ** 2, parts),
            )
            for j, ((start, stop), sums) in enumerate(zip(spans, self._sums, strict=True))
        ]

    def add(self) -> None:
        """Add the tile: for each row of Y the products of its columns, of which tau is the last."""
        for column, tau in self._copies:
            column[:] = tau
        handle = self._cupy.cuda.device.get_cublas_handle()
        for arguments in self._products:
            self._multiply(handle, *arguments)

    def total(self) -> cupy.ndarray:
        """Return [Y tau]^T [Y tau] of all tiles, (columns + 1, columns + 1)."""
        size = self._columns + 1
        result = self._cupy.zeros((size, size), self.regressor.dtype)
        for (start, stop), sums in zip(self._spans, self._sums, strict=True):
            places = np.append(np.arange(start, stop), self._columns)
            result[np.ix_(places, places)] += sums.sum(axis=0)
        return result


# Threads per block: of 64, 128 and 256, the last was slightly ahead for every program on an H200.
_THREADS = 256


@dataclass(frozen=True)
class KernelSpec:
    """Everything that a kernel is built from: its CUDA source, its inputs and outputs, number type and layout.

    `nonzeros` counts the structural nonzeros of each output; `spans` has, for a program whose only output is a matrix, the range
    of columns that each row may fill.
    """

    name: str
    source: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nonzeros: tuple[int, ...]
    dtype: str
    layout: str
    spans: tuple[tuple[int, int], ...] = ()


def build(program: Program, layout: str = "batch_last", dtype: DTypeLike = "float64") -> CudaKernel:
    """Return the program compiled for the current CUDA device; see `CudaKernel`."""
    return CudaKernel(kernel_spec(program, layout, dtype))


def kernel_spec(program: Program, layout: str = "batch_last", dtype: DTypeLike = "float64") -> KernelSpec:
    """Return what a kernel is built from; this needs no device."""
    from taupi.program.emitters.cuda import kernel_source

    name = dtype_name(dtype)
    if name not in ("float64", "float32"):
        raise unknown(Argument("dtype"), name, ("float64", "float32"))
    checked_layout(layout)
    counts = tuple(len(program.nonzeros(k)) for k in range(len(program.outputs)))
    single = len(program.outputs) == 1 and len(program.outputs[0].shape) == 2
    spans = column_spans(program.sparsity()) if single else ()
    source = kernel_source(program, dtype=name, layout=layout, name="kernel")
    return KernelSpec(program.name, source, program.inputs, program.outputs, counts, name, layout, spans)


class CudaKernel:
    """A program on the GPU: called with CuPy or NumPy arrays of shape (..., *shape), it returns CuPy arrays.

    `spec` is from `kernel_spec`. The current CuPy stream is used. The layout of the outputs is "batch_last", (*reversed shape,
    N), the default, which is written in coalesced stores; "samples", (..., *shape); or "nonzeros", (nonzeros, N).
    """

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self._cupy = _device()
        self._function = self._cupy.RawModule(code=spec.source, options=("--std=c++14",)).get_function("kernel")

    @property
    def registers(self) -> tuple[int, int]:
        """The registers per thread, and the bytes per thread that did not fit into registers."""
        return self._function.num_regs, self._function.local_size_bytes

    def shapes(self, n: int) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for `n` samples."""
        return output_shapes([p.shape for p in self.spec.outputs], list(self.spec.nonzeros), self.spec.layout, n)

    def empty(self, n: int) -> list[cupy.ndarray]:
        """Return output arrays for `n` samples: zeros on the device."""
        return [self._cupy.zeros(s, self.spec.dtype) for s in self.shapes(n)]

    def __call__(self, *args: object, out: object = None, **kwargs: object) -> cupy.ndarray:
        """Evaluate for arrays with any leading batch axes, by position (`args`) or by name (`kwargs`).

        `out` may have arrays for the results, which must be zero in structural zeros, as `empty` makes them.
        """
        arrays, shape = self._arranged(args, kwargs)
        n = int(np.prod(shape, dtype=int))
        results = self.empty(n) if out is None else self._checked_out(out, n)
        if n:
            self.launch(arrays, results, n)
        if self.spec.layout == "samples" and out is None:
            results = [r.reshape(shape + p.shape) for r, p in zip(results, self.spec.outputs, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def launch(self, arrays: list[cupy.ndarray], results: list[cupy.ndarray], n: int) -> None:
        """Run the kernel on CuPy arrays in its own form: inputs (n or 1, size), `results` in the layout, without checks."""
        arguments: list[cupy.ndarray] = []
        for a in arrays:
            step = 0 if a.shape[0] == 1 and n > 1 else a.strides[0] // a.itemsize
            arguments += [a, np.int64(step), np.int64(a.strides[1] // a.itemsize)]
        self._function(((n + _THREADS - 1) // _THREADS,), (_THREADS,), (*arguments, *results, np.int64(n)))

    def _arranged(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[list[cupy.ndarray], tuple[int, ...]]:
        """Return the inputs on the device as (N, size) or (1, size), strides as they are, and the batch shape."""
        from taupi.program.ports import in_order, shape_error

        arrays = []
        for port, value in zip(self.spec.inputs, in_order(self.spec.name, self.spec.inputs, args, kwargs), strict=True):
            array = self._cupy.asarray(value, dtype=self.spec.dtype)
            rank = len(port.shape)
            if array.ndim < rank or array.shape[array.ndim - rank :] != port.shape:
                raise shape_error(port, array.shape)
            arrays.append(array)
        leading = [a.shape[: a.ndim - len(p.shape)] for a, p in zip(arrays, self.spec.inputs, strict=True)]
        try:
            shape = np.broadcast_shapes(*leading)
        except ValueError:
            raise TaupiError(
                "{spec}: the batch axes do not fit each other: {leading}.", spec=self.spec.name, leading=leading
            ) from None
        flat = []
        for array, port, lead in zip(arrays, self.spec.inputs, leading, strict=True):
            shared = np.prod(lead, dtype=int) == 1
            full = array if shared or lead == shape else self._cupy.broadcast_to(array, shape + port.shape)
            flat.append(full.reshape(1 if shared else math.prod(shape), port.size))
        return flat, tuple(shape)

    def _checked_out(self, out: Any, n: int) -> list[cupy.ndarray]:
        results = list(out) if isinstance(out, list | tuple) else [out]
        for array, shape in zip(results, self.shapes(n), strict=True):
            fits = isinstance(array, self._cupy.ndarray) and array.shape == shape
            if not fits or array.dtype != self.spec.dtype or not array.flags.c_contiguous:
                raise TaupiError(
                    "{out} is {got}, expected a C-contiguous {dtype} array {shape} on the device.",
                    got=type(array).__name__,
                    dtype=self.spec.dtype,
                    shape=shape,
                )
        return results

    def normal_equations(self, tau: object, *args: object, tile: int = TILE) -> tuple[cupy.ndarray, cupy.ndarray]:
        """Return Y^T Y (p, p) and Y^T tau (p,) on the device, computed tile by tile: Y never exists as a whole.

        `tau` is (..., n), and the regressor's inputs (`args`) follow; `tile` is the number of samples at a time. The kernel
        must be that of a matrix, in the layout "batch_last".
        """
        if self.spec.layout != "batch_last" or len(self.spec.outputs) != 1 or len(self.spec.outputs[0].shape) != 2:
            raise TaupiError("normal_equations needs a regressor compiled with {layout='batch_last'}.")
        cupy, (rows, columns) = self._cupy, self.spec.outputs[0].shape
        arrays, shape = self._arranged(args, {})
        n = int(np.prod(shape, dtype=int))
        torque = cupy.asarray(tau, dtype=self.spec.dtype)
        if torque.shape != (*shape, rows):
            raise TaupiError("{tau} has shape {got}, expected {expected}.", got=torque.shape, expected=(*shape, rows))
        torque = torque.reshape(n, rows)
        gram = cupy.zeros((columns + 1, columns + 1), self.spec.dtype)
        for samples, parts, starts in tiles(n, tile):
            products = RowProducts(cupy, self.spec.spans, columns, samples, parts, self.spec.dtype)
            for start in starts:
                part = slice(start, start + samples)
                self.launch([a[part] if len(a) == n else a for a in arrays], [products.regressor], samples)
                products.torque[:] = torque[part].T
                products.add()
            gram += products.total()
        return gram[:columns, :columns], gram[:columns, columns]


class Device(Protocol):
    """Where kernels run: memory, and functions of many threads. `CudaDevice` is one; tests have one that runs on the CPU."""

    def upload(self, array: np.ndarray) -> cupy.ndarray:
        """Return a copy of a contiguous `array` on the device."""
        ...

    def zeros(self, shape: tuple[int, ...]) -> cupy.ndarray:
        """Return zeros of a `shape` on the device, in float64."""
        ...

    def download(self, array: object) -> np.ndarray:
        """Return a copy of an `array` of the device."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory is left."""
        ...

    def function(self, source: str, name: str) -> Callable[[int, Sequence[object]], None]:
        """Return the kernel called `name` in a `source`: called with the number of threads and its arguments."""
        ...


class CudaDevice:
    """The current CUDA device, through CuPy; `on_cpu` is what to do instead if there is none."""

    def __init__(self, on_cpu: str | Message = _ON_CPU) -> None:
        self._cupy = _device(on_cpu)
        self._kernels: dict[tuple[str, str], cupy.RawKernel] = {}

    def upload(self, array: np.ndarray) -> cupy.ndarray:
        """Return a copy of a contiguous `array` on the device."""
        return self._cupy.asarray(array)

    def zeros(self, shape: tuple[int, ...]) -> cupy.ndarray:
        """Return zeros of a `shape` on the device, in float64."""
        return self._cupy.zeros(shape, "float64")

    def download(self, array: object) -> np.ndarray:
        """Return a copy of an `array` of the device."""
        result: np.ndarray = self._cupy.asnumpy(array)
        return result

    def free_bytes(self) -> int:
        """Return how much memory is left, including what CuPy holds in reserve."""
        pool = self._cupy.get_default_memory_pool()
        return int(self._cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def function(self, source: str, name: str) -> Callable[[int, Sequence[object]], None]:
        """Return the kernel called `name` in a `source`, compiled once; called with the number of threads and its arguments."""
        if (source, name) not in self._kernels:
            module = self._cupy.RawModule(code=source, options=("--std=c++14",))
            self._kernels[source, name] = module.get_function(name)
        kernel = self._kernels[source, name]

        def launch(count: int, arguments: Sequence[object]) -> None:
            values = [np.int64(a) if isinstance(a, int) else a for a in arguments]
            kernel((-(-count // ROLL_THREADS),), (ROLL_THREADS,), tuple(values))

        return launch


def _device(on_cpu: str | Message = _ON_CPU) -> cupy.ndarray:
    """Return CuPy with a working device, or say what is missing and what to do instead."""
    try:
        import cupy
    except ImportError:
        raise TaupiError("The CUDA target needs CuPy: pip install taupi[gpu].", remedy=on_cpu) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise TaupiError("No CUDA device can be used ({error}).", remedy=on_cpu, error=error) from None
    if not count:
        raise TaupiError("No CUDA device is present.", remedy=on_cpu)
    return cupy


class _OtherStream:
    """A stream of another library, by CUDA's stream protocol."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


def stream_at(cupy: ModuleType, address: int) -> cupy.ndarray:
    """Return a stream that another library made as one of CuPy's, to be used in `with`."""
    if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14
        return cupy.cuda.Stream.from_external(_OtherStream(address))
    return cupy.cuda.ExternalStream(address)
