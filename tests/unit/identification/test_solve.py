"""Least squares on a factor, where the answer is known by hand."""

import numpy as np
import pytest
from problems import problem_of

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.solve import solve


def test_what_the_log_leaves_open_is_nearest_to_the_prior():
    """x1 + x2 = 4 is all that is known: min |x1 - 3|^2 + 100 x2^2 has x2 = 1/101."""
    solution = solve(np.array([[1.0, 1.0, 4.0]]), np.array([3.0, 0.0]), np.array([1.0, 10.0]))
    assert solution.x == pytest.approx([4 - 1 / 101, 1 / 101])
    assert solution.undetermined.all()


def test_full_rank_is_lstsq_whatever_the_prior():
    rng = np.random.default_rng(0)
    r = rng.normal(size=(9, 5)) * [1e-3, 1.0, 1e3, 1.0, 1.0]
    solution = solve(r, rng.normal(size=4))
    assert solution.x == pytest.approx(np.linalg.lstsq(r[:, :-1], r[:, -1], rcond=None)[0], rel=1e-9)
    assert solution.spread @ solution.spread.T == pytest.approx(np.linalg.inv(r[:, :-1].T @ r[:, :-1]), rel=1e-6)
    assert not solution.undetermined.any() and solution.condition < 1e3


def test_a_column_of_zeros_keeps_its_prior():
    r = np.array([[1.0, 0.0, 2.0], [0.5, 0.0, 1.0], [0.1, 0.0, 0.0]])
    solution = solve(r, np.array([0.0, 7.0]))
    assert solution.x[1] == 7.0 and solution.undetermined.tolist() == [False, True]


@pytest.mark.parametrize("estimator", [tp.estimators.OrdinaryLeastSquares, tp.estimators.WeightedLeastSquares])
def test_what_a_log_hardly_tells_is_the_priors_unless_it_is_not_wanted(estimator):
    """An arm that hardly leaves one pose: by default the prior fills up, with weak=0 plain least squares finds the truth."""
    arm = tp.load("elbow2r")
    motion = np.random.default_rng(3).normal(size=(3, 400, 2)) * 1e-3
    motion[0] += [0.3, 0.4]
    truth = 1.5 * arm.parameters.values
    problem = problem_of(arm, truth, terms=(), prior=np.zeros(len(truth)), motion=motion)
    real = problem.base.project(truth)
    held, free = (np.abs(estimator(weak=weak).fit(problem).values - real).max() for weak in (1e-2, 0.0))
    assert held > 0.1 and free < 1e-6
    assert estimator().weak == 1e-4
    for bad in (-1e-3, 1.0, True, "no"):
        with pytest.raises(TaupiError, match="weak is"):
            estimator(weak=bad)
