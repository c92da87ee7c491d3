"""Functions on boxes by Taylor's formula: F(c + d) = F(c) + sum_k D_k d_k + R, with bounds of R and of all rounding.

|R| <= 1/2 sum_kl |d2F/dx_k dx_l| w_k w_l on a box with centre c and half widths w, the second derivatives being bounded on the
box by interval arithmetic. `Contracted` is the product of two such functions of different variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as cs
import numpy as np

from taupi.dynamics.types import SX, Matrix, Vector
from taupi.program.program import Port, Program, trace

EPS = 2.0**-52
FLAT = 7  # with more variables than this, there are too many second derivatives
ROUNDED = 1 + 1e-12  # covers the rounding of a sum of nonnegative terms


@dataclass(frozen=True)
class Local:
    """F on boxes: f + slopes t + R with |t| <= 1 and |R| <= rest, F within middle +- radius, and the shares of variables in rest.

    Values of F are flat. The leading axis is that of the boxes.
    """

    f: np.ndarray
    slopes: np.ndarray
    rest: np.ndarray
    middle: np.ndarray
    radius: np.ndarray
    parts: np.ndarray


def halves(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres of boxes in doubles, and half widths that cover the boxes from there."""
    centre = lo + (hi - lo) / 2
    return centre, np.maximum(hi - centre, centre - lo) * (1 + 2.0**-50)


