"""A compiled step run over and over in one call: what it gives is what it is given next."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.program.targets.cpu import Kernel
from taupi.program.targets.simd.objects import load

# A step is worth thousands of operations, so that already this many samples repay a thread.
_SAMPLES_A_THREAD = 16

# kernel(table, start, stop) for one table of arguments after the other; after each, another kernel for some of its own.
_LOOP = """
define void @roll(ptr %kernel, ptr %tables, i64 %count, i64 %bytes,
                  ptr %inner, ptr %its, i64 %times, i64 %size, i64 %start, i64 %stop) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %done ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %loop, label %end
loop:
  %offset = mul i64 %k, %bytes
  %table = getelementptr i8, ptr %tables, i64 %offset
  call void %kernel(ptr %table, i64 %start, i64 %stop)
  %first = mul i64 %k, %times
  br label %checks
checks:
  %s = phi i64 [ 0, %loop ], [ %after, %step ]
  %some = icmp slt i64 %s, %times
  br i1 %some, label %step, label %done
step:
  %which = add i64 %first, %s
  %ahead = mul i64 %which, %size
  %own = getelementptr i8, ptr %its, i64 %ahead
  call void %inner(ptr %own, i64 %start, i64 %stop)
  %after = add i64 %s, 1
  br label %checks
done:
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
    kinds = [*[pointer, pointer, number, number] * 2, number, number]
    return engine, ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("roll"))


def roll(
    kernel: Kernel,
    carried: Mapping[str, np.ndarray],
    inputs: Mapping[str, np.ndarray],
    results: Mapping[str, np.ndarray],
    threads: int = 1,
) -> None:
    """Run K steps of a batch of B: carried[k + 1], results[k] = step(carried[k], inputs[k]).

    An input `x` that is carried has an output `x_next`; its array is (K + 1, B, size), and its first row is where it starts.
    `inputs` are (K or 1, B or 1, size): an axis of length one is shared. `results` are (K, B, size), zero at first. All are
    C-contiguous. The samples are shared out over `threads`, each of which runs all the steps of its own.

    >>> import numpy as np, taupi as tp
    >>> step = tp.trace("sum", lambda x, u: x + u, [tp.Port("x", (1,)), tp.Port("u", (1,))], [tp.Port("x_next", (1,))])
    >>> x = np.zeros((4, 1, 1))
    >>> roll(step.compile("cpu"), {"x": x}, {"u": np.full((1, 1, 1), 2.0)}, {})
    >>> x.ravel().tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    rolling = Rolling(kernel, carried, inputs, results, threads)
    rolling(0, rolling.steps)


class Rolling:
    """A roll that is made ready: `rolling(0, 10)` runs its first ten steps; arguments as in `roll`.

    Where nothing is carried, `sizes` are K and B.
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
            raise TaupiError(f"A roll needs samples: compile with layout='samples', not {kernel.layout!r}.")
        self.steps, batch = sizes or _sizes(carried)
        steps, ports = self.steps, (*kernel.program.inputs, *kernel.program.outputs)
        given = [carried[p.name][:steps] if p.name in carried else inputs[p.name] for p in kernel.program.inputs]
        taken = [_result(p.name, carried, results) for p in kernel.program.outputs]
        for port, array in zip(ports, (*given, *taken), strict=True):
            _check(port.name, array, (steps, batch, port.size), kernel.dtype)
        tables = [_Tables(kernel, given, taken, (steps,), batch)]
        self._parts = _shared_out(tables, batch, threads) if steps and batch else []

    def __call__(self, first: int, last: int) -> None:
        """Run the steps first .. last - 1."""
        _run(self._parts, first, last)


