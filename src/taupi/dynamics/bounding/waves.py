"""Trigonometric polynomials: what the terms of an arm are in its turning joints, F(x) = sum_m c_m exp(i m . x).

A rotation enters the mass matrix twice and gravity once, so the degree in each joint is known and a few samples give every
coefficient. Bounds from them are much closer than interval arithmetic through the recursion: a derivative of a wave is no larger
than the wave times its frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from taupi.dynamics.bounding.expansion import EPS, ROUNDED, Expansion, Local, halves

NODES = 20_000  # more samples than this are not worth their while
HESSIAN = 400_000  # numbers in the table of second derivatives at the centre, beyond which it costs more than it gives


@dataclass(frozen=True, eq=False)
class Waves:
    """F(x) = mean + sum_m (cosine_m cos(m . x) + sine_m sin(m . x)) + e(x), |e| <= error; else as the `Expansion` behind it."""

    expansion: Expansion
    frequencies: np.ndarray  # (waves, variables), whole numbers
    mean: np.ndarray  # (entries,)
    cosine: np.ndarray  # (waves, entries)
    sine: np.ndarray
    error: np.ndarray  # (entries,)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of F."""
        return self.expansion.shape

    @property
    def size(self) -> int:
        """The entries of x."""
        return self.expansion.size

    @property
    def free(self) -> list[int]:
        """The entries of x that vary: all of them."""
        return self.expansion.free

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and dF/dx at points, in doubles: by the waves, which saves a compilation."""
        m = self.frequencies
        phase = x @ m.T
        c, s = np.cos(phase), np.sin(phase)
        slopes = [(c * m[:, k]) @ self.sine - (s * m[:, k]) @ self.cosine for k in range(m.shape[1])]
        return self.mean + c @ self.cosine + s @ self.sine, np.stack(slopes, -1)

    def enclosed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F at points as middles and radii."""
        return self.expansion.enclosed(x)

    @property
    def heights(self) -> np.ndarray:
        """The largest value of each wave."""
        return np.hypot(self.cosine, self.sine) * (1 + 4 * EPS)

    def local(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        """Return F on boxes: Taylor's formula wave by wave."""
        centre, w = halves(lo, hi)
        m, heights = self.frequencies, self.heights
        f, slopes = self.at(centre)
        reach = w @ np.abs(m).T
        rest, parts = self._remainder(centre, w, reach)
        # Rounding of the phases, of sine and cosine and of the sums, against the height of every wave.
        unit = EPS * (2 * len(m) + 10 + (m.shape[1] + 2) * (np.abs(centre) @ np.abs(m).T).max(1, initial=0.0))
        rest = rest + unit[:, None] * ((1 + reach + reach**2) @ heights + np.abs(self.mean)) + self.error
        flat = np.broadcast_to(self.mean, f.shape)
        radius = np.broadcast_to((heights.sum(0) * ROUNDED + self.error), f.shape)
        return Local(f, slopes * w[:, None], rest * ROUNDED, flat, radius, parts)

    def _remainder(self, centre: np.ndarray, w: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return |R| by second derivatives anywhere, or by those at the centre and third ones anywhere, and its parts."""
        m, heights = self.frequencies, self.heights
        rest = reach**2 @ heights / 2
        total = heights.sum(1)
        parts = np.stack([(reach * np.abs(m[:, k])) @ total * w[:, k] for k in range(m.shape[1])], -1)
        if heights.size * m.shape[1] ** 2 / 2 > HESSIAN:
            return rest, parts
        c, s = np.cos(centre @ m.T), np.sin(centre @ m.T)
        bent, third = np.zeros_like(rest), reach**3 @ heights / 6
        for k, j in product(range(m.shape[1]), repeat=2):
            if j < k:
                continue
            both = m[:, k] * m[:, j]
            second = np.abs((c * both) @ self.cosine + (s * both) @ self.sine)
            bent += second * (w[:, k] * w[:, j] * (0.5 if k == j else 1.0))[:, None]
        return np.minimum(rest, bent + third), parts


def waves(expansion: Expansion, degrees: tuple[int, ...]) -> Waves | Expansion:
    """Return an expansion as waves, from samples on a grid that its degrees need; itself where the grid is too large."""
    counts = tuple(2 * d + 1 for d in degrees)
    total = int(np.prod(counts, dtype=int))
    if expansion.fixed or total > NODES or not degrees:
        return expansion
    grid = np.stack(np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in counts), indexing="ij"), -1)
    values, radius = expansion.enclosed(grid.reshape(total, -1))
    spectrum = np.fft.fftn(values.reshape(*counts, -1), axes=range(len(counts))) / total
    m = np.stack(np.meshgrid(*(np.fft.fftfreq(n, 1 / n).round() for n in counts), indexing="ij"), -1).reshape(total, -1)
    c = spectrum.reshape(total, -1)
    largest = np.abs(values).max(0)
    # Interpolation on N such nodes magnifies their errors by no more than sqrt(N): the squares of its basis sum to one. The
    # nodes themselves are rounded, which moves values by their slopes, no more than the degrees times the largest value.
    steep = 1 + sum(degrees) * np.pi
    noise = radius.max(0) + EPS * (2 * steep + 4 * np.log2(total + 1)) * largest
    leading = m[np.arange(total), (m != 0).argmax(1)]
    half = np.flatnonzero(leading > 0)
    height = 2 * np.abs(c[half])
    # What is below the noise is noise; it goes to the error.
    kept = (height > 2 * noise).any(1)
    error = np.sqrt(total) * noise * 2 + height[~kept].sum(0)
    keep = half[kept]
    return Waves(expansion, m[keep], c[0].real, 2 * c[keep].real, -2 * c[keep].imag, error * ROUNDED)
