"""The force behind a contact: the smallest one on a link that explains the torque that joints feel, and the point it acts at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import compose
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program

# Number of points that are tried along a link.
_POINTS = 21
# A touch has a force of about this size, N: a weak preference for small forces if several explain a torque.
_LARGE = 10.0


@dataclass(frozen=True)
class ContactForce:
    """A force on a link.

    Attributes:
        link: The name of the link.
        force: (3,), in world axes, N: what the surroundings exert on the robot.
        point: (3,), in world axes, m.
        share: Where the point is between the link's own joint, 0, and the next joint or the tip, 1.
        unexplained: The share of the felt torque, by its norm, that no force along the link explains.
    """

    link: str
    force: np.ndarray
    point: np.ndarray
    share: float
    unexplained: float

    @property
    def size(self) -> float:
        """The norm of the force, N."""
        return float(np.linalg.norm(self.force))

    def to_dict(self) -> dict[str, Any]:
        """Return the force as plain data."""
        return {
            "link": self.link,
            "size": self.size,
            "force": self.force.tolist(),
            "point": self.point.tolist(),
            "share": self.share,
            "unexplained": self.unexplained,
        }


def contact_force(robot: Robot, link: int, q: np.ndarray, tau_ext: np.ndarray, spread: np.ndarray) -> ContactForce:
    """Return the force F at a point x with J(x)^T F nearest to `tau_ext` (n,), at the position `q`, on a `link` or beyond it.

    Points are tried along the lines from each joint to the next. Torques count in units of their noise, `spread` (n,). A force
    has three components, and the point is a fourth unknown: where fewer joints than that feel it, several forces explain the
    same, and the smallest is returned.
    """
    outwards = [k for k in range(link, len(robot.links)) if link in robot.path(k)]
    options = [_force_on(robot, k, q, tau_ext, spread, share) for k in outwards for share in np.linspace(0, 1, _POINTS)]
    return min(options, key=lambda option: option[0])[1]


def _force_on(
    robot: Robot, link: int, q: np.ndarray, tau_ext: np.ndarray, spread: np.ndarray, share: float
) -> tuple[float, ContactForce]:
    """Return how badly the best force at one point of a link explains the torque, and this force."""
    near, far = np.asarray(_ends(robot, link)(q))
    x = near + share * (far - near)
    lever = np.asarray(_point_jacobian(robot, link)(q, x)).T
    rows = np.concatenate([lever / spread[:, None], np.eye(3) / _LARGE])
    wanted = np.concatenate([tau_ext / spread, np.zeros(3)])
    force = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    missing = float(np.linalg.norm(tau_ext - lever @ force) / max(np.linalg.norm(tau_ext), 1e-300))
    cost = float(np.sum((rows @ force - wanted) ** 2))
    return cost, ContactForce(robot.link_names[link], force, x, float(share), missing)


@lru_cache(maxsize=64)
def _point_jacobian(robot: Robot, link: int) -> Program:
    """Return J (3, n) of (q, x): the velocity of the point x (3,), in world axes, that is fixed to a link."""

    def body(chain: Chain, q: Vector, x: Vector) -> Matrix:
        axes = _axes(chain, q)
        rows: list[Matrix] = [SX.zeros(1, 3)] * chain.links
        for j in chain.robot.path(link):
            axis, point = axes[j]
            slides = chain.robot.joints[j].prismatic
            rows[j] = (axis if slides else cs.cross(axis, x - point)).T
        return chain.gather(rows).T

    return trace_robot("point_jacobian", robot, body, ["q", Port("x", (3,))], [Port("J", (3, robot.n))])


@lru_cache(maxsize=64)
def _ends(robot: Robot, link: int) -> Program:
    """Return the two ends (2, 3) of a link, in world axes: its own joint, and the next joint or, for the last link, the tip."""
    following = [i for i, joint in enumerate(robot.joints) if joint.parent == link]

    def body(chain: Chain, q: Vector) -> Matrix:
        axes = _axes(chain, q)
        if following:
            end = axes[following[0]][1]
        else:
            owner, pose = chain.frame("tip")
            end = compose(link_placements(chain, q)[owner], pose)[1] if owner == link else axes[link][1]
        return cs.vertcat(axes[link][1].T, end.T)

    return trace_robot("link_ends", robot, body, ["q"], [Port("ends", (2, 3))])


def _axes(chain: Chain, q: Vector) -> list[tuple[Vector, Vector]]:
    """Return the axis and the origin of each joint, in world axes."""
    placed, position = link_placements(chain, q), chain.spread(q)
    result = []
    for i, joint in enumerate(chain.robot.joints):
        before = chain.stages(i, position[i])[0]
        r, p = before if joint.parent == BASE else compose(placed[joint.parent], before)
        result.append((r @ chain.axis(i), p))
    return result
