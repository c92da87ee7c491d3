"""Identification on simulated logs whose truth is known."""

import json

import numpy as np
import pytest
from excite import fourier, simulated
from refusals import refused

import taupi as tp
from taupi.errors import NotIdentifiedError, TaupiError

TERMS = ("rotor", "viscous", "coulomb", "offset")


@pytest.fixture(scope="module")
def arm():
    robot = tp.load("elbow2r")
    return robot.with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], offset=[0.3, -0.2]).with_transmissions(
        gear_ratio=[50, 50], rotor_inertia=[2e-5, 1e-5]
    )


def prepared(arm, seed=0, noise=0.0, samples=3000, outliers=0.0, correlated=0.0):
    """Return a log that needs no preparation: exact motion, friction as the fit takes it, and noise on the torque."""
    return simulated(arm, TERMS, seed, noise, samples, outliers, correlated)


def truth(fit, arm):
    """Return the base parameters of an arm that has neither friction that depends on load nor any that bends."""
    return fit.basis.project(tp.base_parameters(arm, terms=fit.terms).standard)


@pytest.mark.parametrize("estimator", ["ols", "wls", "huber", "ridge"])
def test_estimates_converge_as_noise_falls(arm, estimator):
    errors = []
    for noise in (1.0, 0.1, 0.01):
        fit = tp.identify(arm, prepared(arm, noise=noise), estimator, slow=0)
        errors.append(np.abs((fit.values - truth(fit, arm)) / np.linalg.norm(truth(fit, arm))).max())
    assert errors[1] < 0.3 * errors[0] and errors[2] < 0.3 * errors[1] and errors[2] < 1e-3


def test_without_noise_the_truth_is_met(arm):
    fit = tp.identify(arm, prepared(arm), slow=0)
    assert np.allclose(fit.values, truth(fit, arm), rtol=1e-8, atol=1e-8)
    assert fit.basis.project(fit.parameters) == pytest.approx(fit.values, rel=1e-8, abs=1e-8)
    assert all(j.relative < 1e-8 and j.r2 > 1 - 1e-12 for j in fit.joints)


def test_ols_is_numpy_lstsq_on_the_stacked_matrix(arm):
    problem = tp.estimators.build_problem(arm, [prepared(arm, 0, 0.5), prepared(arm, 1, 0.5)], terms=TERMS)
    rows = [(r.y, r.tau) for k in range(2) for r in problem.rows(k)]
    W = np.concatenate([y.transpose(2, 1, 0).reshape(-1, y.shape[0]) for y, _ in rows])
    tau = np.concatenate([t.ravel() for _, t in rows])
    want = np.linalg.lstsq(W, tau, rcond=None)[0]
    fit = tp.estimators.OrdinaryLeastSquares().fit(problem)
    assert np.allclose(fit.values, want, rtol=1e-9, atol=1e-10)
    left = (tau - W @ want).reshape(-1, 2)
    assert [j.rms for j in fit.joints] == pytest.approx(np.sqrt(np.mean(left**2, axis=0)))
    power = np.linalg.norm(tau.reshape(-1, 2), axis=0)
    assert [j.relative for j in fit.joints] == pytest.approx(np.linalg.norm(left, axis=0) / power)


def test_wls_solves_the_weighted_equations(arm):
    """Its own noise levels, put into a dense weighted problem, give its own answer.

    They are sigma_ij^2 = (s_j^2 + s_ij^2) / 2, with the noise s_ij that was added and s_j, its mean over the logs.
    """
    added = np.array([[0.2, 2.0], [1.0, 0.1]])
    logs = [prepared(arm, k, noise) for k, noise in enumerate(added)]
    problem = tp.estimators.build_problem(arm, logs, terms=TERMS, preparation=tp.Preparation(slow=0))
    from taupi.identification.weighting import weighted_least_squares

    solution, weights = weighted_least_squares(problem, 5)
    sigma = np.array([[1 / weights[f, j] for j in range(2)] for f in range(2)])
    assert sigma == pytest.approx(np.sqrt(0.5 * (np.mean(added**2, axis=0) + added**2)), rel=0.1)
    W, tau = [], []
    for k in range(2):
        for r in problem.rows(k):
            W.append((r.y.transpose(2, 1, 0) / sigma[k][:, None]).reshape(-1, r.y.shape[0]))
            tau.append((r.tau / sigma[k]).ravel())
    want = np.linalg.lstsq(np.concatenate(W), np.concatenate(tau), rcond=None)[0]
    assert np.allclose(solution.x, want, rtol=1e-7, atol=1e-8)


