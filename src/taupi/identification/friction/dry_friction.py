"""Dry friction along a motion: columns that jump where a joint reverses, and that may remember how it came there."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations
from taupi.identification.friction.fitted_terms import dry_parts, plain
from taupi.program.program import Program


@dataclass(frozen=True)
class Past:
    """Where each direction was and how fast, x and v (k,), and its friction for each of K distances, z (k, K)."""

    x: np.ndarray
    v: np.ndarray
    z: np.ndarray


@dataclass(frozen=True, eq=False)
class FrictionPlan:
    """Which columns of a regressor are dry friction: column `places[i]` is `directions[i]` (n,) times s_i.

    s_i is tanh(directions qd / widths), sgn where a width is 0, or has a memory where `distances[i]` is not 0. `program` is
    the regressor with sgn in their place: one for all shapes, so that it is compiled once.
    """

    program: Program
    owners: tuple[str, ...]
    places: tuple[int, ...]
    directions: np.ndarray
    widths: np.ndarray
    distances: np.ndarray

    def at_once(self, qd: np.ndarray) -> np.ndarray:
        """Return s (N, k) for speeds (N, n) without a past: what programs have."""
        along = qd @ self.directions.T
        smooth = np.tanh(along / np.where(self.widths > 0, self.widths, 1.0))
        return np.where(self.widths > 0, smooth, np.sign(along))

    def along(self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None = None) -> tuple[np.ndarray, Past]:
        """Return s (N, k) along a motion (N, n), sampled every so many seconds, and the past of what comes next.

        Without a past it begins here.
        """
        s, (z, past) = self.at_once(qd), self.remembered(q, qd, seconds, self.distances[:, None], past)
        return np.where(self.distances > 0, z[..., 0], s), past

    def remembered(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, distances: np.ndarray, past: Past | None = None
    ) -> tuple[np.ndarray, Past]:
        """Return z (N, k, K) for distances (k, K); a record that begins in motion begins with friction built up."""
        x, v = q @ self.directions.T, qd @ self.directions.T
        past = past or Past(x[0], v[0], np.repeat(self.at_once(qd[:1]).T, distances.shape[1], axis=1))
        z = np.zeros((*x.shape, distances.shape[1]))
        for i in np.flatnonzero(distances.any(axis=1)):
            before = Past(past.x[i], past.v[i], past.z[i])
            z[:, i] = built_up(x[:, i], v[:, i], seconds, distances[i], before)
        return z, Past(x[-1], v[-1], z[-1])

    def put(self, y: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the rows y (p, n, m), their columns of friction overwritten from s (m, k)."""
        y[list(self.places)] = self.directions[:, :, None] * s.T[:, None, :]
        return y


def built_up(x: np.ndarray, v: np.ndarray, seconds: float, distances: np.ndarray, past: Past) -> np.ndarray:
    """Return z (N, K) along x (N,) with velocity v (N,), for distances d (K,): dz/dx = (sgn(dx) - z) / d.

    Between two reversals z = s + (z_0 - s) exp(-|x - x_0| / d): exact, however fast x is sampled. A reversal between two
    samples lies at the summit of the parabola through their velocities, not at one of them: half a sample is a delay
    that torques show.

    >>> import numpy as np
    >>> past = Past(0.0, 1.0, np.zeros(1))
    >>> built_up(np.array([1.0, 2.0, 2.0]), np.array([1.0, 1.0, -1.0]), 1.0, np.array([1.0]), past)[:, 0].round(4)
    array([0.6321, 0.8647, 0.4755])
    """
    path, sample = _with_summits(np.append(past.x, x), np.append(past.v, v), seconds)
    sign = np.sign(np.diff(path))
    moves = np.flatnonzero(sign)
    turns = moves[np.flatnonzero(np.diff(sign[moves])) + 1]
    first = sign[moves[0]] if len(moves) else 0.0
    legs = zip(np.append(0, turns), np.append(turns, len(sign)), np.append(first, sign[turns]), strict=True)
    z, result = past.z, np.empty((len(sign), len(distances)))
    for a, b, s in legs:
        gone = np.abs(path[a + 1 : b + 1] - path[a])[:, None] / distances
        result[a:b] = z if s == 0 else s + (z - s) * np.exp(-gone)
        z = result[b - 1]
    return result[sample[1:] - 1]


def _with_summits(x: np.ndarray, v: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x with the summits between samples of opposite velocity, and where the samples are in it."""
    turn = np.flatnonzero(v[:-1] * v[1:] < 0)
    up = np.sign(v[turn])
    beyond = v[turn + 1] ** 2 * seconds / (2 * np.abs(v[turn + 1] - v[turn]))
    summit = up * np.maximum(up * x[turn + 1] + beyond, up * x[turn])
    return np.insert(x, turn + 1, summit), np.arange(len(x)) + np.searchsorted(
        turn + 1, np.arange(len(x)), side="right"
    )


def friction_plan(basis: BaseParameters) -> FrictionPlan:
    """Return where the base regressor has dry friction, and what it is made of."""
    rows, names = Equations.of(basis), basis.names
    found = [part for part in dry_parts(basis.terms, rows) if part.parameter in names]
    return FrictionPlan(
        _plain_regressor(dataclasses.replace(basis, terms=plain(basis.terms))),
        tuple(part.owner for part in found),
        tuple(names.index(part.parameter) for part in found),
        np.array([part.direction for part in found]).reshape(len(found), rows.count),
        np.array([float(part.term.velocity) for part in found]),  # type: ignore[arg-type]
        np.array([float(part.term.distance) for part in found]),  # type: ignore[arg-type]
    )


@lru_cache(maxsize=32)
def _plain_regressor(basis: BaseParameters) -> Program:
    """Return Y_b, the same object for every log of a robot."""
    return basis.regressor()
