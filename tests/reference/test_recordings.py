"""Recordings of real robots: each loads with a mapping of a few lines, and what is known of it is found.

The recordings lie beside the checkout (or where TAUPI_RECORDINGS says) and are no part of the project; without them
these tests are skipped, and `test_standins.py` checks the same on simulated ones.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import taupi as tp

DATA = Path(os.environ.get("TAUPI_RECORDINGS") or Path(__file__).parents[3] / "shared" / "data")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not beside the checkout")

UR10E = {"motor": {"torque_per_ampere": [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]}}
TX40 = {
    "rate_hz": 5000,
    "motor": {
        "ratio": [32, 32, 45, -48, 45, 32],
        "coupling": (np.eye(6) - np.eye(6, k=-1) * [0, 0, 0, 0, 1, 0]).tolist(),  # joint 6 = motor 6 - motor 5, geared
        "offset": [0, -np.pi / 2, np.pi / 2, 0, 0, 0],
    },
}
TIAGO = """
joints = ["torso_lift_joint", "arm_1_joint", "arm_2_joint", "arm_3_joint",
          "arm_4_joint", "arm_5_joint", "arm_6_joint", "arm_7_joint"]
labels = ["torso_lift", "arm_1", "arm_2", "arm_3", "arm_4", "arm_5", "arm_6", "arm_7"]
q = {columns = "pos_{joint}", unit = ["m", "rad", "rad", "rad", "rad", "rad", "rad", "rad"]}
qd = "vel_{joint}"
current = "effort_A_{joint}"
[motor]
ratio = [1, 100, 100, 100, 100, 336, 336, 336]
torque_per_ampere = [1, 0.136, 0.136, -0.087, -0.087, -0.0613, -0.0613, -0.0613]
"""
QUANSER = {
    "q": {"columns": ["theta_deg", "alpha_deg"], "unit": "deg", "matrix": [[1, 1]]},
    "theta": {"columns": ["theta_deg"], "unit": "deg"},
    "tau_m": {"columns": ["motor_voltage_V"], "gain": 0.9 * 70 * 0.69 * 0.00768 / 2.6},
}


def meta(folder):
    return json.loads((DATA / folder / "meta.json").read_text())


@pytest.mark.parametrize(
    ("run", "rows"),
    [
        ("exc_20s_8harm", 2506),
        ("exc_30s_12harm", 3691),
        ("exc_40s_12harm", 4639),
        ("exc_50s_12harm", 5457),
        ("exc_50s_14harm_unloaded", 5375),
        ("exc_50s_14harm_payload", 5307),
        ("val_ptp_10_points", 5347),
    ],
)
def test_ur10e_has_jittered_time_stamps(run, rows):
    robot = tp.load(DATA / "ur10e" / "ur10e.urdf")
    log = tp.read_log(DATA / "ur10e" / f"{run}.csv.gz", robot=robot, columns=UR10E)
    assert (len(log), log.n) == (rows, 6) and log.names == robot.joint_names
    assert list(log.signals) == ["q", "qd", "tau", "current", "tau_m"]
    assert np.allclose(log.tau, log.current * UR10E["motor"]["torque_per_ampere"])
    report = tp.check_log(log, robot)
    (jitter,) = report.of("jitter")
    assert 93 < jitter.value("rate_hz") < 96 and 0.8e-3 < jitter.value("std_s") < 1e-3
    # The source's useful rows (1-based) lie within what is no standstill at the ends, up to its own margins.
    first, last = meta("ur10e")["useful_rows_1based"][run]
    ready = tp.prepare(log)
    assert abs(ready.time[0] - log.time[first - 1]) < 1.8 and abs(ready.time[-1] - log.time[last - 1]) < 2.5
    assert any("left out, as they are not measured: current_des" in note for note in log.notes)
    assert np.ptp(np.diff(ready.time)) < 1e-9


def test_tx40_on_the_motor_side():
    """The joint side is that of meta.json's own matrices, which this mapping does not use."""
    log = tp.read_log(DATA / "tx40" / "exc.csv.gz", columns=TX40)
    known = meta("tx40")["motor_to_joint"]
    assert len(log) == 45000 and log.rate_hz == pytest.approx(5000)
    want = log.theta @ np.linalg.inv(np.array(known["N_pos"])).T + known["offset_rad"]
    assert np.allclose(log.q, want, atol=1e-12)
    assert np.allclose(log.tau, log.tau_m @ np.array(known["N_tau"]).T, atol=1e-12)
    (still,) = tp.check_log(log).of("standstill")
    assert len(still.rows) == 1 and still.rows[0][1] == 44999
    assert abs(still.rows[0][0] - meta("tx40")["moving_rows_0based"][1]) < 250  # 50 ms, half the window
    ready = tp.prepare(log)
    stated = [5.03, 5.02, 6.98, 7.17, 5.60, 11.5]  # PROVENANCE.md: the largest velocities, which match the data sheet
    assert np.allclose(np.abs(ready.qd).max(axis=0), stated, rtol=0.03)