def test_full_covariance_uses_what_joints_share(arm):
    """Noise that both joints have in common is seen through the one that is left: a smaller error than with weights alone."""
    errors = {"diagonal": 0.0, "full": 0.0}
    for seed in range(6):
        log = prepared(arm, seed)
        common = np.random.default_rng(seed).normal(size=(len(log), 1)) * [1.0, 0.9]
        own = 0.05 * np.random.default_rng(seed + 99).normal(size=(len(log), 2))
        problem = tp.estimators.build_problem(arm, log.with_(tau=log.tau + common + own))
        for kind in errors:
            fit = tp.estimators.WeightedLeastSquares(covariance=kind).fit(problem)
            errors[kind] += float(np.sum(((fit.values - truth(fit, arm)) / fit.stderr) ** 2 * fit.stderr**2))
    assert errors["full"] < 0.5 * errors["diagonal"]


def test_huber_beats_ols_with_outliers(arm):
    log = prepared(arm, 3, 0.2, outliers=0.03)
    problem = tp.estimators.build_problem(arm, log, preparation=tp.Preparation(slow=0))
    ols, huber = tp.estimators.OrdinaryLeastSquares().fit(problem), tp.estimators.Huber().fit(problem)
    error = [np.linalg.norm((f.values - truth(f, arm)) / (1 + np.abs(truth(f, arm)))) for f in (ols, huber)]
    assert error[1] < 0.3 * error[0]


def test_ridge_goes_from_the_fit_to_the_prior(arm):
    problem = tp.estimators.build_problem(
        arm, prepared(arm, 0, 0.5), prior=tp.regressor(arm, terms=TERMS).parameters.values * 1.1
    )
    far, near = tp.estimators.Ridge(weight=1e9).fit(problem), tp.estimators.Ridge(weight=0).fit(problem)
    assert np.allclose(far.values, problem.prior_base, rtol=1e-3, atol=1e-3)
    assert np.allclose(near.values, tp.estimators.WeightedLeastSquares().fit(problem).values)


def test_ridge_chooses_to_believe_a_good_prior_on_a_poor_log(arm):
    slow = simulated(arm, TERMS, 5, 3.0, 300, speed=0.3)
    test = prepared(arm, 7)
    fits = {e: tp.identify(arm, slow, e, slow=0) for e in ("wls", "ridge")}
    errors = {e: f.validate(test, trim=False, cutoff_hz=20.0).relative for e, f in fits.items()}
    assert errors["ridge"] < errors["wls"]
    assert any("by cross-validation" in note for note in fits["ridge"].notes)


def test_intervals_cover_the_truth_with_correlated_noise(arm):
    """Noise of a correlation of 0.9 a sample: intervals that take it for white cover half as often."""
    inside, white, count = 0, 0, 0
    problem = None
    for seed in range(40):
        log = simulated(arm, TERMS, 11, 0.5, 2500, correlated=0.9, noise_seed=seed)
        problem = tp.estimators.build_problem(arm, log, preparation=tp.Preparation(slow=0))
        fit = tp.estimators.WeightedLeastSquares().fit(problem)
        true = truth(fit, arm)
        low, high = fit.intervals().T
        inside += int(((low <= true) & (true <= high)).sum())
        count += len(true)
        naive = np.linalg.norm(_spread(problem), axis=1)
        white += int((np.abs(fit.values - true) < 1.96 * naive).sum())
    assert 0.90 <= inside / count <= 0.99
    assert white / count < 0.85


def _spread(problem):
    from taupi.identification.weighting import weighted_least_squares

    return weighted_least_squares(problem, 5)[0].spread


