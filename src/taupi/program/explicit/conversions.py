"""Formulas to SymPy expressions, and back to programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cmp_to_key

import casadi as cs
import sympy
from flint import fmpq, fmpq_mpoly

from taupi.program.explicit.algebra_writers import in_time
from taupi.program.explicit.formula_tree import Collector, Product, Sum
from taupi.program.explicit.polynomial_ring import Atom, Quotient, Ring, symbol_name
from taupi.program.explicit.trigonometric_forms import Alphabet, Forms, shortest, summed_angles
from taupi.program.program import ColumnParameters, Constants, Port, Program, trace

FUNCTIONS: dict[str, Callable[..., sympy.Expr]] = {
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
        self.meaning: dict[int, object] = {}
        self.powers: dict[tuple[int, int], object] = {}
        self.order: dict[object, int] = {}  # the rank of each power in SymPy's own order

    def atom(self, k: int) -> sympy.Expr:
        """Return what a generator stands for."""
        if k not in self.meaning:
            self.meaning[k] = self.meaning_of(self.ring.atoms[k])
        return self.meaning[k]

    def meaning_of(self, atom: Atom) -> sympy.Expr:
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

    def __call__(self, a: Quotient) -> sympy.Expr:
        """Return a quotient as SymPy."""
        above = self.sum(a.numerator)
        return (
            above / sympy.Mul(*(self.sum(self.ring.factors[k]) ** e for k, e in a.denominator))
            if a.denominator
            else above
        )

    def sum(self, p: fmpq_mpoly) -> sympy.Expr:
        """Return a polynomial as a SymPy sum in canonical form, built directly, without SymPy's search for like terms."""
        terms = [self._term(exponents, c) for exponents, c in zip(p.monoms(), p.coeffs(), strict=True)]
        if len(terms) < 2:
            return terms[0] if terms else sympy.Integer(0)
        numbers = [t for t in terms if t.is_Number]
        rest = [t for t in terms if not t.is_Number]
        return sympy.Add._from_args([*numbers, *sorted(rest, key=_canonical)], is_commutative=True)

    def _term(self, exponents: tuple[int, ...], c: fmpq) -> sympy.Expr:
        coefficient = sympy.Rational(int(c.p), int(c.q))
        factors = [self._power(k, int(e)) for k, e in enumerate(exponents) if e]
        if not all(f.is_Symbol or f.is_Function or f.is_Pow for f in factors):
            return sympy.Mul(coefficient, *factors)
        factors.sort(key=self.order.__getitem__)
        if coefficient != 1 or not factors:
            factors.insert(0, coefficient)
        return sympy.Mul._from_args(factors, is_commutative=True) if len(factors) > 1 else factors[0]

    def _power(self, k: int, e: int) -> sympy.Expr:
        if (k, e) not in self.powers:
            power = self.powers[k, e] = self.atom(k) ** e
            ranked = sorted([*self.order, power], key=_canonical)
            self.order = {f: rank for rank, f in enumerate(ranked)}
        return self.powers[k, e]


def time_functions(ring: Ring, time: str) -> dict[sympy.Symbol, sympy.Expr]:
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

    def __call__(self, tree: Sum) -> sympy.Expr:
        """Return a tree as SymPy."""
        return sympy.Add(*(self._product(p) for p in tree.products))

    def _product(self, p: Product) -> sympy.Expr:
        factors = [self.letter(k) ** e for k, e in p.letters] + [self(inner) ** e for inner, e in p.sums]
        return sympy.Mul(sympy.Rational(int(p.coefficient.p), int(p.coefficient.q)), *factors)

    def letter(self, k: int) -> sympy.Expr:
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

    def __call__(self, tree: Sum) -> sympy.Expr:
        """Return a tree as SymPy."""
        return super().__call__(tree).xreplace(self.functions)


