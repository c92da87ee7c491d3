"""Dry friction through the filter: its columns jump where a joint reverses, and the torque beside them has been smoothed.

F(tau) = F(Y) pi holds for every column when it passes the filter that the torque passed. Columns of a filtered motion are smooth
already, but for dry friction's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, LinkSide, Term
from taupi.identifiability.base import BaseParameters
from taupi.identification.equations import Equations, arguments
from taupi.identification.motion import Samples
from taupi.identification.terms import dry
from taupi.program.program import Program


@dataclass(frozen=True, eq=False)
class FrictionPlan:
    """Which columns are dry friction: column `places[i]` is `directions[i]` (n,) times s_i, s = tanh(directions qd / widths)."""

    places: tuple[int, ...]
    directions: np.ndarray
    widths: np.ndarray

    def signals(self, qd: np.ndarray) -> np.ndarray:
        """Return s (N, k) for speeds (N, n); sgn where a width is 0."""
        along = qd @ self.directions.T
        smooth = np.tanh(along / np.where(self.widths > 0, self.widths, 1.0))
        return np.where(self.widths > 0, smooth, np.sign(along))

    def put(self, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return rows y (p, n, m) with the columns of friction made from s (m, k)."""
        y = y.copy()
        y[list(self.places)] = self.directions[:, :, None] * s.T[:, None, :]
        return y


def friction_plan(basis: BaseParameters) -> FrictionPlan:
    """Return where the base regressor has dry friction, and what it is made of."""
    rows, names = Equations.of(basis), basis.names
    found = [part for part in _parts(basis.terms, rows) if part[0] in names]
    directions = np.array([d for _, d, _ in found]).reshape(len(found), rows.count)
    return FrictionPlan(tuple(names.index(name) for name, _, _ in found), directions, np.array([w for *_, w in found]))


def dry_directions(term: Term, rows: Equations) -> np.ndarray:
    """Return along which speeds of the rows a term of dry friction acts: (k, rows), one for each of its parameters."""
    joints = np.eye(rows.robot.n)
    if isinstance(term, LinkSide):
        return rows.on_links(joints)
    return rows.on_motors(np.array([[float(c) for c in term.direction]]) if isinstance(term, Along) else joints)


def _parts(terms: Sequence[Term], rows: Equations) -> list[tuple[str, np.ndarray, float]]:
    """Return the parameter, the direction and the width of every dry friction."""
    found: list[tuple[str, np.ndarray, float]] = []
    for t in terms:
        of = dry(t)
        if of is None:
            continue
        each = [f"{joint}.{t.name}" for joint in rows.robot.joint_names]
        pairs = zip([f"{t.owner}.{of.name}"] if isinstance(t, Along) else each, dry_directions(t, rows), strict=True)
        found += [(name, d, _width(of.at(i))) for i, (name, d) in enumerate(pairs)]
    return found


def _width(term: Coulomb) -> float:
    return float(term.velocity) if not isinstance(term.velocity, tuple) else 0.0


class RowMaker:
    """Makes rows of the base regressor from samples, with filtered friction where the samples have it."""

    def __init__(self, program: Program, plan: FrictionPlan | None) -> None:
        self._kernel = program.compile("cpu", layout="batch_last")
        self._program, self._plan = program, plan

    def __call__(self, samples: Samples) -> np.ndarray:
        """Return y (p, n, m)."""
        y = np.asarray(self._kernel(*arguments(self._program, samples.q, samples.qd, samples.qdd)))
        if self._plan is None or samples.friction is None:
            return y
        return self._plan.put(y, samples.friction)
