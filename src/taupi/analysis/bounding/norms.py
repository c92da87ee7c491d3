"""Norms and eigenvalues as convex functions of an array, with bounds of them on a small affine family of arrays.

The family is {F + sum_k t_k S_k + R : |t_k| <= 1, |R| <= r entry by entry}: a function on a box by Taylor's formula, with S_k its
slopes times the half widths and r its remainder. A convex function takes its maximum over t at one of the 2^d vertices; if these
are too many, a bound with an error of second order in S takes their place. A minimum is bounded by a subgradient at F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

# With more variables than this, there are too many vertices.
VERTICES = 6
VERTICES_EIGEN = 3  # an eigenvalue costs more than a sum
# Rounding of the norms and of LAPACK's eigenvalues: a few ulps of the largest entry for every entry in the sum.
ROUNDING = 8 * 2.0**-52

Array = np.ndarray


class ConvexFunction(Protocol):
    """A convex function of an array, with bounds on a family of arrays: `f` is F, `slopes` are the S_k, `rest` is r.

    The leading axis is that of the boxes; `slopes` has the variables on its last axis.
    """

    def value(self, f: Array) -> Array:
        """Return the value of the function."""

    def gradient(self, f: Array) -> Array:
        """Return a subgradient, of the shape of f."""

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return an upper bound of the function on the family."""

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return a lower bound of the function on the family."""


def slack(f: Array, slopes: Array, rest: Array) -> Array:
    """Return the largest rounding error of a norm's own arithmetic."""
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


def _subgradient_bound(norm: ConvexFunction, f: Array, slopes: Array) -> Array:
    """Return a lower bound by a subgradient G: phi(F + S t) >= phi(F) + <G, S t> >= phi(F) - sum_k |<G, S_k>|."""
    g = norm.gradient(f)
    along = (g[..., None] * slopes).sum(tuple(range(1, f.ndim)))
    return norm.value(f) - np.abs(along).sum(-1)


def _one_norms(f: Array, slopes: Array, rest: Array) -> Array:
    """Return upper bounds (boxes, ...) of the 1-norm along axis 1: of a vector, or of each column of a matrix."""
    if slopes.shape[-1] <= VERTICES:
        return np.abs(vertices(f, slopes)).sum(2).max(1) + rest.sum(1)
    # The absolute value of an entry whose sign is known is linear; the other entries are bounded one by one.
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
        """Return a dual vector."""
        if self.p == 1:
            return np.sign(f)
        if self.p == 2:
            size = np.linalg.norm(f, axis=-1, keepdims=True)
            return np.divide(f, size, out=np.zeros_like(f), where=size > 0)
        largest = np.abs(f).argmax(-1)[:, None]
        return np.where(np.arange(f.shape[-1]) == largest, np.sign(f), 0.0)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest norm: exactly for infinity, else by vertices or, for p = 2 with many variables, by |F + S t|^2."""
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
        """Return the bound by a subgradient."""
        return np.maximum(_subgradient_bound(self, f, slopes) - self.value(rest), 0.0)


@dataclass(frozen=True)
class LargestEntry:
    """The largest absolute entry of a matrix."""

    @staticmethod
    def _flat(f: Array) -> Array:
        return f.reshape(len(f), f.shape[1] * f.shape[2], *f.shape[3:])

    def value(self, f: Array) -> Array:
        """Return the absolute value of the entry."""
        return VectorNorm(np.inf).value(self._flat(f))

    def gradient(self, f: Array) -> Array:
        """Return the sign of the entry in its place, zero elsewhere."""
        return VectorNorm(np.inf).gradient(self._flat(f)).reshape(f.shape)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest entry of the family, exactly."""
        return VectorNorm(np.inf).above(*map(self._flat, (f, slopes, rest)))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the bound by a subgradient."""
        return VectorNorm(np.inf).below(*map(self._flat, (f, slopes, rest)))


@dataclass(frozen=True)
class ColumnSum:
    """The largest 1-norm of a matrix's columns: its induced 1-norm."""

    def value(self, f: Array) -> Array:
        """Return the norm."""
        return np.abs(f).sum(1).max(-1)

    def gradient(self, f: Array) -> Array:
        """Return the signs of the largest column in its place, zero elsewhere."""
        largest = np.abs(f).sum(1).argmax(-1)[:, None, None]
        return np.where(np.arange(f.shape[-1]) == largest, np.sign(f), 0.0)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest bound of a column."""
        return _one_norms(f, slopes, rest).max(-1)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the best bound of a column: by its signs at F, or entry by entry."""
        sign = np.sign(f)
        by_signs = np.abs(f).sum(1) - np.abs((sign[..., None] * slopes).sum(1)).sum(-1) - rest.sum(1)
        entries = np.maximum(np.abs(f) - np.abs(slopes).sum(-1) - rest, 0.0).sum(1)
        return np.maximum(by_signs, entries).max(-1)


def _largest_eigenvalue(f: Array) -> Array:
    return np.linalg.eigvalsh(f)[..., -1]


