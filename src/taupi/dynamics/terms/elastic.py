"""Terms of an elastic joint: its spring, the spring's damping, and friction on the link's side of the spring."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.term import Term
from taupi.errors import TaupiError
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Stiffness:
    """tau = K (theta - q): what the spring takes from the motor and gives to the link (spec B2)."""

    name: ClassVar[str] = "stiffness"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of K."""
        return "N/m" if prismatic else "N m/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return K of a joint; a rigid one has no spring."""
        return Fraction(0) if joint.transmission.stiffness is None else joint.transmission.stiffness

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the deflection, which is what `q` is here."""
        return q


@dataclass(frozen=True, slots=True)
class Damping:
    """tau = D (thetad - qd): the damping of the spring, from the motor to the link."""

    name: ClassVar[str] = "damping"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of D."""
        return "N s/m" if prismatic else "N m s/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return D of a joint."""
        return joint.transmission.damping

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the rate of the deflection, which is what `qd` is here."""
        return qd


@dataclass(frozen=True, slots=True)
class LinkSide:
    """Another term on the link's side of the spring: tau = column(q_i, qd_i) times a parameter, in the link's row.

    >>> import taupi as tp
    >>> Y = tp.elastic_regressor(tp.load("zollo2r"), terms=("coulomb", "viscous", tp.LinkSide(tp.Viscous())))
    >>> Y.parameters.names[-2:]
    ('joint1.link_viscous', 'joint2.link_viscous')
    """

    of: Term

    def __post_init__(self) -> None:
        if not isinstance(self.of, Term) or isinstance(self.of, Along | LinkSide | Stiffness | Damping):
            raise TaupiError(f"of is {self.of!r}, expected a term such as taupi.Viscous().")

    @property
    def name(self) -> str:
        """The term's name with `link_` before it."""
        return f"link_{self.of.name}"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of the term."""
        return self.of.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return what the transmission states for the link's side: `link_viscous`, `link_coulomb`; 0 for other terms."""
        return getattr(joint.transmission, self.name, Fraction(0))

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the entry of the term."""
        return self.of.column(q, qd, qdd)

    def at(self, joint: int) -> LinkSide:
        """Return the term of one joint."""
        return LinkSide(self.of.at(joint)) if hasattr(self.of, "at") else self
