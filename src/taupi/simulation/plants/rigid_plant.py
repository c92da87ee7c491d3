"""The rigid arm as a plant; its joints may stick and break away, at events that the adaptive integrator finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, joint_port, trace_robot
from taupi.dynamics.energy import kinetic, potential
from taupi.dynamics.forward import ALGORITHMS, default_algorithm, solve_positive
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.terms import Load, Rotor, Term, resisting_torque, resolve_terms, term_inertia, term_torque
from taupi.dynamics.types import SX, Expression, Vector
from taupi.errors import TaupiError
from taupi.model.massless import refuse_massless
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.simulation.integrators import ADAPTIVE
from taupi.simulation.plants.plant import ArmPlant, LoadedChain, Surroundings


@dataclass(frozen=True, eq=False, slots=True)
class RigidPlant(ArmPlant):
    """Simulate a rigid arm: M qdd = tau - C qd - g - friction - tau_dist - J^T F_tip (equations.md, D1 and D17).

    A signal from outside is None (the default), constant, one row per control period (held), or a function of time.

    Attributes:
        robot: What moves. A floating robot has q (n + 1,) with a quaternion, and no ground: contact enters as a wrench or
            disturbance.
        terms: Friction and drives with the robot's own values ("viscous", "coulomb", "offset", "rotor", "stribeck", "load",
            "curve"), by default none.
        smoothing: Speed, rad/s or m/s, by default 0.01, with which sgn(qd) of dry friction becomes tanh(qd / smoothing); 0 keeps
            the jump.
        wrench: F_tip (6,), moment and force (N m, N) that `frame` applies to its surroundings; or a mapping from frames to
            theirs.
        frame: Where the wrench acts, by default "tip".
        axes: The axes of the wrench, as of this Jacobian: "geometric" (the default), "body" or "spatial".
        disturbance: tau_dist (n,), N m or N.
        payloads: Pairs (time in s, Payload or None), each valid from its time on; by default none.
        torque_limits: The largest torques (n,), N m or N, or one for all; True for the description's limits; by default none.
        rate_limits: The largest rates of the torques (n,), N m/s or N/s, or one for all; by default none.
        delay: Time between command and torque, s, a whole number of control periods; by default 0.
        loads: Further links that may carry a payload, by number.
        stiction: Whether joints stick and break away at events that adaptive integrators find to their tolerance; by default not.

    >>> import taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"), terms="viscous", payloads=[(1.0, tp.Payload(0.5))])
    >>> [p.name for p in plant.program().inputs]
    ['q', 'qd', 'tau', 'load']
    """

    stiction: bool = False

    def __post_init__(self) -> None:
        ArmPlant.__post_init__(self)  # a class with slots has no super() without arguments
        terms = resolve_terms(self.terms)
        object.__setattr__(self, "terms", terms)
        rigid = self.robot.with_transmissions(stiffness=None) if self.robot.elastic_joints else self.robot
        refuse_massless(rigid, any(isinstance(t, Rotor) for t in terms), self.loads)

    @property
    def size(self) -> int:
        """The number of positions: the joints."""
        return self.robot.n

    @property
    def positions(self) -> int:
        """The number of positions: one more than velocities for each quaternion of a free or ball joint."""
        return self.robot.nq

    def position_rate(self, q: Vector, qd: Vector) -> Vector:
        """Return dq/dt over SX of positions `q` and velocities `qd`, with quaternions."""
        return _position_rate(self.robot)(q, qd)

    @property
    def effective_terms(self) -> tuple[Term, ...]:
        """The terms as they are simulated, with dry friction smoothed."""
        return tuple(t.smooth(float(self.smoothing)) for t in resolve_terms(self.terms))

    def program(self) -> Program:
        """Return qdd(q, qd, tau, ...), with `load`, `f_tip` (or `f_<frame>`), `tau_dist` where the plant has them."""
        full = self.dynamics_program()

        def body(*x: Vector) -> Vector:
            return full(*x)[0]

        return trace("plant", body, full.inputs, full.outputs[:1])

    def dynamics_program(self) -> Program:
        """Return qdd, the power put in and the power lost to friction, of (q, qd, tau, ...)."""
        return _dynamics(self.surroundings, self.effective_terms)

    def flow(self, x: Vector, tau: Vector, *externals: Vector) -> tuple[Vector, Expression, Expression]:
        """Return the acceleration, the power put in and the power lost to friction, over SX.

        `x` is the state (q, qd), `tau` the torque, `externals` are the inputs of that name.
        """
        n = self.positions
        qdd, supply, loss = self.dynamics_program()(x[:n], x[n:], tau, *externals)
        return qdd, supply, loss

    def energy_program(self) -> Program:
        """Return K + P of (x) or (x, load), rotors included."""
        return _energy(self.robot, resolve_terms(self.terms), self.loads)


@lru_cache(maxsize=64)
def _dynamics(surroundings: Surroundings, terms: tuple[Term, ...]) -> Program:
    constants, robot = Constants(), surroundings.robot
    ports = [*(joint_port(robot, k) for k in ("q", "qd", "tau")), *surroundings.ports()]
    algorithm = ALGORITHMS[default_algorithm(robot)]

    def body(q: Vector, qd: Vector, tau: Vector, *externals: Vector) -> tuple[Vector, ...]:
        chain = surroundings.chain(constants, externals)
        friction = resisting_torque(chain, terms, q, qd, tau)
        driving = tau + surroundings.force(chain, q, externals)
        qdd = algorithm(chain, q, qd, driving - friction, term_inertia(chain, terms))
        return qdd, cs.dot(qd, driving), cs.dot(qd, friction)

    return trace("plant", body, ports, [Port("qdd", (robot.n,)), Port("supply"), Port("loss")], constants)


@lru_cache(maxsize=64)
def _position_rate(robot: Robot) -> Program:
    return trace_robot("position_rate", robot, Chain.rate, ["q", "qd"], [Port("qdot", (robot.nq,))])


@lru_cache(maxsize=64)
def _energy(robot: Robot, terms: tuple[Term, ...], loads: tuple[int, ...]) -> Program:
    constants, n = Constants(), robot.nq

    def body(x: Vector, *load: Vector) -> Expression:
        chain = LoadedChain(robot, constants, loads, load[0] if load else None)
        rotors = cs.dot(x[n:], term_inertia(chain, terms) @ x[n:]) / 2
        return kinetic(chain, x[:n], x[n:]) + potential(chain, x[:n]) + rotors

    ports = [Port("x", (n + robot.n,)), *([Port("load", (10 * len(loads),))] if loads else [])]
    return trace("energy", body, ports, [Port("E")], constants)


# Sticking and breaking away this often within one control period is chatter, not motion.
_MOST_EVENTS = 200
Externals = dict[str, np.ndarray]  # values of a plant's externals by name
_NUDGE = 1e-300  # a speed above zero at which sgn is 1 and Stribeck's shape is that of standstill


def stiction_program(plant: RigidPlant) -> Program:
    """Return (qdd, hold, grip, supply, loss) of (q, qd, tau, mode, ...), with a mode of -1, 0 or 1 per joint (Karnopp 1985).

    A slipping joint of the `plant` has the friction mode F(|qd|). A joint with mode 0 is stuck: qdd = 0, and `hold` is the
    friction that this needs; it breaks away when |hold| exceeds `grip`, the friction at standstill.
    """
    terms = resolve_terms(plant.terms)
    if any(isinstance(t, Load) for t in terms):
        raise TaupiError(
            "The term 'load' has no grip at standstill, where the load depends on the friction itself.",
            remedy="Simulate it with {stiction=False}.",
        )
    return _traced(plant.surroundings, terms)


@lru_cache(maxsize=16)
def _traced(surroundings: Surroundings, terms: tuple[Term, ...]) -> Program:
    robot = surroundings.robot
    constants, n = Constants(), robot.n
    dry = tuple(t for t in terms if t.jumps)
    wet = tuple(t for t in terms if t not in dry)

    def body(q: Vector, qd: Vector, tau: Vector, mode: Vector, *externals: Vector) -> tuple[Vector, ...]:
        chain, rest = surroundings.chain(constants, externals), SX.zeros(n)
        level = term_torque(chain, dry, q, cs.fmax(cs.fabs(qd), _NUDGE), rest)
        grip = term_torque(chain, dry, q, SX.ones(n) * _NUDGE, rest)
        smooth = term_torque(chain, wet, q, qd, rest)
        driving = tau + surroundings.force(chain, q, externals)
        mass = composite_bodies(chain, q) + term_inertia(chain, terms)
        free = driving - smooth - newton_euler(chain, q, qd, rest)
        moves = mode * mode
        masked = mass * (moves @ moves.T) + cs.diag(1 - moves)
        qdd = solve_positive(masked, moves * (free - mode * level))
        return qdd, free - mass @ qdd, grip, cs.dot(qd, driving), cs.dot(qd, smooth + mode * level)

    ports = [*(joint_port(robot, k) for k in ("q", "qd", "tau", "mode")), *surroundings.ports()]
    vectors = [Port(k, (n,)) for k in ("qdd", "hold", "grip")]
    return trace("stiction", body, ports, [*vectors, Port("supply"), Port("loss")], constants)


class Sticking:
    """A rigid plant whose joints stick, moved over one control period at a time."""

    def __init__(self, plant: RigidPlant, method: str, tolerance: float) -> None:
        self.n, self.method, self.tolerance = plant.robot.n, method, tolerance
        self._names = [p.name for p in plant.externals]
        self._bound = stiction_program(plant).compile("cpu").bound()  # type: ignore[attr-defined]

    def evaluate(
        self, y: np.ndarray, tau: np.ndarray, mode: np.ndarray, externals: Externals
    ) -> tuple[np.ndarray, ...]:
        """Return qdd, hold, grip, supply, loss."""
        inputs = {"q": y[: self.n], "qd": y[self.n : 2 * self.n], "tau": tau, "mode": mode, **externals}
        for name in ("q", "qd", "tau", "mode", *self._names):
            self._bound.inputs[name].reshape(-1)[:] = np.ravel(inputs[name])
        self._bound()
        return tuple(v.copy() for v in self._bound.outputs.values())

    def modes(self, y: np.ndarray, tau: np.ndarray, externals: Externals) -> np.ndarray:
        """Return which joints slip, and which way: those at rest stick, unless that needs more than their grip.

        If several cannot hold, the one whose grip falls short by most breaks away first: its motion may relieve the others.
        """
        mode = np.sign(y[self.n : 2 * self.n])
        for _ in range(self.n):
            _, hold, grip, *_ = self.evaluate(y, tau, mode, externals)
            shortfall = np.where(mode == 0, np.abs(hold) - grip, -np.inf)
            worst = int(np.argmax(shortfall))
            if shortfall[worst] <= 0:
                break
            mode[worst] = np.sign(hold[worst])
        return mode

    def move(
        self, y: np.ndarray, tau: np.ndarray, t: float, stop: float, externals_at: Callable[[float], Externals]
    ) -> np.ndarray:
        """Return y = (q, qd, work, heat) at `stop`, from event to event."""
        from scipy.integrate import solve_ivp

        n, broke = self.n, np.zeros(self.n)
        for _ in range(_MOST_EVENTS):
            mode = np.where(broke != 0, broke, self.modes(y, tau, externals_at(t)))

            def rate(s: float, x: np.ndarray, mode: np.ndarray = mode) -> np.ndarray:
                qdd, _, _, supply, loss = self.evaluate(x, tau, mode, externals_at(s))
                return np.concatenate([x[n : 2 * n], qdd, [supply, loss]])

            events = [self._event(i, tau, mode, externals_at) for i in range(n)]
            options = {"rtol": self.tolerance, "atol": self.tolerance / 100, "events": events}
            solution = solve_ivp(rate, (t, stop), y, ADAPTIVE[self.method], **options)
            y, t = solution.y[:, -1].copy(), float(solution.t[-1])
            if not solution.success:
                return np.full_like(y, np.nan)
            met = np.array([len(at) > 0 for at in solution.t_events])
            y[n : 2 * n][met] = 0.0  # it has come to rest, to the root finder's rounding; or it breaks away, from rest
            if solution.status == 0 or t >= stop:
                return y
            hold = self.evaluate(y, tau, mode, externals_at(t))[1]
            broke = np.where(met & (mode == 0), np.sign(hold), 0.0)
        raise TaupiError(
            "Joints stick and break away more than {most_events} times before {stop:g} s: use smoothing= instead.",
            most_events=_MOST_EVENTS,
            stop=stop,
        )

    def _event(
        self, i: int, tau: np.ndarray, mode: np.ndarray, externals_at: Callable[[float], Externals]
    ) -> Callable[[float, np.ndarray], float]:
        """Return what crosses zero downwards when joint i comes to rest, or when it breaks away."""

        def slips(t: float, y: np.ndarray) -> float:
            return float(y[self.n + i] * mode[i])

        def holds(t: float, y: np.ndarray) -> float:
            _, hold, grip, *_ = self.evaluate(y, tau, mode, externals_at(t))
            return float(grip[i] - abs(hold[i]))

        event = slips if mode[i] else holds
        event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        return event
