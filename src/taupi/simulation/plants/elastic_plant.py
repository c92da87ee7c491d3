"""The arm with elastic joints as a plant: links and motors, with a spring between the two of a joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.drives import (
    Drives,
    Sides,
    chosen_sides,
    motor_port,
    refuse_massless_rotors,
    resolve_sides,
)
from taupi.dynamics.elastic import elastic_mass_matrix, elastic_stiffness_matrix
from taupi.dynamics.elastic_forward import ALGORITHMS
from taupi.dynamics.energy import kinetic, potential, rotor_energy, spring_energy
from taupi.dynamics.forward import default_algorithm
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.terms import term_torque
from taupi.dynamics.terms.elastic import Stiffness
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.model.massless import refuse_massless
from taupi.model.requirements import require_elastic
from taupi.program.program import Constants, Port, Program, trace
from taupi.simulation.plants.plant import ArmPlant, PlantTerms, Surroundings

_SPRINGS = Sides((), (Stiffness(),), ())


@dataclass(frozen=True, eq=False, slots=True)
class ElasticPlant(ArmPlant):
    """Simulate an arm with elastic joints: B(q) a + C v + g + K_e (q, theta) + friction = (-tau_dist - J^T F_tip, u).

    This is Zollo et al. 2014, eq. 2. The state is positions (q, theta) and velocities (qd, thetad), theta one value per elastic
    joint; the torque u has one value per motor. `wrench`, `frame`, `axes`, `payloads`, `loads` and `delay` are as in
    `RigidPlant`.

    Attributes:
        robot: What moves: a robot with transmissions.
        terms: Friction on the motors ("coulomb", "viscous", `StribeckCurve`, ...), "damping" of the springs and friction on the
            links ("link_viscous", ...), with the robot's own values; by default all that the description states.
        smoothing: Speed, rad/s or m/s, by default 0.01, with which sgn(thetad) of dry friction becomes tanh(thetad / smoothing);
            0 keeps the jump.
        disturbance: tau_dist (n,) on the links, N m or N: None (the default), constant, a row per control period, or a function
            of time.
        torque_limits: The largest torques (n,) of the motors, N m or N, or one for all; True for the description's limits; by
            default none.
        rate_limits: The largest rates (n,) of the motors' torques, N m/s or N/s; by default none.
        coupling: Whether links act on rotors and are moved by them (the default), or rotors only turn their own shafts.

    >>> import taupi as tp
    >>> plant = tp.ElasticPlant(tp.load("zollo2r"), terms=(tp.terms.StribeckCurve.document(), "damping"))
    >>> [p.name for p in plant.program().inputs], plant.size
    (['q', 'qd', 'theta', 'thetad', 'u'], 4)
    """

    terms: PlantTerms = None
    coupling: bool = True

    def __post_init__(self) -> None:
        ArmPlant.__post_init__(self)  # a class with slots has no super() without arguments
        require_elastic(self.robot)
        refuse_massless_rotors(self.robot)
        refuse_massless(self.robot, True, self.loads)
        sides = chosen_sides(self.robot, self.terms)
        object.__setattr__(self, "terms", (*sides.motor, *sides.spring[1:], *sides.link))

    @property
    def size(self) -> int:
        """The number of positions: links, then motors of elastic joints."""
        return self.robot.n + len(self.robot.elastic_joints)

    @property
    def motors(self) -> tuple[int, ...]:
        """The index of each motor among the positions; for a rigid joint it is that of the link."""
        n, elastic = self.robot.n, self.elastic
        return tuple(n + elastic.index(i) if i in elastic else i for i in range(n))

    @property
    def elastic(self) -> list[int]:
        """The elastic joints, by their numbers."""
        return list(self.robot.elastic_coordinates)

    @property
    def sides(self) -> Sides:
        """The terms as they are simulated, by where they act, with dry friction smoothed."""
        own, v = resolve_sides(self.terms), float(self.smoothing)
        return Sides(tuple(t.smooth(v) for t in own.motor), own.spring, tuple(t.smooth(v) for t in own.link))

    def program(self) -> Program:
        """Return qdd and thetadd of (q, qd, theta, thetad, u, ...), with `load`, `f_tip`, `tau_dist` where the plant has them."""
        full = self.dynamics_program()

        def body(*x: Vector) -> tuple[Vector, ...]:
            return full(*x)[:2]

        return trace("elastic_plant", body, full.inputs, full.outputs[:2])

    def dynamics_program(self) -> Program:
        """Return qdd, thetadd, the power put in and the power lost to friction, of (q, qd, theta, thetad, u, ...)."""
        return _dynamics(self.surroundings, self.sides, self.coupling)

    def flow(self, x: Vector, tau: Vector, *externals: Vector) -> tuple[Vector, Expression, Expression]:
        """Return the acceleration of links and motors, the power put in and the power lost to friction, over SX.

        `x` is the state, `tau` the motors' torque u, `externals` are the inputs of that name.
        """
        n, size = self.robot.n, self.size
        state = (x[:n], x[size : size + n], x[n:size], x[size + n :])
        qdd, thetadd, supply, loss = self.dynamics_program()(*state, tau, *externals)
        return cs.vertcat(qdd, thetadd), supply, loss

    def energy_program(self) -> Program:
        """Return K + P of (x) or (x, load), rotors and springs included."""
        return _energy(self.surroundings, self.coupling)

    def fastest(self, q: ArrayLike) -> float:
        """Return the highest frequency of the springs at `q` (..., n), rad/s: the root of the largest eigenvalue of B^-1 K_e."""
        b = elastic_mass_matrix(self.robot, self.coupling)(np.asarray(q, dtype=float))
        swings = np.linalg.eigvals(np.linalg.solve(b, elastic_stiffness_matrix(self.robot)()))
        return float(np.sqrt(np.abs(swings).max()))

    def started(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities (..., size) of links at `q`, `qd`: springs carry the weight, theta = q + K^-1 g(q)."""
        load = [self.load_at(0.0)] if self.loads else []
        theta = _borne(self.surroundings)(q, *load)
        return np.concatenate([q, theta], axis=-1), np.concatenate([qd, qd[..., self.elastic]], axis=-1)


