"""A joint term: the torque ripple of a gear."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import casadi as cs

import taupi as tp


@dataclass(frozen=True)
class Ripple(tp.terms.Term):
    """tau = r cos(teeth q)."""

    teeth: int = 6
    name: ClassVar[str] = "ripple"
    label: ClassVar[str] = "torque ripple"

    def unit(self, prismatic):
        """Return the unit of r."""
        return "N" if prismatic else "N m"

    def value(self, joint):
        """Return r as the description states it: it says nothing."""
        return Fraction(0)

    def column(self, q, qd, qdd):
        """Return cos(teeth q) over CasADi scalars."""
        return cs.cos(self.teeth * q)
