"""The rotor's inertia seen from the joint, its coupling to the links' motion neglected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Rotor:
    """tau = I_a qdd with I_a = gear_ratio^2 rotor_inertia."""

    name: ClassVar[str] = "rotor"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of I_a."""
        return "kg" if prismatic else "kg m^2"

    def value(self, joint: Joint) -> Scalar:
        """Return gear_ratio^2 rotor_inertia of a joint."""
        return joint.transmission.gear_ratio**2 * joint.transmission.rotor_inertia

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return qdd."""
        return qdd
