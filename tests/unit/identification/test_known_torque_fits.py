"""Known torques in fits: added to the measured torque, subtracted from the predicted one, and saved with the fit."""

import json

import numpy as np
import pytest
import sprung
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

ARM = tp.load("elbow2r").with_friction(viscous=[2.0, 1.0])
TERMS = ("viscous", "offset")
FORMULA = {"elbow": "12*sin(q1 + q2) - 3"}


def spring(q):
    """Return the counterbalance that FORMULA states, written anew."""
    return np.stack([0 * q[:, 0], 12 * np.sin(q.sum(axis=1)) - 3], axis=1)


def motion(phase=0.0):
    t, w = np.arange(3000)[:, None] / 100, np.array([1.0, 1.7])
    return t[:, 0], (np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase))


def recorded(phase=0.0, column=False, balanced=True):
    """Return a log of an arm whose motors are helped by a counterbalance, which may be recorded too."""
    t, x = motion(phase)
    tau = tp.inverse_dynamics(ARM, terms=TERMS)(*x)
    tau = tau - spring(x[0]) if balanced else tau
    return tp.Log(t, x[0], tau=tau, tau_known=spring(x[0]) if column else None, names=ARM.joint_names)


def fitted(log, **settings):
    return tp.identify(ARM, log, "wls", TERMS, cutoff_hz=20, **settings)


WITHOUT = fitted(recorded(balanced=False))


def same(fit, tolerance=1e-5):
    return np.abs(fit.values - WITHOUT.values).max() < tolerance * np.abs(WITHOUT.values).max()


@pytest.mark.parametrize(
    "fit",
    [
        lambda: fitted(recorded(), known_torque=FORMULA),
        lambda: fitted(recorded(), known_torque=["elbow = 12*sin(q1 + q2) - 3"]),
        lambda: fitted(recorded().with_(known_torque=FORMULA)),
        lambda: fitted(recorded(column=True)),
        lambda: fitted([recorded().with_(known_torque=FORMULA), recorded(1.0, balanced=False)]),
        lambda: fitted([recorded(1.0, column=True), recorded().with_(known_torque=FORMULA)]),
    ],
)
def test_the_arm_is_the_one_without_its_counterbalance(fit):
    assert same(fit()) and not same(fitted(recorded()))


def test_it_is_saved_with_the_fit_and_subtracted_from_what_it_predicts(tmp_path):
    for fit in (fitted(recorded(), known_torque=FORMULA), fitted(recorded().with_(known_torque=FORMULA))):
        assert fit.preparation.known_torque == ("elbow = 12*sin(q1 + q2) - 3",)
        assert any("known torque added" in note for note in fit.notes)
        tp.write_fit(fit, tmp_path / "fit.json", force=True)
        loaded = tp.load_fit(tmp_path / "fit.json")
        t, (q, qd, qdd) = motion(1.0)
        log = recorded(1.0)
        for one in (fit, loaded):
            validation = one.validate(log)
            assert validation.relative < 1e-4 and validation.raw_relative < 1e-4
            middle = slice(300, -300)
            predicted = one.predict(tp.Log(t, q, qd=qd, qdd=qdd))
            assert np.abs(predicted - log.tau)[middle].max() < 1e-3 * np.abs(log.tau).max()


def test_the_measured_torque_is_what_a_validation_compares():
    """Not its sum with the known one: the motor has to deliver this much."""
    fit, log = fitted(recorded(), known_torque=FORMULA), recorded(1.0)
    validation = fit.validate(log)
    at = np.rint((validation.time - log.time[0]) * 100).astype(int)
    assert np.abs(validation.measured - log.tau[at]).max() < 1e-3 * np.abs(log.tau).max()
    assert np.array_equal(validation.raw, log.tau[at])


def test_a_log_that_states_its_own_is_taken_with_that():
    fit = fitted(recorded(), known_torque=FORMULA)
    bare = recorded(1.0, balanced=False).with_(known_torque={"elbow": "0"})
    assert fit.validate(bare).relative < 1e-4
    assert fit.validate(recorded(1.0, balanced=False)).relative > 0.1
    assert fitted(recorded(column=True)).validate(recorded(1.0, column=True)).relative < 1e-4


def test_logs_that_state_different_ones_leave_none_to_the_fit():
    fit = fitted([recorded().with_(known_torque=FORMULA), recorded(1.0, balanced=False)])
    assert fit.preparation.known_torque == () and fit.validate(recorded(2.0, balanced=False)).relative < 1e-4


def test_mappings_of_files_state_it_streamed_or_not(tmp_path):
    log = recorded()
    tp.write_log(log, tmp_path / "run.csv")
    (tmp_path / "spring.toml").write_text('[known_torque]\nelbow = "12*sin(q1 + q2) - 3"\n')
    for stream in (True, False):
        fit = fitted(tmp_path / "run.csv", columns=tmp_path / "spring.toml", stream=stream)
        assert same(fit) and fit.preparation.known_torque


