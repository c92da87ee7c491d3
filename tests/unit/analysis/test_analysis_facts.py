"""Facts about bounds: sums rounded upwards, and with how many variables second derivatives are used."""

from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
import sympy

import taupi as tp
from taupi.analysis.bound_results import Bound, Growth
from taupi.analysis.bounding.norms import ROUNDING, ColumnSum, slack, upper_bound
from taupi.analysis.bounding.robot_functions import TrigonometricPolynomial, trigonometric
from taupi.analysis.bounding.taylor_expansion import FLAT, TaylorExpansion
from taupi.analysis.joint_range import HALF, joint_range
from taupi.analysis.symbolic_bounds import _Formulas


def test_a_growing_bound_is_never_below_its_exact_sum():
    rng = np.random.default_rng(0)
    powers = ((0, 0), (1, 0), (0, 2), (3, 1))
    for _ in range(200):
        heights, d = rng.uniform(0, 1, len(powers)), rng.uniform(-2, 2, 2)
        pairs = tuple((power, Bound("b", "", 0.0, float(b))) for power, b in zip(powers, heights, strict=True))
        exact = sum(
            Fraction(float(b)) * abs(Fraction(d[0])) ** i * abs(Fraction(d[1])) ** j
            for b, (i, j) in zip(heights, powers, strict=True)
        )
        bound = Fraction(Growth("M", "", ("d1", "d2"), pairs)(*d.tolist()))
        assert exact <= bound < exact * (1 + Fraction(1, 2**44))


@pytest.mark.parametrize(("variables", "order"), [(FLAT, 4.0), (FLAT + 1, 2.0)])
def test_second_derivatives_are_used_up_to_seven_variables(variables, order):
    """Half the box leaves a quarter of the remainder where they are, and half of the range where they are not."""
    assert FLAT == 7
    function = TaylorExpansion(lambda x: cs.sum1(cs.sin(x)), variables, (1,))
    assert function.flat == (variables > FLAT)
    centre = np.full((1, variables), 0.4)
    wide, narrow = (function.local(centre - w, centre + w) for w in (1e-2, 5e-3))
    assert wide.rest[0, 0] / narrow.rest[0, 0] == pytest.approx(order, rel=0.02)
    assert bool(np.any(wide.slopes)) == (variables <= FLAT)


def test_where_a_wave_does_not_bend_a_sixth_of_the_cube_of_the_reach_is_left():
    """sin x = x + R with |R| <= |x|^3 / 6."""
    wave = trigonometric(TaylorExpansion(lambda x: cs.sin(x[0]), 1, (1,)), (1,))
    assert isinstance(wave, TrigonometricPolynomial)
    for reach in (0.1, 0.02):
        local = wave.local(np.array([[-reach]]), np.array([[reach]]))
        assert local.rest[0, 0] == pytest.approx(reach**3 / 6, rel=1e-6)


def test_a_rule_for_velocity_forces_is_not_below_its_exact_value():
    """n^2 max |Gamma|, a product that may be rounded downwards."""
    for length in (0.3, 0.5, 0.7, 0.9):
        arm = tp.load("planar3r").bind(l1=length, l2=0.8, l3=0.6)
        found = tp.bounds(arm, (-0.5, 0.5), tolerance=0.5, boxes=50)
        largest = Fraction(found["Gamma"].upper)
        assert 9 * largest <= Fraction(found["c_2_n2"].upper) <= 9 * largest * (1 + Fraction(1, 2**49))


def test_a_search_has_the_seed_zero_unless_another_is_given():
    arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    seeds: list[dict[str, int]] = [{}, {"seed": 0}, {"seed": 1}]
    default, zero, one = ([b.at for b in tp.bounds(arm, (-1.0, 1.0), boxes=1, **seed)] for seed in seeds)
    assert default == zero != one


def test_more_than_a_turn_counts_as_one():
    ends = joint_range(tp.load("elbow2r"), {"shoulder": (-4.0, 4.0), "elbow": (-3.0, 3.0)})
    assert ends.tolist() == [[-HALF, HALF], [-3.0, 3.0]]


def test_rounding_errors_grow_with_the_size_of_values_whatever_their_sign():
    f, slopes, rest = np.array([[3.0, 4.0]]), np.array([[[0.5, 0.25], [0.1, 0.1]]]), np.array([[0.2, 0.3]])
    expected = ROUNDING * 3 * 4.5
    for a, b in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
        assert slack(a * f, b * slopes, rest) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(30))
