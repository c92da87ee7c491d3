"""The rigid arm as a plant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as cs

from taupi.dynamics.chain import Chain, joint_port, trace_robot
from taupi.dynamics.energy import kinetic, potential
from taupi.dynamics.forward import ALGORITHMS, default_algorithm
from taupi.dynamics.terms import Term, resisting_torque, resolve_terms, term_inertia
from taupi.dynamics.types import Expression, Vector
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.simulation.plants.plant import ArmPlant, LoadedChain, Surroundings
from taupi.simulation.plants.smooth_friction import smoothed


@dataclass(frozen=True, eq=False, slots=True)
class RigidPlant(ArmPlant):
    """A rigid arm: M qdd = tau - C qd - g - friction - tau_dist - J^T F_tip (equations.md, D1 and D17).

    `robot` is what moves. `terms` are friction and drives with the robot's own values ("viscous", "coulomb", "offset", "rotor",
    "stribeck", "load", "curve"), by default none. `smoothing` (rad/s or m/s) makes sgn(qd) of dry friction tanh(qd / smoothing);
    0 keeps the jump, and `stiction` lets joints stick and break away at events that are found to the integrator's tolerance
    (adaptive integrators). `wrench` is F_tip, the wrench (moment, force) that `frame` applies to its surroundings, in the `axes`
    of that Jacobian ("geometric", "body", "spatial"), or a mapping from several frames to theirs; `disturbance` is tau_dist: each
    None, constant (6,) or (n,), one row per control period (held), or a function of time. `payloads` are (time in s, Payload or
    None), each valid from its time on; `loads` are further links that may carry one. A floating robot has q (n + 1,) with a
    quaternion, and no ground: contact enters as a wrench or disturbance. `torque_limits` (n,) are in N m, or True for those of
    the description, `rate_limits` (n,) in N m/s. `delay` (s) between command and torque is a whole number of control periods.

    >>> import taupi as tp
    >>> plant = tp.RigidPlant(tp.load("elbow2r"), terms="viscous", payloads=[(1.0, tp.Payload(0.5))])
    >>> [p.name for p in plant.program().inputs]
    ['q', 'qd', 'tau', 'load']
    """

    stiction: bool = False

    def __post_init__(self) -> None:
        ArmPlant.__post_init__(self)  # a class with slots has no super() without arguments
        object.__setattr__(self, "terms", resolve_terms(self.terms))

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
        return tuple(smoothed(t, float(self.smoothing)) for t in resolve_terms(self.terms))

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
