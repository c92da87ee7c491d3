"""Triangles: rows that come in any portions, columns that a joint does not have, standard errors by the book."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import FRICTION, problem_of, real_truth, states
from runs_of_arms import recorded

import taupi as tp
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.friction.fitted_terms import base_with_terms
from taupi.identification.results.uncertainty import StretchScores
from taupi.identification.rows.factors import (
    Compressor,
    JointFactor,
    append_rows,
    merge_stretches,
    stack_factors,
    triangle,
)
from taupi.identification.rows.row_maker import RowMaker, RowSamples
from taupi.identification.solve import solve


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 12), st.integers(0, 10**6))
def test_rows_in_any_portions_give_one_triangle(portions, width, seed):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(m, width)) for m in portions]
    held = np.zeros((0, width))
    for part in parts:
        held = append_rows(held, part)
    rows = np.vstack(parts)
    assert len(held) == min(len(rows), width)
    assert np.allclose(held.T @ held, rows.T @ rows, atol=1e-11)
    if len(rows) >= width:
        assert np.array_equal(np.tril(held, -1), np.zeros((width, width)))


def test_columns_without_a_number_take_no_part():
    rows = np.random.default_rng(0).normal(size=(40, 6))
    rows[:, [1, 4]] = 0
    r = triangle(rows)
    assert r.shape == (4, 6) and np.allclose(r.T @ r, rows.T @ rows)
    assert triangle(np.zeros((5, 3))).shape == (0, 3)


@pytest.mark.parametrize("samples", [5, 70, 2500])
def test_factors_have_the_rows_sums_of_squares(samples):
    """Joint by joint, against the regressor written out: rows that do not count are left out, zeros included."""
    robot = tp.load("puma560")
    base = tp.base_parameters(robot, terms=FRICTION)
    q, qd, qdd = states(robot, samples, 3)
    rng = np.random.default_rng(4)
    tau, use = rng.normal(size=q.shape), rng.uniform(size=q.shape) < 0.8
    gather = Compressor(base.regressor().sparsity())
    y = base.regressor()(q, qd, qdd)
    for cut in np.array_split(np.arange(samples), 3):
        gather.add(y[cut].transpose(2, 1, 0), tau[cut], use[cut])
    for f in merge_stretches(gather.result(file=0)):
        rows = np.column_stack([y[:, f.joint], tau[:, f.joint]])[use[:, f.joint]]
        assert np.allclose(f.r.T @ f.r, rows.T @ rows, rtol=1e-10, atol=1e-9 * np.abs(rows.T @ rows).max())
        assert f.rows == use[:, f.joint].sum() and f.total == pytest.approx(rows[:, -1].sum())
        assert len(f.r) <= y.shape[2] + 1
    last = merge_stretches(gather.result(file=0))[-1]
    assert samples < 2500 or len(last.r) == base.regressor().sparsity()[-1].sum() + 1 < y.shape[2] + 1


def test_rows_have_the_smooth_friction_of_the_basis():
    """They come from a program with sgn, that all logs share; what the basis says is tanh(qd / width)."""
    robot = tp.load("puma560")
    q, qd, qdd = states(robot, 60, 5)
    terms = (
        tp.terms.Viscous(),
        tp.terms.Coulomb((0.3, 0.0, 0.5, 0.2, 0.2, 1.0)),
        tp.terms.Along("both", tp.terms.Coulomb(0.4), (0, 0, 0, 0, 1, 1)),
    )
    basis = base_with_terms(robot, terms)
    samples = RowSamples(q, qd, qdd, q, np.ones(q.shape, dtype=bool), np.arange(60.0))

    def rows(plan):
        return np.concatenate([r.y for r in RowMaker(plan).rows(iter([samples]), None)], axis=2)

    assert np.allclose(rows(friction_plan(basis)), basis.regressor()(q, qd, qdd).transpose(2, 1, 0), atol=1e-12)
    other = base_with_terms(
        robot, (tp.terms.Viscous(), tp.terms.Coulomb(), tp.terms.Along("both", tp.terms.Coulomb(), (0, 0, 0, 0, 1, 1)))
    )
    assert friction_plan(other).program is friction_plan(basis).program  # so that it is compiled once
    assert not np.allclose(rows(friction_plan(basis)), rows(friction_plan(other)))


def test_standard_errors_are_those_of_the_definition():
    """CR2 written out: H_k the stretch's hat matrix, its inverse root by eigenvalues of a full matrix."""
    robot = tp.load("elbow2r")
    problem = problem_of(robot, real_truth(robot, np.random.default_rng(0)), noise=0.1, samples=900)
    solution = solve(stack_factors(problem.factors), problem.prior_base, problem.metric)
    stretches = StretchScores(problem.pieces, {}, solution.x, solution.spread)
    covariance = solution.spread @ stretches.meat @ solution.spread.T
    inverse = solution.spread @ solution.spread.T
    middle = np.zeros_like(inverse)
    for k in sorted({f.stretch for f in problem.pieces}):
        rows = np.vstack([f.r for f in problem.pieces if f.stretch == k])
        y, left = rows[:, :-1], rows[:, -1] - rows[:, :-1] @ solution.x
        values, turn = np.linalg.eigh(np.eye(len(y)) - y @ inverse @ y.T)
        score = y.T @ (turn @ ((turn.T @ left) / np.sqrt(values)))
        middle += np.outer(score, score)
    assert np.allclose(covariance, inverse @ middle @ inverse, rtol=1e-8, atol=1e-8 * np.abs(covariance).max())
    freedom = stretches.freedom()
    assert (freedom > 1).all() and (freedom < len({f.stretch for f in problem.pieces})).all()


