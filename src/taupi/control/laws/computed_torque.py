"""Computed torque: inverse dynamics of the acceleration that a linear law asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.gains import as_matrix, times
from taupi.control.law import Claim, FixedLaw, Signals, Truth
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import Vector
from taupi.program.program import Constants


@dataclass(frozen=True, eq=False)
class ComputedTorque(FixedLaw):
    """Apply tau = M a + C qd + g + friction(qd), a = qdd_des - Kd de/dt - Kp e, e = q - q_des (Luh, Walker & Paul 1980).

    With exact parameters the error obeys d2e/dt2 + Kd de/dt + Kp e = 0, and V = |de/dt|^2 / 2 + e^T Kp e / 2 falls as
    -de/dt^T Kd de/dt.

    Attributes:
        Kp: Gain of the position error, 1/s^2: a number, one per joint (n,), or a matrix (n, n); by default 25.
        Kd: Gain of the velocity error, 1/s, likewise; by default 10.
        terms: Joint terms that the law compensates, such as "viscous"; by default none.

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

    def compensated_terms(self) -> TermsLike:
        """Return the terms that the law compensates."""
        return self.terms

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau over SX; nothing is adapted. `constants`, `signals` and `x` are as in `Law.control`."""
        chain = self.estimated(constants, x)
        e, rate = signals.q - signals.q_des, signals.qd - signals.qd_des
        a = signals.qdd_des - times(self.Kd, rate) - times(self.Kp, e)
        friction = chain.term_torque(self.choice().terms, signals.q, signals.qd, a)
        return newton_euler(chain, signals.q, signals.qd, a) + friction, self.held()

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return Kd; `inverse` and `q` are as in `Law.damping_rates`."""
        return {"Kd": np.broadcast_to(as_matrix(self.Kd), inverse.shape)}

    def pull_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return Kp; `inverse` and `q` are as in `Law.damping_rates`."""
        return np.broadcast_to(as_matrix(self.Kp), inverse.shape)

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V of the linear error, for exact parameters. `truth`, `signals` and `x` are as in `Law.claim`."""
        e, rate = signals.q - signals.q_des, signals.qd - signals.qd_des
        kinetic = cs.dot(rate, rate) / 2
        return Claim(kinetic + cs.dot(e, times(self.Kp, e)) / 2, -cs.dot(rate, times(self.Kd, rate)), kinetic)
