"""What laws without adaptation share: a model that never changes, and gains Kp and Kd."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.control.gains import BANDWIDTH, Gain, gain
from taupi.control.law import Law
from taupi.control.parameter_choice import ParameterChoice, choose
from taupi.dynamics.types import SX, Vector


@dataclass(frozen=True, eq=False)
class FixedLaw(Law):
    """A law whose parameters never change: d pi/dt = 0.

    Attributes:
        Kp: Gain of the position error, positive: a number, one per joint (n,), or a matrix (n, n).
        Kd: Gain of the velocity error, likewise.
    """

    Kp: Gain = None
    Kd: Gain = None

    def settle_gains(self, scale: np.ndarray | float) -> None:
        """Check the gains; defaults make each joint critically damped at 5 rad/s, with an inertia of `scale`."""
        defaults = {"Kp": BANDWIDTH**2 * np.asarray(scale), "Kd": 2 * BANDWIDTH * np.asarray(scale)}
        for name, default in defaults.items():
            value = getattr(self, name)
            object.__setattr__(self, name, gain(name, default if value is None else value, self.robot.n))

    def choice(self) -> ParameterChoice:
        """Return all parameters."""
        return self._choice

    @cached_property
    def _choice(self) -> ParameterChoice:
        return choose(self.robot, getattr(self, "terms", ()), None)

    def held(self) -> Vector:
        """Return the rate of what never changes."""
        return SX.zeros(self.size)
