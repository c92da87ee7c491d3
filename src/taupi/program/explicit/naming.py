"""Names that a user gives to sub-terms: b4 for qrdd1 + qrdd2, b6 for a1*a2*sin(q2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flint import fmpq

from taupi.errors import TaupiError
from taupi.program.explicit.from_sympy import quotient
from taupi.program.explicit.merge import plain_forms
from taupi.program.explicit.ring import Atom
from taupi.program.explicit.terms import Alphabet, Letter, Monomial, Terms
from taupi.program.explicit.tree import Collector, Sum, substituted


@dataclass
class GivenNames:
    """The user's names: products are replaced in terms, sums in trees."""

    alphabet: Alphabet
    definitions: list[tuple[str, Sum]] = field(default_factory=list)
    products: list[tuple[Monomial, int]] = field(default_factory=list)
    sums: dict[Sum, int] = field(default_factory=dict)

    def terms(self, terms: Terms) -> Terms:
        """Return terms with the products that have a name written by it."""
        for product, name in self.products:
            terms = {self._divided(m, dict(product), name): c for m, c in terms.items()}
        return terms

    def _divided(self, monomial: Monomial, product: Mapping[int, int], name: int) -> Monomial:
        letters = dict(monomial)
        if any(letters.get(k, 0) < e for k, e in product.items()):
            return monomial
        return self.alphabet.monomial({k: e - product.get(k, 0) for k, e in letters.items()} | {name: 1})

    def trees(self, tree: Sum) -> Sum:
        """Return a tree with the sums that have a name written by it."""
        return substituted(tree, self.sums, self.alphabet) if self.sums else tree


def given_names(alphabet: Alphabet, names: Mapping[str, str]) -> GivenNames:
    """Read the user's names; each stands for a product, or for a sum whose terms share no factor."""
    given, collect = GivenNames(alphabet), Collector(alphabet)
    for name, expression in names.items():
        terms = _parsed(alphabet, name, expression)
        tree = collect(terms)
        letter = alphabet.letter(Letter(Atom("name", op=name)))
        if len(terms) == 1 and list(terms.values()) == [fmpq(1)]:
            given.products.append((next(iter(terms)), letter))
        elif len(tree.products) > 1:
            given.sums[tree] = letter
        else:
            raise TaupiError(
                f"names: {name} = {expression} has a common factor: name the factor or the sum inside it, not their product."
            )
        given.definitions.append((name, tree))
    return given


def _parsed(alphabet: Alphabet, name: str, expression: str) -> Terms:
    """Return the terms of an expression, angles as they are in the formulas."""
    found = quotient(alphabet.ring, expression, f"names: {name}")
    if found.denominator:
        raise TaupiError(f"names: {name} = {expression} is a quotient, expected a sum or a product.")
    return alphabet.terms(found.numerator, plain_forms(alphabet.ring))
