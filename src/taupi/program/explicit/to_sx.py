"""Formulas back to programs: quotients of a ring as CasADi expressions, traced like any other function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import casadi as cs

from taupi.program.explicit.formula_tree import Collector, Product, Sum
from taupi.program.explicit.merged_angles import shortest, summed_angles
from taupi.program.explicit.monomials import Alphabet, Forms
from taupi.program.explicit.polynomial_quotient import Quotient
from taupi.program.explicit.polynomial_ring import Atom, Ring
from taupi.program.program import ColumnParameters, Constants, Port, Program, trace

_FUNCTIONS: dict[str, Callable[..., Any]] = {
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
