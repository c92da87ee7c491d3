"""Viscous friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import Sign, Term, register
from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar


@register
@dataclass(frozen=True, slots=True)
class Viscous(Term):
    """tau = F_v qd (equations.md, D1)."""

    name: ClassVar[str] = "viscous"
    label: ClassVar[str] = "viscous friction"
    heading: ClassVar[str] = "viscous"
    symbol: ClassVar[str] = "f_{v}"
    sign: ClassVar[Sign] = "nonnegative"
    drift: ClassVar[float] = 0.2
    field: ClassVar[str] = "friction.viscous"
    tool: ClassVar[str] = "damping"
    rank: ClassVar[int] = 10

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_v at a sliding joint (`prismatic`) or at a turning one."""
        return "N s/m" if prismatic else "N m s/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return F_v of `joint`."""
        return joint.friction.viscous

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return `qd`; `q` and `qdd` do not matter."""
        return qd

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return ratio^2, of a joint that follows a coordinate at `ratio`."""
        return ratio * ratio
