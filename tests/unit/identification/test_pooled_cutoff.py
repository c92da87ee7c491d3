"""One cutoff for all logs, and one for predictions; weights that a log without torque cannot capture; what parts decide."""

import dataclasses

import numpy as np
import pytest
import scipy.signal

import taupi as tp
from taupi.identification.results.uncertainty import sensitivity_note, shifts
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.preparation import ChosenCutoffs
from taupi.identification.solve import solve
from taupi.identification.tuning.cutoffs import power_density
from taupi.signals.filtering.motion_spectrum import cutoff_bounds

TERMS = ("viscous", tp.terms.Coulomb(0.05), "offset")


@pytest.fixture(scope="module")
def arm():
    return tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8])


def moving(arm, hz, seconds, rate=200.0, seed=0, noise=0.05, q_noise=1e-5, scale=0.6):
    """Return a log of sums of sines up to about `hz`, with white noise on q and on the torque."""
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    w = 2 * np.pi * hz * np.array([0.37, 0.61, 1.0])[:, None]
    a, phase = scale * rng.uniform(0.3, 1.0, (3, arm.n)), rng.uniform(0, 2 * np.pi, (3, arm.n))
    angle = w[:, None, :] * t[None, :, None] + phase[:, None, :]
    q, qd, qdd = (
        np.einsum("kn,kmn->mn", a * w**p, f) for p, f in enumerate((np.sin(angle), np.cos(angle), -np.sin(angle)))
    )
    tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd)
    q, tau = q + q_noise * rng.normal(size=q.shape), tau + noise * tau.std(axis=0) * rng.normal(size=q.shape)
    return tp.Log(t, q, tau=tau, names=arm.joint_names)


def test_bounds_are_those_of_the_motion_and_of_its_noise():
    """A sine of 1 Hz: at least 2 Hz. Noise of density S has 1 % of its acceleration up to F: S F^5 / 5 = 0.01 / 2."""
    rng, rate = np.random.default_rng(0), 500.0
    t = np.arange(20_000) / rate
    for sigma in (1e-4, 1e-3):
        q = np.sin(2 * np.pi * t)[:, None] + sigma * rng.normal(size=(len(t), 1))
        bounds = cutoff_bounds([q], [rate])
        density = sigma**2 / (rate / 2)
        assert bounds.least_hz == pytest.approx(2, rel=0.1)
        # A sine alone meets its noise at once, so that 2.5 times its frequency is all that is allowed.
        assert bounds.most_hz <= (5 * 0.01 / 2 / density) ** 0.2 and bounds.most_hz == pytest.approx(2.5, rel=0.5)
    # With all frequencies up to 40 Hz in it, the motion never meets the noise below: its acceleration is the bound.
    q = tp.signals.butterworth(rng.normal(size=(len(t), 1)), rate, 10.0) + 0.003 * rng.normal(size=(len(t), 1))
    clean = tp.signals.butterworth(q, rate, 30.0)
    power = float(np.var(np.gradient(np.gradient(clean[:, 0], t), t)))
    most = (5 * 0.01 * power / (0.003**2 / (rate / 2) * (2 * np.pi) ** 4)) ** 0.2
    assert cutoff_bounds([q], [rate]).most_hz == pytest.approx(most, rel=0.15)
    with pytest.raises(tp.TaupiError, match="does not move"):
        cutoff_bounds([np.zeros((100, 2))], [rate])


@pytest.mark.parametrize("window", [100, 101, 333, 1000])
def test_power_density_is_that_of_scipy(window):
    x = np.random.default_rng(0).normal(size=(1000, 3)).cumsum(axis=0)
    expected = scipy.signal.welch(x, 50.0, nperseg=window, axis=0)[1]
    # At 0 Hz nothing is left but rounding, of windows whose mean is subtracted.
    assert np.allclose(power_density(x, 50.0, window), expected, rtol=1e-9, atol=1e-20)


