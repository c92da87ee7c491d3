"""Exact scalars: decimals as printed, rational circle points, snapping, formulas."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taupi.errors import TaupiError
from taupi.model.scalars import (
    circle_point,
    exact,
    note_snapped,
    parse_expression,
    short_fraction,
    snapped_unit_vector,
    unit_vector,
    with_values,
)

# A double of an angle up to 100 rad resolves 1.4e-14 rad; the circle point is nearer to it than that.
ANGLE = 2e-14


@pytest.mark.parametrize(
    ("given_as", "value"),
    [(0.4318, "2159/5000"), ("0.333", "333/1000"), (".5", "1/2"), ("1e-3", "1/1000"), ("-7/30", "-7/30"), (3, "3")],
)
def test_a_number_is_the_decimal_that_was_written(given_as, value):
    assert exact(given_as) == Fraction(value)


@pytest.mark.parametrize(
    "bad",
    [
        "nan",
        "inf",
        "1e999",
        float("nan"),
        True,
        None,
        "2 +",
        "__import__('os')",
        "1/0",
        [1],
        10**400,
        "1e99",
        "9/1e-99",
    ],
)
def test_what_is_no_finite_number_is_one_sentence(bad):
    with pytest.raises(TaupiError, match=r"^mass is .*(expected|not a finite number)"):
        exact(bad, "mass")


@pytest.mark.parametrize(
    ("printed", "quarters"),
    [
        ("1.5708", 1),
        ("3.14", 2),
        ("1.57", 1),
        ("1.571", 1),
        ("1.5707", 1),
        ("-3.14159", -2),
        (math.pi / 2, 1),
        ("pi/2", 1),
        ("-3*pi/2", 1),
    ],
)
def test_rounded_right_angles_are_right_angles(printed, quarters):
    c, s, _ = circle_point(printed)
    assert (c, s) == [(1, 0), (0, 1), (-1, 0), (0, -1)][quarters % 4]


@pytest.mark.parametrize("printed", ["0.0486795", "3.1", "1.58", "0.001", "0.0001", "1.5658"])
def test_other_angles_stay(printed):
    c, s, snapped = circle_point(printed)
    assert snapped == 0
    assert math.atan2(s, c) == pytest.approx(float(printed), abs=ANGLE)


def test_without_snapping_1_5708_is_1_5708():
    c, _, snapped = circle_point("1.5708", snap=False)
    assert snapped == 0
    assert 0 != c == pytest.approx(math.cos(1.5708), abs=3e-16)  # the double of 1.5708 is off by 1e-16
    assert circle_point(math.pi / 2, snap=False)[:2] == (0, 1)


@given(st.floats(-100, 100))
def test_circle_points_lie_on_the_circle_exactly(angle):
    c, s, _ = circle_point(angle, snap=False)
    assert c * c + s * s == 1
    assert abs(math.remainder(math.atan2(s, c) - angle, 2 * math.pi)) < ANGLE


@given(st.floats(-1, 1))
def test_short_fractions_are_near_and_short(x):
    f = short_fraction(x)
    assert abs(f - Fraction(x)) <= Fraction(1, 10**17)
    assert f.denominator <= Fraction(x).denominator


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 1e-3))
def test_unit_vectors_have_length_one_exactly(values):
    u = unit_vector(values, snap=False)
    assert sum(v * v for v in u) == 1
    assert [float(v) for v in u] == pytest.approx([v / math.hypot(*values) for v in values], abs=1e-15)


def test_how_far_a_direction_was_snapped():
    assert snapped_unit_vector((0, -3e-6, 2), "axis") == ((0, 0, 1), pytest.approx(1.5e-6))
    assert snapped_unit_vector((0, 0, -2)) == ((0, 0, -1), 0)
    assert snapped_unit_vector((0, 3e-6, 1), snap=False)[1] == 0


def test_only_what_exceeds_the_rounding_of_long_numbers_is_noted():
    notes = []
    note_snapped(notes, "a: alpha = 1.570796326794897", 4e-16)
    note_snapped(notes, "b: alpha = 1.5708", -3.7e-6)
    assert notes == ["b: alpha = 1.5708 snapped by 3.7e-06 rad to a right angle"]


@pytest.mark.parametrize(
    "formula", ["(" * 9 + "9" + "**16)" * 9, "(" * 60 + "sqrt(2)+1" + ")**16" * 60, "((1/9)" + "**16" * 9 + ")"]
)
def test_towers_of_powers_end(formula):
    with pytest.raises(TaupiError, match=r"expected a number or a formula|not a real number"):
        exact(formula)


def test_formulas_are_read_not_run():
    assert str(parse_expression("(l1 + 2*l2)**2 / sqrt(3)")) == "sqrt(3)*(l1 + 2*l2)**2/3"
    assert str(parse_expression("x**(-2)")) == "x**(-2)"
    for bad in ("2**(9**9)", "9**9**9", "x[0]", "f(x)", "lambda: 0", "a.b"):
        with pytest.raises(TaupiError, match="expected a number or a formula"):
            parse_expression(bad)


def test_constants_become_numbers():
    c, s, _ = circle_point("pi/3")
    assert c == pytest.approx(0.5, abs=2e-16) and c * c + s * s == 1
    assert float(exact("sqrt(2)/2")) == math.sqrt(0.5)
    assert circle_point("4*pi/8")[:2] == (0, 1)
    with pytest.raises(TaupiError, match="not a finite number"):
        exact("sqrt(-1)")


def test_symbols_take_values():
    assert with_values(exact("2*l1 - 1/3"), {"l1": Fraction(1, 6)}) == 0
    assert str(with_values(exact("l1 + l2"), {"l1": Fraction(1), "l2": None})) == "l2 + 1"
