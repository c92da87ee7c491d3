"""Friction that grows with the torque that a gear transmits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.dynamics.terms.term import Modulated, Sign, register
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar, is_symbolic
from taupi.program.casadi_on_use import cs


@register
@dataclass(frozen=True, slots=True)
class Load(Modulated):
    """tau = mu |l| s: a gear loses the share mu, from 0 to below 1, of the torque l that it transmits (Bittencourt et al. 2010).

    s is the state of the Coulomb term of the same joint: sgn(qd), tanh(qd / v), or with a memory. l is its torque without
    friction and offset: M qdd + C qd + g, rotors, springs, and what acts from outside. It depends on the other parameters, so
    only functions that know it support this term: inverse and forward dynamics, rigid plants, `taupi.identify`; `taupi.regressor`
    takes l as one more input, `load`. Adaptive laws, which need a torque that is linear in the parameters, do not support it.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r").with_friction(load=[0.1, 0.0])
    >>> state = [0.3, 0.2], [0.5, -0.5], [0.0, 0.0]
    >>> free, lossy = (tp.inverse_dynamics(arm, terms=terms)(*state) for terms in ((), ("coulomb", "load")))
    >>> bool(abs(lossy[0] - free[0] - 0.1 * abs(free[0])) < 1e-12), bool(lossy[1] == free[1])
    (True, True)
    """

    name: ClassVar[str] = "load"
    label: ClassVar[str] = "friction by load"
    heading: ClassVar[str] = "share of the load"
    symbol: ClassVar[str] = r"\mu"
    sign: ClassVar[Sign] = "positive"
    field: ClassVar[str] = "friction.load"
    rank: ClassVar[int] = 90

    def unit(self, prismatic: bool) -> str:
        """Return "1": mu has no unit, whether the joint slides (`prismatic`) or turns."""
        return "1"

    def value(self, joint: Joint) -> Scalar:
        """Return mu of `joint`; refuse one that is not from 0 to below 1, since such a gear would drive itself, or lock."""
        mu = joint.friction.load
        if not is_symbolic(mu) and not 0 <= mu < 1:
            raise TaupiError(
                "{load} of {joint} is {got:g}, expected a share from 0 to below 1.", joint=joint.name, got=float(mu)
            )
        return mu

    def factor(self, qd: Expression, load: Expression | None) -> Expression:
        """Return |`load`|, by which s is multiplied, or refuse None, an unknown load; `qd` does not matter."""
        if load is None:
            raise TaupiError(
                "The term 'load' is not linear in the parameters. Only inverse and forward dynamics, rigid "
                "plants, taupi.identify and taupi.regressor support it.",
                remedy="Leave it out of {terms}: its torque then acts as a disturbance.",
            )
        return cs.fabs(load)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Refuse: the column needs the torque that the gear transmits, and not only `q`, `qd` and `qdd` of the joint."""
        return self.factor(qd, None)

    def through(self, ratio: Scalar) -> Scalar | None:
        """Refuse: the load of a joint that follows at `ratio` is only a part of that of its coordinate."""
        raise TaupiError(
            "A joint that follows another states friction that grows with its load, which is only a part "
            "of the torque that moves both of them.",
            remedy="Set its load to 0, or leave 'load' out of {terms}.",
        )
