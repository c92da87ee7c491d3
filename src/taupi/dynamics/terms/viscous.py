"""Viscous friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Viscous:
    """tau = F_v qd (spec 2.1)."""

    name: ClassVar[str] = "viscous"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_v."""
        return "N s/m" if prismatic else "N m s/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return F_v of a joint."""
        return joint.friction.viscous

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return qd."""
        return qd
