"""Suggested mappings: TOML that reads the file, with what it lacks said in sentences."""

import json

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.mapping.columns import Columns


def table(path, header, rows):
    path.write_text(header + "\n" + "\n".join(",".join(map(repr, map(float, r))) for r in rows) + "\n")
    return path


def suggested(file, robot=None, **reading):
    """Return the suggestion, after checking that it is TOML that a mapping may be."""
    suggestion = tp.signals.suggest_mapping(file, robot, **reading)
    path = file.with_suffix(".toml")
    path.write_text(suggestion.text)
    Columns.of(path)
    return suggestion, path


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet", ".mat"])
def test_a_suggestion_reads_the_file_as_it_would_be_guessed(tmp_path, ending):
    t = np.arange(20) / 10
    log = tp.Log(t, np.sin(t)[:, None] * [1, 2], tau=np.cos(t)[:, None] * [1, 2])
    file = tmp_path / f"run{ending}"
    tp.write_log(log, file)
    suggestion, path = suggested(file)
    assert suggestion.missing == ()
    again = tp.read_log(file, columns=path)
    assert np.array_equal(again.q, log.q) and np.array_equal(again.tau, log.tau) and np.array_equal(again.time, t)


def test_a_suggestion_chooses_among_candidates_and_names_the_others(tmp_path):
    header = "stamp_ms,q1,q2,q3,pos1,pos2,q_des_1,effort1,effort2,pressure"
    file = table(tmp_path / "run.csv", header, np.arange(50).reshape(5, 10))
    with pytest.raises(TaupiError, match="q could be"):
        tp.read_log(file)
    text = suggested(file)[0].text
    assert '\nq = "q{i}"' in text and '\n# q = "pos{i}"  # or these' in text  # the most columns
    assert "not measured: q_des_1" in text and "# Not recognised: pressure" in text
    text = suggested(file, tp.load("elbow2r"))[0].text
    assert '\nq = "pos{i}"' in text and '# joints = ["shoulder", "elbow"]' in text  # one for each joint
    log = tp.read_log(file, tp.load("elbow2r"), columns=file.with_suffix(".toml"))
    assert np.array_equal(log.q[0], [4, 5]) and log.time[1] == pytest.approx(0.01)


def test_a_suggestion_has_one_placeholder_per_joint(tmp_path):
    """So that it reads once its comments are taken away."""
    file = table(tmp_path / "run.csv", "t,q1,q2,q3,current1,current2,current3", 0.01 * np.arange(21).reshape(3, 7))
    suggestion, path = suggested(file)
    lines = [line.removeprefix("# ") for line in suggestion.text.splitlines()[3:]]
    assert 'joints = ["joint1", "joint2", "joint3"]  # in the order of the columns' in lines
    path.write_text("\n".join(lines))
    assert np.allclose(tp.read_log(file, columns=path).tau, 0.1 * tp.read_log(file, columns=path).signals["current"])


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("q1,q2,tau1,tau2", "no column of time was recognised: state rate_hz"),
        ("t,a,b,c", "no joint positions were recognised"),
        ("t,theta1,theta2,x", "only motor positions were recognised: state the gears"),
        ("t,q0,q1,q3", "q2 is missing among the columns of q."),
    ],
)
def test_a_suggestion_says_what_is_missing(tmp_path, header, sentence):
    suggestion, _ = suggested(table(tmp_path / "run.csv", header, np.arange(12).reshape(3, 4)))
    assert any(sentence in text for text in suggestion.missing)


def test_a_suggestion_wonders_about_degrees_and_milliseconds(tmp_path):
    file = table(tmp_path / "run.csv", "t,q1,q2", [[0.01 * k, 30.0 * k, 1.0] for k in range(9)])
    assert 'degrees? Then unit = "deg"' in suggested(file)[0].text
    file = table(tmp_path / "late.csv", "t,q1,q2", [[10.0 * k, 0.1 * k, 1.0] for k in range(9)])
    assert "too much for seconds" in suggested(file)[0].missing[0]


def test_a_suggestion_for_odd_names_is_toml_still(tmp_path):
    file = table(tmp_path / "run.csv", 't,q \u00fc 1,q \u00fc 2,tau{1},"tau{2}"', np.arange(15).reshape(3, 5))
    assert "q \u00fc {i}" in suggested(file)[0].text