_FUNCTIONS: dict[str, Callable[..., sympy.Expr]] = {
    "fabs": cs.fabs,
    "floor": cs.floor,
    "sign": cs.sign,
    "not": cs.logic_not,
    "pow": lambda a, b: a**b,
    "constpow": lambda a, b: a**b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": cs.logic_and,
    "or": cs.logic_or,
    "if_else_zero": lambda a, b: cs.if_else(a, b, 0),
    **{
        name: getattr(cs, name)
        for name in ("tan", "asin", "acos", "atan", "exp", "log", "sqrt", "tanh", "atan2", "sin")
    },
    **{name: getattr(cs, name) for name in ("cos", "fmin", "fmax")},
}


def program_of(
    ring: Ring,
    name: str,
    outputs: Sequence[tuple[Port, Sequence[Quotient]]],
    parameters: ColumnParameters = None,
) -> Program:
    """Return the program that computes quotients of a ring from the inputs of the ring's own program.

    `outputs` are ports, each with its entries in row-major order.
    """
    constants = Constants()

    def body(*inputs: cs.SX) -> tuple[cs.SX, ...]:
        columns = [cs.vec(x.T) if x.shape[1] > 1 else x for x in inputs]
        build = _Builder(ring, columns, constants)
        flat = [a for _, quotients in outputs for a in quotients]
        steps, forms = summed_angles(ring, [a.numerator for a in flat])
        values = iter([build.quotient(a, steps, forms) for a in flat])
        return tuple(cs.vertcat(*[next(values) for _ in range(port.size)]) for port, _ in outputs)

    program = trace(name, body, ring.program.inputs, [port for port, _ in outputs], constants, parameters)
    return dataclasses.replace(program, guard=ring.program.guard)


class _Builder:
    """Builds SX from trees over one alphabet."""

    def __init__(self, ring: Ring, columns: Sequence[cs.SX], constants: Constants) -> None:
        self.ring, self.columns, self.constants = ring, columns, constants
        self.alphabet = Alphabet(ring)
        self.collect = Collector(self.alphabet)
        self.table = {c.name: c for c in ring.program.constants}
        self.known: dict[int, cs.SX] = {}  # letters that have been built

    def __call__(self, tree: Sum) -> cs.SX:
        total = cs.SX(0)
        for p in tree.products:
            total = total + self._product(p)
        return total

    def quotient(self, a: Quotient, steps: Sequence[tuple[int, int, int]] = (), forms: Forms | None = None) -> cs.SX:
        """Return the SX of a quotient."""
        return self(self.collect.quotient(shortest(self.alphabet, a.numerator, steps, forms), a.denominator))

    def _product(self, p: Product) -> cs.SX:
        value = Fraction(int(p.coefficient.p), int(p.coefficient.q))
        result = self.constants(f"number {value}", value)
        for k, e in p.letters:
            result = result * self._letter(k) ** e
        for inner, e in p.sums:
            result = result * self(inner) ** e
        return result

    def _letter(self, k: int) -> cs.SX:
        if k not in self.known:
            letter = self.alphabet.letters[k]
            if letter.atom is not None:
                self.known[k] = self._atom(letter.atom)
            else:
                angle = sum((m * self._symbol(self.alphabet.angle[a]) for a, m in letter.form), cs.SX(0))
                self.known[k] = _FUNCTIONS[letter.kind](angle)
        return self.known[k]

    def _atom(self, atom: Atom) -> cs.SX:
        if atom.kind == "symbol":
            return self._symbol(atom)
        arguments = [self.quotient(a) for a in atom.args]
        return 1 / arguments[0] if atom.kind == "inverse" else _FUNCTIONS[atom.op](*arguments)

    def _symbol(self, atom: Atom) -> cs.SX:
        if not atom.rank:
            constant = self.table[atom.name]
            return self.constants(constant.name, constant.value, constant.named)
        port = self.ring.program.inputs[atom.rank - 1]
        place = 0
        for size, index in zip(port.shape, atom.index, strict=True):
            place = place * size + index - 1
        return self.columns[atom.rank - 1][place]
