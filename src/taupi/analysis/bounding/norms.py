"""Norms and eigenvalues as convex functions of an array, and what they can reach on a small affine family of arrays.

The family is {F + sum_k t_k S_k + R : |t_k| <= 1, |R| <= r entry by entry}: a function on a box by Taylor's formula, S_k its
slopes times the half widths and r its remainder. A convex function takes its maximum over t at one of the 2^d vertices; where
those are too many, a bound with an error of second order in S takes their place. A minimum is bounded by a subgradient at F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

# Beyond this many variables the vertices are too many.
VERTICES = 6
VERTICES_EIGEN = 3  # an eigenvalue costs more than a sum
# Rounding of the norms and of LAPACK's eigenvalues: some ulps of the largest entry for every entry that is summed.
ROUNDING = 8 * 2.0**-52

Array = np.ndarray


class Measure(Protocol):
    """A convex function of an array. Leading axis: boxes. `slopes` has the variables last."""

    def value(self, f: Array) -> Array:
        """Return the function's value."""

    def gradient(self, f: Array) -> Array:
        """Return a subgradient, of the shape of f."""

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return an upper bound of the function on the family."""

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return a lower bound of the function on the family."""


def slack(f: Array, slopes: Array, rest: Array) -> Array:
    """Return what the rounding of a measure's own arithmetic can amount to."""
    size = np.abs(f) + np.abs(slopes).sum(-1) + rest
    axes = tuple(range(1, f.ndim))
    return ROUNDING * (1 + np.prod(f.shape[1:])) * size.max(axis=axes, initial=0.0)


def vertices(f: Array, slopes: Array) -> Array:
    """Return the 2^d corners of the affine family, (boxes, 2^d, ...)."""
    corners = f[:, None]
    for k in range(slopes.shape[-1]):
        step = slopes[..., k][:, None]
        corners = np.concatenate([corners - step, corners + step], axis=1)
    return corners


def _straight(measure: Measure, f: Array, slopes: Array) -> Array:
    """Return the lower bound of a subgradient: phi(F + S t) >= phi(F) + <G, S t> >= phi(F) - sum_k |<G, S_k>|."""
    g = measure.gradient(f)
    along = (g[..., None] * slopes).sum(tuple(range(1, f.ndim)))
    return measure.value(f) - np.abs(along).sum(-1)


def _one_norms(f: Array, slopes: Array, rest: Array) -> Array:
    """Return upper bounds of the 1-norm along axis 1, (boxes, ...): of a vector, or of every column of a matrix."""
    if slopes.shape[-1] <= VERTICES:
        return np.abs(vertices(f, slopes)).sum(2).max(1) + rest.sum(1)
    # An entry whose sign is known is linear; the others are bounded one by one.
    reach = np.abs(slopes).sum(-1)
    sign = np.where(np.abs(f) > reach, np.sign(f), 0.0)
    linear = (sign * f).sum(1) + np.abs((sign[..., None] * slopes).sum(1)).sum(-1)
    return linear + np.where(sign == 0, np.abs(f) + reach, 0.0).sum(1) + rest.sum(1)


@dataclass(frozen=True)
class VectorNorm:
    """The 1-, 2- or infinity-norm of a vector."""

    p: float

    def value(self, f: Array) -> Array:
        """Return the norm."""
        return np.linalg.norm(f, self.p, axis=-1)

    def gradient(self, f: Array) -> Array:
        """Return the dual vector."""
        if self.p == 1:
            return np.sign(f)
        if self.p == 2:
            size = np.linalg.norm(f, axis=-1, keepdims=True)
            return np.divide(f, size, out=np.zeros_like(f), where=size > 0)
        largest = np.abs(f).argmax(-1)[:, None]
        return np.where(np.arange(f.shape[-1]) == largest, np.sign(f), 0.0)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest norm: exact for infinity, by vertices for 1, by |F + S t|^2 for 2."""
        if self.p == 1:
            return _one_norms(f, slopes, rest)
        if self.p == np.inf:
            return (np.abs(f) + np.abs(slopes).sum(-1) + rest).max(-1)
        if slopes.shape[-1] <= VERTICES:
            return np.linalg.norm(vertices(f, slopes), axis=2).max(1) + np.linalg.norm(rest, axis=-1)
        gram = np.abs(np.einsum("bik,bil->bkl", slopes, slopes)).sum((1, 2))
        linear = 2 * np.abs(np.einsum("bi,bik->bk", f, slopes)).sum(-1)
        return np.sqrt((f * f).sum(-1) + linear + gram) + np.linalg.norm(rest, axis=-1)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the subgradient's bound."""
        return np.maximum(_straight(self, f, slopes) - self.value(rest), 0.0)


