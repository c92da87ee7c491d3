"""Terms of a robot: their parameters, their columns in a regressor, their torque and the inertia that they add.

A joint that follows a coordinate at a ratio c acts on it by virtual work, with c f(c q, c qd, c qdd) times its own parameter.
Most columns only scale, f(c x) c = s f(x) (`Term.through`): the parameter of the coordinate is then the sum of s times those of
the joints that it moves. A joint whose column does not scale, or that several coordinates move, has a column of its own if its
description states the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from taupi.dynamics.chain import Chain
from taupi.dynamics.terms.along import Along
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.dynamics.terms.load import Load
from taupi.dynamics.terms.term import Modulated, Term
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import Robot
from taupi.model.robot_parts import Joint
from taupi.model.scalars import Scalar, exact
from taupi.program.casadi_on_use import cs


@dataclass(frozen=True)
class _Follower:
    """A joint without a coordinate of its own, that states a parameter of a term; `share` is its part in its coordinate's."""

    joint: Joint
    value: Scalar
    share: Scalar | None


def _followers(robot: Robot, term: Term) -> list[_Follower]:
    """Return the joints that follow others and state a parameter of a term."""
    result = []
    for joint in robot.following_joints:
        value = exact(term.value(joint), f"{joint.name}.{term.name}")
        if value != 0:
            result.append(_Follower(joint, value, None if joint.also else term.through(joint.ratio)))
    return result


def _with_columns(robot: Robot, term: Term, terms: Sequence[Term]) -> list[Joint]:
    """Return the joints that follow others and have a column of their own; one that is stated along its drive has that."""
    along = {(t.owner, t.of.name) for t in terms if isinstance(t, Along)}
    joints = [f.joint for f in _followers(robot, term) if f.share is None and (f.joint.name, term.name) not in along]
    if joints and isinstance(term, Modulated):
        raise TaupiError(
            "{joint} is moved by other joints and states friction that changes with load or speed, in a "
            "way that adds up to none of theirs.",
            remedy="Leave {term!r} out of {terms}.",
            joint=joints[0].name,
            term=term.name,
        )
    return joints


def term_parameters(robot: Robot, terms: Iterable[Term], followers: bool = True) -> Parameters:
    """Return the parameters of terms, term after term, with the robot's own values.

    Each term has one parameter per motor in the order of q, which includes the joints that follow it, and then one for
    each joint that follows with a column of its own. Without `followers`, joints that follow others do not count.
    """
    terms = tuple(terms)
    entries: list[Parameter] = []
    values: list[Scalar] = []

    def add(joint: Joint, term: Term, value: Scalar) -> None:
        entries.append(Parameter(joint.name, term.name, term.unit(joint.prismatic), robot.joints.index(joint)))
        values.append(value)

    for term in terms:
        if isinstance(term, Along):
            _check_direction(term, robot)
            first = next(i for i, c in enumerate(term.direction) if c)
            entries.append(Parameter(term.owner, term.of.name, term.unit(robot.slides[first]), first))
            values.append(exact(0))
            continue
        follow = _followers(robot, term) if followers else []
        for k in robot.actuated:
            joint = robot.driving_joints[k]
            value = exact(term.value(joint), f"{joint.name}.{term.name}")
            value += sum(f.share * f.value for f in follow if f.share is not None and f.joint.coordinate == k)
            add(joint, term, value)
        for joint in _with_columns(robot, term, terms) if followers else ():
            add(joint, term, exact(term.value(joint), f"{joint.name}.{term.name}"))
    return Parameters(ParameterLayout(tuple(entries)), tuple(values), robot.symbols)


def follower_parameters(robot: Robot, terms: Iterable[Term]) -> Parameters:
    """Return the parameters of terms at joints that follow others, each by itself, with the robot's own values that are not 0."""
    entries, values = [], []
    for term in terms:
        for f in _followers(robot, term) if not isinstance(term, Along) else ():
            index = robot.joints.index(f.joint)
            entries.append(Parameter(f.joint.name, term.name, term.unit(f.joint.prismatic), index))
            values.append(f.value)
    return Parameters(ParameterLayout(tuple(entries)), tuple(values), robot.symbols)


def follower_columns(chain: Chain, terms: Iterable[Term], q: Vector, qd: Vector, qdd: Vector) -> Matrix:
    """Return the columns of `follower_parameters`, (n, p)."""
    blocks = [SX(chain.n, 0)]
    for term in terms:
        followers = _followers(chain.robot, term) if not isinstance(term, Along) else []
        blocks += [_follower_column(chain, term, f.joint, q, qd, qdd) for f in followers]
    return cs.horzcat(*blocks)


