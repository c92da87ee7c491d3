"""The closed loop over symbols: sensors, law, limits, delay and plant as one program, a control period a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.errors import TaupiError
from taupi.program.program import Port, Program, trace
from taupi.program.targets.cpu import Kernel
from taupi.simulation.controller import Controller
from taupi.simulation.integrators import Tableau, advance, nodes
from taupi.simulation.plant import Plant
from taupi.simulation.sensors import Sensors

FEW = 2  # roll-outs up to which one after the other is quicker than together in the lanes of vectors
_HELD = ("load",)  # externals that are constant over a control period


@dataclass(frozen=True, eq=False)
class Loop:
    """A plant, a controller and sensors at a control period `dt`. `z` is all that one period hands to the next.

    z = (positions, velocities, work, heat, pi_hat, memory). Work is the integral of the power put in, heat that of
    friction: both go through the integrator with the state, so that the energy audit measures its error alone.
    """

    plant: Any  # a Plant
    controller: Controller
    sensors: Sensors | None
    dt: float
    tableau: Tableau | None  # None: an adaptive method moves the plant
    substeps: int
    continuous: bool

    def __post_init__(self) -> None:
        if not isinstance(self.plant, Plant):
            raise TaupiError(f"plant is {type(self.plant).__name__}, expected a plant: taupi.RigidPlant(robot).")
        if self.continuous and (self.sensors is not None or self.torque_delay or self.rates is not None):
            raise TaupiError(
                "control='continuous' has no control period: sensors, delay and rate_limits need 'sampled'."
            )

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.plant.robot.n

    @property
    def limits(self) -> np.ndarray | None:
        """The torque limits."""
        limits: np.ndarray | None = getattr(self.plant, "torque_limits", None)
        return limits

    @property
    def rates(self) -> np.ndarray | None:
        """The limits of the torque's rate."""
        rates: np.ndarray | None = getattr(self.plant, "rate_limits", None)
        return rates

    @property
    def torque_delay(self) -> int:
        """The delay between command and torque, in control periods."""
        return whole_periods(getattr(self.plant, "delay", 0.0), self.dt, "delay of the plant")

    @property
    def sensor_delay(self) -> int:
        """The delay of the sensors, in control periods."""
        return whole_periods(self.sensors.delay, self.dt, "delay of the sensors") if self.sensors else 0

    # The layout of z ------------------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where each part of z is."""
        sizes = {"x": 2 * self.plant.size, "energy": 2, "pi_hat": self.controller.size}
        sizes |= {"last_tau": self.n} if self.rates is not None else {}
        sizes |= {"queue": self.n * self.torque_delay} if self.torque_delay else {}
        sizes |= self.sensors.memory(self.n, self.sensor_delay) if self.sensors else {}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """The number of entries of z."""
        return max(s.stop for s in self.parts.values())

    @property
    def nodes(self) -> tuple[float, ...]:
        """The instants within a period at which things from outside are needed."""
        return nodes(self.tableau, self.substeps) if self.tableau else (0.0,)

    @property
    def reference_nodes(self) -> tuple[float, ...]:
        """Those at which the controller looks: all of them, or the first."""
        return self.nodes if self.continuous else (0.0,)

    # Programs -------------------------------------------------------------------------------------------------------

    def ports(self) -> list[Port]:
        """Return the inputs of a step: z, then whatever of time, reference, noise, command and outside the loop has."""
        rows, m = len(self.reference_nodes), self.controller.reference_size(self.n)
        program = self.controller.program(self.continuous)
        wanted = {p.name for p in program.inputs} if program is not None else set()
        ports = [Port("z", (self.size,))]
        ports += [Port("t", (rows, 1))] if "t" in wanted else []
        ports += [Port(name, (rows, m)) for name in self.controller.wanted if name in wanted]
        ports += [Port("noise", (2 * self.n,))] if self.sensors else []
        ports += [Port("command", (self.n,))] if self.controller.function else []
        ports += list(self.controller.settings(self.continuous))
        return ports + [p if p.name in _HELD else Port(p.name, (len(self.nodes), p.size)) for p in self.plant.externals]

    def program(self) -> Program:
        """Return the step: z_next, and tau, tau_command, qdd, what was seen and the law's channels at its beginning."""
        ports, n = self.ports(), self.n
        outputs = [Port("z_next", (self.size,)), *(Port(name, (n,)) for name in ("tau", "tau_command", "qdd"))]
        outputs += [Port("q_seen", (n,)), Port("qd_seen", (n,))] if self.sensors else []
        outputs += [Port(f"law_{p.name}", p.shape) for p in self.controller.channels(self.continuous)]

        def body(*values: Any) -> Any:
            given = dict(zip((p.name for p in ports), values, strict=True))
            made = (self._continuous if self.continuous else self._sampled)(given)
            return tuple(made[p.name] for p in outputs)

        return trace("closed_loop", body, ports, outputs)

    def seeing(self) -> Program:
        """Return what the sensors show at the beginning of a period: q_seen and qd_seen of (z, noise)."""

        def body(z: Any, *noise: Any) -> Any:
            return self._seen(z, noise[0] if noise else None)[:2]

        ports = [p for p in self.ports() if p.name in ("z", "noise")]
        return trace("sensors", body, ports, [Port("q_seen", (self.n,)), Port("qd_seen", (self.n,))])

    def rate_program(self) -> Program:
        """Return dy/dt of y = (x, energy[, pi_hat]) for adaptive methods, at one instant.

        Of (y, tau, ...) where the torque is held or comes from Python, of (y, t, reference, ...) where the law is inside.
        """
        inside = self.continuous and self.controller.rate is not None
        ports = [p for p in self.ports() if p.name not in ("z", "noise", "command")]
        ports = ports if inside else [p for p in ports if p.name in {e.name for e in self.plant.externals}]
        width = self.parts["energy"].stop + (self.controller.size if inside else 0)
        ports = [Port("y", (width,)), *([] if inside else [Port("tau", (self.n,))]), *ports]

        def body(*values: Any) -> Any:
            given = dict(zip((p.name for p in ports), values, strict=True))
            y = given["y"]
            if not inside:
                return self._flow(y, self._limited(given["tau"]), given, 0)
            made = self._law(y[self.parts["x"]], y[self.parts["pi_hat"]], given, 0)
            return cs.vertcat(self._flow(y, self._limited(made["tau"]), given, 0), made.get("dpi", cs.SX(0, 1)))

        return trace("rates", body, ports, [Port("dy", (width,))])

    # Over symbols ---------------------------------------------------------------------------------------------------

    def _flow(self, y: Any, tau: Any, given: dict[str, Any], node: int) -> Any:
        """Return d(x, energy)/dt at a node."""
        size, x = self.plant.size, y[self.parts["x"]]
        outside = [given[p.name] if p.name in _HELD else given[p.name][node, :].T for p in self.plant.externals]
        acceleration, supply, loss = self.plant.flow(x, tau, *outside)
        return cs.vertcat(x[size:], acceleration, supply, loss)

    def _law(self, x: Any, pi_hat: Any, given: dict[str, Any], node: int, seen: Any = None) -> dict[str, Any]:
        size, n = self.plant.size, self.n
        q, qd = seen or (x[:n], x[size : size + n])
        values = {name: given[name][node, :].T for name in ("t", *self.controller.wanted) if name in given}
        settings = {p.name: given[p.name] for p in self.controller.settings(self.continuous)}
        own = {"q": q, "qd": qd, "pi_hat": pi_hat, "dt": cs.SX(self.dt)}
        return self.controller.trace(self.continuous, {**own, **values, **settings})

    def _limited(self, tau: Any) -> Any:
        if self.limits is None:
            return tau
        finite = np.isfinite(self.limits)
        bounded = [cs.fmax(cs.fmin(tau[i], m), -m) if finite[i] else tau[i] for i, m in enumerate(self.limits)]
        return cs.vertcat(*bounded)

    def _seen(self, z: Any, noise: Any) -> tuple[Any, Any, dict[str, Any]]:
        q, qd = z[: self.n], z[self.plant.size : self.plant.size + self.n]
        if self.sensors is None:
            return q, qd, {}
        memory: dict[str, Any] = {
            name: z[self.parts[name]] for name in ("last_q", "last_qd", "seen") if name in self.parts
        }
        return self.sensors.trace(q, qd, noise, memory, self.dt)

    def _driven(self, command: Any, z: Any) -> tuple[Any, dict[str, Any]]:
        """Return the torque of a command: limited, its rate limited, delayed; and what is remembered."""
        tau, memory = self._limited(command), dict[str, Any]()
        if self.rates is not None:
            last, most = z[self.parts["last_tau"]], cs.SX(self.rates * self.dt)
            tau = memory["last_tau"] = cs.fmax(cs.fmin(tau, last + most), last - most)
        if self.torque_delay:
            queue = z[self.parts["queue"]]
            memory["queue"] = cs.vertcat(queue[self.n :], tau)
            tau = queue[: self.n]
        return tau, memory

    def _sampled(self, given: dict[str, Any]) -> dict[str, Any]:
        z, parts = given["z"], self.parts
        q, qd, memory = self._seen(z, given.get("noise"))
        made = {"tau": given.get("command", cs.SX.zeros(self.n))}
        if self.controller.step is not None:
            made = self._law(z[parts["x"]], z[parts["pi_hat"]], given, 0, (q, qd))
        tau, held = self._driven(made["tau"], z)
        pi_next = made.get("pi_next", z[parts["pi_hat"]] + self.dt * made.get("dpi", cs.SX.zeros(self.controller.size)))
        y = self._moved(z[: parts["energy"].stop], lambda y, node: self._flow(y, tau, given, node))
        rest = {"pi_hat": pi_next, **memory, **held}
        return {
            "z_next": cs.vertcat(y, *(rest[name] for name in parts if name in rest)),
            "tau": tau,
            "tau_command": made["tau"],
            "qdd": self._flow(z, tau, given, 0)[self.plant.size : self.plant.size + self.n],
            "q_seen": q,
            "qd_seen": qd,
            **{f"law_{name}": value for name, value in made.items()},
        }

    def _continuous(self, given: dict[str, Any]) -> dict[str, Any]:
        z, parts = given["z"], self.parts

        def control(y: Any, node: int) -> dict[str, Any]:
            if self.controller.rate is None:
                return {"tau": given.get("command", cs.SX.zeros(self.n))}
            return self._law(y[parts["x"]], y[parts["pi_hat"]], given, node)

        def rate(y: Any, node: int) -> Any:
            made = control(y, node)
            moved = self._flow(y, self._limited(made["tau"]), given, node)
            return cs.vertcat(moved, made.get("dpi", cs.SX.zeros(self.controller.size)))

        first = control(z, 0)
        flow = self._flow(z, self._limited(first["tau"]), given, 0)
        return {
            "z_next": self._moved(z, rate),
            "tau": self._limited(first["tau"]),
            "tau_command": first["tau"],
            "qdd": flow[self.plant.size : self.plant.size + self.n],
            **{f"law_{name}": value for name, value in first.items()},
        }

    def _moved(self, y: Any, rate: Callable[[Any, int], Any]) -> Any:
        if self.tableau is None:
            return y
        return advance(self.tableau, rate, y, self.dt / self.substeps, self.substeps, self.plant.size)

    # Compiled -------------------------------------------------------------------------------------------------------

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What the traced step depends on: loops that agree here share their machine code."""
        arrays = (None if a is None else tuple(a.tolist()) for a in (self.limits, self.rates))
        own = tuple(map(id, (self.controller.rate, self.controller.step)))
        sensors = None if self.sensors is None else self.sensors.key
        outside = tuple((p.name, p.size) for p in self.plant.externals)
        fixed = (self.plant.dynamics_program(), outside) if hasattr(self.plant, "dynamics_program") else (self.plant,)
        size, asked = self.controller.size, self.controller.function is not None
        return (*fixed, *arrays, self.torque_delay, *own, size, asked, sensors, self.dt, self._method, self.continuous)

    @property
    def _method(self) -> tuple[Any, int]:
        return self.tableau, self.substeps

    def kernels(self) -> Kernels:
        """Return the compiled programs of the loop, made when first needed and remembered."""
        return _kernels(_Keyed(self.key, self))


class Kernels:
    """The compiled programs of a loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    @cached_property
    def _program(self) -> Program:
        return self._loop.program()

    def step(self, batch: int) -> Kernel:
        """The whole period, of roll-outs in the lanes of vectors, or of few one after the other."""
        return self._many if batch > FEW else self._one

    @cached_property
    def _many(self) -> Kernel:
        return Kernel(self._program)

    @cached_property
    def _one(self) -> Kernel:
        return Kernel(self._program, lanes=1)

    @cached_property
    def seeing(self) -> Kernel:
        """The sensors alone."""
        return Kernel(self._loop.seeing(), lanes=1)

    @cached_property
    def rate(self) -> Kernel:
        """The derivative, for adaptive methods."""
        return Kernel(self._loop.rate_program(), lanes=1)


@dataclass(frozen=True)
class _Keyed:
    """A loop that equals another with the same key."""

    key: tuple[Any, ...]
    loop: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=32)
def _kernels(keyed: _Keyed) -> Kernels:
    return Kernels(keyed.loop)


def whole_periods(delay: float, dt: float, name: str) -> int:
    """Return a delay in control periods, which it must be a whole number of."""
    periods = delay / dt
    if abs(periods - round(periods)) > 1e-6 * max(1.0, periods):
        raise TaupiError(
            f"The {name} is {delay:g} s, expected a whole number of control periods of {dt:g} s: change one of them."
        )
    return round(periods)
