"""Product of exponentials: T_i(q) = exp([S_1] q_1) ... exp([S_i] q_i) M_i, the defining equation itself."""

import numpy as np
import pytest
import sympy
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError


def exponential(screw, q):
    """exp([S] q) by scaling and squaring of the series: no formula shared with the reader."""
    w, v = np.asarray(screw, float)[:3], np.asarray(screw, float)[3:]
    bracket = np.zeros((4, 4))
    bracket[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    bracket[:3, 3] = v
    small, result, term = bracket * q / 2**10, np.eye(4), np.eye(4)
    for k in range(1, 12):
        term = term @ small / k
        result = result + term
    return np.linalg.matrix_power(result, 2**10)


def test_the_defining_equation():
    rng = np.random.default_rng(3)
    axes = [rng.normal(size=3) for _ in range(3)]
    points = rng.uniform(-1, 1, (3, 3))
    turning = [
        np.r_[u / np.linalg.norm(u), -np.cross(u / np.linalg.norm(u), r)] for u, r in zip(axes, points, strict=True)
    ]
    screws = [turning[0], turning[1], (0, 0, 0, 0.6, 0, 0.8), turning[2]]
    homes = [exponential(rng.normal(size=6), 0.7) for _ in screws]
    robot = tp.Robot.from_poe(screws, homes, tool=(0.1, 0.2, 0.3), base=(1, 2, 3))
    q = rng.uniform(-2, 2, 4)
    reached = np.eye(4)
    for i, (screw, home) in enumerate(zip(screws, homes, strict=True)):
        reached = reached @ exponential(screw, q[i])
        expected = reached @ home + np.array([[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 3], [0, 0, 0, 0]])
        # exp by 2^10 squarings loses some 1e-13.
        np.testing.assert_allclose(tp.forward_kinematics(robot, frame=f"link{i + 1}")(q), expected, atol=1e-11)
    assert robot.tip == "tool"


def test_what_is_snapped_is_said():
    tilted = np.array([[1, 0, 0, 0], [0, 3e-6, -1, 0], [0, 1, 3e-6, 0], [0, 0, 0, 1]])
    screws = [(0, 2e-6, 1, 0, 0, 0), (0, 0, 0, 1, 0, 3e-6)]
    arm = tp.Robot.from_poe(screws, [np.eye(4), tilted], base=tilted, tool=tilted)
    expected = ("home 2: rotation", "screw 1: omega", "screw 2: v", "base: rotation", "tool: rotation")
    assert [note.partition(" snapped by ")[0] for note in arm.notes] == list(expected)
    assert "3.0e-06 rad" in arm.notes[0] and "2.0e-06 rad" in arm.notes[1]
    assert tp.Robot.from_poe(screws, [np.eye(4), tilted], base=tilted, tool=tilted, snap=False).notes == ()


def test_symbols_and_frames_on_their_axes():
    arm = tp.Robot.from_poe([(0, 0, 1, 0, 0, 0), (0, 0, 1, 0, "-l1", 0)], [(0, 0, 0), ("l1", 0, 0)])
    assert [j.after.translation for j in arm.joints] == [(0, 0, 0)] * 2
    assert arm.joints[1].before.translation[0] == sympy.Symbol("l1") and arm.symbols == (("l1", None),)


@pytest.mark.parametrize(
    ("screw", "message"),
    [
        ((0, 0, 1, 0, 0, 0.2), "pitch"),
        ((0, 0, 1, 0, 0, "h"), "pitch"),
        ((0, 0, 2, 0, 0, 0), "omega has length 2, expected 1"),
        ((0, 0, 0, 0, 3, 0), "v has length 3, expected 1"),
        ((0, 0, 0, 0, 0, 0), "no direction"),
        ((0, 0, 1), "expected 6 numbers"),
        ((0, "w", 1, 0, 0, 0), "must be numbers"),
    ],
)
def test_bad_screws(screw, message):
    with pytest.raises(TaupiError, match=rf"^screw 1.*{message}"):
        tp.Robot.from_poe([screw], [np.eye(4)])


def test_one_home_a_screw():
    with refused("home", got=2, n=1):
        tp.Robot.from_poe([(0, 0, 1, 0, 0, 0)], [np.eye(4)] * 2)
    for home in ([np.eye(3)], [None]):
        with pytest.raises(TaupiError, match="home 1 is"):
            tp.Robot.from_poe([(0, 0, 1, 0, 0, 0)], home)


@pytest.mark.parametrize(
    ("screws", "home", "options", "message"),
    [
        (5, [np.eye(4)], {}, "screws is 5, expected a list"),
        ([(0, 0, 1, 0, 0, 0)], 5, {}, "home is 5, expected a list"),
        ([(0, 0, 1, 0, 0, 0)], [np.eye(4)], {"joint_names": 5}, "joint_names is 5, expected a list"),
        ([(0, 0, 1, 0, 0, 0)], [np.eye(4)], {"joint_names": [5]}, "name is 5, expected a text"),
    ],
)
def test_what_is_no_list(screws, home, options, message):
    with pytest.raises(TaupiError, match=message):
        tp.Robot.from_poe(screws, home, **options)
