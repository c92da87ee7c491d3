"""Least squares on a factor, where the answer is known by hand."""

import numpy as np
import pytest

from taupi.identification.solve import solve


def test_what_the_log_leaves_open_is_nearest_to_the_prior():
    """x1 + x2 = 4 is all that is known: min |x1 - 3|^2 + 100 x2^2 has x2 = 1/101."""
    found = solve(np.array([[1.0, 1.0, 4.0]]), np.array([3.0, 0.0]), np.array([1.0, 10.0]))
    assert found.x == pytest.approx([4 - 1 / 101, 1 / 101])
    assert found.undetermined.all()


def test_full_rank_is_lstsq_whatever_the_prior():
    rng = np.random.default_rng(0)
    r = rng.normal(size=(9, 5)) * [1e-3, 1.0, 1e3, 1.0, 1.0]
    found = solve(r, rng.normal(size=4))
    assert found.x == pytest.approx(np.linalg.lstsq(r[:, :-1], r[:, -1], rcond=None)[0], rel=1e-9)
    assert found.spread @ found.spread.T == pytest.approx(np.linalg.inv(r[:, :-1].T @ r[:, :-1]), rel=1e-6)
    assert not found.undetermined.any() and found.condition < 1e3


def test_a_column_of_zeros_keeps_its_prior():
    r = np.array([[1.0, 0.0, 2.0], [0.5, 0.0, 1.0], [0.1, 0.0, 0.0]])
    found = solve(r, np.array([0.0, 7.0]))
    assert found.x[1] == 7.0 and found.undetermined.tolist() == [False, True]
