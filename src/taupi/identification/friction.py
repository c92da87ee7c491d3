"""Dry friction through the filter: its columns jump where a joint reverses, and the torque beside them has been smoothed.

F(tau) = F(Y) pi holds for every column when it passes the filter that the torque passed. Columns of a filtered motion are smooth
already, but for dry friction's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, Term
from taupi.identifiability.base import BaseParameters
from taupi.identification.motion import Samples
from taupi.identification.terms import plain
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.regressors.classical import regressor


@dataclass(frozen=True, eq=False)
class FrictionPlan:
    """Which columns are dry friction: column `places[i]` is `directions[i]` (n,) times s_i, s = tanh(directions qd / widths)."""

    places: tuple[int, ...]
    directions: np.ndarray
    widths: np.ndarray
    plain: Program | None = None  # the same regressor with sgn there: one for all widths, so that it is compiled once

    def signals(self, qd: np.ndarray) -> np.ndarray:
        """Return s (N, k) for speeds (N, n); sgn where a width is 0."""
        along = qd @ self.directions.T
        smooth = np.tanh(along / np.where(self.widths > 0, self.widths, 1.0))
        return np.where(self.widths > 0, smooth, np.sign(along))

    def put(self, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the rows y (p, n, m), their columns of friction overwritten from s (m, k)."""
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
    program = _plain_regressor(basis.robot, plain(basis.terms), basis.columns)
    return FrictionPlan(tuple(places), np.array(directions).reshape(len(places), n), np.array(widths), program)


@lru_cache(maxsize=32)
def _plain_regressor(robot: Robot, terms: tuple[Term, ...], columns: tuple[int, ...]) -> Program:
    """Return Y_b, the same object for every log of a robot."""
    return regressor(robot, terms=terms).take(columns)


@lru_cache(maxsize=8)
def _kernel(program: Program) -> Any:
    return program.compile("cpu", layout="batch_last")


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
        self._kernel = _kernel(program if plan is None or plan.plain is None else plan.plain)
        self._plan = plan

    def __call__(self, samples: Samples) -> np.ndarray:
        """Return y (p, n, m)."""
        y = np.asarray(self._kernel(samples.q, samples.qd, samples.qdd))
        if self._plan is None:
            return y
        return self._plan.put(y, self._plan.signals(samples.qd) if samples.friction is None else samples.friction)
