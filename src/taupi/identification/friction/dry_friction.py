"""Dry friction along a motion: columns that jump where a joint reverses, or build up from there (Dahl friction)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

import numpy as np

from taupi.dynamics.terms import Curve, modulated_terms
from taupi.dynamics.terms.term import value_at
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.fitted_terms import dry_friction_parts, without_shapes
from taupi.identification.row_layout import RowLayout
from taupi.program.array_loops import Floats, compiled
from taupi.program.program import Program


def _advance(z: Floats, d: Floats, k: int, start: float, stop: float) -> None:
    """Set z to s + (z - s) exp(-|stop - start| / d) for each of `k` distances d, s = sgn(stop - start)."""
    gap = stop - start
    if gap != 0.0:
        s = 1.0 if gap > 0.0 else -1.0
        travel = abs(gap)
        for i in range(k):
            left = exp(-(travel / d[i]))
            z[i] = s + (z[i] - s) * left


def _dahl(
    x: Floats,
    v: Floats,
    n: int,
    stride: int,
    seconds: float,
    d: Floats,
    k: int,
    past: Floats,
    z: Floats,
    out: Floats,
) -> None:
    """Write z (n, k) along `n` samples of x and v; between velocities of opposite signs, via the vertex of their parabola."""
    place = past[0]
    before = past[1]
    for i in range(n):
        to = x[i * stride]
        after = v[i * stride]
        if before * after < 0.0:
            u = 1.0 if before > 0.0 else -1.0
            top = u * to + after * after * seconds / (2.0 * abs(after - before))
            vertex = u * (top if top > u * place else u * place)
            _advance(z, d, k, place, vertex)
            place = vertex
        _advance(z, d, k, place, to)
        row = out[i * k :]
        for j in range(k):
            row[j] = z[j]
        place = to
        before = after


@dataclass(frozen=True)
class Past:
    """The last position and velocity along each direction, x and v (k,), and its friction for each of K distances, z (k, K)."""

    x: np.ndarray
    v: np.ndarray
    z: np.ndarray


@dataclass(frozen=True, eq=False)
class Modulation:
    """Columns of friction that depends on load or bends with speed: s of a joint times |l|, or times exp(-|qd| / width).

    Column k is in the row of joint `joints[k]`, whose s has the index `states[k]` in the plan; `widths[k]` is 0 for one that
    depends on the load l = Y_b `rigid`: the torque, with the parameters of a fit (b,), of links, rotors and springs alone.
    """

    joints: tuple[int, ...]
    states: tuple[int, ...]
    widths: np.ndarray
    rigid: np.ndarray

    def columns(self, s: np.ndarray, qd: np.ndarray, load: np.ndarray) -> np.ndarray:
        """Return the columns (N, k), for states s (N, owners), velocities (N, n) and loads (N, n)."""
        joints, states, falls = np.array(self.joints), np.array(self.states), self.widths > 0
        factors = np.empty((len(joints), len(s)))
        factors[falls] = np.exp(-np.abs(qd.T[joints[falls]]) / self.widths[falls, None])
        factors[~falls] = np.abs(load.T[joints[~falls]])
        factors *= s.T[states]
        return factors.T


@dataclass(frozen=True, eq=False)
class FrictionPlan:
    """Which columns of a regressor are dry friction: column `places[i]` is `directions[i]` (n,) times s_i.

    s_i is tanh(directions qd / widths), or sgn if the width is 0, or Dahl friction, which has a memory, if `distances[i]` is not
    0. `program` is the regressor with sgn in their place: the same for all shapes, so that it is compiled once. `modulation` are
    the columns after those of the program, of friction that depends on load or bends with speed, if the fit has any.
    """

    program: Program
    owners: tuple[str, ...]
    places: tuple[int, ...]
    directions: np.ndarray
    widths: np.ndarray
    distances: np.ndarray
    modulation: Modulation | None = None

    def memoryless(self, qd: np.ndarray) -> np.ndarray:
        """Return s (N, k) for speeds (N, n) as programs have it, without memory."""
        along = qd @ self.directions.T
        smooth = np.tanh(along / np.where(self.widths > 0, self.widths, 1.0))
        return np.where(self.widths > 0, smooth, np.sign(along))

    def along_motion(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None = None
    ) -> tuple[np.ndarray, Past]:
        """Return s (N, k) along a motion (N, n), sampled every `seconds`, and the past of the samples that follow.

        Without a `past`, the motion begins here.
        """
        z, past = self.with_memory(q, qd, seconds, self.distances[:, None], past)
        remembers = self.distances > 0
        return (z[..., 0] if remembers.all() else np.where(remembers, z[..., 0], self.memoryless(qd))), past

    def with_memory(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, distances: np.ndarray, past: Past | None
    ) -> tuple[np.ndarray, Past]:
        """Return Dahl friction z (N, k, K) for distances (k, K), built up at the start if the record begins in motion."""
        x, v = q @ self.directions.T, qd @ self.directions.T
        past = past or Past(x[0], v[0], np.repeat(self.memoryless(qd[:1]).T, distances.shape[1], axis=1))
        z = np.zeros((*x.shape, distances.shape[1]))
        for i in np.flatnonzero(distances.any(axis=1)):
            before = Past(past.x[i], past.v[i], past.z[i])
            z[:, i] = dahl_friction(x[:, i], v[:, i], seconds, distances[i], before)
        return z, Past(x[-1], v[-1], z[-1])


def dahl_friction(x: np.ndarray, v: np.ndarray, seconds: float, distances: np.ndarray, past: Past) -> np.ndarray:
    """Return z (N, K) along x (N,) with velocity v (N,), for distances d (K,): dz/dx = (sgn(dx) - z) / d (Dahl 1968).

    Between two reversals z = s + (z_0 - s) exp(-|x - x_0| / d), which is exact at any sampling rate. A reversal between two
    samples is placed at the vertex of the parabola that their velocities define, not at one of them: a delay of half a sample
    would be visible in the torque.

    >>> import numpy as np
    >>> past = Past(0.0, 1.0, np.zeros(1))
    >>> dahl_friction(np.array([1.0, 2.0, 2.0]), np.array([1.0, 1.0, -1.0]), 1.0, np.array([1.0]), past)[:, 0].round(4)
    array([0.6321, 0.8647, 0.4755])
    """
    x, v = (np.asarray(a, dtype=float) for a in (x, v))
    if x.strides != v.strides or x.strides[0] % x.itemsize:
        x, v = np.ascontiguousarray(x), np.ascontiguousarray(v)
    d, before = np.ascontiguousarray(distances, dtype=float), np.array([past.x, past.v], dtype=float)
    z, out = np.array(past.z, dtype=float), np.empty((len(x), len(d)))
    samples = (x.ctypes.data, v.ctypes.data, len(x), x.strides[0] // x.itemsize, float(seconds))
    compiled(_dahl)(*samples, d.ctypes.data, len(d), before.ctypes.data, z.ctypes.data, out.ctypes.data)
    return out


def friction_plan(base: BaseParameters, values: np.ndarray | None = None) -> FrictionPlan:
    """Return which columns of the base regressor are dry friction, and with which shapes.

    `values` are base parameters that give the load, if the base has friction that depends on it; those that come last may be
    left out. Without any, so are the columns of friction that depends on load or bends with speed.
    """
    linear = base.linear
    layout, names = RowLayout.of(linear), linear.names
    parts = [part for part in dry_friction_parts(linear.terms, layout) if part.parameter in names]
    return FrictionPlan(
        _regressor(dataclasses.replace(linear, terms=without_shapes(linear.terms))),
        tuple(part.owner for part in parts),
        tuple(names.index(part.parameter) for part in parts),
        np.array([part.direction for part in parts]).reshape(len(parts), layout.count),
        np.array([float(value_at("velocity", part.term.velocity, 0)) for part in parts]),
        np.array([float(value_at("distance", part.term.distance, 0)) for part in parts]),
        _modulation(base, [part.owner for part in parts], values),
    )


def _modulation(base: BaseParameters, owners: list[str], values: np.ndarray | None) -> Modulation | None:
    """Return the columns of terms that change dry friction; their states are those of the joints among the `owners`."""
    terms, joints = modulated_terms(base.terms), base.robot.joint_names
    if not terms or values is None:
        return None
    each = [(i, term) for term in terms for i in range(len(joints))]
    widths = [t.share * float(value_at("velocity", t.velocity, i)) if isinstance(t, Curve) else 0.0 for i, t in each]
    return Modulation(
        tuple(i for i, _ in each),
        tuple(owners.index(joints[i]) for i, _ in each),
        np.array(widths),
        np.where(transmitted(base.linear), values[: base.linear.count], 0.0),
    )


def transmitted(base: BaseParameters) -> np.ndarray:
    """Return which base parameters make up the torque that gears transmit (b,): all but those of friction and offsets."""
    term_names = {t.name.rpartition(".")[2] for t in base.terms if not t.transmitted}
    return np.array([e.kind.removesuffix("R") not in term_names for e in base.parameters.layout.entries])


@lru_cache(maxsize=32)
def _regressor(base: BaseParameters) -> Program:
    """Return Y_b, the same object for every log of a robot."""
    return base.regressor()


def friction_notes(base: BaseParameters, least_speeds: Sequence[float]) -> list[str]:
    """Return notes on the model of dry friction at low speed; `least_speeds` are those below which rows are left out."""
    plan, notes = friction_plan(base), []
    parts = list(zip(plan.owners, plan.widths, plan.distances, strict=True))
    smooth = [f"{owner} {v:.3g}" for owner, v, d in parts if v and not d]
    if smooth:
        notes.append(f"dry friction is tanh(qd / v), v in rad/s or m/s: {', '.join(smooth)}")
    dahl = [f"{owner} {d:.3g}" for owner, _, d in parts if d]
    if dahl:
        notes.append(
            f"dry friction builds up over d after a reversal and is held at standstill, d in rad or m: {', '.join(dahl)}"
        )
    pairs = [f"{n} {v:.3g}" for n, v in zip(RowLayout.of(base).names, least_speeds, strict=True) if v]
    if pairs:
        notes.append(f"rows slower than this are left out (rad/s, m/s): {', '.join(pairs)}")
    return notes
