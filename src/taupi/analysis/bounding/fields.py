"""The terms of a robot, M, g and Christoffel's symbols, as functions on boxes of its joints.

F(q, d) = sum_k F_k(q) d^k with q the turning joints and d the sliding ones, no product of more than two of them: positions are
linear in d, so M is quadratic and g linear. So F is a matrix of waves in q times the powers of d.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import casadi as cs

from taupi.analysis.bounding.expansion import Contracted, Expansion, Function
from taupi.analysis.bounding.waves import waves
from taupi.dynamics.inverse import gravity_torque
from taupi.dynamics.mass_matrix import christoffel_symbols, mass_matrix
from taupi.model.robot import Robot
from taupi.program.independent_columns import active_columns
from taupi.program.program import Program

Body = Callable[[Any], Any]
Power = tuple[int, ...]


def slides(robot: Robot, k: int) -> bool:
    """Return whether coordinate k only slides; one that also turns another joint does not count."""
    return all(j.prismatic for j in robot.joints if j.coordinate == k)


def pairs(n: int) -> list[tuple[int, int]]:
    """Return i <= j < n: the products of two velocities."""
    return list(combinations_with_replacement(range(n), 2))


@dataclass(frozen=True, eq=False)
class Field:
    """A term of a robot over the joints that it depends on: its coefficients of powers of the slides, functions of the others."""

    shape: tuple[int, ...]
    turning: tuple[int, ...]  # coordinates
    sliding: tuple[int, ...]
    coefficients: tuple[tuple[Power, Any], ...]  # CasADi functions of the turning coordinates, row-major columns
    degrees: tuple[int, ...] | None  # in each turning coordinate; None where the term is no trigonometric polynomial

    @property
    def coordinates(self) -> tuple[int, ...]:
        """What x of `function` stands for."""
        return self.turning + self.sliding

    def only(self, power: Power) -> Field:
        """Return the field of one coefficient, which depends on no slide."""
        return dataclasses.replace(self, sliding=(), coefficients=(((), dict(self.coefficients)[power]),))

    @cached_property
    def function(self) -> Function:
        """The term over x = (turning, sliding)."""
        if not self.sliding:
            return self._function(self.coefficients[0][1], self.shape)
        entries = math.prod(self.shape)

        def body(x: Any) -> Any:
            return cs.vec(cs.horzcat(*(c(x) for _, c in self.coefficients)).T)

        matrix = self._function(body, (entries, len(self.coefficients)))
        return Contracted(matrix, self._powers(lambda z: [cs.SX(1)], 1, 0, 0), self.shape)

    def contracted(self, products: Body, count: int, size: int, fixed: int) -> Contracted:
        """Return the term, a matrix with `count` columns, times a vector of `size` further variables, the last `fixed` signs."""
        rows = self.shape[0]

        def body(x: Any) -> Any:
            return cs.vec(cs.horzcat(*(cs.reshape(c(x), count, rows).T for _, c in self.coefficients)).T)

        same = not self.sliding  # with one power, this is the term itself
        matrix = self.function if same else self._function(body, (rows, count * len(self.coefficients)))
        return Contracted(matrix, self._powers(products, count, size, fixed), (rows,))

    def _function(self, body: Body, shape: tuple[int, ...]) -> Function:
        # Without a turning coordinate there is one that nothing depends on.
        size = len(self.turning)
        expansion = Expansion(lambda x: body(x[:size]), max(1, size), shape)
        return waves(expansion, self.degrees) if self.degrees else expansion

    def _powers(self, products: Body, count: int, size: int, fixed: int) -> Expansion:
        """Return the vector of all d^k times each of the products."""
        slides_ = len(self.sliding)

        def body(z: Any) -> Any:
            found = []
            for power, _ in self.coefficients:
                monomial = math.prod((z[k] ** p for k, p in enumerate(power) if p), start=cs.SX(1))
                found += [monomial * v for v in products(z[slides_:])]
            return cs.vertcat(*found)

        total = slides_ + size
        return Expansion(body, total, (len(self.coefficients) * count,), tuple(range(total - fixed, total)))


def _field(robot: Robot, program: Program, degree: int, shape: tuple[int, ...], entries: Sequence[int]) -> Field:
    """Return a program of q as a field: coordinates that do not matter are found exactly, and powers by differentiation."""
    active = [int(k) for k in active_columns(program.jacobian("q"))]
    sliding = tuple(k for k in active if slides(robot, k))
    turning = tuple(k for k in active if k not in sliding)
    q = cs.SX.sym("q", robot.n)
    value = program(q)
    f = cs.densify((cs.vec(value.T) if len(program.outputs[0].shape) == 2 else value)[list(entries)])
    x, still = q[list(turning)], [k for k in range(robot.n) if k not in turning]
    found: list[tuple[Power, Any]] = []
    for chosen in (c for order in range(3) for c in combinations_with_replacement(range(len(sliding)), order)):
        power = tuple(chosen.count(k) for k in range(len(sliding)))
        derivative = f / math.prod(map(math.factorial, power))
        for k in chosen:
            derivative = cs.jacobian(derivative, q[sliding[k]])
        made = cs.sparsify(cs.substitute(derivative, q[still], cs.DM.zeros(len(still))) if still else derivative)
        if not chosen or made.nnz():
            found.append((power, cs.Function("coefficient", [x], [cs.densify(made)])))
    return Field(shape, turning, sliding, tuple(found), _degrees(robot, turning, degree))


def _degrees(robot: Robot, turning: Sequence[int], degree: int) -> tuple[int, ...] | None:
    """Return the degree in each coordinate: that of one rotation times the whole numbers by which it turns joints."""
    found = []
    for k in turning:
        joints = [j for j in robot.joints if j.coordinate == k]
        if any(j.prismatic or j.ratio != int(j.ratio) for j in joints):
            return None
        found.append(degree * sum(abs(int(j.ratio)) for j in joints))
    return tuple(found)


def mass_field(robot: Robot) -> Field:
    """Return M, n x n."""
    return _field(robot, mass_matrix(robot), 2, (robot.n, robot.n), range(robot.n**2))


def gravity_field(robot: Robot) -> Field:
    """Return g, n."""
    return _field(robot, gravity_torque(robot), 1, (robot.n,), range(robot.n))


def velocity_field(robot: Robot) -> Field:
    """Return the coefficients of v_i v_j, i <= j, in c_k(q, v): Gamma[k, i, i], and 2 Gamma[k, i, j] for i < j."""
    n = robot.n
    entries = [k * n * n + i * n + j for k in range(n) for i, j in pairs(n)]
    field = _field(robot, christoffel_symbols(robot), 2, (n, len(pairs(n))), entries)
    twice = cs.DM([1.0 if i == j else 2.0 for _ in range(n) for i, j in pairs(n)])
    x = cs.SX.sym("x", len(field.turning))
    doubled = [(p, cs.Function("coefficient", [x], [c(x) * twice])) for p, c in field.coefficients]
    return dataclasses.replace(field, coefficients=tuple(doubled))
