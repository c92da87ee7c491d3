"""What a joint adds to rigid-body dynamics: friction, drives, springs. Each term has a file; `TERMS` has those known by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from taupi.dynamics.chain import Chain
from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.curve import Curve
from taupi.dynamics.terms.load import Load
from taupi.dynamics.terms.offset import Offset
from taupi.dynamics.terms.rotor import Rotor
from taupi.dynamics.terms.spring import Spring
from taupi.dynamics.terms.stribeck import Stribeck
from taupi.dynamics.terms.stribeck_fall import StribeckFall
from taupi.dynamics.terms.stribeck_rise import StribeckRise
from taupi.dynamics.terms.term import Modulated, Term
from taupi.dynamics.terms.viscous import Viscous
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact
from taupi.program.casadi_on_use import cs

TermsLike = Iterable[Term | str] | str

TERMS: dict[str, type] = {
    t.name: t for t in (Viscous, Coulomb, Offset, Rotor, Stribeck, Spring, StribeckRise, StribeckFall, Load, Curve)
}
# Terms whose torque a gear transmits, like that of the links.
_TRANSMITTED = (Rotor, Spring)


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
    _refuse_without_coulomb(result)
    return tuple(result)


def _refuse_without_coulomb(terms: Sequence[Term]) -> None:
    """Refuse terms that change dry friction if there is no dry friction."""
    names = [t.name for t in terms]
    for term in terms:
        if isinstance(term, Modulated) and Coulomb.name not in names:
            raise TaupiError(
                f"The term {term.name!r} changes dry friction, and there is none.",
                remedy=("Add 'coulomb' to ", Argument("terms"), "."),
            )


def term_parameters(robot: Robot, terms: Iterable[Term]) -> Parameters:
    """Return the parameters of terms, term after term, one per joint in the order of q, with the robot's own values."""
    entries, values = [], []
    for term in terms:
        if isinstance(term, Along):
            _check_direction(term, robot)
            first = next(i for i, c in enumerate(term.direction) if c)
            entries.append(Parameter(term.owner, term.of.name, term.unit(robot.slides[first]), first))
            values.append(exact(0))
            continue
        for joint in (robot.driving_joints[k] for k in robot.actuated):
            entries.append(Parameter(joint.name, term.name, term.unit(joint.prismatic), robot.joints.index(joint)))
            values.append(exact(term.value(joint), f"{joint.name}.{term.name}"))
    return Parameters(ParameterLayout(tuple(entries)), tuple(values), robot.symbols)


