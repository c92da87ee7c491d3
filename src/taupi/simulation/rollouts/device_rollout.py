"""Roll-outs on a GPU: all control periods in one kernel, one thread per roll-out; records or their summary are returned."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from taupi.errors import Argument, Message, TaupiError
from taupi.program.emitters.cuda_roll import Roll
from taupi.program.targets.cuda import Device
from taupi.simulation.rollouts.compiled_rollout import Statistics, load_jump
from taupi.simulation.rollouts.rollout import Records, Rollout, StepInputs
from taupi.simulation.rollouts.sensing import key_of

# Periods of one launch: Ctrl-C takes effect between launches.
_PERIODS = 4096
_SHARE = 0.7  # share of the free memory that state and records may take
_MASK = 2**64 - 1


def refuse_what_needs_python(rollout: Rollout) -> None:
    """Refuse roll-outs that no kernel can run: Python functions, adaptive steps, stiction."""
    on_cpu = Message("Use {device='cpu'}.")
    if rollout.loop.controller.function is not None:
        raise TaupiError("{device='cuda'} runs laws and Programs; a Python function cannot run there.", remedy=on_cpu)
    if rollout.stepwise:
        raise TaupiError(
            "{integrator} chooses its own steps, which is not possible on the GPU.",
            remedy=on_cpu,
            integrator=Argument("integrator", rollout.horizon.integrator),
        )


def roll_out_on(device: Device, rollout: Rollout) -> Records:
    """Return what `compiled_rollout.roll_out` returns, computed on a device."""
    refuse_what_needs_python(rollout)
    loop = rollout.loop
    roll = _roll(rollout, summary=False)
    row = 8 * sum(p.size for p in roll.recorded)
    parts = []
    for part in _divided(device, rollout, row * rollout.horizon.rows + 8 * loop.size):
        machine = _Machine(device, part, roll)
        records = {p.name: np.empty((rollout.horizon.rows, part.batch, p.size)) for p in roll.recorded}
        records["jump"] = np.zeros((rollout.horizon.rows, part.batch, 1))
        jump, every = np.zeros((part.batch, 1)), rollout.horizon.every
        for first, last, change in machine.launches():
            jump = jump + change
            rows = slice(-(-first // every), -(-last // every))
            count = rows.stop - rows.start
            kept = [device.zeros((count, p.size, part.batch)) for p in roll.recorded]
            machine.run(first, last, kept)
            for port, array in zip(roll.recorded, kept, strict=True):
                records[port.name][rows] = device.download(array).transpose(0, 2, 1)
            records["jump"][rows] = jump
        parts.append(records)
    return {name: np.concatenate([p[name] for p in parts], axis=1) for name in parts[0]}


def summarise_on(device: Device, rollout: Rollout, late: int) -> Statistics:
    """Return what `summary.summarise` returns, reduced on the device; errors count as late from period `late` on."""
    refuse_what_needs_python(rollout)
    loop, roll, parts = rollout.loop, _roll(rollout, summary=True), []
    target = rollout.wanted()
    for part in _divided(device, rollout, 8 * (loop.size + roll.statistics)):
        machine = _Machine(device, part, roll)
        table = device.zeros((roll.statistics, part.batch))
        for first, last, _ in machine.launches():
            rows = device.upload(np.ascontiguousarray(target[first:last]))
            machine.run(first, last, [rows, late, table])
        parts.append(Statistics.of_table(device.download(table).T, machine.state()))
    return Statistics.joined(parts)


class _Machine:
    """The roll-outs of a part of the batch on a device: their state, and what acts on them."""

    def __init__(self, device: Device, rollout: Rollout, roll: Roll) -> None:
        self.device, self.rollout, self.roll = device, rollout, roll
        self._function = device.function(_source(roll), "roll")
        self._z = device.upload(np.ascontiguousarray(rollout.start.T))
        self._inputs = StepInputs(rollout)
        self._noise: list[object] = []
        if roll.noise:
            keys = [key_of(seed) for seed in rollout.seeds]
            words = np.array([[k & _MASK for k in keys], [k >> 64 for k in keys]], dtype=np.uint64)
            assert rollout.deviations is not None
            self._noise = [device.upload(rollout.deviations), device.upload(words)]

    def state(self) -> np.ndarray:
        """Return z of each roll-out, (B, size)."""
        return self.device.download(self._z).T

    def launches(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield (first, last) of the periods that run together, and the energy that a change of load before them added."""
        rollout, before = self.rollout, None
        edges = [0, *rollout.change_steps(), rollout.horizon.steps + 1]
        for a, b in itertools.pairwise(edges):
            after = rollout.loads.at(a * rollout.dt)[None] if rollout.loads is not None else None
            change = np.zeros((rollout.batch, 1))
            if before is not None:
                change = load_jump(rollout, np.ascontiguousarray(self.state()), before, after)
            before = after
            for first in range(a, b, _PERIODS):
                yield first, min(b, first + _PERIODS), change
                change = np.zeros((rollout.batch, 1))

    def run(self, first: int, last: int, results: list[object]) -> None:
        """Run periods `first` to `last` - 1; `results` are the kernel's arguments for what it returns."""
        rollout, loop, arguments = self.rollout, self.rollout.loop, [self._z]
        periods = self._inputs.block(first, last, noise=False)
        steps = self._inputs.inner(first, last, periods) if loop.split else {}
        for name, kind, port in self.roll.inputs():
            inner = name.startswith("b_")
            value = steps[port.name] if inner else periods[port.name]
            if kind == "own":
                rows = value[0, 0] if inner else value[0]  # (1 or B, size)
                shared = len(rows) == 1
                arguments += [
                    self.device.upload(np.ascontiguousarray(rows.T)),
                    int(not shared),
                    1 if shared else len(rows),
                ]
            else:
                count = (last - first) * (loop.substeps if inner else 1)
                flat = np.broadcast_to(value, (*self._lead(last - first, inner), 1, port.size))
                arguments.append(self.device.upload(np.ascontiguousarray(flat.reshape(count, port.size))))
        arguments += [*self._noise, *results, rollout.batch, first, last, rollout.horizon.steps, rollout.horizon.every]
        self._function(rollout.batch, arguments)

    def _lead(self, length: int, inner: bool) -> tuple[int, ...]:
        return (length, self.rollout.loop.substeps) if inner else (length,)


def _roll(rollout: Rollout, summary: bool) -> Roll:
    """Return the kernel's description; it is cached with the compiled programs of identical loops."""
    loop = rollout.loop
    own = {"load", *(p.name for p in loop.controller.other_inputs(loop.continuous))}
    programs = loop.kernels()
    inner = programs.move_program if loop.split else None
    entries, watched = (loop.n, "tau") if summary else (0, "")
    return Roll(programs.step_program, inner, loop.substeps if loop.split else 0, frozenset(own), entries, watched)


_source = lru_cache(maxsize=32)(Roll.source)


def _divided(device: Device, rollout: Rollout, bytes_each: int) -> Iterator[Rollout]:
    """Yield the batch in parts whose state and records fit into the device's memory."""
    most = max(1, int(_SHARE * device.free_bytes()) // bytes_each)
    parts = -(-rollout.batch // most)
    edges = [rollout.batch * k // parts for k in range(parts + 1)]
    for a, b in itertools.pairwise(edges):
        yield rollout if parts == 1 else rollout.part(a, b)
