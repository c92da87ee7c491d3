"""Which column is which: mappings, units, gears, and guesses that are stated or refused."""

import re
import shlex

import numpy as np
import pytest
from command_line import taupi
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.mapping.columns import Columns, Motor
from taupi.signals.mapping.guess import parse_header
from taupi.signals.mapping.units import DIMENSION, UNITS, factor


def table(path, header, rows):
    path.write_text(header + "\n" + "\n".join(",".join(map(repr, map(float, r))) for r in rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "want"),
    [
        ("t", ("time", "", "")),
        ("time_ms", ("time", "ms", "")),
        ("timestamp [us]", ("time", "us", "")),
        ("q1", ("q", "", "1")),
        ("q[0]", ("q", "", "0")),
        ("q_rad_7", ("q", "rad", "7")),
        ("joint_position_2", ("q", "", "2")),
        ("position.elbow_joint", ("q", "", "elbow_joint")),
        ("panda_joint1_pos", ("q", "", "panda_joint_1")),
        ("JointVelocity3", ("qd", "", "3")),
        ("qd_rad_s_1", ("qd", "rad/s", "1")),
        ("dq_2 (deg/s)", ("qd", "deg/s", "2")),
        ("qdd_rad_s2_4", ("qdd", "rad/s2", "4")),
        ("torque_Nm_5", ("tau", "Nm", "5")),
        ("q_deg1", ("q", "deg", "1")),
        ("qd_rpm12", ("qd", "rpm", "12")),
        ("qd_rad_s2", ("qd", "rad/s", "2")),
        ("qdd_rad_s21", ("qdd", "rad/s2", "1")),
        ("qdd_1 [deg/s^2]", ("qdd", "deg/s2", "1")),
        ("qd1 [\N{DEGREE SIGN}/s]", ("qd", "deg/s", "1")),
        ("q_degrees3", ("q", "deg", "3")),
        ("qd_deg_per_sec_1", ("qd", "deg/s", "1")),
        ("tau_1_mNm", ("tau", "mNm", "1")),
        ("tau_1 [N.mm]", ("tau", "Nmm", "1")),
        ("tau_1_kgf_cm", ("tau", "kgfcm", "1")),
        ("torque1 [kgf\N{MIDDLE DOT}cm]", ("tau", "kgfcm", "1")),
        ("effort_elbow_kgcm", ("tau", "kgfcm", "elbow")),
        ("torque_2 [oz-in]", ("tau", "ozfin", "2")),
        ("torque_2_lbf_ft", ("tau", "lbfft", "2")),
        ("Drehmoment A1 [N mm]", ("tau", "Nmm", "A1")),
        ("torque_kg_1", ("tau", "", "kg_1")),
        ("tau_mA1", ("current", "mA", "1")),
        ("tau_A1", ("tau", "", "A1")),
        ("t_\N{MICRO SIGN}s", ("time", "us", "")),
        ("time_msec", ("time", "ms", "")),
        ("tau_a", ("tau", "", "a")),
        ("effort_A_arm_1", ("current", "A", "arm_1")),
        ("current_mA_3", ("current", "mA", "3")),
        ("motor_pos_rad_1", ("theta", "rad", "1")),
        ("motor_velocity_1", ("thetad", "", "1")),
        ("tau_m_2", ("tau_m", "", "2")),
        ("motor_torque_Nm_2", ("tau_m", "Nm", "2")),
        ("motor_current_2", ("current", "", "2")),
        ("motor_voltage_V", ("voltage", "V", "")),
    ],
)
def test_headers_that_are_understood(header, want):
    got = parse_header(header)
    assert (got.signal, got.unit, got.label) == want and got.measured


@pytest.mark.parametrize(
    "header", ["q_des_1", "target_velocity_2", "tau_ref_3", "theta_setpoint_deg", "q_cmd[1]", "q_error_1"]
)
def test_commanded_values_are_not_measured_ones(header):
    assert not parse_header(header).measured


