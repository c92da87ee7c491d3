"""Files as people have them: each reads with the right numbers, or a sentence says what is doubtful and what to state."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pytest
from command_line import taupi

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.checking.units_found import units_found

T = np.arange(400) / 100
Q = np.stack([0.8 * np.sin(2 * T), 0.5 * np.cos(3 * T) - 0.2], axis=1)
QD = np.stack([1.6 * np.cos(2 * T), -1.5 * np.sin(3 * T)], axis=1)
TAU = np.stack([3 * np.cos(T), np.sin(2 * T)], axis=1)


def write(path, columns, separator=",", decimal=".", digits=9):
    """Write named columns as text."""
    cells = np.column_stack(list(columns.values()))
    lines = [separator.join(columns)]
    lines += [separator.join(f"{value:.{digits}g}".replace(".", decimal) for value in row) for row in cells]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def joints(template, values, first=1):
    return {template.format(i=k + first): values[:, k] for k in range(values.shape[1])}


def suggested(file, robot=None):
    """Return the log that the suggestion for a file reads, and the suggestion."""
    suggestion = tp.signals.suggest_mapping(file, robot)
    path = file.with_suffix(".toml")
    path.write_text(suggestion.text, encoding="utf-8")
    json.dumps(suggestion.to_dict())
    return tp.read_log(file, robot, columns=path), suggestion


def same(log, q=Q, tau=TAU, tolerance=1e-6):
    assert np.allclose(log.time - log.time[0], T, atol=tolerance)
    assert np.allclose(log.q, q, atol=tolerance)
    if tau is not None:
        assert np.allclose(log.tau, tau, atol=tolerance)


def headers(time, q, qd, tau, q_unit=1.0, qd_unit=1.0, first=1):
    """Return columns by templates of their names; without a unit, they are in SI."""
    named = [(q, Q * q_unit), (qd, QD * qd_unit), (tau, TAU)]
    return {
        **time,
        **{k: v for template, value in named if template for k, v in joints(template, value, first).items()},
    }


DEG, RPM = 180 / np.pi, 30 / np.pi
HEADERS = {
    "german": headers({"Zeit": T}, "Achse{i}_Position", "Achse{i}_Geschwindigkeit", "Achse{i}_Drehmoment"),
    "german units": headers({"Zeit [ms]": 1e3 * T}, "Istposition A{i} [\u00b0]", "", "Istmoment A{i} [Nm]", DEG),
    "unit words": headers({"t": T}, "q_deg{i}", "qd_rpm{i}", "tau{i}", DEG, RPM),
    "french": headers({"temps_ms": 1e3 * T}, "position_axe_{i}", "vitesse_axe_{i}", "couple_axe_{i}"),
    "japanese": headers(
        *({"\u6642\u9593[ms]": 1e3 * T}, "\u8ef8{i}\u4f4d\u7f6e[deg]", "\u8ef8{i}\u901f\u5ea6[deg/s]"),
        *("\u8ef8{i}\u30c8\u30eb\u30af", DEG, DEG),
    ),
    "chinese": headers(
        {"\u65f6\u95f4": T}, "\u5173\u8282{i}\u4f4d\u7f6e", "\u5173\u8282{i}\u901f\u5ea6", "\u5173\u8282{i}\u529b\u77e9"
    ),
    "only units": headers({"t": T}, "A{i} [deg]", "", "A{i} [Nm]", DEG),
    "two stamps": headers(
        {"stamp_sec": np.floor(T) + 1.7e9, "stamp_nanosec": np.round((T % 1) * 1e9)}, "q{i}", "", "tau{i}"
    ),
    "german currents": headers(
        *(
            {"Zeit [s]": T},
            "Achse {i} Istwinkel [Grad]",
            "Achse {i} Drehzahl [1/min]",
            "Achse {i} Moment [Nm]",
            DEG,
            RPM,
        )
    ),
    "french words": headers(
        *(
            {"Horodatage_ms": 1e3 * T},
            "Position mesur\u00e9e {i}",
            "Vitesse mesur\u00e9e {i} [tr/min]",
            "Couple {i}",
            1,
            RPM,
        )
    ),
    "kanji": headers(
        *({"\u6642\u523b": T}, "\u7b2c{i}\u8ef8\u73fe\u5728\u4f4d\u7f6e(\u5ea6)", ""),
        *("\u7b2c{i}\u8ef8\u30c8\u30eb\u30af(Nm)", DEG),
    ),
    "chinese units": headers(
        *(
            {"\u65f6\u95f4(\u6beb\u79d2)": 1e3 * T},
            "\u5173\u8282{i}\u89d2\u5ea6(\u5ea6)",
            "",
            "\u5173\u8282{i}\u529b\u77e9",
        ),
        DEG,
    ),
    "measured": headers({"t": T}, "Axis{i}.ActPos [deg]", "Axis{i}.ActVelo [deg/s]", "Axis{i}.ActTorque", DEG, DEG),
    "unitree": headers({"t": T}, "motor_state[{i}].q", "motor_state[{i}].dq", "motor_state[{i}].tau_est", first=0),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_of_many_languages_and_vendors(tmp_path, kind):
    columns, separator = HEADERS[kind], ";" if "german" in kind else ","
    file = write(tmp_path / "run.csv", columns, separator, "," if separator == ";" else ".", digits=15)
    log = tp.read_log(file)
    same(log)
    if len(columns) > 6:
        assert np.allclose(log.qd, QD, atol=1e-6)
    again, suggestion = suggested(file)
    same(again)
    assert suggestion.missing == () and {s.signal for s in suggestion.signals} >= {"time", "q", "tau"}
    same(tp.read_log(file, tp.load("elbow2r")))


def test_commands_are_commands_and_the_controllers_model_is_no_measurement(tmp_path):
    """Desired columns never become measurements: LeRobot's action, Soll, q_d, cmd."""
    for measured, commanded in (
        ("observation.state.joint_{i}.pos", "action.joint_{i}.pos"),
        ("Istposition A{i}", "Sollposition A{i}"),
        ("state.q[{i}]", "state.q_d[{i}]"),
        ("actual_q_{i}", "target_q_{i}"),
        ("observation.state.actual_q_{i}", "action.target_q_{i}"),
    ):
        file = write(tmp_path / "run.csv", {"t": T, **joints(commanded, Q + 0.1), **joints(measured, Q)}, ";")
        log = tp.read_log(file)
        assert np.allclose(log.q, Q, atol=1e-6) and np.allclose(log.qdes, Q + 0.1, atol=1e-6) and log.n == 2
        again, _ = suggested(file)
        assert np.allclose(again.qdes, log.qdes)