@dataclass(frozen=True)
class LargestEntry:
    """The largest absolute entry of a matrix."""

    @staticmethod
    def _flat(f: Array) -> Array:
        return f.reshape(len(f), f.shape[1] * f.shape[2], *f.shape[3:])

    def value(self, f: Array) -> Array:
        """Return the entry."""
        return VectorNorm(np.inf).value(self._flat(f))

    def gradient(self, f: Array) -> Array:
        """Return its sign, at its place."""
        return VectorNorm(np.inf).gradient(self._flat(f)).reshape(f.shape)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest, exactly."""
        return VectorNorm(np.inf).above(*map(self._flat, (f, slopes, rest)))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the subgradient's bound."""
        return VectorNorm(np.inf).below(*map(self._flat, (f, slopes, rest)))


@dataclass(frozen=True)
class ColumnSum:
    """The largest 1-norm of a matrix's columns: its induced 1-norm."""

    def value(self, f: Array) -> Array:
        """Return the norm."""
        return np.abs(f).sum(1).max(-1)

    def gradient(self, f: Array) -> Array:
        """Return the signs of the largest column."""
        largest = np.abs(f).sum(1).argmax(-1)[:, None, None]
        return np.where(np.arange(f.shape[-1]) == largest, np.sign(f), 0.0)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest column's bound."""
        return _one_norms(f, slopes, rest).max(-1)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the best column's bound: by its signs at F, or entry by entry."""
        sign = np.sign(f)
        straight = np.abs(f).sum(1) - np.abs((sign[..., None] * slopes).sum(1)).sum(-1) - rest.sum(1)
        entries = np.maximum(np.abs(f) - np.abs(slopes).sum(-1) - rest, 0.0).sum(1)
        return np.maximum(straight, entries).max(-1)


def _largest_eigenvalue(f: Array) -> Array:
    return np.linalg.eigvalsh(f)[..., -1]


def _symmetric_norm(rest: Array) -> Array:
    """Return a bound of the 2-norm of every symmetric matrix with these absolute entries: the largest row sum."""
    return np.maximum(rest, np.swapaxes(rest, 1, 2)).sum(-1).max(-1)


@dataclass(frozen=True)
class TopEigenvalue:
    """The largest eigenvalue of sign times a symmetric matrix."""

    sign: int = 1

    def value(self, f: Array) -> Array:
        """Return the eigenvalue."""
        return _largest_eigenvalue(self.sign * f)

    def gradient(self, f: Array) -> Array:
        """Return sign v v^T with the eigenvector v."""
        v = np.linalg.eigh(self.sign * f)[1][..., -1]
        return self.sign * v[:, :, None] * v[:, None, :]

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest eigenvalue: from a comparison matrix, or at the vertices where they are few."""
        compared = self._compared(self.sign * f, self.sign * slopes, rest)
        if slopes.shape[-1] > VERTICES_EIGEN:
            return compared
        corners = _largest_eigenvalue(self.sign * vertices(f, slopes)).max(1) + _symmetric_norm(rest)
        return np.minimum(compared, corners)

    @staticmethod
    def _compared(f: Array, slopes: Array, rest: Array) -> Array:
        """Return lambda_max(X) <= lambda_max(N), in the eigenvectors of F: N_ii >= X_ii, N_ij >= |X_ij|."""
        values, v = np.linalg.eigh(f)
        turned = np.swapaxes(v, 1, 2)[..., None, :, :] @ np.moveaxis(slopes, -1, 1) @ v[:, None]
        size = np.abs(v)
        n = np.abs(turned).sum(1) + np.swapaxes(size, 1, 2) @ rest @ size
        n[:, np.arange(v.shape[-1]), np.arange(v.shape[-1])] += values
        return _largest_eigenvalue(n)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the subgradient's bound."""
        return _straight(self, f, slopes) - _symmetric_norm(rest)


