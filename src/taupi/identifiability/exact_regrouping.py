"""Y = Y_b B, exactly: which columns of Y are representatives, and the constant matrix B that expresses the others by them.

Columns are evaluated at random states modulo primes below 2^31, where they depend on each other as they do over the rationals.
The entries of B are reconstructed from as many primes as they need, and the identity is then checked at fresh states modulo
fresh primes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.rational_reconstruction import ResidueTable
from taupi.program.independent_columns import pivots, random_symbols, rows_modulo, states_for
from taupi.program.modular_arithmetic import Modular, primes, residue

# The entries of B that are not zero, by representative and other column, both as places in Y.
Entries = dict[tuple[int, int], Any]
_CHECKS = 2
# No geometry of a file needs more: 4000 bits per number, a few numbers per product, two products per fraction.
_MOST_PRIMES = 4096
# Residues held in memory at once, which take a hundred megabytes.
_MOST_NUMBERS = 12_000_000


@dataclass(frozen=True)
class Representatives:
    """The columns of Y that represent the others, and the stacked rows of some random states that show their independence."""

    columns: tuple[int, ...]
    others: tuple[int, ...]
    rows: tuple[int, ...]
    states: int

    def solve(self, values: np.ndarray, prime: int) -> list[int]:
        """Return the part of B for the other columns, row by row, from the stacked rows of Y modulo a prime."""
        from flint import nmod_mat

        square = values[list(self.rows)]
        r, m = len(self.columns), len(self.others)
        left = nmod_mat(r, r, square[:, self.columns].ravel().tolist(), prime)
        right = nmod_mat(r, m, square[:, self.others].ravel().tolist(), prime)
        return [int(v) for v in left.solve(right).entries()]

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the places in B of the entries that `solve` returns."""
        return ((i, k) for i in self.columns for k in self.others)


def usable_primes(modular: Modular) -> Iterator[int]:
    """Yield the primes that divide no denominator of the description."""
    return (p for p in primes() if modular.good(p))


def representatives(modular: Modular, order: Sequence[int]) -> Representatives:
    """Return the first independent columns in an order of preference, with twice the states until no column is added."""
    states = states_for(modular.program)
    prime = next(usable_primes(modular))
    chosen = _representatives(modular, order, prime, states)
    while len((more := _representatives(modular, order, prime, 2 * states)).columns) > len(chosen.columns):
        chosen, states = more, 2 * states
    return chosen


def _representatives(modular: Modular, order: Sequence[int], prime: int, states: int) -> Representatives:
    values = rows_modulo(modular, prime, states, seed=states)
    places = np.asarray(order)
    columns = places[pivots(values[:, places], prime)[0]]
    rows = pivots(np.ascontiguousarray(values[:, columns].T), prime)[0]
    acting = set(np.flatnonzero(values.any(axis=0)).tolist())
    others = sorted(acting - set(columns.tolist()))
    height = len(values) // states
    used = rows[-1] // height + 1 if rows else 1
    return Representatives(tuple(int(k) for k in columns), tuple(others), tuple(rows), used)


def regroup(modular: Modular, chosen: Representatives) -> Entries:
    """Return the entries of B as fractions, for a program whose symbols all have values."""
    if not chosen.others or not chosen.columns:
        return {}
    table, supply, seed = ResidueTable(), usable_primes(modular), 0
    at_once = max(1, _MOST_NUMBERS // (chosen.states * modular.program.outputs[0].size))
    for count in _growing_counts():
        for done in range(0, count, at_once):
            batch = tuple(next(supply) for _ in range(min(at_once, count - done)))
            _add_primes(table, chosen, batch, modular(batch, chosen.states, seed)[:, 0])
        fractions = table.fractions()
        if fractions is not None:
            entries: Any = {key: value for key, value in fractions.items() if value}
            if holds(modular, chosen, entries, supply, _fraction_residue):
                return entries
    raise TaupiError(f"{modular.program.name}: B has fractions of more than {31 * _MOST_PRIMES} bits.")


def _fraction_residue(value: Fraction, prime: int, symbols: Mapping[str, int]) -> int:
    return residue(value, prime)


def _add_primes(table: ResidueTable, chosen: Representatives, batch: tuple[int, ...], values: np.ndarray) -> None:
    for prime, stacked in zip(batch, values.reshape(len(batch), -1, values.shape[-1]), strict=True):
        try:
            solution = chosen.solve(stacked, prime)
        except ZeroDivisionError:  # the prime divides the determinant, which is as rare as any other particular residue
            continue
        table.add(prime, {key: v for key, v in zip(chosen.places(), solution, strict=True) if v})


def _growing_counts() -> Iterator[int]:
    """Yield how many further primes to take: half as many again each time."""
    total, count = 0, 3
    while total < _MOST_PRIMES:
        yield count
        total += count
        count = max(3, total // 2)


def holds(
    modular: Modular,
    chosen: Representatives,
    entries: Entries,
    supply: Iterator[int],
    residue_of: Callable[[Any, int, Mapping[str, int]], int],
) -> bool:
    """Return whether Y = Y_b B at fresh states, and fresh values of the symbols, modulo fresh primes.

    `residue_of(entry, prime, symbols)` evaluates an entry of B modulo a prime, at values of the symbols.
    """
    from flint import nmod_mat

    r, m = len(chosen.columns), len(chosen.others)
    for check in range(_CHECKS):
        prime, seed = next(supply), 10**6 + check
        symbols, angles = random_symbols(modular, 1, seed)
        values = modular((prime,), chosen.states + 2, seed, symbols, angles)
        stacked = values.reshape(-1, values.shape[-1])
        point = {name: int(v[0]) for name, v in symbols.items()} | {f"tan {a}": int(v[0]) for a, v in angles.items()}
        try:
            b = [residue_of(entries[key], prime, point) if key in entries else 0 for key in chosen.places()]
        except (ZeroDivisionError, ValueError):  # the prime divides a denominator: take another one
            b = []
        if not b:
            return holds(modular, chosen, entries, supply, residue_of)
        left = nmod_mat(len(stacked), r, stacked[:, chosen.columns].ravel().tolist(), prime)
        right = nmod_mat(len(stacked), m, stacked[:, chosen.others].ravel().tolist(), prime)
        zero = np.delete(stacked, (*chosen.columns, *chosen.others), axis=1)
        if left * nmod_mat(r, m, b, prime) != right or zero.any():
            return False
    return True
