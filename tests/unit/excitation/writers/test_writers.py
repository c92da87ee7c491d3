"""Each format is parsed back: the same motion, at the speed that was asked for; all files or none."""

import re

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.excitation.motions.bounded import SplineMotion
from taupi.excitation.writers import FORMATS
from taupi.excitation.writers import write as writing

DURATION = 2.0


def write(motion, robot, folder, formats=("csv",), speed=1.0, rate_hz=100.0, force=False):
    samples = writing.TimedMotion(motion, robot, rate_hz, writing.checked_speed(speed))
    return writing.write(samples, folder, formats, force)


def motion_of(n: int) -> SplineMotion:
    return SplineMotion(0.3 * np.random.default_rng(1).standard_normal((8, n)), DURATION)


def expected(motion, times, speed):
    q, qd, qdd = motion(np.minimum(times * speed, DURATION))
    return q, speed * qd, speed**2 * qdd


@pytest.mark.parametrize("speed", [1.0, 0.3])
def test_csv_reads_back_as_a_log_with_the_torque_of_the_description(tmp_path, speed):
    robot = tp.load("panda")
    motion = motion_of(robot.n)
    write(motion, robot, tmp_path / "out", ("csv",), speed, 50.0)
    log = tp.read_log(tmp_path / "out" / "excitation.csv", robot)
    assert log.names == robot.joint_names
    assert log.time[-1] == pytest.approx(DURATION / speed, abs=1e-12)
    for name, value in zip(("q", "qd", "qdd"), expected(motion, log.time, speed), strict=True):
        np.testing.assert_allclose(getattr(log, name), value, atol=1e-12)
    tau = tp.inverse_dynamics(robot, terms=("viscous", "coulomb", "offset"))(log.q, log.qd, log.qdd)
    np.testing.assert_allclose(log.tau, tau, atol=1e-9)


def test_a_slower_motion_visits_the_same_positions(tmp_path):
    robot = tp.load("ur10")
    motion = motion_of(robot.n)
    for speed in (1.0, 0.5):
        write(motion, robot, tmp_path / str(speed), ("npz",), speed, 100.0)
    fast, slow = (np.load(tmp_path / str(s) / "excitation.npz") for s in (1.0, 0.5))
    np.testing.assert_allclose(slow["q"][::2], fast["q"], atol=1e-12)
    np.testing.assert_allclose(slow["qd"][::2], 0.5 * fast["qd"], atol=1e-12)
    np.testing.assert_allclose(slow["qdd"][::2], 0.25 * fast["qdd"], atol=1e-12)
    assert tuple(fast["names"]) == robot.joint_names


def test_ros2_is_a_joint_trajectory(tmp_path):
    yaml = pytest.importorskip("yaml")
    robot = tp.load("panda")
    motion = motion_of(robot.n)
    write(motion, robot, tmp_path / "out", ("ros2",), 0.3, 20.0)
    message = yaml.safe_load((tmp_path / "out" / "excitation.ros2.yaml").read_text())
    assert message["joint_names"] == list(robot.joint_names)
    points = message["points"]
    stamps = [p["time_from_start"] for p in points]
    time = np.array([s["sec"] + 1e-9 * s["nanosec"] for s in stamps])
    assert all(0 <= s["nanosec"] < 10**9 and isinstance(s["sec"], int) for s in stamps)
    assert (np.diff(time) > 0).all()
    for key, value in zip(("positions", "velocities", "accelerations"), expected(motion, time, 0.3), strict=True):
        np.testing.assert_allclose([p[key] for p in points], value, atol=1e-7)  # times are whole nanoseconds


def test_a_ros2_goal_is_that_trajectory(tmp_path):
    yaml = pytest.importorskip("yaml")
    robot = tp.load("panda")
    write(motion_of(robot.n), robot, tmp_path / "out", ("ros2", "ros2-goal"), 0.3, 20.0)
    goal = yaml.safe_load((tmp_path / "out" / "excitation.goal.yaml").read_text())
    assert goal.pop("trajectory") == yaml.safe_load((tmp_path / "out" / "excitation.ros2.yaml").read_text())
    # What else control_msgs/action/FollowJointTrajectory has: without tolerances, those of the controller.
    no_time = {"sec": 0, "nanosec": 0}
    assert goal == {"path_tolerance": [], "goal_tolerance": [], "goal_time_tolerance": no_time}


def test_urscript_sends_a_position_every_8_ms(tmp_path):
    robot = tp.load("ur10")
    motion = motion_of(robot.n)
    write(motion, robot, tmp_path / "out", ("urscript",))
    text = (tmp_path / "out" / "excitation.script").read_text()
    rows = re.findall(r"servoj\(\[([^\]]*)\], t=0.008,", text)
    q = np.array([[float(v) for v in row.split(",")] for row in rows])
    np.testing.assert_allclose(q, expected(motion, 0.008 * np.arange(len(q)), 1.0)[0], atol=1e-9)
    assert 0.008 * (len(q) - 1) >= DURATION
    start = re.search(r"movej\(\[([^\]]*)\]", text)
    np.testing.assert_allclose([float(v) for v in start[1].split(",")], q[0])
    assert text.count("def ") == 1 and text.rstrip().endswith("excitation()")


def test_franka_rows_start_and_end_still(tmp_path):
    robot = tp.load("panda")
    motion = motion_of(robot.n)
    write(motion, robot, tmp_path / "out", ("franka",))
    q = np.loadtxt(tmp_path / "out" / "excitation.franka.csv", delimiter=",")
    assert q.shape == (2001 + 4, 7)
    np.testing.assert_allclose(q[2:-2], expected(motion, 0.001 * np.arange(2001), 1.0)[0], atol=1e-11)
    for end in (q[:3], q[-3:]):
        assert np.ptp(end, axis=0).max() == 0


def test_all_files_or_none(tmp_path):
    robot = tp.load("panda")
    with pytest.raises(tp.TaupiError, match="'urscript' is for arms with 6 joints, panda has 7"):
        write(motion_of(7), robot, tmp_path / "out", ("csv", "urscript"))
    assert list(tmp_path.iterdir()) == []
    write(motion_of(7), robot, tmp_path / "out", ("csv", "npz", "csv"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["excitation.csv", "excitation.npz"]
    with pytest.raises(tp.TaupiError, match=r"holds excitation\.csv, excitation\.npz already"):
        write(motion_of(7), robot, tmp_path / "out", ("csv",))
    write(motion_of(7), robot, tmp_path / "out", ("csv",), force=True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formats": ("abb",)}, "No formats 'abb'. Known: " + ", ".join(FORMATS)),
        ({"formats": "csv"}, "formats is 'csv', expected a list of csv"),
        ({"speed": 0}, "speed is 0, expected a finite number above 0"),
        ({"speed": 1.5}, "speed is 1.5, expected at most 1"),
        ({"speed": 1e-9}, "speed is 1e-09, expected at least 0.001"),
        ({"rate_hz": -1}, "rate_hz is -1"),
    ],
)
def test_bad_settings_are_refused(tmp_path, change, sentence):
    with pytest.raises(tp.TaupiError, match=re.escape(sentence)):
        write(motion_of(7), tp.load("panda"), tmp_path / "out", **change)
    assert not (tmp_path / "out").exists()


def test_a_motion_of_another_robot_is_refused(tmp_path):
    with refused("motion", n=6, robot_n=7):
        write(motion_of(6), tp.load("panda"), tmp_path / "out")
