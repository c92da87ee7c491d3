"""Programs: arguments, derivatives, composition, counts, sine and cosine."""

import math
from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error, random_states

import taupi as tp
from taupi.errors import TaupiError
from taupi.program.ports import Constants
from taupi.program.program import Port, trace
from taupi.program.tape import UNARY, record
from taupi.program.targets import exact, numpy
from taupi.program.targets.exact import nearest_point


@pytest.fixture(scope="module")
def puma():
    return tp.load("puma560")


def test_shapes_are_checked_with_a_helpful_sentence(puma):
    tau = tp.inverse_dynamics(puma)
    good = np.zeros((2000, 6))
    with pytest.raises(
        TaupiError,
        match=r"qd has shape \(2000, 5\), expected \(\.\.\., 6\): one value per joint \(joint1 \.\.\. joint6",
    ):
        tau(good, good[:, :5], good)
    with pytest.raises(TaupiError, match=r"batch axes do not fit each other: q \(2000, 6\), qd \(3, 6\)"):
        tau(good, np.zeros((3, 6)), good)
    with pytest.raises(TaupiError, match="needs qdd"):
        tau(good, good)
    with pytest.raises(TaupiError, match=r"takes 3 arguments \(q, qd, qdd\), got 4"):
        tau(good, good, good, good)
    with pytest.raises(TaupiError, match=r"No argument 'qddd'.*Did you mean 'qdd'"):
        tau(good, good, qddd=good)
    with pytest.raises(TaupiError, match="got q twice"):
        tau(good, good, q=good)


@pytest.mark.parametrize("bad", [np.zeros(6, dtype=complex), ["a"] * 6, [None] * 6, [[1.0], [1.0, 2.0]]])
def test_only_real_numbers_pass(puma, bad):
    with pytest.raises(TaupiError, match=r"^q (holds|is ragged)"):
        tp.gravity_torque(puma)(bad)


def test_integers_lists_and_broadcasting(puma):
    tau = tp.inverse_dynamics(puma)
    q, qd, qdd = random_states(puma, 5, 3)
    assert np.array_equal(tau(q, qd[0], qdd)[3], tau(q[3], qd[0], qdd[3]))
    assert tau(q[:, None], qd[None], [0] * 6).shape == (5, 5, 6)
    assert np.array_equal(tau(q[:, None], qd[None], [0] * 6)[1, 2], tau(q[1], qd[2], np.zeros(6)))
    assert np.array_equal(tau(np.asfortranarray(q), qd[::1], qdd[::1]), tau(q, qd, qdd))
    assert np.array_equal(tau(q[::2], qd[::2], qdd[::2]), tau(q, qd, qdd)[::2])
    assert np.array_equal(
        tau(q.astype(np.float32), 0 * qd, 0 * qdd), tau(q.astype(np.float32).astype(float), 0 * qd, 0 * qdd)
    )


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_nan_stays_in_its_sample(puma, target):
    q = np.zeros((10, 6))
    q[3, 1], q[7, 2] = np.nan, np.inf
    g = tp.gravity_torque(puma).compile(target)(q)
    assert np.isnan(g[[3, 7]]).any(axis=1).all()
    assert np.isfinite(np.delete(g, [3, 7], axis=0)).all()


def test_unknown_names_are_suggested(puma):
    with refused("target", name="gpu"):
        tp.regressor(puma).compile("gpu")
    with pytest.raises(TaupiError, match=r"No input 'qddd'.*Did you mean 'qdd'"):
        tp.regressor(puma).jacobian("qddd")
    with refused("threads", got=0):
        tp.regressor(puma).compile("cpu", threads=0)
    with pytest.raises(TaupiError, match=r"No parameter 'link2\.mm'.*Did you mean 'link2\.m"):
        tp.regressor(puma, columns=["link2.mm"])
    with pytest.raises(TaupiError, match=r"No term 'viscus'.*Did you mean 'viscous'"):
        tp.regressor(puma, terms=["viscus"])
    with pytest.raises(TaupiError, match="given twice"):
        tp.regressor(puma, terms=["viscous", "viscous"])
    with pytest.raises(TaupiError, match="expected a Robot"):
        tp.regressor("puma560")