class Nested:
    """A step and, after each, `times` of another: `nested(0, 10)` runs ten of the first and 10 times of the second.

    `z` is (1 + K (times + 1), B, size): the first step takes row k (times + 1) and gives the next row, the second goes on from
    there. `inputs` and `results` are those of the first, as in `roll`; `inner` are the other inputs of the second, (K or 1, times
    or 1, B or 1, size) each.

    >>> import numpy as np, taupi as tp
    >>> add = tp.trace("add", lambda z, u: z + u, [tp.Port("z", (1,)), tp.Port("u", (1,))], [tp.Port("z_next", (1,))])
    >>> twice = tp.trace("twice", lambda z: 2 * z, [tp.Port("z", (1,))], [tp.Port("z_next", (1,))])
    >>> z, u = np.zeros((7, 1, 1)), np.full((1, 1, 1), 1.0)
    >>> Nested(add.compile("cpu"), twice.compile("cpu"), z, {"u": u}, {}, {}, times=2)(0, 2)
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
        given = [z[: -1 : times + 1] if p.name == "z" else inputs[p.name] for p in outer.program.inputs]
        taken = [rows[:, 0] if p.name == "z_next" else results[p.name] for p in outer.program.outputs]
        moved = [rows[:, :-1] if p.name == "z" else inner[p.name] for p in step.program.inputs]
        tables = []
        lead: tuple[int, ...]
        for kernel, ins, outs, lead in (
            (outer, given, taken, (steps,)),
            (step, moved, [rows[:, 1:]], (steps, times)),
        ):
            ports = (*kernel.program.inputs, *kernel.program.outputs)
            for port, array in zip(ports, (*ins, *outs), strict=True):
                _check(port.name, array, (*lead, batch, port.size), kernel.dtype)
            tables.append(_Tables(kernel, ins, outs, lead, batch))
        self._parts = _shared_out(tables, batch, threads, times) if steps and batch else []

    def __call__(self, first: int, last: int) -> None:
        """Run the steps first .. last - 1, each with those that follow it."""
        _run(self._parts, first, last)


@dataclass(frozen=True)
class _Part:
    """What one thread runs: samples start .. stop - 1."""

    tables: list[tuple[int, np.ndarray, int]]  # address of the kernel, its tables of arguments, how many a step
    start: int
    stop: int
    kept: Any  # what the addresses point into

    def run(self, first: int, last: int) -> None:
        """Run the steps first .. last - 1."""
        (outer, table, _), *inner = self.tables
        width = table.strides[0]
        more = [0, 0, 0, 0]
        if inner:
            address, own, times = inner[0]
            more = [address, own.ctypes.data + first * times * own.strides[0], times, own.strides[0]]
        _loop()[1](outer, table.ctypes.data + first * width, last - first, width, *more, self.start, self.stop)


def _run(parts: list[_Part], first: int, last: int) -> None:
    if len(parts) == 1:
        parts[0].run(first, last)
        return
    with ThreadPoolExecutor(max(1, len(parts))) as pool:
        for _ in pool.map(lambda part: part.run(first, last), parts):
            pass


def _shared_out(tables: list[_Tables], batch: int, threads: int, times: int = 1) -> list[_Part]:
    """Return the parts of threads, each with tables of its own scratch memory."""
    parts = max(1, min(threads, batch // _SAMPLES_A_THREAD))
    edges = [batch * k // parts // 8 * 8 for k in range(parts)] + [batch]
    return [_Part([t.own(times) for t in tables], a, b, tables) for a, b in pairwise(edges)]


def _sizes(carried: Mapping[str, np.ndarray]) -> tuple[int, int]:
    if not carried:
        raise TaupiError("carried is empty, expected the arrays that one step hands to the next.")
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


class _Tables:
    """A kernel's arguments for each of its steps: those of the first, every address some rows further."""

    def __init__(
        self, kernel: Kernel, given: list[np.ndarray], taken: list[np.ndarray], lead: tuple[int, ...], batch: int
    ) -> None:
        self.kernel, self.given, self.taken, self.lead, self.batch = kernel, given, taken, lead, batch
        self.scratches: list[np.ndarray] = []

    def own(self, times: int) -> tuple[int, np.ndarray, int]:
        """Return the kernel's address, its tables with scratch memory of their own, and how many of them are a step."""
        arrays, scratch = (*self.given, *self.taken), self.kernel.scratch()
        self.scratches.append(scratch)
        first = (0,) * len(self.lead)
        table = self.kernel.table([a[first] for a in self.given], [a[first] for a in self.taken], self.batch, scratch)
        whole = np.broadcast_to(table, (*self.lead, len(table))).copy()
        for axis, length in enumerate(self.lead):
            ahead = np.zeros_like(table)
            ahead[: 2 * len(arrays) : 2] = [a.strides[axis] if a.shape[axis] > 1 else 0 for a in arrays]
            steps = np.arange(length).reshape([-1 if k == axis else 1 for k in range(len(self.lead))] + [1])
            whole += steps * ahead
        return self.kernel._engine.get_function_address("kernel"), whole.reshape(-1, len(table)), times
