"""Y = Y_b B on random trees: without rounding at rational states, in doubles at random ones, and against a numeric rank."""

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_robot, random_states, robots, trees_with_mimic

import taupi as tp

TERMS = ("rotor", "viscous", "coulomb", "offset")
# A few hundred roundings, and coefficients of B up to some hundreds.
IDENTITY = 1e-10
# Columns of length one: rounding leaves 1e-14, and the least of the others is far above on joints that all move.
RANK = 1e-11


def rational_rows(program, count, seed):
    """Rows of the regressor at random rational states, angles by the tangent of their half, in rational arithmetic."""
    rng = random.Random(seed)

    def vector():
        return [Fraction(rng.randint(-30, 30), rng.randint(1, 9)) for _ in range(program.inputs[0].size)]

    evaluate = program.compile("exact")
    return [row for _ in range(count) for row in evaluate(vector(), vector(), vector()).tolist()]


def matrix(rows):
    return fmpq_mat([[fmpq(v.numerator, v.denominator) if isinstance(v, Fraction) else v for v in row] for row in rows])


@pytest.mark.parametrize("name", ["elbow2r", "planar3r", "puma560", "panda", "ur10"])
def test_identity_is_exact_at_fresh_rational_states(name):
    robot = tp.load(name)
    base = tp.base_parameters(robot, terms=TERMS)
    full = matrix(rational_rows(tp.regressor(robot, terms=TERMS), 3, seed=5))
    part = matrix(rational_rows(base.regressor(), 3, seed=5))
    assert part * matrix(base.B.tolist()) == full


@settings(max_examples=8, deadline=None)
@given(robots)
def test_identity_and_rank_are_exact_on_random_trees(robot):
    base = tp.base_parameters(robot)
    y = tp.regressor(robot)
    rows = matrix(rational_rows(y, len(y.parameters) // robot.n + 6, seed=1))
    assert rows.rank() == base.count
    part = matrix([[row[k] for k in base.columns] for row in rows.tolist()])
    assert part * matrix(base.B.tolist()) == rows


@settings(max_examples=12, deadline=None)
@given(trees_with_mimic)
def test_identity_and_rank_in_doubles_with_mimic_joints_and_all_terms(robot):
    terms = (*TERMS, tp.terms.Stribeck(velocity=0.5))
    base = tp.base_parameters(robot, terms=terms)
    full = tp.regressor(robot, terms=terms).compile("numpy")(*random_states(robot, 100, 3))
    part = base.regressor().compile("numpy")(*random_states(robot, 100, 3))
    assert np.abs(part @ base.projection - full).max() < IDENTITY * np.abs(base.projection).max()
    stacked = full.reshape(-1, full.shape[-1])
    acting = stacked[:, np.linalg.norm(stacked, axis=0) > RANK]
    size = np.linalg.svd(acting / np.linalg.norm(acting, axis=0), compute_uv=False)
    rank = (size > RANK * size[0]).sum()
    # Many joints that follow one are functions of one angle, so nearly dependent that doubles see fewer of them than there are.
    followers = len(robot.joints) - robot.n
    assert base.count == rank if followers <= robot.n else base.count >= rank


@settings(max_examples=6, deadline=None)
@given(trees_with_mimic)
def test_slotine_li_regressor_has_the_same_relations(robot):
    base = tp.base_parameters(robot, terms=TERMS)
    states = random_states(robot, 20, 4)
    full = tp.slotine_li_regressor(robot, terms=TERMS).compile("numpy")(*states)
    part = base.slotine_li_regressor().compile("numpy")(*states)
    assert np.abs(part @ base.projection - full).max() < IDENTITY * np.abs(base.projection).max()


@settings(max_examples=8, deadline=None)
@given(trees_with_mimic, st.integers(0, 1000))
def test_torque_depends_on_the_base_parameters_alone(robot, seed):
    base = tp.base_parameters(robot, terms=("viscous",))
    states = random_states(robot, 10, 3)
    pi = base.standard.values
    tau = tp.inverse_dynamics(robot, terms=("viscous",)).compile("numpy")(*states)
    part = base.regressor().compile("numpy")(*states)
    scale = max(1.0, np.abs(tau).max())
    assert np.abs(part @ base.project(pi) - tau).max() < IDENTITY * scale
    assert np.abs(part @ base.parameters.values - tau).max() < IDENTITY * scale
    # Any change along the null space of B moves no joint; the null space is that of an SVD, not the regrouping's own.
    change = np.linalg.svd(base.projection)[2][base.count :]
    other = robot.with_parameters(pi[: 10 * len(robot.links)] + _inertial(change, robot, seed))
    assert np.abs(tp.inverse_dynamics(other, terms=("viscous",)).compile("numpy")(*states) - tau).max() < 1e-9 * scale


def _inertial(null, robot, seed):
    mixed = np.random.default_rng(seed).normal(size=len(null)) @ null
    assert np.abs(mixed[10 * len(robot.links) :]).max(initial=0) < 1e-12  # viscous friction is always its own
    return mixed[: 10 * len(robot.links)]


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_count_and_classes_do_not_depend_on_the_choice_of_representatives(seed):
    robot = random_robot(seed, mimic=True)
    bases = [tp.base_parameters(robot, terms=TERMS, order=o) for o in ("symoro", "taupi", "spatial_v2")]
    bases.append(tp.base_parameters(robot, terms=TERMS, keep=("*.m", "*.mz", "*.offset")))
    assert len({b.count for b in bases}) == 1
    assert all(b.classes == bases[0].classes for b in bases)
    # They span the same space: each one's rows are combinations of the others' rows.
    both = matrix(bases[0].B.tolist() + bases[-1].B.tolist())
    assert both.rank() == bases[0].count
