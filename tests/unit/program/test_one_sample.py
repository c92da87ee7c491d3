"""Plain calls with one sample: a short way through the checks, which must show in nothing but the time it takes."""

import copy
import dataclasses
import gc
import pickle
import sys
import threading
import time

import numpy as np
import pytest
from refusals import refused
from support import random_robot, random_states

import taupi as tp
from taupi.program.program import Port, trace
from taupi.program.targets import one_sample

# What a call without arguments to convert may take of the processor on top of its machine code: some 2 us.
OVERHEAD = 20e-6


@pytest.fixture(scope="module")
def arm():
    return random_robot(21, joints=5)


@pytest.fixture(scope="module", params=["built-in", "python"])
def y(arm, request):
    """The regressor with the function of the interpreter, and with the one that Python has where that is not possible."""
    program = dataclasses.replace(tp.regressor(arm, terms=("viscous",)))
    kernel = program.compile("cpu")
    assert type(kernel.one_sample) is type(len), "this build should have the built-in function"
    program.__dict__["_compiled"] = kernel
    if request.param == "python":
        kernel.__dict__["one_sample"] = kernel._one_sample
    return program


@pytest.fixture(scope="module")
def states(arm):
    return np.array(random_states(arm, 9, 3))


def test_a_sample_alone_has_the_bits_that_it_has_in_a_batch(y, states):
    batch = y(*states)
    for k in range(9):
        assert np.array_equal(y(*states[:, k]), batch[k])


def test_the_short_way_is_taken_and_only_for_what_needs_no_conversion(y, states):
    kernel, one = y._compiled, states[:, 0]
    assert kernel.one_sample(*one) is not None
    others = [
        one[:2],  # too few
        [*one[:2], one[2].astype(np.float32)],
        [*one[:2], one[2].astype(">f8")],
        [*one[:2], one[2].tolist()],
        [*one[:2], one[2][None]],
        [*one[:2], one[2][:1]],  # would be broadcast by an assignment
        [*one[:2], np.ma.masked_array(one[2])],
        [*one[:2], 1.0],
    ]
    assert all(kernel.one_sample(*args) is None for args in others)
    assert y.compile("cpu", layout="batch_last").one_sample(*one) is None


def test_any_form_of_the_arguments_gives_the_same(y, states):
    q, qd, qdd = states[:, 3]
    want = y(q, qd, qdd)
    scattered = np.repeat(np.stack([q, qd]), 2, axis=1)[:, ::2]
    assert not scattered.flags.c_contiguous
    reversed_twice = qdd[::-1].copy()[::-1]
    for value in (
        y(*scattered, reversed_twice),
        y(q.tolist(), qd, tuple(qdd)),
        y(q, qd=qd, qdd=qdd),
        y(q[None], qd, qdd)[0],
        y(q.astype(object).astype(float), qd, qdd),
    ):
        assert np.array_equal(value, want)


def test_results_are_the_callers_own(y, states):
    first = y(*states[:, 0])
    kept = first.copy()
    y(*states[:, 1])
    assert np.array_equal(first, kept)
    first[:] = 7.0  # structural zeros of the next call must not come from here
    assert np.array_equal(y(*states[:, 0]), kept)
    assert y(*states[:, 0]).flags.writeable and not np.shares_memory(y(*states[:, 0]), y(*states[:, 0]))


def test_several_outputs_and_inputs_without_axes():
    both = trace(
        "both", lambda x, dt: (x * dt, x + dt), [Port("x", (2,)), Port("dt")], [Port("a", (2,)), Port("b", (2,))]
    )
    x = np.array([1.0, 2.0])
    both(x, 2.0)
    for dt in (0.5, np.float64(0.5), np.array(0.5)):
        a, b = both(x, dt)
        assert a.tolist() == [0.5, 1.0] and b.tolist() == [1.5, 2.5]
    assert [v.tolist() for v in both(x, 2)] == [[2.0, 4.0], [3.0, 4.0]]


def test_errors_and_nan_are_as_ever(y, states):
    q, qd, qdd = states[:, 0]
    with refused("qdd", got=(1,), expected="(..., 5)"):
        y(q, qd, qdd[:1])
    with pytest.raises(tp.TaupiError, match="qdd holds complex128, expected real numbers"):
        y(q, qd, qdd * 1j)
    with pytest.raises(tp.TaupiError, match="needs qdd"):
        y(q, qd)
    with pytest.raises(tp.TaupiError, match="takes 3 arguments"):
        y(q, qd, qdd, q)
    assert np.isnan(y(q * np.nan, qd, qdd)).any()