def test_libfranka(tmp_path):
    """Time is in milliseconds, and blanks follow commas; qd then is dq/dt."""
    columns = {"time": 1e3 * T, "success_rate": 1 + 0 * T}
    for name, value in (
        ("q", Q),
        ("q_d", Q + 1e-3),
        ("dq", QD),
        ("dq_d", QD),
        ("tau_J", TAU),
        ("tau_ext_hat_filtered", 0 * TAU),
    ):
        columns |= joints(f" state.{name}[{{i}}]", value, 0)
    columns |= joints(" cmd.tau_J_d[{i}]", TAU, 0)
    file = write(tmp_path / "log.csv", columns, digits=12)
    log = tp.read_log(file)
    same(log)
    assert np.allclose(log.qd, QD, atol=1e-6) and np.allclose(log.qdes, Q + 1e-3, atol=1e-6)
    assert any("behind the gears" in note for note in log.notes) and not tp.check_log(log).of("disagrees")
    again, suggestion = suggested(file)
    same(again)
    assert 'unit = "ms"' in suggestion.text


def test_ur_rtde(tmp_path):
    columns = {"timestamp": 5 + T, **joints("target_q_{i}", Q, 0), **joints("target_moment_{i}", TAU, 0)}
    columns |= {
        **joints("actual_q_{i}", Q, 0),
        **joints("actual_qd_{i}", QD, 0),
        **joints("actual_current_{i}", TAU, 0),
    }
    log = tp.read_log(write(tmp_path / "rtde.csv", columns, " "))
    assert np.allclose(log.current, TAU, atol=1e-6) and log.tau is None and np.allclose(log.qdes, Q, atol=1e-6)
    assert any("the controller's own model, not a measurement: target_moment_0" in note for note in log.notes)


def test_kuka_rsi(tmp_path):
    columns = {"IPOC": 12345 + 1e3 * T, **joints("AIPos_A{i}", np.degrees(Q)), **joints("MACur_A{i}", 30 * TAU)}
    log = tp.read_log(write(tmp_path / "rsi.csv", columns, digits=12))
    same(log, tau=None)
    assert log.tau is None and log.current is None and any("A per %" in note for note in log.notes)


def test_a_mapping_adds_controllers(tmp_path):
    file = write(tmp_path / "cell.csv", {"Takt": 1e3 * T, **joints("X{i}_i", np.degrees(Q)), **joints("X{i}_m", TAU)})
    cell = {
        "time": {"columns": "Takt", "unit": "ms"},
        "q": {"columns": "X{i}_i", "unit": "deg"},
        "tau": "X{i}_m",
        "note": "cell 3",
    }
    log = tp.read_log(file, columns={"controllers": {"cell": cell}})
    same(log)
    assert "cell 3" in log.notes
    other = write(tmp_path / "other.csv", {"t": T, **joints("q{i}", Q), **joints("tau{i}", TAU)})
    same(tp.read_log(other, columns={"controllers": {"cell": cell}}))  # the columns of others are guessed
    for wrong in ({"tau": "X{i}"}, {"q": "X{i}", "when": "q"}, {"q": "X{i}", "left_out": 3}, 5):
        with pytest.raises(tp.TaupiError, match=r"controllers\.cell"):
            tp.read_log(file, columns={"controllers": {"cell": wrong}})


def test_an_imu_is_not_a_joint(tmp_path):
    axes = {f"{name}_{axis}": np.sin(T) for name in ("acc", "gyro") for axis in "xyz"}
    file = write(tmp_path / "imu.csv", {"t": T, **joints("q{i}", Q), **joints("tau{i}", TAU), **axes})
    log = tp.read_log(file)
    same(log)
    assert log.qdd is None and any("not of a joint: acc_x" in note for note in log.notes)
    text = suggested(file)[1].text
    assert '# a = ["acc_x", "acc_y", "acc_z"]' in text and '# w = ["gyro_x", "gyro_y", "gyro_z"]' in text


def test_ticks_of_a_servo_are_named_in_every_signal(tmp_path):
    """Positions of 1449 to 2648 rad and currents of 100 A were read without a word."""
    ticks, speeds = np.round(2048 + Q * 4096 / (2 * np.pi)), np.round(QD * 30 / np.pi / 0.229)
    columns = {"t": T, **joints("j{i}_present_position", ticks), **joints("j{i}_present_velocity", speeds)}
    columns |= joints("j{i}_present_current", np.round(30 * TAU))
    file = write(tmp_path / "dxl.csv", columns)
    report = tp.check_log(tp.read_log(file))
    assert "q in dxl_tick and qd in dxl_tick" in report.of("disagrees")[0].message
    assert "as the servo sends them?" in report.of("unit")[0].message
    log, suggestion = suggested(file)
    assert np.abs(log.q - np.pi - Q).max() < 1e-3 and np.abs(log.qd - QD).max() < 0.013
    assert 'Then unit = "dxl_tick"' in suggestion.text


# Units that follow from the numbers ----------------------------------------------------------------------------------

UNITS = {
    "velocity in degrees": (T, Q, np.degrees(QD), {"qd": "deg/s"}),
    "velocity in rpm": (T, Q, QD * 30 / np.pi, {"qd": "rpm"}),
    "position in degrees": (T, np.degrees(Q), QD, {"q": "deg"}),
    "milliseconds": (1e3 * T / 3, Q, 3 * QD, {"time": "ms"}),
    "degrees and rpm": (T, np.degrees(Q), QD * 30 / np.pi, {"q": "deg", "qd": "rpm"}),
    "ticks": (T, 2048 + Q * 4096 / (2 * np.pi), QD, {"q": "dxl_tick"}),
}


@pytest.mark.parametrize("kind", UNITS)
def test_a_unit_follows_from_the_derivative(tmp_path, kind):
    t, q, qd, units = UNITS[kind]
    if "ticks" in kind:
        q = np.round(q)
    log = tp.Log(t, q, qd=qd, tau=TAU)
    (found,) = [unit for unit in units_found(log) if unit.certain]
    assert found.units == units
    (finding,) = tp.check_log(log).of("disagrees")
    assert all(f"{signal} in {unit}" in finding.message for signal, unit in units.items())
    file = write(tmp_path / "run.csv", {"t": t, **joints("q{i}", q), **joints("qd{i}", qd)}, digits=12)
    read, suggestion = suggested(file)
    assert np.allclose(read.qd, QD * (3 if kind == "milliseconds" else 1), atol=1e-6)
    assert {s.signal: s.unit for s in suggestion.signals if s.unit} == units
    arm = tp.load("elbow2r")
    if kind == "milliseconds":
        with pytest.raises(tp.TaupiError, match="unit = 'ms'"):
            tp.identify(arm, log, terms=(), cutoff_hz=5)
        return
    with pytest.warns(tp.TaupiWarning, match=next(iter(units.values()))):
        fit = tp.identify(arm, log, terms=(), cutoff_hz=5)
    assert any(note.partition(": ")[2].startswith("units: ") for note in fit.notes)