def _symmetric_norm(rest: Array) -> Array:
    """Return a bound of the 2-norm of all symmetric matrices with entries of at most this size: the largest row sum."""
    return np.maximum(rest, np.swapaxes(rest, 1, 2)).sum(-1).max(-1)


@dataclass(frozen=True)
class TopEigenvalue:
    """The largest eigenvalue of `sign` times a symmetric matrix."""

    sign: int = 1

    def value(self, f: Array) -> Array:
        """Return the eigenvalue."""
        return _largest_eigenvalue(self.sign * f)

    def gradient(self, f: Array) -> Array:
        """Return sign v v^T with v the eigenvector."""
        v = np.linalg.eigh(self.sign * f)[1][..., -1]
        return self.sign * v[:, :, None] * v[:, None, :]

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the largest eigenvalue of a comparison matrix, or of the vertices if these are few and give a smaller bound."""
        compared = self._compared(self.sign * f, self.sign * slopes, rest)
        if slopes.shape[-1] > VERTICES_EIGEN:
            return compared
        corners = _largest_eigenvalue(self.sign * vertices(f, slopes)).max(1) + _symmetric_norm(rest)
        return np.minimum(compared, corners)

    @staticmethod
    def _compared(f: Array, slopes: Array, rest: Array) -> Array:
        """Return lambda_max(N) >= lambda_max(X), in the axes of the eigenvectors of F: N_ii >= X_ii and N_ij >= |X_ij|."""
        values, v = np.linalg.eigh(f)
        turned = np.swapaxes(v, 1, 2)[..., None, :, :] @ np.moveaxis(slopes, -1, 1) @ v[:, None]
        size = np.abs(v)
        n = np.abs(turned).sum(1) + np.swapaxes(size, 1, 2) @ rest @ size
        n[:, np.arange(v.shape[-1]), np.arange(v.shape[-1])] += values
        return _largest_eigenvalue(n)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the bound by a subgradient."""
        return _subgradient_bound(self, f, slopes) - _symmetric_norm(rest)


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
        """Return the larger bound of the two sides."""
        return self._of_both("above", f, slopes, rest)

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the better bound of the two sides."""
        return np.maximum(self._of_both("below", f, slopes, rest), 0.0)


@dataclass(frozen=True)
class SingularValue:
    """The largest singular value of a matrix with few rows."""

    def value(self, f: Array) -> Array:
        """Return the singular value."""
        return np.sqrt(np.maximum(_largest_eigenvalue(f @ np.swapaxes(f, -1, -2)), 0.0))

    def gradient(self, f: Array) -> Array:
        """Return u v^T with the singular vectors u and v."""
        u, _, v = np.linalg.svd(f, full_matrices=False)
        return u[:, :, :1] * v[:, :1, :]

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the bound by the eigenvalues of (F + S t)(F + S t)^T, a family with a rest of second order."""
        gram = f @ np.swapaxes(f, 1, 2)
        mixed = np.einsum("bic,bjck->bijk", f, slopes)
        tilt = mixed + np.swapaxes(mixed, 1, 2)
        reach = np.abs(slopes).sum(-1)
        curved = reach @ np.swapaxes(reach, 1, 2)
        squared = TopEigenvalue().above(gram, tilt, curved)
        return np.sqrt(np.maximum(squared, 0.0)) + np.linalg.norm(rest, axis=(1, 2))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the bound by a subgradient."""
        return np.maximum(_subgradient_bound(self, f, slopes) - np.linalg.norm(rest, axis=(1, 2)), 0.0)


@dataclass(frozen=True)
class WeightedNorm:
    """A norm of a matrix whose columns are multiplied by `weights` and which may then be transposed."""

    inner: ConvexFunction
    weights: tuple[float, ...]
    transposed: bool = False

    def _applied(self, f: Array) -> Array:
        scaled = f * (np.array(self.weights).reshape(-1, *(1,) * (f.ndim - 3)))
        return np.swapaxes(scaled, 1, 2) if self.transposed else scaled

    def value(self, f: Array) -> Array:
        """Return the norm of the weighted matrix."""
        return self.inner.value(self._applied(f))

    def gradient(self, f: Array) -> Array:
        """Return the gradient with respect to the matrix before weighting."""
        g = self.inner.gradient(self._applied(f))
        return (np.swapaxes(g, 1, 2) if self.transposed else g) * np.array(self.weights)

    def above(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the upper bound for the weighted family."""
        return self.inner.above(self._applied(f), self._applied(slopes), self._applied(rest))

    def below(self, f: Array, slopes: Array, rest: Array) -> Array:
        """Return the lower bound for the weighted family."""
        return self.inner.below(self._applied(f), self._applied(slopes), self._applied(rest))


def upper_bound(norm: ConvexFunction, sense: int, f: Array, slopes: Array, rest: Array) -> Array:
    """Return an upper bound of `sense` (1 or -1) times a norm on the family, including the norm's own rounding."""
    if sense > 0:
        return norm.above(f, slopes, rest) + slack(f, slopes, rest)
    return -norm.below(f, slopes, rest) + slack(f, slopes, rest)