def test_odd_names_are_offered_for_what_they_could_be(tmp_path):
    """Names that say nothing, and degrees: each is one comment to take away."""
    t = np.arange(50) * 4.0
    rows = np.column_stack([t, 100 * np.sin(t[:, None] / 40 + [0, 1]), np.cos(t[:, None] / 30 + [0, 1])])
    file = table(tmp_path / "odd.csv", "Uhr_ms,A1_IstPos,A2_IstPos,A1_amp,A2_amp", rows)
    suggestion, path = suggested(file, tp.load("elbow2r"))
    text = suggestion.text
    assert '# time = {columns = "Uhr_ms", unit = "ms"}  # rises steadily: is this the time?' in text
    assert 'degrees? Then unit = "deg"' in text and '# tau = "A{i}_amp"  # one per joint' in text
    assert "torque_per_ampere = [0.1, 0.1]" in text and '"tau{i}"' not in text
    mapping = text.replace('q = "A{i}_IstPos"', 'q = {columns = "A{i}_IstPos", unit = "deg"}')
    for comment, line in (("# time", "time"), ("# tau =", "current ="), ("# [", "["), ("# torque_per", "torque_per")):
        mapping = mapping.replace(comment, line)
    path.write_text(mapping)
    log = tp.read_log(file, tp.load("elbow2r"), columns=path)
    assert np.allclose(log.tau, 0.1 * rows[:, 3:]) and np.allclose(log.q, np.deg2rad(rows[:, 1:3]))
    assert np.allclose(log.time, t / 1000)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nanoseconds", 'unit = "ns"}  # rises steadily: is this the time?'),
        ("Uhr_us", 'unit = "us"}  # rises steadily: is this the time?'),
        ("tickMs", 'unit = "ms"}  # rises steadily: is this the time?'),
        ("params", 'unit = "s"}  # rises steadily: is this the time, and in seconds?'),
    ],
)
def test_a_unit_of_time_is_a_word_of_the_name(tmp_path, name, line):
    file = table(tmp_path / "run.csv", f"{name},q1,q2", [[0.5 * k, 1.0, 2.0] for k in range(9)])
    text = suggested(file)[0].text
    assert f'# time = {{columns = "{name}", {line}' in text and "as there is no time" not in text


@pytest.mark.parametrize("name", ["index", "sample_nr", "Row"])
def test_a_column_that_counts_rows_is_not_offered_as_time(tmp_path, name):
    file = table(tmp_path / "run.csv", f"{name},q1,q2", [[k, 1.0, 2.0] for k in range(9)])
    text = suggested(file)[0].text
    assert "# time" not in text and "# rate_hz = 1000  # samples per second, as there is no time" in text


def test_columns_in_any_order_are_offered_as_torques(tmp_path):
    file = table(tmp_path / "run.csv", "t,q2,q1,A2,A1", [[0.1 * k, 1.0, 2.0, 3.0, 4.0] for k in range(9)])
    assert (
        '# tau = "A{i}"  # one per joint, 3 .. 4: torques? If they are currents: current = "A{i}"'
        in suggested(file)[0].text
    )
    header = ",".join(["t", *(f"q{k}" for k in range(12, 0, -1)), *(f"A{k}" for k in range(12, 0, -1))])
    file = table(tmp_path / "many.csv", header, [[0.1 * k, *range(24)] for k in range(9)])
    assert '# tau = "A{i}"' in suggested(file)[0].text  # 2 comes before 10


def test_names_with_numbers_of_any_length_are_read(tmp_path):
    digits = "9" * 5000
    file = table(tmp_path / "run.csv", f"t,q1,q2,A{digits},A1{digits}", [[0.1 * k, 1, 2, 3, 4] for k in range(9)])
    assert "# Not recognised" in suggested(file)[0].text


def test_a_torque_that_a_drive_computed_becomes_its_table(tmp_path):
    t = np.arange(400) / 100
    q, qdes = np.sin(t - 0.1), np.sin(t)
    tau = 80 * (qdes - q) - 2.5 * np.cos(t - 0.1)
    values = np.stack([t, q, np.cos(t - 0.1), qdes, tau], axis=1)
    np.savetxt(tmp_path / "run.csv", values, delimiter=",", header="t,q1,qd1,q_des1,tau1", comments="")
    suggestion = tp.signals.suggest_mapping(tmp_path / "run.csv")
    assert "# tau = " in suggestion.text and "was not measured" in suggestion.text
    (tmp_path / "columns.toml").write_text(suggestion.text)
    log = tp.read_log(tmp_path / "run.csv", columns=tmp_path / "columns.toml")
    assert log.tau is None and log.drive == tp.Drive(kp=(80,), kd=(2.5,)) and np.allclose(log.qdes[:, 0], qdes)
    np.savetxt(tmp_path / "run.csv", values[:, :4], delimiter=",", header="t,q1,qd1,goal", comments="")
    text = tp.signals.suggest_mapping(tmp_path / "run.csv").text
    assert 'qdes = "goal"' in text and "# [drive]" in text and "# kp = [100.0]" in text
    (tmp_path / "columns.toml").write_text(text)
    assert tp.read_log(tmp_path / "run.csv", columns=tmp_path / "columns.toml").drive is None


