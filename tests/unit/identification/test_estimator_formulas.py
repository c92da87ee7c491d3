"""Estimators and statistics against their defining equations, written out over the stacked regressor with NumPy and SciPy."""

import numpy as np
import pytest
from estimation import FRICTION, SIGMA, crossed, rigid_log
from scipy.optimize import least_squares
from scipy.stats import t as student
from scipy.stats import ttest_1samp

import taupi as tp
from taupi.identification.results.uncertainty import Stretches
from taupi.identification.rows.factors import JointFactor
from taupi.identification.solve import solve

# Iterations that stop when they have settled, and rounding.
SETTLED, ROUNDED = 1e-5, 1e-9
# By how much a prior of friction is believed less than one of a body, as the estimator's documentation says.
FRICTION_SHARE = 0.03


def dense(fit, log):
    """Return the stacked regressor (m, n, b) and the torque (m, n) of a log that was not filtered."""
    return fit.basis.regressor()(log.q, log.qd, log.qdd), log.tau


def outlying(samples=400, share=0.1):
    """Return a log of which a share of the torques is far off."""
    log, rng = rigid_log(samples=samples), np.random.default_rng(5)
    hit = rng.uniform(size=log.tau.shape) < share
    return log.with_(tau=log.tau + hit * rng.uniform(3, 6, log.tau.shape))