@dataclass(frozen=True, eq=False)
class TaylorExpansion:
    """F(x) and its derivatives, at points and over boxes. `body` maps an SX column of `size` entries to a flat SX."""

    body: Callable[[Vector], Vector]
    size: int
    shape: tuple[int, ...]
    fixed: tuple[int, ...] = ()  # entries of x that never vary within a box, such as signs

    @property
    def free(self) -> list[int]:
        """The entries of x that vary."""
        return [k for k in range(self.size) if k not in self.fixed]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The second derivatives that are computed, as pairs of places in `free`."""
        return [(k, m) for k in range(len(self.free)) for m in range(k, len(self.free))]

    @cached_property
    def point(self) -> Program:
        """The program of F and its slopes dF/dx."""

        def body(x: Vector) -> tuple[Vector, Matrix]:
            f = cs.densify(self.body(x))
            return f, cs.jacobian(f, x)[:, self.free]

        ports = [Port("f", (self._entries,)), Port("slopes", (self._entries, len(self.free)))]
        return trace("expansion", body, [Port("x", (self.size,))], ports)

    @cached_property
    def curvature(self) -> Program:
        """The program of F and its second derivatives, each pair of free entries once."""

        def body(x: Vector) -> tuple[Vector, Matrix]:
            f = cs.densify(self.body(x))
            slopes = cs.jacobian(f, x)[:, self.free]
            columns = []
            for k in range(len(self.free)):
                second = cs.jacobian(slopes[:, k], x)[:, self.free]
                columns += [second[:, m] for m in range(k, len(self.free))]
            return f, cs.horzcat(*columns) if columns else SX(self._entries, 0)

        ports = [Port("f", (self._entries,)), Port("second", (self._entries, len(self.pairs)))]
        return trace("curvature", body, [Port("x", (self.size,))], ports)

    @property
    def _entries(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @cached_property
    def _compiled(self) -> Callable[..., np.ndarray]:
        # A short program is faster when interpreted than when compiled.
        return self.point.compile("numpy" if self.point.operations.total < 500 else "cpu")

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return F at points, in doubles."""
        return self._plain(x)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and dF/dx at points, in doubles."""
        value, slopes = self._compiled(x)
        return value, slopes

    @cached_property
    def enclosed_at(self) -> Callable[..., np.ndarray]:
        """F and its slopes at points, as intervals that include their rounding."""
        return self.point.compile("interval")

    @cached_property
    def enclosed_over(self) -> Callable[..., np.ndarray]:
        """F and its second derivatives over boxes, as intervals."""
        return self.curvature.compile("interval")

    def enclosed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F at points, as middles and radii."""
        lo, hi = self._value((x, x))
        return (lo + hi) / 2, (hi - lo) / 2

    @cached_property
    def _program(self) -> Program:
        return trace("value", self.body, [Port("x", (self.size,))], [Port("f", (self._entries,))])

    @cached_property
    def _plain(self) -> Callable[..., np.ndarray]:
        return self._program.compile("numpy")

    @cached_property
    def _value(self) -> Callable[..., np.ndarray]:
        return self._program.compile("interval")

    @property
    def flat(self) -> bool:
        """Whether there are too many variables for second derivatives, so that only the range of F over a box is known."""
        return len(self.free) > FLAT

    @cached_property
    def cost(self) -> float:
        """The cost of a box, in multiplications that BLAS would do in the same time."""
        program = self.point if self.flat else self.curvature
        return 12.0 * len(program.tape.instructions)

    def _range(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        f_lo, f_hi = self._value((lo, hi))
        middle, radius = (f_lo + f_hi) / 2, (f_hi - f_lo) / 2 * ROUNDED
        width = (hi - lo)[:, self.free]
        return Local(middle, np.zeros((*middle.shape, width.shape[1])), radius, middle, radius, width)

    def local(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        """Return F on boxes, with second derivatives by interval arithmetic."""
        if self.flat:
            return self._range(lo, hi)
        centre, w = halves(lo, hi)
        w = w[:, self.free]
        (f_lo, f_hi), (d_lo, d_hi) = self.enclosed_at((centre, centre))
        (n_lo, n_hi), (h_lo, h_hi) = self.enclosed_over((lo, hi))
        second = np.maximum(np.abs(h_lo), np.abs(h_hi))
        rest = (f_hi - f_lo) / 2 + ((d_hi - d_lo) / 2 * w[:, None]).sum(-1)
        parts = np.zeros_like(w)
        for p, (k, m) in enumerate(self.pairs):
            # A pair off the diagonal stands for (k, m) and (m, k), so its half is counted twice.
            bend = second[..., p] * (w[:, k] * w[:, m] * (0.5 if k == m else 1.0))[:, None]
            rest = rest + bend
            parts[:, k] += bend.sum(-1)
            parts[:, m] += bend.sum(-1)
        slopes = (d_lo + d_hi) / 2 * w[:, None]
        return Local((f_lo + f_hi) / 2, slopes, rest * ROUNDED, (n_lo + n_hi) / 2, (n_hi - n_lo) / 2 * ROUNDED, parts)


class BoxFunction(Protocol):
    """A function that can be bounded: of x with `size` entries, some of which vary within a box; its values are flat arrays."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""

    @property
    def size(self) -> int:
        """The number of entries of x."""

    @property
    def free(self) -> list[int]:
        """The entries of x that vary."""

    @property
    def cost(self) -> float:
        """The cost of a box, in multiplications."""

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return F at points, in doubles."""

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and dF/dx at points, in doubles."""

    def enclosed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F at points, as middles and radii."""

    def local(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        """Return F on boxes."""


@dataclass(frozen=True, eq=False)
class Contracted:
    """F(q, z) = G(q) y(z): a matrix G of the turning joints times a vector y of everything else (slides, directions)."""

    matrix: BoxFunction  # of shape (entries, terms)
    vector: BoxFunction  # of shape (terms,)
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of entries of x = (q, z)."""
        return self.matrix.size + self.vector.size

    @property
    def free(self) -> list[int]:
        """The entries of x that vary."""
        return self.matrix.free + [self.matrix.size + k for k in self.vector.free]

    @property
    def cost(self) -> float:
        """The cost of a box, in multiplications."""
        terms = int(np.prod(self.matrix.shape, dtype=int))
        return self.matrix.cost + self.vector.cost + 4.0 * terms * len(self.free)

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[:, : self.matrix.size], x[:, self.matrix.size :]

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return F at points, in doubles."""
        q, z = self._split(x)
        y = self.vector.value(z)
        return np.einsum("bej,bj->be", self.matrix.value(q).reshape(len(x), -1, y.shape[1]), y)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and dF/dx at points, in doubles."""
        q, z = self._split(x)
        g, dg = self.matrix.at(q)
        y, dy = self.vector.at(z)
        g, dg = g.reshape(len(x), -1, y.shape[1]), dg.reshape(len(x), -1, y.shape[1], dg.shape[-1])
        slopes = np.concatenate([np.einsum("bejk,bj->bek", dg, y), g @ dy], -1)
        return (g @ y[..., None])[..., 0], slopes

    def enclosed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F at points, as middles and radii."""
        q, z = self._split(x)
        return self._product(*self.matrix.enclosed(q), *self.vector.enclosed(z))

    @staticmethod
    def _product(g: np.ndarray, rg: np.ndarray, y: np.ndarray, ry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, rg = (v.reshape(len(y), -1, y.shape[1]) for v in (g, rg))
        size = np.abs(y)[..., None]
        radius = rg @ (size + ry[..., None]) + np.abs(g) @ (ry[..., None] + EPS * (y.shape[1] + 2) * size)
        return (g @ y[..., None])[..., 0], radius[..., 0] * ROUNDED

    def local(self, lo: np.ndarray, hi: np.ndarray) -> Local:
        """Return F on boxes: the product of both, with terms of second order in the remainder."""
        (q_lo, z_lo), (q_hi, z_hi) = self._split(lo), self._split(hi)
        g, y = self.matrix.local(q_lo, q_hi), self.vector.local(z_lo, z_hi)
        shape = (len(lo), -1, y.f.shape[1])
        gf, gr, gs = g.f.reshape(shape), g.rest.reshape(shape), g.slopes.reshape(*shape, len(self.matrix.free))
        ga, ya = np.abs(gs).sum(-1), np.abs(y.slopes).sum(-1)
        slopes = np.concatenate([np.einsum("bejk,bj->bek", gs, y.f), gf @ y.slopes], -1)
        y_max = np.abs(y.f) + ya
        g_max = np.abs(gf) + ga
        rest = np.einsum("bej,bj->be", ga, ya) + np.einsum("bej,bj->be", gr, y_max + y.rest)
        rest += np.einsum("bej,bj->be", g_max, y.rest + EPS * (y.f.shape[1] + 4) * y_max)
        middle, radius = self._product(g.middle, g.radius, y.middle, y.radius)
        parts_q = g.parts * y_max.max(-1, keepdims=True) + np.einsum("bejk,bj->bk", np.abs(gs), ya)
        parts_z = y.parts * g_max.sum(1).max(-1, keepdims=True) + np.einsum("bej,bjk->bk", ga, np.abs(y.slopes))
        return Local(
            (gf @ y.f[..., None])[..., 0], slopes, rest * ROUNDED, middle, radius, np.hstack([parts_q, parts_z])
        )
