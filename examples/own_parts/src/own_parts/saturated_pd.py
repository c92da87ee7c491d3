"""A control law: PD with gravity compensation, whose pull towards the goal is bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

import taupi as tp


@dataclass(frozen=True, eq=False)
class SaturatedPD(tp.laws.FixedLaw):
    """Apply tau = g(q) - Kp tanh(q - q_des) - Kd qd.

    With true gravity and q_des at rest, V = qd^T M qd / 2 + sum Kp ln cosh(q - q_des) falls as -qd^T Kd qd.

    Attributes:
        Kp: The largest pull, N m: a number or one per joint (n,).
        Kd: Damping, N m s/rad, likewise.
    """

    name: ClassVar[str] = "saturated_pd"

    def control(self, constants, signals, x):
        """Return tau over CasADi scalars; nothing is adapted."""
        pull = tp.laws.times(self.Kp, cs.tanh(signals.q - signals.q_des))
        return tp.gravity_torque(self.robot)(signals.q) - pull - tp.laws.times(self.Kd, signals.qd), self.held()

    def claim(self, truth, signals, x):
        """Return V, its rate, and the part of V that is kinetic energy; a law without a proof leaves this method out."""
        qd, e = signals.qd, signals.q - signals.q_des
        kinetic = cs.dot(qd, truth.mass @ qd) / 2
        wells = cs.fabs(e) + cs.log(1 + cs.exp(-2 * cs.fabs(e))) - np.log(2)  # ln cosh e, which cannot overflow
        value = kinetic + cs.sum1(tp.laws.times(self.Kp, wells))
        rate = -cs.dot(qd, tp.laws.times(self.Kd, qd)) - cs.dot(qd, truth.friction(signals.q, qd))
        return tp.laws.Claim(value, rate, kinetic)
