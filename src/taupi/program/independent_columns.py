"""Which columns of a program's output act, and which of them are independent: decided exactly, without a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.errors import NotRationalError, TaupiError
from taupi.program.program import Program
from taupi.program.modular_arithmetic import Modular, primes

# Symbols without a value are random whole numbers up to this.
_LARGEST_SYMBOL = 2**30
# States beyond those that could show every column: what a further state can add, almost every state adds.
_SPARE = 8


def random_symbols(modular: Modular, count: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return random values for a program's free symbols, and tangents of half the angle for those that are angles."""
    rng = np.random.default_rng([seed, 3])

    def drawn(names: Sequence[str]) -> dict[str, np.ndarray]:
        return {name: rng.integers(1, _LARGEST_SYMBOL, count) for name in names}

    return drawn(modular.symbols), drawn(modular.angles)


def rows_modulo(modular: Modular, prime: int, states: int, seed: int) -> np.ndarray:
    """Return the first output at random states modulo a prime, its rows stacked."""
    values = modular((prime,), states, seed, *random_symbols(modular, 1, seed))
    return values.reshape(-1, values.shape[-1])


def states_for(program: Program) -> int:
    """Return how many random states show every independent column of a matrix, with some to spare."""
    shape = _matrix_shape(program)
    return 2 * -(-shape[-1] // max(1, math.prod(shape[:-1]))) + _SPARE


def active_columns(program: Program) -> list[int]:
    """Return the columns of the (first) output that do not vanish identically, by exact evaluation at random points.

    Rounding plays no part: a column that is zero only by cos^2 + sin^2 = 1 is zero here. Symbols without a value are random
    too.
    """
    _matrix_shape(program)
    try:
        modular = Modular(program)
        prime = next(p for p in primes() if modular.good(p))
        return [int(k) for k in np.flatnonzero(rows_modulo(modular, prime, _SPARE, 0).any(axis=0))]
    except NotRationalError:
        return _active_in_doubles(program)


def _active_in_doubles(program: Program) -> list[int]:
    """Return the same for a program whose constants are not rational, such as a root, by doubles at several random states."""
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

    Rows are gathered at random states and reduced modulo a prime, until further states add nothing.
    """
    modular = Modular(program)
    prime = next(p for p in primes() if modular.good(p))
    states = states_for(program)
    found = pivots(rows_modulo(modular, prime, states, 0), prime)[0]
    while len(more := pivots(rows_modulo(modular, prime, 2 * states, 1), prime)[0]) > len(found):
        found, states = more, 2 * states
    return found


def pivots(rows: np.ndarray, prime: int) -> tuple[list[int], Any]:
    """Return the leftmost independent columns of a matrix of residues, and its reduced row echelon form (flint)."""
    from flint import nmod_mat

    reduced, rank = nmod_mat(*rows.shape, rows.ravel().tolist(), prime).rref()
    found, column = [], 0
    for i in range(rank):
        while not int(reduced[i, column]):
            column += 1
        found.append(column)
    return found, reduced


def _matrix_shape(program: Program) -> tuple[int, ...]:
    shape = program.outputs[0].shape
    if not shape:
        raise TaupiError(f"{program.name} has no columns: its output is a single number.")
    return shape
