"""Dry friction through the filter: its columns jump where a joint reverses, and the torque beside them has been smoothed.

F(tau) = F(Y) pi holds for every column when it passes the filter that the torque passed. Columns of a filtered motion are smooth
already, but for dry friction's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, Term
from taupi.identifiability.base import BaseParameters
from taupi.identification.motion import Samples
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
    n, names = basis.robot.n, basis.names
    places, directions, widths = [], [], []
    for owner, direction, width in _parts(basis.terms, basis.robot.joint_names, n):
        if f"{owner}.coulomb" in names:
            places.append(names.index(f"{owner}.coulomb"))
            directions.append(direction)
            widths.append(width)
    return FrictionPlan(tuple(places), np.array(directions).reshape(len(places), n), np.array(widths))


def _parts(terms: Sequence[Term], joints: Sequence[str], n: int) -> list[tuple[str, np.ndarray, float]]:
    found: list[tuple[str, np.ndarray, float]] = []
    for t in terms:
        if isinstance(t, Coulomb):
            found += [(name, np.eye(n)[i], _width(t.at(i))) for i, name in enumerate(joints)]
        elif isinstance(t, Along) and isinstance(t.of, Coulomb):
            found.append((t.owner, np.array([float(c) for c in t.direction]), _width(t.of)))
    return found


def _width(term: Coulomb) -> float:
    return float(term.velocity) if not isinstance(term.velocity, tuple) else 0.0


class RowMaker:
    """Makes rows of the base regressor from samples, with filtered friction where the samples have it."""

    def __init__(self, program: Program, plan: FrictionPlan | None) -> None:
        self._kernel = program.compile("cpu", layout="batch_last")
        self._plan = plan

    def __call__(self, samples: Samples) -> np.ndarray:
        """Return y (p, n, m)."""
        y = np.asarray(self._kernel(samples.q, samples.qd, samples.qdd))
        if self._plan is None or samples.friction is None:
            return y
        return self._plan.put(y, samples.friction)
