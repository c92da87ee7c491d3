"""A spring at a joint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import casadi as cs

from taupi.errors import TaupiError
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Spring:
    """tau = k q: a spring, or a cable that resists bending; its rest position is in the offset.

    With a `lever` (r, h, l0, a), a coil spring of rest length l0 from a point at the distance h from a turning joint's axis to
    a lever of length r: tau = k r h sin(a - q) (1 - l0 / l) with l^2 = r^2 + h^2 + 2 r h cos(a - q), a in rad: at q = a
    the spring is longest.
    """

    lever: tuple[float, float, float, float] | None = None
    name: ClassVar[str] = "spring"

    def __post_init__(self) -> None:
        if self.lever is None:
            return
        values = tuple(self.lever)
        if (
            len(values) != 4
            or not all(math.isfinite(v) for v in values)
            or min(values[:2]) <= 0
            or values[0] == values[1]
        ):
            raise TaupiError(
                f"lever is {self.lever!r}, expected (r, h, l0, a): two different lengths above 0, one more, an angle."
            )
        object.__setattr__(self, "lever", values)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of k."""
        return "N/m" if prismatic or self.lever else "N m/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state the stiffness of drives only, which is another."""
        return Fraction(0)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return q, or the torque of the lever's spring for k = 1."""
        if self.lever is None:
            return q
        r, h, rest, a = self.lever
        sine = math.sin(a) * cs.cos(q) - math.cos(a) * cs.sin(q)
        cosine = math.cos(a) * cs.cos(q) + math.sin(a) * cs.sin(q)
        length = cs.sqrt(r * r + h * h + 2 * r * h * cosine)
        return r * h * sine * (1 - rest / length)
