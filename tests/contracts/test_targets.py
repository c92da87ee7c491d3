"""One suite over every target: on random programs and robots all of them mean the same."""

import math
from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from support import error, programs, random_robot, random_states

import taupi as tp
from taupi.program.program import Port, trace

SIZES = [(), (0,), (1,), (3,), (8,), (17,), (2, 3), (2, 0), (1, 1, 5)]


@settings(max_examples=40, deadline=None)
@given(programs(), st.sampled_from(SIZES), st.integers(0, 1000))
def test_compiled_equals_numpy_on_random_programs(program, shape, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, (*shape, 3)), rng.uniform(-2, 2, (*shape, 2))
    got, want = program(x, y), program.compile("numpy")(x, y)
    for g, w, p in zip(got, want, program.outputs, strict=True):
        assert g.shape == shape + p.shape
        # tan and powers amplify the last bit of sine and cosine, by up to about 1e4 within these ranges.
        assert error(g, w) < 1e-9


PROGRAMS = {
    "regressor": (tp.regressor, 3),
    "slotine_li": (tp.slotine_li_regressor, 4),
    "mass_matrix": (tp.mass_matrix, 1),
    "christoffel": (tp.christoffel_symbols, 1),
    "forward": (tp.forward_dynamics, 3),
    "kinematics": (tp.forward_kinematics, 1),
}


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_equals_numpy_for_any_batch(name, shape):
    build, count = PROGRAMS[name]
    program = build(random_robot(7, joints=4))
    states = np.random.default_rng(0).uniform(-2, 2, (count, *shape, 4))
    got, want = program(*states), program.compile("numpy")(*states)
    assert got.shape == shape + program.outputs[0].shape
    assert error(got, want) < 1e-12


def half_tangents(robot, q):
    """Exact arithmetic names an angle by tan(q/2); sliding joints by their value."""
    return [
        Fraction(x) if j.prismatic else Fraction(math.tan(x / 2)) for x, j in zip(q, robot.driving_joints, strict=True)
    ]


def as_floats(array):
    return np.array([float(Fraction(int(v.p), int(v.q))) for v in array.ravel()]).reshape(array.shape)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_equals_compiled_on_random_trees(seed):
    robot = random_robot(seed)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, 3, seed))
    y = tp.regressor(robot, terms=("viscous", "coulomb", "rotor"))
    exact = y.exact(half_tangents(robot, q), [Fraction(v) for v in qd], [Fraction(v) for v in qdd])
    assert error(y(q, qd, qdd), as_floats(exact)) < 1e-12


@pytest.mark.parametrize("name", ["mass_matrix", "forward", "kinematics"])
def test_exact_equals_compiled(name):
    build, count = PROGRAMS[name]
    robot = random_robot(8, joints=3)
    states = [x[0] for x in random_states(robot, 1, count, 4)]
    program = build(robot)
    exact = program.exact(half_tangents(robot, states[0]), *([Fraction(v) for v in x] for x in states[1:]))
    assert error(program(*states), as_floats(exact)) < 1e-9


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_explicit_equals_compiled(seed):
    robot = random_robot(seed, joints=2)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, 3, seed))
    y = tp.regressor(robot, terms=("coulomb",))
    symbols = [sympy.Symbol(f"{s}{i + 1}") for s in ("q", "qd", "qdd") for i in range(2)]
    got = sympy.lambdify(symbols, y.sympy(), "numpy")(*q, *qd, *qdd)
    assert error(got, y(q, qd, qdd)) < 1e-11


def test_explicit_forward_dynamics_has_its_quotients():
    robot = tp.load("lecture2r")
    q, qd, tau = (x[0] for x in random_states(robot, 1, 3))
    program = tp.forward_dynamics(robot)
    symbols = [sympy.Symbol(f"{s}{i + 1}") for s in ("q", "qd", "tau") for i in range(2)]
    got = sympy.lambdify(symbols, program.sympy(values=True), "numpy")(*q, *qd, *tau)
    assert error(np.ravel(got), program(q, qd, tau)) < 1e-10


