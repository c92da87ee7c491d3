"""The interval target: every value of a program in a box lies between the ends, and the ends are close for small boxes."""

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import programs, random_robot

import taupi as tp
from taupi.program.program import Port, trace
from taupi.program.tape import BINARY, UNARY
from taupi.program.targets.interval import OPERATIONS


def boxes(rng, count, size, widest=2.0):
    """Boxes of widths from nothing to `widest`; one end is often exactly zero."""
    centre = rng.uniform(-2, 2, (count, size))
    half = rng.choice([0.0, 1e-9, 1e-3, 0.1, widest], (count, size)) * rng.uniform(0, 1, (count, size))
    lo, hi = centre - half, centre + half
    touching = rng.random((count, size)) < 0.1
    return np.where(touching, np.minimum(0.0, hi), lo), hi


def samples(rng, lo, hi, count):
    """Points of the boxes, their corners among them."""
    t = rng.uniform(0, 1, (count, *lo.shape))
    t[: count // 4] = np.round(t[: count // 4])
    return np.clip(lo + t * (hi - lo), lo, hi)


@settings(max_examples=150, deadline=None)
@given(programs(), st.integers(0, 1000))
def test_values_lie_inside_on_random_programs(program, seed):
    rng = np.random.default_rng(seed)
    x, y = boxes(rng, 8, 3), boxes(rng, 8, 2)
    enclosure = program.compile("interval")(x, y)
    values = program.compile("numpy")(samples(rng, *x, 40), samples(rng, *y, 40))
    for (lo, hi), value in zip(enclosure, values, strict=True):
        assert not np.isnan(lo).any()
        assert not np.isnan(hi).any()
        known = ~np.isnan(value)
        assert (value >= lo)[known].all()
        assert (value <= hi)[known].all()


def one(function, lo, hi, other=None):
    """The enclosure of a function of one or two scalars."""
    ports = [Port("x")] if other is None else [Port("x"), Port("y")]
    program = trace("f", function, ports, [Port("z")])
    return program.compile("interval")(*[(lo, hi)] + ([] if other is None else [other]))


def near(got, want):
    return np.allclose(got, want, rtol=1e-14, atol=1e-300)


def test_known_ranges():
    assert near(one(cs.sin, 0.1, 3.0), (np.sin(0.1), 1.0))
    assert near(one(cs.cos, 3.0, 3.3), (-1.0, np.cos(3.3)))
    assert near(one(cs.cos, -1.0, 7.0), (-1.0, 1.0))
    assert near(one(cs.sin, 100.1, 100.2), np.sort(np.sin([100.1, 100.2])))
    assert near(one(lambda x: x * x, -2.0, 1.0), (0.0, 4.0))
    assert near(one(lambda x: 1 / x, 2.0, 4.0), (0.25, 0.5))
    assert one(lambda x: 1 / x, -1.0, 4.0) == (-np.inf, np.inf)
    assert one(cs.tan, 1.0, 2.0) == (-np.inf, np.inf)
    assert near(one(cs.tan, -1.0, 1.0), np.tan([-1.0, 1.0]))
    assert one(cs.sign, -1.0, 2.0) == (-1.0, 1.0)
    assert near(one(cs.fabs, -3.0, 2.0), (0.0, 3.0))
    assert near(one(cs.acos, 0.0, 0.5), np.arccos([0.5, 0.0]))
    assert near(one(cs.sqrt, -1.0, 4.0), (0.0, 2.0))
    assert one(cs.log, -1.0, 1.0)[0] == -np.inf
    assert near(one(lambda x, y: x * y, -1.0, 2.0, (-3.0, 1.0)), (-6.0, 3.0))
    assert near(one(cs.atan2, 1.0, 2.0, (-1.0, 1.0)), (np.arctan2(1, 1), np.arctan2(1, -1)))
    assert near(one(cs.atan2, -1.0, 2.0, (-1.0, 1.0)), (-np.pi, np.pi))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 0.5])
