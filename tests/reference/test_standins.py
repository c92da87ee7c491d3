"""Stand-ins for recordings: what `test_recordings.py` and `test_identification_recordings.py` check where those are.

Made by the project's own simulator with the traps of real files (`tests/standins`), so that the truth is known: errors on data
that was not fitted are held against the noise, which no model explains.
"""

import json
import sys
import warnings

import numpy as np
import pytest
from standins import joints, motors

import taupi as tp
from taupi.cli.main import run

pytestmark = pytest.mark.filterwarnings("ignore::taupi.errors.TaupiWarning")

# Against raw torque an error is no smaller than the noise, but for what a few hundred samples leave open; what is more comes
# from dry friction, whose onset the filter rounds off. Against filtered torque, most of the noise is gone.
LEAST, MOST, FILTERED = 0.93, 1.6, 1.3


@pytest.fixture(scope="module")
def standin(tmp_path_factory):
    """Return a stand-in by the function that makes it; each is simulated once."""
    standins = {}

    def get(make):
        if make not in standins:
            standins[make] = make(tmp_path_factory.mktemp(make.__name__))
        return standins[make]

    return get


@pytest.fixture
def identified(monkeypatch, capsys, tmp_path):
    """Run `taupi identify` in this process; return the fit and what `--json` says."""

    def call(data, train, test, *options):
        out = tmp_path / "out"
        words = ["identify", data.description, *map(data.path, train), "--validate", data.path(test), *options]
        words += ["--columns", data.columns, "-o", out, "--json", "--force"]
        monkeypatch.setattr(sys, "argv", ["taupi", *map(str, words)])
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: None)
        with pytest.raises(SystemExit) as end:
            run()
        printed = capsys.readouterr()
        assert not end.value.code, printed.err
        return tp.load_fit(out), json.loads(printed.out)

    return call


def at_the_noise(answer, recording):
    """Return whether the held-out errors that a command printed are those of the recording's noise."""
    seen = answer["validation"][0]
    return (
        LEAST * recording.floor < seen["raw_relative"] < MOST * recording.floor
        and seen["relative"] < FILTERED * recording.floor
    )


# Currents, time stamps that jitter -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first", "second", "points"])
def test_jittered_time_stamps(standin, name):
    data = standin(joints.jittered)
    robot, truth = tp.load(data.description), data.recordings[name]
    log = tp.read_log(truth.path, robot=robot, columns=data.columns)
    assert len(log) == len(truth.time) and log.names == robot.joint_names
    assert list(log.signals) == ["q", "qd", "tau", "current", "tau_m"]
    assert np.allclose(log.tau, log.current * joints.DRIVE_GAINS)
    assert np.abs(log.tau - truth.tau).std(axis=0) == pytest.approx(truth.sigma * np.sqrt(1 - 2 / np.pi), rel=0.1)
    (jitter,) = tp.check_log(log, robot).of("jitter")
    assert 93 < jitter.value("rate_hz") < 95 and 0.4e-3 < jitter.value("std_s") < 0.6e-3
    ready = tp.prepare(log)
    assert np.ptp(np.diff(ready.time)) < 1e-9
    speed = np.abs(np.diff(truth.q, axis=0)).max(axis=1) / np.diff(truth.time)
    moving = truth.time[1:][speed > 0.01]
    assert abs(ready.time[0] - moving[0]) < 0.5 and abs(ready.time[-1] - moving[-1]) < 0.5


def test_wanted_values_are_not_taken_for_measured_ones(standin):
    """Without a mapping: the currents that were asked for stand beside those that were measured."""
    data = standin(joints.jittered)
    log = tp.read_log(
        data.path("first"), robot=tp.load(data.description), columns={"motor": {"torque_per_ampere": 1.0}}
    )
    assert any("left out, as they are not measured: current_des" in note for note in log.notes)


