"""How a log was driven: commands, the law that turned them into torques, and both through files, cleaning and smoothing."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

RNG = np.random.default_rng(5)
COMMANDS = ("qdes", "qd_des", "tau_ff", "volts", "temperature", "enabled")


def driven(rows=400, n=2, **more):
    time = np.arange(rows) / 200
    q = np.sin(2 * np.pi * time[:, None] + np.arange(n))
    commands = {name: RNG.normal(size=(rows, n)) for name in COMMANDS} | {"enabled": np.ones((rows, n))}
    drive = tp.Drive(kp=(80, 120)[:n], kd=2.5, torque_limit=(30, 60)[:n])
    names = ("shoulder", "elbow")[:n]
    return tp.Log(time, q, tau=RNG.normal(size=(rows, n)), **commands, names=names, drive=drive, **more)


def test_numbers_are_one_for_all_joints_or_one_per_joint():
    drive = tp.Drive(kp=(80.0, 120.0), kd=2.5)
    assert drive.per_joint("kp", 2).tolist() == [80, 120] and drive.per_joint("kd", 2).tolist() == [2.5, 2.5]
    assert np.isinf(drive.per_joint("torque_limit", 2)).all()
    assert drive.of_joints([1, 0], 2).kp == (120, 80)
    with refused("drive.kp", got=2, expected=3):
        drive.per_joint("kp", 3)
    with pytest.raises(TaupiError, match=r"drive.kt is not stated"):
        drive.per_joint("kt", 2)


def test_a_table_reads_back_as_the_drive_that_it_states():
    for drive in (
        tp.Drive(kp=80),
        tp.Drive("pd_host", kp=(1, 2), kd=0.5, unknown=("kp",), rate_hz=500, kd_acts_on="error", hold="linear"),
        tp.Drive("duty", kp=0.28, kt=0.4, resistance=3, volts=7.4, current_limit=1.5, duty_limit=0.9),
    ):
        assert tp.Drive.of(drive.table()) == drive


@pytest.mark.parametrize(
    ("table", "argument"),
    [
        ({}, "drive.kp"),
        ({"kp": 0}, "drive.kp"),
        ({"kp": -80}, "drive.kp"),
        ({"kp": "80"}, "drive.kp"),
        ({"kp": [1, None]}, "drive.kp"),
        ({"kp": float("nan")}, "drive.kp"),
        ({"kp": 1, "kd": -1}, "drive.kd"),
        ({"kp": 1, "torque_limit": 0}, "drive.torque_limit"),
        ({"kp": 1, "law": "pid"}, "drive.law"),
        ({"kp": 1, "hold": "cubic"}, "drive.hold"),
        ({"kp": 1, "kd_acts_on": "q"}, "drive.kd_acts_on"),
        ({"kp": 1, "unknown": ["mass"]}, "drive.unknown"),
        ({"kp": 1, "unknown": 5}, "drive.unknown"),
        ({"kp": 1, "payload_com": ["a", 0, 0]}, "drive.payload_com"),
        ({"kp": 1, "payload_com": [[1, 2], [3]]}, "drive.payload_com"),
        ({"kp": 1, "payload_com": [1, 2]}, "drive.payload_com"),
        ({"kp": 1, "law": "pd_host"}, "drive.rate_hz"),
        ({"kp": 1, "rate_hz": 500}, "drive.rate_hz"),
        ({"kp": 1, "kt": 0.3}, "drive.kt"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(table, argument):
    with pytest.raises(TaupiError) as refused:
        tp.Drive.of(table)
    assert str(refused.value).startswith(argument)


def test_a_misspelt_key_and_what_is_no_table():
    with pytest.raises(TaupiError, match=r"No key 'ratehz' in drive. Did you mean 'rate_hz'"):
        tp.Drive.of({"ratehz": 3})
    with pytest.raises(TaupiError, match="drive is 'pd', expected a table"):
        tp.Drive.of("pd")


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "mat"])
def test_every_format_keeps_the_drive(tmp_path, ending):
    log = driven()
    tp.write_log(log, tmp_path / f"run.{ending}")
    again = tp.read_log(tmp_path / f"run.{ending}")
    assert again.drive == log.drive
    assert list(again.signals) == list(log.signals)
    restated = tp.read_log(tmp_path / f"run.{ending}", columns={"drive": {"kp": 5}})
    assert restated.drive.kp == (5, 5) and np.array_equal(restated.qdes, log.qdes)


def test_a_mapping_states_the_drive(tmp_path):
    (tmp_path / "run_1.csv").write_text("t,q1,q2,goal1,goal2,on,supply\n0,1,2,10,20,1,7.4\n1,1,2,11,21,0,7.3\n")
    (tmp_path / "drive.toml").write_text(
        'time = "t"\nq = "q{i}"\nqdes = {columns = "goal{i}", delay = 0.01}\nenabled = "on"\nvolts = "supply"\n'
        'joints = ["a", "b"]\n[drive]\nlaw = "pd"\nkp = [80, 120]\nkd = 2.5\n'
    )
    log = tp.read_log(tmp_path / "run_1.csv", columns=tmp_path / "drive.toml")
    assert log.drive == tp.Drive(kp=(80, 120), kd=(2.5, 2.5))
    assert log.enabled.tolist() == [[1, 1], [0, 0]] and log.volts[:, 1].tolist() == [7.4, 7.3]
    assert log.delays == {"qdes": (0.01, 0.01)}
    assert log.select(["b"]).drive.kp == (120,)


def test_joints_in_another_order_take_their_gains_with_them():
    robot = tp.load("puma560")
    shuffled = list(robot.joint_names)[::-1]
    columns = {f"q_{j}": np.full(5, k) for k, j in enumerate(shuffled)}
    frame = {"t": np.arange(5) / 10, **columns}

    class Frame(dict):
        columns = tuple(frame)

    kp = [10.0 + k for k in range(6)]
    mapping = {"time": "t", "q": [f"q_{j}" for j in shuffled], "joints": shuffled, "drive": {"kp": kp}}
    log = tp.Log.from_frame(Frame(frame), robot, mapping)
    assert log.names == tuple(robot.joint_names)
    assert log.drive.kp == tuple(kp[::-1]) and log.q[0].tolist() == [5, 4, 3, 2, 1, 0]


def test_gains_differ_from_file_to_file(tmp_path):
    for k in (1, 2, 3):
        (tmp_path / f"run_{k}.csv").write_text("t,q1,qdes1\n0,1,2\n1,1,2\n")
    columns = {"drive": {"law": "duty", "volts": 7.4, "files": {"run_1.csv": {"kp": 0.1}, "run_[2].csv": {"kp": 0.2}}}}
    kp = [getattr(tp.read_log(tmp_path / f"run_{k}.csv", columns=columns).drive, "kp", None) for k in (1, 2, 3)]
    assert kp == [(0.1,), (0.2,), None]
    columns["drive"]["kp"] = 0.3
    assert tp.read_log(tmp_path / "run_3.csv", columns=columns).drive.kp == (0.3,)
    with pytest.raises(TaupiError, match=r"columns: drive.files is \['run_1.csv'\], expected a table for each file"):
        tp.read_log(tmp_path / "run_3.csv", columns={"drive": {"kp": 1, "files": ["run_1.csv"]}})


def test_cleaning_holds_commands_and_never_invents_one_between():
    log = driven()
    rows = np.arange(len(log))
    steps = np.where(rows < 200, 0.0, 1.0)[:, None] * np.ones((1, 2))
    jittered = log.time + np.random.default_rng(0).uniform(0, 2e-3, len(log))
    clean = tp.clean_log(dataclasses.replace(log, time=jittered, qdes=steps, enabled=steps))
    assert set(np.unique(clean.qdes)) == {0.0, 1.0} and set(np.unique(clean.enabled)) == {0.0, 1.0}
    sent = jittered[200]
    assert (clean.qdes[:, 0] == (clean.time >= sent)).all()
    straight = dataclasses.replace(log.drive, hold="linear")
    clean = tp.clean_log(dataclasses.replace(log, time=jittered, qdes=steps, enabled=steps, drive=straight))
    assert len(np.unique(clean.qdes)) <= 3 and clean.qdes.max() == 1.0  # no overshoot
    assert np.allclose(clean.qdes[:, 0], np.interp(clean.time, jittered, steps[:, 0]))


def test_a_missing_command_is_the_one_before():
    log = driven()
    qdes = np.repeat(np.arange(400.0)[:, None], 2, axis=1)
    qdes[10] = np.nan
    assert tp.clean_log(log.with_(qdes=qdes)).qdes[9:12, 0].tolist() == [9, 9, 11]


def test_smoothing_leaves_commands_as_they_were_sent():
    log = driven(rows=4000)
    whole = tp.prepare(log, cutoff_hz=10, trim=False, decimate=3)
    pieces = [log.rows(slice(a, a + 500)) for a in range(0, 4000, 500)]
    blocks = list(tp.signals.prepare_blocks(pieces, 200, 10, decimate=3))
    for name in COMMANDS:
        together = np.concatenate([b.signals[name] for b in blocks])
        assert np.array_equal(together, whole.signals[name]), name
        assert np.isin(together[:, 0], log.signals[name][:, 0]).all(), name
    assert {b.drive for b in blocks} == {log.drive}


def test_a_drive_reads_as_a_sentence():
    text = str(tp.Drive(kp=(80, 120), kd=2.5, torque_limit=30, unknown=("kp",)))
    assert "80 120 N m/rad (unknown" in text and "kd 2.5 N m s/rad" in text and "30 N m" in text


def test_a_servo_knows_its_law_and_its_registers():
    drive = tp.Drive.of({"servo": "xl330", "kp_register": 400, "volts": 7.4})
    assert drive.law == "duty" and drive.unknown == ("kt", "resistance") and drive.servo == "xl330"
    assert drive.kp[0] * 885 == pytest.approx(400 * 4096 / (2 * np.pi) / 256)
    assert tp.Drive.of(drive.table()) == drive
    measured = tp.Drive.of({"servo": "xl330", "kp_register": 400, "kt": 0.4, "unknown": []})
    assert measured.kt == (0.4,) and measured.unknown == () and measured.resistance == (3.4,)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"servo": "xl33o", "kp": 1}, "No servo 'xl33o' in the catalogue of servos"),
        ({"kp_register": 400}, "drive: kp_register is a number of a servo. Name it"),
        ({"servo": "xl330", "kp_register": 400, "kp": 0.3}, "drive states both kp and kp_register"),
        ({"servo": "xl330", "kp_register": "high"}, r"drive\.kp_register is 'high', expected a finite number above 0"),
        ({"servo": "xl330"}, "drive.kp is missing, expected duty per rad"),
    ],
)
def test_a_servo_that_is_not_known_and_gains_that_contradict(table, message):
    with pytest.raises(TaupiError, match=message):
        tp.Drive.of(table)


XL330 = Path(__file__).parents[3] / "../shared/data/bam_xl330_pendulum"


@pytest.mark.skipif(not XL330.exists(), reason="needs the recordings of a servo's pendulum")
def test_the_registers_of_the_xl330_are_what_its_recordings_say():
    """The register of the load is the duty: kp (goal - q), with the gain that the catalogue gives for the register of kp."""
    runs = json.loads((XL330 / "runs.json").read_text())
    gains = []
    for run in runs:
        columns = {"time": "t", "q": "q", "qdes": "goal", "tau_ff": "load_register", "enabled": "torque_enable"}
        drive = {"servo": "xl330", "kp_register": run["kp"]}
        log = tp.read_log(XL330 / f"{run['file']}.gz", columns={**columns, "drive": drive})
        asked = log.drive.kp[0] * (log.qdes - log.q)[:, 0]
        free = (log.enabled[:, 0] > 0.5) & (np.abs(asked) < 0.9)
        signed = np.where(log.tau_ff > 32767, log.tau_ff - 65536, log.tau_ff)  # as 16 bits without a sign
        duty = signed[free, 0] / 885
        gains.append(asked[free] @ duty / (asked[free] @ asked[free]))
    assert np.median(np.abs(gains)) == pytest.approx(1.0, abs=0.03) and np.ptp(np.sign(gains)) == 0