def test_powers(exponent):
    lo, hi = one(lambda x, y: x**y, np.array([-2.0, 1.0, -3.0]), np.array([1.0, 2.0, -1.0]), (exponent, exponent))
    x = np.linspace([-2.0, 1.0, -3.0], [1.0, 2.0, -1.0], 101)
    with np.errstate(invalid="ignore"):
        values = x**exponent
    known = ~np.isnan(values)
    assert (lo <= values)[known].all()
    assert (values <= hi)[known].all()
    assert near(lo[1], values[:, 1].min())
    assert near(hi[1], values[:, 1].max())


ONE_STEP = [
    cs.sin,
    cs.cos,
    cs.tan,
    cs.atan,
    cs.exp,
    cs.tanh,
    cs.sqrt,
    cs.log,
    cs.fabs,
    lambda a: a * a,
    lambda a: 1 / a,
]


@pytest.mark.parametrize("function", ONE_STEP)
def test_a_point_has_a_width_of_a_few_ulps(function):
    x = np.random.default_rng(0).uniform(0.1, 3, 100)
    lo, hi = one(function, x, x)
    assert (hi - lo <= 40 * np.spacing(np.maximum(np.abs(lo), np.abs(hi)))).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_point_of_a_long_program_stays_narrow(seed):
    """Widths grow along the chain, by a factor a link; four links of any geometry stay within 1e-11."""
    robot = random_robot(seed, joints=4)
    q = np.random.default_rng(seed).uniform(-2, 2, (20, 4))
    lo, hi = tp.mass_matrix(robot).compile("interval")((q, q))
    value = tp.mass_matrix(robot).compile("numpy")(q)
    assert (lo <= value).all()
    assert (value <= hi).all()
    assert (hi - lo).max() < 1e-11 * np.abs(value).max()


def test_widths_shrink_with_the_box():
    program = tp.mass_matrix(tp.load("puma560"))
    widths = []
    for half in (0.1, 0.01, 0.001):
        lo, hi = program.compile("interval")((np.full(6, 0.3 - half), np.full(6, 0.3 + half)))
        widths.append((hi - lo).max())
    assert 5 < widths[0] / widths[1] < 20
    assert 8 < widths[1] / widths[2] < 12


def test_every_operation_of_the_tape_is_known():
    assert set(OPERATIONS) == {*UNARY, *BINARY}


def test_shapes_broadcast():
    program = tp.gravity_torque(tp.load("elbow2r"))
    lo, hi = program.compile("interval")((np.zeros((3, 1, 2)), np.ones((4, 2))))
    assert lo.shape == hi.shape == (3, 4, 2)
    assert program.compile("interval")(q=(np.zeros((0, 2)), np.ones(2)))[0].shape == (0, 2)


def test_bad_boxes():
    run = tp.gravity_torque(tp.load("elbow2r")).compile("interval")
    with pytest.raises(tp.TaupiError, match="lo <= hi"):
        run(([0.0, 1.0], [1.0, 0.0]))
    with pytest.raises(tp.TaupiError, match="lo <= hi"):
        run(([0.0, np.nan], [1.0, 0.0]))
    with pytest.raises(tp.TaupiError, match="pair"):
        run([0.0, 1.0, 2.0])
    with pytest.raises(tp.TaupiError, match="expected"):
        run(([0.0] * 3, [1.0] * 3))


def test_a_point_encloses_the_exact_value():
    # Sums and products of decimals are not doubles: without rounding outwards the two ends would meet beside the truth.
    from fractions import Fraction

    def body(x):
        return cs.vertcat(x[0] * x[1] + x[2] * x[3], (x[0] + x[1]) * (x[2] - x[3]) * x[0], x[0] / x[1] - x[2] * x[2])

    program = tp.program.trace("f", body, [tp.program.Port("x", (4,))], [tp.program.Port("y", (3,))])
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 1, (50, 4))
    lo, hi = program.compile("interval")((x, x))
    missed = 0
    for k in range(len(x)):
        exact = program.exact([Fraction(v) for v in x[k]])
        for a, b, truth in zip(lo[k], hi[k], exact, strict=True):
            value = Fraction(int(truth.p), int(truth.q))
            assert Fraction(a) <= value <= Fraction(b)
            missed += Fraction((a + b) / 2) != value
    assert missed > 100  # the doubles nearest to the truth are not the truth
