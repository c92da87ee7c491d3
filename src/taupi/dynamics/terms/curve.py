"""Dry friction that falls over the whole range of speeds, so that all friction together bends with speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.checks import positive
from taupi.dynamics.terms.term import Modulated, PerJoint, checked_per_joint, magnitude, register, value_at
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class Curve(Modulated):
    """tau = c s exp(-|qd| / (share velocity)): a wide fall with speed, so that with viscous friction the sum is concave.

    s is the state of the Coulomb term of the same joint: sgn(qd), tanh(qd / v), or with a memory. `share` (0.3 by default) is the
    width of the fall in units of `velocity` (rad/s or m/s, one number or one per joint), the largest speed of the joint: if it is
    0, the default, `taupi.identify` takes that of the logs. c may have either sign.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r").with_friction(curve=1.0)
    >>> terms = ("coulomb", tp.terms.Curve(velocity=2.0))
    >>> state = [0.0, 0.0], [0.6, -1.2], [0.0, 0.0]
    >>> (tp.inverse_dynamics(arm, terms=terms)(*state) - tp.inverse_dynamics(arm)(*state)).round(4).tolist()
    [0.3679, -0.1353]
    """

    share: float = 0.3
    velocity: PerJoint = 0.0
    name: ClassVar[str] = "curve"
    label: ClassVar[str] = "the curve of friction"
    heading: ClassVar[str] = "curve"
    symbol: ClassVar[str] = "c"
    field: ClassVar[str] = "friction.curve"
    rank: ClassVar[int] = 95

    def __post_init__(self) -> None:
        positive("share", self.share)
        object.__setattr__(self, "velocity", checked_per_joint("velocity", self.velocity, "rad/s, m/s", zero=True))

    def at(self, joint: int) -> Curve:
        """Return the term of one joint, by its place `joint` in the robot."""
        return Curve(self.share, value_at("velocity", self.velocity, joint))

    def unit(self, prismatic: bool) -> str:
        """Return the unit of c at a sliding joint (`prismatic`) or at a turning one."""
        return "N" if prismatic else "N m"

    def value(self, joint: Joint) -> Scalar:
        """Return c of `joint`."""
        return joint.friction.curve

    def factor(self, qd: Expression, load: Expression | None) -> Expression:
        """Return exp(-|`qd`| / (share velocity)), by which s is multiplied; `load` does not matter."""
        if not self.velocity:
            raise TaupiError(
                "{velocity} of the term 'curve' is 0, expected the largest speed of the joint (rad/s, m/s).",
                remedy="Give it, as in taupi.terms.Curve(velocity=2.0), or take fit.terms.",
            )
        return cs.exp(-cs.fabs(qd) / self.velocity / self.share)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return sgn(`qd`) times the factor at `qd`; `q` and `qdd` do not matter."""
        return cs.sign(qd) * self.factor(qd, None)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Return |ratio|; the largest speed of a joint that follows at `ratio` is |ratio| times that of its coordinate."""
        return magnitude(ratio)
