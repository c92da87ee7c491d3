"""Polynomials as terms over letters, in which sums of angles are recognised and factors are collected.

A letter is a generator of the ring, or the sine or cosine of a sum of angles. A monomial is a tuple of (letter, exponent) in
the order in which its letters are written; terms are a dictionary from monomials to rational coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_mpoly

from taupi.program.explicit.polynomial_ring import Atom, Ring

Monomial = tuple[tuple[int, int], ...]
Terms = dict[Monomial, fmpq]
Form = tuple[tuple[int, int], ...]  # a sum of angles: (angle, multiple), by angle
Forms = Mapping[int, Form]  # what each angle of the ring stands for


@dataclass(frozen=True)
class Letter:
    """What one letter stands for: an atom of the ring, or a trigonometric function of a sum of angles."""

    atom: Atom | None = None
    kind: str = ""  # "sin" or "cos" of the form
    form: Form = ()


class Alphabet:
    """The letters of a set of formulas, each once."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.letters: list[Letter] = []
        self.place: dict[Letter, int] = {}
        self._order: list[tuple[Any, ...]] = []
        self._generator: dict[int, int] = {}
        self.angle = {k: ring.atoms[s] for k, (s, _) in ring.angles.items()}

    def letter(self, letter: Letter) -> int:
        """Return the number of a letter, which is added if it is new."""
        if letter not in self.place:
            self.place[letter] = len(self.letters)
            self.letters.append(letter)
            self._order.append(_order(letter))
        return self.place[letter]

    def rename(self, k: int, letter: Letter) -> None:
        """Give a letter another meaning; monomials that hold it keep their order."""
        self.letters[k] = letter
        self.place[letter] = k
        self._order[k] = _order(letter)

    def trig(self, kind: str, form: Form) -> tuple[int, int]:
        """Return (sign, letter) of the sine or cosine of a sum of angles, with its first multiple made positive."""
        sign = 1
        if form[0][1] < 0:
            sign = -1 if kind == "sin" else 1
            form = tuple((a, -m) for a, m in form)
        return sign, self.letter(Letter(kind=kind, form=form))

    def generator(self, k: int) -> int | None:
        """Return the generator of the ring that a letter is, or None for a sum of angles and a name."""
        return self._generator.get(k)

    def order(self, k: int) -> tuple[Any, ...]:
        """Return what orders the letters of a product: constants, then names and functions, inputs, and angles."""
        return self._order[k]

    def monomial(self, exponents: Mapping[int, int]) -> Monomial:
        """Return a monomial of letters and exponents, in writing order."""
        order = self._order
        return tuple((k, exponents[k]) for k in sorted((k for k in exponents if exponents[k]), key=order.__getitem__))

    def times(self, a: Monomial, b: Monomial) -> Monomial:
        """Return the product of two monomials."""
        letters = dict(a)
        for k, e in b:
            letters[k] = letters.get(k, 0) + e
        return self.monomial(letters)

    def terms(self, p: fmpq_mpoly, forms: Forms) -> Terms:
        """Return a polynomial of the ring as terms, with each angle standing for its sum in `forms`."""
        signed: dict[int, tuple[int, int]] = {}  # generator -> (sign, letter)
        for angle, (s, c) in self.ring.angles.items():
            signed[s], signed[c] = self.trig("sin", forms[angle]), self.trig("cos", forms[angle])
        result: Terms = {}
        for exponents, coefficient in p.to_dict().items():
            sign, letters = 1, {}
            for k, e in enumerate(exponents):
                if e:
                    if k not in signed:
                        signed[k] = (1, self.letter(Letter(self.ring.atoms[k])))
                        self._generator[signed[k][1]] = k
                    factor, letter = signed[k]
                    letters[letter] = int(e)
                    sign *= factor if e % 2 else 1
            result[self.monomial(letters)] = sign * coefficient
        return result

    def is_trig(self, k: int) -> bool:
        """Return whether a letter is a sine or cosine."""
        return self.letters[k].atom is None

    def gathers(self, k: int) -> bool:
        """Return whether terms are grouped by a letter: by sines, cosines and names."""
        atom = self.letters[k].atom
        return atom is None or atom.kind == "name"


def _order(letter: Letter) -> tuple[Any, ...]:
    if letter.atom is None:
        return (3, letter.form, letter.kind)
    atom = letter.atom
    if atom.rank:
        return (2, atom.rank, atom.index)
    return (0, atom.name, "") if atom.kind == "symbol" else (1, atom.op, atom.key)


def added(a: Form, b: Form, sign: int) -> Form:
    """Return the sum of angles a + sign b.

    >>> added(((1, 1),), ((1, 1), (2, 1)), -1)
    ((2, -1),)
    """
    total = dict(a)
    for angle, multiple in b:
        total[angle] = total.get(angle, 0) + sign * multiple
    return tuple((angle, m) for angle, m in sorted(total.items()) if m)
