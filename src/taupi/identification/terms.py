"""Which terms a fit has: those asked for, the same for coupled drives, and dry friction as smooth as velocities are sure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.dynamics.drives import elastic_parameters, resolve_sides
from taupi.dynamics.terms import Along, Coulomb, Damping, LinkSide, Offset, Spring, Term, TermsLike, resolve_terms
from taupi.errors import TaupiError
from taupi.identifiability.base import BaseParameters, base_parameters
from taupi.identification.motion import one_way
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot
from taupi.signals.columns import Columns

# Below about this share of a joint's largest speed the sign of its velocity is not sure: friction is tanh(qd / v) there.
SMOOTH = 0.01


Direction = tuple[str, tuple[Any, ...]]


def resolved(terms: TermsLike, elastic: bool) -> tuple[Term, ...]:
    """Return terms from their names, in the order of base parameters: of an elastic robot, motors, springs, links."""
    if not elastic:
        return resolve_terms(terms)
    sides = resolve_sides(terms)
    return (*sides.motor, *sides.spring[1:], *sides.link)


def dry(term: Term) -> Coulomb | None:
    """Return the dry friction that a term is, of a joint, a link or along a direction; None for other terms."""
    of = term.of if isinstance(term, Along | LinkSide) else term
    return of if isinstance(of, Coulomb) else None


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


def smoothed(terms: Sequence[Term], low: np.ndarray, high: np.ndarray, n: int, slow: Any) -> tuple[Term, ...]:
    """Return the terms with Coulomb's velocity: `slow`, or 1 % of the largest speed; 0 where a joint never reverses.

    `low` and `high` are the extremes of the speeds at which each term of dry friction acts, term by term: n of a `Coulomb`, of
    a joint's motor or of its link, and one of an `Along`.
    """
    width = SMOOTH * np.maximum(np.abs(low), np.abs(high))
    given = _checked_slow(slow, n)
    at, result = 0, []
    for t in terms:
        of = dry(t)
        if of is None:
            result.append(t)
            continue
        here = slice(at, at + (1 if isinstance(t, Along) else n))
        at = here.stop
        if of.velocity != 0:
            result.append(t)
            continue
        wide = width[here] if given is None or isinstance(t, Along) else np.broadcast_to(given, n)
        wide = np.where(one_way(low[here], high[here]), 0.0, [float(f"{v:.3g}") for v in wide])
        made = Coulomb(float(wide[0]) if isinstance(t, Along) else tuple(wide.tolist()))
        result.append(dataclasses.replace(t, of=made) if isinstance(t, Along | LinkSide) else made)
    return tuple(result)


def _checked_slow(slow: Any, n: int) -> np.ndarray | None:
    if slow is None:
        return None
    given = np.asarray(slow, dtype=float)
    if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
        raise TaupiError(f"slow is {slow!r}, expected a speed of at least 0, or one for each of {n} joints.")
    return given


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
