"""Which terms a fit has: those asked for, the same for coupled drives, and dry friction with its shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, Offset, Spring, Term
from taupi.errors import TaupiError
from taupi.identifiability.base import BaseParameters, base_parameters
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot
from taupi.signals.columns import Columns

Direction = tuple[str, tuple[Any, ...]]


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
    more = [Along(name, t, c) for name, c in directions for t in terms if not isinstance(t, Offset | Spring | Along)]
    return (*terms, *more)


Shape = tuple[float, float]  # the velocity and the distance of a Coulomb term


def shaped(terms: Sequence[Term], joints: Sequence[str], shapes: Mapping[str, Shape]) -> tuple[Term, ...]:
    """Return the terms with the shapes of their dry friction, by owner; a term that states its own keeps it."""

    def settled(t: Term) -> Term:
        if isinstance(t, Coulomb) and not _stated(t):
            return Coulomb(*zip(*(shapes[j] for j in joints), strict=True))
        if isinstance(t, Along) and isinstance(t.of, Coulomb) and not _stated(t.of):
            return dataclasses.replace(t, of=Coulomb(*shapes[t.owner]))
        return t

    return tuple(settled(t) for t in terms)


def open_friction(terms: Sequence[Term], joints: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the directions (n,), by owner, of dry friction that states no shape of its own."""
    found: dict[str, np.ndarray] = {}
    for t in terms:
        if isinstance(t, Coulomb) and not _stated(t):
            found |= dict(zip(joints, np.eye(len(joints)), strict=True))
        elif isinstance(t, Along) and isinstance(t.of, Coulomb) and not _stated(t.of):
            found[t.owner] = np.array([float(c) for c in t.direction])
    return found


def _stated(t: Coulomb) -> bool:
    return t.velocity != 0 or t.distance != 0


def given_widths(slow: Any, n: int) -> np.ndarray:
    """Return `slow` as speeds (n,), or say what is wrong with it."""
    given = np.asarray(slow, dtype=float)
    if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
        raise TaupiError(f"slow is {slow!r}, expected a speed of at least 0, or one for each of {n} joints.")
    return np.broadcast_to(given, (n,))


def plain(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with Coulomb friction as sgn(qd): what can be identified does not depend on how smooth it is."""

    def simple(t: Term) -> Term:
        if isinstance(t, Along) and isinstance(t.of, Coulomb):
            return dataclasses.replace(t, of=Coulomb())
        return Coulomb() if isinstance(t, Coulomb) else t

    return tuple(simple(t) for t in terms)


def basis_of(robot: Robot, terms: Sequence[Term], base: BaseParameters | None = None) -> BaseParameters:
    """Return base parameters with these terms; those of plain terms, or `base` if given, are the same combinations."""
    simple = plain(terms)
    found = base if base is not None else base_parameters(robot, terms=simple)
    if not isinstance(found, BaseParameters) or found.robot != robot or plain(found.terms) != simple:
        raise TaupiError(
            "base is for another robot or other terms, expected taupi.base_parameters(robot, terms=terms)."
        )
    return dataclasses.replace(found, terms=tuple(terms))


def term_to_dict(term: Term) -> Any:
    """Return a term as plain data: its name, or a mapping with its settings."""
    if isinstance(term, Along):
        direction = [str(c) for c in term.direction]
        return {"name": "along", "owner": term.owner, "of": term_to_dict(term.of), "direction": direction}
    settings: dict[str, Any]
    settings = dataclasses.asdict(term) if dataclasses.is_dataclass(term) and not isinstance(term, type) else {}
    return {"name": term.name, **settings} if settings else term.name