def test_huber_minimises_hubers_function():
    """sum rho(r / sigma), sigma = 1.4826 median |r| of each joint: its derivative vanishes, and SciPy's minimum is the same."""
    log = outlying()
    k = 1.345
    estimator = tp.estimators.Huber(k=k, iterations=300, tolerance=1e-10)
    fit = tp.identify(crossed(), log, estimator, FRICTION, slow=0)
    y, tau = dense(fit, log)
    r = tau - y @ fit.values
    sigma = 1.4826 * np.median(np.abs(r), axis=0)
    assert [j.noise for j in fit.joints] == pytest.approx(sigma, rel=SETTLED)
    psi = np.clip(r / sigma, -k, k)
    score, size = (np.einsum("mn,mnb->b", a / sigma, b) for a, b in ((psi, y), (np.abs(psi), np.abs(y))))
    assert np.abs(score / size).max() < SETTLED

    def residuals(x):
        return ((tau - y @ x) / sigma).ravel()

    start = np.linalg.lstsq(y.reshape(-1, y.shape[2]), tau.ravel(), rcond=None)[0]
    other = least_squares(residuals, start, loss="huber", f_scale=k, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert np.allclose(fit.values, other.x, rtol=0, atol=0.01 * fit.stderr.min())
    assert np.abs((start - other.x) / fit.stderr).max() > 1  # least squares is elsewhere


@pytest.mark.parametrize("weight", [1e-4, 1e-2, 1.0])
def test_ridge_solves_its_normal_equations(weight):
    """(W^T W + weight D^2) x = W^T z + weight D^2 prior, W and z over sigma, D the lengths of W's columns."""
    log, guess = rigid_log(samples=300), crossed(scale=1.2)
    fit = tp.identify(guess, log, tp.estimators.Ridge(weight=weight), FRICTION, slow=0)
    y, tau = dense(fit, log)
    sigma = np.array([j.noise for j in fit.joints])
    w, z = (y / sigma[:, None]).reshape(-1, y.shape[2]), (tau / sigma).ravel()
    prior = fit.basis.project(tp.regressor(guess, terms=FRICTION).parameters)
    bodies = np.array([name.startswith("link") for name in fit.names])
    held = np.sum(w**2, axis=0) * np.where(bodies, 1.0, FRICTION_SHARE)
    want = np.linalg.solve(w.T @ w + weight * np.diag(held), w.T @ z + weight * held * prior)
    assert np.allclose(fit.values, want, rtol=ROUNDED, atol=ROUNDED)


def test_noise_of_weighted_least_squares_counts_its_parameters():
    """sigma_j^2 = |r_j|^2 / (m - trace of joint j's part of W (W^T W)^-1 W^T): with few samples, a tenth more than the rms."""
    log = rigid_log().decimate(20)
    fit = tp.identify(crossed(), log, tp.estimators.WeightedLeastSquares(iterations=60), FRICTION, slow=0)
    y, tau = dense(fit, log)
    noise = np.array([j.noise for j in fit.joints])
    w = y / noise[:, None]
    inverse = np.linalg.inv(np.einsum("mna,mnb->ab", w, w))
    decided = np.einsum("mna,ab,mnb->n", w, inverse, w)
    assert decided.sum() == pytest.approx(len(fit.values))
    squares = np.sum((tau - y @ fit.values) ** 2, axis=0)
    assert noise == pytest.approx(np.sqrt(squares / (len(log) - decided)), rel=SETTLED)
    assert (noise > 1.03 * np.sqrt(squares / len(log))).all()


def test_noise_of_weighted_least_squares_is_not_biased():
    """The mean of sigma^2 over many logs is the noise's own; the mean square of residuals is a fifth too small."""
    squares, plain = [], []
    for seed in range(60):
        log = rigid_log(seed=seed).decimate(25)
        fit = tp.identify(crossed(), log, "wls", FRICTION, slow=0)
        squares.append([j.noise**2 for j in fit.joints])
        plain.append([j.rms**2 for j in fit.joints])
    # Of 60 variances with some 33 degrees of freedom each, the mean is sure to sqrt(2 / 33 / 60) = 3 %; three times that.
    assert np.mean(squares, axis=0) / SIGMA**2 == pytest.approx([1, 1], abs=0.1)
    assert (np.mean(plain, axis=0) / SIGMA**2 < 0.9).all()


def test_a_mean_over_stretches_has_students_interval():
    """One column of ones: the interval is that of the means of K stretches, with K - 1 degrees of freedom."""
    rng = np.random.default_rng(2)
    tau = 3.0 + rng.normal(size=(6, 20)) + rng.normal(size=(6, 1))  # 6 stretches, each with something in common
    pieces = [
        JointFactor(0, 0, np.column_stack([np.ones(20), each]), 20, float(each.sum()), k) for k, each in enumerate(tau)
    ]
    solution = solve(np.vstack([f.r for f in pieces]), np.zeros(1))
    stretches = Stretches(pieces, {}, solution.x, solution.spread)
    covariance, (freedom,) = solution.spread @ stretches.meat @ solution.spread.T, stretches.freedom()
    assert freedom == pytest.approx(5) and solution.x[0] == pytest.approx(tau.mean())
    want = ttest_1samp(tau.mean(axis=1), 0).confidence_interval(0.95)
    half = student.ppf(0.975, freedom) * np.sqrt(covariance[0, 0])
    assert (solution.x[0] - half, solution.x[0] + half) == pytest.approx((want.low, want.high))


def test_r2_is_of_the_torque_about_its_mean():
    """1 - |r|^2 / |tau - mean|^2, of a poor fit to a torque that is mostly its mean: without the mean it would look good."""
    arm = crossed()
    log = rigid_log(noise=4.0, samples=600)
    log = log.with_(tau=log.tau + 40.0)
    fit = tp.identify(arm, log, tp.estimators.OrdinaryLeastSquares(), ("offset",))
    y, tau = dense(fit, log)
    left, about = np.sum((tau - y @ fit.values) ** 2, axis=0), np.sum((tau - tau.mean(axis=0)) ** 2, axis=0)
    assert [j.r2 for j in fit.joints] == pytest.approx(1 - left / about, rel=1e-6)
    assert (left / about > 10 * left / np.sum(tau**2, axis=0)).all()


def test_r2_of_a_validation_is_of_the_torque_about_its_mean():
    from excite import fourier

    log = fourier(crossed(), FRICTION, 4, 3000, 200.0, noise=1.0)
    log = log.with_(tau=log.tau + 40.0)
    fit = tp.identify(crossed(), log, "ols", ("offset",), cutoff_hz=10.0)
    seen = fit.validate(log)
    for j, joint in enumerate(seen.joints):
        for torque, r2 in ((seen.measured[:, j], joint.r2), (seen.raw[:, j], joint.raw_r2)):
            left = np.sum((torque - seen.predicted[:, j]) ** 2)
            assert r2 == pytest.approx(1 - left / (len(torque) * np.var(torque)))
            assert 1 - r2 > 10 * left / np.sum(torque**2)
