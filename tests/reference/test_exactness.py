"""Geometry as exact as the file: what decides the rank of a regressor, in rational arithmetic.

The counts are those of the design (SO-101 38 as printed, 36 as meant) and of the field (xArm 7 43, UR 36, Panda 43 of 70).
"""

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat
from support import quiet_urdf

import taupi as tp


def exact_rank(robot: tp.Robot) -> int:
    """Rank of the regressor over enough random rational states, without any tolerance."""
    y = tp.regressor(robot)
    evaluate = y.compile("exact")
    rng = random.Random(1)

    def numbers():
        return [Fraction(rng.randint(-20, 20), rng.randint(1, 7)) for _ in range(robot.n)]

    rows = []
    for _ in range(len(robot.parameters) // robot.n + 8):
        rows += evaluate(numbers(), numbers(), numbers()).tolist()
    return fmpq_mat(rows).rank()


@pytest.mark.parametrize(
    ("path", "options", "count"),
    [
        ("so_arm_description/urdf/so101.urdf", {}, 36),
        ("so_arm_description/urdf/so101.urdf", {"snap": False}, 38),
        ("xarm_description/urdf/xarm7.urdf", {}, 43),
        ("ur_description/urdf/ur5_robot.urdf", {}, 36),
        ("ur_description/urdf/ur10_robot.urdf", {}, 36),
        ("panda_description/urdf/panda.urdf", {"lock": ["panda_finger_joint1"]}, 43),
    ],
)
def test_rank_of_real_robots(robots_dir, path, options, count):
    assert exact_rank(quiet_urdf(robots_dir, path, **options)) == count


@pytest.mark.parametrize(("name", "count"), [("puma560", 36), ("elbow2r", 6), ("panda", 43), ("ur10", 36)])
def test_rank_of_the_catalogue(name, count):
    assert exact_rank(tp.load(name)) == count


def test_snapping_is_reported_and_can_be_switched_off(robots_dir):
    snapped = quiet_urdf(robots_dir, "so_arm_description/urdf/so101.urdf")
    assert any("snapped" in note for note in snapped.notes)
    assert not any(
        "snapped" in note for note in quiet_urdf(robots_dir, "so_arm_description/urdf/so101.urdf", snap=False).notes
    )


def test_a_file_with_rounded_angles_means_right_angles():
    rows = [{"alpha": "1.5708", "d": 0.3}, {"alpha": "-1.571", "a": 0.4}, {"alpha": 3.14}]
    meant = [{"alpha": "pi/2", "d": 0.3}, {"alpha": "-pi/2", "a": 0.4}, {"alpha": "pi"}]
    assert tp.Robot.from_dh(rows).joints == tp.Robot.from_dh(meant).joints
    assert len(tp.Robot.from_dh(rows).notes) == 3
    as_printed = tp.Robot.from_dh(rows, snap=False)
    assert as_printed.joints != tp.Robot.from_dh(meant).joints
    assert np.abs(as_printed.joints[0].after.matrix[:3, 3] - [0, 0, 0.3]).max() == 0


def test_every_rotation_of_a_file_is_orthogonal_exactly(robots_dir):
    for path in ("xarm_description/urdf/xarm7.urdf", "kinova_description/robots/kinova.urdf"):
        for joint in quiet_urdf(robots_dir, path, snap=False).joints:
            r = joint.before.rotation
            for i in range(3):
                for j in range(3):
                    assert sum(r[i][k] * r[j][k] for k in range(3)) == (i == j)
            assert sum(v * v for v in joint.axis) == 1