@pytest.mark.parametrize("header", ["comment", "alpha_deg", "supply_rail_V", "pressure_1", "x", ""])
def test_headers_that_are_not(header):
    assert parse_header(header) is None


def test_every_unit_is_recognised_in_front_of_the_joint_and_behind_it():
    for signal in ("q", "qd", "qdd", "tau", "current", "voltage", "theta"):
        for unit in UNITS[DIMENSION[signal]]:
            spelled = unit.replace("/", "_")
            headers = [f"{signal}_{spelled}_2", f"{signal}_2_{spelled}", f"{signal}2 [{unit}]"]
            headers += [f"{signal}_{spelled}2"] if len(unit) > 1 else []
            for header in map(parse_header, headers):
                assert (header.signal, header.unit, header.label) == (signal, unit, "2"), header


def test_a_unit_that_the_signal_cannot_have_is_refused(tmp_path):
    file = table(tmp_path / "run.csv", "t,q1,q2,vel_deg_1,vel_deg_2", [[k / 10, 0, 0, 1, 2] for k in range(3)])
    with pytest.raises(TaupiError, match="'vel_deg_1' is qd, with the unit deg, expected a unit such as 'rad/s'"):
        tp.read_log(file)
    assert any("no unit of qd" in sentence for sentence in tp.signals.suggest_mapping(file).missing)
    log = tp.read_log(file, columns={"time": "t", "q": "q{i}", "qd": {"columns": "vel_deg_{i}", "unit": "deg/s"}})
    assert log.qd[0].tolist() == pytest.approx(np.radians([1, 2]))


def test_a_guess_is_stated(tmp_path):
    header = "t_ms,q1_deg,q2_deg,q_des_1,qd1_rpm,qd2_rpm,tau1,tau2,temperature_1"
    file = table(tmp_path / "run.csv", header, np.arange(27).reshape(3, 9))
    log = tp.read_log(file)
    assert np.allclose(log.time, [0, 0.009, 0.018])
    assert np.allclose(log.q[0], np.radians([1, 2])) and np.allclose(log.qd[0], np.array([4, 5]) * 2 * np.pi / 60)
    assert np.allclose(log.tau[0], [6, 7])
    notes = "\n".join(log.notes)
    assert "q = q1_deg ... q2_deg (deg)" in notes and "tau = tau1 ... tau2 (SI)" in notes
    assert "not measured: q_des_1" in notes and "no signal is known by these names: temperature_1" in notes


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t,q1,q2,pos1,pos2", "run.csv: q could be 'q1', 'pos1'. Say which: columns={'q': ...}"),
        ("t,time,q1,q2,x", "time could be 't', 'time'"),
        ("t,q1,q2,tau1,tau3", "tau has the joints 1, 3, but other signals 1, 2"),
        ("t,q1,q2,tau1,x", "tau has the joints 1, but other signals 1, 2: tau2 is missing. Say which"),
        ("t,q1,tau1,tau2,x", "tau has the joints 1, 2, but other signals 1: joint 2 is missing there. Say which"),
        ("t,a,b,c,d", "no joint signal is known. Map its columns"),
        ("a,q1,q2,c,d", r"has no time column that is known. Give columns=.* or rate_hz"),
        ("t,q_1,q[1],c,d", "q has several columns for one joint"),
        ("t,theta1,theta2,tau_m1,tau_m2", "q is missing, only the motor side is known. Give the gears"),
    ],
)
def test_a_guess_with_two_readings_is_refused(tmp_path, header, message):
    file = table(tmp_path / "run.csv", header, np.arange(15).reshape(3, 5))
    with pytest.raises(TaupiError, match=message if ".*" in message else re.escape(message)):
        tp.read_log(file)