def test_derivatives_against_differences(puma):
    tau = tp.inverse_dynamics(puma)
    q, qd, qdd = (x[0] for x in random_states(puma, 1, 3))
    h = 1e-6
    steps = h * np.eye(6)
    difference = (tau(q + steps, qd, qdd) - tau(q - steps, qd, qdd)).T / (2 * h)
    jacobian = tau.jacobian("q")(q, qd, qdd)
    assert error(jacobian, difference) < 1e-7
    v, w = np.arange(6.0), np.cos(np.arange(6.0))
    assert error(tau.jvp("q")(q, qd, qdd, v), jacobian @ v) < ROUNDING
    assert error(tau.vjp("q")(q, qd, qdd, w), w @ jacobian) < ROUNDING
    assert tp.regressor(puma).jacobian("qdd")(q, qd, qdd).shape == (6, 60, 6)


def test_programs_compose(puma):
    tau, mass = tp.inverse_dynamics(puma), tp.mass_matrix(puma)
    power = trace(
        "power", lambda q, qd, qdd: qd.T @ tau(q, qd, qdd), [Port(n, (6,)) for n in ("q", "qd", "qdd")], [Port("P")]
    )
    momentum = trace("momentum", lambda q, qd: mass(q) @ qd, [Port("q", (6,)), Port("qd", (6,))], [Port("p", (6,))])
    q, qd, qdd = (x[0] for x in random_states(puma, 1, 3))
    assert np.isclose(power(q, qd, qdd), qd @ tau(q, qd, qdd), rtol=1e-13)
    assert error(momentum(q, qd), mass(q) @ qd) < ROUNDING


def test_matrix_inputs_are_row_major():
    program = trace("product", lambda a, x: a @ x, [Port("A", (2, 3)), Port("x", (3,))], [Port("y", (2,))])
    a, x = np.arange(12.0).reshape(2, 2, 3), np.array([1.0, 2.0, 3.0])
    assert np.array_equal(program(a, x), a @ x)


def test_columns_rows_and_counts(puma):
    y = tp.regressor(puma)
    states = [x[0] for x in random_states(puma, 1, 3)]
    chosen = y.columns(["*.mx", "link3.Izz"])
    assert chosen.parameters.names[-1] == "link3.Izz"
    places = [y.parameters.layout.index(n) for n in chosen.parameters.names]
    assert error(chosen(*states), y(*states)[:, places]) < ROUNDING
    assert error(y.take([1, 3], axis=0)(*states), y(*states)[[1, 3]]) < ROUNDING
    assert chosen.operations.total < y.operations.total
    # Counting is of what is compiled: an independent count of the CasADi function's own instructions.
    assert sum(y.tape.counts.values()) - y.tape.counts["neg"] == y.operations.total


@pytest.mark.parametrize("name", ["[", "[[a", "[a, b]", "]", "", "a b"])
def test_constants_have_any_name(name):
    """A joint may be called so; CasADi would take a bracket for the beginning of a list."""
    constants = Constants()
    third = trace("third", lambda x: constants(f"{name}.p[0]", Fraction(1, 3)) * x, [Port("x")], [Port("y")], constants)
    assert third(1.5) == 0.5 and str(third.exact(Fraction(2)).item()) == "2/3"


def test_unbound_symbols_say_how_to_bind():
    arm = tp.Robot.from_dh([{"a": "l1"}], parameters=[1] * 10)
    with pytest.raises(TaupiError, match=r"symbols without a value: l1\. Use \.bind\(l1="):
        tp.regressor(arm)([0.0], [0.0], [1.0])
    bound = tp.regressor(arm).bind(l1=2)([0.0], [0.0], [1.0])
    assert np.array_equal(bound, tp.regressor(arm.bind(l1=2))([0.0], [0.0], [1.0]))
    with pytest.raises(TaupiError, match="No symbol 'l2'"):
        tp.regressor(arm).bind(l2=2)


def test_compile_takes_what_a_target_knows(puma):
    y = tp.regressor(puma)
    states = random_states(puma, 3, 3)
    want = y(*states)
    assert error(y.compile("numpy", threads=2)(*states), want) < ROUNDING
    assert np.array_equal(y.compile(target="cpu", threads=np.int64(2))(*states), want)
    with refused("layout", target="numpy"):
        y.compile("numpy", layout="batch_last")


@pytest.mark.parametrize("bad", [np.inf, np.nan, "x", None, True, [1.0]])
def test_symbols_are_bound_to_numbers(bad):
    arm = tp.Robot.from_dh([{"a": "l1"}], parameters=[1] * 10)
    with refused("l1"):
        tp.regressor(arm).bind(l1=bad)


def test_symbols_called_as_inputs_are_refused():
    arm = tp.Robot.from_dh([{"a": "q1"}, {"a": "a2"}], parameters=[1] * 20)
    with pytest.raises(TaupiError, match="'q1' is also the name of an input"):
        tp.mass_matrix(arm)


