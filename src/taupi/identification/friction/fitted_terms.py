"""Which terms a fit has: those asked for, the same for coupled drives, and dry friction with its shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.drives import elastic_parameters, resolve_sides
from taupi.dynamics.terms import Along, Coulomb, Damping, LinkSide, Offset, Spring, Term, TermsLike, resolve_terms
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identification.equations import Equations
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot
from taupi.signals.columns import Columns

Direction = tuple[str, tuple[Any, ...]]


def resolved(terms: TermsLike, elastic: bool) -> tuple[Term, ...]:
    """Return terms from their names, in the order of base parameters: of an elastic robot, motors, springs, links."""
    if not elastic:
        return resolve_terms(terms)
    sides = resolve_sides(terms)
    return (*sides.motor, *sides.spring[1:], *sides.link)


def coupled_directions(robot: Robot, columns: Any) -> tuple[Direction, ...]:
    """Return what turns by a combination of coordinates and has friction of its own, by name.

    For a robot in motor coordinates: the joints that several motors move. For a log that a mapping with `motor.coupling`
    brings to the joints: the motors that several joints turn, theta = C^-1 q.
    """
    found: list[Direction] = []
    for joint, row in zip(robot.joints, coupling_of(robot), strict=True):
        if sum(c != 0 for c in row) > 1:
            name = joint.name if joint.mimic else f"{joint.name}_joint"
            found.append((name, tuple(row)))
    settled = Columns.of(columns)
    if settled.motor is not None and settled.motor.coupling:
        settled.motor.matrices(robot.n)  # says what is wrong with it
        inverse = np.linalg.inv(np.array(settled.motor.coupling, dtype=float))
        for k, row in enumerate(inverse):
            clean = np.where(np.abs(row) > 1e-9 * np.abs(row).max(), row, 0.0)
            if np.count_nonzero(clean) > 1:
                found.append((f"motor{k + 1}", tuple(float(c) for c in clean)))
    return tuple(_different(found))


def _different(found: Sequence[Direction]) -> list[Direction]:
    """Return the directions that are not one another's multiples."""
    kept: list[Direction] = []
    for name, c in found:
        unit = np.array([float(v) for v in c])
        unit = unit / np.linalg.norm(unit)
        others = (np.array([float(v) for v in d]) for _, d in kept)
        if all(abs(abs(unit @ o) / np.linalg.norm(o) - 1) > 1e-9 for o in others):
            kept.append((name, c))
    return kept


def with_directions(terms: Sequence[Term], directions: Sequence[Direction]) -> tuple[Term, ...]:
    """Return the terms, and each that dissipates or stores along each direction; an offset there is one of the joints'."""
    single = (Offset, Spring, Along, LinkSide, Damping)
    more = [Along(name, t, c) for name, c in directions for t in terms if not isinstance(t, single)]
    return (*terms, *more)


Shape = tuple[float, float]  # the velocity and the distance of a Coulomb term


@dataclass(frozen=True)
class DryPart:
    """Dry friction of one owner: its parameter, the direction (rows,) of the speed it opposes, and its term."""

    owner: str
    parameter: str
    direction: np.ndarray
    term: Coulomb


def dry(term: Term) -> Coulomb | None:
    """Return the dry friction that a term is, of a joint, a link or along a direction; None for other terms."""
    of = term.of if isinstance(term, Along | LinkSide) else term
    return of if isinstance(of, Coulomb) else None


def dry_parts(terms: Sequence[Term], rows: Equations) -> list[DryPart]:
    """Return all dry friction, owner by owner: of joints (their motors), of links behind springs, of coupled drives."""
    found: list[DryPart] = []
    joints, each = rows.robot.joint_names, np.eye(rows.robot.n)
    for t in terms:
        of = dry(t)
        if of is None:
            continue
        if isinstance(t, Along):
            direction = rows.on_motors(np.array([float(c) for c in t.direction]))
            found.append(DryPart(t.owner, f"{t.owner}.{of.name}", direction, of.at(0)))
            continue
        where = rows.on_links(each) if isinstance(t, LinkSide) else rows.on_motors(each)
        owners = [f"{j}.link" for j in joints] if isinstance(t, LinkSide) else list(joints)
        rest = zip(owners, joints, where, strict=True)
        found += [DryPart(o, f"{j}.{t.name}", d, of.at(i)) for i, (o, j, d) in enumerate(rest)]
    return found


