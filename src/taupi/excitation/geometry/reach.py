"""How fast a distance can change with a joint, in any posture: the basis of certificates between samples.

A revolute joint m changes the distance of two bodies at most by the distance of the nearest point of either from its axis:
dd/dq = n . (z x (x - o)), and as n points from one nearest point x to the other, either of the two gives the same number. That
distance is at most the length of the path from the joint's origin to the body, joint by joint. A prismatic joint changes it by
at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.excitation.geometry.arrangement import Arrangement, Body, Row, numbers
from taupi.model.robot import BASE


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
                (numbers(robot, j.before.rotation), numbers(robot, j.before.translation)),
                numbers(robot, j.axis),
                (numbers(robot, j.after.rotation), numbers(robot, j.after.translation)),
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

    def _ways(self, body: Body, end: int | None, joints: Sequence[int], travel: np.ndarray) -> dict[int, float]:
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