def test_programs_of_symbols_check_their_arguments(puma):
    tau = tp.inverse_dynamics(puma)
    q = cs.SX.sym("q", 6)
    with pytest.raises(TaupiError, match="needs qd, qdd"):
        tau(q)
    with pytest.raises(TaupiError, match="No argument 'x'"):
        tau(q, q, q, x=q)
    with pytest.raises(TaupiError, match="has 5 entries"):
        tau(q[:5], q, q)


def test_columns_that_act_without_exact_arithmetic():
    """An exponential, and a joint that follows by half an angle, are no fractions: doubles decide then."""
    arm = tp.load("elbow2r")
    assert len(tp.regressor(arm, terms=("stribeck",)).reduced().parameters) == 10


def test_operations_unknown_to_targets_are_refused():
    x = cs.SX.sym("x")
    with pytest.raises(TaupiError, match="which no target knows"):
        record(cs.Function("f", [x], [cs.erf(x)]))


@pytest.mark.parametrize("op", exact.OPERATIONS)
def test_exact_operations_mean_what_those_of_numpy_mean(op):
    values = [Fraction(v) for v in ("-7/2", "-1", "-1/4", "1/4", "1", "5/2")]
    pairs = [(a,) for a in values] if op in UNARY else [(a, b) for a in values for b in values]
    for arguments in pairs:
        result = exact.OPERATIONS[op](*map(exact.rational, arguments))
        assert float(Fraction(int(result.p), int(result.q))) == numpy.OPERATIONS[op](*map(float, arguments))


def test_exact_points_of_constant_angles():
    """Quarter turns are exact, whatever their number; other angles are points of the circle, to 1e-17."""
    quarter = Fraction("1.5707963267948966192313216916397514420985")
    corners = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    assert [nearest_point(k * quarter) for k in range(-9, 10)] == [corners[k % 4] for k in range(-9, 10)]
    for angle in (Fraction(1, 3), Fraction(-7, 2), Fraction(20)):
        c, s = nearest_point(angle)
        assert c * c + s * s == 1
        assert abs(float(Fraction(int(c.p), int(c.q))) - np.cos(float(angle))) < 1e-15
        assert abs(float(Fraction(int(s.p), int(s.q))) - np.sin(float(angle))) < 1e-15


def test_exact_refuses_what_is_not_rational():
    root = trace("root", cs.sqrt, [Port("x")], [Port("y")])
    with pytest.raises(TaupiError, match="sqrt, whose values are not rational"):
        root.exact(2)
    inverse = trace("inverse", lambda x: 1 / x, [Port("x")], [Port("y")])
    with pytest.raises(TaupiError, match="divides by zero"):
        inverse.exact(0)
    wild = trace("wild", lambda x: cs.sin(x * x), [Port("x")], [Port("y")])
    with pytest.raises(TaupiError, match="other than a sum of angles"):
        wild.exact(1)
    with pytest.raises(TaupiError, match="one sample per call"):
        inverse.exact([1, 2])


def test_sine_and_cosine_within_two_ulp_on_hard_arguments():
    """Against 200-bit values: random, tiny, near multiples of pi/2, at the edge of the fast path."""
    import mpmath

    program = trace("sincos", lambda x: (cs.sin(x), cs.cos(x)), [Port("x")], [Port("s"), Port("c")])
    rng = np.random.default_rng(0)
    multiples = np.arange(1, 63662, 97) * (np.pi / 2)
    near = [multiples, np.nextafter(multiples, 0), np.array([0.0, 1e5, -1e5])]
    x = np.concatenate([rng.uniform(-1e5, 1e5, 500), rng.normal(size=300), 10.0 ** rng.uniform(-300, 0, 50), *near])
    s, c = program(x)
    worst = 0.0
    with mpmath.workprec(200):
        for function, values in ((mpmath.sin, s), (mpmath.cos, c)):
            for value, got in zip(x, values, strict=True):
                true = function(mpmath.mpf(float(value)))
                worst = max(worst, abs(float((mpmath.mpf(float(got)) - true) / np.spacing(abs(float(true))))))
    assert worst < 2.0
    beyond = [np.nextafter(1e5, 1e6), -3e9, 1e22, 6381956970095103 * 2.0**797]
    s, c = program(beyond)
    assert s.tolist() == [math.sin(v) for v in beyond]
    assert c.tolist() == [math.cos(v) for v in beyond]
    assert all(np.isnan(v).all() for v in program([np.nan, np.inf, -np.inf]))
