"""A loop over compiled steps, run by machine code in one call: what is not kept of a period stays in the caches."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from taupi.errors import TaupiError
from taupi.program.array_loops import Ints, call_kernel, compiled
from taupi.program.batch_results import address_of, fresh_zeros
from taupi.program.ports import Port
from taupi.program.targets.cpu import Kernel
from taupi.program.targets.simd.llvm_writer import STALE
from taupi.threads import side_by_side

# Samples that go through all periods of a block before the next ones do: what they pass on fits into a core's own cache.
TILE = 64
_LANES = 8  # samples in the smallest tile: as many as a vector holds
# A thread is worth its cost from this many samples on: a step has thousands of operations.
_SAMPLES_PER_THREAD = 16


def _move(tables: Ints, moves: Ints, number: int) -> None:
    """Make a number of moves; each, (entry, by), advances one entry of the tables."""
    for j in range(number):
        tables[moves[2 * j]] += moves[2 * j + 1]


def _roll(
    tables: Ints,
    calls: Ints,
    number: int,
    within: Ints,
    period: Ints,
    periods: int,
    group: Ints,
    groups: int,
    count: int,
    every: int,
    phase0: int,
    start: int,
    stop: int,
) -> None:
    """Make `number` calls in each of `count` periods, `periods` moves after each, `groups` moves after each group of periods.

    A call is (kernel, times, place, entries, subs, sub). Its tables of arguments are at `place`: of a period which is neither the
    first nor the last of its group of `every` periods, of a first, of a last, and of one that is both. Its `subs` moves, at `sub`
    in `within`, are made after each of its `times` runs.
    """
    phase = phase0
    for _period in range(count):
        kind = (1 if phase == 0 else 0) + (2 if phase + 1 == every else 0)
        for c in range(number):
            call = calls[6 * c :]
            for _time in range(call[1]):
                call_kernel(call[0], tables[call[2] + kind * call[3] :], start, stop)
                _move(tables, within[2 * call[5] :], call[4])
        _move(tables, period, periods)
        phase += 1
        if phase == every:
            _move(tables, group, groups)
            phase = 0


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
    loop = StepLoop([Call(kernel)], carried, results, threads=threads)
    steps = len(next(iter(carried.values()))) - 1
    if steps:
        loop.begin(0, steps, [inputs])
        loop.run(steps)


def tiles(batch: int, threads: int) -> list[tuple[int, int]]:
    """Return the first and last + 1 of each tile of a batch, in the order in which threads take them.

    The last are the smallest: at the end, threads wait for the one that took the last.

    >>> tiles(200, 1), tiles(100, 2)
    ([(0, 64), (64, 128), (128, 192), (192, 200)], [(0, 32), (32, 56), (56, 72), (72, 80), (80, 88), (88, 96), (96, 100)])
    """
    edges = [0]
    while (left := batch - edges[-1]) > 0:
        share = left if threads == 1 else -(-left // (2 * threads * _LANES)) * _LANES
        edges.append(edges[-1] + min(TILE, share, left))
    return list(pairwise(edges))


@dataclass(frozen=True, eq=False)
class Call:
    """A kernel that is called in every period, `times` times in a row."""

    kernel: Kernel
    times: int = 1


class StepLoop:
    """Periods of B samples, of which every `every`-th is kept; each makes some calls, one after the other.

    An input `x` in `carried` has an output `x_next` in some of the calls. Its array is (rows + 1, B, size): row r is what period
    r * every starts with, and row 0 is given; between these rows, x is passed on in the caches, as are results that are not kept.
    `results` are (rows, B, size), zero before, and written for the same periods. An input that another call returns is what that
    returned, and all others are given with each block of periods.

    The samples are divided into tiles, which the threads take from one heap; a tile goes through all periods of a block before
    the next one does. So a core that is taken away delays one tile, and memory does not depend on the number of periods.

    >>> import numpy as np
    >>> from taupi.program import Port, trace
    >>> add = trace("add", lambda z, u: z + u, [Port("z", (1,)), Port("u", (1,))], [Port("z_next", (1,))])
    >>> twice = trace("twice", lambda z: 2 * z, [Port("z", (1,))], [Port("z_next", (1,))])
    >>> z = np.zeros((3, 1, 1))
    >>> loop = StepLoop([Call(add.compile("cpu")), Call(twice.compile("cpu"), times=2)], {"z": z}, {}, every=2)
    >>> loop.begin(0, 4, [{"u": np.full((1, 1, 1), 1.0)}, {}])
    >>> loop.run(4)
    >>> z.ravel().tolist()
    [0.0, 20.0, 340.0]
    """

    def __init__(
        self,
        calls: Sequence[Call],
        carried: Mapping[str, np.ndarray],
        results: Mapping[str, np.ndarray],
        every: int = 1,
        threads: int = 1,
    ) -> None:
        if not carried:
            raise TaupiError("carried is empty, expected the arrays that one step passes to the next.")
        self._carried, self._results, self._every = carried, results, every
        self._batch, rows = next(iter(carried.values())).shape[1], len(next(iter(carried.values()))) - 1
        outputs = [(call.kernel, p) for call in calls for p in call.kernel.program.outputs]
        for kernel, port in outputs:
            if kernel.layout != "samples":
                raise TaupiError(
                    "A loop of steps needs layout='samples', got a kernel with layout={layout!r}.", layout=kernel.layout
                )
            source = self._source(port.name)
            array = results.get(port.name) if source is None else carried[source][1:]
            if array is not None:
                _check(port.name, array, (rows, self._batch, port.size), kernel.dtype, one=False)
        self._passed_on = {name: fresh_zeros(array.shape[1:], array.dtype) for name, array in carried.items()}
        self._unkept = {p.name: p.size for _, p in outputs if self._source(p.name) is None}
        self._runs = [run for k, call in enumerate(calls) for run in self._divided(k, call)]
        self._next = [{self._source(p.name) for p in run.kernel.program.outputs} for run in self._runs]
        self._threads = max(1, min(threads, self._batch // _SAMPLES_PER_THREAD))
        self._tiles = tiles(self._batch, self._threads)
        self._seats = [_Seat([run.kernel for run in self._runs], self._unkept) for _ in range(self._threads)]
        compiled(_roll)  # before threads need it: if two made it at once, one would run code that is freed meanwhile

    def state(self, name: str) -> np.ndarray:
        """Return what the period that comes next starts with, (B, size)."""
        row, phase = divmod(self._period, self._every)
        return self._passed_on[name] if phase else self._carried[name][row]

    def begin(self, first: int, last: int, inputs: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Make the periods `first` to `last` - 1 ready; what is carried is as the period before `first` left it.

        `inputs` are given for each call, (last - first or 1, B or 1, size), or (last - first or 1, times or 1, B or 1, size).
        """
        self._period, self._tables = first, _Tables()
        for k, run in enumerate(self._runs):
            kernel, program = run.kernel, run.kernel.program
            for port in program.inputs:
                if (array := inputs[run.call].get(port.name)) is not None:
                    axes = (last - first, run.times_in_all)[: array.ndim - 2]
                    _check(port.name, array, (*axes, self._batch, port.size), kernel.dtype)
            kinds = [
                [
                    *(self._read(k, p, inputs[run.call], is_first, is_last) for p in program.inputs),
                    *(self._written(k, p, is_first, is_last) for p in program.outputs),
                ]
                for is_last in (False, True)
                for is_first in (False, True)
            ]
            self._tables.add(run, kinds, len(self._unkept) + 2 * k, self._stale(k))
        self._tables.close(inputs)

    def run(self, periods: int) -> None:
        """Run the next `periods`."""
        tables, phase, heap = self._tables, self._period % self._every, deque(self._tiles)

        def work(number: int) -> None:
            with suppress(IndexError):
                while True:
                    tables.run(self._seats[number], *heap.popleft(), periods, self._every, phase)

        if len(self._tiles) == 1:
            tables.run(self._seats[0], *self._tiles[0], periods, self._every, phase)
        else:
            side_by_side(work, min(self._threads, len(self._tiles)))
        self._period += periods

    def _source(self, output: str) -> str | None:
        """Return what an output is the next value of; None if it is not carried."""
        source = output.removesuffix("_next")
        return source if source != output and source in self._carried else None

    def _divided(self, number: int, call: Call) -> list[_RepeatedCall]:
        """Return the first, the last and all other runs of a call: the first may read a kept row, and the last may write one."""
        parts = [(0, 1), (1, call.times - 2), (call.times - 1, 1)] if call.times > 1 else [(0, 1)]
        return [_RepeatedCall(call.kernel, number, begin, times, call.times) for begin, times in parts if times]

    def _read(self, number: int, port: Port, given: Mapping[str, np.ndarray], first: bool, last: bool) -> _Argument:
        """Return where a run finds an input, in the first and the last period of its group or not."""
        run, row = self._runs[number], self._period // self._every
        if port.name in self._carried:
            writers = [k for k, names in enumerate(self._next[:number]) if port.name in names]
            if writers:
                return self._moved(writers[-1], port.name, port.size, last)
            kept = _Argument.of(self._carried[port.name], row)
            return kept if first else _Argument(address_of(self._passed_on[port.name]), port.size)
        if port.name not in given:
            return self._result(port, first)
        array = given[port.name]
        step = port.size if array.shape[-2] == self._batch else 0
        period = array.strides[0] if len(array) > 1 else 0
        within = array.strides[1] if array.ndim == 4 and array.shape[1] > 1 else 0
        start, each = address_of(array) + run.begin * within, within if run.times > 1 else 0
        return _Argument(start, step, period=period - run.times * each, within=each)

    def _written(self, number: int, port: Port, first: bool, last: bool) -> _Argument:
        """Return where a run writes an output, in the first and the last period of its group or not."""
        source = self._source(port.name)
        if source is None:
            return self._result(port, first)
        return self._moved(number, source, port.size, last)

    def _moved(self, number: int, source: str, size: int, last: bool) -> _Argument:
        """Return where a run writes the next value of what is carried."""
        if last and not any(source in names for names in self._next[number + 1 :]):
            return _Argument.of(self._carried[source], self._period // self._every + 1)
        return _Argument(address_of(self._passed_on[source]), size)

    def _result(self, port: Port, first: bool) -> _Argument:
        if first and port.name in self._results:
            return _Argument.of(self._results[port.name], self._period // self._every)
        return _Argument(0, port.size, memory=list(self._unkept).index(port.name))

    def _stale(self, number: int) -> bool:
        """Return whether a run has to write the structural zeros of what it passes on: other programs may have others."""
        kernel = self._runs[number].kernel
        outputs = zip(kernel.program.outputs, kernel.nonzeros, strict=True)
        partial = {p.name for p, count in outputs if self._source(p.name) and count < p.size}
        others = [run.kernel.program for run in self._runs if run.kernel is not kernel]
        return any(p.name in partial for program in others for p in program.outputs)


@dataclass(frozen=True, eq=False)
class _RepeatedCall:
    """Runs `begin` to `begin + times - 1` of all runs of a call in a period."""

    kernel: Kernel
    call: int
    begin: int
    times: int
    times_in_all: int


@dataclass(frozen=True, slots=True)
class _Argument:
    """Where an argument is, and by how many bytes that moves after a period, after a group of periods, and after a run."""

    address: int
    step: int  # entries from one sample to the next
    period: int = 0
    group: int = 0
    within: int = 0
    memory: int | None = None  # the number of a thread's own memory, in which it is

    @classmethod
    def of(cls, kept: np.ndarray, row: int) -> _Argument:
        """Return a kept row, which is followed by the next one in the next group."""
        return cls(address_of(kept) + row * kept.strides[0], kept.shape[2], group=kept.strides[0])


class _Seat:
    """What one thread has for itself: scratch memory of each run, and one tile of each result that is not kept."""

    def __init__(self, kernels: Sequence[Kernel], unkept: Mapping[str, int]) -> None:
        self._memory = [np.zeros((TILE, size), kernels[0].dtype) for size in unkept.values()]
        addresses = [address_of(memory) for memory in self._memory]
        for kernel in kernels:
            self._memory.append(scratch := kernel.scratch())
            addresses += [address_of(scratch), address_of(scratch) + kernel.module.kept * kernel.dtype.itemsize]
        self.addresses = np.array(addresses)


class _Tables:
    """The arguments of all runs of a period as machine code takes them: addresses, and how they move."""

    def __init__(self) -> None:
        self._entries: list[int] = []
        self._runs: list[list[int]] = []
        self._period: list[tuple[int, int]] = []
        self._group: list[tuple[int, int]] = []
        self._within: list[tuple[int, int]] = []
        self._own: list[tuple[int, int, int]] = []  # entry, number of a thread's memory, bytes per sample
        self._tiles: dict[int, tuple[np.ndarray, int, list[_Seat]]] = {}  # tables, their address, whose memory they use

    def add(self, run: _RepeatedCall, kinds: Sequence[Sequence[_Argument]], scratch: int, stale: bool) -> None:
        """Add a run with its arguments in each kind of period; `scratch` is the number of its memory."""
        place, width, moves = len(self._entries), 2 * len(kinds[0]) + 3, list[tuple[int, int]]()
        for arguments in kinds:
            for a in arguments:
                at = len(self._entries)
                self._entries += [a.address, a.step]
                self._period += [(at, a.period)] if a.period else []
                self._group += [(at, a.group)] if a.group else []
                moves += [(at, a.within)] if a.within else []
                if a.memory is not None:
                    self._own.append((at, a.memory, a.step * run.kernel.dtype.itemsize))
            self._own += [(len(self._entries) + k, scratch + k, 0) for k in range(2)]
            self._entries += [0, 0, STALE if stale else 0]
        kernel = run.kernel._engine.get_function_address("kernel")
        self._runs.append([kernel, run.times, place, width, len(moves), len(self._within)])
        self._within += moves

    def close(self, *kept_alive: object) -> None:
        """Make the tables ready to run."""
        self._kept_alive = kept_alive
        self._first = np.array(self._entries, dtype=np.int64)
        runs = self._runs_table = np.array(self._runs, dtype=np.int64)
        all_moves = (self._within, self._period, self._group)
        within, period, group = self._moves = [np.array(moves, dtype=np.int64).reshape(-1, 2) for moves in all_moves]
        moved = (address_of(within), address_of(period), len(period), address_of(group), len(group))
        self._fixed = (address_of(runs), len(runs), *moved)
        self._at, self._which, self._bytes = np.array(self._own, dtype=np.int64).T

    def run(self, seat: _Seat, start: int, stop: int, periods: int, every: int, phase: int) -> None:
        """Run the next `periods` of the samples `start` to `stop` - 1, of which the first has the number `phase` in its group."""
        if start not in self._tiles:
            self._tiles[start] = (tables := self._first.copy(), address_of(tables), [])
        tables, address, sitting = self._tiles[start]
        if sitting != [seat]:
            tables[self._at] = seat.addresses[self._which] - start * self._bytes
            sitting[:] = [seat]
        compiled(_roll)(address, *self._fixed, periods, every, phase, start, stop)


def _check(name: str, array: np.ndarray, full: tuple[int, ...], dtype: object, one: bool = True) -> None:
    """Refuse an array of another shape or type; `one` entry may stand for all of a leading axis."""
    fits = array.ndim == len(full) and all(
        a == b or (one and a == 1) for a, b in zip(array.shape[:-1], full[:-1], strict=True)
    )
    rows = array[(0,) * (array.ndim - 2)] if fits and array.size else array
    if not fits or array.shape[-1] != full[-1] or array.dtype != dtype or not rows.flags.c_contiguous:
        raise TaupiError(
            "{name} is {got} {shape}, expected C-contiguous {dtype} {full}.",
            name=name,
            got=array.dtype,
            shape=array.shape,
            dtype=dtype,
            full=full,
        )
