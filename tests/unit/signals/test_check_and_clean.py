"""What is wrong with a log is found, with its rows; cleaning does what the finding says."""

import dataclasses
import json

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.robot_parts import Limits
from taupi.signals.checking.check import CHECKS

RATE = 200.0


def motion(t):
    """Two joints that go back and forth, and start at once."""
    return np.stack([np.sin(2 * np.pi * 0.7 * t), 0.5 * np.cos(2 * np.pi * 1.1 * t)], axis=1)


def speed(t):
    return np.stack(
        [2 * np.pi * 0.7 * np.cos(2 * np.pi * 0.7 * t), -0.5 * 2 * np.pi * 1.1 * np.sin(2 * np.pi * 1.1 * t)], axis=1
    )


def made(rows=1000, seed=0):
    t = np.arange(rows) / RATE
    noise = 1e-6 * np.random.default_rng(seed).normal(size=(2, rows, 2))
    return tp.Log(t, motion(t) + noise[0], qd=speed(t), tau=np.cos(3 * t)[:, None] + 1e3 * noise[1])


def changed(log, **arrays):
    copies = {}
    for name, change in arrays.items():
        value = getattr(log, name).copy()
        change(value)
        copies[name] = value
    return log.with_(**copies)


def put(index, value):
    def change(array):
        array[index] = value

    return change


def test_a_good_log_has_no_findings():
    report = tp.check_log(made())
    assert not report.findings and report.kinds == ()
    assert report.rate_hz == pytest.approx(RATE) and report.jitter_std < 1e-12
    assert repr(report).splitlines()[1] == "no problems found"
    clean = tp.clean_log(made())
    assert np.array_equal(clean.q, made().q) and not clean.notes


def test_every_finding_has_a_rule_and_the_report_is_json():
    log = changed(made(), q=put((slice(300, 320), 0), np.nan), time=put(40, 0.19), tau=put((slice(None), 1), 2.5))
    report = tp.check_log(log)
    assert {"missing", "dead", "time-reversed"} <= set(report.kinds)
    for finding in report.findings:
        assert finding.rule == str(CHECKS[finding.kind].remedy)
        assert finding.rule in repr(report)
    data = json.loads(json.dumps(report.data()))
    assert data["samples"] == 1000 and data["joints"] == ["j1", "j2"]
    assert [300, 319] in next(f for f in data["findings"] if f["kind"] == "missing")["rows"]


@pytest.mark.parametrize("jitter", [0.05, 0.2])
def test_jitter_is_measured_and_undone(jitter):
    rng = np.random.default_rng(1)
    steps = (1 + jitter * rng.uniform(-1, 1, 2000)) / RATE
    t = 3.0 + np.cumsum(steps)
    log = tp.Log(t, motion(t), tau=speed(t))
    (finding,) = tp.check_log(log).of("jitter")
    kept = np.diff(t)
    assert finding.value("std_s") == pytest.approx(kept.std(), rel=1e-12)
    assert finding.value("max_s") == pytest.approx(np.abs(kept - kept.mean()).max(), rel=1e-12)
    assert finding.value("rate_hz") == pytest.approx(1 / kept.mean(), rel=1e-12)
    clean = tp.clean_log(log)
    assert np.ptp(np.diff(clean.time)) < 1e-12 and clean.time[0] == t[0] and clean.time[-1] <= t[-1] + 1e-12
    assert np.abs(clean.q - motion(clean.time)).max() < 1e-6  # a cubic spline's error at this rate
    assert np.abs(clean.tau - speed(clean.time)).max() < 1e-5
    assert "interpolated on a grid of 200" in clean.notes[-1] or "grid of 19" in clean.notes[-1]
    assert not tp.check_log(clean).of("jitter")


