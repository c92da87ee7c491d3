"""Gains of drives from currents with and without a known mass."""

import numpy as np
import pytest
from loads import ARM, GAINS, LOAD, as_currents, recorded
from refusals import refused

import taupi as tp
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identification.gains import drive_gains
from taupi.identification.gains.projection import CurrentRows, Model, most_likely_gains
from taupi.signals.mapping.columns import Columns

UNLOADED, LOADED = recorded(ARM, 302), recorded(ARM.with_payload(**LOAD), 402, drift=1.1)
PUMA = tp.load("puma560")


@pytest.fixture(scope="module")
def runs():
    """The gains without stated ones to begin with, and the error of least squares with gains as columns on the same rows."""
    guesses = []
    guess = drive_gains._Calibration.first_guess

    def watched(calibration):
        guesses.append(guess(calibration))
        return guesses[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drive_gains._Calibration, "first_guess", watched)
        gains = tp.identify_gains(PUMA, as_currents(UNLOADED), as_currents(LOADED), mass=LOAD["mass"])
    return gains, np.exp(-guesses[0]) / GAINS - 1


def test_gains_are_within_one_percent_where_least_squares_is_not(runs):
    gains, least_squares = runs
    assert np.abs(gains.values / GAINS - 1).max() < 0.01
    assert least_squares.min() < -0.01  # noise in a column makes its coefficient too small


def test_errors_of_gains_are_as_large_as_stated(runs):
    gains, _ = runs
    assert (np.abs(gains.values - GAINS) < 3.5 * gains.stderr).all()
    assert (gains.stderr < 0.03 * gains.values).all()
    low, high = gains.intervals().T
    assert ((low < GAINS) & (high > GAINS)).all()


def test_the_load_is_found_too(runs):
    gains, _ = runs
    assert gains.payload[0] == LOAD["mass"]
    assert np.abs(gains.payload[1:4] / LOAD["mass"] - LOAD["com"]).max() < 0.005


def test_a_mass_weighed_with_calibrated_gains_is_within_one_percent(runs):
    gains, _ = runs
    fit = tp.identify(PUMA, gains.calibrated(as_currents(UNLOADED)))
    assert any("masses scale with these; calibrate them with a known mass" in note for note in fit.notes)
    other = as_currents(recorded(ARM.with_payload(1.3, (0.0, 0.04, 0.1)), 502))
    load = tp.identify_payload(fit, gains.calibrated(other), gain_uncertainty=gains.gain_uncertainty)
    assert load.mass == pytest.approx(1.3, rel=0.01)
    assert abs(load.mass - 1.3) < load.intervals().mass


def test_stated_gains_are_only_where_the_search_begins(runs):
    stated = np.array([70.0, 60.0, 45.0, 5.0, 6.0, 4.5])
    logs = [log.with_(tau=log.current * stated) for log in (as_currents(UNLOADED), as_currents(LOADED))]
    gains = tp.identify_gains(PUMA, *logs, mass=LOAD["mass"])
    assert np.allclose(gains.stated, stated)
    assert (np.abs(gains.values - runs[0].values) < 0.5 * runs[0].stderr).all()


def test_currents_that_count_the_other_way_have_negative_gains(runs):
    """The sign is that of the stated gains; nothing else changes."""
    sign, stated = np.array([1, -1, 1, 1, -1, 1]), np.array([70.0, 60.0, 45.0, 5.0, 6.0, 4.5])
    logs = [
        log.with_(current=log.current * sign, tau=log.current * stated) for log in map(as_currents, (UNLOADED, LOADED))
    ]
    gains = tp.identify_gains(PUMA, *logs, mass=LOAD["mass"])
    assert np.allclose(gains.stated, sign * stated)
    assert (np.abs(gains.values - sign * runs[0].values) < 0.5 * runs[0].stderr).all()
    assert 0 < gains.gain_uncertainty < 0.03
    assert gains.rows()[2][5] == "-60" and (gains.intervals()[:, 0] < gains.values).all()


def test_exchanged_logs_are_refused_as_such():
    with pytest.raises(NotIdentifiedError, match=r"The robot is lighter in .* than in .*logs with the load as loaded"):
        tp.identify_gains(PUMA, as_currents(LOADED), as_currents(UNLOADED), mass=LOAD["mass"])


def test_errors_of_gains_allow_for_noise_that_lasts(runs):
    """Currents that are off by 5 % for 2 s at a time."""

    def disturbed(log, seed):
        steps = np.repeat(np.random.default_rng(seed).normal(size=(8, 6)), 400, axis=0)
        return log.with_(current=log.current + 0.05 * log.current.std(axis=0) * steps)

    gains = tp.identify_gains(
        PUMA, disturbed(as_currents(UNLOADED), 0), disturbed(as_currents(LOADED), 1), mass=LOAD["mass"]
    )
    assert (np.abs(gains.values - GAINS) < 4 * gains.stderr).all()
    assert np.median(gains.stderr / runs[0].stderr) > 2