def test_an_error_names_a_command_that_finds_the_file(tmp_path, monkeypatch):
    """The file is in another folder than the user, and its name has a blank."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my data"
    folder.mkdir()
    table(folder / "run 1.csv", "t,a,b", [[0, 1, 2], [1, 2, 3]])
    with pytest.raises(TaupiError) as failure:
        tp.read_log("my data/run 1.csv")
    (command,) = re.findall("`(.*)`", str(failure.value))
    program, *arguments = shlex.split(command)
    assert (program, taupi(*arguments).returncode) == ("taupi", 0)
    assert (tmp_path / "columns.toml").exists()


def test_an_error_on_a_data_frame_names_no_file():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TaupiError, match=r"^frame: no joint signal is known. Map its columns: .*}\.$"):
        tp.Log.from_frame(pandas.DataFrame({"t": [0.0, 1.0], "a": [1.0, 2.0]}))


def test_who_named_the_joints_is_asked_to_correct_them(tmp_path):
    file, robot = table(tmp_path / "run.csv", "t,q_hip,q_knee", [[0, 1, 2], [1, 2, 3]]), tp.load("elbow2r")
    with pytest.raises(TaupiError, match=r"No joint 'shoulder' in run.csv.*Name its joints: columns=.*--suggest"):
        tp.read_log(file, robot)
    wrong = {"joints": ["shoulder", "wrist"]}
    with pytest.raises(TaupiError, match=r"No joint 'elbow'.*Correct columns={'joints': ...}: the joints of elbow2r"):
        tp.read_log(file, robot, columns=wrong)
    assert tp.read_log(file, robot, columns={"joints": ["elbow", "shoulder"]}).q[0].tolist() == [2, 1]


def test_joints_of_a_written_log_may_be_named_anew(tmp_path):
    file = tmp_path / "run.csv"
    tp.write_log(tp.Log([0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]], names=("hip", "knee")), file)
    log = tp.read_log(file, tp.load("elbow2r"), columns={"joints": ["elbow", "shoulder"]})
    assert log.names == ("shoulder", "elbow") and log.q[0].tolist() == [2, 1]


def test_numbered_joints_are_in_the_order_of_their_numbers(tmp_path):
    order = [10, 2, 1, 12, 11, 3, 4, 5, 6, 7, 8, 9]
    file = table(tmp_path / "run.csv", "t," + ",".join(f"q{k}" for k in order), [[0, *order], [1, *order]])
    assert np.array_equal(tp.read_log(file).q[0], np.arange(1, 13))


def test_a_time_that_cannot_be_seconds_is_refused(tmp_path):
    rows = [[1e15 + 1e7 * k, k, k] for k in range(5)]
    file = table(tmp_path / "run.csv", "t,q1,q2", rows)
    with pytest.raises(TaupiError, match=r"time steps by 1e\+07, too much for seconds. .*'unit': 'ns'"):
        tp.read_log(file)
    log = tp.read_log(file, columns={"time": {"columns": "t", "unit": "ns"}})
    assert np.allclose(np.diff(log.time), 0.01) and log.n == 2


@pytest.mark.parametrize("first", [0, 1])
def test_templates_count_from_zero_or_one(tmp_path, first):
    header = "t," + ",".join(f"a{k + first:02}" for k in range(3))
    file = table(tmp_path / "run.csv", header, np.arange(12).reshape(3, 4))
    log = tp.read_log(file, columns={"q": "a{i:02}"})
    assert np.array_equal(log.q[0], [1, 2, 3])
    more = tp.read_log(file, columns={"time": "t", "q": {"columns": "a{i:02}", "first": first + 1}})
    assert np.array_equal(more.q[0], [2, 3])


def test_signs_gains_offsets_and_matrices(tmp_path):
    file = table(tmp_path / "run.csv", "t,a,b,v", [[0, 10, 20, 3], [1, 11, 22, 4], [2, 12, 24, 5]])
    columns = {
        "time": "t",
        "q": {"columns": ["a", "b"], "unit": "deg", "matrix": [[1, 1]], "offset": 0.5},
        "theta": {"columns": ["a"], "unit": "deg", "sign": -1},
        "tau_m": {"columns": ["v"], "gain": 0.25},
    }
    log = tp.read_log(file, columns=columns)
    assert np.allclose(log.q[:, 0], np.radians([30, 33, 36]) + 0.5)
    assert np.allclose(log.theta[:, 0], -np.radians([10, 11, 12])) and np.allclose(log.tau_m[:, 0], [0.75, 1, 1.25])
    assert log.tau is None  # nothing says how the motor drives the joint


@pytest.mark.parametrize(
    ("signal", "unit", "number", "si"),
    [
        ("time", "ms", 1500, 1.5),
        ("time", "us", 2e6, 2),
        ("time", "ns", 3e9, 3),
        ("time", "min", 2, 120),
        ("q", "deg", 180, np.pi),
        ("q", "rev", 0.5, np.pi),
        ("q", "mm", 250, 0.25),
        ("qd", "deg/s", 90, np.pi / 2),
        ("qd", "rpm", 60, 2 * np.pi),
        ("qd", "mm/s", 5, 0.005),
        ("qdd", "deg/s^2", 180, np.pi),
        ("qdd", "rad/s²", 2, 2),
        ("tau", "mNm", 500, 0.5),
        ("tau", "N m", 3, 3),
        ("tau", "kN", 2, 2000),
        ("current", "mA", 250, 0.25),
        ("thetad", "rpm", 3000, 100 * np.pi),
        ("thetadd", "deg/s2", 90, np.pi / 2),
        ("tau_m", "Ncm", 100, 1),
        ("tau", "kgf cm", 100, 9.80665),
        ("tau", "gf\N{MIDDLE DOT}cm", 1e5, 9.80665),
        ("tau", "lbf ft", 1, 1.3558179483314004),
        ("tau", "lbfin", 12, 1.3558179483314004),
        ("tau", "ozf in", 16 * 12, 1.3558179483314004),
    ],
)
def test_units(signal, unit, number, si):
    assert number * factor(signal, unit) == pytest.approx(si, rel=1e-12)


def test_a_mapping_in_toml(tmp_path):
    (tmp_path / "columns.toml").write_text(
        'rate_hz = 250\njoints = ["lift", "turn"]\nlabels = ["z", "c"]\n'
        'q = {columns = "p_{joint}", unit = ["mm", "deg"]}\n[tau]\ncolumns = ["f", "n"]\nsign = [1, -1]\n'
    )
    file = table(tmp_path / "run.csv", "p_c,p_z,f,n", [[90, 5, 1, 2], [180, 6, 3, 4]])
    log = tp.read_log(file, columns=tmp_path / "columns.toml")
    assert log.names == ("lift", "turn") and log.units == ("m", "rad")
    assert np.allclose(log.q, [[0.005, np.pi / 2], [0.006, np.pi]]) and np.allclose(log.tau, [[1, -2], [3, -4]])
    assert np.allclose(log.time, [0, 0.004])


def test_the_motor_side_keeps_power():
    """q = A theta and tau = T tau_m give tau' qd = tau_m' thetad, whatever the gears and the coupling."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 6):
        ratio, C = rng.uniform(1, 100, n) * rng.choice([-1, 1], n), rng.normal(size=(n, n)) + 3 * np.eye(n)
        A, T = Motor(tuple(ratio), tuple(map(tuple, C))).matrices(n)
        thetad, tau_m = rng.normal(size=(2, n))
        assert np.isclose((T @ tau_m) @ (A @ thetad), tau_m @ thetad, rtol=1e-9)
        assert np.allclose(A @ (ratio * thetad), C @ thetad)


