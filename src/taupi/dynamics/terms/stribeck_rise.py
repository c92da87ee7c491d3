"""Friction that rises from standstill: the first of the two exponentials of a Stribeck curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.term import PerJoint, Term, checked_per_joint, register, through_odd, value_at
from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class StribeckRise(Term):
    """tau = -f_3 sgn(qd) exp(-|qd| / f_4) with a known `velocity` f_4 (Zollo et al. 2014, eq. 43).

    Together with Coulomb friction f_2 it gives f_2 - f_3 at standstill, rising to f_2 within a few f_4. `velocity` (rad/s or m/s,
    0.1 by default) is one number, or one per joint.
    """

    velocity: PerJoint = 0.1
    name: ClassVar[str] = "stribeck_rise"
    label: ClassVar[str] = "the rise of friction at standstill"
    heading: ClassVar[str] = "rise"
    symbol: ClassVar[str] = "f_{3}"
    jumps: ClassVar[bool] = True
    rank: ClassVar[int] = 70

    def __post_init__(self) -> None:
        object.__setattr__(self, "velocity", checked_per_joint("velocity", self.velocity, "rad/s, m/s"))

    def at(self, joint: int) -> StribeckRise:
        """Return the term of one joint, by its place `joint` in the robot."""
        return StribeckRise(value_at("velocity", self.velocity, joint))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of f_3 at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state no f_3 for `joint`."""
        return Fraction(0)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return -sgn(`qd`) exp(-|`qd`| / velocity); `q` and `qdd` do not matter."""
        return -cs.sign(qd) * cs.exp(-cs.fabs(qd) / self.velocity)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return 1 at a `ratio` of 1 or -1; at others the shape differs."""
        return through_odd(ratio)
