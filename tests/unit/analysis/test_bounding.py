"""The parts of branch and bound, each against sampling: norms of affine families, functions on boxes, directions, ascents."""

import math

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_robot

import taupi as tp
from taupi.analysis.bounding.branch_and_bound import Maximisation, ascend, enclose
from taupi.analysis.bounding.norms import (
    ColumnSum,
    LargestEntry,
    SingularValue,
    SpectralNorm,
    TopEigenvalue,
    VectorNorm,
    WeightedNorm,
)
from taupi.analysis.bounding.robot_functions import (
    TrigonometricPolynomial,
    directions,
    gravity_function,
    mass_function,
    pairs,
    trigonometric,
    velocity_function,
)
from taupi.analysis.bounding.taylor_expansion import Contracted, TaylorExpansion

VECTORS = [VectorNorm(1), VectorNorm(2), VectorNorm(np.inf)]
SYMMETRIC = [TopEigenvalue(1), TopEigenvalue(-1), SpectralNorm()]
MATRICES = [ColumnSum(), LargestEntry(), SingularValue(), WeightedNorm(ColumnSum(), (1.0, 0.5, 2.0), True)]
EVERY = [*VECTORS, *SYMMETRIC, *MATRICES]


def family(rng, norm, variables, boxes=6, small=1.0):
    """A random affine family F + S t + R that suits a norm."""
    shape = (4,) if norm in VECTORS else (3, 3)
    f = rng.normal(size=(boxes, *shape))
    slopes = small * rng.normal(size=(boxes, *shape, variables))
    rest = small**2 * rng.uniform(0, 0.3, (boxes, *shape))
    if norm in SYMMETRIC:
        f, slopes, rest = (a + np.swapaxes(a, 1, 2) for a in (f, slopes, rest))
    return f, slopes, rest


def members(rng, norm, f, slopes, rest, count=60):
    """Arrays of the family: vertices, and points between them."""
    t = rng.uniform(-1, 1, (count, len(f), slopes.shape[-1]))
    t[::2] = np.sign(t[::2])
    r = rest * rng.choice([-1.0, 1.0], (count, *rest.shape))
    if norm in SYMMETRIC:
        r = np.tril(r) + np.swapaxes(np.tril(r, -1), -1, -2)
    return f + np.einsum("b...k,cbk->cb...", slopes, t) + r


@pytest.mark.parametrize("norm", EVERY, ids=repr)
def test_a_gradient_supports_the_function_from_below(norm):
    """phi(X) >= phi(F) + <G, X - F> for all X, with equality at multiples of F, where a norm grows as F does."""
    rng = np.random.default_rng(1)
    shape = (4,) if norm in VECTORS else (3, 3)
    f, x = rng.normal(size=(2, 50, *shape))
    if norm in SYMMETRIC:
        f, x = (a + np.swapaxes(a, 1, 2) for a in (f, x))
    axes = tuple(range(1, f.ndim))
    value, g = norm.value(f), norm.gradient(f)
    assert (norm.value(x) >= value + (g * (x - f)).sum(axes) - 1e-12).all()
    np.testing.assert_allclose((g * f).sum(axes), value, atol=1e-12)


@pytest.mark.parametrize("variables", [0, 1, 3, 5, 8])
@pytest.mark.parametrize("norm", EVERY, ids=repr)
def test_no_member_is_outside_the_bounds(norm, variables):
    rng = np.random.default_rng(variables)
    for small in (1.0, 0.1, 1e-3):
        f, slopes, rest = family(rng, norm, variables, small=small)
        above, below = norm.above(f, slopes, rest), norm.below(f, slopes, rest)
        for member in members(rng, norm, f, slopes, rest):
            value = norm.value(member)
            assert (value <= above + 1e-12).all()
            assert (value >= below - 1e-12).all()


@pytest.mark.parametrize("norm", EVERY, ids=repr)
def test_a_single_array_is_its_own_bound(norm):
    f, slopes, rest = family(np.random.default_rng(0), norm, 0)
    for bound in (norm.above, norm.below):
        assert np.allclose(bound(f, slopes, 0 * rest), norm.value(f), rtol=1e-12)


@pytest.mark.parametrize("norm", [*VECTORS, ColumnSum(), *SYMMETRIC], ids=repr)
def test_vertices_make_the_upper_bound_exact(norm):
    rng = np.random.default_rng(1)
    f, slopes, rest = family(rng, norm, 3)
    corners = [f + slopes @ (2 * np.array(s) - 1) for s in np.ndindex(2, 2, 2)]
    largest = np.max([norm.value(c) for c in corners], axis=0)
    above = norm.above(f, slopes, 0 * rest)
    assert np.allclose(above, largest, rtol=1e-12)


