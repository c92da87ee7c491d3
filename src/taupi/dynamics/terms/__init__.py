"""What a joint adds to rigid-body dynamics: friction, drives. A term is a file; `TERMS` is the table of their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.elastic import Damping, LinkSide
from taupi.dynamics.terms.offset import Offset
from taupi.dynamics.terms.rotor import Rotor
from taupi.dynamics.terms.spring import Spring
from taupi.dynamics.terms.stribeck import Stribeck
from taupi.dynamics.terms.stribeck_curve import StribeckCurve
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.term import Term
from taupi.dynamics.terms.viscous import Viscous
from taupi.errors import TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact

__all__ = [
    "TERMS",
    "Along",
    "Coulomb",
    "Damping",
    "LinkSide",
    "Offset",
    "Rotor",
    "Spring",
    "Stribeck",
    "StribeckCurve",
    "StribeckFall",
    "StribeckRise",
    "Term",
    "TermsLike",
    "Viscous",
]

TermsLike = Iterable[Term | str] | str

TERMS: dict[str, type] = {
    t.name: t for t in (Viscous, Coulomb, Offset, Rotor, Stribeck, Spring, StribeckRise, StribeckFall)
}


def resolve_terms(terms: TermsLike) -> tuple[Term, ...]:
    """Return terms from their names or as they are, in the order given."""
    result: list[Term] = []
    if not isinstance(terms, Iterable):
        raise TaupiError(f"terms is {terms!r}, expected names such as ('viscous', 'coulomb'), or () for none.")
    for given in (terms,) if isinstance(terms, str) else tuple(terms):
        if isinstance(given, str) and given not in TERMS:
            raise unknown("term", given, TERMS)
        term = TERMS[given]() if isinstance(given, str) else given() if isinstance(given, type) else given
        if not isinstance(term, Term):
            raise TaupiError(f"A term is {term!r}, expected one of {', '.join(TERMS)} or an object with a column.")
        if any(t.name == term.name for t in result):
            raise TaupiError(f"The term {term.name!r} is given twice.")
        result.append(term)
    return tuple(result)


def term_parameters(robot: Robot, terms: Iterable[Term]) -> Parameters:
    """Return the parameters of terms, term after term, one a joint in the order of q, with the robot's own values."""
    entries, values = [], []
    for term in terms:
        if isinstance(term, Along):
            _check_direction(term, robot)
            first = next(i for i, c in enumerate(term.direction) if c)
            entries.append(Parameter(term.owner, term.of.name, term.unit(robot.driving_joints[first].prismatic), first))
            values.append(exact(0))
            continue
        for joint in robot.driving_joints:
            entries.append(Parameter(joint.name, term.name, term.unit(joint.prismatic), robot.joints.index(joint)))
            values.append(exact(term.value(joint), f"{joint.name}.{term.name}"))
    return Parameters(ParameterLayout(tuple(entries)), tuple(values), robot.symbols)


def term_columns(chain: Chain, terms: Iterable[Term], q: Any, qd: Any, qdd: Any) -> Any:
    """Return the columns of terms: a diagonal block (n, n) each, one column for what acts along a direction."""
    return cs.horzcat(SX(chain.n, 0), *(_columns(chain, t, q, qd, qdd) for t in terms))


def _columns(chain: Chain, term: Term, q: Any, qd: Any, qdd: Any) -> Any:
    if isinstance(term, Along):
        c = chain.vector(f"{term.name}.direction", term.direction)
        return c * term.column(cs.dot(c, q), cs.dot(c, qd), cs.dot(c, qdd))
    each = [term.at(i) if hasattr(term, "at") else term for i in range(chain.n)]
    return cs.diag(cs.vertcat(*(t.column(q[i], qd[i], qdd[i]) for i, t in enumerate(each))))


def _check_direction(term: Along, robot: Robot) -> None:
    if len(term.direction) != robot.n:
        raise TaupiError(f"{term.name}: direction has {len(term.direction)} values, expected {robot.n}: one per joint.")


def term_torque(chain: Chain, terms: tuple[Term, ...], q: Any, qd: Any, qdd: Any) -> Any:
    """Return the torque of terms with the robot's own parameters."""
    if not terms:
        return SX.zeros(chain.n)
    parameters = term_parameters(chain.robot, terms)
    values = [chain.scalar(n, v) for n, v in zip(parameters.names, parameters.exact, strict=True)]
    return term_columns(chain, terms, q, qd, qdd) @ cs.vertcat(*values)


def term_inertia(chain: Chain, terms: tuple[Term, ...]) -> Any:
    """Return the diagonal matrix by which terms add to M: their torque for unit acceleration at rest, less that for none."""
    rest, unit = SX.zeros(chain.n), SX.ones(chain.n)
    return cs.diag(term_torque(chain, terms, rest, rest, unit) - term_torque(chain, terms, rest, rest, rest))