def test_a_guard_is_asked(arm):
    asked = []
    guarded = dataclasses.replace(tp.regressor(arm), guard=lambda program, *arrays: asked.append(len(arrays)))
    one = np.zeros((3, 5))
    guarded(*one)
    guarded(*one)
    assert asked == [3, 3]


def test_threads_do_not_disturb_each_other(y, states):
    want, wrong = y(*states), []

    def work(k):
        for _ in range(300):
            if not np.array_equal(y(*states[:, k]), want[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_takes_microseconds(y, states):
    q, qd, qdd = states[:, 0]
    bound = y.compile("cpu").bound()

    def least(call):
        times = []
        for _ in range(60):
            start = time.thread_time()
            for _ in range(20):
                call()
            times.append((time.thread_time() - start) / 20)
        return min(times)

    assert least(lambda: y(q, qd, qdd)) - least(bound.run) < OVERHEAD


@pytest.mark.parametrize("word", ["Py_GIL_DISABLED", "Py_DEBUG", "Py_TRACE_REFS"])
def test_builds_with_other_objects_have_no_built_in_function(arm, states, word, monkeypatch):
    monkeypatch.setattr(one_sample.sysconfig, "get_config_var", lambda name: name == word)
    one_sample._usable.cache_clear()
    try:
        kernel = tp.gravity_torque(arm).compile("cpu")
        assert one_sample.one_sample(kernel) is None
        assert np.array_equal(kernel(states[0, 0]), kernel(states[0])[0])
        assert kernel.one_finite_sample(1)(states[0, 0] * np.nan) is None
        assert np.array_equal(kernel.one_finite_sample(1)(states[0, 0]), kernel(states[0, 0]))
    finally:
        one_sample._usable.cache_clear()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_inputs_that_are_not_finite_are_left_to_the_caller(arm, states, bad):
    kernel = tp.inverse_dynamics(arm).compile("cpu")
    q, qd, qdd = states[:, 0]
    largest = np.full_like(qd, np.finfo(float).max)
    assert np.array_equal(kernel.one_finite_sample(2)(q, qd, qdd), kernel(q, qd, qdd))
    assert kernel.one_finite_sample(2)(q, largest, qdd) is not None  # its sum overflows, its entries are finite
    for k in range(5):
        spoilt = qd.copy()
        spoilt[k] = bad
        assert kernel.one_finite_sample(2)(q, spoilt, qdd) is None
        assert kernel.one_finite_sample(2)(q, qd, spoilt) is not None


def test_calls_keep_no_references(y, states):
    def held():
        return [sys.getrefcount(v) for v in (np.dtype(float), None, *states[:, 0])]

    one = states[:, 0]
    y(*one)
    before = held()
    for _ in range(1000):
        y(*one)
        y(*one[:2], one[2].astype(np.float32))
    assert max(abs(a - b) for a, b in zip(held(), before, strict=True)) < 50


def test_a_call_by_name_or_with_another_count_is_left_to_the_caller():
    two = trace("two", lambda x: (x, x + 1), [Port("x", (2,))], [Port("a", (2,)), Port("b", (2,))])
    function = two.compile("cpu").one_sample
    assert [v.tolist() for v in function(np.zeros(2))] == [[0.0, 0.0], [1.0, 1.0]]
    assert function() is None and function(np.zeros(2), np.zeros(2)) is None and function(x=np.zeros(2)) is None


def test_copies_of_a_program_call_their_own(y, states):
    for again in (copy.deepcopy(y._compiled), pickle.loads(pickle.dumps(y._compiled))):
        assert np.array_equal(again.one_sample(*states[:, 0]), y(*states[:, 0]))


def test_the_function_outlives_its_kernel(arm, states):
    function = tp.inverse_dynamics(arm).compile("cpu").one_sample
    want = function(*states[:, 0])
    gc.collect()
    tp.gravity_torque(arm).compile("cpu")(states[0, 0])
    assert np.array_equal(function(*states[:, 0]), want)
