"""The shape of dry friction at low speed and at standstill, joint by joint: the one that explains the logs best.

Linear least squares finds how large friction is, but not how it builds up: with speed, tanh(qd / v), or over a distance after
each reversal, and then held at standstill (Dahl 1968). A few of each are tried; each costs one more column, but no further pass
over the logs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations
from taupi.identification.friction.dry_friction import FrictionPlan, Past, friction_plan
from taupi.identification.friction.fitted_terms import Shape
from taupi.identification.rows.factors import reweighted_least_squares, triangle
from taupi.identification.rows.recording import Extent, Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.identification.rows.samples import one_way

# Velocities as shares of the joint's largest speed, distances as shares of its range: about two per decade, from what samples can
# resolve to where friction is no longer dry. The first velocity is the default.
VELOCITIES = (0.01, 0.003, 0.03)
DISTANCES = (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
_SWEEPS = 3
# Friction that builds up with speed vanishes at standstill, which is wrong, but most logs show little of it. So it must lower
# the joint's sum of squares by this share more than friction with a memory does; with the hundred or so independent samples of a
# short log, that is not chance.
_CLEARLY = 0.1


def default_shapes(owners: Sequence[str], extent: Extent, widths: np.ndarray | None = None) -> dict[str, Shape]:
    """Return the shape tanh(qd / v) for each owner: v from `widths` for the first owners, else 1 % of its largest speed.

    An owner that never reverses has sgn(qd): its friction cannot be separated from the offset, whatever its shape.
    """
    width = VELOCITIES[0] * extent.speed
    if widths is not None:
        width[: len(widths)] = widths
    width = np.where(one_way(extent.low, extent.high), 0.0, width)
    return {name: (rounded(v), 0.0) for name, v in zip(owners, width, strict=True)}


def best_shapes(
    base: BaseParameters, recordings: Sequence[Recording], extents: dict[str, tuple[float, float]]
) -> dict[str, Shape]:
    """Return the shape of each owner that explains the beginnings of the recordings best.

    `extents` are the largest speed and the range of each owner. The weighted sum of squares is minimised over the shape of one
    owner after the other, in three sweeps, from factors of [Y_b, all shapes, tau]. A shape without memory has to be clearly
    better.
    """
    plan = friction_plan(base)
    chosen_owners = [i for i, owner in enumerate(plan.owners) if owner in extents]
    if not chosen_owners:
        return {}
    sizes = np.array([extents.get(owner, (0.0, 0.0)) for owner in plan.owners])
    shapes = [*((v, 0.0) for v in VELOCITIES), *((VELOCITIES[0], d) for d in DISTANCES)]

    def all_shapes(q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None) -> tuple[np.ndarray, Past]:
        speed, width = qd @ plan.directions.T, np.maximum(np.outer(sizes[:, 0], VELOCITIES), 1e-300)
        z, past = plan.with_memory(q, qd, seconds, np.outer(sizes[:, 1], DISTANCES), past)
        return np.concatenate([np.tanh(speed[:, :, None] / width), z], axis=2), past

    triangles = [compress_shapes(RowMaker(plan, all_shapes), plan, recording) for recording in recordings]
    triangles = _clearest_rows(triangles, Equations.of(base), base.count)
    best = _sweep(triangles, plan, chosen_owners, base.count, len(shapes))
    return {
        plan.owners[i]: (rounded(shapes[k][0] * sizes[i, 0]), rounded(shapes[k][1] * sizes[i, 1]))
        for i, k in zip(chosen_owners, best, strict=True)
    }


Triangles = list[tuple[np.ndarray, int]]  # of each row: [Y_b, all shapes, tau] compressed, and its number of samples


def compress_shapes(maker: RowMaker, plan: FrictionPlan, recording: Recording) -> Triangles:
    """Return the triangles of the beginning of a recording, with K columns for each owner after those of Y_b.

    The rows of drives, link + motor, of elastic joints come last.
    """
    result: Triangles = []
    for rows in recording.rows(maker, head=True):
        more = np.einsum("in,mik->iknm", plan.directions, rows.shapes)
        y = np.concatenate([rows.y, more.reshape(-1, *more.shape[2:])])
        equations = recording.equations
        drives = [(link, equations.motors[link]) for link in equations.sprung]
        result = result or [(np.zeros((0, len(y) + 1)), 0) for _ in range(maker.n + len(drives))]
        blocks = [np.column_stack([y[:, j].T, rows.tau[:, j]])[rows.use[:, j]] for j in range(maker.n)]
        for link, motor in drives:
            used, columns = rows.use[:, motor] & rows.use[:, link], (y[:, link] + y[:, motor]).T
            blocks.append(np.column_stack([columns, rows.tau[:, link] + rows.tau[:, motor]])[used])
        for j, ((r, count), block) in enumerate(zip(result, blocks, strict=True)):
            result[j] = triangle(np.vstack([r, block])), count + len(block)
    return result


def _clearest_rows(recordings: list[Triangles], equations: Equations, p: int) -> list[Triangles]:
    """Return the triangles of the equations' rows, those of motors replaced by drives, link + motor, that err far less.

    In the row of a drive the spring cancels, whose deflection may be little more than noise. `p` is the number of columns of Y_b.
    """
    count, sprung = equations.count, equations.sprung
    used = [triangles for triangles in recordings if triangles]
    if not sprung or not used:
        return recordings
    from taupi.identification.springs.estimate import FAR_LESS

    def chosen(triangles: Triangles, drives: Sequence[int]) -> Triangles:
        rows = list(triangles[:count])
        for k in drives:
            rows[equations.motors[sprung[k]]] = triangles[count + k]
        return rows

    def errors(drives: Sequence[int]) -> list[float]:
        every = [t for triangles in used for t in chosen(triangles, drives)]
        rows = [r[:, np.append(np.arange(p), -1)] for r, _ in every]
        x, _ = reweighted_least_squares(rows, [m for _, m in every], list(range(count)) * len(used))
        squares = np.array([float(np.sum((r @ np.append(x, -1.0)) ** 2)) for r in rows]).reshape(len(used), count)
        return [float(np.sqrt(squares[:, equations.motors[link]].sum())) for link in sprung]

    pairs = zip(errors(()), errors(range(len(sprung))), strict=True)
    clearer = [k for k, (motor, drive) in enumerate(pairs) if FAR_LESS * drive < motor]
    return [chosen(triangles, clearer) if triangles else triangles for triangles in recordings]


def _sweep(recordings: list[Triangles], plan: FrictionPlan, owners: list[int], p: int, k: int) -> list[int]:
    """Return the index of the best of k shapes for each of the `owners`; p is the number of columns of Y_b."""
    places = np.array(plan.places)
    chosen = [0] * len(owners)
    every = [t for triangles in recordings for t in triangles]
    joint_numbers = [j for triangles in recordings for j in range(len(triangles))]
    if not every:  # no row is used, which is reported later
        return chosen

    def columns(shapes: Sequence[int]) -> np.ndarray:
        at = np.append(np.arange(p), p + k * len(places))
        at[places[owners]] = [p + i * k + s for i, s in zip(owners, shapes, strict=True)]
        return at

    for _ in range(_SWEEPS):
        before = list(chosen)
        compressed = [r[:, columns(chosen)] for r, _ in every]
        weights = iter(reweighted_least_squares(compressed, [m for _, m in every], joint_numbers)[1])
        weighted = [[next(weights) * r for r, _ in triangles] for triangles in recordings]
        joints = [triangle(np.vstack(several)) for several in zip(*(w for w in weighted if w), strict=True)]
        for a, i in enumerate(owners):
            acts = plan.directions[i] != 0  # in which rows
            others = [r[:, columns(chosen)] for r, on in zip(joints, acts, strict=True) if not on]
            others = [triangle(np.vstack(others))] if others else []
            own = np.vstack([r for r, on in zip(joints, acts, strict=True) if on])
            candidates = [columns([*chosen[:a], s, *chosen[a + 1 :]]) for s in range(k)]
            squares = np.array([_least_residual(np.vstack([*others, own[:, c]])) ** 2 for c in candidates])
            # With these weights, the squares of a joint add up to about the number of its rows.
            squares[: len(VELOCITIES)] += _CLEARLY * sum(
                m for triangles in recordings for (_, m), on in zip(triangles, acts, strict=True) if on
            )
            chosen[a] = int(np.argmin(squares))
        if chosen == before:
            break
    return chosen


def _least_residual(r: np.ndarray) -> float:
    """Return the least |Y x - tau| for R = [Y tau]: the last diagonal entry of its triangle."""
    return abs(float(triangle(r)[-1, -1])) if len(r) > r.shape[1] else 0.0


def rounded(value: float) -> float:
    """Return a number with three digits."""
    return float(f"{value:.3g}")
