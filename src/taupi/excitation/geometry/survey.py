"""What random postures show about a pair, and the proof that some pairs never come near each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.arrangement import Arrangement, Row
from taupi.excitation.geometry.distances import distance_program
from taupi.excitation.geometry.reach import Reach
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot

POSTURES = 20_000
# Largest number of boxes of postures in a proof; pairs that need more are watched instead.
BOXES = 4096


class Ranges(NamedTuple):
    """The least and the largest value of each coordinate (n,), in rad or m."""

    lower: np.ndarray
    upper: np.ndarray


def ranges_of(robot: Robot) -> Ranges:
    """Return the ranges of a robot's coordinates; a revolute joint without one, or with more than a turn, has +-pi."""
    lower, upper = [], []
    for joint in robot.driving_joints:
        low, high = joint.limits.lower, joint.limits.upper
        if low is None or high is None or not low < high or (not joint.prismatic and high - low > 2 * np.pi):
            if joint.prismatic:
                raise TaupiError(
                    f"Joint {joint.name!r} of {robot.name} slides and has no range, so distances have no bounds.",
                    remedy="State its limits, lower and upper, in the description.",
                )
            low, high = -np.pi, np.pi
        lower.append(low)
        upper.append(high)
    return Ranges(np.array(lower, dtype=float), np.array(upper, dtype=float))


def random_postures(ranges: Ranges, count: int = POSTURES, seed: int = 0) -> np.ndarray:
    """Return uniform postures (count, n) within ranges."""
    return np.random.default_rng(seed).uniform(ranges.lower, ranges.upper, (count, len(ranges.lower)))


def never_nearer(space: Arrangement, rows: Sequence[Row], ranges: Ranges, margin: float) -> bool:
    """Return whether all rows of a pair are proven to keep a margin, in every posture within the ranges.

    In a box of postures a distance is at least that of its middle minus the reach of each joint times half the box's width; boxes
    that do not show it are halved where that is largest.
    """
    spread = np.array(coupling_of(space.robot), dtype=float)
    centre, half = (ranges.lower + ranges.upper) / 2, (ranges.upper - ranges.lower) / 2
    travel = np.abs(spread) @ np.maximum(np.abs(ranges.lower), np.abs(ranges.upper))
    # By coordinate: a coordinate moves several joints if they are coupled.
    slope = (Reach(space).bounds(rows, travel) @ np.abs(spread)).max(axis=0)
    program = distance_program(space, rows).compile("numpy")
    centres, halves = centre[None], np.where(slope > 0, half, 0.0)[None]
    looked = 0
    while len(centres):
        looked += len(centres)
        if looked > BOXES:
            return False
        nearest = np.atleast_2d(program(centres)).min(axis=1)
        if nearest.min() < margin:
            return False
        left = nearest - halves @ slope < margin
        centres, halves = centres[left], halves[left]
        widest = np.argmax(halves * slope, axis=1)
        step = np.zeros(halves.shape)
        step[np.arange(len(step)), widest] = halves[np.arange(len(step)), widest] / 2
        halves = halves - step
        centres, halves = np.concatenate([centres - step, centres + step]), np.concatenate([halves, halves])
    return True
