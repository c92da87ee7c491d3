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

    Each is one number, or one for each joint. The smooth form is for measured velocities, whose sign near standstill is
    noise, and for joints that creep before they slide.

    With a `distance` d (rad, m) friction has a memory: tau = F_s z, dz/dq = (sgn(qd) - z) / d (Dahl 1968). It builds up over d
    after each reversal, and is held at standstill. `taupi.identify`, `taupi.validate` and `fit.predict`, which see a motion
    from its beginning, take it so. A program sees one state and no past: there it is the above.
    """

    velocity: float | tuple[float, ...] = 0.0
    distance: float | tuple[float, ...] = 0.0
    name: ClassVar[str] = "coulomb"

    def __post_init__(self) -> None:
        for what in ("velocity", "distance"):
            given = getattr(self, what)
            if not isinstance(given, int | float):
                object.__setattr__(self, what, tuple(float(v) for v in given))
            each = self._each(what)
            if not each or not all(math.isfinite(v) and v >= 0 for v in each):
                unit = "(rad/s, m/s)" if what == "velocity" else "(rad, m)"
                raise TaupiError(f"{what} is {given!r}, expected a number of at least 0 {unit}, or one a joint.")

    def _each(self, what: str) -> tuple[float, ...]:
        given = getattr(self, what)
        return given if isinstance(given, tuple) else (given,)

    def at(self, joint: int) -> Coulomb:
        """Return the term of one joint."""
        found = []
        for what in ("velocity", "distance"):
            given = self._each(what)
            if isinstance(getattr(self, what), tuple) and joint >= len(given):
                raise TaupiError(f"{what} has {len(given)} values, expected one a joint.")
            found.append(given[joint] if isinstance(getattr(self, what), tuple) else given[0])
        return Coulomb(*found)

    def unit(self, prismatic: bool) -> str:
        """Return the unit of F_s."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return F_s of a joint."""
        return joint.friction.coulomb

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sgn(qd), or tanh(qd / velocity)."""
        return cs.tanh(qd / self.velocity) if self.velocity else cs.sign(qd)
