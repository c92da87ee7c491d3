"""The rotor's inertia as seen from the joint, without its coupling to the motion of the links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import Sign, Term, register
from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar


@register
@dataclass(frozen=True, slots=True)
class Rotor(Term):
    """tau = I_a qdd with I_a = gear_ratio^2 rotor_inertia."""

    name: ClassVar[str] = "rotor"
    label: ClassVar[str] = "rotor inertia"
    symbol: ClassVar[str] = "I_{a}"
    sign: ClassVar[Sign] = "positive"
    needs_speed: ClassVar[bool] = False
    transmitted: ClassVar[bool] = True
    field: ClassVar[str] = "transmission.rotor_inertia"
    tool: ClassVar[str] = "armature"
    rank: ClassVar[int] = 40

    def unit(self, prismatic: bool) -> str:
        """Return the unit of I_a at a sliding joint (`prismatic`) or at a turning one."""
        return "kg" if prismatic else "kg m^2"

    def value(self, joint: Joint) -> Scalar:
        """Return gear_ratio^2 rotor_inertia of `joint`."""
        return joint.transmission.gear_ratio**2 * joint.transmission.rotor_inertia

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return `qdd`; `q` and `qd` do not matter."""
        return qdd

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return ratio^2, of a joint that follows a coordinate at `ratio`."""
        return ratio * ratio
