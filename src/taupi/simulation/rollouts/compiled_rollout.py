"""Roll-outs: a loop run for many periods, compiled from end to end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown
from taupi.program.roll import Nested, Rolling
from taupi.simulation.references import Motion
from taupi.simulation.rollouts.loop import Loop

# What a block of periods may hold at a time; its arrays stay in the caches, and Ctrl-C is heard between blocks.
_BLOCK_BYTES = 4 * 2**20
Records = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Job:
    """What is rolled out: the loop, B starts (B, size of z), and what acts on it."""

    loop: Loop
    start: np.ndarray
    steps: int
    every: int = 1
    threads: int = 1
    reference: Callable[[np.ndarray], Motion] | None = None
    motion: Motion | None = None  # the reference at the beginning of every period
    deviations: np.ndarray | None = None
    seeds: Sequence[int] = (0,)
    settings: Mapping[str, np.ndarray] | None = None
    loads: Callable[[float], np.ndarray] | None = None  # time -> (B or 1, 10 links)
    load_times: tuple[float, ...] = ()
    single: bool = True  # one roll-out: a Python controller sees (n,), not (B, n)
    method: str = "rk4"
    tolerance: float = 1e-9

    @property
    def dt(self) -> float:
        """The control period."""
        return self.loop.dt

    @property
    def batch(self) -> int:
        """The number of roll-outs."""
        return len(self.start)

    @property
    def stepwise(self) -> bool:
        """Whether the plant is moved from Python: by an adaptive method, or under continuous control from Python."""
        return self.loop.tableau is None

    def change_steps(self) -> list[int]:
        """Return the periods at whose beginning a load changes: the first at or after its time."""
        steps = {int(np.ceil(t / self.dt - 1e-9)) for t in self.load_times}
        return sorted(k for k in steps if 0 < k <= self.steps)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of blocks of periods, none of which has a change of load inside; steps + 1 in all."""
        row = 8 * self.batch * sum(p.size for p in (*self.loop.ports(), *self.loop.ports()))
        row *= self.loop.substeps + 1 if self.loop.split else 1
        most = max(1, min(_BLOCK_BYTES // row, 4096)) // self.every * self.every or self.every
        edges = [0, *self.change_steps(), self.steps + 1]
        for a, b in itertools.pairwise(edges):
            first = a
            while first < b:
                last = min(b, first // self.every * self.every + most)
                yield first, last
                first = last


class Outside:
    """All inputs of the step besides z, block by block, as (K or 1, B or 1, size)."""

    def __init__(self, job: Job) -> None:
        self.job, self.ports = job, [p for p in job.loop.ports() if p.name not in ("z", "command")]
        # Noise is drawn in the order of time, so that blocks of any length draw the same.
        self._draws = [np.random.default_rng(s) for s in job.seeds]

    def block(self, first: int, last: int) -> Records:
        """Return the inputs of the periods first .. last - 1."""
        job, times = self.job, np.arange(first, last) * self.job.dt
        made: Records = {}
        for port in self.ports:
            if port.name == "noise" and job.deviations is not None:
                drawn = [rng.standard_normal((last - first, port.size)) for rng in self._draws]
                made["noise"] = np.stack(drawn, axis=1) * job.deviations
            elif port.name == "load" and job.loads is not None:
                made["load"] = job.loads(float(times[0]))[None]
            elif job.settings is not None and port.name in job.settings:
                made[port.name] = job.settings[port.name][None]
        if job.motion is not None and job.loop.reference_nodes == (0.0,):  # known already
            wanted = zip(job.loop.controller.wanted, job.motion, strict=True)
            names = {p.name for p in self.ports}
            made |= {name: value[first:last, None, :] for name, value in wanted if name in names}
            made |= {"t": times[:, None, None]} if "t" in names else {}
        else:
            made |= self.motion(times, job.loop.reference_nodes)
        made |= self.signals(first, times, job.loop.nodes)
        return {name: np.ascontiguousarray(value) for name, value in made.items()}

    def inner(self, first: int, last: int, held: Records) -> Records:
        """Return the inputs of the plant's steps within periods, (K or 1, steps or 1, B or 1, size); some are `held`."""
        loop, times = self.job.loop, self.job.loop.substeps
        at = np.asarray(loop.move_nodes) / times
        begin = (np.arange(first * times, last * times)) * (self.job.dt / times)
        made = (self.motion(begin, at) if loop.inside else {}) | self.signals(first * times, begin, at, times)
        spread = {name: np.ascontiguousarray(v).reshape(last - first, times, 1, -1) for name, v in made.items()}
        settings = {p.name for p in loop.controller.settings(loop.continuous)} if loop.inside else set()
        return spread | {name: v[:, None] for name, v in held.items() if name == "load" or name in settings}

    def motion(self, times: np.ndarray, at: Any) -> Records:
        """Return time and reference at the nodes of periods, (K, 1, nodes * size)."""
        names = {p.name for p in self.ports}
        instants = times[:, None] + np.asarray(at) * self.job.dt
        made = {"t": instants[:, None, :]} if "t" in names else {}
        wanted = self.job.loop.controller.wanted
        if self.job.reference is not None and names & set(wanted):
            values = self.job.reference(instants.ravel())
            made |= {w: v.reshape(len(times), 1, -1) for w, v in zip(wanted, values, strict=True) if w in names}
        return made

    def signals(self, first: int, times: np.ndarray, at: Any, a_period: int = 1) -> Records:
        """Return wrench and disturbance at the nodes of periods, or of so many steps `a_period`, (K, 1, nodes * size)."""
        made = {}
        for port in self.job.loop.plant.externals:
            source = {"f_tip": "wrench", "tau_dist": "disturbance"}.get(port.name)
            if source is not None:
                signal = getattr(self.job.loop.plant, source)
                rows = [
                    [sampled(signal, (first + k) // a_period, t + c * self.job.dt, port.size, source) for c in at]
                    for k, t in enumerate(times.tolist())
                ]
                made[port.name] = np.array(rows, dtype=float).reshape(len(times), 1, -1)
        return made


def sampled(signal: Any, step: int, t: float, size: int, name: str) -> np.ndarray:
    """Return a signal at a time: constant, the row of its control period (the last one stays), or a function's value."""
    try:
        value = np.asarray(signal(t) if callable(signal) else signal, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(f"{name} is {shown(signal)}, expected {size} numbers, rows of them, or a function.") from None
    if not callable(signal) and value.ndim == 2 and len(value):
        value = value[min(step, len(value) - 1)]
    if value.shape != (size,):
        raise TaupiError(f"{name} has shape {value.shape}, expected ({size},), rows of them, or a function of time.")
    return value


# Compiled from end to end -------------------------------------------------------------------------------------------


def roll_out(job: Job) -> Records:
    """Return z, tau, tau_command, qdd, ... as (rows, B, size), every `every`-th period; `jump` is what loads brought."""
    outside, recorder = Outside(job), _Recorder(job)
    z, jump = job.start, np.zeros((job.batch, 1))
    before: np.ndarray | None = None
    for first, last in job.blocks():
        block = _Block(job, outside, recorder, z, first, last)
        jump = jump + load_jump(job, z, before, block.inputs.get("load"))
        before = block.inputs.get("load")
        if job.loop.controller.function is not None:
            _asked(job, first, block)
        else:
            block.run(0, last - first)
        recorder.keep(first, last, block.starts, block.results, jump)
        z = block.carried[-1].copy()
        if not np.isfinite(z).all(axis=1).any():
            break
    return recorder.records()


class _Block:
    """Periods first .. last - 1 from z, made ready: `run` does them, `starts` is z at the beginning of each."""

    def __init__(self, job: Job, outside: Outside, recorder: _Recorder, z: np.ndarray, first: int, last: int) -> None:
        loop, length = job.loop, last - first
        kernels = loop.kernels()
        self.carried, self.results = recorder.take(first, last)
        self.carried[0] = z
        self.starts = self.carried[: -1 : recorder.rows_a_period]
        self.inputs = outside.block(first, last)
        if loop.controller.function is not None:
            self.inputs["command"] = np.zeros((length, job.batch, loop.n))
        step = kernels.step(job.batch)
        self.run: Callable[[int, int], None]
        if loop.split:
            tau = np.broadcast_to(self.results["tau"][:, None], (length, loop.substeps, job.batch, loop.n))
            inner = outside.inner(first, last, self.inputs) | {"tau": tau}
            arrays = (self.carried, self.inputs, self.results, inner)
            self.run = Nested(step, kernels.move(job.batch), *arrays, loop.substeps, job.threads)
        else:
            self.run = Rolling(step, {"z": self.carried}, self.inputs, self.results, job.threads)


class _Recorder:
    """Where a roll-out leaves its results: straight in what is kept, or in a block's own arrays where few rows are kept."""

    def __init__(self, job: Job) -> None:
        self.job, self._done = job, 0
        self.rows_a_period = (
            job.loop.substeps + 1 if job.loop.split else 1
        )  # z after each step of the plant has one, too
        self._all = job.every == 1  # every period is kept
        self._sizes = {p.name: p.size for p in job.loop.kernels().step(job.batch).program.outputs[1:]}
        rows, b = job.steps // job.every + 1, job.batch
        self._z = np.zeros((rows + self._whole, b, job.loop.size))  # the last state is one more
        self._kept = {name: np.zeros((rows, b, size)) for name, size in self._sizes.items()}
        self._jump = np.zeros((rows, b, 1))
        self._block_z, self._block = np.zeros((0, b, job.loop.size)), Records()

    @property
    def _whole(self) -> bool:
        """Whether z is kept as it is handed on, row by row."""
        return self._all and self.rows_a_period == 1

    def take(self, first: int, last: int) -> tuple[np.ndarray, Records]:
        """Return z with the rows of the periods first .. last - 1 and one more, and the other results."""
        length, b = last - first, self.job.batch
        rows = 1 + length * self.rows_a_period
        if not self._whole and len(self._block_z) != rows:
            self._block_z = np.zeros((rows, b, self.job.loop.size))
        if not self._all and len(next(iter(self._block.values()), ())) != length:
            self._block = {name: np.zeros((length, b, size)) for name, size in self._sizes.items()}
        kept = {name: value[first:last] for name, value in self._kept.items()} if self._all else self._block
        return self._z[first : last + 1] if self._whole else self._block_z, kept

    def keep(self, first: int, last: int, starts: np.ndarray, results: Records, jump: np.ndarray) -> None:
        """Keep the rows of a block that are wanted."""
        every = self.job.every
        inside = slice(-first % every, last - first, every)
        rows = slice(-(-first // every), -(-last // every))
        self._jump[rows] = jump
        if not self._whole:
            self._z[rows] = starts[inside]
        if not self._all:
            for name, value in results.items():
                self._kept[name][rows] = value[inside]
        self._done = rows.stop

    def records(self) -> Records:
        """Return all that was kept."""
        made = {"z": self._z, **self._kept, "jump": self._jump}
        return {name: value[: self._done] for name, value in made.items()}


def load_jump(job: Job, z: np.ndarray, before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray:
    """Return the energy that a change of load brought, (B, 1)."""
    if before is None or after is None or np.array_equal(before, after):
        return np.zeros((job.batch, 1))
    x, energy = z[:, job.loop.parts["x"]], job.loop.plant.energy_program()
    difference: np.ndarray = energy(x, np.broadcast_to(after[0], (job.batch, after.shape[2])))
    return (difference - energy(x, np.broadcast_to(before[0], (job.batch, before.shape[2]))))[:, None]


def _asked(job: Job, first: int, block: _Block) -> None:
    """Run a block period by period, asking a Python function for the torque in each."""
    loop, length = job.loop, len(block.starts)
    seen = {f"{name}_seen": np.zeros((length, job.batch, loop.n)) for name in loop.signals}
    looking = {"z": block.starts, **block.inputs}
    look = Rolling(loop.kernels().seeing, {}, looking, seen, sizes=(length, job.batch))
    for k in range(length):
        look(k, k + 1)
        shown_now = (v[k, 0] if job.single else v[k] for v in seen.values())
        block.inputs["command"][k] = ask(job, (first + k) * job.dt, *shown_now)
        block.run(k, k + 1)


def ask(job: Job, t: float, q: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """Return the torque that a Python controller wants, checked; it sees q, qd (and theta, thetad)."""
    function, n = job.loop.controller.function, job.loop.n
    assert function is not None
    told = ", ".join(job.loop.signals)
    answer = function(t, q.copy(), *(v.copy() for v in more))
    try:
        tau = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(f"controller({t:g}, {told}) gave {shown(answer)}, expected {n} torques.") from None
    if tau.shape not in (q.shape, (n,)):
        raise TaupiError(
            f"controller({t:g}, {told}) gave {shown(answer)}, expected shape {q.shape}: one torque per joint."
        )
    return tau
