"""What laws without adaptation share: a model that is used as it is given."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from taupi.control.gains import BANDWIDTH, gain
from taupi.control.law import Law
from taupi.control.parameter_choice import Choice, choose
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TermsLike


class FixedLaw(Law):
    """A law whose parameters stay what they are: d pi/dt = 0."""

    Kp: Any
    Kd: Any
    terms: TermsLike

    def settle_gains(self, scale: np.ndarray | float) -> None:
        """Check the gains; defaults make each joint critically damped at 5 rad/s, with an inertia of `scale`."""
        n = self.robot.n
        defaults = {"Kp": BANDWIDTH**2 * np.asarray(scale), "Kd": 2 * BANDWIDTH * np.asarray(scale)}
        for name, default in defaults.items():
            given = getattr(self, name)
            object.__setattr__(self, name, gain(name, default if given is None else given, n))

    def choice(self) -> Choice:
        """Return all parameters."""
        return self._choice

    @cached_property
    def _choice(self) -> Choice:
        return choose(self.robot, self.terms, None)

    def held(self) -> Any:
        """Return the rate of what never changes."""
        return SX.zeros(self.size)
