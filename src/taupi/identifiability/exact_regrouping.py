"""Y = Y_b B, exactly: which columns of Y are representatives, and the constant matrix B that expresses the others by them.

Columns are evaluated at random states modulo primes below 2^31, where they depend on each other as they do over the rationals.
The entries of B are reconstructed from as many primes as they need, and the identity is then checked at fresh states modulo
fresh primes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.rational_reconstruction import ResidueTable
from taupi.program.independent_columns import pivots, random_symbols, rows_modulo, states_for
from taupi.program.modular_arithmetic import Modular, primes, residue

if TYPE_CHECKING:
    from flint import nmod_mat

# The entries of B that are not zero, by representative and other column, both as places in Y.
Entries = dict[tuple[int, int], Any]
_CHECKS = 2
# No geometry of a file needs more: 4000 bits per number, a few numbers per product, two products per fraction.
_MOST_PRIMES = 4096
# Multiplications modulo a prime that take as long as to hand one number over to the library.
_HANDED_OVER = 50
# Residues held in memory at once, which take a hundred megabytes.
_MOST_NUMBERS = 12_000_000


@dataclass(frozen=True)
class SmallSystem:
    """Rows of Y from which the coefficients of a few `columns` in some `others` follow."""

    rows: np.ndarray
    columns: np.ndarray
    others: np.ndarray

    @property
    def cost(self) -> int:
        """The multiplications that it takes, with the handing over of each number counted as some more."""
        r, m = len(self.columns), len(self.others)
        return r * (r + m) * (r + _HANDED_OVER)

    def coefficients(self, values: np.ndarray, prime: int) -> list[int]:
        """Return the entries of B, row by row, from the stacked rows of Y modulo a prime."""
        some = values[self.rows]
        left, right = (_matrix(some[:, places], prime) for places in (self.columns, self.others))
        return [int(v) for v in left.solve(right).entries()]

    def solve(self, values: np.ndarray, prime: int) -> dict[tuple[int, int], int]:
        """Return the entries of B by their places, from the stacked rows of Y modulo a prime."""
        places = ((i, k) for i in self.columns.tolist() for k in self.others.tolist())
        return dict(zip(places, self.coefficients(values, prime), strict=True))


@dataclass(frozen=True)
class Representatives:
    """The columns of Y that represent the others, and the stacked rows of some random states that show their independence.

    The rows show it at the states of this `seed`. At others the sign of a velocity may be the same in all of them, so that dry
    friction looks like an offset or a mass that moves along its joint.
    """

    columns: tuple[int, ...]
    others: tuple[int, ...]
    rows: tuple[int, ...]
    states: int
    seed: int

    def values(self, modular: Modular, batch: tuple[int, ...], *symbols: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return Y at the states of the rows, modulo the primes of a batch: (primes, symbol values, states, *shape).

        `symbols` are values of the program's free symbols and angles, as `random_symbols` draws them.
        """
        return modular(batch, self.states, self.seed, *symbols)

    def sparse(self, solution: Sequence[int], values: np.ndarray, prime: int) -> tuple[SmallSystem, ...]:
        """Return the small systems that are left where B is zero modulo a first prime: most columns need few representatives.

        An entry may be zero modulo this prime alone. That is as rare as any residue, and is noticed when the identity is checked.
        """
        nonzero = np.array(solution, dtype=np.int64).reshape(len(self.columns), len(self.others)) != 0
        square = values[list(self.rows)]
        members: dict[bytes, list[int]] = {}
        for k in range(len(self.others)):
            members.setdefault(nonzero[:, k].tobytes(), []).append(k)
        systems = []
        for pattern, places in members.items():
            columns = np.array(self.columns)[np.frombuffer(pattern, dtype=bool)]
            if not len(columns):
                continue
            acting = np.flatnonzero(square[:, columns].any(axis=1))
            independent = pivots(np.ascontiguousarray(square[np.ix_(acting, columns)].T), prime)[0]
            rows = np.array(self.rows)[acting[independent]]
            systems.append(SmallSystem(rows, columns, np.array(self.others)[places]))
        return tuple(systems) if sum(s.cost for s in systems) < self._whole.cost else (self._whole,)

    @property
    def _whole(self) -> SmallSystem:
        return SmallSystem(*(np.array(places, dtype=np.int64) for places in (self.rows, self.columns, self.others)))

    def solve(self, values: np.ndarray, prime: int) -> list[int]:
        """Return the part of B for the other columns, row by row, from the stacked rows of Y modulo a prime."""
        return self._whole.coefficients(values, prime)

    def express(self, b: Sequence[int], rows: np.ndarray, prime: int) -> bool:
        """Return whether the other columns of stacked rows of Y are the representatives times B, given row by row."""
        from flint import nmod_mat

        left, right = (_matrix(rows[:, places], prime) for places in (self.columns, self.others))
        return bool(left * nmod_mat(len(self.columns), len(self.others), b, prime) == right)

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the places in B of the entries that `solve` returns."""
        return ((i, k) for i in self.columns for k in self.others)


def _matrix(residues: np.ndarray, prime: int) -> nmod_mat:
    from flint import nmod_mat

    return nmod_mat(*residues.shape, residues.ravel().tolist(), prime)


def usable_primes(modular: Modular) -> Iterator[int]:
    """Yield the primes that divide no denominator of the description."""
    return (p for p in primes() if modular.good(p))


def representatives(modular: Modular, order: Sequence[int]) -> Representatives:
    """Return the first independent columns in an order of preference, with twice the states until no column is added."""
    states = states_for(modular.program)
    prime = next(usable_primes(modular))
    chosen = _representatives(modular, order, prime, states)
    while not _span_all(modular, chosen, prime, 2 * states):
        states *= 2
        chosen = _representatives(modular, order, prime, states)
    return chosen


def _span_all(modular: Modular, chosen: Representatives, prime: int, states: int) -> bool:
    """Return whether the columns express all others at as many other states, too: whether no rank is added there."""
    symbols = random_symbols(modular, 1, chosen.seed)
    values = modular((prime,), states, states, *symbols).reshape(-1, modular.program.outputs[0].shape[-1])
    acting = {*chosen.columns, *chosen.others}
    if not acting.issuperset(np.flatnonzero(values.any(axis=0)).tolist()):
        return False
    if not chosen.others:
        return True
    own = chosen.values(modular, (prime,), *symbols)
    return chosen.express(chosen.solve(own.reshape(-1, own.shape[-1]), prime), values, prime)


def _representatives(modular: Modular, order: Sequence[int], prime: int, states: int) -> Representatives:
    values = rows_modulo(modular, prime, states, seed=states)
    places = np.asarray(order)
    columns = places[pivots(values[:, places], prime)[0]]
    rows = pivots(np.ascontiguousarray(values[:, columns].T), prime)[0]
    acting = set(np.flatnonzero(values.any(axis=0)).tolist())
    others = sorted(acting - set(columns.tolist()))
    height = len(values) // states
    used = rows[-1] // height + 1 if rows else 1
    return Representatives(tuple(int(k) for k in columns), tuple(others), tuple(rows), used, seed=states)


def regroup(modular: Modular, chosen: Representatives) -> Entries:
    """Return the entries of B as fractions, for a program whose symbols all have values."""
    if not chosen.others or not chosen.columns:
        return {}
    table, supply, systems = ResidueTable(), usable_primes(modular), list[SmallSystem]()
    at_once = max(1, _MOST_NUMBERS // (chosen.states * modular.program.outputs[0].size))
    for count in _growing_counts():
        for done in range(0, count, at_once):
            batch = tuple(next(supply) for _ in range(min(at_once, count - done)))
            _add_primes(table, chosen, batch, chosen.values(modular, batch)[:, 0], systems)
        fractions = table.fractions()
        if fractions is not None:
            entries: Any = {key: value for key, value in fractions.items() if value}
            if holds(modular, chosen, entries, supply, _fraction_residue):
                return entries
            if systems:  # what vanishes modulo the first prime may not vanish otherwise: the next prime decides anew
                table = ResidueTable()
                systems.clear()
    raise TaupiError(
        "{program}: B has fractions of more than {most_primes} bits.",
        program=modular.program.name,
        most_primes=31 * _MOST_PRIMES,
    )


def _fraction_residue(value: Fraction, prime: int, symbols: Mapping[str, int]) -> int:
    return residue(value, prime)


def _add_primes(
    table: ResidueTable,
    chosen: Representatives,
    batch: tuple[int, ...],
    values: np.ndarray,
    systems: list[SmallSystem],
) -> None:
    """Add residues of B to a table; `systems` are found from the first prime, and serve all others."""
    for prime, stacked in zip(batch, values.reshape(len(batch), -1, values.shape[-1]), strict=True):
        try:
            if not systems:
                systems += chosen.sparse(chosen.solve(stacked, prime), stacked, prime)
            residues = [system.solve(stacked, prime) for system in systems]
        except ZeroDivisionError:  # the prime divides a determinant, which is as rare as any other particular residue
            continue
        table.add(prime, {key: v for part in residues for key, v in part.items() if v})


def _growing_counts() -> Iterator[int]:
    """Yield how many further primes to take: as many as before, each time."""
    total, count = 0, 3
    while total < _MOST_PRIMES:
        yield count
        total += count
        count = max(3, total)


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
        zero = np.delete(stacked, (*chosen.columns, *chosen.others), axis=1)
        if zero.any() or not chosen.express(b, stacked, prime):
            return False
    return True
