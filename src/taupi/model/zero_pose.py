"""Where the parts of a robot are with all joints at zero, as numbers, for drawings; no program is traced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from taupi.model.placement import Placement
from taupi.model.requirements import require_fixed_base
from taupi.model.scalars import with_values

if TYPE_CHECKING:
    from taupi.model.robot import Robot


@dataclass(frozen=True, eq=False)
class ZeroPose:
    """Homogeneous matrices (4, 4) in world axes: of each `joint` before it moves, of each `link`, of the `tip`.

    `lines` are the corners (k, 3) of each link, from its parent's frame via the joint to its own frame, and finally of the tip.
    """

    joints: tuple[np.ndarray, ...]
    links: tuple[np.ndarray, ...]
    tip: np.ndarray
    lines: tuple[np.ndarray, ...]

    @property
    def length(self) -> float:
        """The total length of all lines, m; 1 if there are none."""
        return sum(float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum()) for p in self.lines) or 1.0


def zero_pose(robot: Robot) -> ZeroPose:
    """Return where the parts of a robot are with all joints at zero.

    A robot with a free base is refused, and so is a length without a value.
    """
    require_fixed_base(robot, "{robot} has a free base: it has no zero to be drawn at.")
    values = dict(robot.symbols)
    start = _matrix(robot.base, values)
    joints: list[np.ndarray] = []
    links: list[np.ndarray] = []
    lines: list[np.ndarray] = []
    for joint in robot.joints:
        parent = links[joint.parent] if joint.parent >= 0 else start
        joints.append(parent @ _matrix(joint.before, values))
        links.append(joints[-1] @ _matrix(joint.after, values))
        lines.append(np.stack([m[:3, 3] for m in (parent, joints[-1], links[-1])]))
    frame = robot.frame("tip")
    carrier = links[frame.link] if frame.link >= 0 else start
    tip = carrier @ _matrix(frame.placement, values)
    lines.append(np.stack([carrier[:3, 3], tip[:3, 3]]))
    return ZeroPose(tuple(joints), tuple(links), tip, tuple(lines))


def _matrix(placement: Placement, values: Mapping[str, Fraction | None]) -> np.ndarray:
    """Return a placement as doubles, with values for its symbols."""
    rows = tuple(tuple(with_values(v, values) for v in row) for row in placement.rotation)
    return Placement(rows, tuple(with_values(v, values) for v in placement.translation)).matrix  # type: ignore[arg-type]
