"""Friction that follows: the filter against least squares, a fit's torque, a drift that is found, what is refused."""

import dataclasses

import casadi as cs
import numpy as np
import pytest
from fits import FRICTION, TERMS, friction_fit, friction_log
from refusals import refused
from support import error

import taupi as tp
from taupi.identification.online.tracker import FrictionFilter, filter_program
from taupi.identification.results.online_model import online_model

ROUNDING = 1e-9


def rolled(filtering, x, e, seconds):
    """Run the filter over rows in Python, and return its last state."""
    step, state = filter_program(filtering), filtering.start()
    for row, torque in zip(x, e, strict=True):
        _, state = step(row, torque, state, seconds)
    return state


def test_without_drift_it_is_least_squares_with_a_prior():
    rng = np.random.default_rng(0)
    spreads, noise = rng.uniform(0.5, 2.0, (2, 3)), np.array([0.1, 0.3])
    filtering = FrictionFilter(spreads, noise, cutoff_hz=5.0, seconds=1e15)
    x, truth = rng.normal(size=(40, 2, 3)), rng.normal(size=(2, 3))
    x[:, :, 2] = 1
    e = np.sum(x * truth, axis=2) + noise * rng.normal(size=(40, 2))
    dt = 0.02  # 2 x 5 Hz x 0.02 s: a row is worth a fifth of an independent sample
    state = rolled(filtering, x, e, dt)
    for j in range(2):
        weight = np.sqrt(0.2) / noise[j]
        rows = np.concatenate([weight * x[:, j], np.diag(1 / spreads[j])])
        wanted = np.linalg.lstsq(rows, np.concatenate([weight * e[:, j], np.zeros(3)]), rcond=None)[0]
        assert error(state[3 * j : 3 * j + 3], wanted) < ROUNDING
        covariance = np.linalg.inv(rows.T @ rows)
        upper = covariance[np.triu_indices(3)]
        assert error(state[6 + 6 * j : 12 + 6 * j], upper) < ROUNDING


def test_a_careful_filter_ignores_rest_and_clips_surprises():
    spreads, noise = np.ones((1, 3)), np.array([0.1])
    careful = FrictionFilter(spreads, noise, 5.0, 60.0, 0.9, 3.0)
    start, x = careful.start(), np.array([[[0.1, 0.5, 1.0]]])
    assert error(rolled(careful, x, np.array([[4.0]]), 0.1), start) == 0  # it stands
    x[..., 1] = 1.0
    moved = [rolled(careful, x, np.array([[e]]), 0.1)[:3] for e in (50.0, 500.0)]
    assert error(moved[0], moved[1]) == 0 and np.abs(moved[0]).max() > 0.1


def test_a_change_counts_by_as_much_as_it_is_sure():
    """x^T theta less two of its standard errors, towards zero: after a motion one way, nothing is sure of the other way."""
    filtering = FrictionFilter(np.array([[0.2, 0.3, 0.3]]), np.array([0.01]), 5.0, 60.0, 0.9, 3.0)
    rng = np.random.default_rng(0)
    one_way = np.stack([rng.uniform(0.2, 1.0, 400), np.ones(400), np.ones(400)], axis=1)[:, None]
    state = rolled(filtering, one_way, one_way @ [0.05, 0.2, 0.0], 0.1)
    theta, upper = state[:3], state[3:]
    covariance = np.zeros((3, 3))
    covariance[np.triu_indices(3)] = upper
    covariance += np.triu(covariance, 1).T
    for x, known in (([0.6, 1.0, 1.0], True), ([-0.6, -1.0, 1.0], False)):
        row = np.array(x)
        change, doubt = row @ theta, 2 * np.sqrt(row @ covariance @ row)
        sure = float(filtering.sure_correction([cs.SX(cs.DM(row))], cs.SX(cs.DM(state))))
        assert sure == pytest.approx(np.sign(change) * max(abs(change) - doubt, 0), abs=1e-12)
        assert (abs(sure - row @ [0.05, 0.2, 0.0]) < 0.02) if known else sure == 0


def test_the_model_of_a_fit_has_its_torque():
    fit = friction_fit()
    tracker = fit.tracker()
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, 20, 2))
    state = tracker.init()
    predicted = np.array([tracker.step(state, *x, np.zeros(2), 0.01)[0] for x in zip(q, qd, qdd, strict=True)])
    terms = online_model(fit).terms
    truth = tp.inverse_dynamics(fit.robot_identified(), terms=terms)(q, qd, qdd)
    assert error(predicted, truth) < 1e-6
    assert (
        error(
            predicted,
            np.einsum("kij,j->ki", tp.base_parameters(fit.robot, terms=terms).regressor()(q, qd, qdd), fit.values),
        )
        < ROUNDING
    )


