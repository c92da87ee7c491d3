"""A robot's M, g and Christoffel symbols as functions on boxes of its joints.

F(q, d) = sum_k F_k(q) d^k with q the turning joints and d the sliding ones, and no product of more than two d: positions are
linear in d, so M is quadratic and g linear. F is thus a matrix of trigonometric polynomials in q times the powers of d.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import casadi as cs

from taupi.analysis.bounding.taylor_expansion import BoxFunction, Contracted, Expansion
from taupi.analysis.bounding.trigonometric_polynomial import trigonometric
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix
from taupi.dynamics.types import SX, Vector
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
        expansion = Expansion(lambda x: body(x[:size]), max(1, size), shape)
        return trigonometric(expansion, self.degrees) if self.degrees else expansion

    def _powers(self, products: Body, count: int, size: int, fixed: int) -> Expansion:
        """Return the vector of all d^k times each of the products."""
        d = len(self.sliding)

        def body(z: Vector) -> Vector:
            entries = []
            for power, _ in self.coefficients:
                monomial = math.prod((z[k] ** p for k, p in enumerate(power) if p), start=SX(1))
                entries += [monomial * v for v in products(z[d:])]
            return cs.vertcat(*entries)

        total = d + size
        return Expansion(body, total, (len(self.coefficients) * count,), tuple(range(total - fixed, total)))


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
