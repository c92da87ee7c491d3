"""Walker's law with adaptations that do not belong to it: mistakes that the document leaves room for, kept as examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from taupi.control.law import Signals
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.laws.walker import Walker
from taupi.program.program import Constants


class BorrowedWalker(Walker):
    """Walker's torque with Slotine and Li's adaptation, -Gamma^-1 Y^T s: dV/dt is not what either proof says."""

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and the wrong d pi_hat/dt over SX."""
        tau, _ = super().control(constants, signals, x)
        other = NiemeyerSlotine(self.robot, self.Lambda, 1.0, self.Gamma_inv)
        return tau, other.control(constants, signals, x)[1]


class ForgetfulWalker(Walker):
    """Walker's torque with a regressor that leaves the gamma-term out: dV/dt = -gamma s^T H_hat s, of either sign."""

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and the wrong d pi_hat/dt over SX."""
        tau, once = super().control(constants, signals, x)
        # The adaptation is linear in gamma: twice its value at gamma minus its value at 2 gamma is its value at 0.
        twice = Walker.control(replace(self, gamma=2 * self.gamma), constants, signals, x)[1]
        return tau, 2 * once - twice
