"""Dry (Coulomb) friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import PerJoint, Sign, Smooth, Term, checked_per_joint, magnitude, register, value_at
from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class Coulomb(Term):
    """tau = F_s sgn(qd) with sgn(0) = 0, or tau = F_s tanh(qd / v) with a `velocity` v > 0 (equations.md, D1).

    `velocity` (rad/s or m/s, 0 by default) and `distance` (rad or m, 0 by default) are one number, or one per joint. The smooth
    form is for measured velocities, whose sign near standstill is noise, and for joints that creep before they slide.

    With a `distance` d > 0 friction has a memory: tau = F_s z with dz/dq = (sgn(qd) - z) / d (Dahl 1968). It builds up over d
    after each reversal and is held at standstill. This is how `taupi.identify`, `taupi.validate` and `fit.predict` take it, since
    they see a motion from its beginning. A program sees one state without its past, and takes the form without memory.
    """

    velocity: PerJoint = 0.0
    distance: PerJoint = 0.0
    name: ClassVar[str] = "coulomb"
    label: ClassVar[str] = "Coulomb friction"
    heading: ClassVar[str] = "Coulomb"
    symbol: ClassVar[str] = "f_{c}"
    sign: ClassVar[Sign] = "nonnegative"
    drift: ClassVar[float] = 0.2
    jumps: ClassVar[bool] = True
    field: ClassVar[str] = "friction.coulomb"
    tool: ClassVar[str] = "dry_friction"
    rank: ClassVar[int] = 20

    def __post_init__(self) -> None:
        for name, unit in (("velocity", "rad/s, m/s"), ("distance", "rad, m")):
            object.__setattr__(self, name, checked_per_joint(name, getattr(self, name), unit, zero=True))

    def smooth(self, velocity: float) -> Term:
        """Return the term with the jump at standstill smoothed over `velocity`, unless every joint has a width of its own."""
        widths = self.velocity if isinstance(self.velocity, tuple) else (self.velocity,)
        return self if all(widths) or not velocity else Smooth(self, velocity)

    def at(self, joint: int) -> Coulomb:
        """Return the term of one joint, by its place `joint` in the robot."""
        return Coulomb(*(value_at(name, getattr(self, name), joint) for name in ("velocity", "distance")))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_s at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_s of `joint`."""
        return joint.friction.coulomb

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return sgn(`qd`), or tanh(`qd` / velocity); `q` and `qdd` do not matter."""
        return cs.tanh(qd / self.velocity) if self.velocity else cs.sign(qd)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return |ratio|; the width and distance of a joint that follows at `ratio` are |ratio| times those of its coordinate."""
        return magnitude(ratio)
