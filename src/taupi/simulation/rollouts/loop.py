"""The closed loop over symbols: sensors, law, limits, delay and plant as one program, a control period a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as cs
import numpy as np

from taupi.errors import TaupiError
from taupi.program.program import Port, Program, trace
from taupi.simulation.controller import Controller
from taupi.simulation.integrators import Tableau, advance, nodes
from taupi.simulation.plants.plant import Plant
from taupi.simulation.rollouts.loop_kernels import Kernels, Keyed, kernels
from taupi.simulation.rosenbrock import Rosenbrock
from taupi.simulation.sensors import Sensors

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
    tableau: Tableau | Rosenbrock | None  # None: an adaptive method moves the plant
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
    def motors(self) -> list[int]:
        """Where among the positions that of each motor is; empty for a plant without motors of its own."""
        return list(getattr(self.plant, "motors", ()))

    @property
    def joints(self) -> list[int]:
        """The joint of each position: itself, or that of the motor."""
        return [*range(self.n), *(self.motors.index(k) for k in range(self.n, self.plant.size))]

    @property
    def signals(self) -> tuple[str, ...]:
        """What can be seen of the plant."""
        return ("q", "qd", "theta", "thetad") if self.motors else ("q", "qd")

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
        sizes |= self.sensors.memory(self.plant.size, self.sensor_delay) if self.sensors else {}
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """The number of entries of z."""
        return max(s.stop for s in self.parts.values())

    @property
    def split(self) -> bool:
        """Whether a period is a decision and, after it, several steps of the plant, each a program of its own."""
        return self.tableau is not None and self.substeps > 1

    @property
    def inside(self) -> bool:
        """Whether the law is inside the integrator."""
        return self.continuous and self.controller.rate is not None

    @property
    def nodes(self) -> tuple[float, ...]:
        """The instants within a period at which things from outside are needed by `program`."""
        return (0.0,) if self.tableau is None or self.split else nodes(self.tableau, 1)

    @property
    def move_nodes(self) -> tuple[float, ...]:
        """The instants within a step of the plant at which `move_program` needs them."""
        return nodes(self.tableau, 1) if self.tableau else (0.0,)

    @property
    def reference_nodes(self) -> tuple[float, ...]:
        """Those at which the controller looks: all of them, or the first."""
        return self.nodes if self.continuous else (0.0,)

    # Programs -------------------------------------------------------------------------------------------------------

    def ports(self) -> list[Port]:
        """Return the inputs of a step: z, then whatever of time, reference, noise, command and outside the loop has."""
        ports = [Port("z", (self.size,)), *self._motion_ports(len(self.reference_nodes))]
        ports += [Port("noise", (2 * self.plant.size,))] if self.sensors else []
        ports += [Port("command", (self.n,))] if self.controller.function else []
        return [*ports, *self.controller.settings(self.continuous), *self._outside_ports(len(self.nodes))]

    def _motion_ports(self, rows: int) -> list[Port]:
        """Return time and reference at so many nodes, where the law wants them."""
        program, m = self.controller.program(self.continuous), self.controller.reference_size(self.n)
        wanted = {p.name for p in program.inputs} if program is not None else set()
        ports = [Port("t", (rows, 1))] if "t" in wanted else []
        return ports + [Port(name, (rows, m)) for name in self.controller.wanted if name in wanted]

    def _outside_ports(self, rows: int) -> list[Port]:
        return [p if p.name in _HELD else Port(p.name, (rows, p.size)) for p in self.plant.externals]

    def move_ports(self) -> list[Port]:
        """Return the inputs of `move_program`."""
        rows = len(self.move_nodes)
        if not self.inside:
            return [Port("z", (self.size,)), Port("tau", (self.n,)), *self._outside_ports(rows)]
        settings = self.controller.settings(self.continuous)
        return [Port("z", (self.size,)), *self._motion_ports(rows), *settings, *self._outside_ports(rows)]

    def program(self) -> Program:
        """Return the step: z_next, and tau, tau_command, qdd, what was seen and the law's channels at its beginning.

        Of a split period it is the decision: z_next has the plant where it was.
        """
        ports, n = self.ports(), self.n
        names = ["tau", "tau_command", "qdd", *["thetadd"] * bool(self.motors)]
        names += [f"{name}_seen" for name in self.signals] if self.sensors else []
        outputs = [Port("z_next", (self.size,)), *(Port(name, (n,)) for name in names)]
        outputs += [Port(f"law_{p.name}", p.shape) for p in self.controller.channels(self.continuous)]

        def body(*values: Any) -> Any:
            given = dict(zip((p.name for p in ports), values, strict=True))
            made = (self._continuous if self.continuous else self._sampled)(given)
            return tuple(made[p.name] for p in outputs)

        return trace("closed_loop", body, ports, outputs)

    def seeing(self) -> Program:
        """Return what the sensors show at the beginning of a period: q_seen, qd_seen (and theta_seen, ...) of (z, noise)."""

        def body(z: Any, *noise: Any) -> Any:
            return tuple(self._seen(z, noise[0] if noise else None)[0].values())

        ports = [p for p in self.ports() if p.name in ("z", "noise")]
        return trace("sensors", body, ports, [Port(f"{name}_seen", (self.n,)) for name in self.signals])

    def move_program(self) -> Program:
        """Return z after one of the steps of a split period, with the torque that was decided, or with the law inside."""
        ports, tableau = self.move_ports(), self.tableau
        assert tableau is not None

        def body(*values: Any) -> Any:
            given = dict(zip((p.name for p in ports), values, strict=True))
            z, width = given["z"], self._width
            h = self.dt / self.substeps
            y = advance(tableau, lambda y, node: self._rates(y, given, node), z[:width], h, 1, self.plant.size)
            return cs.vertcat(y, z[width:])

        return trace("motion", body, ports, [Port("z_next", (self.size,))])

    def rate_program(self) -> Program:
        """Return dy/dt of y = (x, energy[, pi_hat]) for adaptive methods, at one instant.

        Of (y, tau, ...) where the torque is held or comes from Python, of (y, t, reference, ...) where the law is inside.
        """
        ports = [p for p in self.ports() if p.name not in ("z", "noise", "command")]
        ports = ports if self.inside else [p for p in ports if p.name in {e.name for e in self.plant.externals}]
        ports = [Port("y", (self._width,)), *([] if self.inside else [Port("tau", (self.n,))]), *ports]

        def body(*values: Any) -> Any:
            given = dict(zip((p.name for p in ports), values, strict=True))
            return self._rates(given["y"], given, 0)

        return trace("rates", body, ports, [Port("dy", (self._width,))])

    # Over symbols ---------------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        """How much of z an integrator moves: the plant's state and energy, and the estimate of a law that is inside."""
        return self.parts["energy"].stop + (self.controller.size if self.inside else 0)

    def _rates(self, y: Any, given: dict[str, Any], node: int) -> Any:
        """Return dy/dt at a node, with the torque that is given, or with the law inside."""
        if not self.inside:
            return self._flow(y, self._limited(given["tau"]), given, node)
        made = self._law(y[self.parts["x"]], y[self.parts["pi_hat"]], given, node)
        still = cs.SX.zeros(self.controller.size)
        return cs.vertcat(self._flow(y, self._limited(made["tau"]), given, node), made.get("dpi", still))

    def _flow(self, y: Any, tau: Any, given: dict[str, Any], node: int) -> Any:
        """Return d(x, energy)/dt at a node."""
        size, x = self.plant.size, y[self.parts["x"]]
        outside = [given[p.name] if p.name in _HELD else given[p.name][node, :].T for p in self.plant.externals]
        acceleration, supply, loss = self.plant.flow(x, tau, *outside)
        return cs.vertcat(x[size:], acceleration, supply, loss)

    def _shown(self, p: Any, v: Any) -> dict[str, Any]:
        """Return positions and velocities of joints and motors, by name."""
        shown = {"q": p[: self.n], "qd": v[: self.n]}
        return shown | ({"theta": p[self.motors], "thetad": v[self.motors]} if self.motors else {})

    def _law(self, x: Any, pi_hat: Any, given: dict[str, Any], node: int, seen: Any = None) -> dict[str, Any]:
        size = self.plant.size
        own = {**(seen or self._shown(x[:size], x[size:])), "pi_hat": pi_hat, "dt": cs.SX(self.dt)}
        values = {name: given[name][node, :].T for name in ("t", *self.controller.wanted) if name in given}
        settings = {p.name: given[p.name] for p in self.controller.settings(self.continuous)}
        return self.controller.trace(self.continuous, {**own, **values, **settings})

    def _limited(self, tau: Any) -> Any:
        if self.limits is None:
            return tau
        finite = np.isfinite(self.limits)
        bounded = [cs.fmax(cs.fmin(tau[i], m), -m) if finite[i] else tau[i] for i, m in enumerate(self.limits)]
        return cs.vertcat(*bounded)

    def _seen(self, z: Any, noise: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is seen, by name, and what the sensors remember."""
        size = self.plant.size
        p, v = z[:size], z[size : 2 * size]
        if self.sensors is None:
            return self._shown(p, v), {}
        memory: dict[str, Any] = {
            name: z[self.parts[name]] for name in ("last_q", "last_qd", "seen") if name in self.parts
        }
        seen_p, seen_v, remembered = self.sensors.trace(p, v, noise, memory, self.dt, self.joints)
        return self._shown(seen_p, seen_v), remembered

    def _accelerations(self, flow: Any) -> dict[str, Any]:
        size = self.plant.size
        a = flow[size : 2 * size]
        return {"qdd": a[: self.n], **({"thetadd": a[self.motors]} if self.motors else {})}

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
        seen, memory = self._seen(z, given.get("noise"))
        made = {"tau": given.get("command", cs.SX.zeros(self.n))}
        if self.controller.step is not None:
            made = self._law(z[parts["x"]], z[parts["pi_hat"]], given, 0, seen)
        tau, held = self._driven(made["tau"], z)
        pi_next = made.get("pi_next", z[parts["pi_hat"]] + self.dt * made.get("dpi", cs.SX.zeros(self.controller.size)))
        y = self._moved(z[: parts["energy"].stop], lambda y, node: self._flow(y, tau, given, node))
        rest = {"pi_hat": pi_next, **memory, **held}
        return {
            "z_next": cs.vertcat(y, *(rest[name] for name in parts if name in rest)),
            "tau": tau,
            "tau_command": made["tau"],
            **self._accelerations(self._flow(z, tau, given, 0)),
            **{f"{name}_seen": value for name, value in seen.items()},
            **{f"law_{name}": value for name, value in made.items()},
        }

    def _continuous(self, given: dict[str, Any]) -> dict[str, Any]:
        z, parts = given["z"], self.parts
        first = {"tau": given.get("command", cs.SX.zeros(self.n))}
        if self.inside:
            first = self._law(z[parts["x"]], z[parts["pi_hat"]], given, 0)
        tau = self._limited(first["tau"])
        y = self._moved(z[: self._width], lambda y, node: self._rates(y, {**given, "tau": tau}, node))
        return {
            "z_next": cs.vertcat(y, z[self._width :]),
            "tau": tau,
            "tau_command": first["tau"],
            **self._accelerations(self._flow(z, tau, given, 0)),
            **{f"law_{name}": value for name, value in first.items()},
        }

    def _moved(self, y: Any, rate: Callable[[Any, int], Any]) -> Any:
        if self.tableau is None or self.split:
            return y
        return advance(self.tableau, rate, y, self.dt, 1, self.plant.size)

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
        return kernels(Keyed(self.key, self))


def whole_periods(delay: float, dt: float, name: str) -> int:
    """Return a delay in control periods, which it must be a whole number of."""
    periods = delay / dt
    if abs(periods - round(periods)) > 1e-6 * max(1.0, periods):
        raise TaupiError(
            f"The {name} is {delay:g} s, expected a whole number of control periods of {dt:g} s: change one of them."
        )
    return round(periods)