def test_insignificant_parameters_are_flagged(arm):
    still = arm.with_friction(viscous=0, coulomb=0, offset=0)
    fit = tp.identify(still, prepared(still, 0, 1.0))
    names = [n for n, s in zip(fit.names, fit.significant, strict=True) if not s]
    assert sum(n.endswith((".viscous", ".coulomb", ".offset")) for n in names) >= 5
    assert "not significant" in repr(fit)


def test_a_joint_that_never_reverses(arm):
    """Its friction and offset are one number: the prediction on the log is right, and nothing explodes elsewhere."""
    log = prepared(arm, 0, 0.2)
    t = log.time[:, None]
    q = log.q.copy()
    q[:, 1] = (2.5 * t + 0.4 * np.sin(2 * t) + 0.3 * np.sin(3.3 * t))[:, 0]
    qd, qdd = log.qd.copy(), log.qdd.copy()
    qd[:, 1] = (2.5 + 0.8 * np.cos(2 * t) + 0.99 * np.cos(3.3 * t))[:, 0]
    qdd[:, 1] = (-1.6 * np.sin(2 * t) - 3.267 * np.sin(3.3 * t))[:, 0]
    tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd)
    noise = 0.1 * np.random.default_rng(0).normal(size=tau.shape)
    fit = tp.identify(arm, log.with_(q=q, qd=qd, qdd=qdd, tau=tau + noise), slow=0)
    assert "elbow never reverses: its coulomb and offset are one." in fit.notes
    lost = {n for n, u in zip(fit.names, fit.undetermined, strict=True) if u}
    assert lost == {"elbow.coulomb", "elbow.offset"}
    assert np.isinf(fit.stderr[fit.undetermined]).all() and not fit.significant[fit.undetermined].any()
    values = dict(zip(fit.names, fit.values, strict=True))
    assert values["elbow.coulomb"] + values["elbow.offset"] == pytest.approx(0.6, abs=0.05)
    # Prior friction 0.8 and offset -0.2 fit as they are, so that they stay.
    assert values["elbow.coulomb"] == pytest.approx(0.8, abs=0.05)
    assert fit.conditioning["regrouped_condition"] < 1e4


def test_a_joint_that_does_not_move_keeps_its_prior(arm):
    log = prepared(arm, 0, 0.2)
    hold = {
        k: np.column_stack([getattr(log, k)[:, 0], np.full(len(log), v)])
        for k, v in (("q", 0.3), ("qd", 0.0), ("qdd", 0.0))
    }
    tau = tp.inverse_dynamics(arm, terms=TERMS)(hold["q"], hold["qd"], hold["qdd"])
    fit = tp.identify(arm, log.with_(**hold, tau=tau))
    assert any("elbow does not move" in note for note in fit.notes)
    other = prepared(arm, 9)
    assert fit.validate(other, trim=False, cutoff_hz=20.0).relative < 0.01  # the prior is the truth here


