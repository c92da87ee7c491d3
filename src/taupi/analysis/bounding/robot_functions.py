"""A robot's M, g and Christoffel symbols as functions on boxes of its joints, and directions of its velocity.

F(q, d) = sum_k F_k(q) d^k with q the turning joints and d the sliding ones, and no product of more than two d: positions are
linear in d, so M is quadratic and g linear. F is thus a matrix of trigonometric polynomials in q, sum_m c_m exp(i m . q), times
the powers of d.

A rotation enters the mass matrix twice and gravity once, so the degree in each joint is known and a few samples give every
coefficient. Bounds from these are much tighter than interval arithmetic through the recursion: a derivative of a wave is at most
the wave's height times its frequencies.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, product

import casadi as cs
import numpy as np

from taupi.analysis.bounding.taylor_expansion import (
    EPS,
    ROUNDED,
    BoxFunction,
    Contracted,
    Local,
    TaylorExpansion,
    halves,
)
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix
from taupi.dynamics.types import SX, Expression, Vector
from taupi.model.robot import Robot
from taupi.program.independent_columns import active_columns
from taupi.program.program import Program

Body = Callable[[Vector], Vector]
Power = tuple[int, ...]  # one exponent per slide


def slides(robot: Robot, k: int) -> bool:
    """Return whether coordinate `k` only slides; one that also turns another joint does not count."""
    return all(j.prismatic for j in robot.joints if j.coordinate == k)


def pairs(n: int) -> list[tuple[int, int]]:
    """Return the pairs i <= j < n, one for each product of two velocities."""
    return list(combinations_with_replacement(range(n), 2))


@dataclass(frozen=True, eq=False)
class RobotFunction:
    """M, g or Gamma of a robot over the joints that it depends on: powers of the slides, with functions of the others."""

    shape: tuple[int, ...]
    turning: tuple[int, ...]  # coordinates
    sliding: tuple[int, ...]
    coefficients: tuple[tuple[Power, Body], ...]  # CasADi functions of the turning coordinates, in row-major order
    degrees: tuple[int, ...] | None  # in each turning coordinate; None if it is not a trigonometric polynomial

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The coordinates that the entries of x stand for."""
        return self.turning + self.sliding

    def only(self, power: Power) -> RobotFunction:
        """Return the function of one coefficient, which depends on no slide."""
        return dataclasses.replace(self, sliding=(), coefficients=(((), dict(self.coefficients)[power]),))

    @cached_property
    def function(self) -> BoxFunction:
        """F as a function of x = (turning, sliding) on boxes."""
        if not self.sliding:
            return self._function(self.coefficients[0][1], self.shape)
        entries = math.prod(self.shape)

        def body(x: Vector) -> Vector:
            return cs.vec(cs.horzcat(*(c(x) for _, c in self.coefficients)).T)

        matrix = self._function(body, (entries, len(self.coefficients)))
        return Contracted(matrix, self._powers(lambda z: [SX(1)], 1, 0, 0), self.shape)

    def contracted(self, products: Body, count: int, size: int, fixed: int) -> Contracted:
        """Return F, a matrix with `count` columns, times a vector of `size` further variables, the last `fixed` of them signs."""
        rows = self.shape[0]

        def body(x: Vector) -> Vector:
            return cs.vec(cs.horzcat(*(cs.reshape(c(x), count, rows).T for _, c in self.coefficients)).T)

        same = not self.sliding  # without slides there is one power, and this is F itself
        matrix = self.function if same else self._function(body, (rows, count * len(self.coefficients)))
        return Contracted(matrix, self._powers(products, count, size, fixed), (rows,))

    def _function(self, body: Body, shape: tuple[int, ...]) -> BoxFunction:
        # Without turning coordinates there is one variable on which nothing depends.
        size = len(self.turning)
        expansion = TaylorExpansion(lambda x: body(x[:size]), max(1, size), shape)
        return trigonometric(expansion, self.degrees) if self.degrees else expansion

    def _powers(self, products: Body, count: int, size: int, fixed: int) -> TaylorExpansion:
        """Return the vector of all d^k times each of the products."""
        d = len(self.sliding)

        def body(z: Vector) -> Vector:
            entries = []
            for power, _ in self.coefficients:
                monomial = math.prod((z[k] ** p for k, p in enumerate(power) if p), start=SX(1))
                entries += [monomial * v for v in products(z[d:])]
            return cs.vertcat(*entries)

        total = d + size
        return TaylorExpansion(body, total, (len(self.coefficients) * count,), tuple(range(total - fixed, total)))


def _function(
    robot: Robot, program: Program, degree: int, shape: tuple[int, ...], entries: Sequence[int]
) -> RobotFunction:
    """Return a program of q as a function on boxes: which coordinates matter is decided exactly, powers by differentiation."""
    active = [int(k) for k in active_columns(program.jacobian("q"))]
    sliding = tuple(k for k in active if slides(robot, k))
    turning = tuple(k for k in active if k not in sliding)
    q = SX.sym("q", robot.n)
    value = program(q)
    f = cs.densify((cs.vec(value.T) if len(program.outputs[0].shape) == 2 else value)[list(entries)])
    x, still = q[list(turning)], [k for k in range(robot.n) if k not in turning]
    coefficients: list[tuple[Power, Body]] = []
    for chosen in (c for order in range(3) for c in combinations_with_replacement(range(len(sliding)), order)):
        power = tuple(chosen.count(k) for k in range(len(sliding)))
        derivative = f / math.prod(map(math.factorial, power))
        for k in chosen:
            derivative = cs.jacobian(derivative, q[sliding[k]])
        value = cs.sparsify(cs.substitute(derivative, q[still], cs.DM.zeros(len(still))) if still else derivative)
        if not chosen or value.nnz():
            coefficients.append((power, cs.Function("coefficient", [x], [cs.densify(value)])))
    return RobotFunction(shape, turning, sliding, tuple(coefficients), _degrees(robot, turning, degree))


