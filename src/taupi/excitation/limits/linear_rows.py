"""Limits of position, speed, acceleration and jerk as linear rows on the coefficients, which hold at all times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.motions.family import Family


@dataclass(frozen=True, eq=False)
class LinearRows:
    """lower <= matrix @ x <= upper, for coefficients x (count n,), (count, n) row by row; limits are scaled to about one."""

    matrix: sp.csr_matrix
    lower: np.ndarray
    upper: np.ndarray
    centre: np.ndarray

    def excess(self, x: np.ndarray) -> float:
        """Return how much the worst row exceeds its limit, in units of the limit; negative inside."""
        value = self.matrix @ x
        return float(np.maximum(value - self.upper, self.lower - value).max(initial=-np.inf))

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return x, pulled towards the centre until every row holds."""
        middle, value = self.matrix @ self.centre, self.matrix @ (x - self.centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.maximum(value / (self.upper - middle), -value / (middle - self.lower))
        worst = float(np.nanmax(over, initial=0.0))
        return x if worst <= 1.0 else self.centre + (x - self.centre) / (worst * (1 + 1e-12))

    def reach(self, direction: np.ndarray) -> float:
        """Return how many times a direction can be added to the centre before a row reaches its limit."""
        middle, step = self.matrix @ self.centre, self.matrix @ direction
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                step > 0, (self.upper - middle) / step, np.where(step < 0, (self.lower - middle) / step, np.inf)
            )
        return float(np.where(np.abs(step) > 1e-12, room, np.inf).min(initial=np.inf))


def linear_rows(family: Family, limits: MotionLimits, posture: np.ndarray | None = None) -> LinearRows:
    """Return the rows of a family of motions within limits, about a posture (n,), by default the middle of the ranges."""
    blocks, shifts = [], []
    for order in range(4):
        bound = limits.of_order(order)
        limited = np.isfinite(bound)
        if not limited.any():
            continue
        joints = limits.spread[limited] / bound[limited, None]
        hull = family.rows(order)
        blocks.append(sp.kron(sp.csr_matrix(hull), sp.csr_matrix(joints)))
        middle = limits.middle[limited] / bound[limited] if order == 0 else np.zeros(int(limited.sum()))
        shifts.append(np.tile(middle, len(hull)))
    matrix, shift = sp.vstack(blocks).tocsr(), np.concatenate(shifts)
    acting = np.asarray(abs(matrix).sum(axis=1)).ravel() > 1e-12  # at rest there is no limit to keep
    matrix, shift = matrix[acting], shift[acting]
    centre = np.outer(family.constant, limits.centre() if posture is None else posture).ravel()
    return LinearRows(matrix, shift - family.share, shift + family.share, centre)
