"""What a plant is, and what all arms share: loads, wrenches, disturbances, and limits between command and torque."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from taupi.checks import not_negative
from taupi.content import Keyed, content
from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.contacts import tip_torque
from taupi.dynamics.kinematics import JACOBIANS
from taupi.dynamics.terms import resolve_terms, term_parameters
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.body import InertiaLike, body_from_com, why_not_physical
from taupi.model.payload import carried_body
from taupi.model.requirements import require_tree
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program

# What acts from outside: nothing, constant, one row per control period (held), or a function of time.
Signal = None | Sequence[float] | np.ndarray | Callable[[float], Any]
PlantTerms: TypeAlias = Any  # terms, or their names; kept as a tuple of terms
Limits: TypeAlias = Any  # None, or a number, or one per joint; kept as an array (n,)


@dataclass(frozen=True, slots=True)
class Payload:
    """Fix a body to a frame of the robot.

    Attributes:
        mass: Its mass, kg.
        com: Its centre of mass (3,), m, in the axes of `frame`; by default the frame's origin.
        inertia: Its inertia (3, 3) about the centre of mass, kg m^2, in these axes; by default that of a point.
        frame: The frame that carries it, by default "tip".
    """

    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia: InertiaLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    frame: str = "tip"

    def __post_init__(self) -> None:
        object.__setattr__(self, "com", tuple(map(float, self.com)))
        object.__setattr__(self, "inertia", tuple(tuple(map(float, row)) for row in np.asarray(self.inertia)))
        body = body_from_com(self.mass, self.com, self.inertia, "payload")
        if why := why_not_physical(body):
            raise TaupiError("payload: {why}.", why=why)

    def on(self, robot: Robot) -> tuple[int, np.ndarray]:
        """Return the link of the `robot` that carries it, and its ten parameters about that link's origin."""
        link, body = _carried(Keyed(content((self, robot)), (self, robot)))
        return link, np.array(body)


@lru_cache(maxsize=4096)
def _carried(carried: Keyed[tuple[Payload, Robot]]) -> tuple[int, tuple[float, ...]]:
    """Return what `Payload.on` does; its arithmetic is exact, and too slow to do it again for each change of load."""
    payload, robot = carried.value
    link, body = carried_body(robot, payload.mass, payload.com, payload.inertia, payload.frame)
    return link, tuple(float(v) for v in body)


