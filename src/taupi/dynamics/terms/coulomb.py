"""Dry friction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.errors import TaupiError
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Coulomb:
    """tau = F_s sgn(qd), with sgn(0) = 0 (spec 2.1); with a `velocity` v (rad/s, m/s) tau = F_s tanh(qd / v).

    `velocity` is one number, or one for each joint. The smooth form is for measured velocities, whose sign near standstill
    is noise, and for joints that creep before they slide.
    """

    velocity: float | tuple[float, ...] = 0.0
    name: ClassVar[str] = "coulomb"

    def __post_init__(self) -> None:
        if not isinstance(self.velocity, int | float):
            object.__setattr__(self, "velocity", tuple(float(v) for v in self.velocity))
        given = self.velocity if isinstance(self.velocity, tuple) else (self.velocity,)
        if not given or not all(math.isfinite(v) and v >= 0 for v in given):
            raise TaupiError(
                f"velocity is {self.velocity!r}, expected a number of at least 0 (rad/s, m/s), or one a joint."
            )

    def at(self, joint: int) -> Coulomb:
        """Return the term of one joint."""
        if not isinstance(self.velocity, tuple):
            return self
        if joint >= len(self.velocity):
            raise TaupiError(f"velocity has {len(self.velocity)} values, expected one a joint.")
        return Coulomb(self.velocity[joint])

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_s."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_s of a joint."""
        return joint.friction.coulomb

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sgn(qd), or tanh(qd / velocity)."""
        return cs.tanh(qd / self.velocity) if self.velocity else cs.sign(qd)
