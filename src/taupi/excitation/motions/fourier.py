"""Fourier series as a family: one period, at rest at its beginning and end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from taupi.excitation.motions.bounded import FourierMotion

# Samples per harmonic at which limits are kept: their bound is 1 / cos(pi / 16) = 1.0196 times the largest sample.
_DENSITY = 16
USUAL_HARMONICS = 5
# Rest at the beginning takes two of the 2 H + 1 coefficients; two harmonics leave three.
LEAST_HARMONICS = 2


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
        """Return random coefficients (count, n): normal, those of a harmonic h divided by h, so that speeds are similar."""
        h = np.arange(1.0, self.harmonics + 1)
        size = np.concatenate([[0.0], 1 / h, 1 / h])
        return self._rest.T @ (size[:, None] * rng.standard_normal((len(size), n)))

    def motion(self, coefficients: np.ndarray) -> FourierMotion:
        """Return the motion of coefficients (count, n)."""
        full = self._rest @ coefficients
        a, b = full[1 : 1 + self.harmonics].T, full[1 + self.harmonics :].T
        omega = 2 * math.pi / self.duration * np.arange(1, self.harmonics + 1)
        return FourierMotion(full[0], np.hypot(a, b), np.broadcast_to(omega, a.shape), np.arctan2(b, a), self.duration)
