"""Trigonometric polynomials F(x) = sum_m c_m exp(i m . x), which is what M, g and Gamma are in the turning joints of an arm.

A rotation enters the mass matrix twice and gravity once, so the degree in each joint is known and a few samples give every
coefficient. Bounds from these are much tighter than interval arithmetic through the recursion: a derivative of a wave is at most
the wave's height times its frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from taupi.analysis.bounding.taylor_expansion import EPS, ROUNDED, Expansion, Local, halves

NODES = 20_000  # more samples than this are not worth their cost
BLAS = 2**18  # multiplications from which OpenBLAS divides a product among threads
WAVES = 600  # how many of the highest are kept; the others go to the error, which hardly matters with so many
HESSIAN = 400_000  # numbers in the table of second derivatives at the centre, beyond which it costs more than it gains


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b in pieces so small that BLAS does not divide them among threads, whose start would cost more."""
    rows = BLAS // max(1, b.size)
    if rows >= len(a) or rows < 8:
        return a @ b
    out = np.empty((len(a), b.shape[1]))
    for k in range(0, len(a), rows):
        np.matmul(a[k : k + rows], b, out=out[k : k + rows])
    return out


@dataclass(frozen=True, eq=False)
class TrigonometricPolynomial:
    """F(x) = mean + sum_m (cosine_m cos(m . x) + sine_m sin(m . x)) + e(x) with |e| <= error, a `BoxFunction`."""

    expansion: Expansion  # the function that it was sampled from
    frequencies: np.ndarray  # (waves, variables), integers
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
        """The number of entries of x."""
        return self.expansion.size

    @property
    def free(self) -> list[int]:
        """The entries of x that vary: all of them."""
        return self.expansion.free

    @property
    def cost(self) -> float:
        """The cost of a box, in multiplications."""
        return float(self.cosine.size * (self.frequencies.shape[1] + 1))

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return F at points, in doubles."""
        phase = _times(x, self.frequencies.T)
        return self.mean + _times(np.cos(phase), self.cosine) + _times(np.sin(phase), self.sine)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and dF/dx at points, in doubles; by waves, which saves a compilation."""
        m = self.frequencies
        phase = _times(x, m.T)
        # One product for F and all slopes: the derivative of a cosine wave is a sine wave.
        values = _times(np.hstack([np.cos(phase), np.sin(phase)]), self._table)
        values = values.reshape(len(x), len(self.mean), m.shape[1] + 1)
        return values[..., 0] + self.mean, values[..., 1:]

    @cached_property
    def _table(self) -> np.ndarray:
        """The coefficients of F and of its slopes: rows for cosines and sines, columns for each entry's value and slopes."""
        m = self.frequencies
        cosines = [self.cosine] + [m[:, [k]] * self.sine for k in range(m.shape[1])]
        sines = [self.sine] + [-m[:, [k]] * self.cosine for k in range(m.shape[1])]
        return np.vstack([np.stack(side, -1).reshape(len(m), -1) for side in (cosines, sines)])

    @cached_property
    def _second(self) -> np.ndarray:
        """The coefficients of minus the second derivatives, each pair of variables once."""
        m = self.frequencies
        both = np.stack([m[:, k] * m[:, j] for k, j in self._pairs], -1)[:, None]
        return np.vstack([(side[..., None] * both).reshape(len(m), -1) for side in (self.cosine, self.sine)])

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations_with_replacement(range(self.frequencies.shape[1]), 2))

    def enclosed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F at points, as middles and radii."""
        return self.expansion.enclosed(x)

    @cached_property
    def heights(self) -> np.ndarray:
        """The largest value of each wave."""
        return np.hypot(self.cosine, self.sine) * (1 + 4 * EPS)

    def local(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        """Return F on boxes, by Taylor's formula for each wave."""
        centre, w = halves(lo, hi)
        m, heights = self.frequencies, self.heights
        f, slopes = self.at(centre)
        reach = _times(w, np.abs(m).T)
        rest, parts = self._remainder(centre, w, reach)
        # The rounding of phases, sines, cosines and sums, relative to the height of each wave.
        unit = EPS * (2 * len(m) + 10 + (m.shape[1] + 2) * (np.abs(centre) @ np.abs(m).T).max(1, initial=0.0))
        rest = rest + unit[:, None] * (_times(1 + reach + reach**2, heights) + np.abs(self.mean)) + self.error
        flat = np.broadcast_to(self.mean, f.shape)
        radius = np.broadcast_to((heights.sum(0) * ROUNDED + self.error), f.shape)
        return Local(f, slopes * w[:, None], rest * ROUNDED, flat, radius, parts)

    def _remainder(self, centre: np.ndarray, w: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a bound of |R| and its parts: by second derivatives on the box, or by those at its centre and third ones."""
        m, heights = self.frequencies, self.heights
        rest = _times(reach**2, heights) / 2
        total = heights.sum(1)
        parts = np.stack([(reach * np.abs(m[:, k])) @ total * w[:, k] for k in range(m.shape[1])], -1)
        if 2 * heights.size * len(self._pairs) > HESSIAN:
            return rest, parts
        phase = _times(centre, m.T)
        second = np.abs(_times(np.hstack([np.cos(phase), np.sin(phase)]), self._second))
        areas = np.stack([w[:, k] * w[:, j] * (0.5 if k == j else 1.0) for k, j in self._pairs], -1)
        bent = np.einsum("bep,bp->be", second.reshape(len(w), len(self.mean), len(self._pairs)), areas)
        return np.minimum(rest, bent + _times(reach**3, heights) / 6), parts


def trigonometric(expansion: Expansion, degrees: tuple[int, ...]) -> TrigonometricPolynomial | Expansion:
    """Return a function as a trigonometric polynomial of these degrees, from samples on a grid; itself if that is too large."""
    counts = tuple(2 * d + 1 for d in degrees)
    total = int(np.prod(counts, dtype=int))
    if expansion.fixed or total > NODES or not any(degrees):
        return expansion
    grid = np.stack(np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in counts), indexing="ij"), -1)
    values, radius = expansion.enclosed(grid.reshape(total, -1))
    spectrum = np.fft.fftn(values.reshape(*counts, -1), axes=range(len(counts))) / total
    m = np.stack(np.meshgrid(*(np.fft.fftfreq(n, 1 / n).round() for n in counts), indexing="ij"), -1).reshape(total, -1)
    c = spectrum.reshape(total, -1)
    largest = np.abs(values).max(0)
    # Interpolation on N such nodes magnifies their values by at most sqrt(N), since the squares of its basis functions sum to
    # one. So F is at most sqrt(N) times its values, and its slopes the degrees times that (Bernstein); the nodes are rounded.
    steep = 1 + 4 * sum(degrees) * np.sqrt(total)
    noise = radius.max(0) + EPS * (steep + 4 * np.log2(total + 1)) * largest
    leading = m[np.arange(total), (m != 0).argmax(1)]
    half = np.flatnonzero(leading > 0)
    height = 2 * np.abs(c[half])
    # Waves below the noise level are noise and go to the error. At least one wave is kept, so that no array is empty.
    kept = (height > 2 * noise).any(1)
    kept[:1] |= not kept.any()
    if kept.sum() > WAVES:
        highest = np.where(kept, height.max(1), -1.0)
        kept &= highest >= np.sort(highest)[-WAVES]
    error = np.sqrt(total) * noise * 2 + height[~kept].sum(0)
    keep = half[kept]
    return TrigonometricPolynomial(expansion, m[keep], c[0].real, 2 * c[keep].real, -2 * c[keep].imag, error * ROUNDED)
