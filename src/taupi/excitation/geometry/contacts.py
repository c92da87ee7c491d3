"""What the surfaces of links themselves show, where the capsules around them are too coarse to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.types import Expression, Vector
from taupi.excitation.geometry.arrangement import placed
from taupi.excitation.geometry.shapes import Solid
from taupi.model.robot import BASE, Robot
from taupi.program.ports import Port
from taupi.program.program import Program

# The area of a triangle, as a share of the square of its longest edge, below which it is a sliver without a direction.
_SLIVER = 1e-6
# Random postures in which the surfaces of two links are looked at.
CONTACTS = 200
# Pairs of triangles that are tested together, which bounds memory.
_BLOCK = 1 << 15


def placement_program(robot: Robot) -> Program:
    """Return T(q): the placement (links, 3, 4) of each moving link in world axes, rotation and translation side by side."""

    def body(chain: Chain, q: Vector) -> list[list[list[Expression]]]:
        return [[[*(R[i, k] for k in range(3)), p[i]] for i in range(3)] for R, p in link_placements(chain, q)]

    return trace_robot("placements", robot, body, ["q"], [Port("T", (len(robot.links), 3, 4))])


def lowest_origin(robot: Robot, q: np.ndarray) -> tuple[float, str, int]:
    """Return the height (m) of the lowest origin of a moving link at positions `q` (N, n), the link, and the sample."""
    heights = placement_program(robot).compile("numpy")(q)[:, :, 2, 3]
    sample, link = np.unravel_index(np.argmin(heights), heights.shape)
    return float(heights[sample, link]), robot.links[link].name, int(sample)


class Surfaces:
    """The surfaces of a robot's solids as triangles, by moving link (-1 for the base) and in its frame.

    Args:
        robot: A robot; its symbols need values.
        solids: The solids of its description, each in the frame of the link that it names.
    """

    def __init__(self, robot: Robot, solids: Iterable[Solid]) -> None:
        self.robot = robot
        parts: dict[int, list[np.ndarray]] = {}
        known = (*robot.link_names, *(f.name for f in robot.frames))
        for solid in solids:
            corners, link = solid.triangles, BASE
            if solid.link in known:  # otherwise it is the base itself
                frame = robot.frame(solid.link)
                rotation, shift = placed(robot, frame.placement)
                corners, link = corners @ rotation.T + shift, frame.link
            parts.setdefault(link, []).append(corners)
        surfaces = {link: _without_slivers(np.concatenate(each)) for link, each in parts.items()}
        self.triangles = {link: triangles for link, triangles in surfaces.items() if len(triangles)}

    @cached_property
    def _placed(self) -> Program:
        return placement_program(self.robot)

    def _matrices(self, link: int, q: np.ndarray) -> np.ndarray:
        """Return the placement (N, 4, 4) of a moving link, or of the base."""
        result = np.broadcast_to(self.robot.base.matrix, (len(q), 4, 4)).copy()
        if link != BASE:
            result[:, :3] = self._placed.compile("numpy")(q)[:, link]
        return result

    def lowest(self, link: int, q: np.ndarray) -> np.ndarray:
        """Return the height (N,) in m, in world axes, of the lowest point of a link at positions `q` (N, n)."""
        points = np.unique(self.triangles[link].reshape(-1, 3), axis=0)
        matrix = self._matrices(link, q)
        return np.asarray((matrix[:, 2, :3] @ points.T + matrix[:, 2, 3:]).min(axis=1))

    def meet(self, first: int, second: int, q: np.ndarray, late: Callable[[], bool] = lambda: False) -> np.ndarray:
        """Return whether (N,) the surfaces of two moving links meet at positions `q` (N, n); at fewer when it gets `late`."""
        one, two = (self.triangles[link] for link in (first, second))
        (c, r), (low, high) = _balls(one), (two.min(axis=(0, 1)), two.max(axis=(0, 1)))
        result: list[bool] = []
        for T in np.linalg.inv(self._matrices(second, q)) @ self._matrices(first, q):
            if late():
                break
            at = c @ T[:3, :3].T + T[:3, 3]
            near = ((at + r >= low) & (at - r <= high)).all(axis=1)
            result.append(bool(near.any()) and surfaces_meet(one[near] @ T[:3, :3].T + T[:3, 3], two))
        return np.array(result, dtype=bool)


def _balls(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres (m, 3) and radii (m, 1) of balls around triangles."""
    centre = triangles.mean(axis=1)
    return centre, np.sqrt(((triangles - centre[:, None]) ** 2).sum(axis=2).max(axis=1))[:, None]


def _without_slivers(triangles: np.ndarray) -> np.ndarray:
    a, b, c = np.moveaxis(triangles, 1, 0)
    longest = np.max([((y - x) ** 2).sum(axis=1) for x, y in ((a, b), (b, c), (c, a))], axis=0)
    return np.asarray(triangles[np.linalg.norm(np.cross(b - a, c - a), axis=1) > _SLIVER * np.maximum(longest, 1e-30)])


def surfaces_meet(one: np.ndarray, two: np.ndarray) -> bool:
    """Return whether triangles (m, 3, 3) and (k, 3, 3) meet: whether an edge of one set passes through a triangle of the other.

    >>> flat = np.array([[[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]]])
    >>> upright = np.array([[[0.0, 0, -1], [0, 0, 1], [0, 3, 1]]])
    >>> surfaces_meet(flat, upright), surfaces_meet(flat, upright + [0, 0, 1.5])
    (True, False)
    """
    one = _within(one, two)
    two = _within(two, one)
    if not len(one) or not len(two):
        return False
    near = np.ones((len(one), len(two)), dtype=bool)
    for k in range(3):
        a, b = one[:, :, k], two[:, :, k]
        near &= (a.min(axis=1)[:, None] <= b.max(axis=1)) & (b.min(axis=1) <= a.max(axis=1)[:, None])
    i, j = np.nonzero(near)
    for k in range(0, len(i), _BLOCK):
        a, b = one[i[k : k + _BLOCK]], two[j[k : k + _BLOCK]]
        if _pass_through(a, b).any() or _pass_through(b, a).any():
            return True
    return False


def _within(triangles: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the triangles whose box reaches into the box around all others."""
    if not len(others):
        return triangles[:0]
    low, high = others.min(axis=(0, 1)), others.max(axis=(0, 1))
    a, b, c = np.moveaxis(triangles, 1, 0)
    reaches = (np.maximum(np.maximum(a, b), c) >= low) & (np.minimum(np.minimum(a, b), c) <= high)
    return np.asarray(triangles[reaches.all(axis=1)])


def _pass_through(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return whether (k,) an edge of each triangle of `one` (k, 3, 3) passes through that of `two`."""
    u, v = two[:, 1] - two[:, 0], two[:, 2] - two[:, 0]
    normal = np.cross(u, v)
    height = np.einsum("mkj,mj->mk", one - two[:, :1], normal)
    result = np.zeros(len(one), dtype=bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        crossing = np.flatnonzero((height[:, a] * height[:, b] <= 0) & (height[:, a] != height[:, b]) & ~result)
        start, n = one[crossing, a], normal[crossing]
        share = height[crossing, a] / (height[crossing, a] - height[crossing, b])
        x = start + share[:, None] * (one[crossing, b] - start) - two[crossing, 0]
        s = (np.cross(x, v[crossing]) * n).sum(axis=1)
        t = (np.cross(u[crossing], x) * n).sum(axis=1)
        result[crossing] = (s >= 0) & (t >= 0) & (s + t <= (n * n).sum(axis=1))
    return result
