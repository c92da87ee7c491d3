"""Roll-outs compiled from end to end: all control periods in one call of machine code, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from taupi.errors import TaupiError, shown
from taupi.program.step_loop import NestedStepLoop, StepLoop
from taupi.simulation.rollouts.rollout import Records, Rollout, StepInputs


def roll_out(rollout: Rollout) -> Records:
    """Return z, tau, tau_command, qdd, ... as (rows, B, size), every `every`-th period; `jump` is what loads added, J."""
    recorder = _Recorder(rollout)
    jump, before = np.zeros((rollout.batch, 1)), None
    for first, block in _blocks(rollout, recorder):
        jump = jump + load_jump(rollout, block.starts[0], before, block.inputs.get("load"))
        before = block.inputs.get("load")
        recorder.keep(first, first + len(block.starts), block.starts, block.results, jump)
    return recorder.records()


def roll_blocks(rollout: Rollout) -> Iterator[tuple[int, np.ndarray, Records]]:
    """Yield the first period of each block, z at the beginning of its periods, and the results; nothing is kept.

    The arrays, (periods, B, size), are reused for the next block.
    """
    for first, block in _blocks(rollout, _Buffers(rollout)):
        yield first, block.starts, block.results


def _blocks(rollout: Rollout, buffers: _Buffers) -> Iterator[tuple[int, _Block]]:
    """Yield each block of periods after it has run."""
    step_inputs, z = StepInputs(rollout), rollout.start
    for first, last in rollout.blocks():
        block = _Block(rollout, step_inputs, buffers, z, first, last)
        if rollout.loop.controller.function is not None:
            _ask_and_run(rollout, first, block)
        else:
            block.run(0, last - first)
        yield first, block
        z = block.carried[-1].copy()
        if not np.isfinite(z).all(axis=1).any():
            break


class _Block:
    """Periods first .. last - 1 from z, ready to run: `run` runs them, `starts` is z at the beginning of each."""

    def __init__(
        self, rollout: Rollout, step_inputs: StepInputs, buffers: _Buffers, z: np.ndarray, first: int, last: int
    ) -> None:
        loop, length = rollout.loop, last - first
        kernels = loop.kernels()
        self.carried, self.results = buffers.take(first, last)
        self.carried[0] = z
        self.starts = self.carried[: -1 : buffers.rows_per_period]
        self.inputs = step_inputs.block(first, last)
        if loop.controller.function is not None:
            self.inputs["command"] = np.zeros((length, rollout.batch, loop.n))
        step = kernels.step(rollout.batch)
        self.run: Callable[[int, int], None]
        if loop.split:
            tau = np.broadcast_to(self.results["tau"][:, None], (length, loop.substeps, rollout.batch, loop.n))
            inner = step_inputs.inner(first, last, self.inputs) | {"tau": tau}
            arrays = (self.carried, self.inputs, self.results, inner)
            self.run = NestedStepLoop(step, kernels.move(rollout.batch), *arrays, loop.substeps, rollout.threads)
        else:
            self.run = StepLoop(step, {"z": self.carried}, self.inputs, self.results, rollout.threads)


class _Buffers:
    """Arrays that are reused for one block of periods after another."""

    def __init__(self, rollout: Rollout) -> None:
        loop = rollout.loop
        self.rollout = rollout
        self.rows_per_period = loop.substeps + 1 if loop.split else 1  # z after each step of the plant also has a row
        self._sizes = {p.name: p.size for p in loop.kernels().step(rollout.batch).program.outputs[1:]}
        self._block_z, self._block = np.zeros((0, rollout.batch, loop.size)), Records()

    def take(self, first: int, last: int) -> tuple[np.ndarray, Records]:
        """Return z with the rows of the periods first .. last - 1 and one more, and the other results."""
        return self._own_z(last - first), self._own_results(last - first)

    def _own_z(self, length: int) -> np.ndarray:
        rows = 1 + length * self.rows_per_period
        if len(self._block_z) != rows:
            self._block_z = np.zeros((rows, self.rollout.batch, self.rollout.loop.size))
        return self._block_z

    def _own_results(self, length: int) -> Records:
        if len(next(iter(self._block.values()), ())) != length:
            self._block = {name: np.zeros((length, self.rollout.batch, size)) for name, size in self._sizes.items()}
        return self._block


class _Recorder(_Buffers):
    """Where a roll-out writes its results: to the arrays that are kept, or to a block's own if few rows are kept."""

    def __init__(self, rollout: Rollout) -> None:
        super().__init__(rollout)
        self._end, self._keeps_all = 0, rollout.horizon.every == 1
        rows, b = rollout.horizon.rows, rollout.batch
        self._z = np.zeros((rows + self._keeps_z, b, rollout.loop.size))  # one more for the last state
        self._kept = {name: np.zeros((rows, b, size)) for name, size in self._sizes.items()}
        self._jump = np.zeros((rows, b, 1))

    @property
    def _keeps_z(self) -> bool:
        """Whether every row of z is kept as it is passed on."""
        return self._keeps_all and self.rows_per_period == 1

    def take(self, first: int, last: int) -> tuple[np.ndarray, Records]:
        """Return z with the rows of the periods first .. last - 1 and one more, and the other results."""
        kept = {name: value[first:last] for name, value in self._kept.items()} if self._keeps_all else None
        z = self._z[first : last + 1] if self._keeps_z else self._own_z(last - first)
        return z, self._own_results(last - first) if kept is None else kept

    def keep(self, first: int, last: int, starts: np.ndarray, results: Records, jump: np.ndarray) -> None:
        """Keep the rows of a block that are wanted."""
        every = self.rollout.horizon.every
        wanted = slice(-first % every, last - first, every)
        rows = slice(-(-first // every), -(-last // every))
        self._jump[rows] = jump
        if not self._keeps_z:
            self._z[rows] = starts[wanted]
        if not self._keeps_all:
            for name, value in results.items():
                self._kept[name][rows] = value[wanted]
        self._end = rows.stop

    def records(self) -> Records:
        """Return everything that was kept."""
        arrays = {"z": self._z, **self._kept, "jump": self._jump}
        return {name: array[: self._end] for name, array in arrays.items()}


def load_jump(rollout: Rollout, z: np.ndarray, before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray:
    """Return the energy that a change of load added, (B, 1) in J."""
    if before is None or after is None or np.array_equal(before, after):
        return np.zeros((rollout.batch, 1))
    x, energy = z[:, rollout.loop.parts["x"]], rollout.loop.plant.energy_program()
    difference: np.ndarray = energy(x, np.broadcast_to(after[0], (rollout.batch, after.shape[2])))
    return (difference - energy(x, np.broadcast_to(before[0], (rollout.batch, before.shape[2]))))[:, None]


def _ask_and_run(rollout: Rollout, first: int, block: _Block) -> None:
    """Run a block period by period, asking a Python function for the torque of each."""
    loop, length = rollout.loop, len(block.starts)
    sizes = {p.name: p.size for p in loop.kernels().seeing.program.outputs}
    seen = {name: np.zeros((length, rollout.batch, size)) for name, size in sizes.items()}
    look = StepLoop(loop.kernels().seeing, {}, {"z": block.starts, **block.inputs}, seen, sizes=(length, rollout.batch))
    for k in range(length):
        look(k, k + 1)
        state = (v[k, 0] if rollout.single else v[k] for v in seen.values())
        block.inputs["command"][k] = python_torque(rollout, (first + k) * rollout.dt, *state)
        block.run(k, k + 1)


def python_torque(rollout: Rollout, t: float, q: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """Return the torque of a Python controller at a time, checked; it sees q and `more`: qd (and theta, thetad)."""
    function, n = rollout.loop.controller.function, rollout.loop.n
    assert function is not None
    answer = function(t, q.copy(), *(v.copy() for v in more))
    try:
        tau = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        tau = None
    if tau is None or tau.shape not in (q.shape, (n,)):
        expected = f"{n} torques" if tau is None else f"shape {q.shape}: one torque per joint"
        signals = ", ".join(rollout.loop.signals)
        raise TaupiError(f"controller({t:g}, {signals}) gave {shown(answer)}, expected {expected}.")
    return tau