@lru_cache(maxsize=64)
def _dynamics(surroundings: Surroundings, sides: Sides, coupling: bool) -> Program:
    constants, robot = Constants(), surroundings.robot
    algorithm = ALGORITHMS[default_algorithm(robot)]
    motors = [motor_port(robot, k) for k in ("theta", "thetad")]
    ports = [*(joint_port(robot, k) for k in ("q", "qd")), *motors, joint_port(robot, "u"), *surroundings.ports()]

    def body(q: Vector, qd: Vector, theta: Vector, thetad: Vector, u: Vector, *externals: Vector) -> tuple[Vector, ...]:
        chain = surroundings.chain(constants, externals)
        drives = Drives(chain, coupling)
        theta, thetad = drives.motors(q, theta), drives.motors(qd, thetad)
        link, motor = drives.forces(sides, q, qd, theta, thetad)
        sprung = drives.forces(_SPRINGS, q, qd, theta, thetad)
        force = surroundings.force(chain, q, externals)
        accelerations = algorithm(chain, drives, q, qd, thetad, force - link, u - motor)
        loss = cs.dot(qd, link - sprung[0]) + cs.dot(thetad, motor - sprung[1])
        return *accelerations, cs.dot(qd, force) + cs.dot(thetad, u), loss

    outputs = [Port("qdd", (robot.n,)), Port("thetadd", (len(robot.elastic_joints),)), Port("supply"), Port("loss")]
    return trace("elastic_plant", body, ports, outputs, constants)


def _load(surroundings: Surroundings) -> list[Port]:
    return [p for p in surroundings.ports() if p.name == "load"]


def _loaded(surroundings: Surroundings, constants: Constants, load: tuple[Vector, ...]) -> Chain:
    """Return the chain with its load, and nothing else from outside."""
    alone = Surroundings(surroundings.robot, surroundings.loads, (), surroundings.axes, ("load",) * len(load))
    return alone.chain(constants, load)


@lru_cache(maxsize=64)
def _energy(surroundings: Surroundings, coupling: bool) -> Program:
    constants, robot = Constants(), surroundings.robot
    n, size = robot.n, robot.n + len(robot.elastic_joints)

    def body(x: Vector, *load: Vector) -> Expression:
        chain = _loaded(surroundings, constants, load)
        drives = Drives(chain, coupling)
        q, qd = x[:n], x[size : size + n]
        theta, thetad = drives.motors(q, x[n:size]), drives.motors(qd, x[size + n :])
        turning = rotor_energy(chain, drives, q, qd, thetad)
        return kinetic(chain, q, qd) + turning + potential(chain, q) + spring_energy(chain, drives, q, theta)

    return trace("elastic_energy", body, [Port("x", (2 * size,)), *_load(surroundings)], [Port("E")], constants)


@lru_cache(maxsize=64)
def _borne(surroundings: Surroundings) -> Program:
    """Return theta = q + K^-1 g(q) of elastic joints, of (q) or (q, load)."""
    constants, robot = Constants(), surroundings.robot

    def body(q: Vector, *load: Vector) -> Vector:
        chain = _loaded(surroundings, constants, load)
        rest, unit = SX.zeros(robot.n), SX.ones(robot.n)
        stiffness = term_torque(chain, (Stiffness(),), unit, rest, rest, followers=False)
        weight = newton_euler(chain, q, rest, rest)
        return cs.vertcat(*(q[i] + weight[i] / stiffness[i] for i in Drives(chain).elastic))

    return trace("borne", body, [joint_port(robot, "q"), *_load(surroundings)], [motor_port(robot, "theta")], constants)