def test_gears_and_currents(tmp_path):
    file = table(tmp_path / "run.csv", "t,motor_pos_1,motor_pos_2,motor_vel_1,motor_vel_2,motor_current_1,motor_current_2",
                 [[0, 100, 200, 10, 20, 1, 2], [1, 150, 250, 10, 20, 1, 2]])  # fmt: skip
    motor = {"ratio": [100, -50], "coupling": [[1, 0], [-1, 1]], "offset": [0.1, 0.2], "torque_per_ampere": [0.5, 0.25]}
    log = tp.read_log(file, columns={"motor": motor})
    # q1 = theta1/100 + .1, q2 = theta2/-50 - theta1/100 + .2; tau2 = -50 tau_m2, tau1 = 100 tau_m1 + (that of q2 by the coupling)
    assert np.allclose(log.q[0], [1.1, -4 - 1 + 0.2]) and np.allclose(log.qd[0], [0.1, -0.4 - 0.1])
    assert np.allclose(log.tau_m[0], [0.5, 0.5]) and np.allclose(log.tau[0], [50 - 25, -25])
    assert "tau = C^-T diag(ratio) tau_m" in log.notes[-1]


@pytest.mark.parametrize(
    ("coupling", "missing"),
    [
        (None, [True, False, False]),
        ([[1, 0, 0], [0, 1, 0], [-1, 0, 1]], [True, False, False]),
        ([[1, 0, 0], [-1, 1, 0], [0, 0, 1]], [True, False, False]),
        ([[1, -1, 0], [0, 1, 0], [0, 0, 1]], [True, True, False]),
    ],
)
def test_a_missing_current_is_missed_only_where_it_acts(tmp_path, coupling, missing):
    """tau = C^-T tau_m: a motor's torque acts on its own joint, and on those that its column of C^-T couples it to."""
    names = ",".join(f"motor_pos_{k},motor_current_{k}" for k in (1, 2, 3))
    file = table(tmp_path / "run.csv", f"t,{names}", [[0, 1, "nan", 2, 1, 3, 1], [1, 1, 1, 2, 1, 3, 1]])
    motor = {"torque_per_ampere": 2.0} | ({"coupling": coupling} if coupling else {})
    log = tp.read_log(file, columns={"motor": motor})
    assert np.isnan(log.tau[0]).tolist() == missing and np.isfinite(log.tau[1]).all()
    whole = np.linalg.inv(np.array(coupling or np.eye(3))).T @ np.full(3, 2.0)
    assert np.allclose(log.tau[1], whole) and np.allclose(log.tau[0][~np.array(missing)], whole[~np.array(missing)])


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_missing_column_is_missed_only_where_the_matrix_uses_it(tmp_path, value):
    file = table(tmp_path / "run.csv", "t,a,b,c", [[0, value, 2, 3], [1, 1, 2, 3]])
    matrix = [[1e-9, 0, 0], [0, 1e9, 0], [1, 0, 1], [0, 1, -1]]
    log = tp.read_log(file, columns={"q": {"columns": ["a", "b", "c"], "matrix": matrix}})
    assert np.isfinite(log.q).tolist() == [[False, True, False, True], [True] * 4]
    assert log.q[1].tolist() == (np.array(matrix) @ [1, 2, 3]).tolist()


