"""Roll-outs: a loop run for many periods, compiled from end to end where it can be, interval by interval where not."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown
from taupi.program.roll import Rolling
from taupi.simulation.integrators import FIXED, advance, nodes, solve
from taupi.simulation.loop import Loop
from taupi.simulation.references import Motion
from taupi.simulation.stiction import Sticking

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

    def motion(self, times: np.ndarray, at: Sequence[float]) -> Records:
        """Return time and reference at the nodes of periods, (K, 1, nodes * size)."""
        names = {p.name for p in self.ports}
        instants = times[:, None] + np.asarray(at) * self.job.dt
        made = {"t": instants[:, None, :]} if "t" in names else {}
        wanted = self.job.loop.controller.wanted
        if self.job.reference is not None and names & set(wanted):
            values = self.job.reference(instants.ravel())
            made |= {w: v.reshape(len(times), 1, -1) for w, v in zip(wanted, values, strict=True) if w in names}
        return made

    def signals(self, first: int, times: np.ndarray, at: Sequence[float]) -> Records:
        """Return wrench and disturbance at the nodes of periods, (K, 1, nodes * size)."""
        made = {}
        for port in self.job.loop.plant.externals:
            source = {"f_tip": "wrench", "tau_dist": "disturbance"}.get(port.name)
            if source is not None:
                signal = getattr(self.job.loop.plant, source)
                rows = [
                    [sampled(signal, first + k, t + c * self.job.dt, port.size, source) for c in at]
                    for k, t in _rows(times)
                ]
                made[port.name] = np.array(rows, dtype=float).reshape(len(times), 1, -1)
        return made


def _rows(times: np.ndarray) -> Iterator[tuple[int, float]]:
    return enumerate(times.tolist())


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
    if job.stepwise:
        return step_out(job)
    kernel, outside, made = job.loop.kernels().step(job.batch), Outside(job), _Recorder(job)
    z, jump = job.start, np.zeros((job.batch, 1))
    before: np.ndarray | None = None
    for first, last in job.blocks():
        carried, results = made.take(first, last)
        carried[0] = z
        inputs = outside.block(first, last)
        jump = jump + _jump(job, z, before, inputs.get("load"))
        before = inputs.get("load")
        if job.loop.controller.function is not None:
            _asked(job, first, carried, inputs, results)
        else:
            Rolling(kernel, {"z": carried}, inputs, results, job.threads)(0, last - first)
        made.keep(first, last, carried, results, jump)
        z = carried[-1].copy()
        if not np.isfinite(z).all(axis=1).any():
            break
    return made.records()


class _Recorder:
    """Where a roll-out leaves its results: straight in what is kept, or in a block's own arrays where few rows are kept."""

    def __init__(self, job: Job) -> None:
        self.job, self._done = job, 0
        self.sizes = {p.name: p.size for p in job.loop.kernels().step(job.batch).program.outputs[1:]}
        rows, b = job.steps // job.every + 1, job.batch
        self._z = np.zeros((rows + (job.every == 1), b, job.loop.size))  # the last state is one more
        self._kept = {name: np.zeros((rows, b, size)) for name, size in self.sizes.items()}
        self._jump = np.zeros((rows, b, 1))
        self._block: tuple[np.ndarray, Records] | None = None

    def take(self, first: int, last: int) -> tuple[np.ndarray, Records]:
        """Return z of (length + 1, B, size) and the other results, for the periods first .. last - 1."""
        if self.job.every == 1:
            return self._z[first : last + 1], {name: value[first:last] for name, value in self._kept.items()}
        length, b = last - first, self.job.batch
        if self._block is None or len(self._block[0]) != length + 1:
            results = {name: np.zeros((length, b, size)) for name, size in self.sizes.items()}
            self._block = (np.zeros((length + 1, b, self.job.loop.size)), results)
        return self._block

    def keep(self, first: int, last: int, carried: np.ndarray, results: Records, jump: np.ndarray) -> None:
        """Keep the rows of a block that are wanted."""
        every = self.job.every
        inside = slice(-first % every, last - first, every)
        rows = slice(-(-first // every), -(-last // every))
        self._jump[rows] = jump
        if every > 1:
            self._z[rows] = carried[:-1][inside]
            for name, value in results.items():
                self._kept[name][rows] = value[inside]
        self._done = rows.stop

    def records(self) -> Records:
        """Return all that was kept."""
        made = {"z": self._z, **self._kept, "jump": self._jump}
        return {name: value[: self._done] for name, value in made.items()}


def _jump(job: Job, z: np.ndarray, before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray:
    """Return the energy that a change of load brought, (B, 1)."""
    if before is None or after is None or np.array_equal(before, after):
        return np.zeros((job.batch, 1))
    x, energy = z[:, job.loop.parts["x"]], job.loop.plant.energy_program()
    difference: np.ndarray = energy(x, np.broadcast_to(after[0], (job.batch, after.shape[2])))
    return (difference - energy(x, np.broadcast_to(before[0], (job.batch, before.shape[2]))))[:, None]


def _asked(job: Job, first: int, carried: np.ndarray, inputs: Records, results: Records) -> None:
    """Run a block period by period, asking a Python function for the torque in each."""
    loop, length = job.loop, len(carried) - 1
    n, kernels = loop.n, loop.kernels()
    seen = {name: np.zeros((length, job.batch, n)) for name in ("q_seen", "qd_seen")}
    command = np.zeros((length, job.batch, n))
    step = Rolling(kernels.step(job.batch), {"z": carried}, inputs | {"command": command}, results)
    looking = {"z": carried[:-1], **inputs}
    look = Rolling(kernels.seeing, {}, looking, seen, sizes=(length, job.batch))
    for k in range(length):
        look(k, k + 1)
        q, qd = seen["q_seen"][k], seen["qd_seen"][k]
        command[k] = ask(job, (first + k) * job.dt, q[0] if job.single else q, qd[0] if job.single else qd)
        step(k, k + 1)


def ask(job: Job, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Return the torque that a Python controller wants, checked."""
    function, n = job.loop.controller.function, job.loop.n
    assert function is not None
    answer = function(t, q.copy(), qd.copy())
    try:
        tau = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(f"controller({t:g}, q, qd) gave {shown(answer)}, expected {n} torques.") from None
    if tau.shape not in (q.shape, (n,)):
        raise TaupiError(
            f"controller({t:g}, q, qd) gave {shown(answer)}, expected shape {q.shape}: one torque per joint."
        )
    return tau


# Interval by interval -----------------------------------------------------------------------------------------------


def step_out(job: Job) -> Records:
    """Return what `roll_out` does, the plant moved from Python; one roll-out after the other."""
    each = [_one_out(job, b) for b in range(job.batch)]
    rows = max(len(r["z"]) for r in each)
    return {name: np.concatenate([_padded(r[name], rows) for r in each], axis=1) for name in each[0]}


def _padded(array: np.ndarray, rows: int) -> np.ndarray:
    missing = np.full((rows - len(array), *array.shape[1:]), np.nan)
    return np.concatenate([array, missing]) if len(missing) else array


def _chosen(job: Job, b: int) -> Job:
    """Return the job of one roll-out."""

    def row(value: np.ndarray) -> np.ndarray:
        return value[b : b + 1] if len(value) > 1 else value

    loads, settings = job.loads, job.settings
    return dataclasses.replace(
        job,
        start=job.start[b : b + 1],
        seeds=[job.seeds[b % len(job.seeds)]],
        loads=None if loads is None else lambda t: row(loads(t)),
        settings=None if settings is None else {k: row(v) for k, v in settings.items()},
        deviations=job.deviations if job.deviations is None or job.deviations.ndim == 1 else job.deviations[b],
    )


def _one_out(whole: Job, b: int) -> Records:
    job = _chosen(whole, b)
    outside, mover = Outside(job), Mover(job, whole.single)
    kept: dict[str, list[np.ndarray]] = {}
    z, jump, before = job.start[0].copy(), np.zeros((1, 1)), None
    for first, last in job.blocks():
        inputs = outside.block(first, last)
        jump = jump + _jump(job, z[None], before, inputs.get("load"))
        before = inputs.get("load")
        for k in range(first, last):
            z_next, told = mover.decide(k, z, {n: v[(k - first) % len(v), 0] for n, v in inputs.items()})
            if k % job.every == 0:
                for name, value in {"z": z, **told, "jump": jump[0]}.items():
                    kept.setdefault(name, []).append(np.array(value))
            z = mover.move(k, z_next, told["tau"], inputs.get("load"), outside) if k < job.steps else z_next
            if not np.isfinite(z).all():
                z[:] = np.nan
                break
        if not np.isfinite(z).all():
            break
    return {name: np.stack(parts)[:, None, :] for name, parts in kept.items()}


class Mover:
    """One roll-out's compiled parts: the decision at the beginning of a period, and the plant's derivative within it."""

    def __init__(self, job: Job, single: bool) -> None:
        self.job, self.loop, self.single = job, job.loop, single
        self._decide, self._rate = job.loop.kernels().step(1).bound(), job.loop.kernels().rate.bound()
        self._see = job.loop.kernels().seeing.bound()
        # The law is inside the derivative, or a function is asked there; otherwise the torque is held.
        self.inside = job.loop.continuous and job.loop.controller.rate is not None
        self.asks = job.loop.controller.function is not None
        sticks = getattr(job.loop.plant, "stiction", False)
        self.sticking = Sticking(job.loop.plant, job.method, job.tolerance) if sticks else None

    def decide(self, k: int, z: np.ndarray, inputs: Records) -> tuple[np.ndarray, Records]:
        """Return z with what the controller remembers brought forward, and what the step tells."""
        if self.asks:
            inputs = inputs | {"command": self._ask(k * self.job.dt, z, inputs)}
        for name, value in {"z": z, **inputs}.items():
            self._decide.inputs[name].reshape(-1)[:] = value
        self._decide()
        told = {name: value.reshape(-1).copy() for name, value in self._decide.outputs.items()}
        if self.sticking is not None:
            y, outside = z[: 2 * self.loop.n], {p.name: inputs[p.name] for p in self.loop.plant.externals}
            mode = self.sticking.modes(y, told["tau"], outside)
            told["qdd"] = self.sticking.evaluate(y, told["tau"], mode, outside)[0]
        return told.pop("z_next"), told

    def _ask(self, t: float, z: np.ndarray, inputs: Records) -> np.ndarray:
        self._see.inputs["z"][:] = z
        if "noise" in inputs:
            self._see.inputs["noise"][:] = inputs["noise"]
        self._see()
        q, qd = (self._see.outputs[name].copy() for name in ("q_seen", "qd_seen"))
        tau = ask(self.job, t, q if self.single else q[None], qd if self.single else qd[None])
        return tau if tau.ndim == 1 else tau[0]

    def move(self, k: int, z: np.ndarray, tau: np.ndarray, load: np.ndarray | None, outside: Outside) -> np.ndarray:
        """Return z at the end of the period."""
        loop, job, start = self.loop, self.job, k * self.job.dt
        width = self._rate.inputs["y"].size
        varies = self.inside or any(p.name != "load" for p in loop.plant.externals)
        if load is not None:
            self._rate.inputs["load"][:] = load[0, 0]
        for name, value in (job.settings or {}).items() if self.inside else ():
            self._rate.inputs[name].reshape(-1)[:] = value[0]

        def rate(t: float, y: np.ndarray) -> np.ndarray:
            self._rate.inputs["y"][:] = y
            if not self.inside:
                self._rate.inputs["tau"][:] = self._continuous(t, y) if self.asks and loop.continuous else tau
            if varies:
                at = np.array([t])
                signals = outside.signals(k, at, (0.0,)) | (outside.motion(at, (0.0,)) if self.inside else {})
                for name, value in signals.items():
                    self._rate.inputs[name].reshape(-1)[:] = value[0, 0]
            self._rate()
            return self._rate.outputs["dy"].copy()

        def acting(t: float) -> Records:
            signals = outside.signals(k, np.array([t]), (0.0,)) if varies else {}
            return signals if load is None else {"load": load[0, 0], **signals}

        moved = z.copy()
        if self.sticking is not None:
            moved[:width] = self.sticking.move(z[:width], tau, start, start + job.dt, acting)
            return moved
        moved[:width] = self._moved(rate, z[:width], start)
        return moved

    def _continuous(self, t: float, y: np.ndarray) -> np.ndarray:
        size, n = self.loop.plant.size, self.loop.n
        q, qd = y[:n], y[size : size + n]
        tau = ask(self.job, t, q if self.single else q[None], qd if self.single else qd[None])
        return tau if tau.ndim == 1 else tau[0]

    def _moved(self, rate: Callable[[float, np.ndarray], np.ndarray], y: np.ndarray, t: float) -> np.ndarray:
        job, loop = self.job, self.loop
        if job.method not in FIXED:
            try:
                return solve(job.method, rate, y, t, t + job.dt, job.tolerance)
            except TaupiError:
                return np.full_like(y, np.nan)
        tableau, substeps = FIXED[job.method], loop.substeps
        at = nodes(tableau, substeps)
        stepped: np.ndarray = advance(
            tableau, lambda x, node: rate(t + at[node] * job.dt, x), y, job.dt / substeps, substeps, loop.plant.size
        )
        return stepped
