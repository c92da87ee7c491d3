"""Terms of an elastic joint: its spring, the spring's damping, and friction on the link's side of the spring."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.term import Sign, Term, as_term
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Stiffness(Term):
    """tau = K (theta - q): the torque that the spring takes from the motor and gives to the link (Zollo et al. 2014, eq. 6)."""

    name: ClassVar[str] = "stiffness"
    label: ClassVar[str] = "stiffness of the spring"
    symbol: ClassVar[str] = "K"
    sign: ClassVar[Sign] = "nonnegative"
    field: ClassVar[str] = "transmission.stiffness"

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
class RotorInertia(Term):
    """The inertia of a rotor about its own axis, which an elastic joint always has: its column is that of the whole dynamics."""

    name: ClassVar[str] = "rotor_inertia"
    label: ClassVar[str] = "rotor inertia"
    symbol: ClassVar[str] = r"\Upsilon"
    sign: ClassVar[Sign] = "positive"
    needs_speed: ClassVar[bool] = False
    field: ClassVar[str] = "transmission.rotor_inertia"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of the inertia, which does not depend on whether the joint is `prismatic`."""
        return "kg m^2"

    def value(self, joint: Joint) -> Scalar:
        """Return the inertia of the rotor of `joint`."""
        return joint.transmission.rotor_inertia


@dataclass(frozen=True, slots=True)
class Damping(Term):
    """tau = D (thetad - qd): the damping of the spring, taken from the motor and given to the link."""

    name: ClassVar[str] = "damping"
    label: ClassVar[str] = "damping of the spring"
    symbol: ClassVar[str] = "D"
    sign: ClassVar[Sign] = "nonnegative"
    on_drives: ClassVar[bool] = False
    field: ClassVar[str] = "transmission.damping"

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
class LinkSide(Term):
    """The term `of` on the link's side of the spring: tau = column(q_i, qd_i) times a parameter, in the link's row.

    >>> import taupi as tp
    >>> Y = tp.elastic_regressor(tp.load("zollo2r"), terms=("coulomb", "viscous", tp.terms.LinkSide(tp.terms.Viscous())))
    >>> Y.parameters.names[-2:]
    ('joint1.link_viscous', 'joint2.link_viscous')
    """

    of: Term
    on_drives: ClassVar[bool] = False

    def __post_init__(self) -> None:
        term = as_term(self.of)
        if term is None or isinstance(term, Along | LinkSide | Stiffness | Damping):
            raise TaupiError("{of} is {got!r}, expected a term such as taupi.terms.Viscous().", got=self.of)
        object.__setattr__(self, "of", term)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The term's name after `link_`."""
        return f"link_{self.of.name}"

    @property
    def field(self) -> str:  # type: ignore[override]
        """Where the transmission states it, if it does."""
        return f"transmission.{self.name}" if self.of.name in ("viscous", "coulomb") else ""

    @property
    def needs_speed(self) -> bool:  # type: ignore[override]
        """Whether its torque depends on speed."""
        return self.of.needs_speed

    def unit(self, prismatic: bool) -> str:
        """Return the term's unit at a sliding joint (`prismatic`) or at a turning one."""
        return self.of.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return the `link_viscous` or `link_coulomb` of the transmission of `joint`, 0 for other terms."""
        stated = {"link_viscous": joint.transmission.link_viscous, "link_coulomb": joint.transmission.link_coulomb}
        return stated.get(self.name, Fraction(0))

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the term's entry for the link's `q`, `qd`, `qdd`."""
        return self.of.column(q, qd, qdd)

    def at(self, joint: int) -> LinkSide:
        """Return the term of one joint, by its place `joint` in the robot."""
        return LinkSide(self.of.at(joint))

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return the term's own factor at `ratio`."""
        return self.of.through(ratio)

    def smooth(self, velocity: float) -> Term:
        """Return the term with its jump at standstill smoothed over `velocity`, in rad/s or m/s."""
        return LinkSide(self.of.smooth(velocity))
