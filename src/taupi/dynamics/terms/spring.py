"""A spring at a joint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.term import Term, register
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class Spring(Term):
    """tau = k q: a spring, or a cable that resists bending; the term "offset" accounts for its rest position.

    With a `lever` (r, h, l0, a) it is a coil spring of rest length l0 between a point at the distance h from a turning joint's
    axis and the end of a lever of length r: tau = k r h sin(a - q) (1 - l0 / l) with l^2 = r^2 + h^2 + 2 r h cos(a - q). Lengths
    are in m and a in rad; at q = a the spring is longest. The default is None, no lever.
    """

    lever: tuple[float, float, float, float] | None = None
    name: ClassVar[str] = "spring"
    label: ClassVar[str] = "the spring"
    symbol: ClassVar[str] = "k"
    needs_speed: ClassVar[bool] = False
    transmitted: ClassVar[bool] = True
    on_drives: ClassVar[bool] = False
    tool: ClassVar[str] = "stiffness"
    rank: ClassVar[int] = 60

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
                "{lever} is {got!r}, expected (r, h, l0, a): two different lengths above 0, one more "
                "length, and an angle.",
                got=self.lever,
            )
        object.__setattr__(self, "lever", values)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of k at a sliding joint (`prismatic`) or at a turning one."""
        return "N/m" if prismatic or self.lever else "N m/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return the stiffness of the spring at the link of `joint`, 0 with a lever; that of its drive is separate."""
        return Fraction(0) if self.lever else joint.spring

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return `q`, or the torque of the lever's spring for k = 1; `qd` and `qdd` do not matter."""
        if self.lever is None:
            return q
        r, h, rest, a = self.lever
        sine = math.sin(a) * cs.cos(q) - math.cos(a) * cs.sin(q)
        cosine = math.cos(a) * cs.cos(q) + math.sin(a) * cs.sin(q)
        length = cs.sqrt(r * r + h * h + 2 * r * h * cosine)
        return r * h * sine * (1 - rest / length)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return ratio^2, of a joint that follows a coordinate at `ratio`; none with a lever, whose shape differs."""
        return None if self.lever else ratio * ratio
