"""Y = Y_b B, exactly: which columns are representatives, and the constant matrix B that makes the others of them.

Columns are evaluated at random states modulo primes below 2^31, where they depend on each other as they do over the rationals.
B's entries are lifted from as many primes as they need, and the identity is then checked at fresh states modulo fresh
primes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.lifting import Lift
from taupi.program.independent_columns import pivots, random_symbols, rows_modulo, states_for
from taupi.program.modular_arithmetic import Modular, primes, residue

Entries = dict[
    tuple[int, int], Any
]  # B's entries that are not zero, by representative and other column, in places of Y
_CHECKS = 2
# No geometry of a file needs more: 4000 bits a number, some numbers a product, two products a fraction.
_MOST_PRIMES = 4096
# Residues that exist at once: a hundred megabytes.
_MOST_NUMBERS = 12_000_000


@dataclass(frozen=True)
class Profile:
    """Which columns represent the others, and rows of how many random states show them to be independent."""

    columns: tuple[int, ...]
    others: tuple[int, ...]
    rows: tuple[int, ...]
    states: int

    def solve(self, values: np.ndarray, prime: int) -> list[int]:
        """Return B's part for the other columns, row by row, from the stacked rows of Y modulo a prime."""
        from flint import nmod_mat

        chosen = values[list(self.rows)]
        r, m = len(self.columns), len(self.others)
        left = nmod_mat(r, r, chosen[:, self.columns].ravel().tolist(), prime)
        right = nmod_mat(r, m, chosen[:, self.others].ravel().tolist(), prime)
        return [int(v) for v in left.solve(right).entries()]

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the places that `solve` returns."""
        return ((i, k) for i in self.columns for k in self.others)


def usable_primes(modular: Modular) -> Iterator[int]:
    """Yield the primes that divide no denominator of the description."""
    return (p for p in primes() if modular.good(p))


def profile(modular: Modular, order: Sequence[int]) -> Profile:
    """Return the first independent columns in an order of preference, and rows to solve with."""
    states = states_for(modular.program)
    prime = next(usable_primes(modular))
    found = _profile(modular, order, prime, states)
    while len((more := _profile(modular, order, prime, 2 * states)).columns) > len(found.columns):
        found, states = more, 2 * states
    return found


def _profile(modular: Modular, order: Sequence[int], prime: int, states: int) -> Profile:
    values = rows_modulo(modular, prime, states, seed=states)
    places = np.asarray(order)
    columns = places[pivots(values[:, places], prime)[0]]
    rows = pivots(np.ascontiguousarray(values[:, columns].T), prime)[0]
    acting = set(np.flatnonzero(values.any(axis=0)).tolist())
    others = sorted(acting - set(columns.tolist()))
    height = len(values) // states
    used = rows[-1] // height + 1 if rows else 1
    return Profile(tuple(int(k) for k in columns), tuple(others), tuple(rows), used)


def relations(modular: Modular, profile: Profile) -> Entries:
    """Return B's entries as fractions, for a program whose symbols all have values."""
    if not profile.others or not profile.columns:
        return {}
    lift, supply, seed = Lift(), usable_primes(modular), 0
    at_once = max(1, _MOST_NUMBERS // (profile.states * modular.program.outputs[0].size))
    for count in _growing():
        for done in range(0, count, at_once):
            batch = tuple(next(supply) for _ in range(min(at_once, count - done)))
            _add_primes(lift, profile, batch, modular(batch, profile.states, seed)[:, 0])
        found = lift.fractions()
        if found is not None:
            entries: Any = {key: value for key, value in found.items() if value}
            if holds(modular, profile, entries, supply, lambda value, prime, _: residue(value, prime)):
                return entries
    raise TaupiError(f"{modular.program.name}: B has fractions of more than {31 * _MOST_PRIMES} bits.")


def _add_primes(lift: Lift, profile: Profile, batch: tuple[int, ...], values: np.ndarray) -> None:
    for prime, stacked in zip(batch, values.reshape(len(batch), -1, values.shape[-1]), strict=True):
        try:
            solved = profile.solve(stacked, prime)
        except ZeroDivisionError:  # a prime that divides the determinant: as rare as any other number
            continue
        lift.add(prime, {key: v for key, v in zip(profile.places(), solved, strict=True) if v})


def _growing() -> Iterator[int]:
    """Yield how many further primes to take: half as many again each time."""
    total, count = 0, 3
    while total < _MOST_PRIMES:
        yield count
        total += count
        count = max(3, total // 2)


def holds(
    modular: Modular,
    profile: Profile,
    entries: Entries,
    supply: Iterator[int],
    at: Callable[[Any, int, Mapping[str, int]], int],
) -> bool:
    """Tell whether Y = Y_b B at fresh states, and fresh values of the symbols, modulo fresh primes."""
    from flint import nmod_mat

    r, m = len(profile.columns), len(profile.others)
    for check in range(_CHECKS):
        prime, seed = next(supply), 10**6 + check
        symbols, angles = random_symbols(modular, 1, seed)
        values = modular((prime,), profile.states + 2, seed, symbols, angles)
        stacked = values.reshape(-1, values.shape[-1])
        point = {name: int(v[0]) for name, v in symbols.items()} | {f"tan {a}": int(v[0]) for a, v in angles.items()}
        try:
            b = [at(entries[key], prime, point) if key in entries else 0 for key in profile.places()]
        except (ZeroDivisionError, ValueError):  # a denominator that this prime divides: take another one
            b = []
        if not b:
            return holds(modular, profile, entries, supply, at)
        left = nmod_mat(len(stacked), r, stacked[:, profile.columns].ravel().tolist(), prime)
        right = nmod_mat(len(stacked), m, stacked[:, profile.others].ravel().tolist(), prime)
        zero = np.delete(stacked, (*profile.columns, *profile.others), axis=1)
        if left * nmod_mat(r, m, b, prime) != right or zero.any():
            return False
    return True
