"""Which terms a fit has: those asked for, the same for coupled drives, and dry friction as smooth as velocities are sure."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, Offset, Spring, Term
from taupi.errors import TaupiError
from taupi.identifiability.base import BaseParameters, base_parameters
from taupi.identification.motion import one_way
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot
from taupi.signals.columns import Columns

# Below about this share of a joint's largest speed the sign of its velocity is not sure: friction is tanh(qd / v) there.
SMOOTH = 0.01


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


def smoothed(terms: Sequence[Term], low: np.ndarray, high: np.ndarray, n: int, slow: Any) -> tuple[Term, ...]:
    """Return the terms with Coulomb's velocity: `slow`, or 1 % of the largest speed; 0 where a joint never reverses.

    `low` and `high` are the extremes of the speeds of the n coordinates, then of each `Along` that is a Coulomb, in order.
    """
    speed = np.maximum(np.abs(low), np.abs(high))
    width = SMOOTH * speed
    if slow is not None:
        given = np.asarray(slow, dtype=float)
        if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
            raise TaupiError(f"slow is {slow!r}, expected a speed of at least 0, or one for each of {n} joints.")
        width[:n] = given
    width = np.where(one_way(low, high), 0.0, np.array([float(f"{v:.3g}") for v in width]))
    rest = iter(width[n:])

    def settled(t: Term) -> Term:
        if isinstance(t, Coulomb) and t.velocity == 0:
            return Coulomb(tuple(width[:n].tolist()))
        if isinstance(t, Along) and isinstance(t.of, Coulomb) and t.of.velocity == 0:
            return dataclasses.replace(t, of=Coulomb(float(next(rest))))
        return t

    return tuple(settled(t) for t in terms)


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
