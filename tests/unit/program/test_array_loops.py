"""Loops written in Python: machine code does what Python does with the same text, bit by bit."""

from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taupi.errors import TaupiError
from taupi.identification.friction.dry_friction import _dahl
from taupi.program.array_loops import Floats, Ints, compiled
from taupi.program.triangle_update import _update


def _share(x: float, y: float) -> float:
    return exp(-abs(x)) / sqrt(y)


def _everything(out: Floats, counts: Ints, n: int, x: float) -> None:
    """Use every kind of statement and number that a loop may have."""
    last = 1.0
    rest = out
    sign = 1 if x > 0.0 else -1
    for i in range(n):
        if i == counts[0]:
            last = _share(x, 2.0)
        elif x != 0.5:
            last -= x * 0.25
        rest[0] = last + out[i]
        counts[1] += sign * i
        for j in range(i):
            rest[0] *= 1.0 if x < out[j] else last
        rest = rest[1:]
    counts[2] = n - counts[1]


def _never_compiled(out: Floats, n: int) -> None:
    while n > 0:
        out[0] = 1.0


def _mixes_kinds(out: Floats, n: int) -> None:
    out[0] = out[0] * n


def _compares_kinds(out: Floats, n: int) -> None:
    if out[0] < n:
        out[0] = 1.0


def _compares_otherwise(out: Floats, n: int) -> None:
    if n <= 3:
        out[0] = 1.0


def _has_an_else(out: Floats, n: int) -> None:
    for i in range(n):
        out[i] = 1.0
    else:  # noqa: PLW0120
        out[0] = 5.0


def _counts_in_what_it_had(out: Floats, n: int) -> None:
    for i in range(n):
        for i in range(2):  # noqa: PLW2901
            out[i] += 1.0
        out[i] = 3.0


def _slices_with_a_step(out: Floats, n: int) -> None:
    part = out[1:n:2]
    part[1] = 7.0


def _root_of_a_whole_number(out: Floats, n: int) -> None:
    out[0] = sqrt(n)


def _takes_a_list(out: list, n: int) -> None:
    out[0] = 1.0


def _says_not_what_it_takes(out, n: int) -> None:
    out[0] = 1.0


def _name_from_outside(out: Floats, n: int) -> None:
    out[0] = OUTSIDE


OUTSIDE = 2.0
REFUSED = (
    *(_never_compiled, _mixes_kinds, _compares_kinds, _compares_otherwise, _has_an_else, _counts_in_what_it_had),
    *(_slices_with_a_step, _root_of_a_whole_number, _takes_a_list, _says_not_what_it_takes, _name_from_outside),
)


def both(loop, *arguments):
    """Run a loop in Python and as machine code; return the arrays after either."""
    results = []
    for run, as_address in ((loop, False), (compiled(loop), True)):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        run(*(a.ctypes.data if as_address and isinstance(a, np.ndarray) else a for a in copies))
        results.append([a for a in copies if isinstance(a, np.ndarray)])
    return results


@given(st.integers(0, 6), st.integers(-1, 6), st.floats(-3, 3, allow_subnormal=False))
def test_machine_code_is_the_loop(n, where, x):
    python, machine = both(_everything, np.linspace(-1, 2, 8), np.array([where, 0, 0]), n, x)
    for a, b in zip(python, machine, strict=True):
        assert a.tobytes() == b.tobytes()


@given(st.integers(1, 7), st.integers(1, 3), st.sampled_from([1.0, 1.05]), st.integers(0, 100))
def test_learning_rows_is_the_loop(b, n, grow, seed):
    rng = np.random.default_rng(seed)
    z, y, e = rng.normal(size=b + b * (b + 1) // 2), rng.normal(size=n * b), rng.normal(size=n)
    variance, bounds = rng.uniform(0.1, 2, n), rng.uniform(0.5, 3, b)
    python, machine = both(_update, z, y, e, variance, np.zeros(n), bounds, np.zeros(b), grow, n, b)
    for a, c in zip(python, machine, strict=True):
        assert a.tobytes() == c.tobytes()


@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 100))
def test_friction_with_memory_is_the_loop(n, k, seed):
    rng = np.random.default_rng(seed)
    x, v, d, past = rng.normal(size=n), rng.normal(size=n), rng.uniform(0.01, 1, k), rng.normal(size=2)
    python, machine = both(_dahl, x, v, n, 1, 0.01, d, k, past, rng.uniform(-1, 1, k), np.zeros(n * k))
    for a, b in zip(python, machine, strict=True):
        assert a == pytest.approx(b, rel=1e-12)  # each has its own exp


@pytest.mark.parametrize("loop", REFUSED)
def test_what_has_no_machine_code_is_refused(loop):
    with pytest.raises(TaupiError) as raised:
        compiled(loop)
    assert "code" in raised.value.values
