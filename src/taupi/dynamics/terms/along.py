"""A term that acts along a combination of coordinates: a motor that several joints turn, a joint that several motors move."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from taupi.dynamics.terms.term import Term
from taupi.errors import TaupiError
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar, exact


@dataclass(frozen=True, slots=True)
class Along:
    """tau = c f(c^T q, c^T qd, c^T qdd) times one parameter, with f another term's column and c the `direction` (n,).

    By virtual work: what acts on the angle c^T q with a torque u acts on the coordinates with c u. `owner` names what it is
    that turns by c^T q, such as "motor6".

    >>> import taupi as tp
    >>> friction = tp.Along("motor2", tp.Viscous(), (1, 1))
    >>> Y = tp.regressor(tp.load("elbow2r"), terms=("viscous", friction))
    >>> Y.parameters.names[-1], Y([0, 0], [0.5, 0.25], [0, 0])[:, -1].tolist()
    ('motor2.viscous', [0.75, 0.75])
    """

    owner: str
    of: Term
    direction: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.of, Term) or isinstance(self.of, Along):
            raise TaupiError(f"of is {self.of!r}, expected a term such as taupi.Viscous().")
        entries = tuple(exact(c, "direction") for c in self.direction)
        if not any(entries):
            raise TaupiError("direction is zero everywhere, expected the coordinates that turn it.")
        object.__setattr__(self, "direction", entries)

    @property
    def name(self) -> str:
        """The owner's and the term's name."""
        return f"{self.owner}.{self.of.name}"

    def unit(self, prismatic: bool) -> str:
        """Return the unit of the term."""
        return self.of.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state nothing about it."""
        return Fraction(0)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the entry of the term itself, of the angle c^T q."""
        return self.of.column(q, qd, qdd)