def assert_friction(fit, viscous, coulomb):
    """Of the first joints, at a fifth, a half and all of their largest speed, within 5 % of what it is.

    Coulomb friction and a bend with speed share what logs tell of slow motion, so that neither is known as well as their sum.
    """
    known, (curve,) = dict(zip(fit.names, fit.values, strict=True)), [t for t in fit.terms if t.name == "curve"]
    for i, joint in enumerate(fit.robot.joint_names[: len(coulomb)]):
        part = {kind: known[f"{joint}.{kind}"] for kind in ("viscous", "coulomb", "curve", "load")}
        speed = curve.velocity[i] * np.array([0.2, 0.5, 1.0])
        friction = part["coulomb"] + part["viscous"] * speed + part["curve"] * np.exp(-speed / 0.3 / curve.velocity[i])
        assert friction == pytest.approx(coulomb[i] + viscous[i] * speed, rel=0.05)
        assert part["load"] < 0.01  # there is none


def test_currents_give_a_robot(standin, identified):
    data = standin(joints.jittered)
    fit, answer = identified(data, ["first", "second"], "points")
    assert at_the_noise(answer, data.recordings["points"])
    assert not fit.undetermined.any() and len(fit.values) == tp.base_parameters(data.robot, terms=fit.terms).count
    assert_friction(fit, [2.0, 1.5, 0.6], [2.5, 2.0, 0.7])


# Torque sensors, no time, a joint that goes one way -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1", "2", "3"])
def test_a_joint_that_never_reverses(standin, name):
    data = standin(joints.one_way)
    robot = tp.load(data.description)
    log = tp.read_log(data.path(name), robot=robot, rate_hz=500)  # columns as their headers have them, qdd too
    assert len(log) == 4001 and log.rate_hz == pytest.approx(500)
    report = tp.check_log(log)
    assert [f.channel for f in report.of("one-way")] == (["q of j3"] if name != "3" else [])
    assert [f.channel[:3] for f in report.of("disagrees")] == ["qdd"]
    slow = tp.read_log(data.path(name), robot=robot, rate_hz=25)  # as if a folder's name said so
    (wrong,) = [f for f in tp.check_log(slow).of("disagrees") if f.channel.startswith("qd ")]
    assert 25 / wrong.value("factor") == pytest.approx(500, rel=0.01)


def test_right_angles_that_a_file_rounds(standin):
    """1.5708 is a right angle: as it is printed, the first axis is not upright, and the arm has more base parameters."""
    data = standin(joints.one_way)
    robot = tp.load(data.description)
    as_printed = tp.Robot.from_urdf(data.description, snap=False)
    assert tp.base_parameters(robot).count < tp.base_parameters(as_printed).count


@pytest.mark.parametrize(("train", "test"), [(("1", "3"), "2"), (("1", "2"), "3")])
def test_torque_sensors_give_a_robot(standin, identified, train, test):
    data = standin(joints.one_way)
    fit, answer = identified(data, train, test)
    assert fit.conditioning["regrouped_condition"] < 1e4
    if test == "2":
        assert at_the_noise(answer, data.recordings[test]) and not fit.undetermined.any()
        return
    assert "j3 never reverses: its coulomb and offset are one." in answer["notes"]
    assert set(answer["not_determined"]) == {"j3.coulomb", "j3.offset"}
    assert np.isinf(fit.stderr[fit.undetermined]).all()
    known = dict(zip(fit.names, fit.values, strict=True))
    assert known["j3.coulomb"] + known["j3.offset"] == pytest.approx(0.5 + 0.15, abs=0.05)
    truth = data.recordings[test]
    for k, joint in enumerate(answer["validation"][0]["joints"][:2]):  # the others are as good as they would be
        assert joint["raw_rms"] < MOST * truth.sigma[k]


# A slide, names in the headers, dead channels -----------------------------------------------------------------------------


def test_dead_channels(standin):
    data = standin(joints.slide)
    robot = tp.load(data.description)
    log = tp.read_log(data.path("first"), robot=robot, columns=data.columns)
    assert log.n == 4 and log.units == ("m", "rad", "rad", "rad") and log.rate_hz == pytest.approx(100)
    (dead,) = tp.check_log(log, robot).of("dead")
    assert dead.channel == "tau of arm_3_joint" and 0.85 < dead.value("share") < 0.91
    assert np.allclose(log.tau, log.current * joints.REDUCTION * joints.CONSTANT)
    truth = data.recordings["first"]
    assert np.allclose(log.q, truth.q, atol=1e-6)
    assert np.std(log.tau - truth.tau, axis=0)[:3] == pytest.approx(truth.sigma[:3], rel=0.1)
    assert len(tp.prepare(log)) > 500