def test_packed_factors_are_the_same_numbers():
    rng = np.random.default_rng(0)
    upper = np.zeros((4, 6))
    upper[:, [0, 2, 3, 5]] = np.triu(rng.normal(size=(4, 4)))
    for r in (upper, rng.normal(size=(3, 6)), np.zeros((2, 6)), np.zeros((0, 6))):
        factor = JointFactor(3, 1, r, 7, 1.5, 2, 0.5)
        packed = factor.packed()
        assert packed.is_packed and not packed.unpacked().is_packed
        assert np.array_equal(packed.r, r) and packed.r.shape == r.shape
        moved = pickle.loads(pickle.dumps(packed)).at(8)
        assert np.array_equal(moved.r, r)
        assert (moved.file, moved.joint, moved.rows, moved.total, moved.stretch, moved.share) == (8, 1, 7, 1.5, 2, 0.5)
    (alone,) = merge_stretches([JointFactor(3, 1, upper, 7, 1.5, 0, 0.5).packed()])
    assert alone.is_packed and alone.stretch == -1  # and not in memory twice
    plain = [JointFactor(3, 1, rng.normal(size=(5, 6)), 7, 1.5, k, 0.5) for k in range(2)]
    (joined,), (packed,) = merge_stretches(plain), merge_stretches([f.packed() for f in plain])
    assert packed.is_packed and not joined.is_packed and np.array_equal(packed.r, joined.r)


def test_very_many_logs_are_packed_and_give_the_same_fit(monkeypatch):
    from taupi.identification.rows import pieces

    logs, options = [recorded(k) for k in range(3)], {"terms": ("viscous", "coulomb"), "cutoff_hz": 10}
    few = tp.identify(tp.load("elbow2r"), logs, **options)
    monkeypatch.setattr(pieces, "_MANY", 2)
    many = tp.identify(tp.load("elbow2r"), logs, **options)
    assert np.array_equal(few.values, many.values) and np.array_equal(few.covariance, many.covariance)
    problem = tp.estimators.build_problem(tp.load("elbow2r"), logs, **options)
    assert all(f.is_packed for f in problem.factors)


def test_factors_of_very_many_logs_are_stacked_in_parts(monkeypatch):
    from taupi.identification.rows import factors as module

    rng = np.random.default_rng(1)
    several = [JointFactor(k, 0, np.triu(rng.normal(size=(5, 5))), 9) for k in range(40)]
    weights = {(k, 0): 1.0 + k for k in range(40)}
    at_once = stack_factors(several, weights)
    monkeypatch.setattr(module, "_STACKED", 23)
    in_parts = stack_factors(several, weights)
    assert np.allclose(in_parts.T @ in_parts, at_once.T @ at_once, rtol=1e-12)


def test_joined_stretches_keep_what_a_row_is_worth():
    """Filtered rows repeat each other: a row of these is worth 0.25 independent ones, alone and together."""
    rng = np.random.default_rng(0)
    pieces = [JointFactor(0, 0, rng.normal(size=(5, 3)), 50, 1.0, k, 0.25) for k in range(4)]
    (joined,) = merge_stretches(pieces)
    assert (joined.rows, joined.total, joined.share) == (200, 4.0, 0.25)
