"""What a joint adds to rigid-body dynamics: friction, drives, springs. Each term has a file; `TERMS` has those known by name."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.offset import Offset
from taupi.dynamics.terms.rotor import Rotor
from taupi.dynamics.terms.spring import Spring
from taupi.dynamics.terms.stribeck import Stribeck
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.term import Term
from taupi.dynamics.terms.viscous import Viscous
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact

TermsLike = Iterable[Term | str] | str

TERMS: dict[str, type] = {
    t.name: t for t in (Viscous, Coulomb, Offset, Rotor, Stribeck, Spring, StribeckRise, StribeckFall)
}


def resolve_terms(terms: TermsLike) -> tuple[Term, ...]:
    """Return terms as objects, from names, classes or objects, in the same order."""
    result: list[Term] = []
    if not isinstance(terms, Iterable):
        message = f" is {terms!r}, expected names such as ('viscous', 'coulomb'), or () for none."
        raise TaupiError(Argument("terms"), message)
    for item in (terms,) if isinstance(terms, str) else tuple(terms):
        if isinstance(item, str) and item not in TERMS:
            raise unknown("term", item, TERMS)
        term = TERMS[item]() if isinstance(item, str) else item() if isinstance(item, type) else item
        if not isinstance(term, Term):
            raise TaupiError(f"A term is {term!r}, expected one of {', '.join(TERMS)} or an object with a column.")
        if any(t.name == term.name for t in result):
            raise TaupiError(f"The term {term.name!r} is given twice.")
        result.append(term)
    return tuple(result)


def term_parameters(robot: Robot, terms: Iterable[Term]) -> Parameters:
    """Return the parameters of terms, term after term, one per joint in the order of q, with the robot's own values."""
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


def term_columns(chain: Chain, terms: Iterable[Term], q: Vector, qd: Vector, qdd: Vector) -> Matrix:
    """Return the columns of terms: a diagonal block (n, n) for each, or one column for a term along a direction."""
    return cs.horzcat(SX(chain.n, 0), *(_columns(chain, t, q, qd, qdd) for t in terms))


def _columns(chain: Chain, term: Term, q: Vector, qd: Vector, qdd: Vector) -> Matrix:
    if isinstance(term, Along):
        c = chain.vector(f"{term.name}.direction", term.direction)
        return c * term.column(cs.dot(c, q), cs.dot(c, qd), cs.dot(c, qdd))
    each = [term.at(i) if hasattr(term, "at") else term for i in range(chain.n)]
    return cs.diag(cs.vertcat(*(t.column(q[i], qd[i], qdd[i]) for i, t in enumerate(each))))


def _check_direction(term: Along, robot: Robot) -> None:
    if len(term.direction) != robot.n:
        message = f" has {len(term.direction)} values, expected {robot.n}: one per joint."
        raise TaupiError(f"{term.name}: ", Argument("direction"), message)


def term_torque(chain: Chain, terms: tuple[Term, ...], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return the torque of terms with the robot's own parameters."""
    if not terms:
        return SX.zeros(chain.n)
    parameters = term_parameters(chain.robot, terms)
    values = [chain.scalar(n, v) for n, v in zip(parameters.names, parameters.exact, strict=True)]
    return term_columns(chain, terms, q, qd, qdd) @ cs.vertcat(*values)


def term_inertia(chain: Chain, terms: tuple[Term, ...]) -> Matrix:
    """Return the diagonal matrix that terms add to M: their torque at rest for unit acceleration minus that for none."""
    rest, unit = SX.zeros(chain.n), SX.ones(chain.n)
    return cs.diag(term_torque(chain, terms, rest, rest, unit) - term_torque(chain, terms, rest, rest, rest))
