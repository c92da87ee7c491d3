"""PD control with gravity compensation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.gains import as_matrix, times
from taupi.control.law import Claim, FixedLaw, Signals, Truth
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import SX, Vector
from taupi.program.program import Constants


@dataclass(frozen=True, eq=False)
class PDGravity(FixedLaw):
    """Apply tau = g(q) - Kp (q - q_des) - Kd (qd - qd_des) (Takegaki & Arimoto 1981).

    With the true gravity and q_des at rest, V = qd^T M qd / 2 + e^T Kp e / 2 falls as -qd^T Kd qd.

    Attributes:
        terms: Joint terms, of which only those that act at rest (an offset) are compensated; by default none.

    >>> import taupi as tp
    >>> arm, rest = tp.load("elbow2r"), [0.0, 0.0]
    >>> tau = tp.PDGravity(arm, Kp=100.0, Kd=20.0).torque([0.1, 0.0], rest, rest, rest, rest)
    >>> (tau - tp.gravity_torque(arm)([0.1, 0.0])).round(12).tolist()
    [-10.0, 0.0]
    """

    terms: TermsLike = ()
    name: ClassVar[str] = "pd_gravity"

    def compensated_terms(self) -> TermsLike:
        """Return the terms that the law compensates."""
        return self.terms

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau over SX; nothing is adapted. `constants`, `signals` and `x` are as in `Law.control`."""
        chain, rest = self.estimated(constants, x), SX.zeros(self.robot.n)
        gravity = newton_euler(chain, signals.q, rest, rest)
        gravity += chain.term_torque(self.choice().terms, signals.q, rest, rest)
        pull = times(self.Kp, signals.q - signals.q_des) + times(self.Kd, signals.qd - signals.qd_des)
        return gravity - pull, self.held()

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return M^-1 Kd; `inverse` and `q` are as in `Law.damping_rates`."""
        return {"Kd": inverse @ as_matrix(self.Kd)}

    def pull_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return M^-1 Kp; `inverse` and `q` are as in `Law.damping_rates`."""
        return inverse @ as_matrix(self.Kp)

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V = kinetic energy + e^T Kp e / 2 with dV/dt = -qd^T Kd qd less friction, for q_des at rest.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        e, qd = signals.q - signals.q_des, signals.qd
        kinetic = cs.dot(qd, truth.mass @ qd) / 2
        still = truth.friction(signals.q, SX.zeros(self.robot.n))
        rate = -cs.dot(qd, times(self.Kd, qd)) - cs.dot(qd, truth.friction(signals.q, qd) - still)
        return Claim(kinetic + cs.dot(e, times(self.Kp, e)) / 2, rate, kinetic)