@pytest.mark.parametrize("norm", EVERY, ids=repr)
def test_bounds_are_of_second_order(norm):
    """Halving the family quarters the error: twenty times smaller is at least a hundred times better."""
    rng = np.random.default_rng(2)
    f, slopes, rest = family(rng, norm, 8)
    errors = []
    for small in (1e-2, 5e-4):
        s = small * slopes
        vertices = [f + s @ np.sign(rng.uniform(-1, 1, 8)) for _ in range(300)]
        gradient = (norm.gradient(f)[..., None] * s).sum(tuple(range(1, f.ndim)))
        first = norm.value(f) + np.abs(gradient).sum(-1)  # what a smooth norm reaches, to first order
        assert (np.max([norm.value(v) for v in vertices], axis=0) <= norm.above(f, s, 0 * rest) + 1e-12).all()
        errors.append(np.abs(norm.above(f, s, 0 * rest) - first).max())
    assert errors[1] < errors[0] / 100 + 1e-13


def bumpy(x):
    return cs.vertcat(cs.sin(x[0]) * x[1], x[0] * x[0] - cs.cos(x[1]) * x[2], x[2] * x[0] * 3)


@pytest.mark.parametrize("half", [1.0, 0.1, 1e-3])
def test_expansion_covers_the_function(half):
    e = TaylorExpansion(bumpy, 3, (3,))
    check_local(e, np.random.default_rng(0).uniform(-1, 1, (5, 3)), half)


def check_local(function, centres, half, fixed=()):
    """Whatever is sampled in the box is f + slopes t + R with |R| <= rest, and inside middle +- radius."""
    rng = np.random.default_rng(3)
    width = np.full(centres.shape, half)
    width[:, list(fixed)] = 0
    lo, hi = centres - width, centres + width
    local = function.local(lo, hi)
    centre = lo + (hi - lo) / 2
    for k in range(50):
        t = rng.uniform(-1, 1, centres.shape)
        x = np.clip(centre + (np.sign(t) if k % 2 else t) * width, lo, hi)
        value = function.at(x)[0]
        share = np.divide(x - centre, width, out=np.zeros_like(x), where=width > 0)[:, function.free]
        affine = local.f + np.einsum("bek,bk->be", local.slopes, share)
        assert (np.abs(value - affine) <= local.rest + 1e-13).all()
        assert (np.abs(value - local.middle) <= local.radius + 1e-13).all()
    return local


def test_remainder_is_of_second_order():
    e = TaylorExpansion(bumpy, 3, (3,))
    centres = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    rests = [check_local(e, centres, half).rest.max() for half in (1e-1, 1e-3)]
    assert 5e3 < rests[0] / rests[1] < 3e4


@pytest.mark.parametrize("half", [1.5, 0.2, 1e-2])
@pytest.mark.parametrize("make", [mass_function, gravity_function, velocity_function])
def test_waves_are_the_term(make, half):
    """The puma: values of the waves against the program, and Taylor's formula on boxes."""
    term = make(tp.load("puma560"))
    function = term.function
    assert isinstance(function, TrigonometricPolynomial)
    x = np.random.default_rng(0).uniform(-3, 3, (20, len(term.turning)))
    middle, _ = function.enclosed(x)
    value, slopes = function.at(x)
    want, want_slopes = function.expansion.at(x)
    assert np.abs(value - middle).max() <= function.error.max() + 1e-13
    assert np.abs(value - want).max() < 1e-11
    assert np.abs(slopes - want_slopes).max() < 1e-11
    check_local(function, x[:5], half)


def test_waves_of_known_frequencies():
    e = TaylorExpansion(lambda x: cs.vertcat(3 + 2 * cs.cos(x[0] - x[1]), cs.sin(2 * x[1])), 2, (2,))
    w = trigonometric(e, (2, 2))
    assert sorted(map(tuple, w.frequencies)) == [(0, 2), (1, -1)]
    assert np.allclose(w.mean, [3, 0])
    assert w.error.max() < 1e-11  # a worst case of some thousand roundings
    # A degree that is too low shows as an error between the nodes: the check above is able to fail.
    low = trigonometric(e, (1, 1))
    assert np.abs(low.at(np.array([[0.3, 0.4]]))[0] - e.at(np.array([[0.3, 0.4]]))[0]).max() > 0.1


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.02]))
def test_fields_of_robots_with_slides(seed, half):
    """Powers of the slides times waves of the turns are the program again, on any tree."""
    robot = random_robot(seed, joints=3, mimic=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2, 2, (4, robot.n))
    for make, program in ((mass_function, tp.mass_matrix), (gravity_function, tp.gravity_torque)):
        function = make(robot)
        x = q[:, list(function.turning)] if function.turning else np.zeros((4, 1))
        x = np.hstack([x, q[:, list(function.sliding)]])
        want = program(robot).compile("numpy")(q).reshape(4, -1)
        assert np.abs(function.function.at(x)[0] - want).max() < 1e-10 * (1 + np.abs(want).max())
        check_local(function.function, x, half, fixed=() if function.turning else (0,))


