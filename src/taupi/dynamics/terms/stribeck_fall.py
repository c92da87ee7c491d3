"""Friction that falls with speed: the second of two exponentials about a Stribeck curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import casadi as cs

from taupi.dynamics.terms.per_joint import Shape, checked_shape, shape_of
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar

_SLOWEST = 1e-3  # f_6 |qd| below which exp(-1 / (f_6 |qd|)) is 0 in doubles, and its derivative too


@dataclass(frozen=True, slots=True)
class StribeckFall:
    """tau = -f_5 sgn(qd) exp(-1 / (f_6 |qd|)), the slowness f_6 (s/rad, s/m) given, one or one a joint (spec B7).

    Beside Coulomb friction f_2 it changes nothing at standstill and tends to f_2 - f_5 well above 1 / f_6. The limit at 0 is 0.
    """

    slowness: Shape = 10.0
    name: ClassVar[str] = "stribeck_fall"

    def __post_init__(self) -> None:
        object.__setattr__(self, "slowness", checked_shape(self.slowness, "slowness", "s/rad, s/m"))

    def at(self, joint: int) -> StribeckFall:
        """Return the term of one joint."""
        return StribeckFall(shape_of(self.slowness, joint, "slowness"))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of f_5."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state nothing about it."""
        return Fraction(0)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return -sgn(qd) exp(-1 / (slowness |qd|))."""
        return -cs.sign(qd) * cs.exp(-1 / cs.fmax(self.slowness * cs.fabs(qd), _SLOWEST))
