"""Tasks: coordinates whose rate is J qd, and from which the rotation is rebuilt."""

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROUNDING, error, random_robot, random_states

import taupi as tp
from taupi.dynamics.kinematics import TASKS
from taupi.dynamics.orientation import SMALL, euler_zyz, roll_pitch_yaw, rotation_vector
from taupi.errors import TaupiError
from taupi.program import Port, trace

POSES = ("pose", "pose_zyz", "pose_vector")


def turn(axis, angle):
    """Rodrigues' formula, in NumPy."""
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    s = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * s + (1 - np.cos(angle)) * s @ s


def rebuilt(task, a):
    if task == "pose_vector":
        return turn(a, np.linalg.norm(a)) if np.any(a) else np.eye(3)
    x, y, z = np.eye(3)
    last = (x, a[0]) if task == "pose" else (z, a[2])
    first = (z, a[2]) if task == "pose" else (z, a[0])
    return turn(*first) @ turn(y, a[1]) @ turn(*last)


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_rotation_is_rebuilt_from_its_coordinates(seed):
    arm = random_robot(seed, joints=4, tree=False)
    q = random_states(arm, 1, 1, seed)[0, 0]
    placed = tp.forward_kinematics(arm).compile("numpy")(q)
    for task in POSES:
        r = tp.operational.task_coordinates(arm, task=task).compile("numpy")(q)
        # Near a singularity of the coordinates (a sine of 1e-3, say) some digits go.
        assert error(rebuilt(task, r[:3]), placed[:3, :3]) < 1e-9
        assert error(r[3:], placed[:3, 3]) < ROUNDING


@pytest.mark.parametrize("task", [name for name, kind in TASKS.items() if kind.coordinates is not None])
def test_rate_of_the_coordinates_is_jacobian_times_speed(task):
    arm, h = tp.load("planar3r" if task in ("xy", "planar") else "puma560"), 1e-6
    q, qd = np.random.default_rng(3).uniform(0.4, 1.2, (2, arm.n))
    r, j = tp.operational.task_coordinates(arm, task=task), tp.jacobian(arm, task=task)
    assert error((r(q + h * qd) - r(q - h * qd)) / (2 * h), j(q) @ qd) < 1e-8
    rate = (j(q + h * qd) - j(q - h * qd)) / (2 * h)
    assert error(rate, tp.jacobian_derivative(arm, task=task)(q, qd)) < 1e-8


def turned(angle):
    """The rotation vector of a rotation about (1, 2, 2)/3 by an angle, and its first two derivatives by CasADi."""
    x = cs.SX.sym("x")
    s = cs.skew(cs.SX([1.0, 2.0, 2.0]) / 3)
    w = rotation_vector(cs.SX.eye(3) + cs.sin(x) * s + (1 - cs.cos(x)) * s @ s)
    rate = cs.jacobian(w, x)
    values = cs.Function("w", [x], [w, rate, cs.jacobian(rate, x)])(angle)
    return [np.array(v).ravel() for v in values]


EDGE = float(np.arcsin(np.sqrt(SMALL)))


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-6, 0.99 * EDGE, 1.01 * EDGE, 0.5, 2.0, 3.0, -0.3])
def test_rotation_vector_is_angle_times_axis_and_smooth_at_zero(angle):
    w, first, second = turned(angle)
    axis = np.array([1.0, 2.0, 2.0]) / 3
    assert error(w, angle * axis) < 1e-13
    assert error(first, axis) < 1e-12
    assert error(second, 0 * axis) < 1e-9


def test_dynamics_with_the_rotation_vector_at_zero_rotation():
    """A wrist that stands at R = 1: finite, and equal to the limit from beside it."""
    rows = [{"a": 0.3}, {"alpha": np.pi / 2, "d": 0.1}, {"a": 0.2, "alpha": -np.pi / 2}]
    arm = tp.Robot.from_dh(rows, links=[{"m": 1, "inertia": np.diag([0.1, 0.2, 0.3])}] * 3)
    j = tp.jacobian(arm, task="pose_vector")
    assert error(tp.forward_kinematics(arm)([0, 0, 0])[:3, :3], np.eye(3)) < ROUNDING
    assert error(j([0.0, 0, 0]), j([1e-9, 1e-9, 0])) < 1e-8
    geometric = tp.jacobian(arm)([0.0, 0, 0])
    assert error(j([0.0, 0, 0]), geometric) < ROUNDING  # at R = 1 its rate is the angular velocity
    assert np.isfinite(tp.jacobian_derivative(arm, task="pose_vector")([0.0, 0, 0], [1.0, 2, 3])).all()


@pytest.mark.parametrize("coordinates", [roll_pitch_yaw, euler_zyz, rotation_vector])
def test_orientations_on_random_rotations(coordinates):
    rng = np.random.default_rng(1)
    program = trace("o", coordinates, [Port("R", (3, 3))], [Port("a", (3,))])
    task = {roll_pitch_yaw: "pose", euler_zyz: "pose_zyz", rotation_vector: "pose_vector"}[coordinates]
    for _ in range(50):
        r = turn(rng.normal(size=3), rng.uniform(-3.1, 3.1))
        a = program(r)
        assert error(rebuilt(task, a), r) < 1e-9
        assert task != "pose_zyz" or 0 <= a[1] <= np.pi
        assert task != "pose_vector" or np.linalg.norm(a) <= np.pi


def test_user_task_may_call_programs_of_the_robot():
    arm = tp.load("puma560")
    height = tp.operational.task_coordinates(arm, task=lambda q: tp.forward_kinematics(arm)(q)[2, 3])
    q = np.full(6, 0.3)
    assert error(height(q), tp.forward_kinematics(arm)(q)[2:3, 3]) < ROUNDING
    pair = tp.operational.task_coordinates(arm, task=lambda q: [q[0], 2.0 * q[1]])
    assert error(pair(q), [0.3, 0.6]) < ROUNDING


def broken(q):
    return q[0] + q[17]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (broken, r"The task function broken failed on q, a CasADi SX column of 6: RuntimeError"),
        (lambda q: None, r"returned None, expected an SX column"),
        (lambda q: "up", r"returned 'up', expected an SX column"),
        (lambda q: [q[0], "up"], r"expected an SX column"),
        (lambda q: q @ q.T, r"returned shape \(6, 6\), expected a column"),
        (lambda q: cs.SX(0, 1), r"returned shape \(0, 1\), expected a column"),
        (lambda q: cs.SX.sym("z") * q[0], r"symbols that are not entries of q: z"),
        ("pose_xyz", r"No task 'pose_xyz'.*Did you mean 'pose_zyz'"),
        (3, r"No task '3'"),
        (("xy",), r"No task "),
    ],
)
def test_bad_tasks(task, message):
    arm = tp.load("puma560")
    for build in (tp.operational.task_coordinates, tp.operational.mass, tp.operational.singularity):
        with pytest.raises(TaupiError, match=message):
            build(arm, task=task)


def test_a_twist_has_no_coordinates():
    with pytest.raises(TaupiError, match=r"'twist' has velocities but no coordinates. Use position, xy"):
        tp.operational.task_coordinates(tp.load("puma560"), task="twist")