def test_explicit_keeps_named_symbols_and_reduces_squares():
    x, y = sympy.symbols("q1 q2")
    l1, l2, m1, m2 = sympy.symbols("L1 L2 m1 m2")
    m = tp.mass_matrix(tp.load("lecture2r")).sympy()
    coupling = m2 * (l1 * l2 * sympy.cos(y) + l2**2)
    corner = m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * sympy.cos(y) + l2**2)
    assert sympy.expand(m - sympy.Matrix([[corner, coupling], [coupling, m2 * l2**2]])) == sympy.zeros(2, 2)
    assert x not in m.free_symbols
    assert tp.mass_matrix(tp.load("lecture2r")).sympy(values=True).free_symbols == {y}


def test_sums_of_angles_exactly_and_explicitly():
    """cos and sin of a + b, a - b, -a, 2a and sums of those, by the addition theorems."""

    def body(x):
        a, b = x[0], x[1]
        angles = [a + b, a - b, -a, 2 * a, a - 2 * b, -(a - b) + b]
        return cs.vertcat(*(f(angle) for angle in angles for f in (cs.sin, cs.cos)))

    program = trace("sums", body, [Port("x", (2,))], [Port("y", (12,))])
    x = np.array([0.7, -1.9])
    exact = program.exact([Fraction(math.tan(v / 2)) for v in x])
    assert error(as_floats(exact), program(x)) < 1e-14
    explicit = sympy.lambdify(sympy.symbols("x1 x2"), program.sympy(), "numpy")(*x)
    assert error(np.ravel(explicit), program(x)) < 1e-14


def test_symbolic_angle_of_the_table():
    arm = tp.Robot.from_dh([{"alpha": "al", "a": "a1"}, {"a": "a2"}], gravity=(0, 0, "-g"), parameters=[1] * 20)
    y = tp.regressor(arm)
    assert {"al", "a1", "a2", "g"} <= {s.name for s in y.sympy().free_symbols}
    numbers = {"al": 0.4, "a1": 0.3, "a2": 0.7, "g": 9.81}
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 2))
    fixed = tp.Robot.from_dh([{"alpha": 0.4, "a": 0.3}, {"a": 0.7}], parameters=[1] * 20)
    assert error(y.bind(**numbers)(q, qd, qdd), tp.regressor(fixed)(q, qd, qdd)) < 1e-14
    exact = y.bind(**numbers).exact(
        [Fraction(math.tan(v / 2)) for v in q], [Fraction(v) for v in qd], [Fraction(v) for v in qdd]
    )
    assert error(as_floats(exact), tp.regressor(fixed)(q, qd, qdd)) < 1e-14


def test_threads_and_concurrent_calls_give_the_same():
    from concurrent.futures import ThreadPoolExecutor

    y = tp.regressor(tp.load("puma560"))
    states = random_states(tp.load("puma560"), 3001, 3)
    want = y(*states)
    assert np.array_equal(y.compile("cpu", threads=3)(*states), want)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(r, want) for r in pool.map(lambda _: y(*states), range(8)))


def test_long_programs_are_cut_and_stay_right():
    """More instructions than one function holds, values crossing from piece to piece."""

    def body(x):
        values = [x[0], x[1]]
        for k in range(6000):
            values.append(cs.sin(values[-1]) + values[k % 50 if k % 3 == 0 else -2] * 0.5)
        return cs.vertcat(*values[-3:], values[40])

    program = trace("long", body, [Port("x", (2,))], [Port("y", (4,))])
    x = np.random.default_rng(1).uniform(-1, 1, (21, 2))
    assert error(program(x), program.compile("numpy")(x)) < 1e-10


def test_floor_means_the_same_in_every_target():
    program = tp.program.trace("whole", lambda x: cs.floor(3 * x + 0.5), [Port("x", (3,))], [Port("y", (3,))])
    x = np.array([-0.75, 0.5, 2.75])
    want = np.floor(3 * x + 0.5)
    assert (program(x) == want).all() and (program.compile("numpy")(x) == want).all()
    assert [int(v) for v in program.exact([Fraction(v) for v in x])] == want.tolist()
    low, high = program.compile("interval")((x - 0.1, x + 0.1))
    assert (low <= want).all() and (want <= high).all()
    namespace: dict = {}
    exec(program.python(), namespace)
    assert (np.ravel(namespace["whole"](x)) == want).all()
    assert "floor(" in program.c() and "floor(" in program.matlab()
    symbols = sorted(program.sympy().free_symbols, key=str)
    assert [int(e.subs(dict(zip(symbols, x, strict=True)))) for e in program.sympy()] == want.tolist()
