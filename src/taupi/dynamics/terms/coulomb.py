"""Dry friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Coulomb:
    """tau = F_s sgn(qd), with sgn(0) = 0 (spec 2.1)."""

    name: ClassVar[str] = "coulomb"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_s."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_s of a joint."""
        return joint.friction.coulomb

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sgn(qd)."""
        return cs.sign(qd)
