"""Families of motions that are linear in their coefficients: B-splines and Fourier series, and the choice from settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import Argument, TaupiError
from taupi.excitation.motions.bounded import BoundedMotion, FourierMotion, SplineMotion
from taupi.excitation.settings import Course
from taupi.model.robot import Robot
from taupi.model.scalars import to_float

if TYPE_CHECKING:
    from scipy.interpolate import BSpline


class Family(Protocol):
    """Motions q(t) = B(t) c of one coordinate over a duration, linear in `count` coefficients c."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def duration(self) -> float:
        """Seconds of one period."""
        ...

    @property
    def count(self) -> int:
        """The number of coefficients of a coordinate."""
        ...

    @property
    def share(self) -> float:
        """|rows(order) @ c| <= share * limit at every row is |derivative| <= limit at every time."""
        ...

    @property
    def constant(self) -> np.ndarray:
        """The coefficients (count,) of q = 1."""
        ...

    @property
    def content_hz(self) -> float:
        """About the highest frequency that it contains."""
        ...

    def sampled(self, times: np.ndarray, order: int) -> np.ndarray:
        """Return the derivative of an order at times (N,) as a matrix (N, count) on coefficients."""
        ...

    def rows(self, order: int) -> np.ndarray:
        """Return rows (m, count) whose values bound the derivative of an order, see `share`."""
        ...

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return random coefficients (count, n) of no particular size, about zero."""
        ...

    def motion(self, coefficients: np.ndarray) -> BoundedMotion:
        """Return the motion of coefficients (count, n)."""
        ...


DEGREE = 5
# Control points per second by default, besides the ones at the ends.
POINTS_PER_SECOND = 2.5


@dataclass(frozen=True)
class Splines:
    """B-splines whose first three control points are equal, and whose last three are, so that qd = qdd = 0 at both ends.

    A derivative of a B-spline is a B-spline, which lies in the hull of its control points; inserted knots bring the hull close to
    the curve.

    Attributes:
        points: Control points of each coordinate.
        duration: Seconds from the beginning to the end.
        closed: Whether both ends are the same, so that the motion repeats; true by default.
        refine: Spans that inserted knots make of each span; 4 by default.
    """

    points: int
    duration: float
    closed: bool = True
    refine: int = 4
    name: ClassVar[str] = "bspline"
    share: ClassVar[float] = 1.0
    option: ClassVar[str] = "points"
    # To be at rest, three control points are equal at each end, and some must be left free to move.
    least: ClassVar[int] = 12

    @classmethod
    def of(cls, course: Course, size: int | None = None) -> Splines:
        """Return the family of a course with `size` control points, or with the default number, which grows with its duration.

        >>> Splines.of(Course(10.0)).points, Splines.of(Course(1.0)).points
        (30, 12)
        """
        usual = max(cls.least, round(DEGREE + POINTS_PER_SECOND * course.duration))
        return cls(size or usual, course.duration, course.closed)

    @staticmethod
    def size_of(bandwidth_hz: float, duration: float) -> int:
        """Return the number of control points for content up to a frequency: m - 5 = 2 T f.

        >>> Splines.size_of(1.25, 10.0)
        30
        """
        return int(DEGREE + 2 * duration * bandwidth_hz)

    @classmethod
    def shortest(cls, bandwidth_hz: float) -> float:
        """Return the shortest duration (s) of a motion with content up to a frequency."""
        return (cls.least - DEGREE) / (2 * bandwidth_hz)

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
def _spline(points: int, duration: float) -> BSpline:
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


# Samples per harmonic at which limits are kept: their bound is 1 / cos(pi / 16) = 1.0196 times the largest sample.
_DENSITY = 16


@dataclass(frozen=True)
class FourierSeries:
    """q = q0 + sum_h a_h sin(h w t) + b_h cos(h w t), h = 1 ... `harmonics`, w = 2 pi / `duration` (Swevers et al. 1997).

    qd = qdd = 0 at t = 0 because sum h a_h = sum h^2 b_h = 0, built into the coefficients: they are coordinates of the null
    space of these two equations.
    """

    harmonics: int
    duration: float
    name: ClassVar[str] = "fourier"
    closed: ClassVar[bool] = True
    option: ClassVar[str] = "harmonics"
    # Rest at the beginning takes two of the 2 H + 1 coefficients; two harmonics leave three.
    least: ClassVar[int] = 2
    usual: ClassVar[int] = 5

    @classmethod
    def of(cls, course: Course, size: int | None = None) -> FourierSeries:
        """Return the family of a course with `size` harmonics, or with the default number."""
        return cls(size or cls.usual, course.duration)

    @staticmethod
    def size_of(bandwidth_hz: float, duration: float) -> int:
        """Return the number of harmonics for content up to a frequency."""
        return int(bandwidth_hz * duration)

    @classmethod
    def shortest(cls, bandwidth_hz: float) -> float:
        """Return the shortest duration (s) of a motion with content up to a frequency."""
        return cls.least / bandwidth_hz

    @property
    def share(self) -> float:
        """The factor on sampled limits that makes them hold between samples (Ehlich & Zeller 1964)."""
        return math.cos(math.pi / _DENSITY)

    @property
    def count(self) -> int:
        """The number of coefficients."""
        return 2 * self.harmonics - 1

    @property
    def content_hz(self) -> float:
        """The highest frequency that it holds."""
        return self.harmonics / self.duration

    @cached_property
    def _rest(self) -> np.ndarray:
        """An orthonormal basis (2 H + 1, count) of (q0, a, b) that are at rest at t = 0."""
        from scipy.linalg import null_space

        h = np.arange(1.0, self.harmonics + 1)
        rest = np.zeros((2, 1 + 2 * self.harmonics))
        rest[0, 1 : 1 + self.harmonics], rest[1, 1 + self.harmonics :] = h, h**2
        return np.asarray(null_space(rest))

    @property
    def constant(self) -> np.ndarray:
        """The coefficients (count,) of q = 1."""
        return self._rest[0]

    def sampled(self, times: np.ndarray, order: int) -> np.ndarray:
        """Return the derivative of an order at times (N,) as a matrix (N, count) on coefficients."""
        w = 2 * math.pi / self.duration * np.arange(1, self.harmonics + 1)
        angle = np.outer(times, w) + order * math.pi / 2
        mean = np.full((len(times), 1), float(order == 0))
        return np.hstack([mean, w**order * np.sin(angle), w**order * np.cos(angle)]) @ self._rest

    def rows(self, order: int) -> np.ndarray:
        """Return the derivative of an order at equidistant samples, rows (m, count) on coefficients."""
        count = _DENSITY * self.harmonics
        return self.sampled(np.arange(count) * (self.duration / count), order)

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return random coefficients (count, n): normal, of a harmonic h divided by h, so that speeds are similar."""
        h = np.arange(1.0, self.harmonics + 1)
        size = np.concatenate([[0.0], 1 / h, 1 / h])
        return self._rest.T @ (size[:, None] * rng.standard_normal((len(size), n)))

    def motion(self, coefficients: np.ndarray) -> FourierMotion:
        """Return the motion of coefficients (count, n)."""
        full = self._rest @ coefficients
        a, b = full[1 : 1 + self.harmonics].T, full[1 + self.harmonics :].T
        omega = 2 * math.pi / self.duration * np.arange(1, self.harmonics + 1)
        return FourierMotion(full[0], np.hypot(a, b), np.broadcast_to(omega, a.shape), np.arctan2(b, a), self.duration)


