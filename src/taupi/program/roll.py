"""A compiled step run over and over in one call: what it gives is what it is given next."""

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
from taupi.program.targets.simd.objects import load

# A step is worth thousands of operations, so that already this many samples repay a thread.
_SAMPLES_A_THREAD = 16

# kernel(table, start, stop) again and again; after each call every entry of the table moves on by its stride.
_LOOP = """
define void @roll(ptr %kernel, ptr %table, ptr %strides, i64 %entries, i64 %count, i64 %start, i64 %stop) {
entry:
  br label %check
check:
  %k = phi i64 [ 0, %entry ], [ %next, %moved ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %loop, label %end
loop:
  call void %kernel(ptr %table, i64 %start, i64 %stop)
  br label %move
move:
  %j = phi i64 [ 0, %loop ], [ %after, %move ]
  %at = getelementptr i64, ptr %table, i64 %j
  %by = getelementptr i64, ptr %strides, i64 %j
  %old = load i64, ptr %at
  %stride = load i64, ptr %by
  %new = add i64 %old, %stride
  store i64 %new, ptr %at
  %after = add i64 %j, 1
  %again = icmp slt i64 %after, %entries
  br i1 %again, label %move, label %moved
moved:
  %next = add i64 %k, 1
  br label %check
end:
  ret void
}
"""


@lru_cache(maxsize=1)
def _loop() -> tuple[Any, Any]:
    engine = load(_LOOP)
    kinds = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4]
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
        parts = max(1, min(threads, batch // _SAMPLES_A_THREAD))
        edges = [batch * k // parts // 8 * 8 for k in range(parts)] + [batch]
        self._kept = (kernel, given, taken, scratches := [kernel.scratch() for _ in range(parts)])
        self._address = kernel._engine.get_function_address("kernel")
        tables = [_table(kernel, given, taken, s) for s in scratches] if steps and batch else []
        self._parts = [(t, strides, a, b) for (t, strides), (a, b) in zip(tables, pairwise(edges), strict=False)]

    def __call__(self, first: int, last: int) -> None:
        """Run the steps first .. last - 1."""
        if len(self._parts) == 1:
            self._run(first, last, self._parts[0])
            return
        with ThreadPoolExecutor(max(1, len(self._parts))) as pool:
            for _ in pool.map(lambda part: self._run(first, last, part), self._parts):
                pass

    def _run(self, first: int, last: int, part: tuple[np.ndarray, np.ndarray, int, int]) -> None:
        table, strides, start, stop = part
        moving = table + first * strides
        _loop()[1](self._address, moving.ctypes.data, strides.ctypes.data, len(strides), last - first, start, stop)


def _sizes(carried: Mapping[str, np.ndarray]) -> tuple[int, int]:
    if not carried:
        raise TaupiError("carried is empty, expected the arrays that one step hands to the next.")
    first = next(iter(carried.values()))
    return first.shape[0] - 1, first.shape[1]


def _result(name: str, carried: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> np.ndarray:
    source = name.removesuffix("_next")
    return carried[source][1:] if name.endswith("_next") and source in carried else results[name]


def _check(name: str, array: np.ndarray, full: tuple[int, int, int], dtype: Any) -> None:
    fits = array.ndim == 3 and all(a in (1, b) for a, b in zip(array.shape[:2], full[:2], strict=True))
    if not fits or array.shape[2] != full[2] or array.dtype != dtype or not array.flags.c_contiguous:
        raise TaupiError(f"{name} is {array.dtype} {array.shape}, expected C-contiguous {dtype} {full}.")


def _table(
    kernel: Kernel, given: list[np.ndarray], taken: list[np.ndarray], scratch: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel's arguments of the first step, and by how much each moves on in a step: addresses by a row."""
    first = kernel.table([a[0] for a in given], [a[0] for a in taken], taken[0].shape[1], scratch)
    ahead = np.zeros_like(first)
    strides = [a.strides[0] if len(a) > 1 else 0 for a in (*given, *taken)]
    ahead[: 2 * len(strides) : 2] = strides
    return first, ahead
