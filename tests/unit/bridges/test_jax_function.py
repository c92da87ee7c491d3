"""Programs as functions of JAX arrays: values, batches, every transformation, derivatives, and what is refused."""

import sys
import threading

import casadi as cs
import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error

import taupi as tp
from taupi.errors import TaupiError
from taupi.program import Port, trace

jax = pytest.importorskip("jax")
jnp = jax.numpy

# Central differences with the step that balances rounding and curvature, relative to entries of some hundred.
DIFFERENCES = 1e-6
SINGLE = 2e-6  # a few roundings of float32
TERMS = ("viscous", "coulomb")


@pytest.fixture(autouse=True)
def doubles():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def arm():
    return tp.load("puma560")


@pytest.fixture(scope="module")
def torque(arm):
    return tp.inverse_dynamics(arm)


@pytest.fixture(scope="module")
def function(torque):
    return torque.jax()


def states(n, *shape, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, *shape, n))


def two_outputs():
    """A program with two outputs, one of them a matrix with structural zeros, and a number among its inputs."""

    def body(x, k):
        return k * cs.sin(x), cs.vertcat(cs.horzcat(x[0] * x[1], 0), cs.horzcat(0, k**2))

    return trace("pair", body, [Port("x", (2,)), Port("k")], [Port("y", (2,)), Port("a", (2, 2))])


def symbolic_arm():
    rows = [dict(a="l1", alpha=0, d=0, theta=0, joint="revolute")]
    link = dict(m="m1", com=(0, 0, 0), inertia=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    return tp.Robot.from_dh(rows, links=[link], gravity=(0, -9.81, 0))


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (0,)])
def test_values_are_those_of_the_program_to_the_last_bit(torque, function, shape):
    x = states(6, *shape)
    y = function(*x)
    assert y.shape == (*shape, 6) and y.dtype == np.float64
    assert np.array_equal(y, torque(*x))


def test_batches_broadcast_and_names_work(torque, function):
    q, qd, qdd = states(6, 4)
    assert np.array_equal(function(q, qd[0], qdd=qdd[:1]), torque(q, qd[0], qdd[:1]))
    assert np.array_equal(function(q[:, None], qd, qdd[0]), torque(q[:, None], qd, qdd[0]))


def test_float32_unless_an_argument_is_wider(torque, function):
    x = states(6, 9)
    single = function(*(jnp.asarray(a, jnp.float32) for a in x))
    assert single.dtype == np.float32 and error(single, torque(*x)) < SINGLE
    assert function(jnp.asarray(x[0], jnp.float32), x[1], x[2]).dtype == np.float64
    assert function(np.zeros(6, dtype=int), x[1, 0], x[2, 0]).dtype == np.float64


def test_structural_zeros_are_zeros_in_memory_that_was_used_before(arm):
    y = tp.regressor(arm)
    run = jax.jit(lambda *x: y.jax()(*(2 * a for a in x)))
    x = states(6, 50)
    for _ in range(5):
        junk = jnp.full((50, 6, 60), np.nan) + 1.0
        del junk
        assert np.array_equal(run(*x), y(*(2 * x)))


def test_several_outputs_and_inputs_without_axes():
    program = two_outputs()
    x, k = np.array([[0.3, 0.4], [0.5, 0.6]]), np.array([2.0, 3.0])
    for got, expected in zip(program.jax()(x, k), program(x, k), strict=True):
        assert np.array_equal(got, expected)


def test_the_kernel_is_called_by_xla_itself(function):
    text = jax.jit(function).lower(*states(6, 3)).as_text()
    assert "taupi_" in text and "callback" not in text


def test_threads_may_call_at_once(torque, function):
    x = states(6, 2000)
    run, expected, results = jax.jit(function), torque(*x), [None] * 8

    def work(k):
        results[k] = np.asarray(run(*x))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(r, expected) for r in results)


