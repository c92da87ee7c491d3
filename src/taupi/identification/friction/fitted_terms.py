"""The joint terms of a fit: those asked for, the same along coupled drives, and the shapes of dry friction."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.terms import (
    Along,
    Coulomb,
    Curve,
    Foreign,
    Term,
    TermsLike,
    linear_terms,
    modulated_terms,
    resolve_terms,
)
from taupi.dynamics.terms.elastic import LinkSide
from taupi.dynamics.terms.term import value_at
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identification.row_layout import RowLayout
from taupi.model.robot import Robot
from taupi.model.scalars import Scalar
from taupi.signals.mapping.columns import Columns, ColumnsLike

Direction = tuple[
    str, tuple[Scalar | float, ...]
]  # the name of a coupled joint or motor, and its combination of coordinates


def resolve_fit_terms(terms: TermsLike, elastic: bool) -> tuple[Term, ...]:
    """Return terms from their names, in the order of the base parameters.

    For an elastic robot: motors, springs, links. Else friction that depends on load or bends with speed comes last.
    """
    if not elastic:
        resolved = resolve_terms(terms)
        return (*linear_terms(resolved), *modulated_terms(resolved))
    from taupi.dynamics.drives import resolve_sides

    sides = resolve_sides(terms)
    return (*sides.motor, *sides.spring[1:], *sides.link)


def coupled_directions(robot: Robot, columns: ColumnsLike) -> tuple[Direction, ...]:
    """Return the directions of joints or motors that several coordinates move, and that have friction of their own.

    For a robot in motor coordinates, these are the joints that several motors move. For a log in joint coordinates, read by a
    mapping with `motor.coupling`, they are the motors that several joints turn, theta = C^-1 q.
    """
    from taupi.model.coupling import coupling_of

    directions: list[Direction] = []
    for joint, row in zip(robot.joints, coupling_of(robot), strict=True):
        if sum(c != 0 for c in row) > 1:
            name = joint.name if joint.mimic else f"{joint.name}_joint"
            directions.append((name, tuple(row)))
    motor = Columns.of(columns).motor
    if motor is not None and motor.coupling:
        motor.matrices(robot.n)  # refuses a coupling that has no inverse
        inverse = np.linalg.inv(np.array(motor.coupling, dtype=float))
        for k, row in enumerate(inverse):
            clean = np.where(np.abs(row) > 1e-9 * np.abs(row).max(), row, 0.0)
            if np.count_nonzero(clean) > 1:
                directions.append((f"motor{k + 1}", tuple(float(c) for c in clean)))
    return tuple(_without_multiples(directions))


def _without_multiples(directions: Sequence[Direction]) -> list[Direction]:
    """Return the directions without those that are multiples of an earlier one."""
    distinct: list[Direction] = []
    for name, c in directions:
        unit = np.array([float(v) for v in c])
        unit = unit / np.linalg.norm(unit)
        others = (np.array([float(v) for v in d]) for _, d in distinct)
        if all(abs(abs(unit @ o) / np.linalg.norm(o) - 1) > 1e-9 for o in others):
            distinct.append((name, c))
    return distinct


def with_coupled_terms(terms: Sequence[Term], directions: Sequence[Direction]) -> tuple[Term, ...]:
    """Return the terms, with friction and inertia along each direction; an offset there is already an offset of the joints."""
    along = [Along(name, t, c) for name, c in directions for t in terms if t.on_drives]
    return (*linear_terms(terms), *along, *modulated_terms(terms))


Shape = tuple[float, float]  # the velocity and the distance of a Coulomb term
TermData = str | dict[str, Any]  # a term as plain data


@dataclass(frozen=True)
class DryPart:
    """Dry friction of one owner: its parameter, the direction (rows,) of the velocity it opposes, and its term."""

    owner: str
    parameter: str
    direction: np.ndarray
    term: Coulomb


def coulomb_of(term: Term) -> Coulomb | None:
    """Return the Coulomb friction in a term of a joint, of a link or along a direction; None for other terms."""
    inner = term.of if isinstance(term, Along | LinkSide) else term
    return inner if isinstance(inner, Coulomb) else None


def _with_coulomb(term: Term, coulomb: Coulomb) -> Term:
    """Return a term of Coulomb friction with another shape."""
    return dataclasses.replace(term, of=coulomb) if isinstance(term, Along | LinkSide) else coulomb


def dry_friction_parts(terms: Sequence[Term], layout: RowLayout) -> list[DryPart]:
    """Return all dry friction, owner by owner: of joints (their motors), of links behind springs, of coupled drives."""
    parts: list[DryPart] = []
    joints, unit = layout.robot.joint_names, np.eye(layout.robot.n)
    for term in terms:
        coulomb = coulomb_of(term)
        if coulomb is None:
            continue
        if isinstance(term, Along):
            direction = layout.on_motors(np.array([float(c) for c in term.direction]))
            parts.append(DryPart(term.owner, f"{term.owner}.{coulomb.name}", direction, coulomb.at(0)))
            continue
        directions = layout.on_links(unit) if isinstance(term, LinkSide) else layout.on_motors(unit)
        owners = [f"{j}.link" for j in joints] if isinstance(term, LinkSide) else list(joints)
        for i, (owner, joint, direction) in enumerate(zip(owners, joints, directions, strict=True)):
            parts.append(DryPart(owner, f"{joint}.{term.name}", direction, coulomb.at(i)))
    return parts


def with_friction_shapes(terms: Sequence[Term], layout: RowLayout, shapes: Mapping[str, Shape]) -> tuple[Term, ...]:
    """Return the terms with the shapes of their dry friction, by owner; a term that states its own shape keeps it."""

    def shape(term: Term) -> Term:
        coulomb = coulomb_of(term)
        if coulomb is None or _states_shape(coulomb):
            return term
        own = [shapes[part.owner] for part in dry_friction_parts((term,), layout)]
        return _with_coulomb(term, Coulomb(*own[0]) if isinstance(term, Along) else Coulomb(*zip(*own, strict=True)))

    return tuple(shape(term) for term in terms)


def unshaped_friction(terms: Sequence[Term], layout: RowLayout) -> dict[str, np.ndarray]:
    """Return the directions (rows,), by owner, of the dry friction that states no shape of its own."""
    unshaped = [t for t in terms if (coulomb := coulomb_of(t)) is not None and not _states_shape(coulomb)]
    return {part.owner: part.direction for part in dry_friction_parts(unshaped, layout)}


def _states_shape(term: Coulomb) -> bool:
    return bool(np.any(term.velocity) or np.any(term.distance))


def friction_widths(slow: float | Sequence[float], n: int) -> np.ndarray:
    """Return `slow` as speeds (n,), or refuse it."""
    speeds = np.asarray(slow, dtype=float)
    if speeds.shape not in ((), (n,)) or not np.isfinite(speeds).all() or (speeds < 0).any():
        raise TaupiError(
            "{slow} is {got!r}, expected a speed of at least 0, or one for each of {n} joints.", got=slow, n=n
        )
    return np.broadcast_to(speeds, (n,))


def without_shapes(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with dry friction as sgn(qd): which parameters can be identified does not depend on its shape."""
    unbent = (Curve() if isinstance(term, Curve) else term for term in terms)
    return tuple(term if coulomb_of(term) is None else _with_coulomb(term, Coulomb()) for term in unbent)