def test_on_elastic_joints_it_acts_on_the_links():
    robot = tp.load("zollo2r")
    log = sprung.log_of(robot, position_noise=0.0, torque_noise=0.0)
    settings = {
        "terms": ("coulomb", "viscous"),
        "cutoff_hz": 12.0,
        "slow": 0.05,
        "torque": "sampled",
        "encoder_delay": 0.0,
    }
    want = tp.identify(robot, log, "wls", **settings)
    pull = 5 * np.cos(log.q[:, 1])
    # A link that is pulled by k needs its spring to give k less: theta moves back by k / K, and the motor gives k less.
    stiffness = float(dict(zip(want.names, want.values, strict=True))["joint2.stiffness"])
    theta, tau = log.theta.copy(), log.tau.copy()
    theta[:, 1] -= pull / stiffness
    tau[:, 1] -= pull
    fit = tp.identify(robot, log.with_(theta=theta, tau=tau), "wls", known_torque={"joint2": "5*cos(q2)"}, **settings)
    k = want.names.index("joint2.stiffness")
    assert fit.values[k] == pytest.approx(want.values[k], rel=0.02)


def test_a_description_has_no_place_for_it(tmp_path):
    fit = tp.identify(ARM, recorded(), "feasible", TERMS, cutoff_hz=20, known_torque=FORMULA)
    with pytest.raises(TaupiError, match=r"Known torques have no place in a description: elbow = 12\*sin"):
        tp.write_toml(fit, tmp_path / "arm.toml")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"wrist": "q1"}, "known_torque: No joint 'wrist'"),
        ({"elbow": "q3"}, "there are 2 joints"),
        ({"elbow": "open('x')"}, "known_torque of elbow is"),
    ],
)
def test_bad_torques(known, message):
    with pytest.raises(TaupiError, match=message):
        fitted(recorded(), known_torque=known)


def test_output_error_refuses_what_it_cannot_use():
    robot = tp.load("zollo2r")
    log = sprung.log_of(robot, position_noise=0.0, torque_noise=0.0)
    with refused("known_torque", output_error="output_error"):
        tp.identify(robot, log, "output_error", known_torque={"joint1": "1"})
    with pytest.raises(TaupiError, match="The log states a known torque"):
        tp.identify(robot, log.with_(known_torque={"joint1": "1"}), "output_error")


def test_delays_of_rigid_joints_are_undone():
    t, (q, qd, qdd) = motion()
    tau = tp.inverse_dynamics(ARM, terms=TERMS)(q, qd, qdd)
    late = np.stack([np.interp(t - d, t, q[:, j]) for j, d in enumerate((0.02, 0.0))], axis=1)
    log = tp.Log(t, late, tau=tau, names=ARM.joint_names)
    want = fitted(tp.Log(t, q, tau=tau, names=ARM.joint_names), begin=1)

    def off(fit):
        return np.abs(fit.values - want.values).max() / np.abs(want.values).max()

    by_option, stated = (
        fitted(log, begin=1, encoder_delay=(0.02, 0)),
        fitted(log.with_(delays={"q": (0.02, 0)}), begin=1),
    )
    assert off(by_option) < 1e-3 and off(stated) < 1e-3 and off(fitted(log, begin=1)) > 1e-2
    assert by_option.validate(log).relative < 0.01 and json.loads(json.dumps(by_option.to_dict()))


def test_friction_that_depends_on_load_sees_what_passes_through_the_gear():
    """The counterbalance acts beside the gear: the gear carries what is left."""
    t, (q, qd, qdd) = motion()
    rng = np.random.default_rng(0)
    rigid, s, known = tp.inverse_dynamics(ARM)(q, qd, qdd), np.tanh(qd / 0.05), spring(q)
    tau = rigid + 2.0 * qd + (0.5 + 0.1 * np.abs(rigid - known)) * s - known
    log = tp.Log(t, q, tau=tau + rng.normal(0, 0.01, q.shape), names=ARM.joint_names)
    settings = {"terms": ("viscous", "coulomb", "load"), "cutoff_hz": 20, "slow": 0.05}
    fit = tp.identify(ARM, log, "wls", known_torque=FORMULA, **settings)
    values = dict(zip(fit.names, fit.values, strict=True))
    assert values["elbow.load"] == pytest.approx(0.1, abs=0.005)
    assert values["elbow.coulomb"] == pytest.approx(0.5, abs=0.03)
    middle = slice(300, -300)
    predicted = fit.predict(tp.Log(t, q, qd=qd, qdd=qdd))
    assert np.abs(predicted - tau)[middle].max() < 0.01 * np.abs(tau).max()
