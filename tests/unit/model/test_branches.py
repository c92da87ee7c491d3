"""Branches of a robot: what only the ground connects."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from two_legs import LEG, two_legs

import taupi as tp
from taupi.model.branches import branches


def test_branches_do_not_feel_each_other() -> None:
    robot = two_legs()
    found = branches(robot)
    assert [b.coordinates for b in found] == [(0, 2), (1, 3)]
    assert [b.links for b in found] == [(0, 2), (1, 3)]
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 5, 4))
    tau, M = tp.inverse_dynamics(robot)(q, qd, qdd), tp.mass_matrix(robot)(q)
    for b in found:
        k = list(b.coordinates)
        others = [j for j in range(4) if j not in k]
        assert np.abs(M[:, k][:, :, others]).max() == 0
        np.testing.assert_allclose(tp.inverse_dynamics(b.robot)(q[:, k], qd[:, k], qdd[:, k]), tau[:, k], rtol=1e-12)


@pytest.mark.parametrize("also", [True, False], ids=["coupled", "mimic"])
def test_what_a_transmission_connects_is_one_branch(also: bool) -> None:
    robot = two_legs()
    joints = list(robot.joints)
    if also:
        joints[3] = dataclasses.replace(joints[3], also=((0, joints[3].ratio),))
        robot = dataclasses.replace(robot, joints=tuple(joints))
    else:
        joints[3] = dataclasses.replace(joints[3], coordinate=0, mimic=True)
        robot = dataclasses.replace(robot, joints=tuple(joints))
    assert len(branches(robot)) == 1


def test_a_robot_of_one_piece_is_itself() -> None:
    (only,) = branches(LEG)
    assert only.robot is LEG
    assert only.coordinates == (0, 1)
