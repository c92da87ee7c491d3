"""Default motions: within the limits of every robot in the catalogue, and at rest where a joint cannot move."""

import dataclasses

import numpy as np
import pytest

import taupi as tp
from taupi.simulation.motion_limits import gentle_sines, swing

T = np.linspace(0.0, 20.0, 4001)


@pytest.mark.parametrize("motion_of", [gentle_sines, swing])
@pytest.mark.parametrize("name", tp.catalogue())
def test_positions_are_within_limits(motion_of, name):
    robot = tp.load(name)
    motion = motion_of(robot)(T)
    for k in robot.actuated:
        limits = robot.driving_joints[k].limits
        if limits.lower is not None and limits.upper is not None:
            assert motion.q[:, k].min() > limits.lower - 1e-9 and motion.q[:, k].max() < limits.upper + 1e-9
        if limits.velocity and motion_of is gentle_sines:
            assert np.abs(motion.qd[:, k]).max() <= 0.5 * limits.velocity + 1e-9
    assert np.ptp(motion.q[:, list(robot.actuated)], axis=0).min() > 0.1


@pytest.mark.parametrize("motion_of", [gentle_sines, swing])
def test_a_joint_that_cannot_move_stands_still(motion_of):
    """Warnings are errors: nothing is divided by its speed, which is zero."""
    robot = tp.load("elbow2r")
    first, *rest = robot.joints
    held = dataclasses.replace(first, limits=dataclasses.replace(first.limits, lower=0.3, upper=0.3, velocity=2.0))
    motion = motion_of(dataclasses.replace(robot, joints=(held, *rest)))(T)
    assert np.ptp(motion.q[:, 0]) == 0 and motion.q[0, 0] == pytest.approx(0.3) and np.ptp(motion.q[:, 1]) > 0.5
