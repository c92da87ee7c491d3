"""Products of a regressor gathered block by block, against the whole matrix."""

import numpy as np
import pytest
from support import ROUNDING, error, random_robot, random_states

import taupi as tp
from taupi.errors import TaupiError


@pytest.fixture(scope="module")
def problem():
    arm = random_robot(4, joints=4)
    states = random_states(arm, 2500, 3)
    y = tp.regressor(arm).independent()
    tau = np.random.default_rng(1).normal(size=(2500, 4)) + tp.inverse_dynamics(arm)(*states)
    return y, states, tau, y(*states).reshape(-1, y.outputs[0].shape[1])


def test_normal_equations(problem):
    y, states, tau, stacked = problem
    sums = tp.Accumulator(y, block=300)
    for part in np.array_split(np.arange(2500), 7):
        sums.add(tau[part], *(s[part] for s in states))
    result = sums.result()
    assert error(result.matrix, stacked.T @ stacked) < ROUNDING
    assert error(result.vector, stacked.T @ tau.ravel()) < ROUNDING
    assert np.isclose(result.square, tau.ravel() @ tau.ravel(), rtol=1e-13)
    assert result.rows == tau.size


def test_triangular_factor_solves_least_squares(problem):
    y, states, tau, stacked = problem
    sums = tp.Accumulator(y, kind="qr", block=256)
    sums.add(tau, *states)
    result = sums.result()
    want, (residual,), _, _ = np.linalg.lstsq(stacked, tau.ravel(), rcond=None)
    # The regressor's condition number, some 1e3 here, times rounding.
    assert error(np.linalg.solve(result.r, result.z), want) < 1e-9
    assert np.isclose(result.residual**2, residual, rtol=1e-10)
    assert error(result.r.T @ result.r, stacked.T @ stacked) < ROUNDING


@pytest.mark.parametrize("kind", ["normal", "qr"])
def test_parts_merge_into_the_whole(problem, kind):
    y, states, tau, _ = problem
    whole, left, right = (tp.Accumulator(y, kind=kind) for _ in range(3))
    whole.add(tau, *states)
    left.add(tau[:900], *(s[:900] for s in states))
    right.add(tau[900:], *(s[900:] for s in states))
    left.merge(right)
    a, b = whole.result(), left.result()
    names = ("matrix", "vector") if kind == "normal" else ("r", "z")
    for name in names:
        assert error(getattr(b, name), getattr(a, name)) < ROUNDING
    assert a.rows == b.rows


def test_compensated_sum_keeps_what_plain_summation_loses():
    """One huge block, then many tiny ones whose sum is below the huge one's last place."""
    y = tp.regressor(tp.load("elbow2r"), columns=["forearm.Izz"])
    sums = tp.Accumulator(y, block=1)
    big, small = np.array([[0.0, 1e9]]), np.array([[0.0, 1e-1]])
    zero = np.zeros((1, 2))
    sums.add(zero, zero, zero, big)
    for _ in range(200):
        sums.add(zero, zero, zero, small)
    result = sums.result()
    # Two rows: 2 (1e18 + 200 * 1e-2), and doubles near 2e18 are 256 apart.
    assert result.matrix[0, 0] == 2e18
    assert np.isclose(result.matrix_rest[0, 0], 4.0, rtol=1e-6)


def test_products_are_programs_of_their_own(problem):
    y, states, _, _ = problem
    rng = np.random.default_rng(3)
    pi, s = rng.normal(size=y.outputs[0].shape[1]), rng.normal(size=4)
    one = [x[0] for x in states]
    assert error(y.times("pi")(*one, pi), y(*one) @ pi) < ROUNDING
    assert error(y.transpose_times("s")(*one, s), y(*one).T @ s) < ROUNDING
    assert y.transpose_times("s").parameters.names == y.parameters.names
    with pytest.raises(TaupiError, match="has an input 'q' already"):
        y.times("q")
    with pytest.raises(TaupiError, match="is not a matrix"):
        tp.gravity_torque(tp.load("elbow2r")).times("x")


def test_bad_input(problem):
    y, states, tau, _ = problem
    with pytest.raises(TaupiError, match="No accumulator 'lu'"):
        tp.Accumulator(y, kind="lu")
    with pytest.raises(TaupiError, match="not a regressor"):
        tp.Accumulator(tp.gravity_torque(tp.load("elbow2r")))
    with pytest.raises(TaupiError, match="tau has batch shape"):
        tp.Accumulator(y).add(tau[:10], *states)
    with pytest.raises(TaupiError, match="gather different things"):
        tp.Accumulator(y).merge(tp.Accumulator(y, kind="qr"))


def test_independent_columns_span_all():
    for name, count in (("puma560", 36), ("panda", 43), ("elbow2r", 6)):
        arm = tp.load(name)
        base = tp.regressor(arm).independent()
        assert base.outputs[0].shape[1] == count
        states = random_states(arm, 200, 3)
        full, part = (p(*states).reshape(-1, p.outputs[0].shape[1]) for p in (tp.regressor(arm), base))
        # Y = Y_b B: least squares leaves nothing.
        b, *_ = np.linalg.lstsq(part, full, rcond=None)
        assert error(part @ b, full) < 1e-8
