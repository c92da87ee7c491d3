"""Programs in modular arithmetic: the same relations as rational arithmetic finds, and those it cannot."""

from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_robot

import taupi as tp
from taupi.program.angles import OFFSET, angle_sums
from taupi.program.independent_columns import active_columns, independent_columns
from taupi.program.modular_arithmetic import Field, Modular, primes, residue


def columns(*functions, inputs=2, constants=None):
    """A program with one row and a column for each function of the vector x."""
    body = lambda x: cs.horzcat(*(f(x) for f in functions))  # noqa: E731
    ports = [tp.program.Port("x", (inputs,))], [tp.program.Port("y", (1, len(functions)))]
    return tp.program.trace("columns", body, *ports, constants)


def test_primes_have_no_root_of_minus_one():
    some = [p for p, _ in zip(primes(), range(40), strict=False)]
    assert some[0] == 2**31 - 1 and len(set(some)) == 40
    for p in some:
        assert p % 4 == 3 and pow(3, p - 1, p) == 1 and all(p % k for k in range(2, 2000))


def test_field_arithmetic_is_that_of_whole_numbers():
    some = (2147483647, 2147483587)
    f = Field(some)
    rng = np.random.default_rng(0)
    x, y = rng.integers(-(10**12), 10**12, (2, 1, 50))
    a, b = f.of(x), f.of(y)
    for k, p in enumerate(some):
        pairs = [(int(u), int(v)) for u, v in zip(x[0], y[0], strict=True)]
        assert f.add(a, b)[k, 0].tolist() == [(u + v) % p for u, v in pairs]
        assert f.sub(a, b)[k, 0].tolist() == [(u - v) % p for u, v in pairs]
        assert f.mul(a, b)[k, 0].tolist() == [u * v % p for u, v in pairs]
        assert f.inverse(a)[k, 0].tolist() == [pow(u, -1, p) for u, _ in pairs]
        assert int(f.number(Fraction(-2, 3))[k, 0, 0]) == -2 * pow(3, -1, p) % p == residue(Fraction(-2, 3), p)


def test_identities_of_angles_are_seen():
    assert active_columns(columns(lambda x: cs.cos(x[0]) ** 2 + cs.sin(x[0]) ** 2 - 1, lambda x: x[1])) == [1]
    triple = columns(
        lambda x: cs.cos(3 * x[0]), lambda x: cs.cos(x[0]), lambda x: cs.cos(x[0]) ** 3, lambda x: cs.sin(x[0])
    )
    assert independent_columns(triple) == [0, 1, 3]
    parts = columns(lambda x: cs.cos(0.75 * x[0] - x[1]), lambda x: cs.cos(0.25 * x[0]), lambda x: cs.cos(x[0] * 0.5))
    assert independent_columns(parts) == [0, 1, 2]
    half = columns(lambda x: cs.cos(x[0] / 2) ** 2, lambda x: cs.cos(x[0]), lambda x: 1 + 0 * x[0])
    assert independent_columns(half) == [0, 1]
    shifted = columns(lambda x: cs.cos(x[0] + 0.5), lambda x: cs.cos(x[0]), lambda x: cs.sin(x[0]))
    assert independent_columns(shifted) == [0, 1]


def test_angle_sums():
    program = columns(lambda x: cs.sin(0.5 * x[0] - x[1] + 2), lambda x: cs.cos(x[0] * x[1]))
    tape = program.exact_tape
    numbers = {i.out: Fraction(i.value) for i in tape.instructions if i.op == "const"}
    loads = {i.slot: i.out for i in tape.instructions if i.op == "input"}
    sums = list(angle_sums(tape, numbers).values())
    assert {loads[0]: Fraction(1, 2), loads[1]: Fraction(-1), OFFSET: Fraction(2)} in sums
    assert any(len(s) == 1 and not {*s} & {*loads.values(), OFFSET} for s in sums)


def test_signs_are_decided_and_other_functions_are_independent():
    signs = columns(
        lambda x: cs.fabs(x[0]),
        lambda x: x[0] * cs.sign(x[0]),
        lambda x: cs.sign(x[0]) ** 2,
        lambda x: 1 + 0 * x[0],
        lambda x: cs.if_else(x[0] < 0, x[0], 0) + cs.if_else(x[0] < 0, 0, x[0]),
        lambda x: cs.fmax(x[0], x[1]) + cs.fmin(x[0], x[1]) - x[1],
        lambda x: cs.exp(x[0]),
        lambda x: cs.exp(x[0]) * 3 + cs.tanh(x[1]),
        lambda x: cs.tanh(x[1]),
    )
    assert independent_columns(signs) == [0, 2, 4, 6, 7]


def test_signs_are_the_right_way_round():
    same = columns(
        lambda x: cs.fabs(x[0]) - x[0] * cs.sign(x[0]),
        lambda x: cs.fmax(x[0], x[1]) - cs.if_else(x[0] < x[1], x[1], x[0]),
        lambda x: cs.fmin(x[0], x[1]) - cs.if_else(x[0] <= x[1], x[0], x[1]),
        lambda x: cs.fabs(x[0]) + x[0],
        lambda x: cs.logic_and(x[0] > 0, x[1] > 0) - (x[0] > 0) * (x[1] > 0),
        lambda x: cs.logic_or(x[0] > 0, x[1] > 0) + cs.logic_not(cs.logic_or(x[0] > 0, x[1] > 0)) - 1,
    )
    assert active_columns(same) == [3]


def test_constants_that_are_not_rational_are_refused():
    c = tp.program.Constants()
    program = columns(lambda x: cs.sqrt(c("l", Fraction(2), named=True)) * x[0], constants=c)
    assert active_columns(program) == [0]  # doubles decide
    root = cs.sqrt(c("l", Fraction(2), named=True))
    program = columns(lambda x: root * x[0], lambda x: (root * root - 2) * x[0], lambda x: x[1], constants=c)
    assert active_columns(program) == [0, 2]  # what rounding leaves of the second column does not count
    with pytest.raises(tp.TaupiError, match="give its value as a number"):
        independent_columns(program)
    d = tp.program.Constants()
    program = columns(lambda x: cs.cos(d("u", None, True) * d("v", None, True)) * x[0], constants=d)
    with pytest.raises(tp.TaupiError, match="product of symbols"):
        Modular(program)
    zero = columns(lambda x: 1 / (cs.sin(x[0]) * cs.cos(x[0]) - cs.sin(2 * x[0]) / 2))
    with pytest.raises(tp.TaupiError, match="divides by zero"):
        active_columns(zero)
    with pytest.raises(tp.TaupiError, match="holds inf"):
        independent_columns(columns(lambda x: x[0] + cs.SX.inf(1)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_columns_that_act_are_those_of_rational_arithmetic(seed):
    program = tp.regressor(random_robot(seed))
    evaluate = program.compile("exact")
    drawn = np.random.default_rng(seed).integers(-50, 50, (3, 3, program.inputs[0].size))
    states = [[[Fraction(int(v), 7) for v in row] for row in state] for state in drawn]
    acting = np.any([(evaluate(*s) != 0).any(axis=0) for s in states], axis=0)
    assert active_columns(program) == np.flatnonzero(acting).tolist()