@pytest.mark.parametrize(
    ("signal", "value", "unit", "words"),
    [
        ("q", np.degrees(Q), "deg", "degrees?"),
        ("q", np.round(2048 + 900 * Q), "dxl_tick", "whole numbers"),
        ("current", 1000 * TAU, "mA", "milliamperes?"),
    ],
)
def test_implausible_ranges_are_named(tmp_path, signal, value, unit, words):
    log = tp.Log(T, **{"q": Q, signal: value})
    (finding,) = tp.check_log(log).of("unit")
    assert words in finding.message
    file = write(
        tmp_path / "run.csv",
        {"t": T, **joints("q{i}", log.q), **({} if signal == "q" else joints("current_{i}", value))},
    )
    assert f'unit = "{unit}"' in suggested(file)[1].text


def test_units_that_are_right_are_not_doubted():
    assert not list(units_found(tp.Log(T, Q, qd=QD, tau=TAU, current=TAU)))
    turning = tp.Log(T, np.stack([50 * T, T], axis=1), units=("rad", "m"))
    assert [unit.channel for unit in units_found(turning)] == ["q of j1"]
    rng = np.random.default_rng(0)
    assert not list(units_found(tp.Log(T, Q, qd=rng.normal(size=Q.shape))))  # no factor makes these agree


# Servos ---------------------------------------------------------------------------------------------------------------


def test_servo_ticks_and_duties(tmp_path):
    """4096 ticks per turn; Feetech's load has its sign in bit 10, Dynamixel's numbers are two's complements."""
    ticks, load = np.round(2048 + Q * 4096 / (2 * np.pi)), np.round(200 * TAU)
    sent = np.where(load < 0, 1024 - load, load)
    columns = {"t": T, **joints("j{i}_present_position", ticks), **joints("j{i}_load", sent)}
    columns |= joints("j{i}_present_current", np.where(load < 0, load + 65536, load))
    file = write(tmp_path / "servo.csv", columns, digits=12)
    mapping = {
        "time": "t",
        "q": {"columns": "j{i}_present_position", "unit": "sts_tick", "offset": -np.pi},
        "voltage": {"columns": "j{i}_load", "unit": "sts_tick", "gain": 12},
        "current": {"columns": "j{i}_present_current", "unit": "dxl_tick"},
    }
    log = tp.read_log(file, columns=mapping)
    assert np.abs(log.q - Q).max() <= np.pi / 4096 + 1e-9
    assert np.allclose(log.voltage, 12e-3 * load) and np.allclose(log.current, 2.69e-3 * load)
    with pytest.raises(
        tp.TaupiError, match=r"voltage: percent is a duty, a share of the supply voltage\. State the supply"
    ):
        tp.read_log(file, columns={**mapping, "voltage": {"columns": "j{i}_load", "unit": "percent"}})


# Runs -----------------------------------------------------------------------------------------------------------------


def two_runs(tmp_path, **more):
    """Two episodes that start elsewhere, at 100 Hz: time restarts in the second."""
    q, tau = np.vstack([Q, Q[::-1] + 0.7]), np.vstack([TAU, TAU[::-1]])
    columns = {"timestamp": np.tile(T, 2), **joints("q{i}", q), **joints("tau{i}", tau), **more}
    return write(tmp_path / "runs.csv", columns, digits=15)


@pytest.mark.parametrize("name", ["episode_index", "segment", "Demo"])
def test_runs_are_logs_of_their_own(tmp_path, name):
    file = two_runs(tmp_path, **{name: np.repeat([3, 4], len(T))})
    log = tp.read_log(file)
    assert len(log.runs()) == 2 and log.seams.tolist() == [400] and log.rate_hz == pytest.approx(100)
    same(log.runs()[0])
    assert np.allclose(log.runs()[1].q, Q[::-1] + 0.7, atol=1e-9) and len(log.segments()) == 2
    assert tp.check_log(log).kinds == tp.check_log(log.runs()[0]).kinds  # no step backwards, no jump
    with pytest.raises(tp.TaupiError, match="several runs"):
        tp.prepare(log, cutoff_hz=5)
    back = tmp_path / "back.parquet"
    tp.write_log(log, back)
    assert np.array_equal(tp.read_log(back).segment, log.segment)


def test_a_fit_of_a_file_of_runs_is_that_of_its_runs(tmp_path):
    arm, t = tp.load("elbow2r"), np.arange(1500) / 100
    logs = []
    for k in range(2):
        w = np.array([1.0 + 0.3 * k, 1.7])
        q, qd, qdd = np.sin(w * t[:, None] + k), w * np.cos(w * t[:, None] + k), -w * w * np.sin(w * t[:, None] + k)
        tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(k).normal(0, 0.1, q.shape)
        logs.append(tp.Log(t, q, tau=tau, names=arm.joint_names))
    joined = tp.Log(
        np.tile(t, 2), np.vstack([log.q for log in logs]), tau=np.vstack([log.tau for log in logs]),
        names=arm.joint_names, segment=np.repeat([0, 1], len(t)),
    )  # fmt: skip
    tp.write_log(joined, tmp_path / "runs.npz")
    want = tp.identify(arm, logs, terms=(), cutoff_hz=5)
    for source in (joined, tmp_path / "runs.npz"):
        fit = tp.identify(arm, source, terms=(), cutoff_hz=5)
        assert np.allclose(fit.values, want.values, rtol=1e-12)
        whole, parts = fit.validate(source), [fit.validate(log) for log in logs]
        assert np.allclose(whole.predicted, np.concatenate([part.predicted for part in parts]))
        assert (np.diff(whole.time) > 0).all()
    streamed = tp.identify(arm, tmp_path / "runs.npz", terms=(), cutoff_hz=5, stream=True, block=500)
    assert np.allclose(streamed.values, want.values, rtol=1e-9)
    part = tp.identify(arm, tmp_path / "runs.npz", terms=(), cutoff_hz=5, stream=True, block=500, rows=(200, 2500))
    own = [logs[0].rows(slice(200, None)), logs[1].rows(slice(0, 1000))]
    assert np.allclose(part.values, tp.identify(arm, own, terms=(), cutoff_hz=5).values, rtol=1e-9)