def test_a_slide_and_dead_channels_give_a_robot(standin, identified):
    """What the dead joint is weighed by leaves the others alone: they are at their noise."""
    data = standin(joints.slide)
    _, answer = identified(data, ["first"], "second")
    truth = data.recordings["second"]
    for k, joint in enumerate(answer["validation"][0]["joints"][:3]):
        assert LEAST * truth.sigma[k] < joint["raw_rms"] < MOST * truth.sigma[k], joint["name"]


# Degrees and milliseconds, and what loggers lose --------------------------------------------------------------------------


def test_a_broken_file_is_found_out(standin):
    data = standin(joints.broken)
    log = tp.read_log(data.path("first"), robot=tp.load(data.description), columns=data.columns)
    truth = data.recordings["first"]
    report = tp.check_log(log)
    assert set(report.kinds) == {"time-duplicate", "time-reversed", "missing", "gap"}
    assert report.of("time-duplicate")[0].rows == ((joints.TWICE[0], joints.TWICE[-1]),)
    assert report.of("time-reversed")[0].rows == ((joints.SWAPPED + 1, joints.SWAPPED + 1),)
    empty = ((joints.EMPTY.start, joints.EMPTY.stop - 1),)
    assert {f.channel: f.rows for f in report.of("missing")} == {"tau of j2": empty, "q of j3": empty}
    assert (joints.LOST.start - 1, joints.LOST.start) in report.of("gap")[0].rows
    clean = tp.clean_log(log)
    assert len(clean) == len(truth.time) and np.ptp(np.diff(clean.time)) < 1e-9
    assert tp.check_log(clean).findings == ()
    # Encoders that count, and six samples that were lost: cubic between their neighbours, 35 ms apart.
    assert np.abs(clean.q - truth.q).max() < 2 * np.radians(joints.COUNT) + 1e-3
    inside = np.abs(clean.tau - truth.tau) / truth.sigma
    assert np.median(inside) == pytest.approx(0.6745, rel=0.1)  # the median of |noise| over its standard deviation


def test_a_broken_file_gives_a_robot(standin, identified):
    data = standin(joints.broken)
    fit, answer = identified(data, ["first"], "second")
    assert at_the_noise(answer, data.recordings["second"]) and not fit.undetermined.any()
    for words in ("sorted by time", "left out 3 samples with a repeated time stamp", "interpolated 12 missing values"):
        assert any(words in note for note in answer["notes"]), words


def test_what_is_lost_for_long_is_refused(standin, tmp_path):
    """A gap of a second is not interpolated unless it is asked for; the sentence says where it is, and what to write."""
    data = standin(joints.broken)
    head, *rows = data.path("second").read_text().splitlines()
    path = tmp_path / "torn.csv"
    path.write_text("\n".join([head, *rows[:1000], *rows[1200:]]) + "\n")
    robot = tp.load(data.description)
    with pytest.raises(tp.TaupiError, match=r"torn\.csv: .*long_gaps"):
        tp.identify(robot, path, columns=data.columns)
    settings = tp.Preparation(long_gaps="longest")
    fit = tp.identify(robot, path, columns=data.columns, preparation=settings)
    assert not fit.undetermined.any()


# Motors -----------------------------------------------------------------------------------------------------------------


def test_a_coupled_wrist_on_the_motors_side(standin):
    """The joints' side by matrices that are written out here, and by what was simulated."""
    data = standin(motors.wrist)
    truth = data.recordings["first"]
    log = tp.read_log(truth.path, columns=data.columns)
    assert len(log) == len(truth.time) and log.rate_hz == pytest.approx(1000)
    turned = log.theta / motors.RATIO
    assert np.allclose(log.q, turned @ motors.COUPLING.T + motors.ZERO, atol=1e-12)
    # By virtual work motor 2, which turns joint 3 back, bears what joint 3 needs besides its own.
    geared = log.tau_m * motors.RATIO
    assert np.allclose(log.tau, geared + geared[:, [2]] * [0, 1, 0], atol=1e-9)
    assert np.abs(log.q - truth.q).max() < 2e-4 and np.std(log.tau - truth.tau, axis=0) == pytest.approx(
        truth.sigma, rel=0.05
    )
    (still,) = tp.check_log(log).of("standstill")
    (first, start), (stop, last) = still.rows
    assert first == 0 and last == len(log) - 1
    speed = np.abs(np.diff(truth.q, axis=0)).max(axis=1) * 1000
    moving = np.flatnonzero(speed > 0.01 * speed.max())
    assert abs(start - moving[0]) < 100 and abs(stop - moving[-1]) < 100  # 0.1 s, the window
    ready = tp.prepare(log)
    assert np.abs(ready.qd).max(axis=0) == pytest.approx(
        np.abs(np.gradient(truth.q, 1e-3, axis=0)).max(axis=0), rel=0.02
    )