def with_curve_speeds(terms: Sequence[Term], speeds: Sequence[float]) -> tuple[Term, ...]:
    """Return the terms, with the largest speed of each joint for which a curve states none."""
    return tuple(
        Curve(term.share, tuple(value_at("velocity", term.velocity, i) or v for i, v in enumerate(speeds)))
        if isinstance(term, Curve) and not np.all(term.velocity)
        else term
        for term in terms
    )


def base_with_terms(
    robot: Robot,
    terms: Sequence[Term],
    base: BaseParameters | None = None,
    elastic: bool = False,
    coupling: bool = True,
) -> BaseParameters:
    """Return the base parameters with these terms: `base`, or computed; the shapes of dry friction do not change them.

    For an elastic robot their standard parameters are ordered link by link, ten each, followed by those of the joints.
    """
    unshaped = without_shapes(terms)
    if base is None:
        base = base_parameters(robot, terms=unshaped, elastic=elastic, coupling=coupling)
    matches = isinstance(base, BaseParameters) and base.robot == robot and base.elastic == elastic
    if not matches or without_shapes(base.terms) != unshaped:
        call = "taupi.base_parameters(robot, terms=terms" + (", elastic=True)" if elastic else ")")
        raise TaupiError("{base} is for another robot or other terms, expected {call}.", call=call)
    return dataclasses.replace(_link_by_link(base) if elastic else base, terms=tuple(terms))


def _link_by_link(base: BaseParameters) -> BaseParameters:
    """Return the same base parameters over standard parameters ordered link by link, instead of by kind as in the document."""
    from taupi.dynamics.drives import elastic_parameters, resolve_sides

    by_link = elastic_parameters(base.robot, resolve_sides(base.terms))
    place = {name: k for k, name in enumerate(by_link.names)}
    order = [place[name] for name in base.standard.names]
    columns = tuple(order[k] for k in base.columns)
    rows = tuple(tuple((order[k], c) for k, c in row) for row in base.rows)
    return dataclasses.replace(base, standard=by_link, columns=columns, rows=rows)


def term_to_dict(term: Term) -> TermData:
    """Return a term as plain data: its name, or a mapping with its settings."""
    if isinstance(term, Along):
        direction = [str(c) for c in term.direction]
        return {"name": "along", "owner": term.owner, "of": term_to_dict(term.of), "direction": direction}
    if isinstance(term, LinkSide):
        return {"name": "link", "of": term_to_dict(term.of)}
    own: object = term.term if isinstance(term, Foreign) else term
    settings: dict[str, object] = {}
    if dataclasses.is_dataclass(own) and not isinstance(own, type):
        settings = dataclasses.asdict(own)
    return {"name": term.name, **settings} if settings else term.name