@pytest.mark.parametrize(
    ("encoding", "title", "time", "position", "torque", "remark"),
    [
        ("cp1252", "Windows-1252", "Zeit", "Istposition A{i} [°]", "Istmoment A{i} [Nm]", "läuft"),
        ("cp932", "Shift JIS", "時間", "関節{i}角度[度]", "関節{i}トルク[Nm]", "表示"),
        ("gb18030", "GB 18030", "时间", "关节{i}位置(度)", "关节{i}力矩(Nm)", "运行"),
    ],
)
def test_text_in_an_older_encoding(tmp_path, encoding, title, time, position, torque, remark):
    """As spreadsheets and controllers save it: read by the words in it, and said to be; what no encoding reads is refused."""
    columns = {time: T, **joints(position, np.degrees(Q)), **joints(torque, TAU)}
    file = write(tmp_path / "run.csv", columns, ";", digits=12)
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_bytes("\n".join([f"{lines[0]};mode", *(f"{line};{remark}" for line in lines[1:])]).encode(encoding))
    log = tp.read_log(file)
    same(log)
    assert any(title in note for note in log.notes)
    assert np.array_equal(np.concatenate([b.q for b in tp.signals.log_blocks(file, 150)]), log.q)
    same(suggested(file)[0])
    file.write_bytes(b"t;q1;\x81\n1;2;3\n2;3;4\n")
    with pytest.raises(TaupiError, match="Save it as UTF-8"):
        tp.read_log(file)


@pytest.mark.parametrize(
    ("encoding", "command", "actual", "torque"),
    [
        ("cp932", "指令位置{i}(rad)", "位置{i}(rad)", "トルク{i}(Nm)"),
        ("gb18030", "目标位置{i}(rad)", "实际位置{i}(rad)", "力矩{i}(Nm)"),
        ("cp1252", "Sollposition A{i} [°]", "Istposition A{i} [°]", "Istmoment A{i} [N·m]"),
    ],
)
def test_units_in_ascii_do_not_hide_the_encoding(tmp_path, encoding, command, actual, torque):
    """Any encoding has headers with units: the one in which their other words mean something tells commands from positions."""
    scale = 180 / np.pi if "°" in command else 1.0
    columns = {"time": T, **joints(command, scale * (Q + 1)), **joints(actual, scale * Q), **joints(torque, TAU)}
    file = write(tmp_path / "run.csv", columns, digits=12)
    file.write_bytes(file.read_text(encoding="utf-8").encode(encoding))
    log = tp.read_log(file)
    same(log)
    assert np.allclose(log.qdes, Q + 1)


def test_damaged_utf_8_is_not_another_encoding(tmp_path):
    """Any bytes are text in some encoding, in which units of UTF-8 are no units: degrees must not become radians."""
    columns = {"time": T, **joints("q{i} [°]", np.degrees(Q)), **joints("tau{i} [N·m]", TAU)}
    file = write(tmp_path / "run.csv", columns, digits=12)
    for damage in (b"# \xff\n", b"# caf\xe9\n"):
        (tmp_path / "damaged.csv").write_bytes(damage + file.read_bytes())
        with pytest.raises(TaupiError, match="is not UTF-8 text"):
            tp.read_log(tmp_path / "damaged.csv")