def test_time_out_of_order_missing_and_twice():
    log = made()
    order = np.arange(1000)
    order[[500, 501]] = [501, 500]
    mixed = log.rows(order)
    assert tp.check_log(mixed).of("time-reversed")[0].rows == ((501, 501),)
    assert np.array_equal(tp.clean_log(mixed).q, log.q)
    twice = log.rows(np.sort(np.concatenate((np.arange(1000), [10, 700, 700]))))
    (finding,) = tp.check_log(twice).of("time-duplicate")
    assert finding.count == 3 and finding.rows == ((11, 11), (702, 703))
    assert np.array_equal(tp.clean_log(twice).tau, log.tau)
    holes = changed(log, time=put([3, 900], np.nan))
    assert tp.check_log(holes).of("time-missing")[0].rows == ((3, 3), (900, 900))
    clean = tp.clean_log(holes)
    assert len(clean) == 1000 and np.abs(clean.q - log.q).max() < 1e-4


def test_short_gaps_are_filled_and_long_ones_refused():
    log = made()
    short = log.rows(np.delete(np.arange(1000), [400, 401, 402, 403]))
    (finding,) = tp.check_log(short).of("gap")
    assert finding.rows == ((399, 400),) and finding.value("longest_s") == pytest.approx(5 / RATE)
    clean = tp.clean_log(short)
    assert len(clean) == 1000 and np.abs(clean.q - log.q).max() < 1e-4
    long = log.rows(np.delete(np.arange(1000), np.arange(400, 500)))
    with pytest.raises(TaupiError, match=r"time has 1 gap longer than 0.05 s; the longest, 0.505 s, is after row 399"):
        tp.clean_log(long)
    kept = tp.clean_log(long, long_gaps="longest")
    assert np.array_equal(kept.q, log.q[500:]) and "rows 400-899" in kept.notes[-1]
    assert len(tp.clean_log(long, long_gaps="interpolate")) == 1000
    assert len(tp.clean_log(long, short_gap=1.0)) == 1000
    assert [len(s) for s in long.segments()] == [400, 500]


def test_missing_values():
    log = made()
    holed = changed(log, q=put((slice(100, 105), 0), np.nan), tau=put((0, 1), np.nan))
    rows = {f.channel: f.rows for f in tp.check_log(holed).of("missing")}
    assert rows == {"q of j1": ((100, 104),), "tau of j2": ((0, 0),)}
    clean = tp.clean_log(holed)
    assert len(clean) == 999 and np.isfinite(clean.tau).all()
    line = np.interp(log.time[100:105], log.time[[99, 105]], log.q[[99, 105], 0])
    assert np.allclose(clean.q[99:104, 0], line, atol=1e-12)
    long = changed(log, q=put((slice(100, 300), 0), np.nan))
    with pytest.raises(TaupiError, match=r"q of j1 is missing for 1.005 s, rows 100-299. Use log.drop_gaps\(\)"):
        tp.clean_log(long)
    assert np.array_equal(tp.clean_log(long, long_gaps="longest").q, log.q[300:])
    with pytest.raises(TaupiError, match="tau of j1 holds no number at all"):
        tp.clean_log(changed(log, tau=put((slice(None), 0), np.nan)))


def test_dead_and_saturated_channels():
    log = made()
    sparse = log.tau[:, 0] * (np.arange(1000) % 5 == 0)
    dead = log.with_(tau=np.stack([sparse, log.tau[:, 1]], axis=1))
    (finding,) = tp.check_log(dead).of("dead")
    assert finding.channel == "tau of j1" and finding.value("share") == pytest.approx(0.8, abs=0.01)
    clipped = log.with_(tau=np.clip(log.tau, -0.7, None))
    finding = tp.check_log(clipped).of("saturated")
    assert [f.channel for f in finding] == ["tau of j1", "tau of j2"]
    inside = np.concatenate([np.arange(a, b + 1) for a, b in finding[0].rows])
    assert (clipped.tau[inside, 0] == -0.7).all() and len(inside) > 0.9 * (clipped.tau[:, 0] == -0.7).sum()
    assert not tp.check_log(log).of("saturated")
    # One plateau may be a motion that waits at its end; a limit is met again.
    once, twice = log.tau.copy(), log.tau.copy()
    once[300:330, 0] = twice[300:330, 0] = twice[700:730, 0] = np.abs(log.tau[:, 0]).max() + 1.0
    assert not tp.check_log(log.with_(tau=once)).of("saturated")
    (finding,) = tp.check_log(log.with_(tau=twice)).of("saturated")
    assert [(a, b) for a, b in finding.rows] == [(300, 329), (700, 729)]
    empty = changed(log, tau=put((slice(None), 1), np.nan))
    assert tp.check_log(empty).of("dead")[0].message == "no number at all"


