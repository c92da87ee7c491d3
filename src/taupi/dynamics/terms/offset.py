"""A constant torque: asymmetric friction, or the bias of a current sensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Offset:
    """tau = tau_0."""

    name: ClassVar[str] = "offset"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of tau_0."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return tau_0 of a joint."""
        return joint.friction.offset

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return 1."""
        return cs.SX(1)
