"""Polynomials of a ring, and formulas, to SymPy expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import sympy
from flint import fmpq_mpoly

from taupi.program.explicit.algebra_writers import in_time
from taupi.program.explicit.formula_tree import Product, Sum
from taupi.program.explicit.monomials import Alphabet
from taupi.program.explicit.polynomial_quotient import Quotient
from taupi.program.explicit.polynomial_ring import Atom, Ring
from taupi.program.explicit.symbol_names import symbol_name

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "asin": sympy.asin,
    "acos": sympy.acos,
    "atan": sympy.atan,
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "tanh": sympy.tanh,
    "sign": sympy.sign,
    "fabs": sympy.Abs,
    "floor": sympy.floor,
    "inv": lambda a: 1 / a,
    "div": lambda a, b: a / b,
    "not": lambda a: sympy.Piecewise((1, sympy.Eq(a, 0)), (0, True)),
    "pow": lambda a, b: a**b,
    "constpow": lambda a, b: a**b,
    "atan2": sympy.atan2,
    "fmin": sympy.Min,
    "fmax": sympy.Max,
    "lt": lambda a, b: sympy.Piecewise((1, a < b), (0, True)),
    "le": lambda a, b: sympy.Piecewise((1, a <= b), (0, True)),
    "eq": lambda a, b: sympy.Piecewise((1, sympy.Eq(a, b)), (0, True)),
    "ne": lambda a, b: sympy.Piecewise((0, sympy.Eq(a, b)), (1, True)),
    "and": lambda a, b: sympy.Piecewise((0, sympy.Or(sympy.Eq(a, 0), sympy.Eq(b, 0))), (1, True)),
    "or": lambda a, b: sympy.Piecewise((0, sympy.And(sympy.Eq(a, 0), sympy.Eq(b, 0))), (1, True)),
    "if_else_zero": lambda a, b: sympy.Piecewise((0, sympy.Eq(a, 0)), (b, True)),
}

_canonical = cmp_to_key(sympy.Basic.compare)


class Converter:
    """Turns polynomials of one ring into SymPy sums, building each generator and each power once."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.meaning: dict[int, Any] = {}
        self.powers: dict[tuple[int, int], Any] = {}
        self.order: dict[Any, int] = {}  # the rank of each power in SymPy's own order

    def atom(self, k: int) -> Any:
        """Return what a generator stands for."""
        if k not in self.meaning:
            self.meaning[k] = self.meaning_of(self.ring.atoms[k])
        return self.meaning[k]

    def meaning_of(self, atom: Atom) -> Any:
        """Return what an atom stands for."""
        match atom.kind:
            case "symbol":
                return sympy.Symbol(symbol_name(atom))
            case "sin" | "cos":
                return FUNCTIONS[atom.kind](sympy.Symbol(symbol_name(atom)))
            case "inverse":
                return 1 / self(atom.args[0])
            case "name":
                return sympy.Symbol(atom.op)
        return FUNCTIONS[atom.op](*(self(p) for p in atom.args))

    def __call__(self, a: Quotient) -> Any:
        """Return a quotient as SymPy."""
        above = self.sum(a.numerator)
        return (
            above / sympy.Mul(*(self.sum(self.ring.factors[k]) ** e for k, e in a.denominator))
            if a.denominator
            else above
        )

    def sum(self, p: fmpq_mpoly) -> Any:
        """Return a polynomial as a SymPy sum in canonical form, built directly, without SymPy's search for like terms."""
        terms = [self._term(exponents, c) for exponents, c in p.to_dict().items()]
        if len(terms) < 2:
            return terms[0] if terms else sympy.Integer(0)
        numbers = [t for t in terms if t.is_Number]
        rest = [t for t in terms if not t.is_Number]
        return sympy.Add._from_args([*numbers, *sorted(rest, key=_canonical)], is_commutative=True)

    def _term(self, exponents: tuple[int, ...], c: Any) -> Any:
        coefficient = sympy.Rational(int(c.p), int(c.q))
        factors = [self._power(k, int(e)) for k, e in enumerate(exponents) if e]
        if not all(f.is_Symbol or f.is_Function or f.is_Pow for f in factors):
            return sympy.Mul(coefficient, *factors)
        factors.sort(key=self.order.__getitem__)
        if coefficient != 1 or not factors:
            factors.insert(0, coefficient)
        return sympy.Mul._from_args(factors, is_commutative=True) if len(factors) > 1 else factors[0]

    def _power(self, k: int, e: int) -> Any:
        if (k, e) not in self.powers:
            power = self.powers[k, e] = self.atom(k) ** e
            ranked = sorted([*self.order, power], key=_canonical)
            self.order = {f: rank for rank, f in enumerate(ranked)}
        return self.powers[k, e]


def time_functions(ring: Ring, time: str) -> dict[Any, Any]:
    """Return what the inputs' symbols are as functions of time: q1 is q1(t), qd1 its derivative."""
    t = sympy.Symbol(time)
    functions = {}
    for atom in ring.atoms:
        moving = in_time(atom) if atom.kind in ("symbol", "sin", "cos") else None
        if moving is not None:
            name, order = moving
            value = sympy.Function(name)(t)
            functions[sympy.Symbol(symbol_name(atom))] = value.diff(t, order) if order else value
    return functions


class TreeConverter:
    """Turns formula trees into SymPy, keeping their factors."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.atoms = Converter(alphabet.ring)

    def __call__(self, tree: Sum) -> Any:
        """Return a tree as SymPy."""
        return sympy.Add(*(self._product(p) for p in tree.products))

    def _product(self, p: Product) -> Any:
        factors = [self.letter(k) ** e for k, e in p.letters] + [self(inner) ** e for inner, e in p.sums]
        return sympy.Mul(sympy.Rational(int(p.coefficient.p), int(p.coefficient.q)), *factors)

    def letter(self, k: int) -> Any:
        """Return a letter as SymPy."""
        letter = self.alphabet.letters[k]
        if letter.atom is not None:
            return self.atoms.meaning_of(letter.atom)
        angle = sympy.Add(*(m * sympy.Symbol(symbol_name(self.alphabet.angle[a])) for a, m in letter.form))
        return FUNCTIONS[letter.kind](angle)


class TimedConverter(TreeConverter):
    """The same with coordinates as functions of time."""

    def __init__(self, alphabet: Alphabet, time: str) -> None:
        super().__init__(alphabet)
        self.functions = time_functions(alphabet.ring, time)

    def __call__(self, tree: Sum) -> Any:
        """Return a tree as SymPy."""
        return super().__call__(tree).xreplace(self.functions)
