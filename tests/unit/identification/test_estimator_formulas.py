"""Estimators and statistics against their defining equations, written out over the stacked regressor with NumPy and SciPy."""

import numpy as np
import pytest
from estimation import FRICTION, SIGMA, crossed, rigid_log
from scipy.optimize import least_squares
from scipy.stats import t as student
from scipy.stats import ttest_1samp

import taupi as tp
from taupi.identification.estimators.ridge import _folds
from taupi.identification.results.uncertainty import StretchScores
from taupi.identification.rows.factors import JointFactor
from taupi.identification.solve import solve

# Iterations that stop when they have settled, and rounding.
SETTLED, ROUNDED = 1e-5, 1e-9


def dense(fit, log):
    """Return the stacked regressor (m, n, b) and the torque (m, n) of a log that was not filtered."""
    return fit.basis.regressor()(log.q, log.qd, log.qdd), log.tau


def outlying(samples=400, share=0.1):
    """Return a log of which a share of the torques is far off."""
    log, rng = rigid_log(samples=samples), np.random.default_rng(5)
    hit = rng.uniform(size=log.tau.shape) < share
    return log.with_(tau=log.tau + hit * rng.uniform(3, 6, log.tau.shape))


def test_huber_minimises_hubers_function():
    """sum rho(r / sigma), 80 % of |r| below 1.2816 sigma: its derivative vanishes, and SciPy's minimum is the same."""
    log = outlying()
    k = 1.345
    estimator = tp.estimators.Huber(k=k, iterations=300, tolerance=1e-10)
    fit = tp.identify(crossed(), log, estimator, FRICTION, slow=0)
    y, tau = dense(fit, log)
    r = tau - y @ fit.values
    sigma = np.quantile(np.abs(r), 0.8, axis=0) / 1.2816
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


@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e2])
def test_ridge_solves_its_normal_equations(weight):
    """(W^T W + weight (B S^2 B^T)^-1) (x - x_0) = W^T (z - W x_0), W and z over sigma, S the sizes of links and of friction."""
    log, guess = rigid_log(samples=300), crossed(scale=1.2)
    fit = tp.identify(guess, log, tp.estimators.Ridge(weight=weight), FRICTION, slow=0)
    y, tau = dense(fit, log)
    sigma = np.array([j.noise for j in fit.joints])
    w, z = (y / sigma[:, None]).reshape(-1, y.shape[2]), (tau / sigma).ravel()
    standard = tp.regressor(guess, terms=FRICTION)
    prior = standard.parameters.values
    sizes = []
    for ten in prior[:20].reshape(2, 10):
        mass, length = ten[0], np.sqrt((ten[4] + ten[7] + ten[9]) / 2 / ten[0])
        sizes += [mass, *[mass * length] * 3, *[mass * length**2] * 6]
    # Friction: what would explain all that the description leaves of a joint's torque, the median over joints.
    columns = standard(log.q, log.qd, log.qdd)
    left = np.linalg.norm(tau - columns @ prior, axis=0)
    for k, share in enumerate((1, 1, 0.1)):
        each = [left[j] / np.linalg.norm(columns[:, j, 20 + 2 * k + j]) for j in range(2)]
        sizes += [share * np.median(each)] * 2
    b = np.array([fit.basis.project(e) for e in np.eye(26)]).T
    held, start = weight * np.linalg.inv(b @ np.diag(np.square(sizes)) @ b.T), fit.basis.project(prior)
    want = start + np.linalg.solve(w.T @ w + held, w.T @ (z - w @ start))
    assert np.allclose(fit.values, want, rtol=1e-6, atol=1e-6)


def test_ridge_without_weight_is_weighted_least_squares():
    """Its errors too, through a filter, where rows are fewer independent samples."""
    log = rigid_log(samples=2000)
    log = tp.Log(log.time, log.q, tau=log.tau, names=log.names)
    plain, ridge = (
        tp.identify(crossed(), log, e, FRICTION, slow=0, cutoff_hz=10, trim=False)
        for e in (tp.estimators.WeightedLeastSquares(5), tp.estimators.Ridge(weight=0.0))
    )
    assert np.allclose(ridge.values, plain.values, rtol=1e-6, atol=1e-9)
    for name in ("stderr", "freedom", "shifts"):
        assert np.allclose(getattr(ridge, name), getattr(plain, name), rtol=1e-6), name


