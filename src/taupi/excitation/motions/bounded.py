"""Motions whose derivatives are bounded for all times: the basis of proofs of limits and clearance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import casadi as cs
import numpy as np

from taupi.dynamics.types import Expression
from taupi.simulation.references import BSpline, MinimumJerk, Motion, Piecewise, Reference, Sinusoids

# Parts into which each polynomial piece is cut before its Bernstein coefficients bound it; their hull is then within 0.1 %.
_PARTS = 16
# Samples per harmonic of the bound of a Fourier series: 1 / cos(pi / 64) is 1.0012.
_DENSITY = 64
# How much rounding may reduce a bound, as a share of the largest term.
_ROUNDING = 1e-12


@runtime_checkable
class BoundedMotion(Reference, Protocol):
    """A motion over a duration (s) with bounds of its derivatives that hold at every time."""

    @property
    def duration(self) -> float:
        """Seconds from the beginning to the end."""
        ...

    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        ...

    def bounds(self, order: int) -> np.ndarray:
        """Return bounds (n,) of the magnitude of the derivative of an order: 0 position, 1 speed, 2, 3 jerk."""
        ...


class _Bounded(ABC):
    @abstractmethod
    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""

    def bounds(self, order: int) -> np.ndarray:
        """Return bounds (n,) of the magnitude of the derivative of an order: 0 position, 1 speed, 2, 3 jerk."""
        low, high = self.extent(order)
        return np.maximum(-low, high)


class _BoundedPiecewise(_Bounded, Piecewise):
    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        return piecewise_extent(self, order, spread)


@dataclass(frozen=True, eq=False)
class SplineMotion(_BoundedPiecewise, BSpline):
    """A B-spline with bounds, see `taupi.BSpline`.

    >>> motion = SplineMotion([[0.0], [1.0], [0.0]], 2.0)
    >>> low, high = motion.extent(0)
    >>> q = motion(np.linspace(0, 2, 1001)).q
    >>> bool(q.max() <= high[0] <= 1.001 * q.max())
    True
    """


@dataclass(frozen=True, eq=False)
class StraightMotion(_BoundedPiecewise, MinimumJerk):
    """Straight paths from point to point with bounds, see `taupi.MinimumJerk`."""

    @property
    def duration(self) -> float:
        """Seconds from the first point to the last."""
        return float(self.breaks[-1] - self.breaks[0])


@dataclass(frozen=True, eq=False)
class FourierMotion(_Bounded, Sinusoids):
    """A Fourier series with bounds: omega are whole multiples of 2 pi / `duration`, see `taupi.Sinusoids`.

    A trigonometric polynomial of degree H is at most 1 / cos(pi H / M) times the largest of M > 2 H equidistant samples (Ehlich
    & Zeller 1964).
    """

    duration: float = 10.0

    @property
    def harmonics(self) -> int:
        """The highest multiple of the frequency of one period."""
        return round(float(np.max(self.omega)) * self.duration / (2 * math.pi))

    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        count = _DENSITY * self.harmonics
        angle = np.arange(count)[:, None, None] * (self.duration / count) * self.omega + self.phase
        value = (self.amplitude * self.omega**order * np.sin(angle + order * math.pi / 2)).sum(axis=2)
        value += self.offset if order == 0 else 0.0
        value = value if spread is None else value @ spread.T
        middle, half = (value.max(axis=0) + value.min(axis=0)) / 2, np.ptp(value, axis=0) / 2
        half = half / math.cos(math.pi / _DENSITY) + _ROUNDING * np.abs(value).max(axis=0)
        return middle - half, middle + half


@dataclass(frozen=True, eq=False)
class JoinedMotion(_Bounded):
    """Motions in sequence, each at rest at its beginning and end."""

    parts: tuple[BoundedMotion, ...]

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.parts[0].n

    @property
    def duration(self) -> float:
        """Seconds of all parts together."""
        return sum(part.duration for part in self.parts)

    @property
    def beginnings(self) -> tuple[float, ...]:
        """When each part begins, in s."""
        return tuple(sum(p.duration for p in self.parts[:k]) for k in range(len(self.parts)))

    def __call__(self, t: object) -> Motion:
        """Return q, qd, qdd at times (...); before the beginning and after the end it stands still."""
        times = np.asarray(t, dtype=float)
        place = np.clip(np.searchsorted(self.beginnings, times, side="right") - 1, 0, len(self.parts) - 1)
        result = np.zeros((3, *times.shape, self.n))
        for k, (part, begin) in enumerate(zip(self.parts, self.beginnings, strict=True)):
            local = np.clip(times - begin, 0.0, part.duration)
            result = np.where((place == k)[..., None], np.stack(part(local)), result)
        still = ((times < 0) | (times > self.duration))[..., None]
        return Motion(result[0], np.where(still, 0.0, result[1]), np.where(still, 0.0, result[2]))

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd over SX."""
        result = self.parts[0].trace(t)
        for part, begin in zip(self.parts[1:], self.beginnings[1:], strict=True):
            later = part.trace(t - begin)
            result = Motion(*(cs.if_else(t >= begin, b, a) for a, b in zip(result, later, strict=True)))
        return result

    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        low, high = zip(*(part.extent(order, spread) for part in self.parts), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)