def test_a_coupled_wrist_gives_the_friction_of_its_motors(standin, identified):
    """The third motor's own comes out, though nobody asked for its columns, and that of the third joint is nothing."""
    data = standin(motors.wrist)
    fit, answer = identified(data, ["first"], "second")
    assert at_the_noise(answer, data.recordings["second"])
    known = dict(zip(fit.names, fit.values, strict=True))
    assert known["motor3.coulomb"] == pytest.approx(motors.MOTOR_COULOMB[2], rel=0.05)
    assert known["motor3.viscous"] == pytest.approx(motors.MOTOR_VISCOUS[2], rel=0.05)
    assert_friction(fit, motors.MOTOR_VISCOUS[:2], motors.MOTOR_COULOMB[:2])
    assert abs(known["j3.coulomb"]) < 0.05 and abs(known["j3.viscous"]) < 0.05


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_period_is_found(standin, name):
    data = standin(motors.parallelogram)
    log = tp.read_log(data.path(name), columns=data.columns)
    period = tp.signals.find_period(log.q, log.rate_hz)
    assert period.seconds == pytest.approx(motors.PERIOD, abs=0.005) and period.correlation > 0.999
    mean = tp.signals.average_periods(log)
    assert mean.count == 3 and len(mean.log) == 1000
    ready, other = tp.prepare(log, derivatives="fourier"), tp.prepare(log, velocity="position", decimate=1)
    same = np.isin(other.time.round(6), ready.time.round(6))
    ahead = np.isin(ready.time.round(6), other.time.round(6))
    assert same.sum() > 100
    difference = np.linalg.norm(ready.qd[ahead] - other.qd[same], axis=0) / np.linalg.norm(other.qd[same], axis=0)
    assert difference.max() < 0.02  # two ways that share nothing but q


def test_a_parallelogram_gives_a_robot(standin):
    """Four joints that three motors move: in the motors' coordinates, from the description's tree and a matrix."""
    data = standin(motors.parallelogram)
    robot = tp.load(data.description).with_coupling(motors.PARALLEL)
    assert robot.n == 3 and len(robot.joints) == 4
    fit = tp.identify(robot, data.path("first"), columns=data.columns)
    truth = data.recordings["second"]
    seen = fit.validate(data.path("second"), columns=data.columns)
    assert LEAST * truth.floor < seen.raw_relative < MOST * truth.floor and seen.relative < 0.5 * truth.floor
    assert_friction(fit, [1.0, 0.8, 0.5], [1.2, 1.0, 0.6])
    free = tp.identify(robot, data.path("first"), "wls", columns=data.columns)
    assert seen.relative < 1.1 * free.validate(data.path("second"), columns=data.columns).relative


# A spring between motor and link ---------------------------------------------------------------------------------------------


def frequency(stiffness, inertia):
    return np.sqrt(stiffness / inertia) / (2 * np.pi)


IZZ = motors.TRUE["own"] + 0.1 * 0.2**2
TRUE_HZ = frequency(motors.TRUE["stiffness"], IZZ)


def test_a_motor_and_a_deflection(standin):
    data = standin(motors.sprung)
    truth = data.recordings["first"]
    log = tp.read_log(truth.path, columns=data.columns)
    assert (len(log), log.n) == (len(truth.time), 1) and log.rate_hz == pytest.approx(500)
    assert np.abs(log.q - truth.q).max() < np.radians(motors.ANGLE) and np.degrees(np.ptp(log.q - log.theta)) > 5
    # The speed that back-EMF is taken from is a difference of counts.
    assert np.abs(np.median(log.tau - truth.tau)) < 0.01
    ready = tp.prepare(log)
    alpha = (ready.q - ready.theta)[:, 0]
    assert frequency(-(alpha @ ready.qdd[:, 0]), alpha @ alpha) == pytest.approx(TRUE_HZ, rel=0.03)