def test_joints_in_the_order_of_the_robot(tmp_path):
    robot = tp.load("elbow2r")
    a, b = robot.joint_names
    file = table(
        tmp_path / "run.csv", f"t,q_{b},q_hand,q_{a},tau_{a},tau_{b},tau_hand", np.arange(21).reshape(3, 7) / 8
    )
    log = tp.read_log(file, robot=robot)
    assert (
        log.names == robot.joint_names
        and np.array_equal(8 * log.q[0], [3, 1])
        and np.array_equal(8 * log.tau[0], [4, 5])
    )
    assert any("order of" in note for note in log.notes)
    with pytest.raises(TaupiError, match=r"No joint .* in run.csv"):
        tp.read_log(file, robot=tp.load("puma560"))
    numbered = table(tmp_path / "two.csv", "t,q1,q2", np.arange(9).reshape(3, 3))
    assert tp.read_log(numbered, robot=robot).names == robot.joint_names
    with pytest.raises(TaupiError, match=r"two.csv has 2 joints, expected 6: "):
        tp.read_log(numbered, robot=tp.load("puma560"))
    with refused("robot", got="panda"):
        tp.read_log(numbered, robot="panda")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (3, "columns is 3, expected a mapping or the path"),
        ({"Q": "q{i}"}, "No key 'Q' in columns"),
        ({"q": 3}, "columns: q is 3, expected the name of a column"),
        ({"q": []}, "expected the name of a column"),
        ({"q": {"unit": "deg"}}, "columns: q names no columns"),
        ({"q": {"columns": "q{i}", "units": "deg"}}, "No key 'units' .*Did you mean 'unit'"),
        ({"q": {"columns": "q{i}", "unit": "degree"}}, "No unit of q 'degree'. Did you mean 'deg'"),
        ({"q": {"columns": "q{i}", "unit": "Nm"}}, "No unit of q 'Nm'"),
        ({"q": {"columns": "q{i}", "sign": 2}}, "sign is 2, expected 1 or -1"),
        ({"q": {"columns": "q{i}", "gain": "x"}}, "gain is 'x', expected a finite number"),
        ({"q": {"columns": "q{i}", "gain": [1, 2, 3]}}, "q.gain has 3 values, expected 1 or 2"),
        ({"q": {"columns": "q{i}", "matrix": [[1, 2], [3]]}}, "rows of different lengths"),
        ({"q": {"columns": "q{i}", "matrix": [[1, 2, 3]]}}, "q.matrix has 3 columns for 2 columns of the file"),
        ({"q": {"columns": "q{i}", "first": 5}}, "No column 'q5'"),
        ({"q": "q{k}"}, "No column 'q{k}'"),
        ({"q": "{i!r:x}"}, "expected a template with {i}"),
        ({"q": "p{i}"}, "No column 'p1' in run.csv. Known: t, q1, q2"),
        ({"q": "q_{joint}"}, "no joints are named. Add joints"),
        ({"q": "q{i}", "tau": ["tau1"]}, "tau has 1 columns but q has 2"),
        ({"q": "q{i}", "joints": ["a"]}, "1 joints are named but q has 2 columns"),
        ({"joints": ["a", "a"]}, "joints holds a name twice"),
        ({"joints": "ab"}, "joints is 'ab', expected a list"),
        ({"joints": ["a", "b"], "labels": ["a"]}, "1 labels for 2 joints"),
        ({"rate_hz": -1}, "rate_hz is -1, expected a finite number above 0"),
        ({"rate_hz": float("nan")}, "rate_hz is nan"),
        ({"topic": 3}, "topic is 3, expected a text"),
        ({"motor": 3}, "motor is 3, expected a mapping"),
        ({"motor": {"gear": 3}}, "No key 'gear'"),
        ({"motor": {"ratio": [1, 0]}}, "motor.ratio holds 0"),
        ({"motor": {"ratio": [1, 2, 3]}}, "motor.ratio has 3 values, expected 1 or 2"),
        ({"motor": {"coupling": [[1, 0], [0, 0]]}}, "motor.coupling has no inverse"),
        ({"motor": {"coupling": [[1]]}}, r"motor.coupling has shape \(1, 1\), expected \(2, 2\)"),
    ],
)  # fmt: skip
def test_bad_mappings(tmp_path, columns, message):
    file = table(tmp_path / "run.csv", "t,q1,q2,tau1,tau2", np.arange(15).reshape(3, 5))
    with pytest.raises(TaupiError, match=message) as caught:
        tp.read_log(file, columns=columns)
    assert "\n" not in str(caught.value)


