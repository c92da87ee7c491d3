"""Products of a regressor accumulated block by block, against the complete matrix."""

import pickle

import casadi as cs
import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error, random_robot, random_states

import taupi as tp
from taupi.errors import TaupiError
from taupi.program.program import Port, trace


@pytest.fixture(scope="module")
def problem():
    arm = random_robot(4, joints=4)
    states = random_states(arm, 2500, 3)
    y = tp.regressor(arm).independent()
    tau = np.random.default_rng(1).normal(size=(2500, 4)) + tp.inverse_dynamics(arm)(*states)
    return y, states, tau, y(*states).reshape(-1, y.outputs[0].shape[1])


def test_normal_equations(problem):
    y, states, tau, stacked = problem
    sums = tp.program.Accumulator(y, block=300)
    for part in np.array_split(np.arange(2500), 7):
        sums.add(tau[part], *(s[part] for s in states))
    result = sums.result()
    assert error(result.matrix, stacked.T @ stacked) < ROUNDING
    assert error(result.vector, stacked.T @ tau.ravel()) < ROUNDING
    assert np.isclose(result.square, tau.ravel() @ tau.ravel(), rtol=1e-13)
    assert result.rows == tau.size


def test_triangular_factor_solves_least_squares(problem):
    y, states, tau, stacked = problem
    sums = tp.program.Accumulator(y, kind="qr", block=256)
    sums.add(tau, *states)
    result = sums.result()
    want, (residual,), _, _ = np.linalg.lstsq(stacked, tau.ravel(), rcond=None)
    # The regressor's condition number, some 1e3 here, times rounding.
    assert error(np.linalg.solve(result.r, result.z), want) < 1e-9
    assert np.isclose(result.residual**2, residual, rtol=1e-10)
    assert error(result.r.T @ result.r, stacked.T @ stacked) < ROUNDING


def test_triangular_factor_of_a_regressor_that_lacks_rank():
    arm = tp.load("puma560")
    states = random_states(arm, 400, 3)
    tau = np.random.default_rng(2).normal(size=(400, 6))
    sums = tp.program.Accumulator(tp.regressor(arm), kind="qr")
    sums.add(tau, *states)
    stacked = tp.regressor(arm)(*states).reshape(-1, 60)
    x, *_ = np.linalg.lstsq(stacked, tau.ravel(), rcond=None)
    result = sums.result()
    assert np.isclose(result.residual, np.linalg.norm(stacked @ x - tau.ravel()), rtol=1e-9)
    guess = np.random.default_rng(3).normal(size=60)
    both = np.hypot(np.linalg.norm(result.r @ guess - result.z), result.rest)
    assert np.isclose(both, np.linalg.norm(stacked @ guess - tau.ravel()), rtol=1e-9)


def test_accumulators_travel(problem):
    y, states, tau, _ = problem
    sums = tp.program.Accumulator(y)
    sums.add(tau[:100], *(s[:100] for s in states))
    again = pickle.loads(pickle.dumps(sums))
    again.add(tau[100:], *(s[100:] for s in states))
    sums.add(tau[100:], *(s[100:] for s in states))
    assert np.array_equal(again.result().matrix, sums.result().matrix)


@pytest.mark.parametrize("kind", ["normal", "qr"])
def test_parts_merge_into_the_whole(problem, kind):
    y, states, tau, _ = problem
    single, left, right = (tp.program.Accumulator(y, kind=kind) for _ in range(3))
    single.add(tau, *states)
    left.add(tau[:900], *(s[:900] for s in states))
    right.add(tau[900:], *(s[900:] for s in states))
    left.merge(right)
    a, b = single.result(), left.result()
    names = ("matrix", "vector") if kind == "normal" else ("r", "z")
    for name in names:
        assert error(getattr(b, name), getattr(a, name)) < ROUNDING
    assert a.rows == b.rows


def test_compensated_sum_keeps_what_plain_summation_loses():
    """One huge block, then many tiny ones whose sum is below the huge one's last place."""
    y = tp.regressor(tp.load("elbow2r"), columns=["forearm.Izz"])
    sums = tp.program.Accumulator(y, block=1)
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
    with pytest.raises(TaupiError, match=rf"one value per parameter \({y.parameters.names[0]} \.\.\. "):
        y.times("pi")(*one, pi[:3])
    assert trace("plain", lambda x: x * cs.DM.eye(2), [Port("x")], [Port("y", (2, 2))]).times("v")(
        2.0, [1, 2]
    ).tolist() == [2, 4]
    assert error(y.transpose_times("s")(*one, s), y(*one).T @ s) < ROUNDING
    assert y.transpose_times("s").parameters.names == y.parameters.names
    with pytest.raises(TaupiError, match="has an input 'q' already"):
        y.times("q")
    with pytest.raises(TaupiError, match="is not a matrix"):
        tp.gravity_torque(tp.load("elbow2r")).times("x")


def test_bad_input(problem):
    y, states, tau, _ = problem
    with refused("kind", name="lu"):
        tp.program.Accumulator(y, kind="lu")
    with pytest.raises(TaupiError, match="not a regressor"):
        tp.program.Accumulator(tp.gravity_torque(tp.load("elbow2r")))
    with pytest.raises(TaupiError, match="tau has batch shape"):
        tp.program.Accumulator(y).add(tau[:10], *states)
    for other in (tp.program.Accumulator(y, kind="qr"), tp.program.Accumulator(tp.regressor(tp.load("elbow2r"))), 3):
        with pytest.raises(TaupiError, match="same regressor and the same kind"):
            tp.program.Accumulator(y).merge(other)
    for block in (0, -1, "x", 1.5):
        with refused("block"):
            tp.program.Accumulator(y, block=block)
    with pytest.raises(TaupiError, match="expected a regressor"):
        tp.program.Accumulator("panda")


def test_independent_columns_in_one_row_of_many():
    """Thirty functions in one row of twenty: few rows at a point carry anything."""

    def body(x):
        y = cs.SX.zeros(20, 30)
        y[3, :] = cs.horzcat(*[x[0] ** (k % 6) * x[1] ** (k // 6) for k in range(30)])
        return y

    program = trace("sparse", body, [Port("x", (2,))], [Port("Y", (20, 30))])
    assert program.independent().outputs[0].shape == (20, 30)
    with pytest.raises(TaupiError, match="single number"):
        tp.kinetic_energy(tp.load("elbow2r")).independent()


def test_take_wants_positions(problem):
    y, *_ = problem
    for bad in ([True] + [False] * 3, [0.5], ["a"]):
        with pytest.raises(TaupiError, match="expected whole numbers"):
            y.take(bad)
    for places, axis in (([99], -1), ([0], 5)):
        with pytest.raises(TaupiError, match="does not have"):
            y.take(places, axis=axis)
    for name in ("a b", "", "1"):
        with pytest.raises(TaupiError, match="cannot be called"):
            y.times(name)


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
