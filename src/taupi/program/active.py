"""Which columns of a program's output act, and which of them are independent: decided exactly, without a tolerance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.errors import NotRationalError, TaupiError
from taupi.program.program import Program

# A rational function that is not zero vanishes at a random point of these fractions with probability below 1e-4 each.
_POINTS = 3
# Ranks are found modulo this prime, 2^61 - 1: one that is too low by chance is as likely as a cosmic ray.
_PRIME = 2305843009213693951


def _values(program: Program) -> Iterator[Any]:
    """Yield the first output at random rational points, seeded, so that the answer is the same every time."""
    rng = random.Random(0)

    def number() -> Fraction:
        return Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**3))

    while True:
        bound = program.bind(**{name: number() for name in program.symbols}) if program.symbols else program
        evaluate = bound.compile("exact")
        point = [np.array([number() for _ in range(p.size)], dtype=object).reshape(p.shape) for p in program.inputs]
        result = evaluate(*point)
        first = result[0] if isinstance(result, tuple) else result
        yield first.reshape(-1, first.shape[-1])


def active_columns(program: Program) -> list[int]:
    """Return the columns of the (first) output that do not vanish identically, by exact evaluation at random points.

    Rounding plays no part: a column that is zero only by cos^2 + sin^2 = 1 is zero here. Symbols without a value are random
    too.
    """
    _matrix_shape(program)
    acting: Any = False
    try:
        for _, value in zip(range(_POINTS), _values(program), strict=False):
            acting = acting | (value != 0).any(axis=0)
    except NotRationalError:
        return _active_in_doubles(program)
    return [int(k) for k in np.flatnonzero(acting)]


def _active_in_doubles(program: Program) -> list[int]:
    """Return the same for a program with an exponential or half an angle in it, by doubles at several random states."""
    rng = np.random.default_rng(0)
    bound = program.bind(**{name: rng.uniform(0.5, 2) for name in program.symbols}) if program.symbols else program
    states = [rng.uniform(-2, 2, (16, *p.shape)) for p in program.inputs]
    result = bound.compile("numpy")(*states)
    first = result[0] if isinstance(result, tuple) else result
    size = np.abs(first).reshape(-1, first.shape[-1]).max(axis=0)
    # What cancels leaves some units in the last place of its terms; what acts is far above that somewhere.
    return [int(k) for k in np.flatnonzero(size > 1e-12 * max(1.0, size.max()))]


def independent_columns(program: Program) -> list[int]:
    """Return the leftmost columns of the (first) output that span all of them: those with Y = Y[:, these] B, B constant.

    Rows are gathered at random rational points and reduced modulo a large prime, until further points add nothing.
    """
    from flint import nmod_mat

    shape = _matrix_shape(program)
    rows: list[list[int]] = []
    reduced: Any = None
    rank, unchanged = -1, 0
    for value in _values(program):
        rows += [[int(v.p) * pow(int(v.q), -1, _PRIME) % _PRIME for v in row] for row in value]
        if len(rows) < shape[-1]:
            continue
        reduced, found = nmod_mat(rows, _PRIME).rref()
        unchanged, rank = (unchanged + 1, rank) if found == rank else (0, found)
        # What a further point can add, almost every point adds: several that add nothing have nothing left to add.
        if unchanged == _POINTS or rank == shape[-1]:
            break
        rows = [[int(reduced[i, k]) for k in range(shape[-1])] for i in range(rank)]
        rows += [[0] * shape[-1]] * max(0, shape[-1] - rank)
    return [next(k for k in range(shape[-1]) if int(reduced[i, k])) for i in range(rank)]


def _matrix_shape(program: Program) -> tuple[int, ...]:
    shape = program.outputs[0].shape
    if not shape:
        raise TaupiError(f"{program.name} has no columns: its output is a single number.")
    return shape
