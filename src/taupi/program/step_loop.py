"""A loop over a compiled step, run by machine code in one call: the results of each step are the inputs of the next."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.program.targets.cpu import Kernel
from taupi.program.targets.simd.machine_code import load

# A thread is worth its cost from this many samples on: a step has thousands of operations.
_SAMPLES_PER_THREAD = 16

# Calls kernel(table, start, stop) `count` times; after each call every entry of the table advances by its stride. After each
# call of the kernel, the inner kernel is called `times` times in the same way, and then its table advances (by %ahead) to
# what follows the next call of the outer kernel.
_LOOP = """
define internal void @move(ptr %table, ptr %strides, i64 %entries) alwaysinline {
entry:
  %any = icmp slt i64 0, %entries
  br i1 %any, label %move, label %end
move:
  %j = phi i64 [ 0, %entry ], [ %after, %move ]
  %at = getelementptr i64, ptr %table, i64 %j
  %by = getelementptr i64, ptr %strides, i64 %j
  %old = load i64, ptr %at
  %stride = load i64, ptr %by
  %new = add i64 %old, %stride
  store i64 %new, ptr %at
  %after = add i64 %j, 1
  %again = icmp slt i64 %after, %entries
  br i1 %again, label %move, label %end
end:
  ret void
}

define void @roll(ptr %kernel, ptr %table, ptr %strides, i64 %entries, i64 %count,
                  ptr %inner, ptr %its, ptr %steps, ptr %ahead, i64 %own, i64 %times, i64 %start, i64 %stop) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %done ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %loop, label %end
loop:
  call void %kernel(ptr %table, i64 %start, i64 %stop)
  call void @move(ptr %table, ptr %strides, i64 %entries)
  br label %checks
checks:
  %s = phi i64 [ 0, %loop ], [ %after, %step ]
  %some = icmp slt i64 %s, %times
  br i1 %some, label %step, label %done
step:
  call void %inner(ptr %its, i64 %start, i64 %stop)
  call void @move(ptr %its, ptr %steps, i64 %own)
  %after = add i64 %s, 1
  br label %checks
done:
  call void @move(ptr %its, ptr %ahead, i64 %own)
  %next = add i64 %k, 1
  br label %check
end:
  ret void
}
"""


@lru_cache(maxsize=1)
def _loop() -> tuple[Any, Any]:
    engine = load(_LOOP)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    kinds = [*[pointer] * 3, *[number] * 2, *[pointer] * 4, *[number] * 4]
    return engine, ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("roll"))


def roll(
    kernel: Kernel,
    carried: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    results: Mapping[str, np.ndarray],
    threads: int = 1,
) -> None:
    """Run K steps of a batch of B samples: carried[k + 1], results[k] = step(carried[k], inputs[k]).

    `kernel` is the compiled step, in the layout "samples". An input `x` in `carried` has an output `x_next`; its array is
    (K + 1, B, size), with the initial value in its first row. `inputs` are (K or 1, B or 1, size): an axis of length one is
    shared. `results` are (K, B, size) and must be zero before. All arrays are C-contiguous. The samples are divided among
    `threads`, 1 by default, each of which runs all steps of its own samples.

    >>> import numpy as np
    >>> from taupi.program import Port, trace
    >>> step = trace("sum", lambda x, u: x + u, [Port("x", (1,)), Port("u", (1,))], [Port("x_next", (1,))])
    >>> x = np.zeros((4, 1, 1))
    >>> roll(step.compile("cpu"), {"x": x}, {"u": np.full((1, 1, 1), 2.0)}, {})
    >>> x.ravel().tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    loop = StepLoop(kernel, carried, inputs, results, threads)
    loop(0, loop.steps)


class StepLoop:
    """A loop over a step, ready to run: `loop(0, 10)` runs its first ten steps.

    `kernel`, `carried`, `inputs`, `results` and `threads` are those of `roll`. If nothing is carried, `sizes` states K and B.
    """

    def __init__(
        self,
        kernel: Kernel,
        carried: Mapping[str, np.ndarray],
        inputs: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        threads: int = 1,
        sizes: tuple[int, int] | None = None,
    ) -> None:
        if kernel.layout != "samples":
            raise TaupiError(f"A loop of steps needs layout='samples', got a kernel with layout={kernel.layout!r}.")
        self.steps, batch = sizes or _sizes(carried)
        steps, ports = self.steps, (*kernel.program.inputs, *kernel.program.outputs)
        reads = [carried[p.name][:steps] if p.name in carried else inputs[p.name] for p in kernel.program.inputs]
        writes = [_result(p.name, carried, results) for p in kernel.program.outputs]
        for port, array in zip(ports, (*reads, *writes), strict=True):
            _check(port.name, array, (steps, batch, port.size), kernel.dtype)
        self._parts = _divided([(kernel, reads, writes)], 0, batch, threads) if steps and batch else []

    def __call__(self, first: int, last: int) -> None:
        """Run the steps `first` to `last` - 1."""
        _run(self._parts, first, last)


