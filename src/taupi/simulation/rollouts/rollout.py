"""A roll-out made ready: its loop and reference, where each member of the batch starts, and the inputs of its steps."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.dynamics.chain import neutral
from taupi.dynamics.orientation import check_quaternions
from taupi.dynamics.terms import resolve_terms
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, warn
from taupi.program.batch_results import fresh_zeros
from taupi.simulation.controller import Controller
from taupi.simulation.horizon import Horizon
from taupi.simulation.integrators import UNDAMPED
from taupi.simulation.motion_limits import broken_limits
from taupi.simulation.plants.plant import Signal
from taupi.simulation.references import Motion, as_reference
from taupi.simulation.rollouts.batch import Batch, Loads, Scenario, input_rows
from taupi.simulation.rollouts.loop import ControlLoop
from taupi.simulation.rollouts.sensing import NoiseStreams

# Ctrl-C takes effect between blocks of periods: a fraction of a second, with little memory for what is drawn beforehand.
_BLOCK_WORK = 2**20  # periods times roll-outs of each thread
_BLOCK_BYTES = 4 * 2**20
Records = dict[str, np.ndarray]
ReferenceFunction = Callable[[np.ndarray], Motion]


@dataclass(frozen=True, eq=False)
class Rollout:
    """B roll-outs of one loop: where each starts, and what acts on it."""

    loop: ControlLoop
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

    def part(self, first: int, last: int) -> Rollout:
        """Return the roll-outs first .. last - 1."""
        return dataclasses.replace(
            self,
            start=self.start[first:last],
            seeds=self.seeds[first:last],
            inputs={k: v if len(v) == 1 else v[first:last] for k, v in self.inputs.items()},
            loads=None if self.loads is None else self.loads.part(first, last),
        )

    def change_steps(self) -> list[int]:
        """Return the periods at whose beginning a load changes: the first at or after its time."""
        times = () if self.loads is None else self.loads.times
        steps = {int(np.ceil(t / self.dt - 1e-9)) for t in times}
        return sorted(k for k in steps if 0 < k <= self.horizon.steps)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield (first, last) of blocks of periods, none of which has a change of load inside; steps + 1 in all."""
        loop = self.loop
        own = sum(p.size for p in loop.ports() if p.name in ("noise", "command"))
        shared = sum(p.size for p in loop.ports()) + sum(p.size for p in loop.move_ports()) * loop.substeps
        most = max(1, min(_BLOCK_WORK * self.threads // self.batch, _BLOCK_BYTES // (8 * (own * self.batch + shared))))
        edges = [0, *self.change_steps(), self.horizon.steps + 1]
        for a, b in itertools.pairwise(edges):
            for first in range(a, b, most):
                yield first, min(b, first + most)


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
            "{argument} is {got!r}, expected {size} numbers, rows of them, or a function.",
            argument=Argument(name),
            got=signal,
            size=size,
        ) from None
    if not callable(signal) and value.ndim == 2 and len(value):
        value = value[min(step, len(value) - 1)]
    if value.shape != (size,):
        raise TaupiError(
            "{argument} has shape {got}, expected ({size},), rows of them, or a function of time.",
            argument=Argument(name),
            got=value.shape,
            size=size,
        )
    return value


_POSTURES = 64  # at which gains are compared with inertias


def set_up(scenario: Scenario, controller: Controller, batch: Batch) -> tuple[Rollout, tuple[str, ...]]:
    """Return the roll-outs of one controller, and sentences about a reference that they cannot follow."""
    if controller.sees_motors and not scenario.plant.motors:
        plant = type(scenario.plant).__name__
        raise TaupiError(
            "{controller} sees motors, but a {plant} has none: use taupi.ElasticPlant(robot).",
            controller=controller.name,
            plant=plant,
        )
    horizon, sensors = scenario.horizon, scenario.sensors
    if scenario.plant.positions > scenario.plant.size:
        _refuse_floating(scenario)
    if horizon.integrator == "rosenbrock" and horizon.continuous and controller.function is not None:
        raise TaupiError(
            "{integrator='rosenbrock'} differentiates the law, and a Python function cannot be differentiated.",
            remedy="Use {control='sampled'}, or another integrator.",
        )
    loop = ControlLoop(scenario.plant, controller, sensors, horizon)
    reference = _reference(scenario, controller)
    times = np.arange(horizon.steps + 1) / horizon.rate
    motion = None
    if reference is not None:
        motion = Motion(*(np.ascontiguousarray(v, dtype=float) for v in reference(times)))
    start = _start(loop, scenario, batch, reference)
    _warn_of_springs(scenario, start[:, : scenario.n])
    wanted = None if motion is None else motion.q
    deviations = None if sensors is None else sensors.noise_deviations(loop.joints, wanted)
    rollout = Rollout(
        loop,
        start,
        batch.seeds,
        reference,
        motion,
        deviations,
        input_rows(controller.other_inputs(horizon.continuous), batch.inputs, batch.size),
        batch.loads(scenario.plant),
        scenario.threads or 1,
        scenario.single,
    )
    _warn_of_gains(scenario, controller, start[:, : scenario.n], motion)
    return rollout, () if motion is None else _reference_warnings(scenario, controller, motion, times)


def _warn_of_gains(scenario: Scenario, controller: Controller, start: np.ndarray, motion: Motion | None) -> None:
    """Warn if a law's gains are too high for its rate where the roll-outs start, or along the reference."""
    plant, horizon = scenario.plant, scenario.horizon
    if (
        controller.gain_warnings is None
        or horizon.continuous
        or (plant.size > scenario.n and not controller.sees_motors)
    ):
        return
    q = start[:: max(1, len(start) // _POSTURES)]
    if motion is not None and controller.of_joints:
        q = np.concatenate([q, motion.q[:: max(1, len(motion.q) // _POSTURES)]])
    rotors = any(term.name == "rotor" for term in resolve_terms(plant.terms))
    for sentence in controller.gain_warnings(horizon.rate, plant.robot, rotors, q):
        warn("{sentence}.", sentence=sentence)


def _refuse_floating(scenario: Scenario) -> None:
    """Refuse what needs one position per velocity: references, sensors, some integrators, stiction."""
    name = scenario.plant.robot.name
    if scenario.reference is not None:
        raise TaupiError(
            "{reference} is for joints with a motor each, and the base of {name} has none: leave it out.", name=name
        )
    if scenario.sensors is not None:
        raise TaupiError(
            "{sensors} are encoders of joints, and the base of {name} has none: leave them out.", name=name
        )
    if scenario.horizon.integrator in ("semi_implicit", "rosenbrock") or scenario.plant.stiction:
        raise TaupiError(
            "{integrator} cannot be {horizon_integrator!r} for quaternions, nor with stiction.",
            remedy="Use {integrator='rk4'}.",
            horizon_integrator=scenario.horizon.integrator,
        )


def _reference(scenario: Scenario, controller: Controller) -> ReferenceFunction | None:
    if scenario.reference is not None:
        return as_reference(scenario.reference, controller.reference_size(scenario.n))
    if controller.needs_reference():
        raise TaupiError(
            "{controller} follows a reference: give one, such as taupi.Sinusoids(...).", controller=controller.name
        )
    return None


def _reference_warnings(
    scenario: Scenario, controller: Controller, motion: Motion, times: np.ndarray
) -> tuple[str, ...]:
    """Refuse a reference that is not finite; warn of one that no arm with this description could follow."""
    for name, value in zip(("q", "qd", "qdd"), motion, strict=True):
        if not np.isfinite(value).all():
            row = int(np.argmin(np.isfinite(value).all(axis=1)))
            raise TaupiError(
                "reference({time:g}) gives {name} that is not finite: {value}.",
                time=times[row],
                name=name,
                value=value[row],
            )
    of_law = controller.reference_warnings
    sentences = [] if of_law is None else list(of_law(motion, times))
    if controller.of_joints:
        sentences += broken_limits(scenario.plant, motion, times)
    for sentence in sentences:
        warn("{sentence}{other_sentence}.", sentence=sentence[0].upper(), other_sentence=sentence[1:])
    return tuple(sentences)


def _warn_of_springs(scenario: Scenario, q: np.ndarray) -> None:
    """Warn if a step is too long for the fastest spring."""
    plant, horizon = scenario.plant, scenario.horizon
    if horizon.integrator not in UNDAMPED:
        return
    most, swing = UNDAMPED[horizon.integrator], plant.fastest(q)
    step = horizon.dt / horizon.substeps
    if step * swing > most:
        enough = math.ceil(swing / horizon.rate / most * 1.5)
        warn(
            "A spring of {robot} swings at {swing:.4g} rad/s, too fast for {horizon_integrator} in steps of "
            "{step:.3g} s:",
            remedy="use {substeps} or more, or {integrator='rosenbrock'}.",
            robot=plant.robot.name,
            swing=swing,
            horizon_integrator=horizon.integrator,
            step=step,
            substeps=Argument("substeps", enough),
        )


# Where roll-outs start ------------------------------------------------------------------------------------------------


def _start(loop: ControlLoop, scenario: Scenario, batch: Batch, reference: ReferenceFunction | None) -> np.ndarray:
    """Return z at the beginning of every roll-out, (B, size of z)."""
    plant, controller, sensors = scenario.plant, loop.controller, scenario.sensors
    n, size, q, qd = scenario.n, plant.size, batch.q, batch.qd
    if q is None and reference is not None and controller.of_joints:
        q, qd, _ = reference(np.zeros(1))
    for name, value, expected in (("q", q, (scenario.plant.robot.nq, loop.positions)), ("qd", qd, (n, size))):
        if value is not None and value.shape[-1] not in expected:
            raise TaupiError(
                "{initial} {name} has shape {got}, expected ({expected},): one per joint.",
                name=name,
                got=value.shape[1:],
                expected=expected[0],
            )
        if value is not None and not np.isfinite(value).all():
            raise TaupiError("{initial} {name} is {got!r}, expected finite numbers.", name=name, got=value.tolist())
    z = fresh_zeros((batch.size, loop.size))
    z[:, loop.parts["x"]] = _floating_state(scenario, q, qd) if loop.positions > size else _state(scenario, q, qd)
    if controller.start is not None:
        if not np.isfinite(controller.start).all():
            raise TaupiError("{parameters} has entries that are not finite: an estimate has to start somewhere.")
        z[:, loop.parts["pi_hat"]] = controller.start
    if sensors is not None:
        memory = sensors.first_memory(z[:, :size], z[:, size : 2 * size], loop.dt, loop.sensor_delay)
        for name in set(memory) & set(loop.parts):
            z[:, loop.parts[name]] = memory[name]
    return z


def _floating_state(scenario: Scenario, q: np.ndarray | None, qd: np.ndarray | None) -> np.ndarray:
    """Return positions and velocities (1 or B, nq + n) of a robot with quaternions; without a q, there is no rotation."""
    robot = scenario.plant.robot
    q = neutral(robot)[None] if q is None else q
    joints = robot.multiple_joints
    starts = [robot.position_index(j.coordinate) + j.size - 4 for j in joints]
    check_quaternions(q, starts, [j.name for j in joints], Argument("initial"))
    qd = np.zeros((1, scenario.n)) if qd is None else qd
    rows = max(len(q), len(qd))
    return np.concatenate([np.broadcast_to(x, (rows, x.shape[1])) for x in (q, qd)], axis=-1)


def _state(scenario: Scenario, q: np.ndarray | None, qd: np.ndarray | None) -> np.ndarray:
    """Return positions and velocities (1 or B, 2 size) from given ones, of the joints or of all; 0 if none are given."""
    q = np.zeros((1, scenario.n)) if q is None else q
    qd = np.zeros((1, q.shape[-1])) if qd is None else qd
    if q.shape[-1] != qd.shape[-1]:
        raise TaupiError(
            "{initial} has {got} positions and {shape} velocities, expected the same number of each.",
            got=q.shape[-1],
            shape=qd.shape[-1],
        )
    if q.shape[-1] < scenario.plant.size:
        q, qd = scenario.plant.started(*np.broadcast_arrays(q, qd))
    return np.concatenate(np.broadcast_arrays(q, qd), axis=-1)