def linear_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return the terms whose columns depend only on the motion of one joint."""
    return tuple(t for t in terms if not isinstance(t, Modulated))


def modulated_terms(terms: Iterable[Term]) -> tuple[Modulated, ...]:
    """Return the terms that change dry friction with speed or load."""
    return tuple(t for t in terms if isinstance(t, Modulated))


def term_columns(
    chain: Chain,
    terms: Iterable[Term],
    q: Vector,
    qd: Vector,
    qdd: Vector,
    load: Vector | None = None,
    followers: bool = True,
) -> Matrix:
    """Return the columns of terms in the order of `term_parameters`, (n, p).

    A term has a block (n, motors), diagonal over motors, and the columns of joints that follow; a term along a direction has one
    column. `load` (n,) is the torque that the gears transmit; without it, terms that depend on it are refused.
    """
    terms = tuple(terms)
    dry = next((t for t in terms if t.name == Coulomb.name), Coulomb())
    own = chain.own_positions(q)
    state = _each(chain, dry, lambda t, i, k: t.column(own[i], qd[k], qdd[k]))
    blocks = [SX(chain.n, 0)]
    for term in terms:
        blocks.append(_columns(chain, term, q, qd, qdd, state, load))
        if followers and not isinstance(term, Along):
            blocks += [_follower_column(chain, term, j, q, qd, qdd) for j in _with_columns(chain.robot, term, terms)]
    return cs.horzcat(*blocks)


def _columns(
    chain: Chain, term: Term, q: Vector, qd: Vector, qdd: Vector, state: Vector, load: Vector | None
) -> Matrix:
    own = chain.own_positions(q)
    if isinstance(term, Along):
        c = chain.vector(f"{term.name}.direction", term.direction)
        turned = sum((c[k] * x for k, x in zip(chain.robot.actuated, own, strict=True)), SX(0))
        return c * term.column(turned, cs.dot(c, qd), cs.dot(c, qdd))
    if isinstance(term, Modulated):
        factor = _each(chain, term, lambda t, _, k: t.factor(qd[k], None if load is None else load[k]))
        return chain.at_motors(state * factor)
    return chain.at_motors(_each(chain, term, lambda t, i, k: t.column(own[i], qd[k], qdd[k])))


def _follower_column(chain: Chain, term: Term, joint: Joint, q: Vector, qd: Vector, qdd: Vector) -> Matrix:
    """Return c f(c^T q, c^T qd, c^T qdd), (n, 1), with c the ratios at which coordinates move the joint.

    Settings that differ from motor to motor are taken from the coordinate that the joint follows first.
    """
    c, turned = SX(chain.n, 1), SX(0)
    for k, ratio in chain.drives_of(joint):
        c[k] = ratio
        turned += ratio * q[chain.robot.position_index(k)]
    single = term.at(chain.robot.actuated.index(joint.coordinate))
    return c * single.column(turned, cs.dot(c, qd), cs.dot(c, qdd))


def _each(chain: Chain, term: Term, function: Callable[[Any, int, int], Expression]) -> Vector:
    """Return the values of a function of the term, the motor's number and its coordinate's number, for each motor, (motors,)."""
    return cs.vertcat(*(function(term.at(i), i, k) for i, k in enumerate(chain.robot.actuated)))


def _check_direction(term: Along, robot: Robot) -> None:
    if len(term.direction) != robot.n:
        raise TaupiError(
            "{term}: {direction} has {got} values, expected {expected}: one per joint.",
            term=term.name,
            got=len(term.direction),
            expected=robot.n,
        )


def term_torque(
    chain: Chain,
    terms: tuple[Term, ...],
    q: Vector,
    qd: Vector,
    qdd: Vector,
    load: Vector | None = None,
    followers: bool = True,
) -> Vector:
    """Return the torque of terms with the robot's own parameters; `load` and `followers` are as in `term_columns`."""
    if not terms:
        return SX.zeros(chain.n)
    parameters = term_parameters(chain.robot, terms, followers)
    return term_columns(chain, terms, q, qd, qdd, load, followers) @ parameter_values(chain, parameters)


def follower_torque(chain: Chain, terms: Iterable[Term], q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return the torque of terms at joints that follow others, with the robot's own parameters."""
    terms = tuple(terms)
    parameters = follower_parameters(chain.robot, terms)
    if not len(parameters):
        return SX.zeros(chain.n)
    return follower_columns(chain, terms, q, qd, qdd) @ parameter_values(chain, parameters)


def parameter_values(chain: Chain, parameters: Parameters) -> Vector:
    """Return the robot's own values of parameters over SX, (p,)."""
    return cs.vertcat(*(chain.scalar(n, v) for n, v in zip(parameters.names, parameters.exact, strict=True)))


def transmitted_torque(
    chain: Chain, terms: tuple[Term, ...], rigid: Vector, q: Vector, qd: Vector, qdd: Vector
) -> Vector:
    """Return l, the torque that the gears transmit: `rigid` (n,), of the links and from outside, and of rotors and springs."""
    return rigid + term_torque(chain, tuple(t for t in terms if t.transmitted), q, qd, qdd)


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
    friction = term_torque(chain, tuple(t for t in without if not t.transmitted), q, qd, rest)
    dry = tuple(t for t in without if t.name == Coulomb.name)
    columns = term_columns(chain, (*dry, *loads), q, qd, rest, SX.ones(chain.n))
    values = parameter_values(chain, term_parameters(chain.robot, loads))
    share = columns[:, columns.shape[1] - len(chain.robot.actuated) * len(loads) :] @ values
    r = tau - friction
    return resisting + r - r / (1 + share * cs.sign(r))


def term_inertia(chain: Chain, terms: tuple[Term, ...]) -> Matrix:
    """Return what terms add to M, (n, n): the derivative of their torque at rest along the acceleration."""
    q, rest, qdd = SX.zeros(chain.robot.nq), SX.zeros(chain.n), SX.sym("qdd", chain.n)
    return cs.jacobian(term_torque(chain, linear_terms(terms), q, rest, qdd), qdd)
