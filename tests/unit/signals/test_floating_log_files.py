"""Logs of floating robots in files: what is written reads back, mappings of IMUs and states, names that are recognised."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from floating import floating_tree, states

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.placement import Placement, rotation_about
from taupi.model.robot import Frame
from taupi.signals.mapping.columns import Columns

ENDINGS = [".csv", ".csv.gz", ".parquet", ".npz", ".mat"]


@pytest.fixture(scope="module")
def robot():
    tree = floating_tree(51, joints=3)
    imu = Frame("imu", 0, Placement(rotation_about("z", 0.4)[0], (Fraction(1), Fraction(2), Fraction(3))))
    return dataclasses.replace(tree, frames=(*tree.frames, imu))


@pytest.fixture(scope="module")
def log(robot):
    rng = np.random.default_rng(3)
    q, qd, qdd = states(robot, 30, seed=2)
    names = tuple(robot.joint_names[6:])
    full = tp.floating.log_from_states(robot, np.arange(30) / 100, q, qd, qdd, rng.normal(size=(30, 3)), joints=names)
    return full.with_(
        wrench={"imu": rng.normal(size=(30, 6)), 'a "foot", left': rng.normal(size=(30, 3))},
        contact={"imu": np.arange(30) % 3 > 0, 'a "foot", left': np.arange(30) > 12},
    )


def same(a, b):
    for name in ("w", "a", "wd"):
        x, y = getattr(a.base, name), getattr(b.base, name)
        assert (x is None and y is None) or np.array_equal(x, y)
    for first, second in ((a.wrench, b.wrench), (a.contact, b.contact)):
        assert list(first) == list(second)
        assert all(np.array_equal(first[k], second[k]) for k in first)
    return True


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_reads_back(tmp_path, robot, log, ending):
    file = tmp_path / f"run{ending}"
    tp.write_log(log, file)
    again = tp.read_log(file, robot)
    assert same(log, again) and again.names == log.names and np.array_equal(again.q, log.q)
    bare = log.with_(base=tp.floating.BaseMotion(log.base.w, log.base.a), wrench={}, contact={})
    tp.write_log(bare, file, force=True)
    assert same(bare, tp.read_log(file))


def test_columns_of_different_lengths_are_one_sentence(tmp_path, robot, log):
    tp.write_log(log, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name in arrays.keys() - {"time", "taupi_log"}:
        for rows in (arrays[name][:-1], np.concatenate([arrays[name]] * 2)):
            np.savez(tmp_path / "bad.npz", **{**arrays, name: rows})
            with pytest.raises(tp.TaupiError, match=r"rows|row per time stamp|shape|lengths"):
                tp.read_log(tmp_path / "bad.npz", robot)


def test_blocks_are_the_whole_in_pieces(tmp_path, log):
    tp.write_log(log, tmp_path / "run.parquet")
    parts = list(tp.signals.log_blocks(tmp_path / "run.parquet", size=7))
    assert np.array_equal(np.concatenate([p.base.a for p in parts]), log.base.a)
    part = tp.read_log(tmp_path / "run.parquet", rows="4:20")
    assert same(log.rows(slice(4, 20)), part)


def test_columns_are_recognised_by_their_names(log):
    frame = log.with_(wrench={"imu": log.wrench["imu"]}, contact={"imu": log.contact["imu"]}).to_frame()
    again = tp.Log.from_frame(frame)
    assert same(log.with_(wrench={"imu": log.wrench["imu"]}, contact={"imu": log.contact["imu"]}), again)
    only = tp.Log.from_frame(frame, columns={"time": "time", "q": "q_{joint}", "joints": log.names})
    assert only.base is None and not only.contact


def table(tmp_path, **columns):
    """A text table of arrays, one column per number, named name0, name1, ..."""
    flat = {f"{k}{i}": v[:, i] for k, v in columns.items() for i in range(v.shape[1])}
    rows = "\n".join(",".join(map(repr, row)) for row in np.column_stack(list(flat.values())).tolist())
    (tmp_path / "run.csv").write_text(",".join(flat) + "\n" + rows + "\n")
    return tmp_path / "run.csv"


def mapping(**base):
    return {"time": "t0", "q": ["q0", "q1", "q2"], "base": base}


def three(name):
    return [f"{name}{i}" for i in range(3)]


def test_an_imu_is_moved_to_the_root(tmp_path, robot, log):
    turn, r = robot.frame("imu").placement.matrix[:3, :3], np.array([1.0, 2.0, 3.0])
    w, wd = log.base.w, log.base.wd
    there = log.base.a + np.cross(wd, r) + np.cross(w, np.cross(w, r))
    file = table(tmp_path, t=log.time[:, None], q=log.q, g=np.degrees(w @ turn), a=there @ turn / 9.80665, d=wd @ turn)
    gyro, reading = {"columns": three("g"), "unit": "deg/s"}, {"columns": three("a"), "unit": "g"}
    columns = mapping(imu="imu", w=gyro, a=reading, wd=three("d"))
    again = tp.read_log(file, robot, columns=columns)
    assert np.abs(again.base.a - log.base.a).max() < 1e-10 and np.abs(again.base.w - w).max() < 1e-12
    with pytest.raises(TaupiError, match="needs the robot"):
        tp.read_log(file, columns=columns)


def test_an_imu_is_moved_with_the_derivative_of_its_own_rate(tmp_path, robot):
    """Without wd in the file, it is that of w over the file's own time: 200 samples a second."""
    t = np.arange(600) / 200
    w, wd = (
        np.stack([f(3 * t) for f in (np.sin, np.cos, np.sin)], axis=1),
        3 * np.stack([f(3 * t) for f in (np.cos, lambda x: -np.sin(x), np.cos)], axis=1),
    )
    turn, r = robot.frame("imu").placement.matrix[:3, :3], np.array([1.0, 2.0, 3.0])
    there = np.cross(wd, r) + np.cross(w, np.cross(w, r))  # the root itself does not accelerate
    file = table(tmp_path, t=t[:, None], q=np.zeros((600, robot.n - 6)), g=w @ turn, a=there @ turn)
    again = tp.read_log(file, robot, columns=mapping(imu="imu", w=three("g"), a=three("a")))
    assert np.abs(again.base.a[50:-50]).max() < 0.01 * np.abs(there).max()