def test_terms_without_a_place_in_a_robot_are_kept():
    """Springs, and friction along a motor that two joints turn: the torque is that of the fit's own regressor."""
    arm = tp.load("elbow2r")
    along = tp.terms.Along("motor2", tp.terms.Viscous(), (1, 1))
    terms = ("rotor", "viscous", "coulomb", "spring", along)
    log = friction_log(3)
    fit = tp.identify(arm, log, terms=terms, cutoff_hz=15, estimator="wls")
    tracker = fit.tracker()
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 20, 2))
    own = dataclasses.replace(fit.basis, terms=(*tracker.model.terms, *tracker.model.apart))
    place = [own.names.index(name) for name in fit.names]
    y = fit.basis.regressor().compile("numpy")
    assert place == list(range(len(place)))
    sharp = np.einsum("kij,j->ki", y(q, qd, qdd), fit.values)
    smooth = [tracker.step(tracker.init(), *x, np.zeros(2), 0.01)[0] for x in zip(q, qd, qdd, strict=True)]
    fast = (np.abs(qd) > 0.3).all(axis=1)  # where the shape of dry friction does not matter
    assert error(np.array(smooth)[fast], sharp[fast]) < 1e-3


def test_a_change_of_friction_is_found_and_predicted():
    fit = friction_fit()
    changed = {**FRICTION, "coulomb": [0.7, 0.1]}
    arm = tp.load("elbow2r").with_friction(**changed)
    t = np.arange(0, 40, 0.005)
    w, a = np.array([1.1, 1.7, 0.9]), np.array([[0.8, 0.3], [0.3, 0.5], [0.4, 0.7]])
    q, qd, qdd = np.sin(np.outer(t, w)) @ a, (np.cos(np.outer(t, w)) * w) @ a, -(np.sin(np.outer(t, w)) * w**2) @ a
    rng = np.random.default_rng(5)
    tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd) + 0.02 * rng.normal(size=q.shape)
    tracking = fit.track(tp.Log(t, q, tau=tau, names=arm.joint_names))
    assert tracking.relative < 0.5 * tracking.plain_relative
    assert np.abs(tracking.theta[-1, :, 1] - [0.3, -0.1]).max() < 0.05
    assert np.abs(tracking.theta[-1, :, [0, 2]]).max() < 0.05
    assert (
        tracking.theta[: int(1 / 15 / (tracking.time[1] - tracking.time[0]))] == 0
    ).all()  # one period of the filter
    assert "online error" in tracking.summary and "held-out" in type(tracking).__doc__
    assert tracking.to_dict()["online_relative"] == tracking.relative
    tracker, state, missed = fit.tracker(), fit.tracker().init(), []
    for k in range(0, len(t), 4):
        predicted, state = tracker.step(state, q[k], qd[k], qdd[k], tau[k], 0.02)
        missed.append(state.innovation)
    assert (
        np.abs(state.theta[:, 1] - [0.3, -0.1]).max() < 0.15
    )  # its dry friction builds up over 1 % of the largest speed
    assert np.sqrt(np.mean(np.square(missed[-500:]))) < 0.08  # the torque's noise is 0.02, the change was 0.3
    assert error(state.innovation, tau[k] - predicted) < ROUNDING
    assert (state.stderr > 0).all() and (state.stderr[:, 1] < fit.tracker().init().stderr[:, 1]).all()


def test_refusals():
    fit = friction_fit()
    with refused("seconds", got=0):
        fit.tracker(seconds=0)
    with refused("state", expected="tracker"):
        fit.tracker().step(tp.momentum_observer(fit).init(), *np.zeros((4, 2)), dt=0.01)
    with pytest.raises(tp.TaupiError, match="terms are those of the fit"):
        tp.momentum_observer(fit, terms=("viscous",))
    prepared = tp.prepare(friction_log(2), cutoff_hz=15)
    assert fit.track(prepared).relative < 0.1  # it is prepared once more, as for validation


def test_what_an_observer_lags_behind_friction_lags_alike():
    """x' = K (input - x) by the implicit rule: after one step x + K dt / (1 + K dt) (input - x), in the end the input."""
    filtering = FrictionFilter(np.ones((2, 3)), np.full(2, 0.1), cutoff_hz=5.0)
    symbols = [cs.SX.sym(name, size) for name, size in (("r", 2), ("s", 2), ("qd", 2), ("state", 4 + 18))]
    step = cs.Function("step", symbols, filtering.follow(*symbols, cs.SX(0.01), 30.0))
    s, qd, first = np.array([0.3, -0.8]), np.array([0.5, 1.5]), np.array([2.0, 1.0, -1.0, 0.4])
    state = np.concatenate([first, filtering.start()])
    states = []
    for _ in range(200):
        _, state = (np.asarray(x).ravel() for x in step(np.zeros(2), s, qd, state))
        states.append(state[:4])
    share = 0.3 / 1.3
    np.testing.assert_allclose(states[0], first + share * (np.concatenate([qd, s]) - first), rtol=1e-12)
    np.testing.assert_allclose(states[-1], np.concatenate([qd, s]), rtol=1e-12)


def test_an_observer_learns_friction_from_sliding_joints_alone():
    observer, tracker = tp.momentum_observer(friction_fit(), tracker=True), friction_fit().tracker()
    assert observer.tracker.least_s > 0 and observer.tracker.clip is not None
    assert tracker.filter.least_s < 0 and tracker.filter.clip is None