def linear_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the terms whose columns depend only on the motion of one joint."""
    return tuple(t for t in terms if not isinstance(t, Modulated))


def modulated_terms(terms: Iterable[Term]) -> tuple[Modulated, ...]:
    """Return the terms that change dry friction with speed or load."""
    return tuple(t for t in terms if isinstance(t, Modulated))


def is_transmitted(term: Term) -> bool:
    """Return whether the torque of a term passes the gear, and so is part of the load."""
    return isinstance(term.of if isinstance(term, Along) else term, _TRANSMITTED)


def term_columns(
    chain: Chain, terms: Iterable[Term], q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None
) -> Matrix:
    """Return the columns of terms: a block (n, motors) for each, diagonal over motors, or one column along a direction.

    `load` (n,) is the torque that the gears transmit; without it, terms that depend on it are refused.
    """
    terms = tuple(terms)
    dry = next((t for t in terms if t.name == Coulomb.name), Coulomb())
    own = chain.own_positions(q)
    state = _each(chain, dry, lambda t, i, k: t.column(own[i], qd[k], qdd[k]))
    blocks = [SX(chain.n, 0)]
    for term in terms:
        blocks.append(_columns(chain, term, q, qd, qdd, state, load))
    return cs.horzcat(*blocks)


def _columns(
    chain: Chain, term: Term, q: Vector, qd: Vector, qdd: Vector, state: Vector, load: Vector | None
) -> Matrix:
    if isinstance(term, Along):
        c = chain.vector(f"{term.name}.direction", term.direction)
        turned = sum((c[k] * x for k, x in zip(chain.robot.actuated, chain.own_positions(q), strict=True)), SX(0))
        return c * term.column(turned, cs.dot(c, qd), cs.dot(c, qdd))
    if isinstance(term, Modulated):
        factor = _each(chain, term, lambda t, _, k: t.factor(qd[k], None if load is None else load[k]))
        return chain.at_motors(state * factor)
    own = chain.own_positions(q)
    return chain.at_motors(_each(chain, term, lambda t, i, k: t.column(own[i], qd[k], qdd[k])))


def _each(chain: Chain, term: Term, function: Callable[[Any, int, int], Expression]) -> Vector:
    """Return the values of a function of the term, the motor's number and its coordinate's number, for each motor, (motors,)."""
    values = []
    for i, k in enumerate(chain.robot.actuated):
        values.append(function(term.at(i) if hasattr(term, "at") else term, i, k))
    return cs.vertcat(*values)


def _check_direction(term: Along, robot: Robot) -> None:
    if len(term.direction) != robot.n:
        message = f" has {len(term.direction)} values, expected {robot.n}: one per joint."
        raise TaupiError(f"{term.name}: ", Argument("direction"), message)


def term_torque(
    chain: Chain, terms: tuple[Term, ...], q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None
) -> Vector:
    """Return the torque of terms with the robot's own parameters; `load` is as in `term_columns`."""
    if not terms:
        return SX.zeros(chain.n)
    return term_columns(chain, terms, q, qd, qdd, load) @ _values(chain, terms)


def _values(chain: Chain, terms: Sequence[Term]) -> Vector:
    parameters = term_parameters(chain.robot, terms)
    return cs.vertcat(*(chain.scalar(n, v) for n, v in zip(parameters.names, parameters.exact, strict=True)))


def transmitted_torque(
    chain: Chain, terms: tuple[Term, ...], rigid: Vector, q: Vector, qd: Vector, qdd: Vector
) -> Vector:
    """Return l, the torque that the gears transmit: `rigid` (n,), of the links and from outside, and of rotors and springs."""
    return rigid + term_torque(chain, tuple(t for t in terms if is_transmitted(t)), q, qd, qdd)


def resisting_torque(chain: Chain, terms: tuple[Term, ...], q: Vector, qd: Vector, tau: Vector) -> Vector:
    """Return what terms take from a joint torque `tau` at zero acceleration: friction, offsets, springs.

    Friction that grows with the load l is part of tau = l + mu |l| s + (other friction), which is solved for l, joint by joint:
    with r = tau - (other friction), l = r / (1 + mu s sgn r).
    """
    rest = SX.zeros(chain.n)
    loads = tuple(t for t in terms if isinstance(t, Load))
    without = tuple(t for t in terms if t not in loads)
    resisting = term_torque(chain, without, q, qd, rest)
    if not loads:
        return resisting
    friction = term_torque(chain, tuple(t for t in without if not is_transmitted(t)), q, qd, rest)
    dry = tuple(t for t in without if t.name == Coulomb.name)
    share = term_columns(chain, (*dry, *loads), q, qd, rest, SX.ones(chain.n))
    share = share[:, len(chain.robot.actuated) * len(dry) :] @ _values(chain, loads)
    r = tau - friction
    return resisting + r - r / (1 + share * cs.sign(r))


def term_inertia(chain: Chain, terms: tuple[Term, ...]) -> Matrix:
    """Return the diagonal matrix that terms add to M: their torque at rest for unit acceleration minus that for none."""
    rest, unit, terms = SX.zeros(chain.n), SX.ones(chain.n), linear_terms(terms)
    return cs.diag(term_torque(chain, terms, rest, rest, unit) - term_torque(chain, terms, rest, rest, rest))
