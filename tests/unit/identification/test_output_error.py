"""Motors alone: the simulation links springs against another integrator, its sensitivities, and what it finds."""

import dataclasses

import numpy as np
import pytest
import sprung
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import taupi as tp
from taupi.identification.friction.fitted_terms import base_with_terms, resolve_fit_terms
from taupi.identification.hidden_links.links import HiddenLinks

TERMS = ("coulomb", "viscous", "damping")
PENDULUM = tp.Robot.from_dh(
    [{"a": 0.4, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"}],
    links=[{"m": 2.0, "com": (-0.15, 0, 0), "inertia": ((0.01, 0, 0), (0, 0.03, 0), (0, 0, 0.03))}],
    gravity=(0, -9.81, 0),
).with_transmissions(stiffness=120.0, rotor_inertia=2e-5, gear_ratio=60, damping=0.1, viscous=0.4, coulomb=0.3)
ZOLLO = tp.load("zollo2r").with_transmissions(damping=5.0)


def motor_log(arm, rate=500.0, duration=2.0):
    """A motion of motors, as the simulation takes it: every half step, theta, thetad, thetadd."""
    t = np.arange(int(2 * duration * rate) + 1) / (2 * rate)
    w = np.array([5.0, 7.0])[: arm.n]
    return t, np.concatenate(
        [np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -(w**2) * np.sin(np.outer(t, w))], axis=1
    )


@pytest.mark.parametrize("arm", [PENDULUM, ZOLLO], ids=["one", "two"])
def test_the_simulation_is_that_of_another_integrator(arm):
    """SciPy's, on the package's inverse dynamics solved for the links by differences: not the same rows, nor the same steps."""
    n = arm.n
    base = base_with_terms(arm, resolve_fit_terms(TERMS, True), elastic=True)
    links, x = HiddenLinks(base), base.project(base.standard)
    t, motors = motor_log(arm)
    start = np.concatenate([motors[0, :n], np.zeros(n)])
    answer = links.run(x, start, motors, 1 / 500, 1)
    inverse = tp.elastic.inverse_dynamics(arm, terms=TERMS).compile("numpy")
    curve = CubicSpline(t, motors)

    def rate(s, state):
        theta = np.split(curve(s), 3)
        q, qd = state[:n], state[n:]
        rest = inverse(q, qd, np.zeros(n), *theta)[:n]
        m = np.stack([inverse(q, qd, e, *theta)[:n] - rest for e in np.eye(n)], axis=1)
        return np.concatenate([qd, np.linalg.solve(m, -rest)])

    at = np.arange(0, 200, 20) / 500
    other = solve_ivp(rate, (0, 0.4), start, t_eval=at, rtol=1e-7, atol=1e-9).y.T
    assert np.allclose(answer.q[:200:20], other[:, :n], atol=2e-4)  # RK4 with steps of 2 ms
    for k in (3, 8):
        q, qd = other[k, :n], other[k, n:]
        theta = np.split(curve(at[k]), 3)
        u = inverse(q, qd, rate(at[k], other[k])[n:], *theta)[n:]
        assert np.allclose(answer.torque[20 * k], u, rtol=2e-3, atol=2e-3 * np.abs(answer.torque).max())


def test_sensitivities_are_differences():
    base = base_with_terms(ZOLLO, resolve_fit_terms(TERMS, True), elastic=True)
    links, x = HiddenLinks(base), base.project(base.standard)
    _, motors = motor_log(ZOLLO, duration=0.5)
    start = np.concatenate([motors[0, :2], np.zeros(2)])
    slope = links.run(x, start, motors, 1 / 500, 1).slope
    for k in range(len(x) + 4):
        h = 1e-5 * max(1.0, abs(np.concatenate([x, start])[k]))
        sides = []
        for sign in (1, -1):
            v = np.concatenate([x, start])
            v[k] += sign * h
            sides.append(links.run(v[: len(x)], v[len(x) :], motors, 1 / 500, 1).torque)
        ours, difference = slope[:, :, k], (sides[0] - sides[1]) / (2 * h)
        assert np.abs(ours - difference).max() < 1e-4 * max(np.abs(difference).max(), 1e-3)


@pytest.fixture(scope="module")
def motor_fit():
    """Of the pendulum, with a description that is wrong by tens of percent."""
    guess = PENDULUM.with_transmissions(stiffness=170.0, rotor_inertia=1.5e-5, damping=0.3, viscous=0.0, coulomb=0.0)
    log = sprung.log_of(PENDULUM, terms=TERMS, duration=6.0, position_noise=1e-5, torque_noise=0.02, size=0.5)
    return tp.estimators.output_error(
        guess, dataclasses.replace(log, q=log.theta, theta=None), TERMS, cutoff_hz=30
    ), log


def test_parameters_are_found_without_seeing_the_link(motor_fit):
    fit, _ = motor_fit
    true = fit.basis.project(tp.elastic_regressor(PENDULUM, terms=TERMS).parameters)
    known = [k for k, n in enumerate(fit.names) if n.endswith(("stiffness", "mR", "coulomb", "viscous"))]
    assert np.allclose(fit.values[known], true[known], rtol=0.05)
    assert any("links were not measured" in note for note in fit.notes)
    assert fit.estimator == "output_error" and not fit.undetermined.any()


def test_intervals_cover_the_truth():
    """Noise in the torque, and no dry friction, whose jumps are no noise."""
    arm, terms = PENDULUM.with_transmissions(coulomb=0.0), ("viscous", "damping")
    inside = []
    for seed in range(5):
        log = sprung.log_of(arm, terms=terms, duration=4.0, rate=250.0, torque_noise=0.3, size=0.5, noise_seed=seed)
        fit = tp.estimators.output_error(arm, log, terms, cutoff_hz=30)
        low, high = fit.intervals().T
        true = fit.basis.project(tp.elastic_regressor(arm, terms=terms).parameters)
        inside.append((low < true) & (true < high))
    assert 0.8 <= np.mean(inside) <= 1.0


def test_both_encoders_or_one_give_the_same(motor_fit):
    fit, log = motor_fit
    other = tp.estimators.output_error(PENDULUM, log, TERMS, cutoff_hz=30)  # theta is taken, q is left
    assert np.allclose(other.values, fit.values, rtol=1e-3, atol=1e-3)


def test_it_predicts_another_log_and_is_saved(motor_fit, tmp_path):
    fit, _ = motor_fit
    tp.write_fit(fit, tmp_path / "fit.json")
    back = tp.load_fit(tmp_path / "fit.json")
    log = sprung.log_of(PENDULUM, terms=TERMS, duration=4.0, seed=5, size=0.5)
    seen = back.validate(dataclasses.replace(log, q=log.theta, theta=None))
    assert [j.name for j in seen.joints] == ["joint1.motor"] and seen.relative < 0.01
    tp.report(back, tmp_path / "report.html", [seen])
    assert "joint1.motor" in (tmp_path / "report.html").read_text()


def test_slow_motion_does_not_tell_the_spring():
    """Far below its frequency the link follows its motor: inertias add up, and the spring's interval is wide."""
    log = sprung.log_of(PENDULUM, terms=TERMS, duration=10.0, rate=200.0, steps=40, size=0.1, torque_noise=0.2)
    fit = tp.estimators.output_error(PENDULUM, log, TERMS, cutoff_hz=2.0)
    k = fit.names.index("joint1.stiffness")
    assert fit.undetermined[k] or fit.relative_error[k] > 0.1


def test_a_spring_far_from_the_described_one_is_found():
    guess = PENDULUM.with_transmissions(stiffness=600.0)
    log = sprung.log_of(PENDULUM, terms=TERMS, duration=6.0, size=0.5)
    fit = tp.estimators.output_error(guess, log, TERMS, cutoff_hz=30)
    assert fit.values[fit.names.index("joint1.stiffness")] == pytest.approx(120.0, rel=0.05)


def test_rigid_joints_are_refused():
    with pytest.raises(tp.TaupiError, match="expected a spring in every joint"):
        tp.estimators.output_error(ZOLLO.with_transmissions(stiffness=[3000, None]), sprung.log_of(ZOLLO, terms=TERMS))
    with pytest.raises(tp.TaupiError, match="no elastic joint"):
        tp.estimators.output_error(tp.load("elbow2r"), sprung.log_of(ZOLLO, terms=TERMS))


def test_bad_logs_are_refused():
    log = sprung.log_of(PENDULUM, terms=TERMS, duration=6.0, size=0.5)
    with pytest.raises(tp.TaupiError, match="tau is missing"):
        tp.estimators.output_error(PENDULUM, log.with_(tau=None))
    with pytest.raises(tp.TaupiError, match="expected a Log or the path"):
        tp.estimators.output_error(PENDULUM, 3)
    with pytest.raises(tp.TaupiError, match="The log has 1 joints"):
        tp.estimators.output_error(ZOLLO, log)


def test_a_stream_is_refused():
    with pytest.raises(tp.TaupiError, match=r"estimator output_error needs the whole log at once. Use stream=False"):
        tp.identify(PENDULUM, "run.csv", "output_error", stream=True)


@pytest.mark.parametrize(
    "unused",
    [{"decimate": 5}, {"derivatives": "spline"}, {"threshold": 0.1}, {"torque": "held"}, {"encoder_delay": 0.01}],
)
def test_settings_without_a_meaning_are_refused(unused):
    log = sprung.log_of(ZOLLO, terms=TERMS)
    with pytest.raises(tp.TaupiError, match=f"{next(iter(unused))} has no meaning for output_error"):
        tp.identify(ZOLLO, log, "output_error", TERMS, cutoff_hz=30, **unused)