def test_many_short_logs_have_one_cutoff(arm):
    """Alone, each would have its own; a log too short for the common one has a higher one."""
    logs = [moving(arm, 1.0, 3.0, seed=k, noise=0.5) for k in range(12)]
    fit = tp.identify(arm, logs, terms=TERMS)
    assert len({log.cutoff_hz for log in fit.logs}) == 1 and len({log.validation_hz for log in fit.logs}) == 1
    assert fit.cutoffs.least_hz == pytest.approx(16 / 3, rel=0.05)
    assert fit.cutoffs.least_hz <= fit.cutoffs.fit_hz * 1.001 and fit.cutoffs.fit_hz <= fit.cutoffs.most_hz * 1.001
    with_short = tp.identify(arm, [*logs, moving(arm, 1.0, 0.3, seed=20, noise=0.5)], terms=TERMS)
    assert with_short.logs[-1].cutoff_hz > with_short.logs[0].cutoff_hz == with_short.cutoffs.fit_hz
    assert any(note.startswith("cutoff ") and "for all logs" in note for note in fit.notes)


def test_a_slow_motion_is_fitted_up_to_the_noise(arm):
    """Hardly any inertial torque: what there is lies above the motion, and a filter by the motion would cut it off."""
    slow, quick = moving(arm, 0.02, 120.0), moving(arm, 1.0, 30.0)
    fits = [tp.identify(arm, log, terms=TERMS) for log in (slow, quick)]
    assert [fit.cutoffs.slow for fit in fits] == [True, False]
    assert fits[0].cutoffs.fit_hz == pytest.approx(fits[0].cutoffs.most_hz, rel=1e-3)
    assert "too slow to show inertias" in fits[0].cutoffs.note


def test_whether_a_motion_is_slow_has_nothing_to_do_with_the_size_of_the_torques(arm):
    """All masses and all friction a ten thousandth: so are the torques, and their inertial share is the same."""
    light = arm.with_parameters(1e-4 * arm.parameters.values).with_friction(
        viscous=[2e-4, 1e-4], coulomb=[1.5e-4, 8e-5]
    )
    fit = tp.identify(light, moving(light, 0.02, 120.0), "wls", TERMS)
    assert fit.cutoffs.slow and "too slow to show inertias" in fit.cutoffs.note


def test_predictions_have_their_own_cutoff_which_is_kept(arm):
    fit = tp.identify(arm, [moving(arm, 1.0, 20.0, seed=k) for k in range(2)], terms=TERMS)
    low, high = fit.cutoffs.flat_hz
    assert low <= fit.cutoffs.fit_hz <= high and low <= fit.cutoffs.validation_hz <= high
    again = tp.Fit.from_dict(fit.to_dict(), arm)
    assert again.cutoffs == fit.cutoffs and again.logs == fit.logs and np.array_equal(again.shifts, fit.shifts)
    other = moving(arm, 1.0, 20.0, seed=5)
    as_said = fit.validate(other, cutoff_hz=fit.cutoffs.validation_hz)
    assert fit.validate(other).relative == pytest.approx(as_said.relative, rel=1e-12)
    assert tp.identify(arm, other, terms=TERMS, cutoff_hz=8.0).cutoffs is None
    assert ChosenCutoffs.from_dict(fit.cutoffs.to_dict()) == fit.cutoffs


def test_rows_end_half_way_to_where_predictions_end(arm):
    """Predictions take the motion as far as the model explains anything, rows only half-way there: two numbers of each log."""
    logs = [moving(arm, 1.0, 20.0, seed=k, noise=0.5, q_noise=1e-7) for k in range(2)]
    fit = tp.identify(arm, logs, terms=TERMS)
    cutoffs, bounds = fit.cutoffs, (fit.cutoffs.least_hz, fit.cutoffs.most_hz)
    assert cutoffs.validation_hz == pytest.approx(np.clip(cutoffs.equal_hz, *bounds), rel=1e-3)
    assert cutoffs.fit_hz == pytest.approx(np.clip(np.sqrt(cutoffs.half_hz * cutoffs.equal_hz), *bounds), rel=1e-3)
    assert cutoffs.fit_hz < 0.95 * cutoffs.validation_hz
    assert {(log.cutoff_hz, log.validation_hz) for log in fit.logs} == {(cutoffs.fit_hz, cutoffs.validation_hz)}
    other = moving(arm, 1.0, 20.0, seed=5)
    as_said, as_fitted = (fit.validate(other, cutoff_hz=hz).relative for hz in (cutoffs.validation_hz, cutoffs.fit_hz))
    assert fit.validate(other).relative == pytest.approx(as_said, rel=1e-12) != as_fitted


