"""Dry friction without its jump at standstill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import casadi as cs

from taupi.dynamics.terms import Coulomb, Stribeck, StribeckFall, StribeckRise, Term
from taupi.dynamics.terms.elastic import LinkSide
from taupi.dynamics.types import Expression
from taupi.model.robot import Joint


@dataclass(frozen=True, slots=True)
class Smooth:
    """A friction `term` with its jump at standstill smoothed: sgn(qd) becomes tanh(qd / `velocity`), in rad/s or m/s."""

    term: Term
    velocity: float

    @property
    def name(self) -> str:
        """The term's own name."""
        return self.term.name

    def at(self, joint: int) -> Term:
        """Return the term of one `joint`, by its number."""
        return smoothed(cast(Term, self.term.at(joint)), self.velocity) if hasattr(self.term, "at") else self

    def unit(self, prismatic: bool) -> str:
        """Return the term's own unit, of a `prismatic` or a turning joint."""
        return self.term.unit(prismatic)

    def value(self, joint: Joint) -> Any:
        """Return the term's own parameter of a `joint`."""
        return self.term.value(joint)

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return tanh(`qd` / velocity) times the column at `q`, |qd|, `qdd`: away from standstill, the term's own column."""
        return cs.tanh(qd / self.velocity) * self.term.column(q, cs.fabs(qd), qdd)


def smoothed(term: Term, velocity: float) -> Term:
    """Return a term without a jump at standstill; terms without one stay as they are, and all do for a velocity of 0."""
    if not velocity:
        return term
    if hasattr(term, "smooth"):
        return cast(Term, term.smooth(velocity))
    if isinstance(term, LinkSide):
        return cast(Term, LinkSide(smoothed(term.of, velocity)))
    jumps = isinstance(term, Coulomb | Stribeck | StribeckRise | StribeckFall) and not _is_smooth(term)
    return cast(Term, Smooth(term, velocity)) if jumps else term


def _is_smooth(term: Term) -> bool:
    """Return whether dry friction has a width of its own, at every joint."""
    widths = term.velocity if isinstance(term, Coulomb) else 0.0
    return all(widths) if isinstance(widths, tuple) else bool(widths)
