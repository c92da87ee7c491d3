"""Terms of an elastic joint: its spring, the spring's damping, and friction on the link's side of the spring."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.term import Term
from taupi.dynamics.types import Expression
from taupi.errors import Argument, TaupiError, shown
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Stiffness:
    """tau = K (theta - q): the torque that the spring takes from the motor and gives to the link (Zollo et al. 2014, eq. 6)."""

    name: ClassVar[str] = "stiffness"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of K at a sliding joint (`prismatic`) or at a turning one."""
        return "N/m" if prismatic else "N m/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return K of `joint`, 0 if it is rigid and has no spring."""
        return Fraction(0) if joint.transmission.stiffness is None else joint.transmission.stiffness

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return `q`, which here is the deflection; `qd` and `qdd` do not matter."""
        return q


@dataclass(frozen=True, slots=True)
class Damping:
    """tau = D (thetad - qd): the damping of the spring, taken from the motor and given to the link."""

    name: ClassVar[str] = "damping"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of D at a sliding joint (`prismatic`) or at a turning one."""
        return "N s/m" if prismatic else "N m s/rad"

    def value(self, joint: Joint) -> Scalar:
        """Return D of `joint`."""
        return joint.transmission.damping

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return `qd`, which here is the rate of the deflection; `q` and `qdd` do not matter."""
        return qd


@dataclass(frozen=True, slots=True)
class LinkSide:
    """The term `of` on the link's side of the spring: tau = column(q_i, qd_i) times a parameter, in the link's row.

    >>> import taupi as tp
    >>> Y = tp.elastic_regressor(tp.load("zollo2r"), terms=("coulomb", "viscous", tp.terms.LinkSide(tp.terms.Viscous())))
    >>> Y.parameters.names[-2:]
    ('joint1.link_viscous', 'joint2.link_viscous')
    """

    of: Term

    def __post_init__(self) -> None:
        if not isinstance(self.of, Term) or isinstance(self.of, Along | LinkSide | Stiffness | Damping):
            raise TaupiError(Argument("of"), f" is {shown(self.of)}, expected a term such as taupi.terms.Viscous().")

    @property
    def name(self) -> str:
        """The term's name after `link_`."""
        return f"link_{self.of.name}"

    def unit(self, prismatic: bool) -> str:
        """Return the term's unit at a sliding joint (`prismatic`) or at a turning one."""
        return self.of.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return the `link_viscous` or `link_coulomb` of the transmission of `joint`, 0 for other terms."""
        return getattr(joint.transmission, self.name, Fraction(0))

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the term's entry for the link's `q`, `qd`, `qdd`."""
        return self.of.column(q, qd, qdd)

    def at(self, joint: int) -> LinkSide:
        """Return the term of one joint, by its place `joint` in the robot."""
        return LinkSide(self.of.at(joint)) if hasattr(self.of, "at") else self