def _degrees(robot: Robot, turning: Sequence[int], degree: int) -> tuple[int, ...] | None:
    """Return the degree in each coordinate, that of one rotation times the ratios of its joints; None without integer ratios."""
    degrees = []
    for k in turning:
        joints = [j for j in robot.joints if j.coordinate == k]
        if any(j.prismatic or j.ratio != int(j.ratio) for j in joints):
            return None
        degrees.append(degree * sum(abs(int(j.ratio)) for j in joints))
    return tuple(degrees)


def mass_function(robot: Robot) -> RobotFunction:
    """Return M, n x n."""
    return _function(robot, mass_matrix(robot), 2, (robot.n, robot.n), range(robot.n**2))


def gravity_function(robot: Robot) -> RobotFunction:
    """Return g, (n,)."""
    return _function(robot, gravity_torque(robot), 1, (robot.n,), range(robot.n))


def velocity_function(robot: Robot) -> RobotFunction:
    """Return the coefficients of v_i v_j, i <= j, in c_k(q, v): Gamma[k, i, i], and 2 Gamma[k, i, j] for i < j."""
    n = robot.n
    entries = [k * n * n + i * n + j for k in range(n) for i, j in pairs(n)]
    gamma = _function(robot, christoffel_symbols(robot), 2, (n, len(pairs(n))), entries)
    twice = cs.DM([1.0 if i == j else 2.0 for _ in range(n) for i, j in pairs(n)])
    x = SX.sym("x", len(gamma.turning))
    doubled = [(p, cs.Function("coefficient", [x], [c(x) * twice])) for p, c in gamma.coefficients]
    return dataclasses.replace(gamma, coefficients=tuple(doubled))


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

    expansion: TaylorExpansion  # the function that it was sampled from
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


def trigonometric(expansion: TaylorExpansion, degrees: tuple[int, ...]) -> TrigonometricPolynomial | TaylorExpansion:
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


ORTHANTS = 512  # in many dimensions, this many orthants of a 1-norm sphere are searched


@dataclass(frozen=True)
class Directions:
    """Velocities v(z) with ||v||_p = 1 for z in the union of the boxes [lo, hi]; the last `fixed` entries of z are signs.

    The boxes cover the unit sphere of a p-norm. v and -v give the same quadratic terms, so half of the sphere is enough.
    """

    velocity: Callable[[Vector], list[Expression]]
    lo: np.ndarray
    hi: np.ndarray
    fixed: int = 0

    @property
    def size(self) -> int:
        """The number of entries of z."""
        return self.lo.shape[1]

    def products(self, z: Vector) -> list[Expression]:
        """Return v_i v_j for i <= j."""
        v = self.velocity(z)
        return [v[i] * v[j] for i in range(len(v)) for j in range(i, len(v))]

    def velocities(self, z: np.ndarray) -> np.ndarray:
        """Return v at one point."""
        return np.array([float(c) for c in self.velocity(cs.DM(z))])


def _simplex(n: int, seed: int) -> Directions:
    """Return the sphere of the 1-norm: |v_i| = a_i prod_{j<i} (1 - a_j), pieces broken off a stick, for every choice of signs."""

    def velocity(z: Vector) -> list[Expression]:
        left, v = 1, []
        for i in range(n):
            share = left * z[i] if i < n - 1 else left
            v.append(share * z[n - 1 + i - 1] if i else share)
            left = left * (1 - z[i]) if i < n - 1 else left
        return v

    if n - 1 <= np.log2(ORTHANTS):
        signs = np.array(list(product((-1.0, 1.0), repeat=n - 1))).reshape(-1, n - 1)
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (ORTHANTS, n - 1))
    lo, hi = np.zeros_like(signs), np.ones_like(signs)
    return Directions(velocity, np.hstack([lo, signs]), np.hstack([hi, signs]), n - 1)


def _angles(n: int) -> Directions:
    """Return the sphere of the 2-norm in spherical angles, all of them from 0 to pi."""

    def velocity(z: Vector) -> list[Expression]:
        left, v = 1, []
        for i in range(n - 1):
            v.append(left * cs.cos(z[i]))
            left = left * cs.sin(z[i])
        return [*v, left]

    # Up to the double above pi, so that rounding leaves no gap.
    return Directions(velocity, np.zeros((1, n - 1)), np.full((1, n - 1), np.nextafter(np.pi, 4.0)))


def _faces(n: int) -> Directions:
    """Return the sphere of the infinity norm: the faces v_j = 1 of a cube."""
    lo, hi = -np.ones((n, n)), np.ones((n, n))
    np.fill_diagonal(lo, 1.0)
    return Directions(lambda z: [z[k] for k in range(n)], lo, hi)


def directions(n: int, p: float, seed: int = 0) -> Directions:
    """Return the unit sphere of a p-norm in n dimensions, p = 1, 2 or infinity; `seed` draws orthants if there are too many."""
    if n == 1:
        return Directions(lambda z: [z[0]], np.ones((1, 1)), np.ones((1, 1)))
    if p == 1:
        return _simplex(n, seed)
    return _angles(n) if p == 2 else _faces(n)
