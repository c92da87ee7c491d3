"""Stribeck's drop of friction at low speed, for a known shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.dynamics.terms.per_joint import Shape, checked_shape, shape_of
from taupi.errors import TaupiError
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Stribeck:
    """tau = F_b sgn(qd) exp(-|qd / velocity|^exponent): nonlinear in the shape, linear in the height F_b.

    With Coulomb friction it makes F_s + F_b at standstill and F_s at speed (Armstrong-Helouvry 1994). `velocity` is one number,
    or one for each joint.
    """

    velocity: Shape = 0.1
    exponent: int = 2
    name: ClassVar[str] = "stribeck"

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", checked_shape(self.velocity, "velocity", "rad/s or m/s"))
        if self.exponent not in (1, 2):
            raise TaupiError(f"exponent is {self.exponent!r}, expected 1 or 2.")

    def at(self, joint: int) -> Stribeck:
        """Return the term of one joint."""
        return Stribeck(shape_of(self.velocity, joint, "velocity"), self.exponent)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_b."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_b of a joint."""
        return joint.friction.stribeck

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sgn(qd) exp(-|qd / velocity|^exponent)."""
        ratio = cs.fabs(qd) / self.velocity
        return cs.sign(qd) * cs.exp(-(ratio if self.exponent == 1 else ratio * ratio))
