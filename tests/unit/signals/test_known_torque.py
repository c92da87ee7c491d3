"""Known torques: a grammar of their own, evaluated as written, never run as code; and how logs carry them."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.known_torque import check_known_torque, known_torque

Q = np.random.default_rng(0).normal(size=(50, 3))
Q1, Q2, Q3 = Q.T


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("12*sin(q2)", 12 * np.sin(Q2)),
        ("-3.5e0 * cos(q1 + q2 - pi/4)", -3.5 * np.cos(Q1 + Q2 - np.pi / 4)),
        ("(q1 - 1)**2 / 4 + q3", (Q1 - 1) ** 2 / 4 + Q3),
        ("2", np.full(50, 2.0)),
        ("+q1 - -q2", Q1 + Q2),
        ("2*sin(3*q3)*cos(q1)**2", 2 * np.sin(3 * Q3) * np.cos(Q1) ** 2),
    ],
)
def test_formulas_mean_what_they_say(formula, value):
    torque = known_torque(check_known_torque("known_torque", {"b": formula}), ("a", "b", "c"), Q)
    assert np.allclose(torque[:, 1], value, rtol=1e-15, atol=0) and not torque[:, [0, 2]].any()


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('true')",
        "().__class__",
        "exp(q1)",
        "sin(q1, q2)",
        "sin(x=q1)",
        "q0",
        "q",
        "qd1",
        "q1[0]",
        "q1 if q2 else q3",
        "lambda: 1",
        "[q1 for q1 in q2]",
        "q1 and q2",
        "q1 < q2",
        "q1 % 2",
        "q1 // 2",
        "q1 @ q2",
        "2**999",
        "q1**q2",
        "q1**(9**9)",
        "1e300",
        "True",
        "'a'",
        "1j",
        "f'{q1}'",
        "",
        "q1 +",
        "(" * 200 + "q1" + ")" * 200,
        "q1 +" * 200 + "q1",
        "sin",
        "q1; q2",
    ],
)
def test_anything_else_is_refused(formula):
    with pytest.raises(TaupiError, match=r"known_torque of b is .*expected numbers, pi, q1"):
        check_known_torque("known_torque", {"b": formula})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "known_torque is 3, expected formulas by joint"),
        (["12*sin(q2)"], "expected 'joint = formula'"),
        (["= 2"], "expected 'joint = formula'"),
        (["a = 1", "a = 2"], "states 'a' twice"),
        ([1], "expected formulas by joint"),
    ],
)
def test_texts_that_state_no_torque(value, message):
    with pytest.raises(TaupiError, match=message):
        check_known_torque("known_torque", value)


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        (["elbow = q1"], "known_torque: No joint 'elbow'"),
        (["a = q4"], r"known_torque of a is 'q4', but there are 3 joints: q1 ... q3"),
        (["a = 1/(q1 - q1)"], "known_torque is not finite"),
    ],
)
def test_torques_that_a_log_does_not_have(formulas, message):
    with pytest.raises(TaupiError, match=message):
        known_torque(check_known_torque("known_torque", formulas), ("a", "b", "c"), Q)


MAPPING = {
    "time": "t",
    "q": {"columns": "q{i}", "delay": [0.01, 0.02]},
    "tau": {"columns": "tau{i}", "delay": 0.003},
    "tau_known": "spring{i}",
    "known_torque": {"j2": "12*sin(q2)"},
}


@pytest.fixture
def file(tmp_path):
    rows = np.arange(70.0).reshape(10, 7) / 10
    path = tmp_path / "run.csv"
    path.write_text("t,q1,q2,tau1,tau2,spring1,spring2\n" + "\n".join(",".join(map(str, r)) for r in rows) + "\n")
    return path


@pytest.mark.parametrize("ending", [".csv", ".npz", ".parquet", ".mat"])
def test_a_mapping_states_known_torques_and_delays_and_files_keep_them(file, tmp_path, ending):
    log = tp.read_log(file, columns=MAPPING)
    assert log.known_torque == ("j2 = 12*sin(q2)",)
    assert log.delays == {"q": (0.01, 0.02), "tau": (0.003, 0.003)}
    assert np.array_equal(log.tau_known[0], [0.5, 0.6]) and np.array_equal(log.tau[0], [0.3, 0.4])
    assert {"known torque beside tau: j2 = 12*sin(q2)", "q is late by 10, 20 ms"} <= set(log.notes)
    tp.write_log(log, tmp_path / f"again{ending}")
    again = tp.read_log(tmp_path / f"again{ending}")
    assert (again.known_torque, again.delays) == (log.known_torque, log.delays)
    assert np.array_equal(again.tau_known, log.tau_known) and again.notes == log.notes


def test_delays_go_with_the_joints_that_they_belong_to(tmp_path):
    (tmp_path / "run.csv").write_text("t,q_elbow,q_shoulder\n0,1,2\n0.1,1,2\n0.2,1,2\n")
    columns = {
        "time": "t",
        "q": {"columns": ["q_elbow", "q_shoulder"], "delay": [0.01, 0.02]},
        "joints": ["elbow", "shoulder"],
    }
    log = tp.read_log(tmp_path / "run.csv", tp.load("elbow2r"), columns=columns)
    assert log.names == ("shoulder", "elbow") and log.delays == {"q": (0.02, 0.01)}
    assert log.select(["elbow"]).delays == {"q": (0.01,)}


def test_motors_hand_their_delay_on_to_the_joints(tmp_path):
    (tmp_path / "run.csv").write_text("t,m1,m2,i1,i2\n0,1,2,3,4\n0.1,1,2,3,4\n0.2,1,2,3,4\n")
    columns = {
        "time": "t",
        "theta": {"columns": "m{i}", "delay": [0.01, 0.02]},
        "current": {"columns": "i{i}", "delay": 0.005},
        "motor": {"ratio": 10, "torque_per_ampere": 0.1},
    }
    log = tp.read_log(tmp_path / "run.csv", columns=columns)
    assert log.delays["q"] == (0.01, 0.02) and log.delays["tau"] == (0.005, 0.005)
    columns["motor"]["coupling"] = [[1, 0], [1, 1]]
    with pytest.raises(TaupiError, match=r"theta\.delay differs from motor to motor, and motor\.coupling mixes them"):
        tp.read_log(tmp_path / "run.csv", columns=columns)


def test_prepare_undoes_the_delays_that_a_log_states():
    t = np.arange(2000) / 100
    late = {"q": (0.03, 0.0), "tau": (0.0, 0.015)}
    q = np.stack([np.sin(t - 0.03), np.cos(t)], axis=1)
    tau = np.stack([np.sin(t), np.cos(t - 0.015)], axis=1)
    log = tp.prepare(tp.Log(t, q, tau=tau, delays=late), cutoff_hz=5, trim=False)
    assert np.abs(log.q - log.tau).max() < 1e-3 and log.delays == {}
    blocks = [tp.Log(t, q, tau=tau, delays=late).rows(slice(a, a + 500)) for a in range(0, 2000, 500)]
    streamed = np.concatenate([b.q for b in tp.signals.prepare_blocks(blocks, 100, 5)])
    assert np.abs(streamed - log.q).max() < 1e-8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"known_torque": {"j2": "exec(q1)"}}, "columns: known_torque of j2 is 'exec"),
        ({"known_torque": 3}, "columns: known_torque is 3"),
        ({"q": {"columns": "q{i}", "delay": "x"}}, "q.delay is 'x'"),
        ({"q": {"columns": "q{i}", "delay": [1, 2, 3]}}, "q.delay has 3 values, expected 1 or 2"),
        ({"time": {"columns": "t", "delay": 1}}, "time has a delay"),
    ],
)
def test_bad_mappings(file, change, message):
    with pytest.raises(TaupiError, match=message):
        tp.read_log(file, columns={**MAPPING, **change})


def test_selecting_joints_does_not_renumber_formulas():
    log = tp.Log([0, 1], np.zeros((2, 2)), known_torque={"j2": "q2"})
    assert log.select([0, 1]).known_torque == ("j2 = q2",)
    with pytest.raises(TaupiError, match="by the numbers of its joints"):
        log.select([1])


def test_a_header_of_a_known_torque_is_recognised(tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,tau1,tau_known1\n0,1,2,3\n0.1,1,2,3\n0.2,1,2,3\n")
    log = tp.read_log(tmp_path / "run.csv")
    assert log.tau[0, 0] == 2 and log.tau_known[0, 0] == 3
