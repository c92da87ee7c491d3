"""B-splines as a family: clamped, of degree 5, at rest at both ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from taupi.excitation.motions.bounded import SplineMotion

DEGREE = 5
# To be at rest, three control points are equal at each end, and some must be left free to move.
LEAST_POINTS = 12
# Control points per second by default, besides those of the ends.
POINTS_PER_SECOND = 2.5


def usual_points(duration: float) -> int:
    """Return the default number of control points for a duration in s.

    >>> usual_points(10.0), usual_points(1.0)
    (30, 12)
    """
    return max(LEAST_POINTS, round(DEGREE + POINTS_PER_SECOND * duration))


def points_of_bandwidth(bandwidth_hz: float, duration: float) -> int:
    """Return the number of control points for content up to a frequency: m - 5 = 2 T f.

    >>> points_of_bandwidth(1.25, 10.0)
    30
    """
    return int(DEGREE + 2 * duration * bandwidth_hz)


@dataclass(frozen=True)
class Splines:
    """B-splines of `points` control points per coordinate, the first three equal and the last three equal.

    So qd = qdd = 0 at both ends. `closed` makes the ends the same, so that the motion repeats. A derivative of a B-spline is a
    B-spline, which lies in the hull of its control points; inserted knots, which make `refine` spans of each span, bring the
    hull close to the curve.
    """

    points: int
    duration: float
    closed: bool = True
    refine: int = 4
    name: ClassVar[str] = "bspline"
    share: ClassVar[float] = 1.0

    @property
    def count(self) -> int:
        """The number of coefficients: the control points that are free."""
        return self.points - 4 - self.closed

    @property
    def content_hz(self) -> float:
        """About the highest frequency that it contains: half the rate of its control points."""
        return (self.points - DEGREE) / (2 * self.duration)

    @property
    def constant(self) -> np.ndarray:
        """The coefficients (count,) of q = 1."""
        return np.ones(self.count)

    @cached_property
    def _ends(self) -> np.ndarray:
        """All control points from the free ones, (points, count)."""
        ends = np.zeros((self.points, self.count))
        ends[:3, 0] = 1.0
        for k in range(3, self.points - 3):
            ends[k, k - 2] = 1.0
        ends[self.points - 3 :, 0 if self.closed else -1] = 1.0
        return ends

    def sampled(self, times: np.ndarray, order: int) -> np.ndarray:
        """Return the derivative of an order at times (N,) as a matrix (N, count) on coefficients."""
        return np.asarray(_spline(self.points, self.duration)(times, nu=order)) @ self._ends

    def rows(self, order: int) -> np.ndarray:
        """Return the control points of the derivative of an order as rows (m, count) on coefficients."""
        return _hull(self.points, self.duration, order, self.refine) @ self._ends

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return normal coefficients (count, n)."""
        return rng.standard_normal((self.count, n))

    def motion(self, coefficients: np.ndarray) -> SplineMotion:
        """Return the motion of coefficients (count, n)."""
        return SplineMotion((self._ends @ coefficients)[2:-2], self.duration)


@lru_cache(maxsize=16)
def _spline(points: int, duration: float) -> Any:
    from scipy.interpolate import BSpline

    inner = np.linspace(0.0, duration, points - DEGREE + 1)
    return BSpline(np.concatenate([[0.0] * DEGREE, inner, [duration] * DEGREE]), np.eye(points), DEGREE)


@lru_cache(maxsize=64)
def _hull(points: int, duration: float, order: int, refine: int) -> np.ndarray:
    spline = _spline(points, duration)
    knots = np.unique(spline.t)
    if order:
        spline = spline.derivative(order)
    for low, high in pairwise(knots):
        for part in range(1, refine):
            spline = spline.insert_knot(low + (high - low) * part / refine)
    rows = np.asarray(spline.c)[: len(spline.t) - spline.k - 1]
    rows.flags.writeable = False
    return rows
