"""PD control of motors with on-line gravity compensation, for robots with elastic joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.fixed_law import FixedLaw
from taupi.control.gains import FASTEST, gain, times, typical
from taupi.control.law import Claim, Signals, Truth
from taupi.dynamics.chain import Chain
from taupi.dynamics.drives import check_elastic
from taupi.dynamics.elastic import elastic_mass_matrix
from taupi.dynamics.recursive import newton_euler
from taupi.dynamics.terms import term_torque
from taupi.dynamics.terms.elastic import Stiffness
from taupi.dynamics.types import SX, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.model.robot import Robot
from taupi.program.program import Constants

BANDWIDTH, RATIO = 15.0, 0.7  # rad/s and share of critical damping that default gains give the arm on stiff springs


@dataclass(frozen=True, eq=False)
class ElasticPDGravity(FixedLaw):
    """u = Kp (theta_des - theta) + Kd (thetad_des - thetad) + g(theta - K^-1 g(q_des)), theta_des = q_des + K^-1 g(q_des).

    The law sees only the motors: theta, thetad (n,), one value per motor (of a rigid joint, q and qd). With `velocity`,
    thetad_des is the rate of theta_des, for tracking; without, it is 0: the regulator of De Luca, Siciliano & Zollo (2005),
    which makes q_des at rest stable if Kp outweighs the gradient of gravity. Kp is in N m/rad, Kd in N m s/rad; they
    default to 15 rad/s with 0.7 of critical damping on stiff springs, with less damping if that would be too fast for a loop at 1
    kHz.

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
        check_elastic(self.robot)
        if not isinstance(self.velocity, bool):
            raise TaupiError(
                Argument("velocity"), f" is {shown(self.velocity)}, expected True (tracking) or False (regulation)."
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

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Refuse: its Lyapunov function is that of links and motors, not of a rigid arm.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        raise TaupiError(f"{self.name} moves links and motors; taupi.laws.lyapunov knows only rigid arms.")


def _compliance(chain: Chain) -> Vector:
    """Return 1 / K of elastic joints, 0 of rigid ones."""
    rest, joints = SX.zeros(chain.n), chain.robot.driving_joints
    stiffness = term_torque(chain, (Stiffness(),), SX.ones(chain.n), rest, rest)
    return cs.vertcat(*(1 / stiffness[i] if j.transmission.elastic else 0 for i, j in enumerate(joints)))


def default_gains(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return Kp = w^2 J and Kd = 2 zeta w J, J the largest inertia of joint and motor, Kd_i (B^-1)_ii of motors within 400/s."""
    n = robot.n
    b = elastic_mass_matrix(robot).compile("numpy")(typical(robot).motion[0])
    elastic = [i for i, j in enumerate(robot.driving_joints) if j.transmission.elastic]
    places = np.arange(n)
    places[elastic] = n + np.arange(len(elastic))
    own = np.diagonal(b, axis1=-2, axis2=-1).max(axis=0)
    inertia = own[:n].copy()
    inertia[elastic] += own[n:]
    fastest = np.diagonal(np.linalg.inv(b), axis1=-2, axis2=-1)[:, places].max(axis=0)
    damping = np.minimum(2 * RATIO * BANDWIDTH * inertia, FASTEST / fastest)
    return BANDWIDTH**2 * inertia, damping