def test_several_files_are_one_fit(arm):
    log = prepared(arm, 0, 0.3)
    parts = [log.rows(slice(0, 1000)), log.rows(slice(1000, 3000))]
    one, two = (tp.identify(arm, logs, "ols", terms=TERMS, slow=0) for logs in (log, parts))
    assert np.allclose(one.values, two.values, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("ending", ["npz", "parquet", "csv"])
def test_streamed_is_the_same_as_in_memory(arm, tmp_path, ending):
    log = fourier(arm, TERMS, 0, 12000, 500.0)
    path = tmp_path / f"run.{ending}"
    tp.write_log(log, path)
    settings = {"cutoff_hz": 20.0, "decimate": 2, "trim": False, "velocity": "position"}
    in_memory = tp.identify(arm, path, stream=False, **settings)
    streamed = tp.identify(arm, path, stream=True, block=4000, **settings)
    assert np.abs(streamed.values - in_memory.values).max() < 1e-9 * np.abs(in_memory.values).max()
    assert np.allclose(streamed.stderr, in_memory.stderr, rtol=1e-6)
    assert streamed.provenance["logs"][0]["sha256"] == in_memory.provenance["logs"][0]["sha256"] != ""
    assert any("streamed in blocks" in n for n in streamed.notes)


def test_validation_and_comparison(arm):
    fit = tp.identify(arm, fourier(arm, TERMS, 0, 6000, 200.0, noise=0.05), cutoff_hz=10.0)
    log = fourier(arm, TERMS, 1, 6000, 200.0, noise=0.5)
    seen = fit.validate(log)
    assert seen.relative < 0.02 < seen.raw_relative
    for j, e in enumerate(seen.joints):
        left = seen.measured[:, j] - seen.predicted[:, j]
        assert e.rms == pytest.approx(np.sqrt(np.mean(left**2)))
        assert e.relative == pytest.approx(np.linalg.norm(left) / np.linalg.norm(seen.measured[:, j]))
        assert e.r2 == pytest.approx(
            1 - np.sum(left**2) / np.sum((seen.measured[:, j] - seen.measured[:, j].mean()) ** 2)
        )
    rows = np.rint((seen.time - log.time[0]) * 200).astype(int)
    assert np.allclose(seen.raw, log.tau[rows])
    poor = tp.identify(arm, fourier(arm, TERMS, 0, 6000, 200.0, noise=0.05), terms=(), cutoff_hz=10.0)
    both = tp.compare(fit, poor, log)
    assert both.first.relative < both.second.relative and "predicts log better" in both.summary
    assert tp.compare(fit, fit, log).summary.startswith("consistent and consistent predict log alike: ")
    assert fit.predict(log).shape == (6000, 2)


def test_a_fit_reads_back_from_plain_data(arm):
    fit = tp.identify(arm, prepared(arm, 0, 0.3))
    again = tp.Fit.from_dict(json.loads(json.dumps(fit.to_dict())), arm)
    assert np.array_equal(again.values, fit.values) and np.allclose(again.covariance, fit.covariance)
    assert again.terms == fit.terms and repr(again) == repr(fit)
    with pytest.raises(TaupiError, match="another elbow2r"):
        tp.Fit.from_dict(fit.to_dict(), tp.load("elbow2r"))


def test_coupled_motors_have_friction_of_their_own(arm):
    """A log on the joints' side of a wrist whose second motor turns with both joints: its friction is found."""
    log = prepared(arm, 0)
    speed = log.qd.sum(axis=1, keepdims=True)
    tau = log.tau + np.tanh(speed / (0.01 * np.abs(speed).max())) * 0.9 + 0.4 * speed
    rng = np.random.default_rng(0)
    columns = {"motor": {"coupling": [[1, 0], [-1, 1]]}}
    fit = tp.identify(arm, log.with_(tau=tau + 0.02 * rng.normal(size=tau.shape)), columns=columns, slow=0)
    values = dict(zip(fit.names, fit.values, strict=True))
    assert values["motor2.coulomb"] == pytest.approx(0.9, abs=0.05)
    # On viscous friction and rotors the motor is one with the cross term; on friction of the joints it adds to both.
    assert any(n.startswith("motor2.viscous") for n in fit.names)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimator": "lms"}, "No estimator 'lms'"),
        ({"estimator": 3}, "estimator is 3, expected one of"),
        ({"terms": ("viscos",)}, "Did you mean 'viscous'"),
        ({"logs": []}, "logs is .*, expected a Log, a path"),
        ({"logs": [3]}, "logs holds 3, expected a Log"),
        ({"logs": "nowhere.csv"}, "nowhere.csv"),
        ({"prior": [1.0, 2.0]}, "prior has shape"),
        ({"slow": -1.0}, "slow is -1.0, expected"),
        ({"cutoff_hz": -3.0}, "cutoff_hz"),
        ({"base": "x"}, "base is for another robot"),
        ({"workers": 0}, "workers is 0, expected a whole number"),
        ({"rate_hz": -1}, "rate_hz is -1, expected"),
        ({"decimate": 0}, "decimate is 0, expected"),
        ({"robot": "x"}, "robot is 'x', expected a Robot"),
    ],
)
def test_bad_input_is_one_sentence(arm, change, words):
    keywords = {"robot": arm, "logs": fourier(arm, TERMS, 0, 600, 100.0)} | change
    with pytest.raises(TaupiError, match=words) as error:
        tp.identify(keywords.pop("robot"), keywords.pop("logs"), **keywords)
    assert "\n" not in str(error.value)


