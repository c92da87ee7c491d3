"""A constant torque: asymmetric friction, or the bias of a current sensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import Term, register
from taupi.dynamics.types import SX, Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar


@register
@dataclass(frozen=True, slots=True)
class Offset(Term):
    """tau = tau_0."""

    name: ClassVar[str] = "offset"
    label: ClassVar[str] = "the offset"
    heading: ClassVar[str] = "offset"
    symbol: ClassVar[str] = r"\tau_{0}"
    drift: ClassVar[float] = 0.1
    constant: ClassVar[bool] = True
    needs_speed: ClassVar[bool] = False
    on_drives: ClassVar[bool] = False
    field: ClassVar[str] = "friction.offset"
    tool: ClassVar[str] = "offset"
    rank: ClassVar[int] = 30

    def unit(self, prismatic: bool) -> str:
        """Return the unit of tau_0 at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return tau_0 of `joint`."""
        return joint.friction.offset

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return 1; `q`, `qd` and `qdd` do not matter."""
        return SX(1)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return `ratio`, of a joint that follows a coordinate at that ratio."""
        return ratio
