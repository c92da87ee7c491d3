"""The closed loop over symbols: from sensors to plant as one program per control period, and its compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi as cs
import numpy as np

from taupi.content import Keyed
from taupi.dynamics.types import SX, Vector
from taupi.errors import TaupiError
from taupi.program.program import Port, Program, trace
from taupi.program.targets.cpu import Kernel
from taupi.simulation.controller import Controller
from taupi.simulation.horizon import Horizon
from taupi.simulation.integrators import FIXED, Rosenbrock, Tableau, advance, nodes
from taupi.simulation.plants.plant import Plant
from taupi.simulation.sensors import Sensors

_HELD = ("load",)  # externals that are constant over a control period
Symbols = Mapping[str, Vector]  # inputs or outputs of a program over SX, by name


@dataclass(frozen=True, eq=False)
class ControlLoop:
    """A plant, a controller and sensors over a horizon. The vector `z` is all that one control period passes to the next.

    z = (positions, velocities, work, heat, pi_hat, memory). Work is the integral of the power put in, heat that of the
    power lost to friction. Both are integrated with the state, so that the energy audit measures the integrator's error alone.
    """

    plant: Plant
    controller: Controller
    sensors: Sensors | None
    horizon: Horizon

    def __post_init__(self) -> None:
        if self.continuous and (self.sensors is not None or self.torque_delay or self.rates is not None):
            raise TaupiError(
                "{control='continuous'} has no control period: sensors, delay and rate_limits need 'sampled'."
            )

    @property
    def dt(self) -> float:
        """The control period, s."""
        return self.horizon.dt

    @property
    def substeps(self) -> int:
        """Steps of the integrator per control period."""
        return self.horizon.substeps

    @property
    def continuous(self) -> bool:
        """Whether control is continuous."""
        return self.horizon.continuous

    @cached_property
    def tableau(self) -> Tableau | Rosenbrock | None:
        """The method of fixed steps.

        None if the plant is moved from Python: adaptive steps, or a Python function inside the integrator.
        """
        asks_python = self.controller.function is not None and self.continuous
        return None if asks_python else FIXED.get(self.horizon.integrator)

    @cached_property
    def n(self) -> int:
        """The number of joints."""
        return self.plant.robot.n

    @cached_property
    def positions(self) -> int:
        """The number of positions of the plant: that of its velocities, and one more for each quaternion."""
        return self.plant.positions

    @cached_property
    def motors(self) -> list[int]:
        """The index of each motor among the positions; empty for a plant without separate motors."""
        return list(self.plant.motors)

    @property
    def joints(self) -> list[int]:
        """The joint that each position belongs to: a link's own, or its motor's."""
        return [*range(self.n), *(self.motors.index(k) for k in range(self.n, self.plant.size))]

    @property
    def signals(self) -> tuple[str, ...]:
        """What can be observed of the plant."""
        return ("q", "qd", "theta", "thetad") if self.motors else ("q", "qd")

    @property
    def limits(self) -> np.ndarray | None:
        """The torque limits."""
        return self.plant.torque_limits

    @property
    def rates(self) -> np.ndarray | None:
        """The limits of the torque's rate."""
        return self.plant.rate_limits

    @cached_property
    def torque_delay(self) -> int:
        """The delay between command and torque, in control periods."""
        return whole_periods(self.plant.delay, self.dt, "delay of the plant")

    @cached_property
    def sensor_delay(self) -> int:
        """The delay of the sensors, in control periods."""
        return whole_periods(self.sensors.delay, self.dt, "delay of the sensors") if self.sensors else 0

    # The layout of z ------------------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where each part of z is."""
        sizes = {"x": self.positions + self.plant.size, "energy": 2, "pi_hat": self.controller.size}
        sizes |= {"last_tau": self.n} if self.rates is not None else {}
        sizes |= {"queue": self.n * self.torque_delay} if self.torque_delay else {}
        sizes |= self.sensors.memory_sizes(self.plant.size, self.sensor_delay) if self.sensors else {}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @cached_property
    def size(self) -> int:
        """The number of entries of z."""
        return max(s.stop for s in self.parts.values())

    @cached_property
    def split(self) -> bool:
        """Whether a period is split into a decision and several steps of the plant after it, each a separate program."""
        return self.tableau is not None and self.substeps > 1

    @property
    def inside(self) -> bool:
        """Whether the law is inside the integrator."""
        return self.continuous and self.controller.rate is not None

    @cached_property
    def nodes(self) -> tuple[float, ...]:
        """The instants within a period at which `program` needs what comes from outside."""
        return (0.0,) if self.tableau is None or self.split else nodes(self.tableau, 1)

    @property
    def move_nodes(self) -> tuple[float, ...]:
        """The instants within a step of the plant at which `move_program` needs what comes from outside."""
        return nodes(self.tableau, 1) if self.tableau else (0.0,)

    @cached_property
    def reference_nodes(self) -> tuple[float, ...]:
        """The instants at which the controller uses the reference: all of them, or the first."""
        return self.nodes if self.continuous else (0.0,)

    # Programs -------------------------------------------------------------------------------------------------------

    def ports(self) -> list[Port]:
        """Return the inputs of a step: z, and of time, reference, noise, command and externals the ones that the loop has."""
        ports = [Port("z", (self.size,)), *self._motion_ports(len(self.reference_nodes))]
        ports += [Port("noise", (2 * self.plant.size,))] if self.sensors else []
        ports += [Port("command", (self.n,))] if self.controller.function else []
        return [*ports, *self.controller.other_inputs(self.continuous), *self._external_ports(len(self.nodes))]

    def _motion_ports(self, rows: int) -> list[Port]:
        """Return time and reference at this many nodes, if the law needs them."""
        program, m = self.controller.program(self.continuous), self.controller.reference_size(self.n)
        wanted = {p.name for p in program.inputs} if program is not None else set()
        ports = [Port("t", (rows, 1))] if "t" in wanted else []
        return ports + [Port(name, (rows, m)) for name in self.controller.wanted if name in wanted]

    def _external_ports(self, rows: int) -> list[Port]:
        return [p if p.name in _HELD else Port(p.name, (rows, p.size)) for p in self.plant.externals]

    def move_ports(self) -> list[Port]:
        """Return the inputs of `move_program`."""
        rows = len(self.move_nodes)
        if not self.inside:
            return [Port("z", (self.size,)), Port("tau", (self.n,)), *self._external_ports(rows)]
        others = self.controller.other_inputs(self.continuous)
        return [Port("z", (self.size,)), *self._motion_ports(rows), *others, *self._external_ports(rows)]

    def program(self) -> Program:
        """Return the step: z_next, and at its beginning tau, tau_command, qdd, what was seen and the law's channels.

        For a split period it is the decision: the plant has not moved in z_next.
        """
        ports, n = self.ports(), self.n
        names = ["tau", "tau_command", "qdd", *["thetadd"] * bool(self.motors)]
        names += [f"{name}_seen" for name in self.signals] if self.sensors else []
        outputs = [Port("z_next", (self.size,)), *(Port(name, (n,)) for name in names)]
        outputs += [Port(f"law_{p.name}", p.shape) for p in self.controller.channels(self.continuous)]

        def body(*values: Vector) -> tuple[Vector, ...]:
            inputs = dict(zip((p.name for p in ports), values, strict=True))
            results = (self._continuous if self.continuous else self._sampled)(inputs)
            return tuple(results[p.name] for p in outputs)

        return trace("closed_loop", body, ports, outputs)

    def seeing(self) -> Program:
        """Return what the sensors show at the beginning of a period: q_seen, qd_seen (and theta_seen, ...) of (z, noise)."""

        def body(z: Vector, *noise: Vector) -> tuple[Vector, ...]:
            return tuple(self._seen(z, noise[0] if noise else None)[0].values())

        ports = [p for p in self.ports() if p.name in ("z", "noise")]
        sizes = {"q": self.plant.robot.nq}
        return trace("sensors", body, ports, [Port(f"{k}_seen", (sizes.get(k, self.n),)) for k in self.signals])

    def move_program(self) -> Program:
        """Return z after one step of a split period, with the torque already decided, or with the law inside."""
        ports, tableau = self.move_ports(), self.tableau
        assert tableau is not None

        def body(*values: Vector) -> Vector:
            inputs = dict(zip((p.name for p in ports), values, strict=True))
            z, width = inputs["z"], self._width
            h = self.dt / self.substeps
            y = advance(tableau, lambda y, node: self._rates(y, inputs, node), z[:width], h, 1, self.plant.size)
            return cs.vertcat(y, z[width:])

        return trace("motion", body, ports, [Port("z_next", (self.size,))])

    def rate_program(self) -> Program:
        """Return dy/dt of y = (x, energy[, pi_hat]) at one instant, for adaptive steps.

        It takes (y, tau, ...) if the torque is held or comes from Python, (y, t, reference, ...) if the law is inside.
        """
        ports = [p for p in self.ports() if p.name not in ("z", "noise", "command")]
        ports = ports if self.inside else [p for p in ports if p.name in {e.name for e in self.plant.externals}]
        ports = [Port("y", (self._width,)), *([] if self.inside else [Port("tau", (self.n,))]), *ports]

        def body(*values: Vector) -> Vector:
            inputs = dict(zip((p.name for p in ports), values, strict=True))
            return self._rates(inputs["y"], inputs, 0)

        return trace("rates", body, ports, [Port("dy", (self._width,))])

    def holding(self) -> Program:
        """Return the state at the end of a roll-out, or its first that is not finite, as known at the beginning of a period."""

        def body(z: Vector, final: Vector, statistics: Vector, period: Vector) -> Vector:
            return cs.if_else(statistics[-1] == period, z, final)

        counted = Port("statistics", (5 * self.n + 1,))
        ports = [Port("z", (self.size,)), Port("final", (self.size,)), counted, Port("period")]
        return trace("holding", body, ports, [Port("final_next", (self.size,))])

    def counting(self) -> Program:
        """Return peaks and sums of errors and torques, (5 n + 1,), after a period: the last entry counts finite periods.

        A period counts if all before it did, and if its state, which is the final one so far, and its torque are finite.
        """
        n = self.n

        def body(final: Vector, tau: Vector, statistics: Vector, period: Vector, q_des: Vector, late: Vector) -> Vector:
            finite = cs.fabs(cs.sum1(final) + cs.sum1(tau)) <= np.finfo(float).max
            good = cs.logic_and(statistics[-1] == period, finite)
            peak, squares, tail, torque_peak, torque_squares = (statistics[k * n : (k + 1) * n] for k in range(5))
            error = cs.if_else(good, cs.fabs(final[:n] - q_des), 0)
            torque = cs.if_else(good, cs.fabs(tau), 0)
            return cs.vertcat(
                cs.fmax(peak, error),
                squares + error**2,
                tail + cs.if_else(period >= late, error, 0) ** 2,
                cs.fmax(torque_peak, torque),
                torque_squares + torque**2,
                statistics[-1] + good,
            )

        own = [Port("final", (self.size,)), Port("tau", (n,)), Port("statistics", (5 * n + 1,))]
        ports = [*own, Port("period"), Port("q_des", (n,)), Port("late")]
        return trace("counting", body, ports, [Port("statistics_next", (5 * n + 1,))])

    # Over symbols ---------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """How much of z an integrator moves: the plant's state and energy, and the estimate of a law that is inside."""
        return self.parts["energy"].stop + (self.controller.size if self.inside else 0)

    def _rates(self, y: Vector, inputs: Symbols, node: int) -> Vector:
        """Return dy/dt at a node, with the torque among the inputs, or with the law inside."""
        if not self.inside:
            return self._flow(y, self._limited(inputs["tau"]), inputs, node)
        law = self._law(y[self.parts["x"]], y[self.parts["pi_hat"]], inputs, node)
        still = SX.zeros(self.controller.size)
        return cs.vertcat(self._flow(y, self._limited(law["tau"]), inputs, node), law.get("dpi", still))

    def _flow(self, y: Vector, tau: Vector, inputs: Symbols, node: int) -> Vector:
        """Return d(x, energy)/dt at a node."""
        x = y[self.parts["x"]]
        p, v = x[: self.positions], x[self.positions :]
        externals = [inputs[p.name] if p.name in _HELD else inputs[p.name][node, :].T for p in self.plant.externals]
        acceleration, supply, loss = self.plant.flow(x, tau, *externals)
        moved = self.plant.position_rate(p, v) if self.positions > self.plant.size else v
        return cs.vertcat(moved, acceleration, supply, loss)

    def _by_name(self, p: Vector, v: Vector) -> dict[str, Vector]:
        """Return positions and velocities of joints and motors, by name."""
        joints = {"q": p[: self.plant.robot.nq], "qd": v[: self.n]}
        return joints | ({"theta": p[self.motors], "thetad": v[self.motors]} if self.motors else {})

    def _law(
        self, x: Vector, pi_hat: Vector, inputs: Symbols, node: int, measured: Symbols | None = None
    ) -> dict[str, Vector]:
        """Return the outputs of the law at a node, from what is seen, or from the state itself."""
        size = self.positions
        own = {**(measured or self._by_name(x[:size], x[size:])), "pi_hat": pi_hat, "dt": SX(self.dt)}
        motion = {name: inputs[name][node, :].T for name in ("t", *self.controller.wanted) if name in inputs}
        others = {p.name: inputs[p.name] for p in self.controller.other_inputs(self.continuous)}
        return self.controller.trace(self.continuous, {**own, **motion, **others})

    def _limited(self, tau: Vector) -> Vector:
        if self.limits is None:
            return tau
        finite = np.isfinite(self.limits)
        bounded = [cs.fmax(cs.fmin(tau[i], m), -m) if finite[i] else tau[i] for i, m in enumerate(self.limits)]
        return cs.vertcat(*bounded)

    def _seen(self, z: Vector, noise: Vector | None) -> tuple[dict[str, Vector], dict[str, Vector]]:
        """Return what is seen, by name, and what the sensors remember."""
        p, v = z[: self.positions], z[self.positions : self.positions + self.plant.size]
        if self.sensors is None:
            return self._by_name(p, v), {}
        remembered_parts = self.sensors.memory_sizes(self.plant.size, self.sensor_delay)
        memory: dict[str, Vector] = {name: z[self.parts[name]] for name in remembered_parts}
        seen_p, seen_v, remembered = self.sensors.seen(p, v, noise, memory, self.dt, self.joints)
        return self._by_name(seen_p, seen_v), remembered

    def _accelerations(self, flow: Vector) -> dict[str, Vector]:
        a = flow[self.positions : self.positions + self.plant.size]
        return {"qdd": a[: self.n], **({"thetadd": a[self.motors]} if self.motors else {})}

    def _driven(self, command: Vector, z: Vector) -> tuple[Vector, dict[str, Vector]]:
        """Return the torque of a command, with its size and rate limited and delayed; and what is remembered of it."""
        tau, memory = self._limited(command), dict[str, Vector]()
        if self.rates is not None:
            last, most = z[self.parts["last_tau"]], SX(self.rates * self.dt)
            tau = memory["last_tau"] = cs.fmax(cs.fmin(tau, last + most), last - most)
        if self.torque_delay:
            queue = z[self.parts["queue"]]
            memory["queue"] = cs.vertcat(queue[self.n :], tau)
            tau = queue[: self.n]
        return tau, memory

    def _sampled(self, inputs: Symbols) -> dict[str, Vector]:
        """Return the outputs of a period in which the torque is held."""
        z, parts = inputs["z"], self.parts
        measured, memory = self._seen(z, inputs.get("noise"))
        law = {"tau": inputs.get("command", SX.zeros(self.n))}
        if self.controller.step is not None:
            law = self._law(z[parts["x"]], z[parts["pi_hat"]], inputs, 0, measured)
        tau, held = self._driven(law["tau"], z)
        pi_next = law.get("pi_next", z[parts["pi_hat"]] + self.dt * law.get("dpi", SX.zeros(self.controller.size)))
        y = self._moved(z[: parts["energy"].stop], lambda y, node: self._flow(y, tau, inputs, node))
        rest = {"pi_hat": pi_next, **memory, **held}
        return {
            "z_next": cs.vertcat(y, *(rest[name] for name in parts if name in rest)),
            "tau": tau,
            "tau_command": law["tau"],
            **self._accelerations(self._flow(z, tau, inputs, 0)),
            **{f"{name}_seen": value for name, value in measured.items()},
            **{f"law_{name}": value for name, value in law.items()},
        }

    def _continuous(self, inputs: Symbols) -> dict[str, Vector]:
        """Return the outputs of a period with the law inside the integrator."""
        z, parts = inputs["z"], self.parts
        law = {"tau": inputs.get("command", SX.zeros(self.n))}
        if self.inside:
            law = self._law(z[parts["x"]], z[parts["pi_hat"]], inputs, 0)
        tau = self._limited(law["tau"])
        y = self._moved(z[: self._width], lambda y, node: self._rates(y, {**inputs, "tau": tau}, node))
        return {
            "z_next": cs.vertcat(y, z[self._width :]),
            "tau": tau,
            "tau_command": law["tau"],
            **self._accelerations(self._flow(z, tau, inputs, 0)),
            **{f"law_{name}": value for name, value in law.items()},
        }

    def _moved(self, y: Vector, rate: Callable[[Vector, int], Vector]) -> Vector:
        tableau = self.tableau
        return y if tableau is None or self.split else advance(tableau, rate, y, self.dt, 1, self.plant.size)

    # Compiled -------------------------------------------------------------------------------------------------------

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What the traced step depends on: loops that agree here share their machine code."""
        arrays = (None if a is None else tuple(a.tolist()) for a in (self.limits, self.rates))
        own = tuple(map(id, (self.controller.rate, self.controller.step)))
        sensors = None if self.sensors is None else self.sensors.key
        externals = tuple((p.name, p.size) for p in self.plant.externals)
        size, asked = self.controller.size, self.controller.function is not None
        times = (self.dt, self.tableau, self.substeps, self.continuous)
        return (
            self.plant.dynamics_program(),
            externals,
            *arrays,
            self.torque_delay,
            *own,
            size,
            asked,
            sensors,
            *times,
        )

    def kernels(self) -> Kernels:
        """Return the compiled programs of the loop, compiled when first needed and cached."""
        return kernels(Keyed(self.key, self))


def whole_periods(delay: float, dt: float, name: str) -> int:
    """Return a delay in control periods; it must be a whole number of them."""
    periods = delay / dt
    if abs(periods - round(periods)) > 1e-6 * max(1.0, periods):
        raise TaupiError(
            "The {name} is {got:g} s, expected a whole number of control periods of {dt:g} s: change one of them.",
            name=name,
            got=delay,
            dt=dt,
        )
    return round(periods)


FEW = 2  # up to this many roll-outs are quicker one after the other than side by side in the lanes of vectors


class Kernels:
    """The compiled programs of a loop."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop

    @cached_property
    def step(self) -> _Batched:
        """The whole control period; for a split one, the decision."""
        return _Batched(self.step_program)

    @cached_property
    def move(self) -> _Batched:
        """A step of the plant within a split period."""
        return _Batched(self.move_program)

    @cached_property
    def holding(self) -> _Batched:
        """The state of a summary, before a period."""
        return _Batched(self._loop.holding())

    @cached_property
    def counting(self) -> _Batched:
        """The statistics of a summary, after a period."""
        return _Batched(self._loop.counting())

    @cached_property
    def step_program(self) -> Program:
        """What `step` is compiled from."""
        return self._loop.program()

    @cached_property
    def move_program(self) -> Program:
        """What `move` is compiled from."""
        return self._loop.move_program()

    @cached_property
    def seeing(self) -> Kernel:
        """Only the sensors."""
        return Kernel(self._loop.seeing(), lanes=1)

    @cached_property
    def rate(self) -> Kernel:
        """The derivative, for adaptive steps."""
        return Kernel(self._loop.rate_program(), lanes=1)


class _Batched:
    """A program compiled twice: for many roll-outs side by side in the lanes of vectors, and for few one after the other."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, batch: int) -> Kernel:
        """Return the kernel for this many roll-outs."""
        return self._many if batch > FEW else self._few

    @cached_property
    def _many(self) -> Kernel:
        return Kernel(self._program)

    @cached_property
    def _few(self) -> Kernel:
        return Kernel(self._program, lanes=1)


@lru_cache(maxsize=32)
def kernels(keyed: Keyed[ControlLoop]) -> Kernels:
    """Return the compiled programs of a loop, compiled when first needed and cached."""
    return Kernels(keyed.value)