def test_the_range_of_a_wave_is_that_of_its_values(seed):
    """Sine and cosine of 2 q1 - q2 over random boxes, beside their values on a fine grid."""
    rng = np.random.default_rng(seed)
    spans = np.sort(rng.uniform(-5, 5, (2, 2)), axis=1)
    spans[:, 1] = spans[:, 0] + (spans[:, 1] - spans[:, 0]) * rng.uniform(0.05, 1)
    formulas = _Formulas(tp.load("elbow2r"), spans)
    q1, q2 = sympy.symbols("q1 q2")
    angles = np.linspace(2 * spans[0, 0] - spans[1, 1], 2 * spans[0, 1] - spans[1, 0], 20_001)
    for wave, values in ((sympy.sin, np.sin(angles)), (sympy.cos, np.cos(angles))):
        np.testing.assert_allclose(formulas._wave(wave(2 * q1 - q2)), (values.min(), values.max()), atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_a_term_of_several_waves_lies_between_the_products_of_their_ranges(seed):
    """-3 m cos(q1)^2 sin(q2) over random boxes: its factors vary independently, so its range is that of a grid."""
    rng = np.random.default_rng(seed)
    spans = rng.uniform(-4, 4, (2, 1)) + np.array([0.0, rng.choice([0.3, 1.0, 4.0])])
    q1, q2, m = sympy.symbols("q1 q2 m", positive=True)
    square, wave = (np.linspace(*span, 4001) for span in spans)
    values = np.multiply.outer(-3 * np.array([np.min(np.cos(square) ** 2), np.max(np.cos(square) ** 2)]), np.sin(wave))
    for sign in (1, -1):
        ends = _Formulas(tp.load("elbow2r"), spans)._term(-3 * m * sympy.cos(q1) ** 2 * sympy.sin(q2), sign)
        expected = sorted((sign * values.min(), sign * values.max()))
        np.testing.assert_allclose([float(e / m) for e in ends], expected, atol=1e-4)


@pytest.mark.parametrize("sense", [1, -1])
def test_a_bound_of_a_norm_is_never_on_the_wrong_side_of_its_exact_value(sense):
    """The 1-norm of single matrices, whose sums are rounded, beside sums of fractions."""
    norm, f = ColumnSum(), np.random.default_rng(0).normal(size=(400, 6, 6))
    bound = upper_bound(norm, sense, f, np.zeros((*f.shape, 1)), np.zeros(f.shape))
    for matrix, value in zip(f, bound, strict=True):
        exact = max(sum(abs(Fraction(float(x))) for x in column) for column in matrix.T)
        assert sense * exact <= Fraction(float(value)) < sense * exact + Fraction(1, 2**40)


def test_the_bound_of_velocity_forces_counts_every_pair_of_velocities():
    arm = tp.load("planar3r")
    lengths = {"l1": 0.2, "l2": 1.0, "l3": 1.5}
    formula = tp.closed_form.bound_formulas(arm)["c_1"]
    numbers = {str(s): lengths.get(str(s), 1.0) for s in formula.free_symbols}
    bound = float(formula.subs(numbers))
    rng = np.random.default_rng(0)
    bound_arm = arm.bind(**numbers)
    q, qd = (
        rng.uniform(-np.pi, np.pi, (4000, 3)),
        np.eye(3)[rng.integers(0, 3, 4000)] + np.eye(3)[rng.integers(0, 3, 4000)],
    )
    c = tp.coriolis_matrix(bound_arm)(q, qd)
    forces = np.abs(np.einsum("kij,kj->ki", c, qd)).sum(axis=1)
    assert (forces <= bound * np.abs(qd).sum(axis=1) ** 2 * (1 + 1e-9)).all()


def test_a_value_at_a_point_is_known_to_its_last_digit():
    """x^2 in doubles is off by half a unit in the last place at most, and the enclosure by no more than one."""
    x = 0.1
    (middle,), (radius,) = (v.ravel() for v in TaylorExpansion(lambda z: z * z, 1, (1,)).enclosed(np.array([[x]])))
    exact = Fraction(x) ** 2
    assert abs(Fraction(float(middle)) - exact) <= Fraction(float(radius)) <= Fraction(float(np.spacing(x * x)))


def test_a_positive_mass_matrix_violates_nothing_and_a_negative_one_by_its_eigenvalue():
    pendulum = tp.Robot.from_dh([{}])
    inertia = [name.endswith(".Izz") for name in pendulum.parameters.names]
    for value, violation in ((0.3, 0.0), (-0.3, 0.3)):
        check = tp.properties(pendulum.with_parameters(np.where(inertia, value, 0.0)), samples=5)["positive"]
        assert (check.residual, check.tolerance, check.holds) == (violation, 0.0, value > 0)