def swinging(arm, seconds, rate=200.0, torque_noise=1e-4, damping=0.5):
    """Return a log of the arm falling and swinging without drives, damped by what a model without friction does not know.

    Runge and Kutta's steps, five per sample.
    """
    acceleration = tp.forward_dynamics(arm)
    state, h = np.array([0.9, 0.4, 0.0, 0.0]), 1 / (5 * rate)

    def rate_of_change(x):
        return np.concatenate([x[2:], np.asarray(acceleration(x[:2], x[2:], np.zeros(2))) - damping * x[2:]])

    q = []
    for _ in range(round(seconds * rate)):
        q.append(state[:2])
        for _ in range(5):
            k1 = rate_of_change(state)
            k2 = rate_of_change(state + 0.5 * h * k1)
            k3 = rate_of_change(state + 0.5 * h * k2)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate_of_change(state + h * k3))
    q = np.array(q)
    tau = torque_noise * np.random.default_rng(9).normal(size=q.shape)
    return tp.Log(np.arange(len(q)) / rate, q, tau=tau, names=arm.joint_names)


def test_free_swings_do_not_capture_the_fit(monkeypatch):
    """In a run without torque, parameters of zero explain all of it; with a weight of its own, it would decide alone."""
    from taupi.identification import weighting

    robot = tp.load("elbow2r")
    driven, swing = moving(robot, 1.0, 20.0, noise=0.3), swinging(robot, 20.0)
    truth = tp.base_parameters(robot).project(robot.parameters)

    def error():
        values = tp.identify(robot, [driven, swing], "wls", (), cutoff_hz=10).values
        return np.linalg.norm(values - truth) / np.linalg.norm(truth)

    shared = error()
    monkeypatch.setattr(weighting, "_SHARED", 0.0)
    assert shared < 0.3 and error() > 2 * shared


def test_what_one_part_alone_decides_is_said():
    """Two columns: the second is nonzero in the last of four stretches only, where noise gives it a value."""
    rng, pieces = np.random.default_rng(0), []
    for k in range(8):
        y = np.column_stack([rng.normal(size=50), (k == 7) * 1e-2 * rng.normal(size=50)])
        tau = y @ [2.0, 0.0] + 0.01 * rng.normal(size=50)
        pieces.append(JointFactor(0, 0, np.column_stack([y, tau]), 50, 0.0, k))
    r = np.vstack([f.r for f in pieces])
    solution = solve(r, np.zeros(2))
    moved = shifts(pieces, {}, solution.x, solution.spread)
    assert moved[0] < 0.01 and moved[1] == pytest.approx(abs(solution.x[1]))
    # The same by leaving out rows.
    without = [solve(np.vstack([f.r for f in pieces if f.stretch // 2 != k]), np.zeros(2)).x[0] for k in range(4)]
    assert moved[0] == pytest.approx(max(np.abs(np.array(without) - solution.x[0])), rel=1e-6)
    names, covariance = ("a", "b"), np.diag([0.001, 0.01 * abs(solution.x[1])]) ** 2
    note = sensitivity_note(names, solution.x, covariance, moved, np.zeros(2, dtype=bool))
    assert note.startswith("Determined only by a part of the logs: b.")
    assert not sensitivity_note(names, solution.x, covariance, moved, np.array([False, True]))


def test_streams_and_workers_choose_the_same(arm, tmp_path):
    paths = []
    for k in range(2):
        paths.append(tmp_path / f"{k}.npz")
        tp.write_log(moving(arm, 1.0, 20.0, seed=k), paths[-1])
    at_once = tp.identify(arm, paths, "wls", TERMS, stream=False, workers=1)
    for keywords in ({"stream": True, "block": 700}, {"stream": False, "workers": 2}):
        fit = tp.identify(arm, paths, "wls", TERMS, **keywords)
        pairs = zip(dataclasses.astuple(fit.cutoffs), dataclasses.astuple(at_once.cutoffs), strict=True)
        assert all(a == pytest.approx(b, rel=1e-6) for a, b in pairs)
        assert np.abs(fit.values - at_once.values).max() < 1e-9 * np.abs(at_once.values).max()