# Derivatives ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrt", ["q", "qd", "qdd"])
def test_jacobians_in_both_modes(torque, function, wrt):
    x, k = states(6), ("q", "qd", "qdd").index(wrt)
    expected = torque.jacobian(wrt)(*x)
    assert error(jax.jacfwd(function, k)(*x), expected) < ROUNDING
    assert error(jax.jacrev(function, k)(*x), expected) < ROUNDING
    steps = 1e-6 * np.eye(6)
    moved = [[*x[:k], x[k] + s * steps, *x[k + 1 :]] for s in (1, -1)]
    difference = (torque(*moved[0]) - torque(*moved[1])).T / 2e-6
    assert error(jax.jacfwd(function, k)(*x), difference) < DIFFERENCES


def test_gradients_of_a_loss_over_a_batch(torque, function):
    x, goal = states(6, 20), states(6, 20, seed=1)[0]
    gradients = jax.jit(jax.grad(lambda *a: ((function(*a) - goal) ** 2).sum(), argnums=(0, 1, 2)))(*x)
    residual = torque(*x) - goal
    for gradient, wrt in zip(gradients, ("q", "qd", "qdd"), strict=True):
        assert error(gradient, 2 * np.einsum("ni,nij->nj", residual, torque.jacobian(wrt)(*x))) < ROUNDING


@pytest.mark.parametrize(
    "twice", [jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.jacfwd(jax.jacfwd(f))]
)
def test_second_derivatives(torque, function, twice):
    q, qd, qdd = states(6)
    expected = torque.jacobian("q").jacobian("q")(q, qd, qdd)[1]
    assert error(twice(lambda x: function(x, qd, qdd)[1])(q), expected) < ROUNDING


def test_third_derivatives_follow(torque, function):
    q, qd, qdd = states(6)
    third = jax.jacfwd(jax.hessian(lambda x: function(x, qd, qdd)[2]))(q)
    step = 1e-5 * np.eye(6)[1]
    second = torque.jacobian("q").jacobian("q")
    difference = (second(q + step, qd, qdd)[2] - second(q - step, qd, qdd)[2]) / 2e-5
    assert error(third[..., 1], difference) < DIFFERENCES


def test_outputs_that_are_not_used_and_inputs_that_are_not_asked_for():
    program = two_outputs()
    function, x, k = program.jax(), np.array([0.3, 0.4]), 2.0
    assert error(jax.grad(lambda x: function(x, k)[0].sum())(x), k * np.cos(x)) < ROUNDING
    assert error(jax.grad(lambda k: function(x, k)[1][1, 1])(k), 2 * k) < ROUNDING
    assert error(jax.grad(lambda k: sum(p.sum() for p in function(x, k)))(k), np.sin(x).sum() + 2 * k) < ROUNDING
    assert jax.grad(lambda x: function(x, k)[1][0, 1])(x).tolist() == [0, 0]


def test_shared_inputs_get_the_sum_over_the_batch(arm):
    program = tp.parametric(tp.inverse_dynamics, arm, terms=TERMS)
    y, x = tp.regressor(arm, terms=TERMS), states(6, 30)
    pi = np.random.default_rng(2).normal(size=len(y.parameters))
    goal = states(6, 30, seed=1)[0]
    loss = jax.jit(jax.value_and_grad(lambda pi: ((program.jax()(*x, pi) - goal) ** 2).sum()))
    value, gradient = loss(pi)
    residual = y(*x) @ pi - goal
    assert error(value, (residual**2).sum()) < ROUNDING
    assert error(gradient, 2 * np.einsum("nip,ni->p", y(*x), residual)) < ROUNDING


# Transformations ------------------------------------------------------------------------------------------------------


