"""Formulas as sums of products, with common factors collected and repeated sub-terms named."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq

from taupi.program.explicit.polynomial_ring import Atom, Denominator, Quotient
from taupi.program.explicit.trigonometric_forms import Alphabet, Letter, Monomial, Terms

# Sums with more terms than this are not factored beyond what all terms share.
_FACTORED = 60
# Sums with more terms than this are not grouped at all.
_GROUPED = 2000
# A rational factor is taken out only if its numbers are small, as one would write it by hand; decimals of a file stay in place.
_PLAIN = 64


@dataclass(frozen=True, slots=True)
class Product:
    """coefficient x letters x sums, each to a power."""

    coefficient: fmpq
    letters: Monomial = ()
    sums: tuple[tuple[Sum, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of products; no products is zero."""

    products: tuple[Product, ...]


class Collector:
    """Turns terms into trees, with the alphabet that gives their letters an order."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self._keys: dict[Monomial, tuple[object, ...]] = {}

    def __call__(self, terms: Terms) -> Sum:
        """Return terms with common factors taken out: of all terms, then of those with equal sines and cosines, then greedily."""
        return self._collected(terms, signed=True)

    def quotient(self, terms: Terms, denominator: Denominator) -> Sum:
        """Return terms over a denominator."""
        tree = self(terms)
        if not denominator or not tree.products:
            return tree
        ring, below = self.alphabet.ring, {}
        for k, e in denominator:
            atom = Atom("inverse", args=(Quotient(ring.factors[k]),), key=str(ring.factors[k]))
            below[self.alphabet.letter(Letter(atom))] = e
        if len(tree.products) == 1:
            (p,) = tree.products
            return Sum((Product(p.coefficient, self.alphabet.times(p.letters, tuple(below.items())), p.sums),))
        return Sum((Product(fmpq(1), self.alphabet.monomial(below), ((tree, 1),)),))

    def _collected(self, terms: Terms, signed: bool = False) -> Sum:
        """Return terms with common factors and the sign of the first term taken out, so that a sum and its negative match.

        With `signed`, a sign that is all there is to take out stays inside.
        """
        ordered = self.ordered(terms)
        if len(terms) < 2 or len(terms) > _GROUPED:
            return Sum(tuple(Product(terms[m], m) for m in ordered))
        content, monomial = _content(terms, ordered), _common(ordered)
        if content == 1 and not monomial:
            return self._grouped(terms, ordered)
        inner = self._grouped(*self._divided(terms, content, monomial))
        if signed and content == -1 and not monomial:
            return Sum(tuple(Product(-p.coefficient, p.letters, p.sums) for p in inner.products))
        if len(inner.products) == 1:  # a product of sums
            (only,) = inner.products
            return Sum((Product(content * only.coefficient, self.alphabet.times(monomial, only.letters), only.sums),))
        return Sum((Product(content, monomial, ((inner, 1),)),))

    def ordered(self, terms: Terms) -> list[Monomial]:
        """Return monomials in the order of writing: by the inputs in them, the last input first."""
        return sorted(terms, key=self._key)

    def _key(self, monomial: Monomial) -> tuple[object, ...]:
        """Return the sort key of a term: its inputs (accelerations, velocities, none), then its angles, then its symbols."""
        key = self._keys.get(monomial)
        if key is None:
            inputs, angles, symbols = [], [], []
            for k, e in monomial:
                letter = self.alphabet.letters[k]
                if letter.atom is None:
                    angles.append((letter.form, letter.kind, -e))
                elif letter.atom.rank:
                    inputs.append((-letter.atom.rank, letter.atom.index, -e))
                else:
                    symbols.append((letter.atom.kind, letter.atom.name, -e))
            parts = (tuple(sorted(part)) for part in (inputs, angles, symbols))
            key = (not inputs, *parts, len(monomial))
            self._keys[monomial] = key
        return key

    def _divided(self, terms: Terms, content: fmpq, monomial: Monomial) -> tuple[Terms, list[Monomial]]:
        drop = dict(monomial)
        divided: Terms = {}
        for m, c in terms.items():
            divided[tuple((k, e - drop.get(k, 0)) for k, e in m if e > drop.get(k, 0))] = c / content
        return divided, self.ordered(divided)

    def _grouped(self, terms: Terms, ordered: list[Monomial]) -> Sum:
        """Return a sum without a common factor, its terms grouped by their sines and cosines."""
        groups: dict[Monomial, Terms] = {}
        gathering = {k for k in {k for m in ordered for k, _ in m} if self.alphabet.gathers(k)}
        for m in ordered:
            angles = tuple([item for item in m if item[0] in gathering])
            groups.setdefault(angles, {})[tuple([item for item in m if item[0] not in gathering])] = terms[m]
        if list(groups) == [()]:
            return self._plain(terms)
        return Sum(tuple(p for angles, group in groups.items() for p in self._with_angles(angles, group)))

    def _with_angles(self, angles: Monomial, group: Terms) -> Iterator[Product]:
        if not angles:
            yield from self(group).products
            return
        collected = self._collected(group)
        if len(collected.products) == 1:
            (p,) = collected.products
            yield Product(p.coefficient, self.alphabet.times(p.letters, angles), p.sums)
        else:
            yield Product(fmpq(1), angles, ((collected, 1),))

    def _plain(self, terms: Terms) -> Sum:
        """Return a polynomial without angles: factored if it has factors, otherwise grouped by the letter most terms share."""
        if len(terms) <= _FACTORED and (factored := self._factored(terms)) is not None:
            return factored
        ordered = self.ordered(terms)
        counts = Counter(k for m in ordered for k, _ in m)
        shared, count = min(counts.items(), key=lambda i: (-i[1], self.alphabet.order(i[0])), default=(0, 0))
        if count < 2:
            return Sum(tuple(Product(terms[m], m) for m in ordered))
        having = {m: c for m, c in terms.items() if any(k == shared for k, _ in m)}
        rest = {m: c for m, c in terms.items() if m not in having}
        parts = [*self(having).products, *(self(rest).products if rest else ())]
        first = {id(p): self.ordered(self.expanded(p))[0] for p in parts}
        return Sum(tuple(sorted(parts, key=lambda p: self._key(first[id(p)]))))

    def _factored(self, terms: Terms) -> Sum | None:
        ring = self.alphabet.ring
        place = {k: self.alphabet.generator(k) for k in {k for m in terms for k, _ in m}}
        if len(terms) < 3 or None in place.values() or _irreducible(terms):
            return None
        rows = {}
        for m, c in terms.items():
            exponents = [0] * len(ring.generators)
            for k, e in m:
                exponents[place[k] or 0] = e
            rows[tuple(exponents)] = c
        content, factors = ring.context.from_dict(rows).factor()
        if len(factors) == 1 and factors[0][1] == 1:
            return None
        forms = {a: ((a, 1),) for a in ring.angles}
        sums = []
        coefficient = fmpq(content)
        for f, power in factors:
            inner = self.alphabet.terms(f, forms)
            sign = _content(inner, self.ordered(inner))
            coefficient *= sign ** int(power)
            sums.append((self._plain({m: c / sign for m, c in inner.items()}), int(power)))
        return Sum((Product(coefficient, (), tuple(sums)),))

    def expanded(self, p: Product) -> Terms:
        """Return a product multiplied out."""
        total: Terms = {p.letters: p.coefficient}
        for inner, power in p.sums:
            for _ in range(power):
                grown: Terms = {}
                for m, c in total.items():
                    for q in inner.products:
                        for n, d in self.expanded(q).items():
                            product = self.alphabet.times(m, n)
                            grown[product] = grown.get(product, fmpq(0)) + c * d
                total = {m: c for m, c in grown.items() if c}
        return total


def _content(terms: Terms, ordered: Sequence[Monomial]) -> fmpq:
    """Return the rational factor to take out: the sign of the first term, and a plain common number."""
    sign = 1 if terms[ordered[0]] > 0 else -1
    numerators = [abs(int(c.p)) for c in terms.values()]
    denominators = [int(c.q) for c in terms.values()]
    if max(*numerators, *denominators, 1) > _PLAIN:
        return fmpq(sign)
    if len(set(denominators)) > 1:
        return fmpq(sign)
    return fmpq(sign * math.gcd(*numerators), denominators[0])


def _irreducible(terms: Terms) -> bool:
    """Return whether terms have no factors for a reason that is seen at once: a letter occurs in one of them only, as itself.

    They are a x + b, and a factor of that divides a, which is a single product, and b: it is a product that all terms share.
    """
    count = Counter(k for m in terms for k, _ in m)
    return any(e == 1 and count[k] == 1 for m in terms for k, e in m) and not _common(list(terms))


def _common(ordered: Sequence[Monomial]) -> Monomial:
    """Return the letters that all monomials share."""
    shared = dict(ordered[0])
    for m in ordered[1:]:
        here = dict(m)
        shared = {k: min(e, here[k]) for k, e in shared.items() if k in here}
        if not shared:
            break
    return tuple(shared.items())


# Names ----------------------------------------------------------------------------------------------------------------


def inner_sums(tree: Sum) -> Iterator[Sum]:
    """Yield every sum inside a tree, inner ones first."""
    for p in tree.products:
        for inner, _ in p.sums:
            yield from inner_sums(inner)
            yield inner


def substituted(tree: Sum, names: dict[Sum, int], alphabet: Alphabet) -> Sum:
    """Return a tree with named sums replaced by their letters."""
    products = []
    for p in tree.products:
        letters, sums = dict(p.letters), []
        for inner, power in p.sums:
            if inner in names:
                letters[names[inner]] = letters.get(names[inner], 0) + power
            else:
                sums.append((substituted(inner, names, alphabet), power))
        products.append(Product(p.coefficient, alphabet.monomial(letters), tuple(sums)))
    return Sum(tuple(products))


def name_repeated(trees: Sequence[Sum], alphabet: Alphabet, taken: set[str]) -> tuple[list[tuple[str, Sum]], list[Sum]]:
    """Return definitions k1, k2, ... of the sums that occur more than once, and the trees written with them.

    The longest is named first, everywhere, so that sums inside it count once; the definitions are then ordered so that each
    contains only earlier names.
    """
    written = list(trees)
    named: list[tuple[int, Sum]] = []
    while True:
        counts = Counter(s for tree in (*written, *(s for _, s in named)) for s in inner_sums(tree))
        repeated = [s for s, n in counts.items() if n > 1]
        if not repeated:
            break
        longest = max(repeated, key=length)
        letter = alphabet.letter(Letter(Atom("name", op=f"repeated {len(named)}")))
        written = [substituted(tree, {longest: letter}, alphabet) for tree in written]
        named = [(k, substituted(s, {longest: letter}, alphabet)) for k, s in named]
        named.append((letter, longest))
    names = (f"k{i}" for i in itertools.count(1) if f"k{i}" not in taken)
    definitions = []
    for letter, body in reversed(named):
        name = next(names)
        alphabet.rename(letter, Letter(Atom("name", op=name)))
        definitions.append((name, body))
    return definitions, written


def length(tree: Sum) -> int:
    """Return how many products a tree holds."""
    return sum(1 + sum(length(inner) for inner, _ in p.sums) for p in tree.products)
