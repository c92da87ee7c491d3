"""An arm as points: base, joints, axes, links and frames at any number of configurations; and where pages see it from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.kinematics import frame_placement, link_placements
from taupi.dynamics.spatial import SX, compose
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port

AZIMUTH, ELEVATION = math.radians(-55), math.radians(22)
FINE = 2000  # integer steps from the middle of a picture to its edge


PLANE = 1e-9  # of a unit vector: axes that a description means to be parallel are parallel up to rounding


@dataclass(frozen=True, eq=False)
class Skeleton:
    """An arm at k configurations, in world axes: the base, each joint's place and unit axis, each link's corners, frames.

    `joints` and `axes` are (k, links, 3); `links` (k, links, 4, 3) run from the parent's frame over the joint, and the travel of
    a sliding one, to the link's own frame; `frames` (k, frames, 3, 4) hold R and p, `carriers` (k, frames, 3) the origin of the
    link that each sits on.
    """

    robot: Robot
    base: np.ndarray
    joints: np.ndarray
    axes: np.ndarray
    links: np.ndarray
    frames: np.ndarray
    carriers: np.ndarray
    names: tuple[str, ...]

    @property
    def points(self) -> np.ndarray:
        """Every corner, (count, 3)."""
        return np.vstack([self.base, self.links.reshape(-1, 3), self.frames[..., 3].reshape(-1, 3)])


def skeleton(robot: Robot, q: np.ndarray, frames: Sequence[str] | None = None) -> Skeleton:
    """Return the parts of an arm at configurations (k, n); `frames` by name, by default the links' own and the tip."""
    names = tuple(dict.fromkeys((*robot.link_names, "tip"))) if frames is None else tuple(frames)
    axes, links, placed, base = _program(robot, names)(q)
    carriers = [base if (k := robot.frame(name).link) == BASE else links[:, k, 3] for name in names]
    origins = np.stack(carriers, axis=1) if carriers else np.zeros((len(q), 0, 3))
    return Skeleton(robot, base[0], links[..., 1, :], axes, links, placed, origins, names)


@lru_cache(maxsize=16)
def _program(robot: Robot, names: tuple[str, ...]) -> Callable[..., np.ndarray]:
    """Return the program from q to axes, corners of links, frames and the base; cached, since views call it for each picture."""
    for name in names:
        robot.frame(name)

    def body(chain: Chain, q: object) -> tuple[Any, ...]:
        position, placed = chain.places(q), link_placements(chain, q)
        axes, corners = [], []
        for i, joint in enumerate(robot.joints):
            before, motion, _ = chain.stages(i, position[i])
            parent = (SX.eye(3), SX.zeros(3)) if joint.parent == BASE else placed[joint.parent]
            still = compose(parent, before)
            start = chain.base[1] if joint.parent == BASE else parent[1]
            axes.append(still[0] @ chain.axis(i))
            corners.append([_row(p) for p in (start, still[1], compose(still, motion)[1], placed[i][1])])
        shown = [cs.horzcat(*frame_placement(chain, q, name)) for name in names]
        tensors = [[_row(r[k, :]) for k in range(3)] for r in shown]
        return cs.horzcat(*axes).T, corners, tensors, chain.base[1]

    count = len(robot.joints)
    outputs = [Port("axes", (count, 3)), Port("corners", (count, 4, 3)), Port("frames", (len(names), 3, 4))]
    program = trace_robot("skeleton", robot, body, ["q"], [*outputs, Port("base", (3,))])
    return program.compile("numpy")


def _row(p: Any) -> list[Any]:
    return [p[k] for k in range(p.numel())]


def drawing_plane(arm: Skeleton) -> tuple[int, int] | None:
    """Return the two world axes of the plane that an arm moves in, or None if it does not stay in a plane."""
    for normal in (2, 1, 0):
        along = np.abs(arm.axes[..., normal])
        slides = np.array([j.prismatic for j in arm.robot.joints])
        turning, sliding = along[:, ~slides], along[:, slides]
        if turning.size and (np.abs(turning - 1) < PLANE).all() and (sliding < PLANE).all():
            return {2: (0, 1), 1: (0, 2), 0: (1, 2)}[normal]
    return None