def test_bad_mapping_files(tmp_path):
    file = table(tmp_path / "run.csv", "t,q1", [[0, 1], [1, 2]])
    for content, message in (
        (b"q = ", "is not valid TOML"),
        (b"\xff", "is not UTF-8 text"),
        (b"", "is empty"),
        (b"x = 1", "No key 'x'"),
    ):
        (tmp_path / "map.toml").write_bytes(content)
        with pytest.raises(TaupiError, match=message):
            tp.read_log(file, columns=tmp_path / "map.toml")
    with pytest.raises(TaupiError, match="No file"):
        tp.read_log(file, columns="missing.toml")
    assert Columns.of(Columns()) == Columns()


# Motors behind springs and motors driven by voltages -------------------------------------------------------------------


def flexible(tmp_path, columns, robot=None):
    t = np.arange(200) / 100
    theta, alpha = np.sin(t), 0.1 * np.cos(3 * t)
    table = np.column_stack([t, np.rad2deg(theta), np.rad2deg(alpha), 2 * t])
    path = tmp_path / "run.csv"
    np.savetxt(path, table, delimiter=",", header="t,servo_deg,bend_deg,drive_V", comments="", fmt="%.12g")
    return tp.read_log(path, robot, {"time": "t", **columns}), t, theta, alpha


