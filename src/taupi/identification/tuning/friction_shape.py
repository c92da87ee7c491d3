"""The shape of dry friction at low speed and at standstill, joint by joint: the one that explains the logs best, and its error.

Linear least squares finds how large friction is, but not how it builds up: with speed, tanh(qd / v), or over a distance after
each reversal, and then held at standstill (Dahl 1968). A few of each are tried; each costs one more column, but no further pass
over the logs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, Past, friction_plan
from taupi.identification.friction.fitted_terms import Shape
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.factors import WEAKEST, reweighted_least_squares, triangle
from taupi.identification.rows.recording import Extent, Recording
from taupi.identification.rows.row_maker import RowMaker, one_way

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
    triangles = _clearest_rows(triangles, RowLayout.of(base), base.count)
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
        layout = recording.layout
        drives = [(link, layout.motors[link]) for link in layout.sprung]
        result = result or [(np.zeros((0, len(y) + 1)), 0) for _ in range(maker.n + len(drives))]
        blocks = [np.column_stack([y[:, j].T, rows.tau[:, j]])[rows.use[:, j]] for j in range(maker.n)]
        for link, motor in drives:
            used, columns = rows.use[:, motor] & rows.use[:, link], (y[:, link] + y[:, motor]).T
            blocks.append(np.column_stack([columns, rows.tau[:, link] + rows.tau[:, motor]])[used])
        for j, ((r, count), block) in enumerate(zip(result, blocks, strict=True)):
            result[j] = triangle(np.vstack([r, block])), count + len(block)
    return result


def _clearest_rows(recordings: list[Triangles], layout: RowLayout, p: int) -> list[Triangles]:
    """Return the triangles of the equations' rows, those of motors replaced by drives, link + motor, that err far less.

    In the row of a drive the spring cancels, whose deflection may be little more than noise. `p` is the number of columns of Y_b.
    """
    count, sprung = layout.count, layout.sprung
    used = [triangles for triangles in recordings if triangles]
    if not sprung or not used:
        return recordings
    from taupi.identification.springs.estimate import FAR_LESS

    def chosen(triangles: Triangles, drives: Sequence[int]) -> Triangles:
        rows = list(triangles[:count])
        for k in drives:
            rows[layout.motors[sprung[k]]] = triangles[count + k]
        return rows

    def errors(drives: Sequence[int]) -> list[float]:
        every = [t for triangles in used for t in chosen(triangles, drives)]
        rows = [r[:, np.append(np.arange(p), -1)] for r, _ in every]
        x, _ = reweighted_least_squares(rows, [m for _, m in every], list(range(count)) * len(used))
        squares = np.array([float(np.sum((r @ np.append(x, -1.0)) ** 2)) for r in rows]).reshape(len(used), count)
        return [float(np.sqrt(squares[:, layout.motors[link]].sum())) for link in sprung]

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


# Logarithms of the widths that are tried, relative to the present one, in four rounds: from the grid of `friction_shape`, a
# factor of 2 is the farthest, and near the minimum a parabola is nearly right.
_ROUNDS = tuple(reach * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) for reach in (0.7, 0.5, 0.25, 0.12))
_CENTRE = 2


def refined_widths(
    base: BaseParameters, recordings: Sequence[Recording], owners: Sequence[str]
) -> tuple[dict[str, Shape], np.ndarray]:
    """Return shapes tanh(qd / v) with better v for those `owners` that have this shape, and the effect of their errors.

    A parabola through the weighted sums of squares of five widths has its minimum at the next one. The second result (b, k) has
    a column for each of them: the derivative of the base parameters with log v, times the standard error of log v, which is
    sqrt(2 / (s curvature)), a row counting as s independent samples.
    """
    plan = friction_plan(base)
    chosen = [i for i, name in enumerate(plan.owners) if name in owners and plan.widths[i] and not plan.distances[i]]
    widths = np.array(plan.widths, dtype=float)
    spread = np.zeros((base.count, len(chosen)))
    for logs in _ROUNDS if chosen else ():
        parts = [_tried(plan, np.outer(widths, np.exp(logs)), recording) for recording in recordings]
        rows, count = _weighted(parts, plan, chosen, base.count)
        if rows is None:
            return {}, np.zeros((base.count, 0))
        share = sum(r.independent_share * m for r, m in zip(recordings, count, strict=True)) / max(sum(count), 1)
        for a, i in enumerate(chosen):
            candidates = [rows[:, _columns(plan, chosen, base.count, i, k)] for k in range(len(logs))]
            step, error, slope = _parabola(logs, candidates, share)
            widths[i] *= np.exp(step)
            spread[:, a] = error * slope
    return {plan.owners[i]: (rounded(widths[i]), 0.0) for i in chosen}, spread


def _tried(plan: FrictionPlan, widths: np.ndarray, recording: Recording) -> Triangles:
    """Return the triangles [Y_b, tanh of each owner with its widths (owners, 5), tau] of the beginning of a recording."""

    def shapes(q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None) -> tuple[np.ndarray, Past]:
        speed = qd @ plan.directions.T
        return np.tanh(speed[:, :, None] / np.maximum(widths, 1e-300)), plan.along_motion(q, qd, seconds, past)[1]

    return compress_shapes(RowMaker(plan, shapes), plan, recording)


def _columns(plan: FrictionPlan, chosen: Sequence[int], p: int, owner: int, place: int) -> np.ndarray:
    """Return the columns of [Y_b, shapes, tau] with the present widths, except for the owner, which has the one at this index."""
    k = len(_ROUNDS[0])
    at = np.append(np.arange(p), p + k * len(plan.places))
    for i in chosen:
        at[plan.places[i]] = p + i * k + (place if i == owner else _CENTRE)
    return at


def _weighted(
    parts: Sequence[Triangles], plan: FrictionPlan, chosen: Sequence[int], p: int
) -> tuple[np.ndarray | None, list[int]]:
    """Return all rows as one triangle, weighted by their noise, and the number of rows of each recording."""
    every = [t for triangles in parts for t in triangles]
    if not every:
        return None, []
    present = _columns(plan, chosen, p, -1, _CENTRE)
    joints = [j for triangles in parts for j in range(len(triangles))]
    _, weights = reweighted_least_squares([r[:, present] for r, _ in every], [m for _, m in every], joints)
    rows = triangle(np.vstack([w * r for w, (r, _) in zip(weights, every, strict=True)]))
    return rows, [sum(m for _, m in triangles) for triangles in parts]


def _parabola(logs: np.ndarray, candidates: Sequence[np.ndarray], share: float) -> tuple[float, float, np.ndarray]:
    """Return the step of log v to the least sum of squares, the standard error of log v, and the change of x with it (b,).

    `candidates` are weighted rows [Y tau], one for each of the `logs`, and `share` the independent samples that a row is worth.
    """
    solutions = [np.linalg.lstsq(r[:, :-1], r[:, -1], rcond=WEAKEST)[0] for r in candidates]
    squares = [float(np.sum((r @ np.append(x, -1.0)) ** 2)) for r, x in zip(candidates, solutions, strict=True)]
    a, b, _ = np.polyfit(logs, squares, 2)
    slope, farthest = np.polyfit(logs, np.array(solutions), 1)[0], float(_ROUNDS[0][-1])
    if a <= 0:  # far from a minimum, or the log does not show it: as uncertain as the widths that were tried at first
        return float(logs[int(np.argmin(squares))]), farthest, slope
    step = float(np.clip(-b / (2 * a), logs[0], logs[-1]))
    return step, min(float(np.sqrt(1 / (share * a))), farthest), slope
