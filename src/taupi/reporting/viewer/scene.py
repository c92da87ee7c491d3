"""What a view draws of a robot, as numbers: tubes along its links, centres of mass, ellipsoids of inertia, frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.model.robot import Robot
from taupi.reporting.link_body import Body, body_of
from taupi.reporting.link_meshes import LinkMeshes, link_meshes
from taupi.reporting.skeleton import skeleton

TUBE = 0.025  # of the arm's reach: the radius of a tube
SIDES = 20  # of a tube
SHORT = 1e-6  # of the reach: anything shorter is not drawn as a tube


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the parts are: `tubes` as pairs of ends (k, 2, 3), `links` as placements R | p (links, 3, 4), the `tip` (3, 4).

    `surfaces` (k, 3, 4) are the placements of what the description draws, `joints` and `axes` (links, 3) those of the joints.
    """

    tubes: np.ndarray
    links: np.ndarray
    tip: np.ndarray
    surfaces: np.ndarray
    joints: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """A `robot` to draw."""

    robot: Robot

    @cached_property
    def drawn(self) -> LinkMeshes:
        """The surfaces in the description; without any, links are tubes."""
        return link_meshes(self.robot)

    @cached_property
    def reach(self) -> float:
        """The length of the arm, the sum of its tubes with all joints at zero, m."""
        ends = self.pose(np.zeros(self.robot.n)).tubes
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum()) or 1.0

    def pose(self, q: np.ndarray) -> Pose:
        """Return where the parts are at a configuration `q` (n,)."""
        names = (*self.robot.link_names, "tip", *(mesh.frame for mesh in self.drawn.meshes))
        arm, count = skeleton(self.robot, np.asarray(q, dtype=float)[None], names), len(self.robot.links)
        corners = arm.links[0]  # (links, 4, 3)
        pieces = np.stack([corners[:, :-1], corners[:, 1:]], axis=2).reshape(-1, 2, 3)
        placed = arm.frames[0]
        last = np.stack([arm.carriers[0, count], placed[count, :, 3]])
        tubes = np.concatenate([pieces, last[None]])
        return Pose(tubes, placed[:count], placed[count], placed[count + 1 :], arm.joints[0], arm.axes[0])

    def bodies(self) -> list[Body | None]:
        """Return the body of each link in its own frame; None for a link without mass."""
        numbers = self.robot.parameters.values
        return [body_of(numbers[self.robot.parameters.layout.link(k)]) for k in range(len(self.robot.links))]


# Shapes ---------------------------------------------------------------------------------------------------------------


def unit_tube() -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a tube of radius 1 from the origin to z = 1."""
    angles = np.linspace(0, 2 * np.pi, SIDES, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)], axis=1)
    vertices = np.concatenate([ring, ring + np.array([0.0, 0.0, 1.0])])
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = np.concatenate(
        [np.stack([k, after, k + SIDES], axis=1), np.stack([after, after + SIDES, k + SIDES], axis=1)]
    )
    return vertices, faces


def along(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the quaternion (w, x, y, z) that turns z into the direction from `start` to `stop`, and the distance."""
    length = float(np.linalg.norm(stop - start))
    if length == 0:
        return np.array([1.0, 0.0, 0.0, 0.0]), 0.0
    x, y, z = (stop - start) / length
    if z < -1 + 1e-9:  # half a turn about x
        return np.array([0.0, 1.0, 0.0, 0.0]), length
    wxyz = np.array([1 + z, -y, x, 0.0])
    return wxyz / np.linalg.norm(wxyz), length


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return the quaternion (w, x, y, z) of a rotation matrix: the largest eigenvector of Bar-Itzhack's symmetric matrix."""
    (a, b, c), (d, e, f), (g, h, i) = R
    K = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    wxyz: np.ndarray = np.linalg.eigh(K)[1][:, -1]
    return wxyz if wxyz[0] >= 0 else -wxyz
