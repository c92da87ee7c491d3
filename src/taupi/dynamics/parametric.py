"""Programs of a robot whose parameters are an input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from taupi.dynamics.chain import require_robot
from taupi.dynamics.terms import Rotor, Term, resolve_terms, term_parameters
from taupi.errors import TaupiError
from taupi.model.joint_data import FRICTION
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.program.transformations import constants_as_input


def parametric(builder: Callable[..., Program], robot: Robot, **options: Any) -> Program:
    """Return the program that `builder` makes for `robot`, with the parameters pi as one more input.

    pi has ten values per link, then one per joint for each of the `terms` among the options: it is in the order of
    `taupi.regressor(robot, terms=...).parameters`, so that tau(q, qd, qdd, pi) = Y(q, qd, qdd) pi. A recursion over pi takes
    about a third of the operations of that product.

    Args:
        builder: A function that makes programs of robots, such as `taupi.inverse_dynamics` or `taupi.forward_dynamics`.
        robot: The robot.
        **options: Options of the builder.

    Returns:
        The builder's program with the last input pi (p,).

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> torque = tp.parametric(tp.inverse_dynamics, arm)
    >>> q, qd, qdd = [0.1, 0.2], [0.3, 0.4], [0.5, 0.6]
    >>> Y = tp.regressor(arm)(q, qd, qdd)
    >>> bool(abs(torque(q, qd, qdd, arm.parameters.values) - Y @ arm.parameters.values).max() < 1e-12)
    True
    """
    require_robot(robot)
    if not callable(builder) or isinstance(builder, Program):
        raise TaupiError(
            "{builder} is {got}, expected a function such as taupi.inverse_dynamics.", got=type(builder).__name__
        )
    terms = resolve_terms(options.get("terms", ()))
    parameters = robot.parameters + term_parameters(robot, terms)
    taken = {name for name, _ in robot.symbols}
    symbols = [f"pi_{k + 1}" if f"pi_{k + 1}" not in taken else f"own_pi_{k + 1}" for k in range(len(parameters))]
    links = len(robot.parameters)
    symbolic = robot.with_parameters(symbols[:links])
    entries = parameters.layout.entries[links:]
    for term in terms:
        own = {e.owner: s for e, s in zip(entries, symbols[links:], strict=True) if e.kind == term.name}
        symbolic = _with_term(symbolic, term, own)
    port = Port("pi", (len(parameters),), tuple(parameters.names), "one value per parameter")
    return constants_as_input(builder(symbolic, **options), port, symbols)


def _with_term(robot: Robot, term: Term, symbols: Mapping[str, str]) -> Robot:
    """Return the robot with symbols for the parameters of a term, by joint; joints that follow without one have none."""
    values = {j.name: 0 for j in robot.following_joints} | dict(symbols)
    if term.name in FRICTION:
        return robot.with_transmissions(joints=list(values), **{term.name: list(values.values())})
    if isinstance(term, Rotor) and not robot.elastic_joints:
        return robot.with_transmissions(joints=list(values), gear_ratio=1, rotor_inertia=list(values.values()))
    elastic = " of a robot with elastic joints" if isinstance(term, Rotor) else ""
    raise TaupiError(
        "The term {term!r}{elastic} is not part of a robot's description, so its parameters cannot be an input.",
        remedy="Use taupi.regressor(robot, terms=...).times().",
        term=term.name,
        elastic=elastic,
    )
