"""Commands for robots without torque sensors: limits that hold, and expected errors that identification then has."""

import json

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.excitation.commands import _outlook

ARM = tp.load("elbow2r")
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0, "effort": 200.0}
DRIVE = {"kp": 300, "kd": 10}


@pytest.fixture(scope="module")
def plan():
    return tp.excite_commands(ARM, DRIVE, 10.0, limits=LIMITS)


def test_commands_keep_their_limits_and_begin_and_end_at_rest(plan):
    assert plan.certified and set(plan.certificates) == {"position", "velocity", "acceleration", "torque"}
    q, qd, qdd = plan.motion(np.linspace(0, plan.duration, 5000))
    assert np.abs(q).max() < 2 and np.abs(qd).max() < 3 and np.abs(qdd).max() < 20
    assert (
        np.allclose(qd[[0, -1]], 0, atol=1e-9)
        and np.allclose(q[0], plan.poses[0])
        and np.allclose(q[-1], plan.poses[1])
    )
    gravity = tp.gravity_torque(ARM)(plan.poses)
    assert np.abs(gravity[0] - gravity[1]).min() > 5  # N m: the postures differ in gravity, joint by joint


def test_it_moves_slowly_for_friction_and_fast_for_the_delay():
    plan = tp.excite_commands(ARM, {"kp": 3000, "kd": 30}, 10.0, limits=LIMITS)
    burst = plan.motion.parts[0]
    moving = np.abs(burst.amplitude) > 1e-6
    hz = np.where(moving, burst.omega, np.nan) / (2 * np.pi)
    assert (np.nanmin(hz, axis=1) < 0.5).all() and (np.nanmax(hz, axis=1) > 3).all()
    assert not any("do not follow" in note for note in plan.notes)
    weak = tp.excite_commands(ARM, {"kp": 30, "kd": 3}, 10.0, limits=LIMITS)
    assert any("shoulder, elbow do not follow above 3 Hz" in note for note in weak.notes)
    assert (
        np.nanmax(np.where(np.abs(weak.motion.parts[0].amplitude) > 1e-6, weak.motion.parts[0].omega, 0))
        < 3 * 2 * np.pi
    )


def test_expected_errors_are_those_of_least_squares(plan):
    """An oracle of its own: differences of simulated positions in place of sensitivities, and a plain inverse."""
    from taupi.dynamics.driven_rollout import DrivenRobot
    from taupi.identification.commands.stretches import law_values, stretches_of

    time = np.arange(int(plan.duration * plan.rate_hz) + 1) / plan.rate_hz
    q, qd, _ = plan.motion(time)
    (stretch,) = stretches_of(tp.Log(time, q, qd=qd, qdes=q, names=ARM.joint_names, drive=plan.drive), ARM)
    driven = DrivenRobot(ARM)
    theta = law_values(stretch.drive, np.zeros(driven.values.size), driven.values)
    theta[driven.values.bodies] = ARM.parameters.values
    theta[driven.values.joints("stribeck_velocity")] = 0.1
    theta[driven.values.joints("stribeck_shape")] = 1.0
    places = {}
    for p in plan.expected:
        joint, _, kind = p.name.rpartition(".")
        k = driven.values.delay if not joint else driven.values.joints(kind).start + ARM.joint_names.index(joint)
        places[p.name], theta[k] = k, p.assumed

    def simulated(values):
        return driven.roll(values, stretch.commands, q[0], qd[0]).q.ravel()

    rows = []
    for k in places.values():
        step = np.zeros_like(theta)
        step[k] = 1e-5
        rows.append((simulated(theta + step) - simulated(theta - step)) / 2e-5)
    jacobian = np.array(rows).T / 3e-4
    stderr = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    expected = np.array([p.stderr for p in plan.expected])
    assert np.allclose(expected, stderr, rtol=0.1)


def test_a_zero_that_gravity_does_not_show_is_named():
    links = [{"m": 2.0, "com": (-0.2, 0, 0), "inertia": np.eye(3).tolist()}] * 2
    dh = [{"a": 0.5, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"}] * 2
    floating = tp.Robot.from_dh(dh, links=links, gravity=(0, 0, -9.81))  # both axes are vertical
    plan = tp.excite_commands(floating, DRIVE, 10.0, limits=LIMITS)
    first = f"{floating.joint_names[0]}.encoder"
    assert plan.hidden == (first,)
    assert f"This motion will not show {first}." in plan.sentences
    (row,) = [line for line in plan.table() if first in line]
    assert "not seen" in row


def test_what_to_record_besides(plan):
    unknown = tp.excite_commands(ARM, {**DRIVE, "unknown": ["kp"]}, 10.0, limits=LIMITS)
    assert any("a second time with a known mass at the tip" in note for note in unknown.notes)
    assert {"shoulder.kp", "elbow.kp"} <= {p.name for p in unknown.expected}
    assert not any("known mass" in note for note in plan.notes)
    servo = {"law": "duty", "kp": 3, "kt": 20, "resistance": 3, "volts": 12}
    plan = tp.excite_commands(ARM, servo, 10.0, limits=LIMITS)
    assert any("torque off" in note for note in plan.notes)


def test_an_unstable_drive_is_refused():
    with pytest.raises(TaupiError, match="is not stable"):
        motion = tp.excite_commands(ARM, DRIVE, 10.0, limits=LIMITS).motion
        drive = tp.Drive(kp=(1e9, 1e9), kd=(0, 0), law="pd_host", rate_hz=50)
        _outlook(ARM, drive, motion, 100.0, np.full(2, 3e-4))


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"sigma": 0}, "sigma"),
        ({"sigma": [1e-3, np.nan]}, "sigma"),
        ({"sigma": [1e-3, 1e-3, 1e-3]}, "sigma"),
        ({"sigma": "small"}, "sigma"),
        ({"rate_hz": -1}, "rate_hz"),
        ({"start": [9, 9]}, "start"),
    ],
)
def test_bad_arguments(change, argument):
    with pytest.raises(TaupiError) as refused:
        tp.excite_commands(ARM, DRIVE, 10.0, limits=LIMITS, **change)
    assert str(refused.value).startswith(argument)


def test_a_plan_is_written_with_its_page_and_the_mapping_of_its_log(plan, tmp_path):
    from taupi.reporting.report import report_text

    plan.write(tmp_path / "out", page=report_text(plan))
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "commands.json", "commands.txt", "drive.toml", "excitation.csv", "report.html",
    }  # fmt: skip
    data = json.loads((tmp_path / "out/commands.json").read_text())
    assert data["certified"] and len(data["expected"]) == len(plan.expected)
    page = (tmp_path / "out/report.html").read_text()
    assert "What it will show" in page and "shoulder.encoder" in page
    assert "--speed" not in page  # which excitations have, and commands do not
    log = tp.Log([0.0, 0.1], np.zeros((2, 2)), qdes=np.ones((2, 2)), names=ARM.joint_names)
    lines = ["t," + ",".join(f"{s}_{j}" for s in ("q", "qdes") for j in log.names), "0,0,0,1,1", "0.1,0,0,1,1"]
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    read = tp.read_log(tmp_path / "run.csv", ARM, columns=tmp_path / "out/drive.toml")
    assert read.drive == plan.drive and np.array_equal(read.qdes, log.qdes)
    with pytest.raises(TaupiError, match="already"):
        plan.write(tmp_path / "out")