@pytest.mark.parametrize("run", [1, 2, 3])
def test_xmate_has_a_joint_that_never_reverses(run):
    robot = tp.load(DATA / "xmate7p" / "XM7p.urdf")
    log = tp.read_log(DATA / "xmate7p" / f"traj_{run}.csv.gz", robot=robot, rate_hz=1000)
    assert (len(log), log.n) == (5001, 7)
    report = tp.check_log(log)
    assert [f.channel for f in report.of("one-way")] == ([f"q of {robot.joint_names[6]}"] if run < 3 else [])
    assert [f.channel[:3] for f in report.of("disagrees")] == ["qdd"]  # PROVENANCE.md: do not use it
    # The folder says 50 Hz; the velocities say 1 kHz.
    slow = tp.read_log(DATA / "xmate7p" / f"traj_{run}.csv.gz", robot=robot, rate_hz=50)
    (wrong,) = [f for f in tp.check_log(slow).of("disagrees") if f.channel.startswith("qd ")]
    assert 50 / wrong.value("factor") == pytest.approx(1000, rel=0.01)


def test_tiago_has_dead_channels(tmp_path):
    (tmp_path / "columns.toml").write_text(TIAGO)
    robot = tp.load(DATA / "tiago" / "tiago_torso_arm.urdf")
    log = tp.read_log(DATA / "tiago" / "exc.csv.gz", robot=robot, columns=tmp_path / "columns.toml")
    assert (len(log), log.n) == (8022, 8) and log.units[0] == "m" and log.rate_hz == pytest.approx(100, rel=1e-3)
    dead = tp.check_log(log, robot).of("dead")
    assert [f.channel for f in dead] == [f"tau of arm_{k}_joint" for k in (5, 6, 7)]
    assert all(0.8 < f.value("share") < 0.92 for f in dead)
    known = meta("tiago")
    gains = np.array(known["reduction_ratio"]) * known["motor_constant_Nm_per_A"]
    assert np.allclose(log.tau, log.current * gains)
    assert len(tp.prepare(log)) > 500


@pytest.mark.parametrize("run", ["one", "two"])
def test_dvrk_is_periodic(run):
    log = tp.read_log(DATA / "dvrk_mtm" / f"traj_{run}.csv.gz", rate_hz=200)
    assert (len(log), log.n) == (5999, 7)
    period = tp.signals.find_period(log.q, log.rate_hz)
    # Not the 10 s that the source states: samples 2333 apart agree to 2 %, samples 2000 apart not at all.
    assert period.seconds == pytest.approx(11.665, abs=0.005) and period.correlation > 0.999
    near, far = (np.linalg.norm(log.q[k:] - log.q[:-k]) / np.linalg.norm(log.q) for k in (2333, 2000))
    assert near < 0.03 and far > 0.5
    mean = tp.signals.average_periods(log)
    assert mean.count == 2 and len(mean.log) == 2333
    ready = tp.prepare(log, derivatives="fourier")
    other = tp.prepare(log, velocity="position", decimate=1)
    same = np.isin(other.time.round(6), ready.time.round(6))
    ahead = np.isin(ready.time.round(6), other.time.round(6))
    assert same.sum() > 300
    difference = np.linalg.norm(ready.qd[ahead] - other.qd[same], axis=0) / np.linalg.norm(other.qd[same], axis=0)
    assert np.median(difference) < 0.1  # two ways that share nothing but q; joint 6 does not repeat itself well


def test_quanser_has_motor_and_link():
    log = tp.read_log(DATA / "quanser_flexlink" / "exp.csv.gz", columns=QUANSER)
    assert (len(log), log.n) == (2500, 1) and log.rate_hz == pytest.approx(500)
    deflection = np.degrees(log.q - log.theta)
    assert 15 < np.ptp(deflection) < 40 and log.tau is None
    ready = tp.prepare(log)
    assert ready.thetadd is not None and ready.qdd is not None
    # J_l (thetadd + alphadd) = -K_s alpha: the link's frequency, sqrt(K_s/J_l), without the small damping.
    alpha = (ready.q - ready.theta)[:, 0]
    stiffness = -(alpha @ ready.qdd[:, 0]) / (alpha @ alpha)
    assert np.sqrt(stiffness) / (2 * np.pi) == pytest.approx(3.1, rel=0.05)  # baseline.json: 3.10 Hz


def test_default_cutoffs_are_near_those_chosen_by_hand():
    """Each recording's baseline says the cutoff its maker chose; ours come from the spectrum alone."""
    for path, columns, options, low, high in (
        ("ur10e/exc_30s_12harm.csv.gz", UR10E, {}, 3, 10),
        ("ur10e/val_ptp_10_points.csv.gz", UR10E, {}, 3, 10),
        ("tx40/exc.csv.gz", TX40, {}, 20, 80),
        ("xmate7p/traj_1.csv.gz", None, {"rate_hz": 1000}, 2, 15),
        ("dvrk_mtm/traj_one.csv.gz", None, {"rate_hz": 200}, 1.5, 5),
        ("quanser_flexlink/exp.csv.gz", QUANSER, {}, 5, 20),
    ):
        log = tp.clean_log(tp.read_log(DATA / path, columns=columns, **options))
        assert low < tp.signals.choose_cutoff(log.q, log.rate_hz).hz < high, path
