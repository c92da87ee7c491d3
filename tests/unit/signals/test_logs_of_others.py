"""Logs of other tools: LeRobot, HDF5, MCAP of Foxglove, ULog, TwinCAT: with the right numbers, or what to type."""

import json
import shutil
import sys

import logs_of_others as others
import numpy as np
import pytest
from logs_of_others import NAMES, motion

import taupi as tp

TIME, Q, QD, TAU = motion()
DEGREES = {"calibration": "degrees"}


def same(log, tolerance=1e-6, qd=True, tau=True):
    assert np.allclose(log.time - log.time[0], TIME, atol=tolerance) and np.allclose(log.q, Q, atol=tolerance)
    assert not qd or np.allclose(log.qd, QD, atol=tolerance)
    assert not tau or np.allclose(log.tau, TAU, atol=tolerance)


# LeRobot --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["v3.0", "v2.1", "v3.0 with the template of v2", "nested names", "motors"])
def test_lerobot(tmp_path, kind):
    version, options = kind[:4] if kind.startswith("v") else "v3.0", {}
    names = [f"{name}.pos" for name in (*NAMES, "gripper")]
    if "template" in kind:
        options["template"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    elif not kind.startswith("v"):
        options["names"] = [names] if kind == "nested names" else {"motors": [*NAMES, "gripper"]}
    folder = others.lerobot(tmp_path / "set", version, **options)
    log = tp.read_log(folder, columns=DEGREES)
    assert log.source.format == "lerobot" and log.names == NAMES and len(log.runs()) == 2 and log.rate_hz == 50
    first, second = log.runs()
    same(first, 1e-6, qd=False, tau=False)
    assert np.allclose(second.q, motion(90, 0.4)[1], atol=1e-6) and second.time[0] == 0
    assert np.allclose(first.qdes, Q + np.radians(1), atol=1e-6)
    notes = "\n".join(log.notes)
    for words in (
        "taken as degrees",
        "without a torque",
        "gripper is written in per cent",
        "nothing above about 8.3 Hz",
    ):
        assert words in notes, words
    file = min((folder / "data").rglob("*.parquet"))
    assert np.array_equal(tp.read_log(file, columns=DEGREES).runs()[0].q, first.q)  # one file of the set
    robot = tp.load("elbow2r")
    with pytest.raises(tp.TaupiError, match="No joint 'shoulder'"):
        tp.read_log(folder, robot, DEGREES)
    named = tp.read_log(folder, robot, columns={**DEGREES, "joints": ["shoulder", "elbow"]})
    assert np.array_equal(named.q, log.q)
    suggestion = tp.signals.suggest_mapping(folder, columns=DEGREES)
    assert 'unit = "deg"' in suggestion.text and "segment" in suggestion.text and suggestion.missing == ()


@pytest.mark.parametrize("kind", ["steps", "large", "shares", "other arm"])
def test_degrees_of_lerobot_are_told_from_shares_or_asked_for(tmp_path, kind):
    """Only degrees exceed 100, or are whole or half steps of an encoder of 4095 to a turn; anything else may be shares."""
    rng, half = np.random.default_rng(0), 180 / 4095
    middle, span = 2048, 1987
    ticks = [np.round(middle + rng.uniform(-900, 900, (rows, 3))) for rows in (120, 90)]
    degrees = [(part - middle + 0.5) * 2 * half for part in ticks]
    states = {
        "steps": degrees,
        "large": [rng.uniform(-120, 120, part.shape) for part in ticks],
        "shares": [200 * (part - middle) / span for part in ticks],
        "other arm": [part + 0.01 for part in degrees],
    }[kind]
    names = ["shoulder_pan.pos", "elbow_flex.pos", "wrist_roll.pos"]
    robot_type = "openarm_follower" if kind == "other arm" else "so100_follower"
    folder = others.lerobot(tmp_path / "set", robot_type=robot_type, names=names, states=states)
    if kind == "shares":
        for read in (tp.read_log, lambda path: next(tp.signals.log_blocks(path))):
            with pytest.raises(
                tp.TaupiError, match=r"may be degrees, or -100 .. 100 .*calibration.*<robot>.json.*degrees"
            ):
                read(folder)
        assert any("older recordings" in line for line in tp.signals.suggest_mapping(folder).text.splitlines())
        stated = {"q": {"columns": "observation.state.{joint}", "unit": "deg"}, "joints": names}
        logs = [tp.read_log(folder, columns=columns) for columns in (DEGREES, stated)]
    else:
        logs = [tp.read_log(folder)]
        words = {"steps": "keep to the steps", "large": "they exceed 100"}.get(kind, "taken as degrees")
        assert any(words in note for note in logs[0].notes)
    for log in logs:
        assert np.allclose(log.q, np.radians(np.vstack(states)), atol=1e-6)


def test_lerobot_velocities_and_torques(tmp_path):
    """OpenArm interleaves .pos, .vel and .torque; ALOHA has vectors of their own; hands are no joints."""
    names = [f"{joint}.{signal}" for joint in ("a", "b") for signal in ("pos", "vel", "torque")]
    parts = [motion(120), motion(90, 0.4)]
    mixed = [np.stack([q[:, 0], qd[:, 0], tau[:, 0], q[:, 1], qd[:, 1], tau[:, 1]], axis=1) for _, q, qd, tau in parts]
    folder = others.lerobot(
        tmp_path / "a",
        robot_type="two_arms",
        degrees=False,
        names=["x", "y", "roll"],
        extra={"observation.state.arm": (mixed, names)},
    )
    log = tp.read_log(folder).runs()[0]
    same(log, 1e-6)
    assert log.names == ("arm_a", "arm_b") and any("coordinates of the hand" in note for note in log.notes)
    vectors = {
        "observation.velocity": ([p[2] for p in parts], list(NAMES)),
        "observation.effort": ([p[3] for p in parts], list(NAMES)),
        "observation.state.joint_position": ([p[1] for p in parts], list(NAMES)),
    }
    log = tp.read_log(others.lerobot(tmp_path / "b", robot_type="arm", extra=vectors)).runs()[0]
    same(log, 1e-6)
    turned = [part * np.tile([180 / np.pi, 180 / np.pi, 1], 2) for part in mixed]  # OpenArm: degrees, and per second
    extra = {"observation.state.arm": (turned, names)}
    arm = others.lerobot(tmp_path / "c", robot_type="openarm_follower", names=["x", "y", "roll"], extra=extra)
    same(tp.read_log(arm).runs()[0], 1e-5)


def test_the_effort_of_aloha_is_no_torque(tmp_path):
    """It is the current of each motor as its driver reports it, as in ALOHA's own HDF5: left out, until a mapping states it."""
    motions = [motion(120), motion(90, 0.4)]
    efforts = ([m[3] for m in motions], list(NAMES))
    states = {"robot_type": "aloha", "degrees": False, "names": {"motors": [*NAMES, "other"]}}
    folder = others.lerobot(tmp_path / "set", **states, extra={"observation.effort": efforts})
    log = tp.read_log(folder)
    assert log.tau is None and log.current is None and any("not a torque" in note for note in log.notes)
    assert not {"tau", "current"} & {s.signal for s in tp.signals.suggest_mapping(folder).signals}
    columns = {
        "time": "timestamp", "segment": "episode_index", "current": {"columns": "observation.effort", "unit": "mA"},
        "q": [f"observation.state.{name}.pos" for name in NAMES],
    }  # fmt: skip
    stated = tp.read_log(folder, columns=columns)
    assert np.allclose(stated.current, 1e-3 * np.vstack(efforts[0]), atol=1e-9)


def test_lerobot_rewards_are_no_joints(tmp_path):
    """A feature of one number in each frame, which is a plain column and no vector."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder, degrees = others.lerobot(tmp_path / "set"), {"calibration": "degrees"}
    plain = tp.read_log(folder, columns=degrees)
    description = folder / "meta/info.json"
    info = json.loads(description.read_text())
    info["features"]["next.reward"] = {"dtype": "float32", "shape": [1], "names": None}
    description.write_text(json.dumps(info))
    for file in folder.rglob("*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table.append_column("next.reward", pa.array(np.ones(len(table), dtype=np.float32))), file)
    log = tp.read_log(folder, columns=degrees)
    assert log.names == plain.names and np.array_equal(log.q, plain.q)


def test_lerobot_shares_of_the_calibrated_range(tmp_path):
    folder = others.lerobot(tmp_path / "set", degrees=False)
    calibration = {
        name: {"id": k, "drive_mode": k % 2, "homing_offset": 0, "range_min": 1000, "range_max": 3000}
        for k, name in enumerate((*NAMES, "gripper"))
    }
    (tmp_path / "arm.json").write_text(json.dumps(calibration))
    log = tp.read_log(folder, columns={"calibration": str(tmp_path / "arm.json")}).runs()[0]
    share = 2000 / 200 * 2 * np.pi / 4095  # rad for each of -100 .. 100
    assert np.allclose(log.q[:, :2], Q * [share, -share], atol=1e-6) and log.names == (*NAMES, "gripper")
    assert np.allclose(log.q[:, 2], 0.5 * 2000 * 2 * np.pi / 4095, atol=1e-6)
    (tmp_path / "arm.json").write_text(json.dumps({"wrist": calibration[NAMES[0]]}))
    with pytest.raises(tp.TaupiError, match=r"arm.json has no range_min.* of 'shoulder_pan'. It has: wrist"):
        tp.read_log(folder, columns={"calibration": str(tmp_path / "arm.json")})
    too_large = json.dumps({name: facts | {"range_max": 10**400} for name, facts in calibration.items()})
    (tmp_path / "arm.json").write_text(too_large)
    with pytest.raises(tp.TaupiError, match=r"arm.json has no range_min"):
        tp.read_log(folder, columns={"calibration": str(tmp_path / "arm.json")})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"codebase_version": "v1.6"}, "expected v2.0, v2.1 or v3.0"),
        ({"fps": 0}, "expected the frames per second"),
        ({"features": []}, "states no features"),
        ({"data_path": "../../*.parquet"}, "expected a template below the folder"),
        ({"data_path": "/etc/{x}"}, "expected a template below the folder"),
        ({"data_path": "other/{x}.parquet"}, "its data was not downloaded"),
    ],
)
def test_lerobot_that_is_not(tmp_path, change, words):
    folder = others.lerobot(tmp_path / "set")
    file = folder / "meta/info.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(tp.TaupiError, match=words):
        tp.read_log(folder)


def test_a_name_in_lerobot_beats_the_role_of_its_column(tmp_path):
    """A published set has targets in its state, and what was measured in its action."""
    folder = others.lerobot(tmp_path / "set", robot_type="arm", degrees=False)
    info = json.loads((folder / "meta/info.json").read_text())
    for feature, word in (("observation.state", "target_q"), ("action", "actual_q")):
        info["features"][feature] = {"dtype": "float32", "names": [*(f"{word}_{k}" for k in range(2)), "gripper"]}
    (folder / "meta/info.json").write_text(json.dumps(info))
    log = tp.read_log(folder)
    first = log.runs()[0]
    assert np.allclose(first.q, Q + 1, atol=1e-6) and np.allclose(first.qdes, Q, atol=1e-6)
    assert any("action holds what was measured" in note for note in log.notes)


def test_a_lerobot_conversion_with_vectors_of_their_own(tmp_path):
    """Joint positions beside a state that repeats them, a gripper, and commands under action_dict."""
    motions = [motion(120), motion(90, 0.4)]
    extra = {
        "observation.state.joint_position": ([m[1] for m in motions], None),
        "observation.state.gripper_position": ([m[0][:, None] for m in motions], None),
        "action_dict.joint_position": ([m[1] + 1 for m in motions], None),
        "action_dict.joint_velocity": ([m[2] for m in motions], None),
    }
    first = tp.read_log(others.lerobot(tmp_path / "set", robot_type="arm", extra=extra)).runs()[0]
    same(first, qd=False, tau=False)
    assert np.allclose(first.qdes, Q + 1, atol=1e-6) and np.allclose(first.qd_des, QD, atol=1e-6)
    assert any("gripper_position" in note and "not of a joint" in note for note in first.notes)


def test_a_suggestion_does_not_assume_what_lerobot_leaves_open(tmp_path):
    """Shares of a range or degrees: no unit is written down, and what is to be stated is said."""
    states = [np.column_stack([30 * part[1], part[0]]) for part in (motion(120), motion(90, 0.4))]
    suggestion = tp.signals.suggest_mapping(others.lerobot(tmp_path / "set", states=states))
    assert "calibration" in suggestion.missing[0] and {s.unit for s in suggestion.signals} == {""}


# HDF5 -----------------------------------------------------------------------------------------------------------------


def hdf5(path, arrays, user_block=0, attributes=None):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=user_block) as file:
        for name, value in arrays.items():
            dataset = file.create_dataset(name, data=value)
            for key, text in (attributes or {}).items():
                dataset.attrs[key] = text
    return path


def test_aloha(tmp_path):
    arrays = {"observations/qpos": Q, "observations/qvel": QD, "observations/effort": TAU, "action": Q + 0.1}
    arrays["observations/images/top"] = np.zeros((len(Q), 2, 2, 3), dtype=np.uint8)
    log = tp.read_log(hdf5(tmp_path / "episode_0.hdf5", arrays))
    same(log, tau=False)
    assert log.tau is None and np.allclose(log.qdes, Q + 0.1) and log.rate_hz == pytest.approx(50)
    assert any("not a torque" in note for note in log.notes) and any("50 Hz, as aloha records" in n for n in log.notes)


def test_robomimic_demonstrations_are_runs(tmp_path):
    arrays = {}
    for k in (10, 2):
        arrays |= {f"data/demo_{k}/obs/robot0_joint_pos": Q + k, f"data/demo_{k}/obs/robot0_joint_vel": QD}
        arrays[f"data/demo_{k}/actions"] = np.zeros((len(Q), 7))
    log = tp.read_log(hdf5(tmp_path / "demos.h5", arrays))
    assert len(log.runs()) == 2 and np.allclose(log.runs()[0].q, Q + 2) and np.allclose(log.runs()[1].q, Q + 10)
    assert log.segment[0] == 2 and any("2 demonstrations" in note for note in log.notes)


def test_any_hdf5_with_arrays_of_the_same_length(tmp_path):
    arrays = {"log/t": TIME, "log/q": Q, "log/qd": QD, "log/tau": TAU, "gains": np.ones(3)}
    same(tp.read_log(hdf5(tmp_path / "run.h5", arrays)))
    plain = hdf5(tmp_path / "recording", arrays)  # known by its bytes
    same(tp.read_log(plain))


def test_matlab_7_3(tmp_path):
    """MATLAB counts rows and columns the other way round, and has 512 bytes of text above."""
    arrays = {"t": TIME[None, :], "q": Q.T, "tau": TAU}  # as MATLAB stores (N, 1), (N, 2) and, transposed, (2, N)
    file = hdf5(tmp_path / "run.mat", arrays, 512, {"MATLAB_class": np.bytes_(b"double")})
    with file.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM")
    same(tp.read_log(file), qd=False)


def test_hdf5_of_strangers(tmp_path):
    h5py = pytest.importorskip("h5py")
    file = tmp_path / "odd.h5"
    with h5py.File(file, "w") as out:
        out["t"], out["q"] = TIME, Q
        out["self"] = h5py.SoftLink("/")
        out["away"] = h5py.ExternalLink("/etc/passwd", "/")
        out.create_dataset("bomb", (1 << 40, 100), "f8", chunks=(1 << 10, 100), compression="gzip")
    assert any("left out, as they do not have 120 rows: bomb" in note for note in tp.read_log(file).notes)  # unread
    with h5py.File(tmp_path / "bomb.h5", "w") as out:
        for name in ("q", "qd"):
            out.create_dataset(name, (1 << 40, 100), "f8", chunks=(1 << 10, 100), compression="gzip")
    with pytest.raises(tp.TaupiError, match="unpacks to"):
        tp.read_log(tmp_path / "bomb.h5", rate_hz=100)
    assert len(next(tp.signals.log_blocks(tmp_path / "bomb.h5", size=50, rate_hz=100))) == 50
    with h5py.File(file, "a") as out:
        del out["bomb"]
        out.create_virtual_dataset("tau", h5py.VirtualLayout((len(Q), 2), "f8"))
    log = tp.read_log(file)
    assert np.array_equal(log.q, Q) and log.tau is None and any("in other files: tau" in n for n in log.notes)
    (tmp_path / "cut.h5").write_bytes(file.read_bytes()[:900])
    with pytest.raises(tp.TaupiError, match="cut off or damaged"):
        tp.read_log(tmp_path / "cut.h5")


def test_hdf5_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    file = hdf5(tmp_path / "run.h5", {"t": TIME, "q": Q})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(tp.TaupiError, match=r"pip install 'taupi\[hdf5\]'"):
        tp.read_log(file)


# MCAP, ULog, TwinCAT, Rerun ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [None, "", "lz4"])
@pytest.mark.parametrize("write", [others.foxglove_json, others.foxglove_protobuf])
def test_foxglove(tmp_path, write, compression):
    log = tp.read_log(write(tmp_path / "run.mcap", compression=compression))
    same(log)
    assert (
        log.names == NAMES and log.source.format == "mcap" and any("first stamp, 1700000000.0" in n for n in log.notes)
    )
    named = {"joints": ["shoulder", "elbow"]}
    assert np.array_equal(tp.read_log(tmp_path / "run.mcap", columns=named).q, log.q)
    with pytest.raises(tp.TaupiError, match="'/other'"):
        tp.read_log(tmp_path / "run.mcap", topic="/other")


def test_json_of_any_schema(tmp_path):
    messages = [
        (round(1e9 * t), json.dumps({"name": ["a", "b"], "position": q.tolist(), "effort": tau.tolist()}).encode())
        for t, q, tau in zip(TIME, Q, TAU, strict=True)
    ]
    log = tp.read_log(others.mcap(tmp_path / "run.mcap", messages, "my.States", "json", "jsonschema"))
    same(log, qd=False)  # by when they were logged
    with pytest.raises(
        tp.TaupiError, match=r"no topic of joint states in JSON or protobuf. It has: /joints \(my.Text, json"
    ):
        tp.read_log(others.mcap(tmp_path / "b.mcap", [(0, b'{"a": 1}')], "my.Text", "json", "jsonschema"))
    cdr = others.mcap(tmp_path / "c.mcap", [(0, b"\0")], "sensor_msgs/msg/JointState", "cdr", "ros2msg")
    with pytest.raises(tp.TaupiError, match="cdr"):
        tp.read_log(cdr)


def test_foxglove_agrees_with_the_libraries_of_mcap(tmp_path):
    reader = pytest.importorskip("mcap.reader")
    others.foxglove_json(tmp_path / "run.mcap", compression=None)
    with (tmp_path / "run.mcap").open("rb") as stream:
        found = list(reader.NonSeekingReader(stream, validate_crcs=False).iter_messages())
    assert len(found) == len(TIME) and json.loads(found[3][2].data)["joints"][1]["position"] == pytest.approx(Q[3, 1])


def test_ulog(tmp_path):
    file = others.ulog(tmp_path / "run.ulg")
    log = tp.read_log(file)
    same(log, 1e-6)
    assert log.source.format == "ulog" and "message joint_state" in log.notes
    cut = tmp_path / "cut.ulg"
    cut.write_bytes(file.read_bytes()[:-10])
    assert len(tp.read_log(cut)) == len(TIME) and any("cut off" in note for note in tp.read_log(cut).notes)
    with pytest.raises(tp.TaupiError, match="'imu'"):
        tp.read_log(file, topic="imu")
    pyulog = pytest.importorskip("pyulog")
    data = pyulog.ULog(str(file)).get_dataset("joint_state").data
    assert np.allclose(data["position[1]"], log.q[:, 1]) and np.allclose(data["effort[0]"], log.tau[:, 0])


def test_twincat_scope(tmp_path):
    file = others.twincat(tmp_path / "scope.csv")
    same(tp.read_log(file), qd=False)
    blocks = list(tp.signals.log_blocks(file, size=50))
    assert np.array_equal(np.concatenate([b.q for b in blocks]), tp.read_log(file).q)
    assert not any("left out" in note or "rated" in note for note in tp.read_log(file).notes)
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("Unit;")))
    note = next(note for note in tp.read_log(bare).notes if "rated" in note)  # a drive's torque has units of its own
    assert "Axis1.ActTorque ... Axis2.ActTorque" in note and note in tp.signals.suggest_mapping(bare).text
    file.write_text(file.read_text().replace("SampleTime[ms];20", "SampleTime[ms];10", 1))
    with pytest.raises(tp.TaupiError, match=r"every 10, 20 ms\."):
        tp.read_log(file)


def test_rerun_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "run.rrd").write_bytes(b"RRF2" + bytes(50))
    with pytest.raises(tp.TaupiError, match=r"recording of Rerun.*Export it to Parquet"):
        tp.read_log(tmp_path / "run.rrd")


def test_a_folder_of_a_data_set_is_told_from_a_bag(tmp_path):
    folder = others.lerobot(tmp_path / "set")
    (folder / "videos").mkdir()
    before = tp.read_log(folder, columns=DEGREES).source.sha256
    (folder / "videos/a.mp4").write_bytes(b"x" * 100)
    assert tp.read_log(folder, columns=DEGREES).source.sha256 == before  # no log is read from videos
    shutil.rmtree(folder / "meta")
    with pytest.raises(tp.TaupiError, match="of no known format"):
        tp.read_log(folder)
