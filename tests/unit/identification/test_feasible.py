"""Feasible, the consistent parameters of other fits, and what is refused."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import FRICTION, assert_real, problem_of, real_truth, states

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.physical.region import is_consistent


def truth_of(robot, terms=FRICTION):
    return np.concatenate([robot.parameters.values, np.full(robot.n * len(terms), 0.5)])


def torque(fit, motion):
    return fit.basis.regressor()(*motion) @ fit.values


def test_any_data_give_robots_that_exist():
    arm = tp.load("ur10")

    @settings(max_examples=8, deadline=None)
    @given(
        st.integers(0, 10**6),
        st.sampled_from([0.0, 0.1, 3.0]),
        st.sampled_from([1.0, -1.0]),
        st.sampled_from([3, 20, 200]),
    )
    def check(seed, noise, sign, samples):
        fit = tp.estimators.Feasible().fit(problem_of(arm, truth_of(arm), noise, samples, seed, sign))
        assert is_consistent(fit.parameters)
        assert_real(fit.parameters.values, 6)
        assert np.allclose(fit.basis.project(fit.parameters), fit.values, rtol=0, atol=1e-9 * np.abs(fit.values).max())

    check()


@pytest.mark.parametrize("name", ["ur10", "panda", "puma560", "planar3r"])
def test_exact_data_of_another_robot_that_exists_are_reproduced(name):
    arm = tp.load(name)
    truth = real_truth(arm, np.random.default_rng(3))
    fit = tp.estimators.Feasible().fit(problem_of(arm, truth))
    motion = states(arm, 50, 99)
    tau = tp.regressor(arm, terms=FRICTION)(*motion) @ truth
    assert np.abs(torque(fit, motion) - tau).max() < 1e-6 * np.abs(tau).max()
    assert is_consistent(fit.parameters)
    assert "no constraint is active" in fit.notes[-1]


def test_without_constraints_in_the_way_it_is_weighted_least_squares():
    arm = tp.load("panda")
    problem = problem_of(arm, real_truth(arm, np.random.default_rng(4)), noise=1e-3)
    free, held = tp.estimators.WeightedLeastSquares().fit(problem), tp.estimators.Feasible().fit(problem)
    assert np.abs(held.values - free.values).max() < 1e-3 * free.stderr.max()
    assert np.allclose(held.covariance, free.covariance, rtol=0.05, atol=1e-12)
    assert held.consistency.exact and free.consistency.exact


def test_where_noise_leaves_the_region_it_predicts_better_than_least_squares():
    arm = tp.load("ur10")
    truth = truth_of(arm)
    motion = states(arm, 200, 77)
    tau = tp.regressor(arm, terms=FRICTION)(*motion) @ truth
    wins = 0
    for seed in range(5):
        problem = problem_of(arm, truth, noise=0.3, samples=60, seed=seed)
        free, held = tp.estimators.WeightedLeastSquares().fit(problem), tp.estimators.Feasible().fit(problem)
        wins += np.linalg.norm(torque(held, motion) - tau) < np.linalg.norm(torque(free, motion) - tau)
        assert not consistent_least_squares(free), "the case is meant to be one where it is not"
        assert "Physical consistency raises the weighted residual by" in held.notes[-1]
    assert wins >= 4


def consistent_least_squares(fit):
    return fit.consistency.exact


def test_what_consistency_costs_a_free_fit_is_stated():
    arm = tp.load("ur10")
    fit = tp.estimators.WeightedLeastSquares().fit(problem_of(arm, truth_of(arm), noise=0.3, samples=60))
    consistency = fit.consistency
    assert not consistency.exact and "No real bodies have these base parameters" in consistency.sentence
    assert consistency.before < consistency.after < consistency.before * 1.05
    y, z = fit.triangle[:, :-1], fit.triangle[:, -1]
    now = np.linalg.norm(y @ fit.basis.project(fit.parameters) - z) / np.linalg.norm(z)
    assert np.isclose(now, consistency.after, rtol=1e-9)
    assert_real(fit.parameters.values, 6)


def test_a_run_that_leaves_parameters_open_takes_them_from_the_prior():
    arm = tp.load("ur10")
    q, qd, qdd = states(arm, 300, 5)
    for still in (q, qd, qdd):
        still[:, :3] = 0.0  # three joints never move
    fit = tp.estimators.Feasible().fit(problem_of(arm, truth_of(arm), noise=0.05, motion=(q, qd, qdd)))
    assert fit.undetermined.any()
    assert is_consistent(fit.parameters)
    m = fit.parameters.values[0]
    assert np.isclose(m, arm.parameters.values[0], rtol=0.05)


def test_the_prior_can_be_another():
    arm = tp.load("ur10")
    prior = truth_of(arm)
    prior[0] = 11.0  # the first link's mass, of which no run tells anything
    fit = tp.estimators.Feasible().fit(problem_of(arm, truth_of(arm), noise=0.01, prior=prior))
    assert np.isclose(fit.parameters.values[0], 11.0, rtol=1e-3)


def test_limits_reach_the_fit_and_its_settings():
    arm = tp.load("ur10")
    limits = tp.estimators.Feasible(
        mass_bounds={"forearm_link": (1.0, 2.0)},
        total_mass=(15.0, 40.0),
        boxes={"upper_arm_link": ((-0.7, -0.1, -0.1), (0.1, 0.1, 0.2))},
        shapes={"wrist_3_link": tp.estimators.Box((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1))},
    )
    fit = limits.fit(problem_of(arm, truth_of(arm), noise=0.1))
    masses = fit.parameters.values[:60:10]
    assert 1 - 1e-9 <= masses[2] <= 2 + 1e-9 and 15 <= masses.sum() <= 40
    assert fit.settings["shapes"]["wrist_3_link"]["kind"] == "box" and fit.settings["mass_bounds"]["forearm_link"] == [
        1.0,
        2.0,
    ]
    assert "mass of forearm_link at its upper bound 2" in fit.notes[-1]
    assert fit.status.ok


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tp.estimators.Feasible(prior_weight=0), "expected a finite number above 0"),
        (lambda: tp.estimators.Feasible(prior_weight="much"), "expected a finite number above 0"),
        (lambda: tp.estimators.Feasible(iterations=-1), "whole number"),
        (lambda: tp.estimators.Feasible(mass_bounds=[1, 2]), "expected a mapping"),
        (lambda: tp.estimators.Feasible(shapes=tp.estimators.Box((0, 0, 0), (1, 1, 1))), "expected a mapping"),
    ],
)
def test_bad_settings_get_one_sentence(make, message):
    with pytest.raises(TaupiError, match=message):
        make()


def test_impossible_limits_get_one_sentence():
    arm = tp.load("ur10")
    problem = problem_of(arm, truth_of(arm), samples=20)
    with pytest.raises(TaupiError, match="No links fit total_mass"):
        tp.estimators.Feasible(mass_bounds={"*": (1, 2)}, total_mass=(50, 60)).fit(problem)


def test_a_fit_far_from_anything_real_is_refused_where_the_description_is_no_guide():
    bare = tp.load("ur10").with_parameters(np.zeros(60))
    fit = tp.estimators.WeightedLeastSquares().fit(problem_of(bare, truth_of(tp.load("ur10")), sign=-1.0))
    with pytest.raises(TaupiError, match="ur10 states no inertias"):
        fit.parameters  # noqa: B018
    assert_real(
        tp.estimators.Feasible().fit(problem_of(bare, truth_of(tp.load("ur10")), sign=-1.0)).parameters.values, 6
    )


def test_a_saved_fit_keeps_its_parameters():
    arm = tp.load("ur10")
    fit = tp.estimators.WeightedLeastSquares().fit(problem_of(arm, truth_of(arm), noise=0.3, samples=60))
    again = tp.Fit.from_dict(fit.to_dict(), arm)
    assert np.allclose(again.parameters.values, fit.parameters.values, rtol=1e-6, atol=1e-9)
    from_covariance = dataclasses.replace(fit, triangle=None)
    assert is_consistent(from_covariance.parameters)


def test_bounds_that_are_no_pair_are_refused_at_once():
    with pytest.raises(tp.TaupiError, match=r"mass_bounds\['forearm'\] is 3, expected \(lower, upper\)"):
        tp.estimators.Feasible(mass_bounds={"forearm": 3})
