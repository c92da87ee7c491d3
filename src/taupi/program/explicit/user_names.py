"""The user's names for sub-terms: b4 for qrdd1 + qrdd2, b6 for a1*a2*sin(q2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flint import fmpq

from taupi.errors import TaupiError
from taupi.program.explicit.formula_tree import Collector, Product, Sum
from taupi.program.explicit.from_text import quotient
from taupi.program.explicit.polynomial_ring import Atom, symbol_name
from taupi.program.explicit.trigonometric_forms import Alphabet, Letter, Monomial, Terms, plain_forms

Shape = frozenset[tuple[Monomial, fmpq]]  # the terms of a sum, divided by the coefficient of the first


@dataclass
class UserNames:
    """The user's names for sub-terms: products are replaced in terms, sums in trees."""

    alphabet: Alphabet
    definitions: list[tuple[str, Sum]] = field(default_factory=list)
    products: list[tuple[Monomial, int]] = field(default_factory=list)
    sums: dict[Shape, tuple[int, fmpq]] = field(default_factory=dict)  # the letter, and its first coefficient

    def in_terms(self, terms: Terms) -> Terms:
        """Return terms with named products replaced by their names."""
        for product, name in self.products:
            terms = {self._divided(m, dict(product), name): c for m, c in terms.items()}
        return terms

    def _divided(self, monomial: Monomial, product: Mapping[int, int], name: int) -> Monomial:
        letters = dict(monomial)
        if any(letters.get(k, 0) < e for k, e in product.items()):
            return monomial
        return self.alphabet.monomial({k: e - product.get(k, 0) for k, e in letters.items()} | {name: 1})

    def in_tree(self, tree: Sum) -> Sum:
        """Return a tree with named sums, and multiples of them, replaced by their names."""
        if not self.sums:
            return tree
        multiple = self._multiple(tree)
        if multiple is not None:
            letter, factor = multiple
            return Sum((Product(factor, self.alphabet.monomial({letter: 1})),))
        return Sum(tuple(self._product(p) for p in tree.products))

    def _product(self, p: Product) -> Product:
        coefficient, letters, sums = p.coefficient, dict(p.letters), []
        for inner, power in p.sums:
            multiple = self._multiple(inner)
            if multiple is None:
                sums.append((self.in_tree(inner), power))
            else:
                letter, factor = multiple
                letters[letter] = letters.get(letter, 0) + power
                coefficient *= factor**power
        return Product(coefficient, self.alphabet.monomial(letters), tuple(sums))

    def _multiple(self, tree: Sum) -> tuple[int, fmpq] | None:
        """Return the letter and the factor of a sum that is a multiple of a named one, or None."""
        if len(tree.products) < 2:
            return None
        first, shape = _shape(Collector(self.alphabet), tree)
        if shape not in self.sums:
            return None
        letter, own = self.sums[shape]
        return letter, first / own


def _shape(collect: Collector, tree: Sum) -> tuple[fmpq, Shape]:
    terms = collect.expanded(Product(fmpq(1), (), ((tree, 1),)))
    first = terms[collect.ordered(terms)[0]]
    return first, frozenset((m, c / first) for m, c in terms.items())


def user_names(alphabet: Alphabet, names: Mapping[str, str]) -> UserNames:
    """Return the names of a mapping; each stands for a product, or for a sum whose terms share no factor."""
    result, collect = UserNames(alphabet), Collector(alphabet)
    taken = {symbol_name(a) for a in alphabet.ring.atoms if a.kind == "symbol"}
    taken |= {a.op for a in alphabet.ring.atoms if a.kind == "name"}
    for name, expression in names.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TaupiError("{names} holds the name {name!r}, expected letters and digits.", name=name)
        if name in taken:
            raise TaupiError(
                "{names}: {name} is already the name of a symbol in the formulas: choose another.", name=name
            )
        terms = _parsed(alphabet, name, expression)
        tree = collect(terms)
        letter = alphabet.letter(Letter(Atom("name", op=name)))
        if len(terms) == 1 and list(terms.values()) == [fmpq(1)]:
            result.products.append((next(iter(terms)), letter))
        elif len(tree.products) > 1:
            first, shape = _shape(collect, tree)
            result.sums[shape] = (letter, first)
        else:
            raise TaupiError(
                "{names}: {name} = {expression} has a common factor: name the factor or the sum inside it, "
                "not their product.",
                name=name,
                expression=expression,
            )
        result.definitions.append((name, tree))
    return result


def _parsed(alphabet: Alphabet, name: str, expression: str) -> Terms:
    """Return the terms of an expression, with angles as they are in the formulas."""
    parsed = quotient(alphabet.ring, expression, f"names: {name}")
    if parsed.denominator:
        raise TaupiError(
            "{names}: {name} = {expression} is a quotient, expected a sum or a product.",
            name=name,
            expression=expression,
        )
    return alphabet.terms(parsed.numerator, plain_forms(alphabet.ring))
