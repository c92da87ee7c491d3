"""The speed over which dry friction builds up, and its uncertainty: friction parameters are no more certain than its shape.

Coulomb and viscous friction are the most certain parameters of a fit, and those that a wrong width of tanh(qd / v) biases most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, Past, friction_plan
from taupi.identification.friction.fitted_terms import Shape
from taupi.identification.rows.factors import WEAKEST, reweighted_least_squares, triangle
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.identification.tuning.friction_shape import Triangles, compress_shapes, rounded

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
