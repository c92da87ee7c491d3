"""Capsules are never optimistic: held against coal on the robots' own meshes, posture by posture and along certified motions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin  # without it, this file is left out
import pytest

import taupi as tp
from taupi.excitation.geometry.arrangement import Pair
from taupi.excitation.geometry.watched import random_postures, ranges_of

FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", FINGERS),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", []),
}
# m: coal's own tolerance.
TOLERANCE = 1e-6


class MeshDistances:
    """Distances of pairs of moving links: of the triangles of their meshes, 0 where they touch or cross.

    They are those of Pinocchio and coal, which share no code with our capsules.
    """

    def __init__(self, urdf: Path, packages: Path, pairs: Sequence[Pair], locked: Sequence[str] = ()) -> None:
        model = pin.buildModelFromUrdf(str(urdf))
        geometry = pin.buildGeomFromUrdf(model, str(urdf), pin.GeometryType.COLLISION, package_dirs=[str(packages)])
        self.model, geometry = pin.buildReducedModel(
            model, geometry, [model.getJointId(name) for name in locked], np.zeros(model.nq)
        )
        of_joint: dict[int, list[int]] = {}
        for k, item in enumerate(geometry.geometryObjects):
            of_joint.setdefault(item.parentJoint, []).append(k)
        self.pairs = sorted(set(pairs))
        self.groups = []
        for pair in self.pairs:
            one, two = (
                self.model.frames[self.model.getFrameId(name)].parentJoint for name in (pair.first, pair.second)
            )
            start = len(geometry.collisionPairs)
            for i in of_joint[one]:
                for j in of_joint[two]:
                    geometry.addCollisionPair(pin.CollisionPair(i, j))
            self.groups.append(range(start, len(geometry.collisionPairs)))
        self.geometry = geometry
        self._data, self._results = self.model.createData(), geometry.createData()

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """Return the distances (N, pairs) in m at positions (N, n)."""
        result = np.empty((len(q), len(self.pairs)))
        for k, state in enumerate(q):
            pin.computeDistances(self.model, self._data, self.geometry, self._results, self._full(state))
            each = [r.min_distance for r in self._results.distanceResults]
            result[k] = [max(min(each[i] for i in group), 0.0) for group in self.groups]
        return result

    def _full(self, q: np.ndarray) -> np.ndarray:
        """Return a configuration of Pinocchio, which has cosine and sine of continuous joints."""
        values = []
        for joint, value in zip(self.model.joints[1:], q, strict=True):
            values += [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        return np.array(values)


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
    assert plan.certified and {p for p in plan.clearance.pairs if p.second != "floor"} == set(keep.pairs)
    q = plan.motion(np.linspace(0, plan.duration, 1000)).q
    assert_clear(plan.certificates["clearance"], plan.clearance, meshes, q)
    near = {*plan.clearance.built_close, *plan.clearance.by_surfaces}
    apart = [pair not in near for pair in meshes.pairs]
    assert meshes(q)[:, apart].min() > 0.02 - TOLERANCE


def test_pairs_that_meshes_do_not_show_to_be_built_together_are_watched_or_said(robots_dir):
    """Baxter's left arm: around its links capsules overlap in most postures, where meshes meet in all, some or few."""
    robot = tp.Robot.from_urdf(robots_dir / "baxter_description/urdf/baxter.urdf", tip="left_wrist")
    keep = tp.clearance(robot)
    watched = {str(pair) for pair in keep.pairs}
    # Their meshes meet in about a third of postures.
    assert "base - left_lower_shoulder" in watched
    for pair in (
        "left_upper_shoulder - left_upper_elbow",
        "left_lower_shoulder - left_lower_elbow",
        "left_lower_shoulder - left_upper_forearm",
        "left_lower_elbow - left_lower_forearm",
        "left_lower_elbow - left_wrist",
    ):
        assert pair in keep.unchecked and "surfaces" in keep.unchecked[pair]


@pytest.mark.parametrize("floor", ["base", 0.0])
def test_a_table_mounted_arm_stands_on_a_floor(robots_dir, floor):
    keep = tp.clearance(tp.load(robots_dir / "ur_description/urdf/ur5_robot.urdf"), floor=floor)
    assert keep.floor.height == pytest.approx(0.0, abs=0.004)
    assert {"shoulder_link - floor", "upper_arm_link - floor"} <= keep.unchecked.keys()
    assert {"upper_arm_link - floor", "forearm_link - floor", "wrist_3_link - floor"} <= {str(p) for p in keep.pairs}
