"""PD control with gravity compensation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs

from taupi.control.fixed_law import FixedLaw
from taupi.control.gains import largest_inertias, times
from taupi.control.law import Claim, Signals, Truth
from taupi.dynamics.recursive import newton_euler
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import SX, Vector
from taupi.program.program import Constants


@dataclass(frozen=True, eq=False)
class PDGravity(FixedLaw):
    """tau = g(q) - Kp (q - q_des) - Kd (qd - qd_des) (Takegaki & Arimoto 1981).

    With the true gravity and q_des at rest, V = qd^T M qd / 2 + e^T Kp e / 2 falls as -qd^T Kd qd. Of the `terms`, only those
    that act at rest (an offset) are compensated; by default there are none. Kp is in N m/rad, Kd in N m s/rad; they default to
    critical damping at 5 rad/s of the largest M_ii.

    >>> import taupi as tp
    >>> arm, rest = tp.load("elbow2r"), [0.0, 0.0]
    >>> tau = tp.PDGravity(arm, Kp=100.0, Kd=20.0).torque([0.1, 0.0], rest, rest, rest, rest)
    >>> (tau - tp.gravity_torque(arm)([0.1, 0.0])).round(12).tolist()
    [-10.0, 0.0]
    """

    terms: TermsLike = ()
    name: ClassVar[str] = "pd_gravity"

    def __post_init__(self) -> None:
        self.choice()
        self.settle_gains(largest_inertias(self.robot) if self.Kp is None or self.Kd is None else 1.0)

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau over SX; nothing is adapted. `constants`, `signals` and `x` are as in `Law.control`."""
        chain, rest = self.estimated(constants, x), SX.zeros(self.robot.n)
        gravity = newton_euler(chain, signals.q, rest, rest)
        gravity += chain.term_torque(self.choice().terms, signals.q, rest, rest)
        pull = times(self.Kp, signals.q - signals.q_des) + times(self.Kd, signals.qd - signals.qd_des)
        return gravity - pull, self.held()

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V = kinetic energy + e^T Kp e / 2 with dV/dt = -qd^T Kd qd less friction, for q_des at rest.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        e, qd = signals.q - signals.q_des, signals.qd
        kinetic = cs.dot(qd, truth.mass @ qd) / 2
        still = truth.friction(signals.q, SX.zeros(self.robot.n))
        rate = -cs.dot(qd, times(self.Kd, qd)) - cs.dot(qd, truth.friction(signals.q, qd) - still)
        return Claim(kinetic + cs.dot(e, times(self.Kp, e)) / 2, rate, kinetic)
