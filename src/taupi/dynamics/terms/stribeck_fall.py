"""Friction that falls with speed: the second of the two exponentials of a Stribeck curve."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.term import PerJoint, Term, checked_per_joint, register, through_odd, value_at
from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs

_SLOWEST = 1e-3  # f_6 |qd| below which exp(-1 / (f_6 |qd|)) is 0 in doubles, and so is its derivative


@register
@dataclass(frozen=True, slots=True)
class StribeckFall(Term):
    """tau = -f_5 sgn(qd) exp(-1 / (f_6 |qd|)) with a known `slowness` f_6; its limit at 0 is 0 (Zollo et al. 2014, eq. 43).

    Together with Coulomb friction f_2 it changes nothing at standstill and tends to f_2 - f_5 well above the speed 1 / f_6.
    `slowness` (s/rad or s/m, 10 by default) is one number, or one per joint.
    """

    slowness: PerJoint = 10.0
    name: ClassVar[str] = "stribeck_fall"
    label: ClassVar[str] = "the fall of friction with speed"
    heading: ClassVar[str] = "fall"
    symbol: ClassVar[str] = "f_{5}"
    jumps: ClassVar[bool] = True
    rank: ClassVar[int] = 80

    def __post_init__(self) -> None:
        object.__setattr__(self, "slowness", checked_per_joint("slowness", self.slowness, "s/rad, s/m"))

    def at(self, joint: int) -> StribeckFall:
        """Return the term of one joint, by its place `joint` in the robot."""
        return StribeckFall(value_at("slowness", self.slowness, joint))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of f_5 at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state no f_5 for `joint`."""
        return Fraction(0)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return -sgn(`qd`) exp(-1 / (slowness |`qd`|)); `q` and `qdd` do not matter."""
        return -cs.sign(qd) * cs.exp(-1 / cs.fmax(self.slowness * cs.fabs(qd), _SLOWEST))

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return 1 at a `ratio` of 1 or -1; at others the shape differs."""
        return through_odd(ratio)
