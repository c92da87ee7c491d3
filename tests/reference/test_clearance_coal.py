"""Capsules are never optimistic: held against coal on the robots' own meshes, posture by posture and along certified motions."""

from pathlib import Path

import numpy as np
import pinocchio  # noqa: F401  # without it, this file is left out
import pytest
from coal_distances import MeshDistances

import taupi as tp
from taupi.excitation.geometry.survey import random_postures, ranges_of

FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", FINGERS),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", []),
}
# m: coal's own tolerance.
TOLERANCE = 1e-6


def arm_of(robots_dir: Path, name: str):
    file, locked = ROBOTS[name]
    robot = tp.load(robots_dir / file, lock=locked)
    keep = tp.clearance(robot)
    return robot, keep, MeshDistances(robots_dir / file, robots_dir.parent.parent, keep.pairs, locked)


def by_pair(keep, pairs, q):
    distance = keep.distances(q)
    return np.stack([distance[:, [k for k, p in enumerate(keep.pairs) if p == pair]].min(axis=1) for pair in pairs], 1)


def check_postures(robots_dir, name, count):
    robot, keep, meshes = arm_of(robots_dir, name)
    q = random_postures(ranges_of(robot), count, seed=11)
    gap = meshes(q) - by_pair(keep, meshes.pairs, q)
    assert gap.min() > -TOLERANCE
    # ... and useful: about 2 cm less than the meshes in the middle.
    assert np.median(gap) < 0.03


@pytest.mark.parametrize("name", ROBOTS)
def test_capsules_are_nearer_than_meshes(robots_dir, name):
    check_postures(robots_dir, name, 120)


@pytest.mark.long
@pytest.mark.parametrize("name", ROBOTS)
def test_capsules_are_nearer_than_meshes_in_20000_postures(robots_dir, name):
    check_postures(robots_dir, name, 20_000)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_certified_motion_keeps_clear_of_itself(robots_dir, name):
    robot, keep, meshes = arm_of(robots_dir, name)
    ranges = ranges_of(robot)
    middle, width = (ranges.lower + ranges.upper) / 2, (ranges.upper - ranges.lower) / 2
    for seed in range(20):
        motion = tp.BSpline.random(middle, 0.5 * 0.9**seed * width, count=18, duration=6.0, seed=seed)
        certificate = keep.certificate(motion)
        if certificate.ok:
            break
    assert certificate.ok
    assert_clear(certificate, keep, meshes, motion(np.linspace(0, 6.0, 121)).q)


def assert_clear(certificate, keep, meshes, q):
    """No mesh is nearer to another than was certified, in any of the postures q."""
    distance = meshes(q)
    bound = np.array(
        [min(b for b, p in zip(certificate.bound, keep.pairs, strict=True) if p == q) for q in meshes.pairs]
    )
    assert (distance >= bound - TOLERANCE).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ROBOTS)
def test_a_designed_motion_keeps_its_clearance_of_the_meshes(robots_dir, name):
    """By `taupi.excite`, with 2 cm: the meshes keep them at 1000 instants, unless they are built closer."""
    robot, keep, meshes = arm_of(robots_dir, name)
    plan = tp.excite(robot, 10.0, clearance=0.02)
    assert plan.certified and set(plan.clearance.pairs) == set(keep.pairs)
    q = plan.motion(np.linspace(0, plan.duration, 1000)).q
    assert_clear(plan.certificates["clearance"], plan.clearance, meshes, q)
    apart = [pair not in plan.clearance.built_close for pair in meshes.pairs]
    assert meshes(q)[:, apart].min() > 0.02 - TOLERANCE
