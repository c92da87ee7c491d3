"""Friction that rises from standstill: the first of two exponentials about a Stribeck curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import casadi as cs

from taupi.dynamics.terms.per_joint import Shape, checked_shape, shape_of
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class StribeckRise:
    """tau = -f_3 sgn(qd) exp(-|qd| / f_4), the velocity f_4 (rad/s, m/s) given, one or one a joint (spec B7).

    Beside Coulomb friction f_2 it makes f_2 - f_3 at standstill, which rises to f_2 within a few f_4.
    """

    velocity: Shape = 0.1
    name: ClassVar[str] = "stribeck_rise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", checked_shape(self.velocity, "velocity", "rad/s, m/s"))

    def at(self, joint: int) -> StribeckRise:
        """Return the term of one joint."""
        return StribeckRise(shape_of(self.velocity, joint, "velocity"))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of f_3."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state nothing about it."""
        return Fraction(0)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return -sgn(qd) exp(-|qd| / velocity)."""
        return -cs.sign(qd) * cs.exp(-cs.fabs(qd) / self.velocity)
