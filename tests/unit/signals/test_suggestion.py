"""Suggested mappings: TOML that reads the file, with what it lacks said in sentences."""

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
    header = "stamp_ms,q1,q2,q3,pos1,pos2,q_des_1,effort1,effort2,temperature"
    file = table(tmp_path / "run.csv", header, np.arange(50).reshape(5, 10))
    with pytest.raises(TaupiError, match="q could be"):
        tp.read_log(file)
    text = suggested(file)[0].text
    assert '\nq = "q{i}"' in text and '\n# q = "pos{i}"  # or these' in text  # the most columns
    assert "not measured: q_des_1" in text and "# Not recognised: temperature" in text
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
    """A time in another language, degrees, and currents whose name says nothing: each is one comment to take away."""
    t = np.arange(50) * 4.0
    rows = np.column_stack([t, 100 * np.sin(t[:, None] / 40 + [0, 1]), np.cos(t[:, None] / 30 + [0, 1])])
    file = table(tmp_path / "odd.csv", "Zeit_ms,A1_IstPos,A2_IstPos,A1_Strom,A2_Strom", rows)
    suggestion, path = suggested(file, tp.load("elbow2r"))
    text = suggestion.text
    assert '# time = {columns = "Zeit_ms", unit = "ms"}  # rises steadily: is this the time?' in text
    assert 'degrees? Then unit = "deg"' in text and '# tau = "A{i}_Strom"  # one per joint' in text
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
        ("Zeit_us", 'unit = "us"}  # rises steadily: is this the time?'),
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
    assert '# tau = "A{i}"  # one per joint: torques? If they are currents: current = "A{i}"' in suggested(file)[0].text
    header = ",".join(["t", *(f"q{k}" for k in range(12, 0, -1)), *(f"A{k}" for k in range(12, 0, -1))])
    file = table(tmp_path / "many.csv", header, [[0.1 * k, *range(24)] for k in range(9)])
    assert '# tau = "A{i}"' in suggested(file)[0].text  # 2 comes before 10


def test_names_with_numbers_of_any_length_are_read(tmp_path):
    digits = "9" * 5000
    file = table(tmp_path / "run.csv", f"t,q1,q2,A{digits},A1{digits}", [[0.1 * k, 1, 2, 3, 4] for k in range(9)])
    assert "# Not recognised" in suggested(file)[0].text