@dataclass(frozen=True, eq=False)
class SlowedMotion(_Bounded):
    """A `motion` at a share `speed` of its own: q(s t), s qd(s t), s^2 qdd(s t)."""

    motion: BoundedMotion
    speed: float

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.motion.n

    @property
    def duration(self) -> float:
        """Seconds from the beginning to the end."""
        return self.motion.duration / self.speed

    def __call__(self, t: object) -> Motion:
        """Return q, qd, qdd at times (...)."""
        q, qd, qdd = self.motion(self.speed * np.asarray(t, dtype=float))
        return Motion(q, self.speed * qd, self.speed**2 * qdd)

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd over SX."""
        q, qd, qdd = self.motion.trace(self.speed * t)
        return Motion(q, self.speed * qd, self.speed**2 * qdd)

    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        low, high = self.motion.extent(order, spread)
        return self.speed**order * low, self.speed**order * high


@dataclass(frozen=True, eq=False)
class BoundedPolynomials(_Bounded):
    """A `motion` of polynomials with bounds of its derivatives.

    Before and after its polynomials it has the speed of their ends, although it rests there: an interval that reaches across an
    end where the motion starts or stops suddenly would otherwise be taken for one of rest.
    """

    motion: Piecewise

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.motion.n

    @property
    def duration(self) -> float:
        """When the motion ends, in s."""
        return float(self.motion.breaks[-1])

    def __call__(self, t: object) -> Motion:
        """Return q, qd, qdd at times (...)."""
        return self.motion(np.clip(np.asarray(t, dtype=float), self.motion.breaks[0], self.motion.breaks[-1]))

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd over SX."""
        return self.motion.trace(t)

    def extent(self, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values between which the derivative of an order stays, or `spread` (m, n) times it."""
        return piecewise_extent(self.motion, order, spread)


def slowed(motion: BoundedMotion, speed: float) -> BoundedMotion:
    """Return a motion at a share of its speed, part by part."""
    if isinstance(motion, JoinedMotion):
        return JoinedMotion(tuple(slowed(part, speed) for part in motion.parts))
    return SlowedMotion(motion, speed)


def piecewise_extent(motion: Piecewise, order: int, spread: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest of the Bernstein coefficients of a derivative: the polynomials stay between them.

    Each piece is cut into parts first, which makes the hull tight (de Casteljau).
    """
    coefficients, length = motion.coefficients, np.diff(motion.breaks)
    coefficients = coefficients if spread is None else coefficients @ spread.T
    for _ in range(order):
        degree = len(coefficients) - 1
        powers = np.arange(degree, 0, -1.0)[:, None, None]
        coefficients = powers * coefficients[:-1] if degree else 0 * coefficients
    degree = len(coefficients) - 1
    unit = coefficients * length[None, :, None] ** np.arange(degree, -1, -1.0)[:, None, None]
    hull = np.einsum("ab,bpn->apn", _bernstein(degree, _PARTS), unit)
    loss = _ROUNDING * np.abs(unit).sum(axis=0).max(axis=0)
    return hull.min(axis=(0, 1)) - loss, hull.max(axis=(0, 1)) + loss


@lru_cache(maxsize=32)
def _bernstein(degree: int, parts: int) -> np.ndarray:
    """Return the matrix from power coefficients, highest first, over [0, 1] to Bernstein coefficients of equal parts of it."""
    to_bernstein = np.array(
        [
            [math.comb(i, k) / math.comb(degree, k) if k <= i else 0.0 for k in range(degree + 1)]
            for i in range(degree + 1)
        ]
    )
    rows = []
    for part in range(parts):
        # p((part + v) / parts) = sum_k v^k sum_j c_j comb(j, k) part^(j - k) / parts^j, lowest power first
        shifted = np.array(
            [
                [math.comb(j, k) * float(part) ** (j - k) / parts**j if j >= k else 0.0 for j in range(degree + 1)]
                for k in range(degree + 1)
            ]
        )
        rows.append(to_bernstein @ shifted)
    return np.vstack(rows)[:, ::-1]
