"""Evidence from left-out blocks: folds by products agree with fits of the rows, and what is equivalent scores alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taupi.identification.folds.left_out import BLOCKS, Blocks, Grams, Score, compared
from taupi.identification.verdict.cause import least

N, P, M = 3, 5, 240


def rows(seed: int, noise: float = 0.1):
    rng = np.random.default_rng(seed)
    y, x = rng.normal(size=(M, N, P)), rng.normal(size=P)
    tau = y @ x + noise * rng.normal(size=(M, N))
    return y, tau, Blocks(np.arange(M) * 12 // M, 12, 0.0)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_fold_is_the_least_squares_of_all_other_rows(seed):
    y, tau, blocks = rows(seed)
    score = Score.of(Grams.of(y, tau, blocks), np.ones(N, dtype=bool))
    for b in (0, 5, 11):
        kept = blocks.of_row != b
        root = np.sqrt(score.weights)
        oracle = np.linalg.lstsq(
            (y[kept] * root[None, :, None]).reshape(-1, P), (tau[kept] * root).reshape(-1), rcond=None
        )[0]
        # The prior is as wide as the whole torque: it moves the estimate by about one part in the number of rows squared.
        assert score.folds[b] == pytest.approx(oracle, rel=1e-3, abs=1e-4)
        left = ((y[~kept] @ score.folds[b] - tau[~kept]) ** 2).mean(axis=0) / (tau**2).mean(axis=0)
        assert score.left_out[b] == pytest.approx(left, rel=1e-6)


@given(st.integers(0, 10**6), st.sampled_from([-1.0, 1000.0, 1e-3]))
@settings(max_examples=20, deadline=None)
def test_a_factor_of_all_torques_leaves_the_same_error(seed, factor):
    # x -> factor x: no left-out error can tell a sign or a unit of all torques, so that other witnesses have to.
    y, tau, blocks = rows(seed)
    grams, live = Grams.of(y, tau, blocks), np.ones(N, dtype=bool)
    plain, scaled = Score.of(grams, live), Score.of(grams, live, factor * np.eye(N))
    assert scaled.left_out == pytest.approx(plain.left_out, rel=1e-6)
    assert abs(compared(plain, scaled).change) < 1e-5


@given(st.integers(0, 10**6), st.integers(0, N - 1))
@settings(max_examples=20, deadline=None)
def test_a_sign_that_is_undone_is_better_beyond_chance(seed, joint):
    y, tau, blocks = rows(seed)
    flip = np.diag(1.0 - 2.0 * (np.arange(N) == joint))
    grams, live = Grams.of(y, tau @ flip, blocks), np.ones(N, dtype=bool)
    told = compared(Score.of(grams, live), Score.of(grams, live, flip))
    assert told.change < -2.5 and told.p < 1e-4
    worse = compared(Score.of(grams, live, flip), Score.of(grams, live))
    assert worse.change == pytest.approx(-told.change) and worse.p > 0.99


def test_exchanged_torques_are_compared_channel_by_channel():
    y, tau, blocks = rows(3)
    order = np.array([1, 0, 2])
    grams, live = Grams.of(y, tau[:, order], blocks), np.ones(N, dtype=bool)
    before, after = Score.of(grams, live), Score.of(grams, live, np.eye(N)[order])
    told = compared(before, after, order)
    # Joint 2 was right as it was, but for the parameters that the other two spoilt; the two gain alike.
    assert told.joints[0] < -1 and told.joints[1] < -1
    direct = np.log(after.left_out[:, [1, 0, 2]] + 1e-4) - np.log(before.left_out + 1e-4)
    assert told.joints == pytest.approx(direct.mean(axis=0))


def test_a_motion_that_is_run_twice_is_left_out_as_one():
    t = np.linspace(0, 20, 400)
    once = np.stack([np.sin(t), np.cos(1.3 * t)], axis=1), np.stack([np.cos(t), -1.3 * np.sin(1.3 * t)], axis=1)
    live = np.ones(2, dtype=bool)
    single, twice = Blocks.of(*once, live), Blocks.of(*(np.tile(x, (2, 1)) for x in once), live)
    assert single.repeated < 0.35 and twice.repeated >= 0.5 and twice.count <= BLOCKS
    first, second = np.split(twice.of_row, 2)
    assert (first == second).mean() > 0.97
    assert set(np.unique(twice.of_row)) == set(range(twice.count))


def test_few_rows_are_not_enough_to_judge():
    t = np.linspace(0, 1, 20)
    short = Blocks.of(np.sin(t)[:, None], np.cos(t)[:, None], np.ones(1, dtype=bool))
    assert not short.enough


@given(st.floats(-1.9, 1.9))
@settings(max_examples=30, deadline=None)
def test_the_least_value_is_found_between_the_points_of_a_grid(goal):
    assert least(lambda x: abs(x - goal), np.linspace(-2, 2, 9), 16) == pytest.approx(goal, abs=2e-3)


def test_products_of_a_joint_are_those_with_all_torques_without_the_torques_of_others():
    y, tau, blocks = rows(4)
    y[:, 0, 1] = 0.0  # a column that does not act there
    grams = Grams.of(y, tau, blocks)
    own = grams.own
    for j in range(N):
        places = np.append(np.arange(P), P + j)
        both = np.concatenate([y[:, j], tau[:, [j]]], axis=1)
        for b in range(blocks.count):
            part = both[blocks.of_row == b]
            np.testing.assert_array_equal(own[b, j], grams.products[b, j][np.ix_(places, places)])
            np.testing.assert_allclose(own[b, j], part.T @ part, rtol=1e-12, atol=1e-12)