@pytest.mark.parametrize("convention", tp.floating.bases())
def test_states_become_what_an_imu_reads(tmp_path, robot, convention):
    q, qd, qdd = states(robot, 12, seed=5)
    expected = tp.floating.log_from_states(robot, np.arange(12) / 10, q, qd, qdd).base
    pose, v, a, _ = tp.floating.to_base(robot, convention)(q, qd, qdd, np.zeros((12, robot.n)))
    angular, linear = (slice(0, 3), slice(3, 6)) if convention == "taupi" else (slice(3, 6), slice(0, 3))
    parts = {"w": v[:, angular], "v": v[:, linear], "x": a[:, linear], "y": a[:, angular], "h": pose[:, 3:7]}
    file = table(tmp_path, t=np.arange(12)[:, None] / 10, q=q[:, 7:], **parts)
    quaternion = [f"h{i}" for i in range(4)]
    base = {"convention": convention, "quaternion": quaternion, "vd": three("x"), "wd": three("y")}
    got = tp.read_log(file, robot, columns=mapping(w=three("w"), v=three("v"), **base)).base
    for name in ("w", "a", "wd"):
        assert np.abs(getattr(got, name) - getattr(expected, name)).max() < 1e-9, name


def test_a_force_above_a_threshold_is_a_contact(tmp_path, log):
    force = np.linspace(0, 0.1, 30)[:, None]
    file = table(tmp_path, t=log.time[:, None], q=log.q, f=force)
    columns = {"time": "t0", "q": three("q"), "contact": {"toe": {"columns": "f0", "unit": "kN", "threshold": 20}}}
    assert np.array_equal(tp.read_log(file, columns=columns).contact["toe"], 1e3 * force[:, 0] > 20)
    with pytest.raises(TaupiError, match=r"contact.toe is not 0 or 1 everywhere.*threshold = 20"):
        tp.read_log(file, columns={**columns, "contact": {"toe": "f0"}})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"base": 3}, "base is 3, expected a mapping"),
        ({"base": {"speed": "w0"}}, "No key 'speed' in columns: base"),
        ({"base": {"w": ["q0"], "a": ["q1"]}}, "base.w has 1 columns, expected 3"),
        ({"base": {"w": ["q0", "q1", "q2"]}}, r"expected w \(angular velocity\) and a \(accelerometer\)"),
        ({"base": {"convention": "ros"}}, "No base.convention 'ros'"),
        ({"base": {"imu": 3}}, "base.imu is 3, expected the name of a frame"),
        ({"base": {"w": {"columns": ["q0", "q1", "q2"], "unit": "kg"}}}, "No unit of base.w 'kg'"),
        ({"wrench": {"toe": ["q0", "q1"]}}, "wrench.toe has 2 columns, expected 3 or 6"),
        ({"wrench": {"toe": "x"}}, "No column 'x'"),
    ],
)  # fmt: skip
def test_bad_mappings_are_one_sentence(tmp_path, log, columns, message):
    file = table(tmp_path, t=log.time[:, None], q=log.q)
    with pytest.raises(TaupiError, match=message):
        tp.read_log(file, columns={"time": "t0", "q": three("q"), **columns})


