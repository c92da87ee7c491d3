"""Which shape dry friction has at low speed and at standstill, joint by joint: the one that explains the runs best.

Linear least squares finds how large it is, not how it sets in: with speed, tanh(qd / v), or over a distance after each reversal,
held at standstill (Dahl 1968). A few of each are tried; each costs a column, and no further pass over the runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, Past, friction_plan
from taupi.identification.friction.fitted_terms import Shape
from taupi.identification.rows.factors import reweighted, triangle
from taupi.identification.rows.recording import Extent, Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.identification.rows.samples import one_way

# Velocities as shares of the joint's largest, distances as shares of its range: about three of each a decade, from where
# samples resolve them to where friction is no longer dry. The first is what is taken without a choice.
VELOCITIES = (0.01, 0.003, 0.03)
DISTANCES = (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
_SWEEPS = 3
# What sets in with speed is not held at standstill, of which most runs show little. So it has to explain this share of what a
# memory leaves of the joint's sum of squares; with the hundred or so independent samples of a short run, that is not chance.
_CLEARLY = 0.1


def plain_shapes(owners: Sequence[str], extent: Extent, widths: np.ndarray | None = None) -> dict[str, Shape]:
    """Return tanh(qd / v) for each owner: v the first of `widths` that there are, else 1 % of its largest speed.

    One that never reverses has sgn(qd): whatever friction does at low speed, it is one with the offset.
    """
    width = VELOCITIES[0] * extent.speed
    if widths is not None:
        width[: len(widths)] = widths
    width = np.where(one_way(extent.low, extent.high), 0.0, width)
    return {name: (_rounded(v), 0.0) for name, v in zip(owners, width, strict=True)}


def best_shapes(
    basis: BaseParameters, runs: Sequence[Recording], extents: dict[str, tuple[float, float]]
) -> dict[str, Shape]:
    """Return the shape of each owner in `extents` (its largest speed and its range) with which the runs' beginnings fit best.

    The weighted sum of squares is minimised over one owner's shape after the other, three times round; it is that of the
    factors of [Y_b, all shapes, tau], from which columns are picked. A shape without memory has to be clearly better.
    """
    plan = friction_plan(basis)
    mine = [i for i, owner in enumerate(plan.owners) if owner in extents]
    if not mine:
        return {}
    sizes = np.array([extents.get(owner, (0.0, 0.0)) for owner in plan.owners])
    shapes = [*((v, 0.0) for v in VELOCITIES), *((VELOCITIES[0], d) for d in DISTANCES)]

    def tried(q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None) -> tuple[np.ndarray, Past]:
        speed, width = qd @ plan.directions.T, np.maximum(np.outer(sizes[:, 0], VELOCITIES), 1e-300)
        z, past = plan.remembered(q, qd, seconds, np.outer(sizes[:, 1], DISTANCES), past)
        return np.concatenate([np.tanh(speed[:, :, None] / width), z], axis=2), past

    factors = [_compressed(RowMaker(plan, tried), plan, run) for run in runs]
    chosen = _descended(factors, plan, mine, basis.count, len(shapes))
    return {
        plan.owners[i]: (_rounded(shapes[k][0] * sizes[i, 0]), _rounded(shapes[k][1] * sizes[i, 1]))
        for i, k in zip(mine, chosen, strict=True)
    }


Triangles = list[tuple[np.ndarray, int]]  # of each joint: [Y_b, all shapes, tau] compressed, and how many rows it had


def _compressed(maker: RowMaker, plan: FrictionPlan, run: Recording) -> Triangles:
    """Return the triangles of a run's beginning, with K columns for each owner behind those of Y_b."""
    result: Triangles = []
    for rows in run.rows(maker, head=True):
        more = np.einsum("in,mik->iknm", plan.directions, rows.shapes)
        y = np.concatenate([rows.y, more.reshape(-1, *more.shape[2:])])
        result = result or [(np.zeros((0, len(y) + 1)), 0) for _ in range(maker.n)]
        for j, (r, count) in enumerate(result):
            new = np.column_stack([y[:, j].T, rows.tau[:, j]])[rows.use[:, j]]
            result[j] = triangle(np.vstack([r, new])), count + len(new)
    return result


def _descended(runs: list[Triangles], plan: FrictionPlan, mine: list[int], p: int, k: int) -> list[int]:
    """Return the best shape (its number) of each owner in `mine`."""
    places = np.array(plan.places)
    chosen = [0] * len(mine)
    every = [t for run in runs for t in run]
    if not every:  # no row counts: what that means is said later
        return chosen

    def columns(shapes: Sequence[int]) -> np.ndarray:
        at = np.append(np.arange(p), p + k * len(places))
        at[places[mine]] = [p + i * k + s for i, s in zip(mine, shapes, strict=True)]
        return at

    for _ in range(_SWEEPS):
        before = list(chosen)
        weights = iter(reweighted([r[:, columns(chosen)] for r, _ in every], [m for _, m in every])[1])
        weighed = [[next(weights) * r for r, _ in run] for run in runs]
        joints = [triangle(np.vstack(several)) for several in zip(*(w for w in weighed if w), strict=True)]
        for a, i in enumerate(mine):
            touched = plan.directions[i] != 0
            rest = [r[:, columns(chosen)] for r, t in zip(joints, touched, strict=True) if not t]
            rest = [triangle(np.vstack(rest))] if rest else []
            own = np.vstack([r for r, t in zip(joints, touched, strict=True) if t])
            tries = [columns([*chosen[:a], s, *chosen[a + 1 :]]) for s in range(k)]
            left = np.array([_left(np.vstack([*rest, own[:, c]])) ** 2 for c in tries])
            # Weighted as they are, the squares of a joint add up to about its rows.
            left[: len(VELOCITIES)] += _CLEARLY * sum(
                m for run in runs for (_, m), t in zip(run, touched, strict=True) if t
            )
            chosen[a] = int(np.argmin(left))
        if chosen == before:
            break
    return chosen


def _left(r: np.ndarray) -> float:
    """Return |Y x - tau| at its least, R = [Y tau]: the last diagonal entry of its triangle."""
    return abs(float(triangle(r)[-1, -1])) if len(r) > r.shape[1] else 0.0


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