class NestedStepLoop:
    """A loop over an outer step that is followed each time by several inner steps: `loop(0, 10)` runs ten outer steps.

    After each call of `outer`, `step` is called `times` times. `z` is (1 + K (times + 1), B, size): outer step k reads row
    k (times + 1) and writes the next row, and the inner steps go on from there. `inputs` and `results` are those of the outer
    step, and `threads` is that of `roll`; `inner` are the other inputs of the inner step, (K or 1, times or 1, B or 1, size).

    >>> import numpy as np
    >>> from taupi.program import Port, trace
    >>> add = trace("add", lambda z, u: z + u, [Port("z", (1,)), Port("u", (1,))], [Port("z_next", (1,))])
    >>> twice = trace("twice", lambda z: 2 * z, [Port("z", (1,))], [Port("z_next", (1,))])
    >>> z, u = np.zeros((7, 1, 1)), np.full((1, 1, 1), 1.0)
    >>> NestedStepLoop(add.compile("cpu"), twice.compile("cpu"), z, {"u": u}, {}, {}, times=2)(0, 2)
    >>> z.ravel().tolist()
    [0.0, 1.0, 2.0, 4.0, 5.0, 10.0, 20.0]
    """

    def __init__(
        self,
        outer: Kernel,
        step: Kernel,
        z: np.ndarray,
        inputs: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        inner: Mapping[str, np.ndarray],
        times: int,
        threads: int = 1,
    ) -> None:
        steps, batch, size = (len(z) - 1) // (times + 1), z.shape[1], z.shape[2]
        rows = z[1:].reshape(steps, times + 1, batch, size)
        reads = [z[: -1 : times + 1] if p.name == "z" else inputs[p.name] for p in outer.program.inputs]
        writes = [rows[:, 0] if p.name == "z_next" else results[p.name] for p in outer.program.outputs]
        inner_reads = [rows[:, :-1] if p.name == "z" else inner[p.name] for p in step.program.inputs]
        calls = [(outer, reads, writes), (step, inner_reads, [rows[:, 1:]])]
        for (kernel, ins, outs), lead in zip(calls, ((steps,), (steps, times)), strict=True):
            ports = (*kernel.program.inputs, *kernel.program.outputs)
            for port, array in zip(ports, (*ins, *outs), strict=True):
                _check(port.name, array, (*lead, batch, port.size), kernel.dtype)
        self._parts = _divided(calls, times, batch, threads) if steps and batch else []

    def __call__(self, first: int, last: int) -> None:
        """Run the outer steps `first` to `last` - 1, each with the inner steps that follow it."""
        _run(self._parts, first, last)


# A kernel, and the arrays that it reads and writes in all steps.
_Call = tuple[Kernel, list[np.ndarray], list[np.ndarray]]


class _Table:
    """A kernel's table of arguments for its first step, and by how many bytes each entry advances along each axis of steps."""

    def __init__(self, call: _Call, axes: int, batch: int) -> None:
        kernel, reads, writes = call
        first, arrays, scratch = (0,) * axes, (*reads, *writes), kernel.scratch()
        self.address = kernel._engine.get_function_address("kernel")
        self.entries = kernel.table([a[first] for a in reads], [a[first] for a in writes], batch, scratch)
        self.strides = np.zeros((axes, len(self.entries)), dtype=np.int64)
        for axis in range(axes):
            self.strides[axis, : 2 * len(arrays) : 2] = [a.strides[axis] if a.shape[axis] > 1 else 0 for a in arrays]
        self._kept_alive = (call, scratch)  # the memory that the addresses point into


class _Part:
    """The share of one thread: samples start to stop - 1, with its own scratch memory."""

    def __init__(self, calls: list[_Call], times: int, batch: int, start: int, stop: int) -> None:
        self._outer, *inner = [_Table(call, axes, batch) for axes, call in enumerate(calls, start=1)]
        self._inner, self._times, self._samples = inner[0] if inner else None, times, (start, stop)
        if self._inner is not None:
            period, step = self._inner.strides
            self._ahead = period - times * step

    def run(self, first: int, last: int) -> None:
        """Run the steps first to last - 1."""
        outer, inner = self._outer, self._inner
        moving = outer.entries + first * outer.strides[0]
        args = [outer.address, moving.ctypes.data, outer.strides.ctypes.data, len(moving), last - first]
        if inner is None:
            _loop()[1](*args, None, None, None, None, 0, 0, *self._samples)
            return
        own = inner.entries + first * inner.strides[0]
        steps = inner.strides[1]
        args += [inner.address, own.ctypes.data, steps.ctypes.data, self._ahead.ctypes.data, len(own), self._times]
        _loop()[1](*args, *self._samples)


def _run(parts: list[_Part], first: int, last: int) -> None:
    if len(parts) == 1:
        parts[0].run(first, last)
        return
    _loop()  # created before threads need it: if two created it at once, one would run code that is freed meanwhile
    with ThreadPoolExecutor(max(1, len(parts))) as pool:
        for _ in pool.map(lambda part: part.run(first, last), parts):
            pass


def _divided(calls: list[_Call], times: int, batch: int, threads: int) -> list[_Part]:
    """Return the share of each thread; the second of two calls is repeated `times` times after each of the first."""
    parts = max(1, min(threads, batch // _SAMPLES_PER_THREAD))
    edges = [batch * k // parts // 8 * 8 for k in range(parts)] + [batch]
    return [_Part(calls, times, batch, a, b) for a, b in pairwise(edges)]


def _sizes(carried: Mapping[str, np.ndarray]) -> tuple[int, int]:
    if not carried:
        raise TaupiError("carried is empty, expected the arrays that one step passes to the next.")
    first = next(iter(carried.values()))
    return first.shape[0] - 1, first.shape[1]


def _result(name: str, carried: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> np.ndarray:
    source = name.removesuffix("_next")
    return carried[source][1:] if name.endswith("_next") and source in carried else results[name]


def _check(name: str, array: np.ndarray, full: tuple[int, ...], dtype: Any) -> None:
    fits = array.ndim == len(full) and all(a in (1, b) for a, b in zip(array.shape[:-1], full[:-1], strict=True))
    rows = array[(0,) * (array.ndim - 2)] if fits and array.size else array
    if not fits or array.shape[-1] != full[-1] or array.dtype != dtype or not rows.flags.c_contiguous:
        raise TaupiError(f"{name} is {array.dtype} {array.shape}, expected C-contiguous {dtype} {full}.")
