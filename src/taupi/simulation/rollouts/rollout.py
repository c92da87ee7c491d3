"""A roll-out: a loop, where it starts and what acts on it, and the inputs of its steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.simulation.horizon import Horizon
from taupi.simulation.plants.plant import Signal
from taupi.simulation.references import Motion
from taupi.simulation.rollouts.loads import Loads
from taupi.simulation.rollouts.loop import Loop
from taupi.simulation.rollouts.noise import NoiseStreams

# What a block of periods may hold at a time; its arrays stay in the caches, and Ctrl-C takes effect between blocks.
_BLOCK_BYTES = 4 * 2**20
Records = dict[str, np.ndarray]
ReferenceFunction = Callable[[np.ndarray], Motion]


@dataclass(frozen=True, eq=False)
class Rollout:
    """B roll-outs of one loop: where each starts, and what acts on it."""

    loop: Loop
    start: np.ndarray  # z at the beginning, (B, size of z)
    seeds: Sequence[int] = (0,)
    reference: ReferenceFunction | None = None
    motion: Motion | None = None  # the reference at the beginning of every control period
    deviations: np.ndarray | None = None  # standard deviations of the sensors' noise
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the controller's program, (1 or B, size) each
    loads: Loads | None = None
    threads: int = 1
    single: bool = True  # whether a Python controller sees (n,) and not (B, n)

    @property
    def horizon(self) -> Horizon:
        """How long the roll-outs run, and in which steps."""
        return self.loop.horizon

    @property
    def dt(self) -> float:
        """The control period, s."""
        return self.loop.dt

    @property
    def batch(self) -> int:
        """The number of roll-outs."""
        return len(self.start)

    @property
    def stepwise(self) -> bool:
        """Whether the plant is moved from Python: by adaptive steps, or under continuous control from Python."""
        return self.loop.tableau is None

    def wanted(self) -> np.ndarray:
        """Return the joint positions of the reference at the beginning of every period, (steps + 1, n); 0 without one."""
        if self.motion is not None and self.loop.controller.of_joints:
            return self.motion.q
        return np.zeros((self.horizon.steps + 1, self.loop.n))

    def change_steps(self) -> list[int]:
        """Return the periods at whose beginning a load changes: the first at or after its time."""
        times = () if self.loads is None else self.loads.times
        steps = {int(np.ceil(t / self.dt - 1e-9)) for t in times}
        return sorted(k for k in steps if 0 < k <= self.horizon.steps)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of blocks of periods, none of which has a change of load inside; steps + 1 in all."""
        every = self.horizon.every
        row = 8 * self.batch * sum(p.size for p in (*self.loop.ports(), *self.loop.ports()))
        row *= self.loop.substeps + 1 if self.loop.split else 1
        most = max(1, min(_BLOCK_BYTES // row, 4096)) // every * every or every
        edges = [0, *self.change_steps(), self.horizon.steps + 1]
        for a, b in itertools.pairwise(edges):
            first = a
            while first < b:
                last = min(b, first // every * every + most)
                yield first, last
                first = last


class StepInputs:
    """All inputs of the step besides z, block by block, as (K or 1, B or 1, size)."""

    def __init__(self, rollout: Rollout) -> None:
        self.rollout, self.ports = rollout, [p for p in rollout.loop.ports() if p.name not in ("z", "command")]
        # Noise is drawn in the order of time, so that blocks of any length draw the same.
        self._noise = NoiseStreams(rollout.seeds, sum(p.size for p in self.ports if p.name == "noise"))

    def block(self, first: int, last: int, noise: bool = True) -> Records:
        """Return the inputs of the periods first .. last - 1, without the noise where that is drawn elsewhere."""
        rollout, times = self.rollout, np.arange(first, last) * self.rollout.dt
        loop, inputs = rollout.loop, Records()
        for port in self.ports:
            if port.name == "noise" and noise and rollout.deviations is not None:
                inputs["noise"] = self._noise.draw(last - first) * rollout.deviations
            elif port.name == "load" and rollout.loads is not None:
                inputs["load"] = rollout.loads.at(float(times[0]))[None]
            elif port.name in rollout.inputs:
                inputs[port.name] = rollout.inputs[port.name][None]
        if rollout.motion is not None and loop.reference_nodes == (0.0,):  # known already
            motion = zip(loop.controller.wanted, rollout.motion, strict=True)
            names = {p.name for p in self.ports}
            inputs |= {name: value[first:last, None, :] for name, value in motion if name in names}
            inputs |= {"t": times[:, None, None]} if "t" in names else {}
        else:
            inputs |= self.motion(times, loop.reference_nodes)
        inputs |= self.signals(first, times, loop.nodes)
        return {name: np.ascontiguousarray(value) for name, value in inputs.items()}

    def inner(self, first: int, last: int, held: Records) -> Records:
        """Return the inputs of the plant's steps within periods, (K or 1, steps or 1, B or 1, size).

        `held` are the inputs of the periods, of which some hold for all of their steps.
        """
        loop, steps = self.rollout.loop, self.rollout.loop.substeps
        at = np.asarray(loop.move_nodes) / steps
        begin = (np.arange(first * steps, last * steps)) * (self.rollout.dt / steps)
        varying = (self.motion(begin, at) if loop.inside else {}) | self.signals(first * steps, begin, at, steps)
        spread = {name: np.ascontiguousarray(v).reshape(last - first, steps, 1, -1) for name, v in varying.items()}
        others = {p.name for p in loop.controller.other_inputs(loop.continuous)} if loop.inside else set()
        return spread | {name: v[:, None] for name, v in held.items() if name == "load" or name in others}

    def motion(self, times: np.ndarray, at: ArrayLike) -> Records:
        """Return time and reference at the nodes of periods, (K, 1, nodes * size)."""
        names = {p.name for p in self.ports}
        instants = times[:, None] + np.asarray(at) * self.rollout.dt
        inputs = {"t": instants[:, None, :]} if "t" in names else {}
        wanted = self.rollout.loop.controller.wanted
        if self.rollout.reference is not None and names & set(wanted):
            values = self.rollout.reference(instants.ravel())
            inputs |= {w: v.reshape(len(times), 1, -1) for w, v in zip(wanted, values, strict=True) if w in names}
        return inputs

    def signals(self, first: int, times: np.ndarray, at: Any, steps_per_period: int = 1) -> Records:
        """Return wrench and disturbance at the nodes of periods, or of the steps within them, (K, 1, nodes * size)."""
        inputs = {}
        for port in self.rollout.loop.plant.externals:
            source, signal = self.rollout.loop.plant.signal(port.name)
            if signal is not None:
                rows = [
                    [
                        sampled(signal, (first + k) // steps_per_period, t + c * self.rollout.dt, port.size, source)
                        for c in at
                    ]
                    for k, t in enumerate(times.tolist())
                ]
                inputs[port.name] = np.array(rows, dtype=float).reshape(len(times), 1, -1)
        return inputs


def sampled(signal: Signal, step: int, t: float, size: int, name: str) -> np.ndarray:
    """Return a signal at a time: constant, the row of its control period (the last one stays), or a function's value."""
    try:
        value = np.asarray(signal(t) if callable(signal) else signal, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(
            Argument(name), f" is {shown(signal)}, expected {size} numbers, rows of them, or a function."
        ) from None
    if not callable(signal) and value.ndim == 2 and len(value):
        value = value[min(step, len(value) - 1)]
    if value.shape != (size,):
        raise TaupiError(
            Argument(name), f" has shape {value.shape}, expected ({size},), rows of them, or a function of time."
        )
    return value