@pytest.mark.parametrize("p", [1, 2, np.inf])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_directions_are_the_unit_sphere(n, p):
    sphere = directions(n, p)
    rng = np.random.default_rng(0)
    box = rng.integers(len(sphere.lo), size=200)
    z = sphere.lo[box] + rng.random((200, sphere.size)) * (sphere.hi - sphere.lo)[box]
    v = np.array([sphere.velocities(x) for x in z])
    assert np.allclose(np.linalg.norm(v, p, axis=1), 1)
    # Every direction has itself or its opposite among them: the nearest is close.
    wanted = rng.normal(size=(10, n))
    wanted /= np.linalg.norm(wanted, p, axis=1)[:, None]
    many = rng.integers(len(sphere.lo), size=4000)
    z = sphere.lo[many] + rng.random((4000, sphere.size)) * (sphere.hi - sphere.lo)[many]
    v = np.array([np.array([float(c) for c in sphere.velocity(x)]) for x in z])
    near = np.minimum(np.abs(v[:, None] - wanted).max(-1).min(0), np.abs(v[:, None] + wanted).max(-1).min(0))
    assert near.max() < 0.35


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_contraction_is_the_velocity_term(p):
    robot = tp.load("puma560")
    function, sphere = velocity_function(robot), directions(6, p)
    c = function.contracted(sphere.products, len(pairs(6)), sphere.size, sphere.fixed)
    assert isinstance(c, Contracted)
    rng = np.random.default_rng(0)
    q = rng.uniform(-2, 2, (5, 6))
    z = sphere.lo[:1] + rng.random((5, sphere.size)) * (sphere.hi - sphere.lo)[:1]
    v = np.array([sphere.velocities(row) for row in z])
    want = tp.bias_torque(robot)(q, v) - tp.gravity_torque(robot)(q)
    x = np.hstack([q[:, list(function.turning)], z])
    assert np.abs(c.at(x)[0] - want).max() < 1e-11
    fixed = [k for k in range(x.shape[1]) if k not in c.free]
    check_local(c, x, 0.05, fixed)


def test_ascent_reaches_the_top_inside_and_at_the_edge():
    def ascent(x):
        return -(x**4).sum(1) - 10 * (x[:, 0] - x[:, 1]) ** 2 + x[:, 0], np.stack(
            [-4 * x[:, 0] ** 3 - 20 * (x[:, 0] - x[:, 1]) + 1, -4 * x[:, 1] ** 3 + 20 * (x[:, 0] - x[:, 1])], -1
        )

    start = np.array([[2.0, -2.0], [-1.0, 0.5]])
    top = ascend(lambda x: ascent(x)[0], ascent, start, np.full((2, 2), -3.0), np.full((2, 2), 3.0))
    assert np.abs(ascent(top)[1]).max() < 1e-6
    edge = ascend(lambda x: ascent(x)[0], ascent, start, np.full((2, 2), -3.0), np.array([[3.0, -1.0], [3.0, 0.2]]))
    assert np.allclose(edge[:, 1], [-1.0, 0.2])
    # From a start at the lower edge, along which the function still rises.
    start, low, high = np.array([[2.0, 1.0]]), np.array([[-3.0, 1.0]]), np.array([[3.0, 3.0]])
    edge = ascend(lambda x: ascent(x)[0], ascent, start, low, high)
    assert edge[0, 1] == 1.0 and abs(ascent(edge)[1][0, 0]) < 1e-6


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
def test_enclosure_of_a_known_maximum(tolerance):
    """max |(sin x, cos x y)|^2 by hand: the 1-norm |sin x| + |y cos x|, y <= 2, is sqrt(5)."""
    e = TaylorExpansion(lambda x: cs.vertcat(cs.sin(x[0]), x[1] * cs.cos(x[0])), 2, (2,))
    problem = Maximisation(e, VectorNorm(1), np.array([[-3.0, -1.0]]), np.array([[3.0, 2.0]]))
    enclosure = enclose(problem, tolerance, 20_000)
    assert enclosure.lower <= math.sqrt(5) <= enclosure.upper
    assert enclosure.upper - enclosure.lower <= tolerance * enclosure.lower
    assert math.isclose(abs(math.tan(enclosure.at[0])), 0.5, rel_tol=1e-3)
    few = enclose(problem, tolerance, 1)
    assert few.lower <= math.sqrt(5) <= few.upper


@pytest.mark.parametrize("budget", range(1, 12))
def test_no_more_boxes_than_allowed(budget):
    """A box is cut into two, so the last cut may go one beyond the budget."""
    e = TaylorExpansion(lambda x: cs.vertcat(cs.sin(x[0]), x[1] * cs.cos(x[0])), 2, (2,))
    problem = Maximisation(e, VectorNorm(1), np.array([[-3.0, -1.0]]), np.array([[3.0, 2.0]]))
    assert budget <= enclose(problem, 1e-12, budget, samples=10).boxes <= budget + 1
