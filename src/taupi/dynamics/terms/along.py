"""A term along a combination of coordinates: at a motor that several joints turn, or a joint that several motors move."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from taupi.dynamics.terms.term import Term, as_term
from taupi.dynamics.types import Expression
from taupi.errors import TaupiError
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar, exact


@dataclass(frozen=True, slots=True)
class Along(Term):
    """tau = c f(c^T q, c^T qd, c^T qdd) times one parameter, with f the column of the term `of` and c the `direction` (n,).

    By virtual work, a torque u on the angle c^T q acts on the coordinates with c u. `owner` is the name of what turns by c^T q,
    such as "motor6".

    >>> import taupi as tp
    >>> friction = tp.terms.Along("motor2", tp.terms.Viscous(), (1, 1))
    >>> Y = tp.regressor(tp.load("elbow2r"), terms=("viscous", friction))
    >>> Y.parameters.names[-1], Y([0, 0], [0.5, 0.25], [0, 0])[:, -1].tolist()
    ('motor2.viscous', [0.75, 0.75])
    """

    owner: str
    of: Term
    direction: tuple[Scalar, ...]
    on_drives: ClassVar[bool] = False

    def __post_init__(self) -> None:
        term = as_term(self.of)
        if term is None or isinstance(term, Along):
            raise TaupiError("{of} is {got!r}, expected a term such as taupi.terms.Viscous().", got=self.of)
        object.__setattr__(self, "of", term)
        entries = tuple(exact(c, "direction") for c in self.direction)
        if not any(entries):
            raise TaupiError("{direction} is zero everywhere, expected the coordinates that turn it.")
        object.__setattr__(self, "direction", entries)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the owner and of the term: `motor6.viscous`."""
        return f"{self.owner}.{self.of.name}"

    @property
    def transmitted(self) -> bool:  # type: ignore[override]
        """Whether the gear transmits the torque of the term."""
        return self.of.transmitted

    @property
    def needs_speed(self) -> bool:  # type: ignore[override]
        """Whether its torque depends on speed."""
        return self.of.needs_speed

    def unit(self, prismatic: bool) -> str:
        """Return the term's unit where the first joint of the direction slides (`prismatic`) or turns."""
        return self.of.unit(prismatic)

    def value(self, joint: Joint) -> Scalar:
        """Return 0: descriptions state no such parameter for `joint`."""
        return Fraction(0)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the term's entry for `q`, `qd`, `qdd`, which here are the angle c^T q and its derivatives."""
        return self.of.column(q, qd, qdd)