def shaped(terms: Sequence[Term], rows: Equations, shapes: Mapping[str, Shape]) -> tuple[Term, ...]:
    """Return the terms with the shapes of their dry friction, by owner; a term that states its own keeps it."""

    def settled(t: Term) -> Term:
        of = dry(t)
        if of is None or _stated(of):
            return t
        mine = [shapes[part.owner] for part in dry_parts((t,), rows)]
        made = Coulomb(*mine[0]) if isinstance(t, Along) else Coulomb(*zip(*mine, strict=True))
        return dataclasses.replace(t, of=made) if isinstance(t, Along | LinkSide) else made

    return tuple(settled(t) for t in terms)


def open_friction(terms: Sequence[Term], rows: Equations) -> dict[str, np.ndarray]:
    """Return the directions (rows,), by owner, of dry friction that states no shape of its own."""
    still_open = [t for t in terms if (of := dry(t)) is not None and not _stated(of)]
    return {part.owner: part.direction for part in dry_parts(still_open, rows)}


def _stated(t: Coulomb) -> bool:
    return bool(np.any(t.velocity) or np.any(t.distance))


def given_widths(slow: Any, n: int) -> np.ndarray:
    """Return `slow` as speeds (n,), or say what is wrong with it."""
    given = np.asarray(slow, dtype=float)
    if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
        raise TaupiError(f"slow is {slow!r}, expected a speed of at least 0, or one for each of {n} joints.")
    return np.broadcast_to(given, (n,))


def plain(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with Coulomb friction as sgn(qd): what can be identified does not depend on how smooth it is."""

    def simple(t: Term) -> Term:
        if dry(t) is None:
            return t
        return dataclasses.replace(t, of=Coulomb()) if isinstance(t, Along | LinkSide) else Coulomb()

    return tuple(simple(t) for t in terms)


def basis_of(
    robot: Robot,
    terms: Sequence[Term],
    base: BaseParameters | None = None,
    elastic: bool = False,
    coupling: bool = True,
) -> BaseParameters:
    """Return base parameters with these terms; those of plain terms, or `base` if given, are the same combinations.

    Of an elastic robot their standard parameters are ten a link, link by link as everywhere, then those of the joints.
    """
    simple = plain(terms)
    found = base
    if found is None:
        found = base_parameters(robot, terms=simple, elastic=elastic, coupling=coupling)
    own = isinstance(found, BaseParameters) and found.robot == robot and found.elastic == elastic
    if not own or plain(found.terms) != simple:
        asked = "taupi.base_parameters(robot, terms=terms" + (", elastic=True)" if elastic else ")")
        raise TaupiError(f"base is for another robot or other terms, expected {asked}.")
    found = _link_by_link(found) if elastic else found
    return dataclasses.replace(found, terms=tuple(terms))


def _link_by_link(base: BaseParameters) -> BaseParameters:
    """Return the same base parameters over standard parameters that go link by link, in place of the document's order."""
    natural = elastic_parameters(base.robot, resolve_sides(base.terms))
    place = {name: k for k, name in enumerate(natural.names)}
    moved = [place[name] for name in base.standard.names]
    columns = tuple(moved[k] for k in base.columns)
    rows = tuple(tuple((moved[k], c) for k, c in row) for row in base.rows)
    return dataclasses.replace(base, standard=natural, columns=columns, rows=rows)


def term_to_dict(term: Term) -> Any:
    """Return a term as plain data: its name, or a mapping with its settings."""
    if isinstance(term, Along):
        direction = [str(c) for c in term.direction]
        return {"name": "along", "owner": term.owner, "of": term_to_dict(term.of), "direction": direction}
    if isinstance(term, LinkSide):
        return {"name": "link", "of": term_to_dict(term.of)}
    settings: dict[str, Any]
    settings = dataclasses.asdict(term) if dataclasses.is_dataclass(term) and not isinstance(term, type) else {}
    return {"name": term.name, **settings} if settings else term.name