SERVO = {"columns": "servo_deg", "unit": "deg"}
BOTH = {"columns": ["servo_deg", "bend_deg"], "unit": "deg", "matrix": [[1, 1]]}


def test_columns_are_added_up(tmp_path):
    log, _, theta, alpha = flexible(tmp_path, {"q": BOTH, "theta": SERVO})
    assert np.allclose(log.q[:, 0], theta + alpha, atol=1e-9) and np.allclose(log.theta[:, 0], theta, atol=1e-9)


def test_voltage_with_back_emf_is_a_torque(tmp_path):
    motor = {"ratio": 5.0, "torque_per_volt": 0.3, "volts_per_speed": 0.2}
    columns = {"q": BOTH, "theta": SERVO, "voltage": {"columns": "drive_V", "unit": "V"}, "motor": motor}
    log, t, _, _ = flexible(tmp_path, columns)
    assert np.allclose(log.tau_m[1:-1, 0], 0.3 * (2 * t - 0.2 * np.cos(t))[1:-1], atol=1e-5)  # differences of 10 ms
    assert np.allclose(log.tau, 5.0 * log.tau_m)  # by virtual work
    assert np.allclose(log.voltage[:, 0], 2 * t)


def test_without_back_emf_only_the_gain_is_needed(tmp_path):
    log, t, _, _ = flexible(tmp_path, {"q": BOTH, "voltage": "drive_V", "motor": {"torque_per_volt": 0.3}})
    assert np.allclose(log.tau[:, 0], 0.6 * t)


def test_back_emf_needs_the_motors_speed(tmp_path):
    motor = {"torque_per_volt": 0.3, "volts_per_speed": 0.2}
    with pytest.raises(tp.TaupiError, match="needs the motors' speed"):
        flexible(tmp_path, {"q": BOTH, "voltage": "drive_V", "motor": motor})
    flexible(tmp_path, {"q": BOTH})
    columns = {"time": "t", "q": BOTH, "theta": SERVO, "voltage": "drive_V", "motor": motor}
    with pytest.raises(tp.TaupiError, match="read the file whole"):
        next(iter(tp.signals.log_blocks(tmp_path / "run.csv", 50, columns=columns)))


