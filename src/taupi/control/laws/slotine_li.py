"""Slotine and Li's adaptive law in closed form, through the regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.control.adaptive_law import AdaptiveLaw, Damped
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.deprecation import renamed
from taupi.dynamics.types import Vector
from taupi.program.program import Constants


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class SlotineLi(AdaptiveLaw, Damped):
    """Apply tau = Y_r pi_hat - K s, d pi_hat/dt = -Gamma^-1 Y_r^T s (Slotine & Li 1987; Kubozono et al., eqs. 34, 35).

    Y_r = Y_r(q, qd, qrd, qrdd), qrd = qd_des - Lambda (q - q_des), s = qd - qrd.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> law = tp.SlotineLi(arm, Lambda=5.0, K=[20.0, 10.0], adapt="base")
    >>> rest = [0.0, 0.0]
    >>> tau = law.torque(rest, rest, rest, rest, rest)
    >>> bool(abs(tau - tp.gravity_torque(arm)(rest)).max() < 1e-12), len(law.parameters)
    (True, 6)
    """

    name: ClassVar[str] = "slotine_li"

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and d pi_hat/dt over SX; `constants`, `signals` and `x` are as in `Law.control`."""
        qrd, qrdd, s = signals.reference(self.Lambda)
        tau, gradient = self.modelled(constants, signals, (qrd, qrdd), x, self.learnt_from(s))
        return tau - times(self.K, s), self.adapted(gradient, x)

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V with dV/dt = -s^T K s, less friction's own damping. `truth`, `signals` and `x` are as in `Law.claim`."""
        return self.tracking_claim(truth, signals, self.damping_power, self.weighed(truth, x))