def test_every_column_is_shown_with_what_it_is_taken_for_and_why(tmp_path):
    """As data, in the order of the file, text and arrays included: what a program shows for a person to decide."""
    t = np.arange(1000) / 100
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    q[3, 1] = np.nan
    lines = ["t_ms,mode,A1_deg [deg],A2_deg [deg],q_soll_1,q_soll_2,F1_x,F2_x,gyro_z,flange"]
    for k, (a, b) in enumerate(q):
        lines.append(f"{10 * k},auto,{a},{'' if np.isnan(b) else b},0,{k},{3 * a},{k % 7},1,2")
    file = tmp_path / "run.csv"
    file.write_text("\n".join(lines) + "\n")
    suggestion = tp.signals.suggest_mapping(file)
    columns = {column.name: column for column in suggestion.columns}
    assert list(columns) == lines[0].split(",")
    assert columns["mode"].values == () and columns["mode"].low is None and "numbers" in columns["mode"].reason
    second = columns["A2_deg [deg]"]
    assert (second.signal, second.joint, second.unit) == ("q", "joint2", "deg") and "in deg" in second.reason
    assert 120 <= len(second.values) <= 240 and second.values[0] == 1.0
    assert second.low == pytest.approx(np.nanmin(q[:, 1])) and second.high == pytest.approx(np.nanmax(q[:, 1]))
    assert columns["t_ms"].values[0] == 0 and columns["t_ms"].high == 9990
    assert columns["q_soll_2"].signal == "qdes" and "commanded" in columns["q_soll_2"].reason
    assert columns["F1_x"].could_be == ("tau",) and columns["F1_x"].signal == ""
    assert "not of a joint" in columns["gyro_z"].reason
    json.dumps(suggestion.to_dict(), allow_nan=False)


def test_numbers_of_arrays_are_columns_of_their_own(tmp_path):
    t = np.arange(50) / 100
    np.savez(tmp_path / "run.npz", t=t, q=np.stack([t, 2 * t], axis=1), note=np.array("a text"))
    columns = {(c.name, c.place): c for c in tp.signals.suggest_mapping(tmp_path / "run.npz").columns}
    assert columns["q", 1].values == tuple((2 * t).tolist()) and columns["q", 1].joint == "joint2"


@pytest.mark.parametrize(
    "name", ["Achse{}_Soll", "Achse{}Soll", "Lagesollwert{}", "A{}_Vorgabe", "setpos{}", "Zielposition{}"]
)
@pytest.mark.parametrize("measured", ["Achse{}_Ist", "A{}_x"])
def test_set_points_are_offered_as_commands_and_never_as_measurements(tmp_path, name, measured):
    header = ",".join(["Zeit_ms", *(stem.format(k) for stem in (name, measured) for k in (1, 2))])
    rows = [[10.0 * k, 90.0, 30.0 + k, 90.1, 30.0 + k] for k in range(20)]
    suggestion, _ = suggested(table(tmp_path / "run.csv", header, rows))
    for column in suggestion.columns[1:3]:
        could = {column.signal, *column.could_be} - {""}
        assert could <= {"qdes"} and (could or "commanded" in column.reason)
    assert any({"q"} & {column.signal, *column.could_be} for column in suggestion.columns[3:])
    assert 'unit = "deg"}  # one per joint, 30 .. 90.1: positions in degrees?' in suggestion.text


def test_columns_that_a_controller_names_so_say_which_controller_that_is(tmp_path):
    t = np.arange(500) / 125
    speeds = 1 + np.arange(6) / 10
    values = np.column_stack([t, np.sin(np.outer(t, speeds)), speeds * np.cos(np.outer(t, speeds)), t % 1])
    names = ["timestamp", *(f"actual_q_{k}" for k in range(6)), *(f"actual_qd_{k}" for k in range(6)), "my_own_tau"]
    np.savetxt(tmp_path / "run.csv", values, delimiter=",", header=",".join(names), comments="")
    columns = tp.signals.suggest_mapping(tmp_path / "run.csv").columns
    assert [c.signal for c in columns[:-1]] == ["time", *["q"] * 6, *["qd"] * 6]
    assert ["ur_rtde" in c.reason for c in columns] == [True] * 13 + [False]