def test_a_comment_behind_the_mark_of_utf_8_is_a_comment(tmp_path):
    """An editor that saves our own log with the mark does not lose its mapping."""
    file = tmp_path / "run.csv"
    tp.write_log(tp.Log(T, Q, tau=TAU, units=("m", "rad"), notes=("by hand",)), file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    log = tp.read_log(file)
    same(log)
    assert log.units == ("m", "rad") and "by hand" in log.notes


def test_bytes_far_down_that_the_encoding_does_not_have_are_an_error_in_one_sentence(tmp_path):
    rows = "".join(f"{k},1,2\n" for k in range(500))
    file = tmp_path / "run.csv"
    file.write_bytes(f"time,q1 [°],tau1\n{rows}".encode("cp1252") + b"500,1,\x81\n")
    with pytest.raises(TaupiError, match="line 502"):
        tp.read_log(file)


def test_a_unit_that_numbers_contradict_is_questioned_in_the_suggestion(tmp_path):
    """The header says radians, and q' = qd holds in degrees: the unit stays as stated, with a question."""
    velocities = joints("qd{i} [rad/s]", QD)
    file = write(
        tmp_path / "run.csv", {"t [s]": T, **joints("q{i} [rad]", np.degrees(Q)), **velocities, **joints("tau{i}", TAU)}
    )
    units = {s.signal: (s.unit, "deg" in s.question) for s in tp.signals.suggest_mapping(file).signals}
    assert units["q"] == ("rad", True) and units["qd"] == ("rad/s", False) and units["time"] == ("s", False)
    write(file, {"t [s]": 1e3 * T, **joints("q{i} [rad]", Q), **velocities, **joints("tau{i}", TAU)})
    units = {s.signal: (s.unit, '"ms"' in s.question) for s in tp.signals.suggest_mapping(file).signals}
    assert units["time"] == ("s", True) and units["q"] == ("rad", False)


def test_motors_behind_gears_turn_far_in_radians(tmp_path):
    """Eighty radians of a motor ask for no unit, those of a joint do, and whole numbers of either may be ticks."""
    q = 100 * Q
    assert not list(units_found(tp.Log(T, Q, theta=q)))
    assert [found.units for found in units_found(tp.Log(T, q))] == [{"q": "deg"}]
    assert [found.units for found in units_found(tp.Log(T, Q, theta=np.round(40 * q)))] == [{"theta": "dxl_tick"}]


def test_what_drives_of_machines_call_their_torques(tmp_path):
    columns = {"Zeit": T, **joints("Lageistwert_{i}", Q), **joints("Drehzahlistwert_{i}", QD)}
    columns |= {**joints("Momentenistwert_{i}", TAU), **joints("Momentensollwert_{i}", TAU + 1)}
    same(tp.read_log(write(tmp_path / "drive.csv", columns, ";", digits=12)))
    columns = {
        "time": T,
        **joints("q_meas_{i}", Q, 0),
        **joints("dq_meas_{i}", QD, 0),
        **joints("tau_meas_{i}", TAU, 0),
    }
    same(tp.read_log(write(tmp_path / "arm.csv", columns | joints("tau_J_d_{i}", TAU + 1, 0), digits=12)))


def test_runs_without_a_number_are_seen_by_their_jump(tmp_path):
    q = np.vstack([Q, Q[::-1] + 0.7])
    log = tp.Log(np.arange(800) / 100, q, tau=np.vstack([TAU, TAU]))
    (finding,) = tp.check_log(log).of("jump")
    assert finding.rows == ((400, 400),)
    with pytest.raises(tp.TaupiError, match=r"jumps from .* in row 400, as no motion does.*segment"):
        tp.identify(tp.load("elbow2r"), log, terms=(), cutoff_hz=5)
    spike, wrap = Q.copy(), (np.cumsum(np.full((400, 2), 0.05), axis=0) + np.pi) % (2 * np.pi)
    spike[200] += 2
    for harmless in (Q, spike, wrap, np.round(Q, 2)):
        assert not tp.check_log(tp.Log(T, harmless)).of("jump")


def test_the_command_line_says_the_same(tmp_path):
    file = write(tmp_path / "run.csv", {"t": T, **joints("q{i}", Q), **joints("qd{i}", np.degrees(QD))}, digits=12)
    assert "as it is with qd in deg/s" in taupi("log", file).stdout
    result = taupi("log", file, "--suggest", tmp_path / "columns.toml", "--json")
    data = json.loads(result.stdout)
    assert [s["signal"] for s in data["signals"]] == ["time", "q", "qd"] and data["signals"][2]["unit"] == "deg/s"
    assert "deg/s" not in taupi("log", file, "--columns", tmp_path / "columns.toml").stdout


def test_samples_that_are_missing_are_no_second_run():
    """A step along the motion of all joints is motion that was missed: the verdict names it, and the log is not refused."""
    kept = np.ones(len(T), dtype=bool)
    for row in (80, 150, 240, 310):
        kept[row : row + 12] = False
    log = tp.Log(T[: kept.sum()], Q[kept], tau=TAU[kept])
    assert not tp.check_log(log).of("jump")
    turned = Q[kept][:, ::-1] * [1, -1]  # but half of it from another motion is one
    other = np.where(np.arange(len(log))[:, None] < 100, Q[kept], turned + 1.5)
    assert tp.check_log(tp.Log(log.time, other)).of("jump")


def test_two_runs_in_one_direction_are_no_missing_samples():
    """The step from one to the other lies along both by chance; as many samples as it would take do not go that way."""
    t = np.arange(3000) / 200

    def motion(phase):
        w, a = np.array([1.3, 2.1]), np.array([0.9, 0.7])
        return a * np.sin(w * t[:, None] + phase) + 0.3 * np.sin(3.1 * t[:, None] + phase)

    log = tp.Log(np.arange(6000) / 200, np.vstack([motion(0), motion(1.5)]))
    assert tp.check_log(log).of("jump")[0].rows == ((3000, 3000),)


def test_columns_of_text_are_no_signals(tmp_path):
    """Whatever their names say: modes, states, remarks. Yes and no are numbers, and so are date and time of day."""
    start = datetime.datetime(2026, 5, 1, 23, 59, 58)
    stamps = {
        "date": [start + datetime.timedelta(seconds=t) for t in T.tolist()],
        "zone": [start.replace(tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=t) for t in T.tolist()],
        "clock": [(start.replace(hour=11) + datetime.timedelta(seconds=t)).time() for t in T.tolist()],
    }
    for kind, values in stamps.items():
        lines = ["Zeitstempel,torque_mode,position_control,enabled,q1,q2,tau1,tau2"]
        for k, stamp in enumerate(values):
            row = [stamp.isoformat(timespec="microseconds"), "auto", "on", "true" if k else "false", *Q[k], *TAU[k]]
            lines.append(",".join(map(str, row)))
        file = tmp_path / f"{kind}.csv"
        file.write_text("\n".join(lines) + "\n")
        log = tp.read_log(file)
        same(log)
        assert log.signals["enabled"][0, 0] == 0 and log.signals["enabled"][1:].all()
        assert "left out, as they hold text: torque_mode, position_control" in log.notes
        again, suggestion = suggested(file)
        same(again)
        assert suggestion.left_out["as they hold text"] == ("torque_mode", "position_control")
        whole = np.concatenate([block.time for block in tp.signals.log_blocks(file, size=70)])
        assert np.array_equal(whole, log.time)
    lines[200] = lines[200].replace(",on,", ",1,").replace("11:", "noon ")
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(tp.TaupiError, match=r"line 201: Zeitstempel is 'noon .*expected"):
        tp.read_log(file)


def test_runs_may_be_called_by_text(tmp_path):
    lines = ["t,episode,q1,q2"] + [f"{T[k]},{'abc'[k // 150]}x,{Q[k, 0]},{Q[k, 1]}" for k in range(len(T))]
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    log = tp.read_log(tmp_path / "run.csv")
    assert [len(run) for run in log.runs()] == [150, 150, 100]
    blocks = list(tp.signals.log_blocks(tmp_path / "run.csv", size=64))
    assert np.array_equal(np.concatenate([block.segment for block in blocks]), log.segment)


def test_rostopic_echo(tmp_path):
    """ROS 1 as rostopic echo -p writes it: names in the rows, stamps in ns, a heading that begins with %."""
    stamp = np.round(1e9 * T) + 1.7e18
    columns = {"%time": stamp, "field.header.seq": T, "field.header.stamp": stamp, "field.header.frame_id": None}
    columns |= {"field.name0": None, "field.name1": None, **joints("field.position{i}", Q, 0)}
    columns |= {**joints("field.velocity{i}", QD, 0), **joints("field.effort{i}", TAU, 0)}
    lines = [",".join(columns)]
    lines += [",".join("hip" if v is None else f"{v[k]:.19g}" for v in columns.values()) for k in range(len(T))]
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    same(tp.read_log(tmp_path / "run.csv"))


def test_shares_of_a_rated_torque_are_no_torques(tmp_path):
    for name in ("torque{i}_percent", "Axis{i}.Torque Actual Value [0.1%]", "Moment A{i} [%]"):
        file = write(tmp_path / "run.csv", {"t": T, **joints("q{i}", Q), **joints(name, 100 * TAU)}, ";")
        with pytest.raises(tp.TaupiError, match="is tau, with the unit per"):
            tp.read_log(file)
        log, suggestion = suggested(file)
        assert log.tau is None and "state its unit" in suggestion.missing[0]
        file.with_suffix(".toml").write_text(
            suggestion.text.replace("# tau =", "tau =").replace("1.0, 1.0", "0.01, 0.01")
        )
        same(tp.read_log(file, columns=file.with_suffix(".toml")))


def test_degrees_of_both_are_asked_for_together(tmp_path):
    """Positions and velocities that agree are in degrees both, or neither is."""
    log = tp.Log(T, 30 * np.degrees(Q), qd=30 * np.degrees(QD))
    (found,) = units_found(log)
    assert found.units == {"q": "deg", "qd": "deg/s"} and not found.certain
    ticks = tp.Log(T, np.round(2048 + 652 * Q), current=np.round(329 * TAU))
    assert [unit.units for unit in units_found(ticks)] == [{"q": "dxl_tick"}, {"current": "dxl_tick"}]


def test_what_was_commanded_is_never_offered_as_a_torque(tmp_path):
    columns = {"Zeit": T, **joints("Achse{i}_Ist", Q), **joints("Achse{i}_Soll", Q), **joints("Achse{i}_Mx", TAU)}
    file = write(tmp_path / "run.csv", columns, ";")
    suggestion = tp.signals.suggest_mapping(file, tp.load("elbow2r"))
    offered = {column.name: column.could_be for column in suggestion.columns}
    assert offered["Achse1_Ist"] == offered["Achse2_Mx"] == ("q", "tau") and offered["Achse1_Soll"] == ("qdes",)
    assert '# q = "Achse{i}_Ist"' in suggestion.text and '# tau = "Achse{i}_Soll"' not in suggestion.text
    assert "no torque and no current was recognised" in suggestion.remarks[0]
    with pytest.raises(tp.TaupiError, match="no joint signal is known"):
        tp.read_log(file)
    columns["Achse1_Moment"], columns["Achse2_Moment"] = TAU.T
    with pytest.raises(tp.TaupiError, match="the headers name tau, but no positions"):
        tp.read_log(write(file, columns, ";"))


def test_the_mapping_that_a_person_makes_of_columns(tmp_path):
    """What is changed column by column becomes TOML that reads: another order, units, arrays and parts of them."""
    file = write(tmp_path / "run.csv", {"Uhr": 1e3 * T, "b": np.degrees(Q[:, 1]), "a": np.degrees(Q[:, 0])}, digits=15)
    meant = {"Uhr": ("time", "", "ms"), "b": ("q", "elbow", "deg"), "a": ("q", "shoulder", "deg")}

    def made(columns):
        return [replace(c, signal=meant[c.name][0], joint=meant[c.name][1], unit=meant[c.name][2]) for c in columns]

    text = tp.signals.mapping_text(made(tp.signals.suggest_mapping(file).columns), ("shoulder", "elbow"))
    (tmp_path / "columns.toml").write_text(text)
    log = tp.read_log(file, tp.load("elbow2r"), tmp_path / "columns.toml")
    same(log, tau=None)
    with pytest.raises(tp.TaupiError, match="q of elbow is given by two columns"):
        tp.signals.mapping_text(
            [replace(c, signal="q", joint="elbow") for c in tp.signals.suggest_mapping(file).columns]
        )
    np.savez(tmp_path / "run.npz", t=T, state=np.column_stack([Q, TAU]))
    columns = tp.signals.suggest_mapping(tmp_path / "run.npz").columns
    columns = [replace(c, signal=("q", "q", "tau", "tau")[c.place]) if c.name == "state" else c for c in columns]
    (tmp_path / "columns.toml").write_text(tp.signals.mapping_text(columns))
    same(tp.read_log(tmp_path / "run.npz", columns=tmp_path / "columns.toml"))
    same(tp.read_log(tmp_path / "run.npz", columns={"time": "t", "q": "state[0:2]", "tau": ["state[2:4]"]}))
    with pytest.raises(tp.TaupiError, match="has 4 numbers, counted from 0"):
        tp.read_log(tmp_path / "run.npz", columns={"time": "t", "q": "state[3:5]"})


def test_nothing_goes_from_one_run_to_the_next(tmp_path):
    """A log of two runs is its runs one by one, wherever logs are taken; a stream of two that nothing numbers is refused."""
    arm, w = tp.load("elbow2r"), np.array([1.3, 2.1])

    def motion(samples, phase):
        t = np.arange(samples)[:, None] / 200
        q, qd, qdd = np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase)
        noise = 0.02 * np.random.default_rng(samples).normal(size=q.shape)
        return t[:, 0], q, tp.inverse_dynamics(arm)(q, qd, qdd) + noise

    (t, q, tau), (t2, q2, tau2) = motion(3000, 0), motion(2000, 1.5)
    runs = {"q": np.vstack([q, q2]), "tau": np.vstack([tau, tau2]), "names": arm.joint_names}
    log = tp.Log(np.append(t, t2), **runs, segment=np.repeat([0, 1], [3000, 2000]))
    fit = tp.identify(arm, log, terms=(), cutoff_hz=10)
    assert np.array_equal(fit.values, tp.identify(arm, list(log.runs()), terms=(), cutoff_hz=10).values)
    observer = tp.momentum_observer(arm)
    alone = [observer.external_torque(run) for run in log.runs()]
    assert np.array_equal(observer.external_torque(log), np.vstack(alone))
    with pytest.raises(tp.TaupiError, match="holds several runs"):
        observer.log_signals(log)
    detector, other = observer.calibrated(log), observer.calibrated(list(log.runs()))
    assert np.array_equal(detector.thresholds.torques, other.thresholds.torques) and not detector.contacts(log)
    weighed = [tp.identify_payload(fit, logs) for logs in (log, list(log.runs()))]
    assert repr(weighed[0]) == repr(weighed[1])
    tp.write_log(tp.Log(np.arange(5000) / 200, **runs), tmp_path / "joined.parquet")
    for block in (700, 3000):
        with pytest.raises(tp.TaupiError, match=r"joined\.parquet: q of .* jumps .* in row 3000"):
            tp.identify(arm, tmp_path / "joined.parquet", terms=(), cutoff_hz=10, stream=True, block=block)