# A motion stays below this share of the lowest resonance, so that links and motors move as one.
RESONANCE_SHARE = 1 / 3
_POSTURES = 500


def lowest_resonance(robot: Robot, lower: np.ndarray, upper: np.ndarray) -> float | None:
    """Return the lowest frequency (Hz) at which links oscillate on their springs with motors held, None without springs.

    The least eigenvalue of M^-1 K among random postures between `lower` and `upper` (n,), rigid joints held still.
    """
    values = dict(robot.symbols)
    elastic = [k for k, joint in enumerate(robot.driving_joints) if joint.transmission.stiffness is not None]
    if not elastic:
        return None
    springs = [robot.driving_joints[k].transmission.stiffness for k in elastic]
    K = np.array([to_float(s, "stiffness", values) for s in springs if s is not None])
    q = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, robot.n))
    M = mass_matrix(robot)(q)[:, elastic][:, :, elastic]
    root = 1 / np.sqrt(K)
    slowest = np.linalg.eigvalsh(M * root[:, None] * root)[:, -1].max()
    return float(1 / (2 * math.pi * math.sqrt(slowest))) if slowest > 0 else None


# By the name of the motion. Of a family, `option` is the setting for its size, `least` the smallest size.
FAMILIES: dict[str, type[Splines | FourierSeries]] = {kind.name: kind for kind in (Splines, FourierSeries)}


def choose_family(course: Course, resonance_hz: float | None = None) -> tuple[Family, tuple[str, ...]]:
    """Return the family of motions, and notes on it."""
    most = None if resonance_hz is None else RESONANCE_SHARE * resonance_hz
    kind, sizes = FAMILIES[course.motion], {"points": course.points, "harmonics": course.harmonics}
    asked, bandwidth = sizes.pop(kind.option), course.bandwidth
    for name, size in sizes.items():
        if size is not None:
            raise TaupiError(
                "{argument} has no meaning for the motion {motion!r}.",
                remedy="Leave it out.",
                argument=Argument(name),
                motion=course.motion,
            )
    if bandwidth is not None and asked is not None:
        raise TaupiError(
            "{argument} and {bandwidth} are both given.", remedy="Leave one out.", argument=Argument(kind.option)
        )
    family = kind.of(course, asked)
    if bandwidth is None and asked is None and most is not None and family.content_hz > most:
        bandwidth = most
    if bandwidth is not None:
        size = kind.size_of(bandwidth, course.duration)
        if size < kind.least:
            raise TaupiError(
                "{duration} is {course_duration:g} s, too short for a motion with content up to {bandwidth_hz:.3g} Hz.",
                remedy="Use at least {other_duration}.",
                course_duration=course.duration,
                bandwidth_hz=bandwidth,
                other_duration=Argument("duration", math.ceil(kind.shortest(bandwidth) * 10) / 10),
            )
        family = kind.of(course, size)
    if most is None:
        return family, ()
    if family.content_hz > most * (1 + 1e-9):
        raise TaupiError(
            "The motion has content up to {content_hz:.3g} Hz, and the lowest resonance of the elastic "
            "joints is {resonance_hz:.3g} Hz.",
            remedy="Stay below a third of it: {bandwidth}.",
            content_hz=family.content_hz,
            resonance_hz=resonance_hz,
            bandwidth=Argument("bandwidth", float(f"{most:.3g}")),
        )
    note = (
        f"Elastic joints: designed on the rigid model, up to {family.content_hz:.3g} Hz, below a third of the lowest "
        f"resonance ({resonance_hz:.3g} Hz with motors held, in {_POSTURES} postures)."
    )
    return family, (note,)