def test_a_quaternion_of_length_zero_is_refused(tmp_path, robot, log):
    parts = {"w": log.base.w, "v": log.base.w, "h": np.zeros((30, 4))}
    file = table(tmp_path, t=log.time[:, None], q=log.q, **parts)
    base = {"w": three("w"), "v": three("v"), "quaternion": [f"h{i}" for i in range(4)]}
    with pytest.raises(TaupiError, match="quaternion of sample 0 has length 0"):
        tp.read_log(file, robot, columns=mapping(**base))


def test_mappings_in_toml(tmp_path):
    (tmp_path / "map.toml").write_text(
        '[base]\nimu = "imu"\nw = ["a", "b", "c"]\n[contact]\ntoe = {columns = "d", threshold = 5}\n'
    )
    floating = Columns.of(tmp_path / "map.toml").floating
    assert (
        floating.imu == "imu"
        and floating.thresholds == {"toe": 5.0}
        and sorted(floating.channels) == ["base.w", "contact.toe"]
    )


def test_checks_and_suggestions_count_the_joints_without_the_base(tmp_path, robot, log):
    names, bare = log.names, log.with_(base=None, wrench={}, contact={})
    assert tp.check_log(log, robot).joints == names
    with pytest.raises(TaupiError, match=f"log has 2 joints, expected 3: {', '.join(names)}"):
        tp.check_log(tp.Log(log.time, log.q[:, :2]), robot)
    tp.write_log(bare, tmp_path / "run.csv")
    text = tp.signals.suggest_mapping(tmp_path / "run.csv", robot).text
    assert f"# joints = {json.dumps(list(names))}" in text


@pytest.mark.parametrize("base", [{"w": "gyro", "a": "acc"}, {"w": ["gyro"], "a": ["acc"]}], ids=["text", "list"])
def test_columns_of_a_base_are_none_of_the_joints(tmp_path, base):
    np.savez(tmp_path / "run.npz", t=np.arange(9) / 100, q=np.ones((9, 2)), gyro=np.ones((9, 3)), acc=np.ones((9, 3)))
    log = tp.read_log(tmp_path / "run.npz", columns={"base": base})
    assert list(log.signals) == ["q"] and log.base.a.shape == (9, 3)


def test_templates_of_a_base_are_none_of_the_joints(tmp_path):
    text = "t,q1,q2,vel_1,vel_2,vel_3,acc_1,acc_2,acc_3\n0,0,0,1,2,3,4,5,6\n0.1,0,0,1,2,3,4,5,6\n"
    (tmp_path / "run.csv").write_text(text)
    log = tp.read_log(tmp_path / "run.csv", columns={"base": {"w": "vel_{i}", "a": "acc_{i}"}})
    assert list(log.signals) == ["q"] and log.base.w[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("rate", [None, 250.0])
def test_cleaning_brings_the_base_to_the_same_grid(rate):
    t = np.arange(300) / 100 + np.random.default_rng(0).uniform(0, 4e-3, 300)
    sine = np.sin(t)[:, None]
    base = tp.floating.BaseMotion(sine * [1, 2, 3], sine * [4, 5, 6], sine * [7, 8, 9])
    log = tp.Log(t, sine, base=base, wrench={"FL": sine * np.ones(6)}, contact={"FL": t > 1.5})
    clean = tp.clean_log(log, rate_hz=rate)
    truth = np.sin(clean.time)[:, None]
    for value, factor in ((clean.q, 1), (clean.base.w, [1, 2, 3]), (clean.base.wd, [7, 8, 9]), (clean.wrench["FL"], 1)):
        assert np.abs(value - truth * factor).max() < 1e-4
    assert (clean.contact["FL"] == (clean.time > 1.5))[np.abs(clean.time - 1.5) > 0.02].all()


def test_cleaning_refuses_a_base_with_holes_off_the_grid():
    t = np.arange(300) / 100 + np.random.default_rng(0).uniform(0, 4e-3, 300)
    w = np.where(np.arange(300)[:, None] == 7, np.nan, np.ones((300, 3)))
    with pytest.raises(TaupiError, match=r"base\.w has missing values"):
        tp.clean_log(tp.Log(t, np.sin(t)[:, None], base=tp.floating.BaseMotion(w, np.ones((300, 3)))))


@pytest.mark.parametrize(
    ("gyroscope", "accelerometer", "argument"),
    [
        ("a", np.ones((5, 3)), "base.w"),
        (np.ones((5, 3)), [["b", 0, 0]], "base.a"),
        (np.ones((5, 3)), np.ones((4, 3)), None),
        (np.ones((1, 3)), np.ones((1, 3)), "gyroscope"),
    ],
)
def test_signals_of_an_imu_that_cannot_be_are_refused(gyroscope, accelerometer, argument):
    robot = tp.load("elbow2r", floating=True)
    with pytest.raises(TaupiError) as refused:
        tp.floating.base_from_imu(robot, "base", gyroscope, accelerometer, 100.0)
    assert refused.value.argument == argument
