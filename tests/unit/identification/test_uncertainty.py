"""Standard errors and intervals: textbook formulas, short logs, filtered rows, and how often intervals hold the truth."""

import numpy as np
import pytest
from estimation import FRICTION, crossed, rigid_log
from hypothesis import given, settings
from hypothesis import strategies as st
from interval_coverage import Count, count, table
from scipy.stats import t as student

import taupi as tp
from taupi.identification.results.uncertainty import uncertainty
from taupi.identification.rows.factors import STRETCH, JointFactor
from taupi.identification.solve import solve
from taupi.signals.filtering.filters import butterworth, noise_bandwidth_hz


def pieces_of(y, tau, share=1.0):
    """Return the rows of one joint as stretches of time."""
    rows = np.column_stack([y, tau])
    cuts = range(0, len(rows), STRETCH)
    return [
        JointFactor(0, 0, rows[k : k + STRETCH], len(rows[k : k + STRETCH]), 0.0, k // STRETCH, share) for k in cuts
    ]


def estimate(y, tau, share=1.0):
    solution = solve(np.column_stack([y, tau]), np.zeros(y.shape[1]))
    return solution.x, uncertainty(pieces_of(y, tau, share), {}, solution.x, solution.spread)


@given(st.integers(8, 60), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_within_one_stretch_it_is_the_textbooks(rows, columns, seed):
    """s^2 (Y^T Y)^-1 with N - p degrees of freedom, for one stretch, which has no other to be compared with."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(min(rows, STRETCH), columns))
    tau = y @ rng.normal(size=columns) + rng.normal(size=len(y))
    _, known = estimate(y, tau)
    residual = tau - y @ np.linalg.lstsq(y, tau, rcond=None)[0]
    variance = residual @ residual / (len(y) - columns)
    assert np.allclose(known.covariance, variance * np.linalg.inv(y.T @ y), rtol=1e-6)
    assert known.freedom == pytest.approx(np.full(columns, len(y) - columns), rel=1e-6)


def covered(draw, number):
    """Return how often 95 % intervals of problems hold the truth, and how wide they are beside those of known noise."""
    inside = []
    for seed in range(number):
        y, tau, truth, share = draw(np.random.default_rng(seed))
        x, known = estimate(y, tau, share)
        half = student.ppf(0.975, np.maximum(known.freedom, 1)) * np.sqrt(np.diag(known.covariance))
        inside.append(np.abs(x - truth) < np.where(known.unknown, np.inf, half))
    return float(np.mean(inside))


@pytest.mark.parametrize("rows", [10, 50, 300, 3000])
def test_regressions_with_white_noise(rows):
    def draw(rng):
        y, truth = rng.normal(size=(rows, 5)), rng.normal(size=5)
        return y, y @ truth + rng.normal(size=rows), truth, 1.0

    # 300 draws of 5 intervals: 0.95 -+ 3 sqrt(0.95 0.05 / 1500) = 0.017, and what a chosen mixture may add.
    assert 0.93 < covered(draw, 300) < 0.98


@pytest.mark.parametrize("rows", [300, 1500])
def test_regressions_with_filtered_rows(rows):
    """Rows that have passed a filter: counted as they are, a fifth of their number; counted as independent, the errors halve."""
    share = 2 * noise_bandwidth_hz(10.0) / 100.0

    def draw(rng):
        raw = butterworth(rng.normal(size=(rows + 200, 5)), 100.0, 10.0)[100:-100]
        noise = butterworth(rng.normal(size=(rows + 200, 1)), 100.0, 10.0)[100:-100, 0]
        truth = rng.normal(size=5)
        return raw, raw @ truth + noise, truth, share

    assert 0.925 < covered(draw, 200) < 0.98


def test_noise_that_outlasts_a_stretch_is_noticed():
    def draw(rng):
        noise = rng.normal(size=2000)
        for k in range(1, 2000):
            noise[k] = 0.98 * noise[k - 1] + noise[k]
        y, truth = np.column_stack([np.ones(2000), np.sin(np.arange(2000) / 200)]), np.array([1.0, 2.0])
        return y, y @ truth + noise, truth, 1.0

    # Independent rows would cover a third of the truths. Correlated over 50 rows, within stretches of 32, most are covered.
    assert covered(draw, 100) > 0.75


@pytest.mark.parametrize(("hz", "order", "causal"), [(10.0, 4, False), (20.0, 2, False), (10.0, 3, True)])
def test_the_noise_bandwidth_is_that_of_the_filter(hz, order, causal):
    """Against the power of an impulse's response, by Parseval."""
    x = np.zeros((40_001, 1))
    x[20_000] = 1.0
    power = float(np.sum(butterworth(x, 1000.0, hz, order, causal=causal) ** 2))
    assert power == pytest.approx(2 * noise_bandwidth_hz(hz, order, causal) / 1000.0, rel=2e-3)


def test_fewer_independent_rows_than_parameters_have_infinite_errors():
    """0.6 s through a filter of 5 Hz: many rows, and nothing to tell their errors by; a note counts the independent ones."""
    rng = np.random.default_rng(0)
    robot = tp.load("puma560")
    t = np.arange(120)[:, None] / 200
    w = rng.uniform(3, 9, 6)
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(robot)(q, qd, qdd) + rng.normal(size=q.shape)
    fit = tp.identify(robot, tp.Log(t[:, 0], q, tau=tau), "wls", ("viscous",), cutoff_hz=5.0, decimate=1)
    assert sum(j.rows for j in fit.joints) > len(fit.values)
    assert np.isinf(fit.stderr).all() and np.isinf(fit.intervals()).all() and fit.undetermined.all()
    assert any("independent samples" in note and "infinite" in note for note in fit.notes)
    back = tp.Fit.from_dict(fit.to_dict(), robot)
    assert np.array_equal(back.stderr, fit.stderr)


def test_degrees_of_freedom_are_of_each_parameter():
    """Those of a joint's friction are about the rows of that joint; fits of earlier versions have one number for all."""
    fit = tp.identify(crossed(), rigid_log(samples=60), "wls", FRICTION, slow=0)
    known = dict(zip(fit.names, fit.freedom, strict=True))
    assert fit.freedom.shape == fit.values.shape and all(10 < known[f"joint{j}.offset"] < 120 for j in (1, 2))
    half = student.ppf(0.975, fit.freedom) * fit.stderr
    assert np.allclose(fit.intervals()[:, 1] - fit.values, half)
    data = fit.to_dict() | {"freedom": 12.0}
    assert np.array_equal(tp.Fit.from_dict(data, fit.robot).freedom, np.full(len(fit.values), 12.0))


@pytest.mark.parametrize(("kind", "samples"), [("exact", 50), ("exact", 300), ("filtered", 300)])
def test_intervals_of_random_robots_cover_between_90_and_99_percent(kind, samples):
    (result,) = count(kind, samples, ("wls",), 25)
    assert result.fits == 25 and result.finite > 0.9 * result.parameters
    assert 0.90 < result.coverage < 0.99


@pytest.mark.long
@pytest.mark.parametrize("kind", ["exact", "short", "filtered"])
@pytest.mark.parametrize("samples", [50, 100, 300, 1000, 3000, 10_000])
def test_coverage_from_50_samples_to_10_000(kind, samples):
    (result,) = count(kind, samples, ("wls",), 100)
    if result.finite > 200:  # of fewer intervals, one robot's decide
        assert 0.90 < result.coverage < 0.99


def test_the_table_of_coverage():
    rows = table(
        [Count("exact", 50, "wls", 3, 1, 40, 20, 19), Count("filtered", 50, "wls", 1, 0, 12, 0, 0)]
    ).splitlines()
    assert rows[2] == "| exact | 50 | `wls` | 3 | 1 | 50% | 95.0% |"
    assert rows[3] == "| filtered | 50 | `wls` | 1 | 0 | 0% | - |"


def test_the_width_of_friction_is_found_and_its_error_counts():
    """Friction tanh(qd / 0.12), of which a log shows the width: found to a few percent, and Coulomb's interval allows for it."""
    arm, terms = crossed(), ("viscous", "coulomb", "offset")
    smooth = ("viscous", tp.terms.Coulomb(0.12), "offset")
    z, plain = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        t = np.arange(3000)[:, None] / 200
        w, phase = rng.uniform(1, 5, (4, 1, 2)), rng.uniform(0, 6, (4, 1, 2))
        a = 0.8 / w
        q, qd, qdd = (
            (a * f).sum(axis=0)
            for f in (np.sin(w * t + phase), w * np.cos(w * t + phase), -w * w * np.sin(w * t + phase))
        )
        tau = tp.inverse_dynamics(arm, terms=smooth)(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
        fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), "wls", terms, cutoff_hz=20.0, trim=False)
        (coulomb,) = [term for term in fit.terms if isinstance(term, tp.terms.Coulomb)]
        assert np.allclose(coulomb.velocity, 0.12, rtol=0.1)
        truth = fit.basis.project(tp.regressor(arm, terms=fit.terms).parameters)
        at = [fit.names.index(f"joint{j}.coulomb") for j in (1, 2)]
        z.append(((fit.values - truth) / fit.stderr)[at])
        known = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), "wls", terms, cutoff_hz=20.0, trim=False, slow=0.12)
        plain.append(fit.stderr[at] / known.stderr[at])
    assert np.sqrt(np.mean(np.square(z))) < 1.6  # of 24 numbers, one is at most 1.4 by chance in 99 of 100
    assert np.median(plain) > 1.1  # by as much as the width is uncertain; 1 if it did not count


def test_errors_of_very_many_logs_are_those_of_clusters(monkeypatch):
    """Neighbours taken together: nearly the same errors, from a few clusters in place of one for each log."""
    from taupi.identification.results import uncertainty as module

    rng = np.random.default_rng(0)
    pieces = []
    for file in range(300):
        y = rng.normal(size=(12, 3))
        tau = y @ [1.0, -2.0, 0.5] + rng.normal(size=12)
        pieces.append(JointFactor(file, 0, np.column_stack([y, tau]), 12, float(tau.sum()), 0))
    rows = np.vstack([f.r for f in pieces])
    solution = solve(rows, np.zeros(3))
    one_each = uncertainty(pieces, {}, solution.x, solution.spread)
    monkeypatch.setattr(module, "_CLUSTERS", 60)
    together = uncertainty(pieces, {}, solution.x, solution.spread)
    assert module._Groups(pieces, {}, solution.x, solution.spread).information.shape[0] == 60
    ratio = np.sqrt(np.diag(together.covariance) / np.diag(one_each.covariance))
    assert (np.abs(ratio - 1) < 0.2).all()  # of 60 clusters, a standard error is known to 1 / sqrt(2 60) = 9 %
    assert (together.freedom > 30).all()