def test_a_spring_is_identified_from_both_sides(standin, identified):
    data = standin(motors.sprung)
    fit, answer = identified(data, ["first"], "second")
    known = dict(zip(fit.names, fit.values, strict=True))
    assert frequency(known["base.stiffness"], known["arm.Izz"]) == pytest.approx(TRUE_HZ, rel=0.02)
    assert known["base.stiffness"] == pytest.approx(motors.TRUE["stiffness"], rel=0.25)
    errors = {j["name"]: j["relative"] for j in answer["validation"][0]["joints"]}
    assert errors["base.link"] < 0.05 and errors["base.motor"] < 0.05
    assert any(note.startswith("elastic joints (base)") for note in answer["notes"])


BEAM = """<robot name="beam"><link name="base"/>
<link name="hub"><inertial><mass value="0.1"/>
<inertia ixx="2e-3" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial></link>
<link name="beam"><inertial><origin xyz="0.2 0 0"/><mass value="0.1"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="2e-3" iyz="0" izz="2e-3"/></inertial></link>
<joint name="servo" type="continuous"><parent link="base"/><child link="hub"/><axis xyz="0 0 1"/></joint>
<joint name="deflection" type="continuous"><parent link="hub"/><child link="beam"/><axis xyz="0 0 1"/></joint></robot>"""
DEFLECTION = f"""
time = {{ columns = "t_ms", unit = "ms" }}
q = {{ columns = ["theta_deg", "alpha_deg"], unit = "deg" }}
tau = {{ columns = ["motor_voltage_V"], matrix = [[{motors.PER_VOLT}], [0]] }}
"""


def test_a_deflection_is_a_joint_without_a_drive(standin, tmp_path):
    """As a rigid robot with a spring in its second joint; what the motor's speed takes off the voltage is viscous friction."""
    data = standin(motors.sprung)
    (tmp_path / "beam.urdf").write_text(BEAM)
    (tmp_path / "columns.toml").write_text(DEFLECTION)
    robot = tp.load(tmp_path / "beam.urdf")
    terms = ("viscous", "coulomb", "offset", "spring")
    fit = tp.identify(robot, data.path("first"), terms=terms, columns=tmp_path / "columns.toml", cutoff_hz=10)
    known = dict(zip(fit.names, fit.values, strict=True))
    assert known["servo.viscous"] == pytest.approx(motors.TRUE["viscous"] + motors.PER_VOLT * motors.BACK, rel=0.05)
    seen = fit.validate(data.path("second"), columns=tmp_path / "columns.toml")
    assert seen.joints[0].relative < 0.05


def test_a_spring_is_identified_from_motors_alone(standin, identified, tmp_path):
    data = standin(motors.sprung)
    lines = data.columns.read_text().splitlines()
    mapping = tmp_path / "motors.toml"
    mapping.write_text("\n".join(line for line in lines if not line.startswith("q = ")))
    fit, answer = identified(data, ["first"], "second", "--columns", mapping, "--estimator", "output_error")
    known = dict(zip(fit.names, fit.values, strict=True))
    assert known["base.stiffness"] == pytest.approx(motors.TRUE["stiffness"], rel=0.25)
    assert answer["validation"][0]["relative"] < 0.1


def test_cutoffs_are_above_the_motion_and_below_the_noise(standin):
    """From the spectrum alone, on every stand-in: a motion with control points every 0.4 s, or five harmonics of 0.2 Hz."""
    for make, name, low, high in (
        (joints.jittered, "first", 3, 15),
        (joints.one_way, "3", 3, 25),
        (joints.slide, "first", 3, 25),
        (joints.broken, "second", 3, 15),
        (motors.wrist, "first", 3, 15),
        (motors.parallelogram, "first", 2, 8),
        (motors.sprung, "first", 3, 25),
    ):
        data = standin(make)
        log = tp.clean_log(tp.read_log(data.path(name), columns=data.columns))
        assert low < tp.signals.choose_cutoff(log.q, log.rate_hz).hz < high, make.__name__