@dataclass(frozen=True)
class SpectralNorm:
    """The 2-norm of a symmetric matrix: the larger of the top eigenvalues of M and -M."""

    sides = (TopEigenvalue(1), TopEigenvalue(-1))

    def _of_both(self, name: str, *args: Array) -> Array:
        return np.maximum(*(getattr(side, name)(*args) for side in self.sides))

    def value(self, f: Array) -> Array:
        """Return the norm."""
        return self._of_both("value", f)

    def gradient(self, f: Array) -> Array:
        """Return the gradient of the larger side."""
        plus, minus = self.sides
        larger = (plus.value(f) >= minus.value(f))[:, None, None]
        return np.where(larger, plus.gradient(f), minus.gradient(f))

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the larger side's bound."""
        return self._of_both("above", f, slopes, rest)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the better side's bound."""
        return np.maximum(self._of_both("below", f, slopes, rest), 0.0)


@dataclass(frozen=True)
class SingularValue:
    """The largest singular value of a matrix with few rows."""

    def value(self, f: Array) -> Array:
        """Return the singular value."""
        return np.sqrt(np.maximum(_largest_eigenvalue(f @ np.swapaxes(f, -1, -2)), 0.0))

    def gradient(self, f: Array) -> Array:
        """Return u v^T of the singular vectors."""
        u, _, v = np.linalg.svd(f, full_matrices=False)
        return u[:, :, :1] * v[:, :1, :]

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the bound from the eigenvalues of (F + S t)(F + S t)^T, a family with second-order rest."""
        gram = f @ np.swapaxes(f, 1, 2)
        mixed = np.einsum("bic,bjck->bijk", f, slopes)
        tilt = mixed + np.swapaxes(mixed, 1, 2)
        reach = np.abs(slopes).sum(-1)
        curved = reach @ np.swapaxes(reach, 1, 2)
        squared = TopEigenvalue().above(gram, tilt, curved)
        return np.sqrt(np.maximum(squared, 0.0)) + np.linalg.norm(rest, axis=(1, 2))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the subgradient's bound."""
        return np.maximum(_straight(self, f, slopes) - np.linalg.norm(rest, axis=(1, 2)), 0.0)


@dataclass(frozen=True)
class Weighted:
    """A measure of a matrix whose columns are weighted, and which may be transposed first."""

    inner: Any
    weights: tuple[float, ...]
    transposed: bool = False

    def _given(self, f: Array) -> Array:
        scaled = f * (np.array(self.weights).reshape(-1, *(1,) * (f.ndim - 3)))
        return np.swapaxes(scaled, 1, 2) if self.transposed else scaled

    def value(self, f: Array) -> Array:
        """Return the measure of the weighted matrix."""
        return self.inner.value(self._given(f))

    def gradient(self, f: Array) -> Array:
        """Return its gradient, carried back."""
        g = self.inner.gradient(self._given(f))
        return (np.swapaxes(g, 1, 2) if self.transposed else g) * np.array(self.weights)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the upper bound for the weighted family."""
        return self.inner.above(self._given(f), self._given(slopes), self._given(rest))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the lower bound for the weighted family."""
        return self.inner.below(self._given(f), self._given(slopes), self._given(rest))


def scored(measure: Any, sense: int, f: Array, slopes: Array, rest: Array) -> Array:
    """Return an upper bound of sense times the measure on the family, its own rounding included."""
    if sense > 0:
        return measure.above(f, slopes, rest) + slack(f, slopes, rest)
    return -measure.below(f, slopes, rest) + slack(f, slopes, rest)