def test_the_mapping_states_the_gains(runs):
    gains, _ = runs
    motor = Columns.of(gains.columns).motor
    assert np.allclose(motor.torque_per_ampere, gains.values, rtol=1e-5)
    assert np.allclose(100 * np.array(gains.motor_table([100.0])["torque_per_ampere"]), gains.values, rtol=1e-5)
    assert gains.to_dict()["gains"][1]["stated"] is None
    assert "joint2" in repr(gains) and "<table>" in gains._repr_html_()


def test_a_log_without_the_load_is_refused():
    with pytest.raises(NotIdentifiedError, match=r"No load is seen|do not determine the gain"):
        tp.identify_gains(PUMA, as_currents(UNLOADED), as_currents(recorded(ARM, 502)), mass=2.0)


def test_joints_that_nothing_couples_are_named(tmp_path):
    """Two pendulums side by side: the mass on the second says nothing about the first one's gain."""
    arm = (
        '<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0"'
        ' ixz="0" iyz="0"/></inertial></link><joint name="j{0}" type="continuous"><parent link="base"/><child link="{0}"/>'
        '<axis xyz="0 1 0"/></joint>'
    )
    text = f'<robot name="pair"><link name="base"/>{arm.format("left")}{arm.format("right")}</robot>'
    (tmp_path / "pair.urdf").write_text(text)
    pair = tp.load(tmp_path / "pair.urdf")
    t, w = np.arange(0, 16, 0.005), np.array([1.1, 1.7])
    q = np.sin(np.outer(t, w))
    qd, qdd = w * np.cos(np.outer(t, w)), -(w**2) * q

    def log(robot, seed):
        tau = tp.inverse_dynamics(robot)(q, qd, qdd)
        noise = 0.01 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
        return tp.Log(t, q, current=(tau + noise) / [20.0, 30.0], names=robot.joint_names)

    loaded = log(pair.with_payload(1.0, (0.1, 0, 0), frame="right"), 1)
    with pytest.raises(NotIdentifiedError, match="do not determine the gain of jleft"):
        tp.identify_gains(pair, log(pair, 0), loaded, mass=1.0, at="right", terms=())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": 0}, "mass is 0, expected a finite number above 0"),
        ({"mass": 1e300}, r"mass is 1e\+300 kg, expected that of a load, 1e-06 to 1e\+06 kg"),
        ({"mass": 1e-300}, "mass is 1e-300 kg, expected that of a load"),
        ({"mass": 2.0, "at": "hand"}, "No frame 'hand'"),
        ({"mass": 2.0, "columns": {"motor": {"coupling": np.eye(6).tolist()}}}, "motor.coupling of the mapping mixes"),
    ],
)
def test_bad_settings_are_refused(change, words):
    with pytest.raises(TaupiError, match=words):
        tp.identify_gains(PUMA, as_currents(UNLOADED), as_currents(LOADED), **change)


def test_logs_without_currents_are_refused():
    with pytest.raises(TaupiError, match="loaded: current is missing in the log, which has q, tau"):
        tp.identify_gains(PUMA, as_currents(UNLOADED), LOADED, mass=2.0)
    with pytest.raises(TaupiError, match=r"loaded is \[\], expected a Log, a path"):
        tp.identify_gains(PUMA, as_currents(UNLOADED), [], mass=2.0)
    with refused("unloaded", got=3):
        tp.identify_gains(PUMA, [3], as_currents(LOADED), mass=2.0)
    with refused("robot", got="puma560"):
        tp.identify_gains("puma560", as_currents(UNLOADED), as_currents(LOADED), mass=2.0)


def test_the_most_likely_gain_of_one_joint_by_hand():
    """y = alpha Y x without, alpha Y (x + m) with the load: alpha is the difference of the two slopes over m."""
    y = np.linspace(-1, 1, 50)[:, None]
    without, with_load = np.column_stack([y, 0.5 * 3.0 * y]), np.column_stack([y, 0.5 * (3.0 + 2.0) * y])
    blocks = [CurrentRows(0, False, without, 50, 1.0), CurrentRows(0, True, with_load, 50, 1.0)]
    model = Model(np.ones((1, 1)), np.zeros(0), 2.0, np.zeros((0, 2)), np.zeros(0, dtype=int))
    solution = most_likely_gains(blocks, model, np.zeros(1), np.full((2, 1), 0.1))
    assert np.exp(solution.log_alpha) == pytest.approx(0.5, rel=1e-6)
    assert solution.x == pytest.approx(3.0, rel=1e-5)
