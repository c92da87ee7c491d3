"""The range of joint positions over which a robot is analysed, and what else an analysis asks of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from taupi.analysis.bounding.robot_functions import slides
from taupi.checks import is_number
from taupi.dynamics.chain import require_robot
from taupi.errors import TaupiError, unknown
from taupi.model.requirements import require_bolted
from taupi.model.robot import Robot
from taupi.model.scalars import is_symbolic

# One (lo, hi) for all joints, or one by joint name; None stands for the robot's own limits.
RangeLike = Sequence[float] | Mapping[str, Sequence[float]] | None
# Half a turn, rounded up, so that no angle is left out.
HALF = float(np.nextafter(np.pi, 4.0))


def require_numbers(robot: Robot) -> None:
    """Refuse anything that is not a robot, and a robot with symbols that have no value."""
    require_robot(robot)
    require_bolted(robot, "This analysis")
    free = [name for name, value in robot.symbols if value is None]
    if free:
        raise TaupiError(
            "{robot} has symbols without a value: {free:,}.",
            remedy="Use robot.bind({first}=...) first.",
            robot=robot.name,
            free=free,
            first=free[0],
        )


def magnitude(robot: Robot) -> float:
    """Return the scale of the robot's numbers, its largest parameter times gravity; much smaller values are rounding."""
    values = dict(robot.symbols)
    gravity = [float(v.subs(values)) if is_symbolic(v) else float(v) for v in robot.gravity]
    return float(np.abs(robot.parameters.values).max(initial=0.0)) * max(1.0, *map(abs, gravity))


def joint_range(robot: Robot, range: RangeLike = None) -> np.ndarray:
    """Return the lower and upper ends (n, 2) of the coordinates, in rad or m; NaN for a slide without limits.

    `range` overrides the robot's limits. A turning joint without limits has a full turn, and more than a turn counts as one.
    """
    stated = _by_joint(robot, range)
    ranges = np.empty((robot.n, 2))
    for k, joint in enumerate(robot.driving_joints):
        limits = (joint.limits.lower, joint.limits.upper)
        ends = stated.get(joint.name, None if None in limits else limits)
        ends = None if ends is None else _checked(joint.name, ends)
        if slides(robot, k):
            ranges[k] = (np.nan, np.nan) if ends is None else ends
            continue
        turn = _half_period(robot, k)
        if ends is None and turn is None:
            raise TaupiError(
                "The range of joint {joint!r} is not known: it has no limits and also moves a slide.",
                remedy="Give {range=...} for it: {{{joint!r}: (lo, hi)}}.",
                joint=joint.name,
            )
        full_turn = turn is not None and (ends is None or ends[1] - ends[0] >= 2 * turn)
        ranges[k] = (-turn, turn) if full_turn and turn is not None else ends
    return ranges


def _half_period(robot: Robot, k: int) -> float | None:
    """Return half the period of the robot in coordinate k, None if it has none."""
    joints = [j for j in robot.joints if j.coordinate == k]
    if any(j.prismatic for j in joints):
        return None
    return HALF * math.lcm(*(j.ratio.denominator for j in joints))


def _by_joint(robot: Robot, range: RangeLike) -> dict[str, object]:
    if range is None:
        return {}
    if isinstance(range, Mapping):
        for name in range:
            if name not in robot.joint_names:
                raise unknown("joint", name, robot.joint_names, robot.name)
        return dict(range)
    return dict.fromkeys(robot.joint_names, range)


def _checked(name: str, ends: object) -> tuple[float, float]:
    if not isinstance(ends, tuple | list | np.ndarray) or len(ends) != 2 or not all(is_number(v) for v in ends):
        raise TaupiError(
            "The range of joint {name!r} is {got!r}, expected two finite numbers (lo, hi).", name=name, got=ends
        )
    if ends[0] > ends[1]:
        raise TaupiError("The range of joint {name!r} is {got!r}, expected lo <= hi.", name=name, got=ends)
    return float(ends[0]), float(ends[1])