def test_standstill_and_joints_that_do_not_reverse():
    t = np.arange(2000) / RATE
    move = np.clip(t - 2.0, 0, 5.0)  # starts at 2 s, ends at 7 s
    q = np.stack([np.sin(2 * np.pi * 0.4 * move), move], axis=1)
    report = tp.check_log(tp.Log(t, q))
    (still,) = report.of("standstill")
    (start, end) = still.rows
    assert start[0] == 0 and abs(start[1] - 400) < 25 and abs(end[0] - 1400) < 25 and end[1] == 1999
    (one,) = report.of("one-way")
    assert one.channel == "q of j2" and one.value("back") == 0 and one.value("span") == pytest.approx(5)
    frozen = tp.check_log(tp.Log(t, np.stack([np.sin(t), 0 * t + 1], axis=1)))
    assert [f.channel for f in frozen.of("still")] == ["q of j2"]


def test_a_derivative_that_disagrees_and_a_wrong_rate():
    log = made()
    assert not tp.check_log(log).of("disagrees")
    wrong = log.with_(qd=np.stack([log.qd[:, 0], -log.qd[:, 1]], axis=1))
    (finding,) = tp.check_log(wrong).of("disagrees")
    assert finding.channel == "qd of j2" and finding.value("factor") == 1
    slow = log.with_(time=log.time * 20)  # recorded at 200 Hz, said to be 10 Hz
    (finding,) = tp.check_log(slow).of("disagrees")
    assert finding.value("factor") == pytest.approx(1 / 20, rel=0.01) and "would be 199.9" in finding.message


def test_limits_of_the_robot():
    robot = tp.load("elbow2r")
    bounds = (Limits(-0.5, 0.5, 3.0, None), Limits(None, None, None, 0.9))
    joints = tuple(dataclasses.replace(j, limits=b) for j, b in zip(robot.joints, bounds, strict=True))
    robot = dataclasses.replace(robot, joints=joints)
    log = made()
    findings = {f.channel: f for f in tp.check_log(log, robot).of("limit")}
    first, second = robot.joint_names
    assert set(findings) == {f"q of {first}", f"qd of {first}", f"tau of {second}"}
    assert findings[f"q of {first}"].count == (np.abs(log.q[:, 0]) > 0.5).sum()
    assert findings[f"tau of {second}"].count == (np.abs(log.tau[:, 1]) > 0.9).sum()
    with refused("log", got=2, expected=6):
        tp.check_log(log, tp.load("puma560"))


