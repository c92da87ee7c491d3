"""Programs as functions of PyTorch tensors: values, autograd of any order, torch.func, and what is refused."""

import sys

import numpy as np
import pytest
from support import ROUNDING, error

import taupi as tp
from taupi.errors import TaupiError

torch = pytest.importorskip("torch")

# PyTorch's own forward mode still compiles something by a part of PyTorch that is deprecated.
# PyTorch compiles parts of itself by a means that it calls deprecated; from 2.13 on it says so by another kind of warning.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning", "ignore:`torch.jit:FutureWarning")

SINGLE = 2e-6  # a few roundings of float32


@pytest.fixture(scope="module")
def arm():
    return tp.load("puma560")


@pytest.fixture(scope="module")
def torque(arm):
    return tp.inverse_dynamics(arm)


@pytest.fixture(scope="module")
def function(torque):
    return torque.torch()


def states(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, *shape, 6))


def tensors(arrays, grad=False):
    return [torch.tensor(a, requires_grad=grad) for a in arrays]


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (0,)])
def test_values_are_those_of_the_program_to_the_last_bit(torque, function, shape):
    x = states(*shape)
    y = function(*tensors(x))
    assert y.dtype == torch.float64 and np.array_equal(y.numpy(), torque(*x))


def test_batches_broadcast_names_work_and_numbers_become_tensors(torque, function):
    q, qd, qdd = states(4)
    y = function(torch.tensor(q), qd[0], qdd=torch.tensor(qdd[:1]))
    assert np.array_equal(y.numpy(), torque(q, qd[0], qdd[:1]))
    single = function(*(t.float() for t in tensors((q, qd, qdd))))
    assert single.dtype == torch.float32 and error(single.numpy(), torque(q, qd, qdd)) < SINGLE
    turned = function(torch.tensor(q.T.copy()).T, torch.tensor(qd), torch.tensor(qdd))  # strides of its own
    assert np.array_equal(turned.numpy(), torque(q, qd, qdd))


def test_threads_change_nothing(torque, function):
    x, before = states(3000), torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            assert np.array_equal(function(*tensors(x)).numpy(), torque(*x))
    finally:
        torch.set_num_threads(before)


def test_structural_zeros_are_zero(arm):
    y, x = tp.regressor(arm), states(50)
    for _ in range(3):
        torch.full((50, 6, 60), torch.nan, dtype=torch.float64)
        assert np.array_equal(y.torch()(*tensors(x)).numpy(), y(*x))


def test_autograd_agrees_with_differences_once_and_twice(function):
    x = tuple(tensors(states(2), grad=True))
    assert torch.autograd.gradcheck(function, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, x)


def test_backward_fills_gradients_and_sums_over_shared_inputs(arm):
    program, y = tp.parametric(tp.inverse_dynamics, arm), tp.regressor(arm)
    x, pi = states(30), torch.tensor(arm.parameters.values, requires_grad=True)
    goal = states(30, seed=1)[0]
    q = torch.tensor(x[0], requires_grad=True)
    ((program.torch()(q, x[1], x[2], pi) - torch.tensor(goal)) ** 2).sum().backward()
    residual = y(*x) @ arm.parameters.values - goal
    assert error(pi.grad.numpy(), 2 * np.einsum("nip,ni->p", y(*x), residual)) < ROUNDING
    jacobian = tp.inverse_dynamics(arm).jacobian("q")(*x)
    assert error(q.grad.numpy(), 2 * np.einsum("ni,nij->nj", residual, jacobian)) < ROUNDING


def test_torch_func(torque, function):
    x = states()
    t = tensors(x)
    expected = torque.jacobian("q")(*x)
    assert error(torch.func.jacrev(function)(*t).numpy(), expected) < ROUNDING
    assert error(torch.func.jacfwd(function)(*t).numpy(), expected) < ROUNDING
    hessian = torch.func.hessian(lambda q: function(q, *t[1:])[1])(t[0])
    assert error(hessian.numpy(), torque.jacobian("q").jacobian("q")(*x)[1]) < ROUNDING


def test_vmap_and_gradients_inside_it(torque, function):
    q, qd, qdd = states(5)
    t = tensors((q, qd, qdd))
    assert np.array_equal(torch.func.vmap(function)(*t).numpy(), torque(q, qd, qdd))
    shared = torch.func.vmap(function, in_dims=(0, None, 0))(t[0], t[1][0], t[2])
    assert np.array_equal(shared.numpy(), torque(q, qd[0], qdd))
    turned = torch.func.vmap(function, in_dims=(1, 0, 0))(t[0].T, t[1], t[2])
    assert np.array_equal(turned.numpy(), torque(q, qd, qdd))
    over_batches = torch.func.vmap(lambda a: function(a, t[1], t[2][0]))(t[0][:3])
    assert np.array_equal(over_batches.numpy(), torque(q[:3, None], qd, qdd[0]))
    over_one = torch.func.vmap(function)(*(x[None] for x in t))
    assert np.array_equal(over_one.numpy(), torque(q, qd, qdd)[None])
    each = torch.func.vmap(torch.func.grad(lambda *a: (function(*a) ** 2).sum()))(*t)
    expected = 2 * np.einsum("ni,nij->nj", torque(q, qd, qdd), torque.jacobian("q")(q, qd, qdd))
    assert error(each.numpy(), expected) < ROUNDING


def test_no_gradient_where_none_is_asked_for(function):
    t = tensors(states(3))
    assert not function(*t).requires_grad
    assert function(t[0].requires_grad_(), *t[1:]).requires_grad


def test_bad_arguments_are_named(function):
    q, qd, qdd = tensors(states(2))
    with pytest.raises(TaupiError, match=r"qd has shape \(2, 5\), expected \(..., 6\): one value per joint"):
        function(q, qd[:, :5], qdd)
    with pytest.raises(TaupiError, match="batch axes do not fit each other"):
        function(q, torch.zeros(3, 6), qdd)
    with pytest.raises(TaupiError, match=r"q holds torch\.complex128, expected real numbers"):
        function(q + 1j, qd, qdd)
    with pytest.raises(TaupiError, match="inverse_dynamics needs qdd"):
        function(q, qd)
    with pytest.raises(TaupiError, match="q is str, expected a tensor"):
        function("q", qd, qdd)
    with pytest.raises(TaupiError, match="tensors on several devices: cpu, meta"):
        function(q, qd.to("meta"), qdd)
    with pytest.raises(TaupiError, match="run on the CPU and on CUDA devices; these tensors are on meta"):
        function(*(t.to("meta") for t in (q, qd, qdd)))


def test_without_pytorch_the_extra_is_named(torque, monkeypatch):
    from taupi.bridges import torch_function

    torch_function._framework.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    try:
        with pytest.raises(TaupiError, match=r"needs torch, which is not installed. pip install 'taupi\[torch\]'"):
            torque.torch()
    finally:
        torch_function._framework.cache_clear()
