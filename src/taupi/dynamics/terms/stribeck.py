"""The Stribeck effect: friction that drops as the joint starts to move, with a known shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import PerJoint, Sign, Term, checked_per_joint, register, through_odd, value_at
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class Stribeck(Term):
    """tau = F_b sgn(qd) exp(-|qd / velocity|^exponent): linear in the height F_b, with a shape that has to be known.

    Together with Coulomb friction F_s it gives F_s + F_b at standstill and F_s at speed (Armstrong-Helouvry 1994). `velocity`
    (rad/s or m/s, 0.1 by default) is one number, or one per joint; `exponent` is 1 or 2 (the default).
    """

    velocity: PerJoint = 0.1
    exponent: int = 2
    name: ClassVar[str] = "stribeck"
    label: ClassVar[str] = "Stribeck friction"
    heading: ClassVar[str] = "Stribeck"
    symbol: ClassVar[str] = "f_{s}"
    sign: ClassVar[Sign] = "nonnegative"
    with_coulomb: ClassVar[bool] = True
    jumps: ClassVar[bool] = True
    field: ClassVar[str] = "friction.stribeck"
    rank: ClassVar[int] = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", checked_per_joint("velocity", self.velocity, "rad/s or m/s"))
        if self.exponent not in (1, 2):
            raise TaupiError("{exponent} is {got!r}, expected 1 or 2.", got=self.exponent)

    def at(self, joint: int) -> Stribeck:
        """Return the term of one joint, by its place `joint` in the robot."""
        return Stribeck(value_at("velocity", self.velocity, joint), self.exponent)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_b at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_b of `joint`."""
        return joint.friction.stribeck

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return sgn(`qd`) exp(-|`qd` / velocity|^exponent); `q` and `qdd` do not matter."""
        ratio = cs.fabs(qd) / self.velocity
        return cs.sign(qd) * cs.exp(-(ratio if self.exponent == 1 else ratio * ratio))

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return 1 at a `ratio` of 1 or -1; at others the shape differs."""
        return through_odd(ratio)
