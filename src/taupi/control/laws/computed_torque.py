"""Computed torque: inverse dynamics of the acceleration that a linear law asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs

from taupi.control.fixed_law import FixedLaw
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.dynamics.recursive import newton_euler
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import Vector
from taupi.program.program import Constants


@dataclass(frozen=True, eq=False)
class ComputedTorque(FixedLaw):
    """tau = M a + C qd + g + friction(qd) with a = qdd_des - Kd de/dt - Kp e, e = q - q_des (Luh, Walker & Paul 1980).

    With exact parameters the error obeys d2e/dt2 + Kd de/dt + Kp e = 0, and V = |de/dt|^2 / 2 + e^T Kp e / 2 falls as
    -de/dt^T Kd de/dt. Kp is in 1/s^2 and Kd in 1/s, by default 25 and 10. `terms` are joint terms that the law compensates,
    such as "viscous", by default none.

    >>> import taupi as tp
    >>> arm, state = tp.load("elbow2r"), [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    >>> tau = tp.ComputedTorque(arm).torque(*state)
    >>> bool(abs(tau - tp.inverse_dynamics(arm)(state[0], state[1], state[4])).max() < 1e-12)
    True
    """

    terms: TermsLike = ()
    name: ClassVar[str] = "computed_torque"

    def __post_init__(self) -> None:
        self.choice()
        self.settle_gains(1.0)

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau over SX; nothing is adapted. `constants`, `signals` and `x` are as in `Law.control`."""
        chain = self.estimated(constants, x)
        e, rate = signals.q - signals.q_des, signals.qd - signals.qd_des
        a = signals.qdd_des - times(self.Kd, rate) - times(self.Kp, e)
        friction = chain.term_torque(self.choice().terms, signals.q, signals.qd, a)
        return newton_euler(chain, signals.q, signals.qd, a) + friction, self.held()

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V of the linear error, for exact parameters. `truth`, `signals` and `x` are as in `Law.claim`."""
        e, rate = signals.q - signals.q_des, signals.qd - signals.qd_des
        kinetic = cs.dot(rate, rate) / 2
        return Claim(kinetic + cs.dot(e, times(self.Kp, e)) / 2, -cs.dot(rate, times(self.Kd, rate)), kinetic)
