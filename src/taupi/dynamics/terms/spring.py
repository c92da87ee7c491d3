"""A spring at a joint."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Spring:
    """tau = k q: a spring, or a cable that resists bending. Its rest position is in the offset."""

    name: ClassVar[str] = "spring"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of k."""
        return "N/m" if prismatic else "N m/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state the stiffness of drives only, which is another."""
        return Fraction(0)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return q."""
        return q