def test_motors_of_elastic_joints_are_seen_behind_the_gears(tmp_path):
    """With both sides recorded, theta is brought to the joint and q stays; with one, it is the position and theta is gone."""
    arm = tp.Robot.from_dh([{"a": 1, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"}], links=[{"m": 1}])
    arm = arm.with_transmissions(stiffness=100, rotor_inertia=1e-4, gear_ratio=4)
    motor = {"ratio": 4.0, "offset": 0.5}
    log, _, theta, alpha = flexible(tmp_path, {"q": BOTH, "theta": SERVO, "motor": motor}, arm)
    assert np.allclose(log.theta[:, 0], theta / 4 + 0.5, atol=1e-9) and np.allclose(
        log.q[:, 0], theta + alpha, atol=1e-9
    )
    alone, _, theta, _ = flexible(tmp_path, {"theta": SERVO, "motor": motor}, arm)
    assert np.allclose(alone.q[:, 0], theta / 4 + 0.5, atol=1e-9) and alone.theta is None


@pytest.mark.parametrize(
    ("columns", "robot", "sentence"),
    [
        # A gap in the file: what comes behind it shows that it is one.
        (
            {"q": "actual_q_{i}"},
            None,
            "actual_q_3 is missing: q has actual_q_0 ... actual_q_2, and there is actual_q_4.",
        ),
        ({"q": "actual_q_{i}"}, "puma560", "actual_q_3 is missing: q has actual_q_0 ... actual_q_2"),
        ({"q": "actual_q_{i}", "tau": "tau_{i}"}, "puma560", "actual_q_3 is missing"),
        # Nothing comes behind it: the robot, or another signal, shows it.
        ({"q": "pos_{i}"}, "puma560", "pos_5 is missing: q has pos_1 ... pos_4, and puma560 has 6 joints."),
        ({"q": "tau_{i}", "tau": "pos_{i}"}, None, "pos_5 is missing: tau has pos_1 ... pos_4, and q has 6 columns."),
        ({"q": "pos_{i}", "tau": "tau_{i}"}, None, "pos_5 is missing: q has pos_1 ... pos_4, and tau has 6 columns."),
        # A list with a gap.
        ({"q": ["tau_1", "tau_2", "tau_3", "tau_5", "tau_6"]}, "puma560", "tau_4 is missing: puma560 has 6 joints"),
        # No gap: the count is all there is to say.
        ({"q": ["pos_1", "actual_q_1"]}, "puma560", "has 2 joints, expected 6"),
    ],
)
def test_a_gap_in_a_mapping_names_the_missing_column(tmp_path, columns, robot, sentence):
    names = [
        *(f"actual_q_{k}" for k in (0, 1, 2, 4, 5)),
        *(f"pos_{k}" for k in range(1, 5)),
        *(f"tau_{k}" for k in range(1, 7)),
    ]
    file = table(tmp_path / "run.csv", ",".join(["t", *names]), np.arange(3 * 16).reshape(3, 16))
    with pytest.raises(TaupiError, match=re.escape(sentence)):
        tp.read_log(file, tp.load(robot) if robot else None, columns={"time": "t", **columns})


def test_a_gap_among_guessed_columns_is_named_for_a_robot(tmp_path):
    file = table(tmp_path / "run.csv", "t,q0,q1,q2,q4,q5", np.arange(18).reshape(3, 6) / 10)
    with pytest.raises(TaupiError, match="q3 is missing: puma560 has 6 joints, and there are 5"):
        tp.read_log(file, tp.load("puma560"))
    assert tp.read_log(file).n == 5  # without a robot, nobody says that there should be six


@pytest.mark.parametrize(
    ("header", "signal", "role"),
    [
        ("Positionssollwert_2", "q", "commanded"),
        ("actpos2", "q", "measured"),
        ("qref2", "q", "commanded"),
        ("q2_d", "q", "commanded"),
        ("iqref2", "current", "commanded"),
        ("taucmd2", "tau", "commanded"),
    ],
)
def test_nouns_and_where_they_come_from_are_told_apart_if_written_together(header, signal, role):
    got = parse_header(header)
    assert (got.signal, got.role, got.label) == (signal, role, "2")


@pytest.mark.parametrize("header", ["realtime", "offset", "dataset", "contact", "reset1", "q2Velocity"])
def test_words_that_only_contain_a_noun_are_none(header):
    assert parse_header(header) is None
