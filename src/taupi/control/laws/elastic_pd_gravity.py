"""PD control of motors with on-line gravity compensation, for robots with elastic joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.gains import FASTEST, as_matrix, gain, times, typical
from taupi.control.law import FixedLaw, Signals
from taupi.dynamics.chain import Chain
from taupi.dynamics.elastic import elastic_mass_matrix
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.terms import term_torque
from taupi.dynamics.terms.elastic import Stiffness
from taupi.dynamics.types import SX, Vector
from taupi.errors import TaupiError
from taupi.model.requirements import require_elastic
from taupi.model.robot import Robot
from taupi.program.program import Constants

BANDWIDTH, RATIO = 15.0, 0.7  # rad/s and share of critical damping that default gains give the arm on stiff springs


@dataclass(frozen=True, eq=False)
class ElasticPDGravity(FixedLaw):
    """Apply u = Kp (theta_des - theta) + Kd (thetad_des - thetad) + g(theta - K^-1 g(q_des)), theta_des = q_des + K^-1 g(q_des).

    The law sees only the motors: theta, thetad (n,), one value per motor (of a rigid joint, q and qd).

    Attributes:
        Kp: Gain of the position error, N m/rad; by default 15 rad/s on stiff springs.
        Kd: Gain of the velocity error, N m s/rad; by default 0.7 of critical damping on stiff springs, less if that would be too
            fast for a loop at 1 kHz.
        velocity: With True (the default), thetad_des is the rate of theta_des, for tracking; with False it is 0: the regulator of
            De Luca, Siciliano & Zollo (2005), which makes q_des at rest stable if Kp outweighs the gradient of gravity.

    >>> import taupi as tp
    >>> arm, rest = tp.load("zollo2r"), [0.0, 0.0]
    >>> law = tp.laws.ElasticPDGravity(arm, Kp=[3000.0, 1800.0], Kd=[150.0, 60.0])
    >>> borne = tp.gravity_torque(arm)(rest)
    >>> law.torque(borne / [3000.0, 1800.0], rest, rest, rest, rest).round(9).tolist() == borne.round(9).tolist()
    True
    """

    velocity: bool = True
    name: ClassVar[str] = "elastic_pd_gravity"
    measured: ClassVar[tuple[str, str]] = ("theta", "thetad")

    def __post_init__(self) -> None:
        self.choice()
        require_elastic(self.robot)
        if not isinstance(self.velocity, bool):
            raise TaupiError(
                "{velocity} is {got!r}, expected True (tracking) or False (regulation).", got=self.velocity
            )
        kp, kd = default_gains(self.robot) if self.Kp is None or self.Kd is None else (self.Kp, self.Kd)
        object.__setattr__(self, "Kp", gain("Kp", kp if self.Kp is None else self.Kp, self.robot.n))
        object.__setattr__(self, "Kd", gain("Kd", kd if self.Kd is None else self.Kd, self.robot.n))

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return u over SX; nothing is adapted. `constants`, `signals` and `x` are as in `Law.control`."""
        chain, rest = self.estimated(constants, x), SX.zeros(self.robot.n)
        sag = newton_euler(chain, signals.q_des, rest, rest) * _compliance(chain)
        theta_des = signals.q_des + sag
        pull = times(self.Kp, theta_des - signals.q) - times(self.Kd, signals.qd)
        if self.velocity:
            pull += times(self.Kd, cs.jtimes(theta_des, signals.q_des, signals.qd_des))
        return pull + newton_euler(chain, signals.q - sag, rest, rest), self.held()

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return the motors' B^-1 Kd, whatever the `inverse` of the links; `q` is as in `Law.damping_rates`."""
        return {"Kd": _motors_inverse(self.robot, q) @ as_matrix(self.Kd)}

    def pull_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the motors' B^-1 Kp, whatever the `inverse` of the links; `q` is as in `Law.damping_rates`."""
        return _motors_inverse(self.robot, q) @ as_matrix(self.Kp)


def _compliance(chain: Chain) -> Vector:
    """Return 1 / K of elastic joints, 0 of rigid ones."""
    rest, compliance = SX.zeros(chain.n), SX.zeros(chain.n)
    stiffness = term_torque(chain, (Stiffness(),), SX.ones(chain.n), rest, rest, followers=False)
    for i in chain.robot.elastic_coordinates:
        compliance[i] = 1 / stiffness[i]
    return compliance


@lru_cache(maxsize=16)
def _elastic_mass(robot: Robot) -> Callable[..., np.ndarray]:
    return elastic_mass_matrix(robot).compile("numpy")


def _motors_inverse(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return the part (k, n, n) of the inverse mass matrix that belongs to what motors move: themselves, or rigid joints."""
    places, elastic = np.arange(robot.n), list(robot.elastic_coordinates)
    places[elastic] = robot.n + np.arange(len(elastic))
    inverse: np.ndarray = np.linalg.inv(_elastic_mass(robot)(q))[:, places[:, None], places]
    return inverse


def default_gains(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return Kp = w^2 J and Kd = 2 zeta w J, J the largest inertia of joint and motor, Kd_i (B^-1)_ii of motors within 400/s."""
    n, q = robot.n, typical(robot).motion[0]
    b, elastic = _elastic_mass(robot)(q), list(robot.elastic_coordinates)
    own = np.diagonal(b, axis1=-2, axis2=-1).max(axis=0)
    inertia = own[:n].copy()
    inertia[elastic] += own[n:]
    fastest = np.diagonal(_motors_inverse(robot, q), axis1=-2, axis2=-1).max(axis=0)
    damping = np.minimum(2 * RATIO * BANDWIDTH * inertia, FASTEST / fastest)
    return BANDWIDTH**2 * inertia, damping
