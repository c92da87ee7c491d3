"""Fractions from their residues modulo primes: the Chinese remainder theorem, and Wang's rational reconstruction."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

# A fraction is accepted when the product of the primes exceeds what it needs by this many bits: a wrong one passes with a
# probability of 2^-24.
_SPARE_BITS = 24


def reconstruct(residue: int, modulus: int) -> Fraction | None:
    """Return the fraction n/d with n = d `residue` (modulo `modulus`) and |n| d far below the modulus, or None without one.

    It is Euclid's algorithm stopped half way (Wang 1981).

    >>> reconstruct(3 * pow(7, -1, 2**61 - 1) % (2**61 - 1), 2**61 - 1)
    Fraction(3, 7)
    """
    bound = math.isqrt(modulus >> _SPARE_BITS + 1)
    r, previous, t, before = residue, modulus, 1, 0
    while r > bound:
        quotient = previous // r
        r, previous, t, before = previous - quotient * r, r, before - quotient * t, t
    if not t or abs(t) > bound or math.gcd(r, t) != 1:
        return None
    return Fraction(r, t)


class ResidueTable:
    """Numbers by name, known modulo more and more primes until each is recognised as a fraction. Names not listed are zero."""

    def __init__(self) -> None:
        self.modulus = 1
        self.residues: dict[Hashable, int] = {}
        self._hard: list[Hashable] = []  # the number that was not a fraction last time

    def add(self, prime: int, residues: Mapping[Hashable, int]) -> None:
        """Add the residues of the numbers modulo a further prime."""
        inverse = pow(self.modulus, -1, prime) if self.modulus > 1 else 1
        for key in self.residues.keys() | residues.keys():
            old = self.residues.get(key, 0)
            self.residues[key] = old + self.modulus * ((residues.get(key, 0) - old) * inverse % prime)
        self.modulus *= prime

    def fractions(self) -> dict[Hashable, Fraction] | None:
        """Return the numbers as fractions, or None if more primes are needed."""
        values: dict[Hashable, Fraction] = {}
        for key, residue in self._hardest_first():
            value = reconstruct(residue, self.modulus)
            if value is None:
                self._hard = [key]
                return None
            values[key] = value
        return {key: values[key] for key in self.residues}

    def _hardest_first(self) -> Iterable[tuple[Hashable, int]]:
        """Yield first the number that was not a fraction last time: most often it still is not."""
        yield from ((key, self.residues[key]) for key in self._hard)
        yield from ((key, value) for key, value in self.residues.items() if key not in self._hard)
