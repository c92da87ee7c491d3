"""Quotients of polynomials, with denominators as products of irreducible factors: what programs are expanded over."""

from __future__ import annotations

from typing import NamedTuple

from flint import fmpq_mpoly

Denominator = tuple[tuple[int, int], ...]  # (number of a factor of the ring, exponent), by number


class Quotient(NamedTuple):
    """numerator / product of factors^exponents; a polynomial has the denominator ()."""

    numerator: fmpq_mpoly
    denominator: Denominator = ()

    def __str__(self) -> str:
        return f"{self.numerator} / {self.denominator}" if self.denominator else str(self.numerator)


def joined(a: Denominator, b: Denominator) -> Denominator:
    """Return the product of two denominators.

    >>> joined(((0, 1),), ((0, 2), (3, 1)))
    ((0, 3), (3, 1))
    """
    total = dict(a)
    for k, e in b:
        total[k] = total.get(k, 0) + e
    return tuple(sorted(total.items()))


def least_common(a: Denominator, b: Denominator) -> Denominator:
    """Return the least common multiple of two denominators.

    >>> least_common(((0, 1), (1, 1)), ((0, 2),))
    ((0, 2), (1, 1))
    """
    total = dict(a)
    for k, e in b:
        total[k] = max(total.get(k, 0), e)
    return tuple(sorted(total.items()))


def missing(a: Denominator, multiple: Denominator) -> Denominator:
    """Return multiple / a, the factors that a denominator lacks of a multiple of it.

    >>> missing(((0, 1),), ((0, 3), (1, 1)))
    ((0, 2), (1, 1))
    """
    own = dict(a)
    return tuple((k, e - own.get(k, 0)) for k, e in multiple if e > own.get(k, 0))
