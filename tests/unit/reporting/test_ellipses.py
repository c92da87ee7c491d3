"""Ellipses of the operational mass: the numbers, and the picture of them."""

import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error

import taupi as tp
from taupi.errors import TaupiError

UNIT = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
SOME = np.array([[0.0, np.pi / 2], [np.pi / 3, 2 * np.pi / 3], [2.4, -0.9]])


def test_unit_arm_of_the_lecture():
    ellipses = tp.operational.mass_ellipses(UNIT, [0.0, np.pi / 2])
    assert error(ellipses.semi_axes, [[1.0, 2.0]]) < ROUNDING
    assert error(ellipses.directions[0], np.eye(2)) < ROUNDING
    assert error(ellipses.centres, [[1.0, 1.0]]) < ROUNDING
    # The other ellipse of the lecture: theta = (60, 60) degrees, by the 2 x 2 inverse written out here.
    q = np.deg2rad([60.0, 60.0])
    j = np.array(
        [[-np.sin(q[0]) - np.sin(q.sum()), -np.sin(q.sum())], [np.cos(q[0]) + np.cos(q.sum()), np.cos(q.sum())]]
    )
    c = np.cos(q[1])
    mass = np.linalg.inv(j).T @ np.array([[3 + 2 * c, 1 + c], [1 + c, 1]]) @ np.linalg.inv(j)
    assert error(tp.operational.mass_ellipses(UNIT, q).matrices[0], mass) < ROUNDING


@pytest.mark.parametrize(
    ("name", "task"), [("lecture2r", "xy"), ("planar3r", "xy"), ("panda", "position"), ("puma560", "position")]
)
def test_axes_are_where_force_and_acceleration_are_parallel(name, task):
    arm = tp.load(name)
    q = np.random.default_rng(2).uniform(0.4, 1.2, (4, arm.n))
    ellipses = tp.operational.mass_ellipses(arm, q, task=task)
    assert len(ellipses) == 4
    assert error(ellipses.matrices, tp.operational.mass(arm, task=task)(q)) < ROUNDING
    v, semi = ellipses.directions, ellipses.semi_axes
    assert error(ellipses.matrices @ v, v * semi[:, None]) < 1e-10
    assert error(np.swapaxes(v, 1, 2) @ v, np.broadcast_to(np.eye(v.shape[-1]), v.shape)) < ROUNDING
    assert (np.diff(semi) >= 0).all()
    assert error(ellipses.centres, tp.forward_kinematics(arm)(q)[:, : v.shape[-1], 3]) < ROUNDING


def test_drawn_ellipse_is_the_image_of_the_unit_circle():
    ellipses = tp.operational.mass_ellipses(UNIT, SOME)
    (axes,) = tp.plot(ellipses, scale=0.25).axes
    for k in range(3):
        (outline,) = [line for line in axes.lines if line.get_label() == f"_ellipse {k}"]
        points = np.array(outline.get_data()).T
        unit = np.linalg.solve(ellipses.matrices[k], (points - ellipses.centres[k]).T / 0.25)
        assert error(np.linalg.norm(unit, axis=0), np.ones(len(points))) < ROUNDING
    (low, high), (left, right) = axes.get_ylim(), axes.get_xlim()
    assert low < -0.1 and high > 1.0 + 0.25 * 2 and left < -1.0 and right > 1.25  # nothing is cropped


def test_ellipsoid_is_drawn(tmp_path):
    arm = tp.load("panda")
    ellipsoid = tp.operational.mass_ellipses(arm, [0, -0.5, 0, -2, 0, 1.6, 0.8], task="position")
    figure = tp.plot(ellipsoid, tmp_path / "ellipsoid.png")
    assert (tmp_path / "ellipsoid.png").stat().st_size > 10_000
    assert figure.axes[0].name == "3d"
    assert len(figure.axes[0].collections) == 1


def test_a_users_task_is_drawn_without_the_arm():
    arm = tp.load("planar3r")
    ellipses = tp.operational.mass_ellipses(arm, [0.3, 0.9, -0.4], task=lambda q: tp.forward_kinematics(arm)(q)[:2, 3])
    assert error(ellipses.matrices, tp.operational.mass_ellipses(arm, [0.3, 0.9, -0.4]).matrices) < 1e-9
    assert not [line for line in tp.plot(ellipses).axes[0].lines if line.get_marker() == "o"]


def test_bad_input():
    with pytest.raises(TaupiError, match="singular"):
        tp.operational.mass_ellipses(UNIT, [[0.3, 0.9], [0.3, 0.0]])
    with pytest.raises(TaupiError, match="expected 'xy', 'position'"):
        tp.operational.mass_ellipses(tp.load("planar3r"), [0.3, 0.9, 0.4], task="planar")
    with refused("q", got=(3,)):
        tp.operational.mass_ellipses(UNIT, [0.1, 0.2, 0.3])
    with pytest.raises(TaupiError, match="not finite"):
        tp.operational.mass_ellipses(UNIT, [np.inf, 0.2])
    with refused("scale", got=-1):
        tp.plot(tp.operational.mass_ellipses(UNIT, [0.3, 0.9]), scale=-1)