def test_vmap_over_any_argument_and_axis(torque, function):
    q, qd, qdd = states(6, 5)
    assert np.array_equal(jax.vmap(function)(q, qd, qdd), torque(q, qd, qdd))
    assert np.array_equal(jax.vmap(function, in_axes=(0, None, 0))(q, qd[0], qdd), torque(q, qd[0], qdd))
    assert np.array_equal(jax.vmap(function, in_axes=(1, 0, 0))(q.T, qd, qdd), torque(q, qd, qdd))
    over_batches = jax.vmap(lambda a: function(a, qd, qdd[0]))(q[:3])
    assert np.array_equal(over_batches, torque(q[:3, None], qd, qdd[0]))
    assert np.array_equal(jax.vmap(function)(q[None], qd[None], qdd[None]), torque(q, qd, qdd)[None])
    nested = jax.vmap(jax.vmap(function, in_axes=(0, None, None)), in_axes=(None, 0, 0))(q, qd, qdd)
    assert np.array_equal(nested, torque(q, qd[:, None], qdd[:, None]))


def test_gradients_inside_vmap(torque, function):
    x = states(6, 4)
    each = jax.vmap(jax.grad(lambda *a: (function(*a) ** 2).sum()))(*x)
    assert error(each, 2 * np.einsum("ni,nij->nj", torque(*x), torque.jacobian("q")(*x))) < ROUNDING
    jacobians = jax.vmap(jax.jacrev(function))(*x)
    assert error(jacobians, torque.jacobian("q")(*x)) < ROUNDING


def test_scans_and_checkpoints(arm):
    forward = tp.forward_dynamics(arm).jax()

    def roll(q, steps=20):
        def step(state, _):
            q, qd = state
            qd = qd + 1e-3 * forward(q, qd, jnp.zeros(6))
            return (q + 1e-3 * qd, qd), None

        return jax.lax.scan(jax.checkpoint(step), (q, jnp.zeros(6)), length=steps)[0][0]

    q = states(6)[0]
    gradient = jax.jit(jax.grad(lambda q: roll(q)[1]))(q)
    steps = 1e-6 * np.eye(6)
    difference = [(roll(q + s)[1] - roll(q - s)[1]) / 2e-6 for s in steps]
    assert error(gradient, difference) < DIFFERENCES


# What is refused ------------------------------------------------------------------------------------------------------


def test_bad_arguments_are_named(function):
    q, qd, qdd = states(6, 2)
    with refused("qd", got=(2, 5), expected="(..., 6)"):
        function(q, qd[:, :5], qdd)
    with pytest.raises(TaupiError, match="batch axes do not fit each other"):
        function(q, np.zeros((3, 6)), qdd)
    with pytest.raises(TaupiError, match="q holds complex128, expected real numbers"):
        function(q + 1j, qd, qdd)
    for wrong in (None, "fast", [[1.0], [1.0, 2.0]]):
        with pytest.raises(TaupiError, match=r"qd is .*, expected an array of numbers"):
            function(q, wrong, qdd)
    with pytest.raises(TaupiError, match="inverse_dynamics needs qdd"):
        function(q, qd)
    with pytest.raises(TaupiError, match="Did you mean 'qdd'"):
        function(q, qd, qddd=qdd)
    with refused("q"):
        function(1.0, qd, qdd)


def test_symbols_without_a_value_are_refused_before_the_first_call():
    with pytest.raises(TaupiError, match=r"symbols without a value: .*bind\("):
        tp.gravity_torque(symbolic_arm()).jax()


def test_without_jax_the_extra_is_named(torque, monkeypatch):
    from taupi.bridges import jax_function

    jax_function._primitive.cache_clear()
    monkeypatch.setitem(sys.modules, "jax", None)
    try:
        with pytest.raises(TaupiError, match=r"needs jax, which is not installed. pip install 'taupi\[jax\]'"):
            torque.jax()
    finally:
        jax_function._primitive.cache_clear()


def test_another_interface_of_xla_is_refused(monkeypatch, tmp_path):
    from taupi.bridges import jax_function

    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 2\n")
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    jax_function._version.cache_clear()
    try:
        with pytest.raises(TaupiError, match=r"has version 1\.2 of XLA's foreign functions, expected 0.x"):
            jax_function._version()
    finally:
        jax_function._version.cache_clear()
