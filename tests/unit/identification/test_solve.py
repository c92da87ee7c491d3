"""Least squares on a factor, where the answer is known by hand."""

import dataclasses

import numpy as np
import pytest
from problems import problem_of, states
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.identification.rows.factors import JointFactor
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["rows", "prior"])
def test_equations_beyond_floating_point_are_refused(value, where):
    """As of a fit whose prior is 1e308, or of a log of such torques."""
    r, prior = np.eye(3), np.zeros(2)
    (r[0] if where == "rows" else prior)[1] = value
    with pytest.raises(TaupiError):
        solve(r, prior)


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
        with refused("weak"):
            estimator(weak=bad)


def test_what_logs_cannot_separate_is_friction_rather_than_an_offset():
    """A joint that turns one way only: Coulomb friction and offset share one torque, as 100 to 1 (10 times less likely)."""
    robot = tp.load("elbow2r").with_friction(coulomb=2.0)
    motion = states(robot, 300, 0)
    motion[1] = np.abs(motion[1]) + 1.0
    truth = np.append(robot.parameters.values, [2.0, 2.0, 0.0, 0.0])
    problem = problem_of(robot, truth, terms=("coulomb", "offset"), motion=motion, prior=np.zeros(24))
    solution = problem.solve()
    values = dict(zip(problem.names, solution.x, strict=True))
    for joint in robot.joint_names:
        assert values[f"{joint}.offset"] == pytest.approx(0.01 * values[f"{joint}.coulomb"], rel=1e-3)
        assert values[f"{joint}.offset"] + values[f"{joint}.coulomb"] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(("pull", "guess"), [(0.7, True), (0.4, False)])
def test_what_shrinkage_says_more_about_than_logs_is_a_guess(pull, guess):
    """1 / variance of a parameter is the sum of what rows and pulls say: more than half of it from pulls is a guess."""
    robot = tp.load("elbow2r")
    problem = problem_of(robot, robot.parameters.values, terms=())
    spread = problem.solve().spread
    k, own = 3, 1 / np.sum(spread[3] ** 2)
    row = np.zeros((1, len(problem.names) + 1))
    row[0, k] = np.sqrt(own * pull / (1 - pull))
    pulled = dataclasses.replace(problem, shrinkage=(JointFactor(0, 0, row, 1, 0.0),)).solve()
    assert pulled.undetermined.tolist() == [guess and i == k for i in range(len(problem.names))]
