"""Runs that disagree by more than noise: standard errors include what they do not have in common, and a note says so."""

import numpy as np
import pytest

from taupi.identification.results.uncertainty import run_effects, uncertainty
from taupi.identification.rows.factors import JointFactor, triangle

RUNS, ROWS, STRETCHES, JOINTS = 4, 320, 8, 3
KINDS = ["links"] * 2 + ["viscous"] * JOINTS


def pieces_of(seed, between):
    """Return factors of runs in which the viscous friction of each joint differs from run to run, with this deviation."""
    rng = np.random.default_rng(seed)
    truth, result = np.array([1.0, -0.5, 0.3, 0.2, 0.4]), []
    for run in range(RUNS):
        own = truth + np.append([0, 0], between * rng.normal(size=JOINTS))
        for joint in range(JOINTS):
            y = np.zeros((ROWS, 5))
            y[:, :2], y[:, 2 + joint] = rng.normal(size=(ROWS, 2)), rng.normal(size=ROWS)
            rows = np.column_stack([y, y @ own + 0.5 * rng.normal(size=ROWS)])
            for k, part in enumerate(np.split(rows, STRETCHES)):
                result.append(JointFactor(run, joint, triangle(part), len(part), float(part[:, -1].sum()), k))
    return result, truth


def estimate(seed, between):
    pieces, truth = pieces_of(seed, between)
    rows = triangle(np.vstack([f.r for f in pieces]))
    y, tau = rows[:, :-1], rows[:, -1]
    x = np.linalg.lstsq(y, tau, rcond=None)[0]
    spread = np.linalg.inv(np.linalg.qr(y)[1])
    plain = uncertainty(pieces, {}, x, spread)
    return x, truth, plain, run_effects(pieces, {}, x, spread, plain, KINDS)


def test_runs_that_agree_change_nothing():
    found = [estimate(seed, 0.0)[3].disagreement for seed in range(40)]
    assert sum(map(bool, found)) <= 3  # 1 % for each of two kinds
    _, _, plain, effects = estimate(0, 0.0)
    assert effects.added(plain).covariance == pytest.approx(plain.covariance)


def test_errors_cover_what_runs_do_not_have_in_common():
    covered = {False: [], True: []}
    for seed in range(40):
        x, truth, plain, effects = estimate(seed, 0.2)
        assert set(effects.disagreement) == {"viscous"}
        for whole, each in ((False, plain), (True, effects.added(plain))):
            covered[whole].append(np.abs(x - truth)[2:] < 2 * np.sqrt(np.diag(each.covariance))[2:])
        assert effects.added(plain).freedom[2:].max() < plain.freedom[2:].min()
    assert np.mean(covered[False]) < 0.75 and np.mean(covered[True]) > 0.88


def test_one_run_has_nothing_to_disagree_with():
    pieces = [f for f in pieces_of(0, 0.2)[0] if f.file == 0]
    rows = triangle(np.vstack([f.r for f in pieces]))
    spread = np.linalg.inv(np.linalg.qr(rows[:, :-1])[1])
    x = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
    assert not run_effects(pieces, {}, x, spread, uncertainty(pieces, {}, x, spread), KINDS).disagreement
