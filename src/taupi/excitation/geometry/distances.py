"""Distances between capsules and to walls as traced programs, and their gradients by the envelope theorem.

The distance of two segments is the least |p + s u - r - t v| over s and t in [0, 1], which closed formulas give (Ericson 2005,
section 5.1.9). At the minimum, its derivative is that for fixed s and t, so the formulas are never differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.types import SX, Expression, Vector
from taupi.excitation.geometry.arrangement import Arrangement, LinkCapsule, Row, numbers, placed
from taupi.model.robot import BASE
from taupi.program.ports import Port
from taupi.program.program import Program

# sin^2 of the angle below which two segments count as parallel: then any of the nearest points will do.
_PARALLEL = 1e-12
# m^2: keeps the gradient finite where two segments meet; it adds 1e-9 m there, and 1e-17 m at 5 cm.
_TOUCHING = 1e-18


class _Ends(NamedTuple):
    a: Vector
    u: Vector  # from a to b
    body: LinkCapsule


def distance_program(space: Arrangement, rows: Sequence[Row]) -> Program:
    """Return d(q): for each row the distance (m) of two capsules, negative where they overlap, or of an end from a wall."""

    def body(chain: Chain, q: Vector) -> Vector:
        ends = _ends(space, chain, q)
        return cs.vertcat(*(_distance(space, ends, row, *_nearest(ends, row)) for row in rows))

    return trace_robot("clearance", space.robot, body, ["q"], [Port("d", (len(rows),))])


def segment_program(space: Arrangement) -> Program:
    """Return x(q): the ends (bodies, 2, 3) of the segments of all capsules in world axes, in m."""

    def body(chain: Chain, q: Vector) -> list[list[list[Expression]]]:
        ends = _ends(space, chain, q)
        return [[[x[k] for k in range(3)] for x in (one.a, one.a + one.u)] for one in ends]

    return trace_robot("capsules", space.robot, body, ["q"], [Port("x", (len(space.bodies), 2, 3))])


def gradient_program(space: Arrangement, rows: Sequence[Row]) -> Program:
    """Return g(q, w): the gradient (n,) of the weighted sum of all distances with respect to q."""

    def body(chain: Chain, q: Vector, weights: Vector) -> Vector:
        ends = _ends(space, chain, q)
        nearest = cs.vertcat(*(value for row in rows for value in _nearest(ends, row)))
        held = SX.sym("held", 2 * len(rows))
        d = cs.vertcat(*(_distance(space, ends, row, held[2 * k], held[2 * k + 1]) for k, row in enumerate(rows)))
        return cs.substitute(cs.densify(cs.jtimes(d, q, weights, True)), held, nearest)

    port = Port("w", (len(rows),), (), "one weight per row")
    return trace_robot("clearance_gradient", space.robot, body, ["q", port], [Port("g", (space.robot.n,))])


def _ends(space: Arrangement, chain: Chain, q: Vector) -> list[_Ends]:
    links = link_placements(chain, q)
    result = []
    for body in space.bodies:
        rotation, p = chain.base if body.link == BASE else links[body.link]
        result.append(_Ends(rotation @ SX(body.a) + p, rotation @ SX(body.b - body.a), body))
    return result


def _distance(space: Arrangement, ends: Sequence[_Ends], row: Row, s: Expression, t: Expression) -> Expression:
    one = ends[row.body]
    if row.wall >= 0:
        wall = space.walls[row.wall]
        return cs.dot(SX(cs.DM(wall.normal)), one.a + row.end * one.u) - wall.offset - one.body.r
    two = ends[row.other]
    w = one.a + s * one.u - two.a - t * two.u
    return cs.sqrt(cs.dot(w, w) + _TOUCHING) - one.body.r - two.body.r


def _nearest(ends: Sequence[_Ends], row: Row) -> tuple[Expression, Expression]:
    """Return where on the two segments of a row, from 0 to 1, their nearest points are."""
    if row.wall >= 0:
        return SX(0), SX(0)
    one, two = ends[row.body], ends[row.other]
    return nearest_places(one.a - two.a, one.u, two.u, one.body.square, two.body.square)


def nearest_places(w: Vector, u: Vector, v: Vector, a: float, e: float) -> tuple[Expression, Expression]:
    """Return s, t of the least |w + s u - t v| with both in [0, 1]; a and e are |u|^2 and |v|^2, 0 for a point."""
    if not a and not e:
        return SX(0), SX(0)
    c, f = cs.dot(u, w), cs.dot(v, w)
    if not a:
        return SX(0), _clipped(f / e)
    if not e:
        return _clipped(-c / a), SX(0)
    b = cs.dot(u, v)
    s = _clipped((b * f - c * e) / (a * e - b * b + _PARALLEL * a * e))
    t = _clipped((b * s + f) / e)
    return _clipped((b * t - c) / a), t


def _clipped(x: Expression) -> Expression:
    return cs.fmin(cs.fmax(x, 0), 1)


@dataclass(frozen=True, eq=False)
class _Joint:
    """A joint as numbers, seen from its parent link and from its own link: rotation and origin there, and its axis."""

    parent: int
    sliding: bool
    before: tuple[np.ndarray, np.ndarray]
    axis: np.ndarray
    after: tuple[np.ndarray, np.ndarray]


class Reach:
    """Bounds of |dd/dq| by joint for the rows of an arrangement."""

    def __init__(self, space: Arrangement) -> None:
        self.space, robot = space, space.robot
        self.joints = [
            _Joint(
                j.parent,
                j.prismatic,
                placed(robot, j.before),
                numbers(robot, j.axis),
                placed(robot, j.after),
            )
            for j in robot.joints
        ]

    def bounds(self, rows: Sequence[Row], travel: np.ndarray) -> np.ndarray:
        """Return bounds (p, joints) in m/rad or 1; `travel` (joints,) is the largest distance of prismatic joints from 0."""
        result = np.zeros((len(rows), len(self.joints)))
        for k, row in enumerate(rows):
            for m, value in self._row(row, travel).items():
                result[k, m] = value
        return result

    def between(self, row: Row) -> list[int]:
        """Return the joints that move the two sides of a row relative to each other."""
        bodies, path = self.space.bodies, self.space.robot.path
        one = path(bodies[row.body].link)
        other = path(bodies[row.other].link) if row.wall < 0 else ()
        return sorted(set(one) ^ set(other))

    def _row(self, row: Row, travel: np.ndarray) -> dict[int, float]:
        bodies = self.space.bodies
        joints = self.between(row)
        one = self._ways(bodies[row.body], row.end if row.wall >= 0 else None, joints, travel)
        two = self._ways(bodies[row.other], None, joints, travel) if row.wall < 0 else {}
        return {m: 1.0 if self.joints[m].sliding else min(one[m], two.get(m, np.inf)) for m in joints}

    def _ways(self, body: LinkCapsule, end: int | None, joints: Sequence[int], travel: np.ndarray) -> dict[int, float]:
        """Return, for each of the joints, a bound of the distance of a body's segment from its axis."""
        ends = [body.a, body.b] if end is None else [(body.a, body.b)[end]]
        return {m: max(self._way(m, body.link, x, travel) for x in ends) for m in joints}

    def _way(self, m: int, link: int, x: np.ndarray, travel: np.ndarray) -> float:
        """Return a bound of the distance of a point of a link from the axis of joint m: along the links between them."""
        chain = self.space.robot.path(link)
        if m in chain:
            return self._outward(m, chain[chain.index(m) + 1 :], x, travel, self.joints[m].axis)
        return self._inward(m, link, x, travel)

    def _inward(self, m: int, link: int, x: np.ndarray, travel: np.ndarray) -> float:
        """Return the bound if the point is on the near side: back to a common ancestor link, and out to the point."""
        path = self.space.robot.path(link)
        rotation, origin = self.joints[m].before
        axis: np.ndarray | None = rotation @ self.joints[m].axis
        total, at, point = 0.0, self.joints[m].parent, origin
        while at != link and at not in path and at != BASE:
            own_rotation, shift = self.joints[at].after
            turned = None if axis is None else own_rotation @ axis
            total += self._length(shift + own_rotation @ point, turned) + (
                travel[at] if self.joints[at].sliding else 0.0
            )
            axis, point, at = None, self.joints[at].before[1], self.joints[at].parent
        if at == link:
            return total + self._length(x - point, axis)
        beyond = path[path.index(at) + 1 :] if at != BASE else path
        first = beyond[0]
        total += self._length(self.joints[first].before[1] - point, axis)
        return total + self._outward(first, beyond[1:], x, travel)

    def _outward(
        self, first: int, beyond: Sequence[int], x: np.ndarray, travel: np.ndarray, axis: np.ndarray | None = None
    ) -> float:
        """Return the length of the path from a joint's origin, via those beyond it, to a point of the last link."""
        total, at = 0.0, first
        for c in (*beyond, None):
            rotation, shift = self.joints[at].after
            total += self._length(shift + rotation @ (x if c is None else self.joints[c].before[1]), axis)
            total += travel[at] if self.joints[at].sliding else 0.0
            axis, at = None, at if c is None else c
        return total

    @staticmethod
    def _length(step: np.ndarray, axis: np.ndarray | None) -> float:
        """Return the length of a step, or of its part across an axis that it starts from."""
        return float(np.linalg.norm(step if axis is None else np.cross(axis, step)))