def test_bad_logs(arm):
    log = fourier(arm, TERMS, 0, 600, 100.0)
    with pytest.raises(TaupiError, match="The log has 1 joints"):
        tp.identify(arm, log.select([0]))
    with pytest.raises(TaupiError, match="tau is missing"):
        tp.identify(arm, log.with_(tau=None))
    with refused("covariance"):
        tp.estimators.WeightedLeastSquares(covariance="fll")
    with refused("k"):
        tp.estimators.Huber(k=0)
    with refused("weight"):
        tp.estimators.Ridge(weight=-1)
    fit = tp.identify(arm, log)
    with refused("level"):
        fit.intervals(2)
    with pytest.raises(TaupiError, match="No setting 'cutof'"):
        fit.validate(log, cutof=3)


def after_standstill(arm, still, seconds=20.0, rate=200.0):
    """Return a log that stands still for so many seconds, then moves."""
    t = np.arange(0, still + seconds, 1 / rate)
    moves, w = (t > still)[:, None], np.array([[1.0, 1.4], [2.3, 3.1], [4.1, 4.9]])
    angle = w * np.clip(t - still, 0, None)[:, None, None]
    q, qd, qdd = (1 - np.cos(angle)).sum(axis=1), (w * np.sin(angle)).sum(axis=1), (w * w * np.cos(angle)).sum(axis=1)
    tau = tp.inverse_dynamics(arm, terms=("viscous", tp.terms.Coulomb(0.05)))(q, moves * qd, moves * qdd)
    tau = tau + np.random.default_rng(0).normal(0, 0.1, q.shape)
    return tp.Log(t, q, tau=tau, names=arm.joint_names)


@pytest.mark.parametrize("beside", [False, True])
def test_a_standstill_longer_than_what_choices_are_made_on_does_not_matter(arm, monkeypatch, beside):
    monkeypatch.setattr("taupi.identification.rows.recording.HEAD", 600)
    monkeypatch.setattr("taupi.identification.rows.recording._BEFORE", 100)
    late = after_standstill(arm, 30.0)
    logs = [after_standstill(arm, 0.0), late] if beside else late
    fit = tp.identify(arm, logs, terms=("viscous", "coulomb"))
    assert any("samples at the start" in note for note in fit.notes)
    assert fit.base["shoulder.coulomb"] == pytest.approx(1.5, rel=0.03)
    assert fit.base["elbow.coulomb"] == pytest.approx(0.8, rel=0.03)
    assert any(note.startswith("dry friction ") for note in fit.notes)


def test_rows_that_are_all_too_slow_are_told(arm):
    log = fourier(arm, TERMS, 0, 2000, 200.0, noise=0.05)
    with pytest.raises(NotIdentifiedError, match="0 samples are left, 0 equations for"):
        tp.identify(arm, log, threshold=1e3)


def test_a_short_log_keeps_the_cutoff_that_it_is_long_enough_for(arm):
    log = fourier(arm, TERMS, 0, 300, 200.0, noise=100.0)  # the model explains none of it, so lower cutoffs are tried
    fit = tp.identify(arm, log, "wls")
    assert fit.cutoffs.half_hz is None and fit.cutoffs.least_hz == pytest.approx(16 / 1.5, rel=0.02)
    suggested = tp.signals.choose_cutoff(log.q, 200.0).hz
    assert fit.provenance["logs"][0]["cutoff_hz"] == pytest.approx(max(suggested, 16 / 1.5), rel=0.02)


def test_friction_whose_shape_is_stated_for_some_joints_is_sgn_for_the_others():
    arm = tp.load("puma560")
    log = fourier(arm, (), 0, 2000, 200.0, noise=0.05)
    fit = tp.identify(arm, log, "wls", terms=(tp.terms.Coulomb((0.0, 0.0, 0.02, 0.02, 0.02, 0.02)),), cutoff_hz=10.0)
    said = next(note for note in fit.notes if note.startswith("dry friction is tanh"))
    assert said.endswith(": joint3 0.02, joint4 0.02, joint5 0.02, joint6 0.02")