def test_what_takes_a_fit_or_a_log_takes_several_runs(tmp_path):
    """Predictions, targets, fleets and the command line of a file of runs are those of its runs one by one."""
    arm, t, w = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3]), np.arange(1500) / 100, np.array([1.0, 1.7])

    def run(phase):
        q, qd, qdd = (f(w * t[:, None] + phase) * w**k for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x))))
        tau = tp.inverse_dynamics(arm, terms=("viscous",))(q, qd, qdd)
        noise = 0.05 * np.random.default_rng(int(10 * phase)).normal(size=q.shape)
        return tp.Log(t, q, tau=tau + noise, names=arm.joint_names)

    logs = [run(0.0), run(1.5)]
    joined = tp.Log(
        np.tile(t, 2), np.vstack([log.q for log in logs]), tau=np.vstack([log.tau for log in logs]),
        names=arm.joint_names, segment=np.repeat([0, 1], len(t)),
    )  # fmt: skip
    settings = {"terms": ("viscous",), "cutoff_hz": 5}
    fit = tp.identify(arm, logs, **settings)
    assert np.array_equal(fit.predict(joined), np.vstack([fit.predict(log) for log in logs]))
    written = tp.export(fit, tmp_path / "arm", target="mujoco")
    seen = [tp.bridges.check_export(written, log) for log in (joined, *logs)]
    whole, *parts = ([c.fit.predicted, c.others["mujoco"].predicted] for c in seen)
    assert all(np.array_equal(each, np.vstack(own)) for each, own in zip(whole, zip(*parts, strict=True), strict=True))
    others = {name: [run(k)] for k, name in enumerate("bcd", 2)}
    fleets = [tp.identify_fleet(arm, {"a": a, **others}, own=("viscous",), **settings) for a in (joined, logs)]
    values = [fleet.fits["a"].values for fleet in fleets]
    assert np.array_equal(*values) and fleets[0].estimates["a"].when == (0.0, 0.0)
    tp.write_log(joined, tmp_path / "runs.csv")
    for more in ((), ("--stream", "--block", "700")):
        done = taupi("identify", "elbow2r", "runs.csv", "--terms", "viscous", "--cutoff-hz", "5", "-o", "out",
                     "--force", *more, cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert np.allclose(tp.load_fit(tmp_path / "out").values, fit.values, rtol=1e-9)
    found = json.loads(taupi("contacts", "out", "runs.csv", "--json", cwd=tmp_path).stdout)
    assert list(found["contacts"]) == ["runs.csv, run 1", "runs.csv, run 2"]


def test_angles_that_start_again_after_a_turn_go_on(tmp_path):
    """As encoders of one turn count them, 0 .. 360 degrees: they are named, and go on if the mapping says so, streamed or not."""
    q = np.cumsum(np.full((400, 2), [0.05, -0.11]), axis=0) + np.sin(T)[:, None]
    file = write(
        tmp_path / "run.csv", {"t": T, **joints("q{i}_deg", np.degrees(q) % 360), **joints("tau{i}", TAU)}, digits=15
    )
    log = tp.read_log(file)
    found = tp.check_log(log).of("wraps")
    assert [f.channel for f in found] == ["q of 1", "q of 2"] or [f.channel for f in found] == ["q of j1", "q of j2"]
    assert found[0].count == np.count_nonzero(np.abs(np.diff(log.q[:, 0])) > 3)
    columns = {"time": "t", "q": {"columns": "q{i}_deg", "unit": "deg", "wraps": True}, "tau": "tau{i}"}
    whole = tp.read_log(file, columns=columns)
    assert np.allclose(np.diff(whole.q, axis=0), np.diff(q, axis=0)) and not tp.check_log(whole).of("wraps")
    for path in (file, tmp_path / "run.npz"):
        np.savez(tmp_path / "run.npz", t=T, **joints("q{i}_deg", np.degrees(q) % 360), **joints("tau{i}", TAU))
        blocks = tp.signals.log_blocks(path, size=37, columns=columns)
        assert np.allclose(np.concatenate([block.q for block in blocks]), whole.q, atol=1e-9)
    gap = np.degrees(q) % 360
    gap[60:64] = np.nan
    lost = tp.read_log(write(file, {"t": T, **joints("q{i}_deg", gap)}), columns={k: columns[k] for k in ("time", "q")})
    assert np.allclose(lost.q[64:], whole.q[64:], atol=1e-6)
    with pytest.raises(tp.TaupiError, match="expected it of angles only"):
        tp.read_log(file, columns={"time": "t", "q": "q{i}_deg", "tau": {"columns": "tau{i}", "wraps": True}})
    names = {
        f"actuators[{i}].{what}": value[:, i] for i in range(2) for what, value in (("position", np.degrees(q) % 360),)
    }
    kinova = tp.read_log(write(tmp_path / "kinova.csv", {"t": T, **names}, digits=15))
    assert np.allclose(np.diff(kinova.q, axis=0), np.diff(q, axis=0))


def written_as(units, line="{names}\n{units}\n", separator=",", decimal=".", behind=""):
    """Return a table in which time is in ms and positions are in degrees, as only a line beside the names says."""
    rows = np.column_stack([1e3 * T, np.degrees(Q), TAU])
    head = line.format(names=separator.join(["t", "q1", "q2", "tau1", "tau2"]), units=separator.join(units))
    cells = [separator.join(f"{value:.9f}".replace(".", decimal) for value in row) + behind for row in rows]
    return head + "\n".join(cells) + "\n"


UNITS_LINE = ["ms", "deg", "deg", "Nm", "Nm"]
HEADINGS = {
    "a line of units": written_as(UNITS_LINE),
    "units in brackets": written_as(["[ms]", "[°]", "[°]", "[N.m]", "[N.m]"]),
    "units above the names": written_as(UNITS_LINE, "{units}\n{names}\n"),
    "units in a comment": written_as(UNITS_LINE, "# {units}\n{names}\n"),
    "names and units in comments": written_as(UNITS_LINE, "# {names}\n# {units}\n"),
    "tabs and decimal commas": written_as(UNITS_LINE, separator="\t", decimal=","),
    "rows that end with a comma": written_as(UNITS_LINE, behind=","),
    "a heading that ends with a comma": written_as(UNITS_LINE, "{names},\n{units},\n"),
    "names of groups": written_as(UNITS_LINE).replace("t,q1,q2,tau1,tau2", "t,q,q,tau,tau\n,hip,knee,hip,knee"),
    "groups that are named once": written_as(UNITS_LINE).replace("t,q1,q2,tau1,tau2", "t,q,,tau,\n,hip,knee,hip,knee"),
}


@pytest.mark.parametrize("kind", HEADINGS)
def test_units_and_groups_in_lines_of_their_own(tmp_path, kind):
    file = tmp_path / "run.csv"
    file.write_text(HEADINGS[kind], encoding="utf-8")
    same(tp.read_log(file))
    same(suggested(file)[0])
    blocks = list(tp.signals.log_blocks(file, size=64))
    assert np.array_equal(np.concatenate([block.q for block in blocks]), tp.read_log(file).q)


def test_quoted_decimal_commas(tmp_path):
    file = tmp_path / "run.csv"
    lines = [",".join(f'"{value:.9f}"'.replace(".", ",") for value in row) for row in np.column_stack([T, Q, TAU])]
    file.write_text("t,q1,q2,tau1,tau2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    same(tp.read_log(file))


@pytest.mark.parametrize(
    "name, unit",
    [
        ("q{i} [0.1 deg]", "0.1 deg"),
        ("q{i} [counts]", "counts"),
        ("q{i} (1/100 °)", "1/100 °"),
    ],
)
def test_units_that_are_not_known_are_never_taken_for_others(tmp_path, name, unit):
    file = write(tmp_path / "run.csv", {"t": T, **joints(name, Q)})
    with pytest.raises(TaupiError, match="expected a unit such as") as error:
        tp.read_log(file)
    assert unit in str(error.value)


@pytest.mark.parametrize("unit", ["cycles", "h", "0.1 ms"])
def test_time_in_a_unit_that_is_not_known_is_not_taken_for_seconds(tmp_path, unit):
    with pytest.raises(TaupiError, match=f"with the unit {unit}"):
        tp.read_log(write(tmp_path / "run.csv", {f"time [{unit}]": T, **joints("q{i}", Q)}))


def test_a_row_per_joint_is_no_row_per_sample(tmp_path):
    file = tmp_path / "run.csv"
    rows = [f"{T[k]},{j + 1},{Q[k, j]},{TAU[k, j]}" for k in range(len(T)) for j in range(2)]
    file.write_text("time,joint,position,torque\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(TaupiError, match="a row per joint, which its column 'joint' names"):
        tp.read_log(file)
    assert "row per joint" in tp.signals.suggest_mapping(file).missing[0]
    assert len(tp.read_log(file, columns={"time": "time", "q": "position", "tau": "torque"})) == 2 * len(T)


def test_joints_that_one_signal_numbers_and_another_calls_by_a_letter(tmp_path):
    columns = {
        "t": T,
        **joints("Position Achse {i} [rad]", Q),
        **joints("Moment A{i} [Nm]", TAU),
        **joints("tau{i}_ff", TAU),
    }
    log = tp.read_log(write(tmp_path / "run.csv", columns))
    same(log)
    assert np.allclose(log.tau_ff, TAU, atol=1e-6)
    columns = {"t": T, **joints("q_{i}", Q), **joints("tau_friction_{i}", TAU)}
    with pytest.raises(TaupiError, match="friction_1"):
        tp.read_log(write(tmp_path / "other.csv", columns))


def test_arrays_with_time_along_their_rows(tmp_path):
    file = tmp_path / "run.npz"
    np.savez(file, t=T, q=Q.T, dq=QD.T, tau=TAU.T)
    log = tp.read_log(file)
    same(log)
    assert "transposed" in log.notes[0]
    with pytest.raises(TaupiError, match=r"ascontiguousarray of it\.T"):
        list(tp.signals.log_blocks(file, size=64))


@pytest.mark.parametrize(
    "name, content, way",
    [
        ("run.xlsx", b"PK\x03\x04", "Save it as CSV"),
        ("run.npy", b"\x93NUMPY\x01\x00", "np.savez"),
        ("run.pkl", b"\x80\x04\x95", "np.savez"),
        ("run.json", b'{"t": [0, 1], "q": [0, 1]}', "Save a table"),
        ("run.tdms", b"TDSm" + bytes(40), "npTDMS"),
        ("run.rrd", b"RRF2", "Parquet"),
    ],
)
def test_files_that_are_not_read_have_a_way_out(tmp_path, name, content, way):
    (tmp_path / name).write_bytes(content + bytes(20) * (name != "run.json"))
    with pytest.raises(TaupiError) as error:
        tp.read_log(tmp_path / name)
    assert way in str(error.value)


def test_a_slide_in_millimetres_is_named_and_units_are_stated_joint_by_joint(tmp_path):
    """A joint that turns keeps its unit beside one that slides, in what is asked and in what a mapping then reads."""
    q = np.stack([Q[:, 0], 1e3 * (0.2 + 0.1 * Q[:, 1])], axis=1)
    log = tp.Log(T, q, tau=TAU, units=("rad", "m"))
    (found,) = units_found(log)
    assert "millimetres?" in found.message and found.stated == 'q = {columns = ..., unit = ["rad", "mm"]}'
    assert not list(units_found(tp.Log(T, q * [1, 1e-3], units=("rad", "m"))))
    (turned,) = units_found(tp.Log(T, np.degrees(Q) * [1, 1e-3], units=("rad", "m")))
    assert turned.stated == 'q = {columns = ..., unit = ["deg", "m"]}'
    mapping = {"time": "t", "q": {"columns": "q{i}", "unit": ["rad", "mm"]}, "tau": "tau{i}"}
    read = tp.read_log(
        write(tmp_path / "run.csv", {"t": T, **joints("q{i}", q), **joints("tau{i}", TAU)}), columns=mapping
    )
    assert np.allclose(read.q, q * [1, 1e-3], atol=1e-6)


def test_feedback_commands_and_what_is_computed(tmp_path):
    columns = {"time": T, **joints("fb_pos_{i}", Q), **joints("cmd_pos_{i}", Q + 0.1), **joints("tau{i}", TAU)}
    columns |= {**joints("tau_ext{i}", 7 * TAU), **joints("tau_grav{i}", 3 * TAU)}
    log = tp.read_log(write(tmp_path / "run.csv", columns))
    same(log)
    assert np.allclose(log.qdes, Q + 0.1, atol=1e-6)
    state = {"t": T, **joints("motor_state[{i}].q", Q, 0), **joints("motor_state[{i}].tau_est", TAU, 0)}
    log = tp.read_log(write(tmp_path / "legs.csv", {**state, **joints("motor_cmd[{i}].q", Q - 0.1, 0)}))
    same(log)
    assert np.allclose(log.qdes, Q - 0.1, atol=1e-6)


@pytest.mark.parametrize("name", ["run", "Trial", "experiment_id", "Run No", "versuch_nr"])
def test_columns_that_number_runs_by_other_words(tmp_path, name):
    columns = {"t": np.tile(T, 2), name: np.repeat([0, 1], len(T)), **joints("q{i}", np.vstack([Q, Q + 1]))}
    first, second = tp.read_log(write(tmp_path / "run.csv", columns)).runs()
    assert np.allclose(second.q, first.q + 1, atol=1e-6)
