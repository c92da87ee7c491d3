"""Which columns of a program's output are not zero, and which are independent: decided exactly, without a tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import NotRationalError, TaupiError
from taupi.program.modular_arithmetic import Modular, primes
from taupi.program.program import Program

if TYPE_CHECKING:
    from flint import nmod_mat

# Symbols without a value become random whole numbers up to this.
_LARGEST_SYMBOL = 2**30
# States beyond those that suffice for every column, since almost any state shows as much as a state can show.
_SPARE = 8


def random_symbols(modular: Modular, count: int, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return random values of a program's free symbols, and of tan(angle/2) for those that are angles."""
    rng = np.random.default_rng([seed, 3])

    def draw(names: Sequence[str]) -> dict[str, np.ndarray]:
        return {name: rng.integers(1, _LARGEST_SYMBOL, count) for name in names}

    return draw(modular.symbols), draw(modular.angles)


def rows_modulo(modular: Modular, prime: int, states: int, seed: int) -> np.ndarray:
    """Return the first output at random states modulo a prime, with its rows stacked."""
    values = modular((prime,), states, seed, *random_symbols(modular, 1, seed))
    return values.reshape(-1, values.shape[-1])


def states_for(program: Program) -> int:
    """Return how many random states show every independent column of an output, with some to spare."""
    shape = _matrix_shape(program)
    return 2 * -(-shape[-1] // max(1, math.prod(shape[:-1]))) + _SPARE


def active_columns(program: Program) -> list[int]:
    """Return the columns of the first output that do not vanish identically, by exact evaluation at random states.

    There is no rounding: a column that is zero only because cos^2 + sin^2 = 1 is zero here. Symbols without a value are also
    random.
    """
    _matrix_shape(program)
    try:
        modular = Modular(program)
        prime = next(p for p in primes() if modular.good(p))
        return [int(k) for k in np.flatnonzero(rows_modulo(modular, prime, _SPARE, 0).any(axis=0))]
    except NotRationalError:
        return _active_in_doubles(program)


def _active_in_doubles(program: Program) -> list[int]:
    """Return the same for a program with constants that are not rational, such as roots, by doubles at random states."""
    rng = np.random.default_rng(0)
    bound = program.bind(**{name: rng.uniform(0.5, 2) for name in program.symbols}) if program.symbols else program
    states = [rng.uniform(-2, 2, (16, *p.shape)) for p in program.inputs]
    result = bound.compile("numpy")(*states)
    first = result[0] if isinstance(result, tuple) else result
    size = np.abs(first).reshape(-1, first.shape[-1]).max(axis=0)
    # Terms that cancel leave a few units in their last place; a column that acts is far above that somewhere.
    return [int(k) for k in np.flatnonzero(size > 1e-12 * max(1.0, size.max()))]


def independent_columns(program: Program) -> list[int]:
    """Return the leftmost columns of the first output that span all of them: Y = Y[:, these] B with a constant B.

    Rows at random states are reduced modulo a prime, until twice as many states give no more columns.
    """
    modular = Modular(program)
    prime = next(p for p in primes() if modular.good(p))
    states = states_for(program)
    columns = pivots(rows_modulo(modular, prime, states, 0), prime)[0]
    while len(more := pivots(rows_modulo(modular, prime, 2 * states, 1), prime)[0]) > len(columns):
        columns, states = more, 2 * states
    return columns


def pivots(rows: np.ndarray, prime: int) -> tuple[list[int], nmod_mat]:
    """Return the leftmost independent columns of a matrix of residues, and its reduced row echelon form."""
    from flint import nmod_mat

    reduced, rank = nmod_mat(*rows.shape, rows.ravel().tolist(), prime).rref()
    columns, column = [], 0
    for i in range(rank):
        while not int(reduced[i, column]):
            column += 1
        columns.append(column)
    return columns, reduced


def _matrix_shape(program: Program) -> tuple[int, ...]:
    shape = program.outputs[0].shape
    if not shape:
        raise TaupiError("{program} has no columns: its output is a single number.", program=program.name)
    return shape