@runtime_checkable
class Plant(Protocol):
    """What a simulation needs of a plant. Its state is (positions, velocities), `size` of each, joints before anything else.

    A rigid arm has only the joints; elastic joints add the motors: positions (q, theta), velocities (qd, thetad).
    """

    @property
    def robot(self) -> Robot:
        """What moves."""
        ...

    @property
    def size(self) -> int:
        """How many positions, and how many velocities, the state has."""
        ...

    @property
    def positions(self) -> int:
        """How many positions the state has: as many as velocities, and one more for each quaternion."""
        ...

    @property
    def motors(self) -> tuple[int, ...]:
        """The index of each motor among the positions; empty for a plant without separate motors."""
        ...

    @property
    def terms(self) -> PlantTerms:
        """The friction and drives of its joints."""
        ...

    @property
    def loads(self) -> tuple[int, ...]:
        """The links that may carry a payload."""
        ...

    @property
    def torque_limits(self) -> np.ndarray | None:
        """The largest torques (n,), N m or N; None if there are no limits."""
        ...

    @property
    def rate_limits(self) -> np.ndarray | None:
        """The largest rates of the torques (n,), N m/s or N/s; None if there are no limits."""
        ...

    @property
    def delay(self) -> float:
        """The time from command to torque, s."""
        ...

    @property
    def stiction(self) -> bool:
        """Whether joints stick and break away at events."""
        ...

    @property
    def externals(self) -> tuple[Port, ...]:
        """What acts on it besides the torque: inputs of `flow`."""
        ...

    def signal(self, name: str) -> tuple[str, Signal]:
        """Return the argument through which the input called `name` comes from outside, and its signal."""
        ...

    def started(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all positions and velocities (..., size) of joints that start at `q` with `qd` (..., n)."""
        ...

    def fastest(self, q: ArrayLike) -> float:
        """Return the highest frequency of its springs at `q` (..., n), rad/s; 0 without springs."""
        ...

    def position_rate(self, q: Vector, qd: Vector) -> Vector:
        """Return dq/dt over SX of all positions `q` and velocities `qd`."""
        ...

    def dynamics_program(self) -> Program:
        """Return what `flow` returns as a program of the state's parts, the torque and the externals."""
        ...

    def flow(self, x: Vector, tau: Vector, *externals: Vector) -> tuple[Vector, Expression, Expression]:
        """Return the acceleration (size), the power put in and the power lost to friction, over SX.

        `x` is the state, `tau` the torque, `externals` are the inputs of that name.
        """
        ...

    def energy_program(self) -> Program:
        """Return kinetic plus potential energy: E(x) or E(x, load)."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class ArmPlant:
    """What rigid and elastic arms share: their terms, what acts on them from outside, and limits on the way to the torque."""

    robot: Robot
    terms: PlantTerms = ()
    smoothing: float = 0.01
    wrench: Signal | Mapping[str, Signal] = None
    frame: str = "tip"
    axes: str = "geometric"
    disturbance: Signal = None
    payloads: Sequence[tuple[float, Payload | None]] = ()
    torque_limits: Limits = None
    rate_limits: Limits = None
    delay: float = 0.0
    loads: tuple[int, ...] = field(default=(), repr=False)  # links that may carry a payload

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise TaupiError("{robot} is {got}, expected a Robot: use taupi.load(...).", got=type(self.robot).__name__)
        require_tree(
            self.robot,
            "which a plant does not keep closed",
            "Use tp.loops.ClosedLoops(robot, ...).forward_dynamics, or parallelograms as mimic joints.",
        )
        if self.axes not in JACOBIANS:
            raise unknown("axes of the tip wrench", self.axes, JACOBIANS)
        for frame in self.wrenches.values():
            self.robot.frame(frame)
        self.robot.frame(self.frame)
        for name in ("smoothing", "delay"):
            not_negative(name, getattr(self, name))
        n = self.robot.n
        object.__setattr__(self, "torque_limits", self._limits())
        object.__setattr__(self, "rate_limits", joint_values(self.rate_limits, n, "rate_limits"))
        object.__setattr__(self, "payloads", _changes(self.payloads))
        carriers = {p.on(self.robot)[0] for _, p in self.payloads if p is not None}
        object.__setattr__(self, "loads", tuple(sorted({*self.loads, *carriers})))

    def _limits(self) -> np.ndarray | None:
        if self.torque_limits is not True:
            return joint_values(self.torque_limits, self.robot.n, "torque_limits")
        efforts = [j.limits.effort for j in self.robot.driving_joints]
        if all(e is None for e in efforts):
            raise TaupiError(
                "{torque_limits} is True, but {robot} states no effort: give the limits.", robot=self.robot.name
            )
        return np.array([math.inf if e is None else e for e in efforts])

    @property
    def size(self) -> int:
        """How many velocities the state has."""
        raise NotImplementedError

    @property
    def positions(self) -> int:
        """How many positions the state has."""
        return self.size

    @property
    def stiction(self) -> bool:
        """Whether joints stick and break away at events: never, dry friction is smoothed."""
        return False

    @property
    def motors(self) -> tuple[int, ...]:
        """The index of each motor among the positions: none are separate."""
        return ()

    def flow(self, x: Vector, tau: Vector, *externals: Vector) -> tuple[Vector, Expression, Expression]:
        """Return the acceleration of the state `x` under `tau` and `externals`, and the powers, as in `Plant.flow`."""
        raise NotImplementedError

    def dynamics_program(self) -> Program:
        """Return `flow` as a program."""
        raise NotImplementedError

    def energy_program(self) -> Program:
        """Return kinetic plus potential energy: E(x) or E(x, load)."""
        raise NotImplementedError

    def started(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return `q` and `qd` as they are."""
        return q, qd

    def fastest(self, q: ArrayLike) -> float:
        """Return 0: there are no springs, whatever `q`."""
        return 0.0

    def position_rate(self, q: Vector, qd: Vector) -> Vector:
        """Return `qd`, the rate of `q`."""
        return qd

    @property
    def wrenches(self) -> dict[str, str]:
        """The frames at which wrenches act, by the name of their input: f_tip, or f_<frame> for each of several."""
        if isinstance(self.wrench, Mapping):
            return {f"f_{name}": name for name in self.wrench}
        return {} if self.wrench is None else {"f_tip": self.frame}

    def signal(self, name: str) -> tuple[str, Signal]:
        """Return the argument through which the input called `name` comes from outside, and its signal; nothing for a load."""
        if name in self.wrenches:
            wrench = self.wrench
            return "wrench", wrench[self.wrenches[name]] if isinstance(wrench, Mapping) else wrench
        return "disturbance", self.disturbance if name == "tau_dist" else None

    @property
    def externals(self) -> tuple[Port, ...]:
        """Inputs besides the state and the torque: load, f_tip or f_<frame>, tau_dist, each if the plant has it."""
        ports = [Port("load", (10 * len(self.loads),))] if self.loads else []
        for name in self.wrenches:
            ports.append(Port(name, (6,), ("nx", "ny", "nz", "fx", "fy", "fz"), "moment, then force"))
        if self.disturbance is not None:
            ports.append(joint_port(self.robot, "tau_dist"))
        return tuple(ports)

    @property
    def surroundings(self) -> Surroundings:
        """The loads, and what acts from outside, as the traced dynamics see them."""
        names = tuple(p.name for p in self.externals)
        return Surroundings(self.robot, self.loads, tuple(self.wrenches.items()), self.axes, names)

    def load_vector(self, payload: Payload | None) -> np.ndarray:
        """Return the ten parameters that a `payload` adds to each link that may carry one, (10 links,)."""
        result = np.zeros((len(self.loads), 10))
        if payload is not None:
            link, body = payload.on(self.robot)
            if link not in self.loads:
                names = ", ".join(self.robot.link_names[i] for i in self.loads) or "none"
                raise TaupiError(
                    "payload is on {link_name!r}, the plant's loads are on: {names}.",
                    link_name=self.robot.link_names[link],
                    names=names,
                )
            result[self.loads.index(link)] = body
        return result.ravel()

    def load_at(self, t: float) -> np.ndarray:
        """Return the load at time `t` (s), as `load_vector` does."""
        current: Payload | None = None
        for since, payload in self.payloads:
            current = payload if since <= t * (1 + 1e-12) else current
        return self.load_vector(current)

    def parameters_at(self, time: np.ndarray) -> np.ndarray:
        """Return all parameters at `time` (N,), ten per link and those of its terms: (P,), or (N, P) if it may carry loads."""
        pi = np.concatenate(
            [self.robot.parameters.values, term_parameters(self.robot, resolve_terms(self.terms)).values]
        )
        if not self.loads:
            return pi
        rows = np.tile(pi, (len(time), 1))
        for since in [0.0, *(t for t, _ in self.payloads if t > 0)]:  # the load at a time stays until the next
            after, load = time * (1 + 1e-12) >= since, self.load_at(since).reshape(-1, 10)
            for link, body in zip(self.loads, load, strict=True):
                place = self.robot.parameters.layout.link(link)
                rows[after, place] = pi[place] + body
        return rows


class LoadedChain(Chain):
    """A robot lifted to SX whose links carry loads: ten more parameters each, added to their own."""

    def __init__(self, robot: Robot, constants: Constants, links: tuple[int, ...], load: Vector) -> None:
        super().__init__(robot, constants)
        self._load = {link: load[10 * k : 10 * k + 10] for k, link in enumerate(links)}

    def body(self, i: int) -> Vector:
        """Return the ten parameters of link `i` and of what it carries."""
        own = super().body(i)
        return own + self._load[i] if i in self._load else own


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Loads, wrenches and disturbance over SX, of a plant that has the externals of these `names`.

    `wrenches` are pairs of an input and the frame that it acts at.
    """

    robot: Robot
    loads: tuple[int, ...]
    wrenches: tuple[tuple[str, str], ...]
    axes: str
    names: tuple[str, ...]

    def ports(self) -> list[Port]:
        """Return the inputs that come from outside."""
        sizes = {"load": 10 * len(self.loads), "tau_dist": self.robot.n}
        return [Port(k, (sizes.get(k, 6),)) for k in self.names]

    def chain(self, constants: Constants, values: Sequence[Vector]) -> LoadedChain:
        """Return the robot over SX with what it carries, for `values` of the externals."""
        return LoadedChain(self.robot, constants, self.loads, dict(zip(self.names, values, strict=True)).get("load"))

    def force(self, chain: Chain, q: Vector, values: Sequence[Vector]) -> Vector:
        """Return -tau_dist - sum J^T F, what acts on the joints from outside."""
        externals = dict(zip(self.names, values, strict=True))
        force = SX(self.robot.n, 1) - externals.get("tau_dist", 0)
        for name, frame in self.wrenches:
            force = force - tip_torque(chain, q, externals[name], frame, self.axes)
        return force


# Settings as users give them ----------------------------------------------------------------------------------------


def joint_values(value: Limits, n: int, name: str) -> np.ndarray | None:
    """Return a limit per joint from one number or n; None stays None."""
    if value is None:
        return None
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), (n,)).copy()
    except (TypeError, ValueError):
        raise TaupiError(
            "{argument} is {got!r}, expected a number or {expected}: one per joint.",
            argument=Argument(name),
            got=value,
            expected=n,
        ) from None
    if not (array > 0).all():
        numbers = value.tolist() if isinstance(value, np.ndarray) else value
        raise TaupiError("{argument} is {got!r}, expected numbers above 0.", argument=Argument(name), got=numbers)
    return array


def _changes(payloads: Sequence[tuple[float, Payload | None]]) -> tuple[tuple[float, Payload | None], ...]:
    try:
        pairs = [(float(t), p) for t, p in payloads]
    except (TypeError, ValueError):
        raise TaupiError("{payloads} is {got!r}, expected pairs (time in s, Payload or None).", got=payloads) from None
    for t, payload in pairs:
        if not math.isfinite(t) or not (payload is None or isinstance(payload, Payload)):
            raise TaupiError("{payloads} holds {got!r}, expected (time in s, Payload or None).", got=(t, payload))
    return tuple(sorted(pairs, key=lambda pair: pair[0]))