def periodic(seconds, period):
    """Return a log of the crossed arm that repeats a motion."""
    t = np.arange(int(seconds * 100)) / 100
    rng = np.random.default_rng(1)
    k = np.arange(1, 5)[:, None, None]
    w, a, phase = 2 * np.pi * k / period, rng.normal(size=(4, 1, 2)) / k**2, rng.uniform(0, 6, (4, 1, 2))
    angle = w * t[None, :, None] + phase
    q, qd, qdd = ((a * f).sum(axis=0) for f in (np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)))
    tau = tp.inverse_dynamics(crossed(), terms=FRICTION)(q, qd, qdd)
    tau += SIGMA * np.random.default_rng(2).normal(size=tau.shape)
    return rigid_log(samples=len(t)).with_(time=t, q=q, qd=qd, qdd=qdd, tau=tau)


def test_folds_of_ridge_leave_out_phases_of_a_motion_that_repeats():
    """Each fold is a fifth of each period; where stretches cannot tell phases apart, no gain is claimed."""
    problem = tp.estimators.build_problem(crossed(), periodic(30, 10.0), FRICTION, slow=0)
    folds = _folds(problem)
    stretches = max(f.stretch for f in problem.pieces) + 1
    for k, fold in enumerate(folds):
        phases = {((f.stretch + 0.5) / stretches * 3) % 1 for f in fold}
        assert all(k <= 5 * p < k + 1 + 1e-9 for p in phases) and len(fold) > 0
        assert {int((f.stretch + 0.5) / stretches * 3) for f in fold} == {0, 1, 2}  # of all three periods
    notes = tp.estimators.Ridge().fit(problem).notes
    assert any("better than no prior" in n for n in notes)
    fast = tp.estimators.build_problem(crossed(), periodic(30, 1.0), FRICTION, slow=0)
    notes = tp.estimators.Ridge().fit(fast).notes
    assert any("is not known" in n for n in notes) and not any("better than no prior" in n for n in notes)


def test_huber_does_not_take_standstill_for_the_noise():
    """A joint that is quiet for six tenths of a log: by the median, its noise would be that of standstill, a thirtieth."""
    log, rng = rigid_log(noise=0.0, samples=1000), np.random.default_rng(3)
    still = np.arange(1000) % 100 < 60
    noise = np.where(still[:, None], 0.02, 0.6) * rng.normal(size=(1000, 2))
    fit = tp.identify(crossed(), log.with_(tau=log.tau + noise), "huber", FRICTION, slow=0)
    assert all(0.2 < j.noise < 0.6 for j in fit.joints)
    assert not any("still moving" in note for note in fit.notes)


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
    stretches = StretchScores(pieces, {}, solution.x, solution.spread)
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


def test_the_shares_of_logs_are_those_of_their_leverages():
    """Of the hat matrix H = W (W^T W)^-1 W^T, the part of the trace that belongs to the rows of a log, over the whole trace."""
    logs = [rigid_log(samples=400), rigid_log(samples=150)]
    fit = tp.identify(crossed(), logs, tp.estimators.OrdinaryLeastSquares(), FRICTION, slow=0)
    parts = [dense(fit, log)[0].reshape(-1, len(fit.values)) for log in logs]
    inverse = np.linalg.inv(sum(w.T @ w for w in parts))
    shares = np.array([np.trace(w @ inverse @ w.T) for w in parts]) / len(fit.values)
    (note,) = [note for note in fit.notes if note.startswith("What determines")]
    assert [int(text.split()[-1]) for text in note.split(" %")[:2]] == np.round(100 * shares).astype(int).tolist()
    assert shares[0] > 0.6 and shares.sum() == pytest.approx(1.0)
