"""What bounds and checks need of a robot: numbers for all of its symbols, and the range of its joints."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from taupi.analysis.bounding.robot_functions import slides
from taupi.errors import TaupiError, shown, unknown
from taupi.model.robot import Robot
from taupi.model.scalars import is_symbolic

# Half a turn, rounded up, so that no angle is left out.
HALF = float(np.nextafter(np.pi, 4.0))


def require_seed(seed: Any) -> None:
    """Refuse a seed that no generator takes."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise TaupiError(f"seed is {shown(seed)}, expected a whole number from 0.")


def require_numbers(robot: Any) -> None:
    """Refuse what is no robot, and a robot with symbols that have no value."""
    if not isinstance(robot, Robot):
        raise TaupiError(f"robot is {type(robot).__name__}, expected a Robot: use taupi.load(...) or Robot.from_...")
    free = [name for name, value in robot.symbols if value is None]
    if free:
        raise TaupiError(
            f"{robot.name} has symbols without a value: {', '.join(free)}. Use robot.bind({free[0]}=...) first."
        )


def magnitude(robot: Robot) -> float:
    """Return how large numbers of the robot are, its parameters under its gravity; what is much smaller is rounding."""
    values = dict(robot.symbols)
    gravity = [float(v.subs(values)) if is_symbolic(v) else float(v) for v in robot.gravity]
    return float(np.abs(robot.parameters.values).max(initial=0.0)) * max(1.0, *map(abs, gravity))


def joint_range(robot: Robot, given: Any = None) -> np.ndarray:
    """Return (n, 2) lower and upper ends; NaN for a slide without limits.

    A turning joint without limits has a full turn, and one with more than a turn has no more to it than one.
    """
    stated = _stated(robot, given)
    found = np.empty((robot.n, 2))
    for k, joint in enumerate(robot.driving_joints):
        limits = (joint.limits.lower, joint.limits.upper)
        ends = stated.get(joint.name, None if None in limits else limits)
        ends = None if ends is None else _checked(joint.name, ends)
        if slides(robot, k):
            found[k] = (np.nan, np.nan) if ends is None else ends
            continue
        turn = _turn(robot, k)
        if ends is None and turn is None:
            raise TaupiError(
                f"The range of joint {joint.name!r} is not known: it has no limits and also moves a slide. "
                f"Give range={{{joint.name!r}: (lo, hi)}}."
            )
        whole = turn is not None and (ends is None or ends[1] - ends[0] >= 2 * turn)
        found[k] = (-turn, turn) if whole and turn is not None else ends
    return found


def _turn(robot: Robot, k: int) -> float | None:
    """Return half the period of the robot in coordinate k, None where it has none."""
    joints = [j for j in robot.joints if j.coordinate == k]
    if any(j.prismatic for j in joints):
        return None
    return HALF * math.lcm(*(j.ratio.denominator for j in joints))


def _stated(robot: Robot, given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name in given:
            if name not in robot.joint_names:
                raise unknown("joint", name, robot.joint_names, robot.name)
        return dict(given)
    return dict.fromkeys(robot.joint_names, given)


def _checked(name: str, ends: Any) -> tuple[float, float]:
    good = isinstance(ends, tuple | list | np.ndarray) and len(ends) == 2
    good = good and all(isinstance(v, numbers.Real) and math.isfinite(v) for v in ends)
    if not good:
        raise TaupiError(f"The range of joint {name!r} is {shown(ends)}, expected two finite numbers (lo, hi).")
    if ends[0] > ends[1]:
        raise TaupiError(f"The range of joint {name!r} is {shown(ends)}, expected lo <= hi.")
    return float(ends[0]), float(ends[1])
