"""Recursive least squares: against the normal equations, forgetting and bounds; what it does at rest; a mass that it learns."""

import dataclasses

import numpy as np
import pytest
from fits import TERMS, friction_fit, friction_log
from refusals import refused
from support import error

import taupi as tp
from taupi.identification.online.recursive import upper_factor

ROUNDING = 1e-8


def motion(count, seed=0):
    """Return a motion of two joints that never stand, every 10 ms."""
    t = np.arange(count)[:, None] * 0.01
    rng = np.random.default_rng(seed)
    w, phase = np.array([2.0, 3.1]), rng.uniform(0, 6, 2)
    q = 0.8 * np.sin(w * t + phase)
    return q, 0.8 * w * np.cos(w * t + phase), -0.8 * w * w * np.sin(w * t + phase)


def unbounded(seconds):
    estimator = friction_fit().recursive_estimator(seconds)
    return dataclasses.replace(estimator, bounds=np.full(len(estimator.values), 1e9))


@pytest.mark.parametrize("seconds", [1e12, 0.5])
def test_it_solves_the_normal_equations(seconds):
    """Without a bound, information is that of all samples, each weighted by exp(-age / seconds)."""
    estimator = unbounded(seconds)
    q, qd, qdd = motion(60)
    rng = np.random.default_rng(1)
    tau = rng.normal(size=q.shape)
    state, dt = estimator.init(), 0.01
    information = np.linalg.inv(state.covariance)
    right = information @ state.values
    rows = estimator.program()
    for k in range(len(q)):
        values, state = estimator.step(state, q[k], qd[k], qdd[k], tau[k], dt)
        y, e, variance, grow = rows(q[k], qd[k], qdd[k], tau[k], dt)
        fade = 1 / grow**2
        assert grow == pytest.approx(np.exp(dt / 2 / seconds), rel=1e-12)
        information, right = fade * information, fade * right
        information += (y / variance[:, None]).T @ y
        right += y.T @ (e / variance)
    assert error(values, np.linalg.solve(information, right)) < ROUNDING
    assert error(state.covariance @ information, np.eye(len(values))) < 1e-6
    assert error(state.stderr, np.sqrt(np.diag(state.covariance))) == 0


def test_over_a_log_it_is_what_steps_are():
    estimator = friction_fit().recursive_estimator(5.0)
    q, qd, qdd = motion(300, seed=2)
    tau = np.random.default_rng(3).normal(size=q.shape)
    seconds = np.full(len(q), 0.01)
    over_log = estimator.over(seconds, (q, qd, qdd, tau))
    state = estimator.init()
    for k in range(len(q)):
        values, state = estimator.step(state, q[k], qd[k], qdd[k], tau[k], 0.01)
    assert error(over_log["parameters"][-1], values) < ROUNDING
    assert error(over_log["state"][-1], state.vector) < ROUNDING
    assert error(over_log["innovation"][-1], state.innovation) < ROUNDING


def test_standard_deviations_stay_within_their_bounds_and_rest_changes_nothing():
    estimator = friction_fit().recursive_estimator(seconds=0.2)
    state, q = estimator.init(), np.array([0.3, 0.4])
    rest, tau = np.zeros(2), np.array([3.0, 1.0])
    _, after = estimator.step(state, q, rest, rest, tau, 0.01)
    assert error(after.vector, state.vector) < 1e-12
    # One joint moves at a constant speed for a minute: few directions are excited, and none grows beyond its bound.
    for _ in range(2000):
        _, state = estimator.step(state, q, [0.8, 0.0], rest, tau, 0.03)
    assert (state.stderr <= estimator.bounds * (1 + 1e-9)).all()
    assert (state.stderr > 0.99 * estimator.bounds).any()
    assert np.isfinite(state.vector).all() and np.linalg.eigvalsh(state.covariance).min() > -1e-12


def test_it_learns_a_mass_that_was_added():
    fit = friction_fit()
    loaded = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2], offset=[0.1, -0.1])
    pi = loaded.parameters.values.copy()
    pi[10:14] *= 1.2
    loaded = loaded.with_parameters(pi)
    q, qd, qdd = motion(4000, seed=4)
    terms = ("viscous", tp.terms.Coulomb(0.02), "offset")
    rng = np.random.default_rng(0)
    tau = tp.inverse_dynamics(loaded, terms=terms)(q, qd, qdd) + 0.02 * rng.normal(size=q.shape)
    estimator = fit.recursive_estimator(seconds=5.0)
    truth = tp.base_parameters(loaded, terms=TERMS).parameters.values
    values = estimator.over(np.full(len(q), 0.01), (q, qd, qdd, tau))["parameters"]
    assert estimator.parameters.names == fit.names
    heavy = [k for k, name in enumerate(fit.names) if name.startswith(("forearm", "upper"))]
    before, after = np.abs(values[[0, -1]] - truth)[:, heavy].max(axis=1)
    assert after < 0.4 * before


def test_friction_that_depends_on_load_stays_that_of_the_fit():
    arm = tp.load("elbow2r").with_friction(viscous=0.4, coulomb=0.5, load=0.1)
    terms = ("viscous", "coulomb", "load")
    log = friction_log(1)
    q, qd, qdd = motion(1500, seed=5)
    tau = tp.inverse_dynamics(arm, terms=("viscous", tp.terms.Coulomb(0.03), "load"))(q, qd, qdd)
    fit = tp.identify(arm, tp.Log(np.arange(1500) * 0.01, q, tau=tau, names=log.names), terms=terms, cutoff_hz=15)
    estimator = fit.recursive_estimator()
    assert len(estimator.values) == len(fit.values) - 2
    last = estimator.over(np.full(1400, 0.01), tuple(x[:1400] for x in (q, qd, qdd, tau)))
    fast = (np.abs(qd[:1400]) > 0.2).all(axis=1)
    assert np.abs(last["innovation"][fast][100:]).max() < 0.1  # of some 20 N m


def test_a_covariance_may_be_singular():
    v = np.array([[1.0], [2.0], [0.5]])
    s = upper_factor(v @ v.T)
    assert error(s @ s.T, v @ v.T) < 1e-12 and np.abs(np.tril(s, -1)).max() == 0


def test_refusals():
    fit = friction_fit()
    with refused("seconds", got=-1):
        fit.recursive_estimator(-1)
    with pytest.raises(tp.TaupiError, match="tau has entries that are not finite"):
        estimator = fit.recursive_estimator()
        estimator.step(estimator.init(), *np.zeros((3, 2)), [np.inf, 0.0], 0.01)