def test_resampling_at_a_given_rate():
    clean = tp.clean_log(made(), rate_hz=150.0)
    assert clean.rate_hz == pytest.approx(150) and np.abs(clean.q - motion(clean.time)).max() < 1e-4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tp.check_log(3), "log is 3, expected a Log"),
        (lambda: tp.clean_log(3), "log is 3, expected a Log"),
        (lambda: tp.check_log(made().rows(slice(0, 2))), "log has 2 samples, expected at least 3"),
        (lambda: tp.clean_log(made().rows(slice(0, 2))), "log has 2 samples .*expected at least 4"),
        (lambda: tp.clean_log(made(), long_gaps="split"), "long_gaps is 'split', expected one of refuse"),
        (lambda: tp.clean_log(made(), short_gap=-1), "short_gap is -1"),
        (lambda: tp.clean_log(made(), rate_hz="x"), "rate_hz is 'x'"),
        (lambda: tp.clean_log(tp.Log(np.zeros(9), np.zeros((9, 1)))), "1 samples with different time stamps"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(TaupiError, match=message):
        call()


# Time that runs backwards, or begins anew --------------------------------------------------------------------------


def test_a_log_written_backwards_is_sorted():
    log = made()
    back = log.rows(slice(None, None, -1))
    report = tp.check_log(back)
    assert report.of("time-reversed")[0].count == len(log) - 1 and "-" not in report.summary.split(":")[1]
    assert np.array_equal(tp.clean_log(back).q, tp.clean_log(log).q)
    assert np.array_equal(tp.prepare(back, cutoff_hz=5).q, tp.prepare(log, cutoff_hz=5).q)


def test_backwards_in_a_stream_is_refused_with_the_way_out(tmp_path):
    arm, t = tp.load("elbow2r"), np.arange(500)[::-1] / 100
    q = np.sin(t)[:, None] * [1, 2]
    tp.write_log(tp.Log(t, q, tau=q, names=arm.joint_names), tmp_path / "run.csv")
    with pytest.raises(TaupiError, match=r"run.csv: time does not step forwards.*stream=False, which sorts it"):
        tp.identify(arm, tmp_path / "run.csv", stream=True)


def test_runs_one_after_the_other_are_not_mixed():
    log = made()
    two = tp.Log(np.concatenate([log.time, log.time + 0.001]), *(np.concatenate([x, x]) for x in (log.q,)))
    with pytest.raises(
        TaupiError, match=rf"time restarts in row {len(log)}, 1 time in all.*rows=':{len(log)}', or take"
    ):
        tp.clean_log(two)
    assert len(two.segments()) == 2
    glitch = changed(log, time=put(400, float(log.time[300])))  # one wrong stamp is no new run
    assert len(tp.clean_log(glitch)) > 0.9 * len(log)


# Samples that repeat the one before --------------------------------------------------------------------------------


def test_repeated_samples_are_seen():
    log = made()
    held = log.rows(np.arange(len(log)) // 4 * 4).with_(time=log.time)
    (finding,) = tp.check_log(held).of("repeated")
    assert finding.value("share") == pytest.approx(0.75, abs=0.02) and finding.count == pytest.approx(
        0.75 * len(log), rel=0.3
    )
    assert "rather than" in finding.message and "decimate" in finding.rule
    some = np.arange(len(log))
    some[100:900:20] -= 1
    (finding,) = tp.check_log(log.rows(some).with_(time=log.time)).of("repeated")
    assert finding.rows[0] == (100, 100) and finding.count == 40


def test_standing_still_is_no_repetition():
    log = made()
    assert not tp.check_log(log).of("repeated")
    still = np.concatenate([np.arange(len(log)), np.full(300, len(log) - 1)])
    long = log.rows(still).with_(time=np.arange(len(still)) / log.rate_hz)
    assert not tp.check_log(long).of("repeated")


def test_degrees_are_named_where_a_robot_has_limits_too():
    """A joint beyond two turns and its limits may be in degrees; one that may turn so far is not, whatever it is called."""
    log = made()
    log = log.with_(q=np.degrees(log.q), qd=None)
    near, far = tp.load("panda").joints[0].limits, Limits(lower=-100.0, upper=100.0)
    arm = tp.load("elbow2r")
    for limits, found in ((near, 1), (far, 0)):
        joints = tuple(dataclasses.replace(joint, limits=limits) for joint in arm.joints)
        report = tp.check_log(log.with_(names=arm.joint_names), dataclasses.replace(arm, joints=joints))
        assert len(report.of("unit")) == found and all("degrees?" in f.message for f in report.of("unit"))


def test_what_is_done_is_said_once_for_findings_of_a_kind():
    arm = tp.load("elbow2r")
    joints = tuple(dataclasses.replace(j, limits=Limits(lower=-0.1, upper=0.1)) for j in arm.joints)
    report = tp.check_log(made().with_(names=arm.joint_names), dataclasses.replace(arm, joints=joints))
    lines = report.lines()
    assert len(report.of("limit")) == 2 and sum("check units" in line for line in lines) == 1
    assert all(f.message in "".join(lines) for f in report.findings)
