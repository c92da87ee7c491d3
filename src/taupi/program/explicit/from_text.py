"""Expressions, as text or SymPy, to quotients of a ring's polynomials. Text is parsed, never evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from flint import fmpq

from taupi.errors import TaupiError
from taupi.program.angles import Point, combined_point
from taupi.program.explicit.polynomial_ring import Quotient, ReplanError, Ring, symbol_name

if TYPE_CHECKING:
    import sympy

_LARGEST_POWER = 64
# No number of a formula has more digits before its decimal point, and powers of longer ones could take forever.
_LARGEST_NUMBER = 10**60


def quotient(ring: Ring, expression: str | sympy.Expr, what: str, allowed: Iterable[str] | None = None) -> Quotient:
    """Return an expression as a quotient of the ring's polynomials.

    It may hold numbers, symbols ("forearm.m" too), + - * / ** and sines and cosines of sums of angles. `allowed` names the
    symbols and angles that it may hold, all of the ring's by default. `what` names it in error messages.
    """
    text = str(expression)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise TaupiError("{what} holds {got!r}, which is not an expression.", what=what, got=text[:80]) from None
    try:
        return _Reader(ring, what, allowed)(tree.body)
    except ReplanError:
        raise TaupiError(
            "{what} holds {got!r}: division by a sine is not possible here.", what=what, got=text[:80]
        ) from None
    except RecursionError:
        raise TaupiError("{what} holds {got!r}..., which nests too deeply.", what=what, got=text[:80]) from None


class _Reader:
    """Reads the syntax tree of one expression."""

    def __init__(self, ring: Ring, what: str, allowed: Iterable[str] | None) -> None:
        self.ring, self.what = ring, what
        known = {symbol_name(a): k for k, a in enumerate(ring.atoms) if a.kind == "symbol"}
        angles = {symbol_name(ring.atoms[s]): (s, c) for s, c in ring.angles.values()}
        names = {*known, *angles} if allowed is None else set(allowed)
        self.symbols = {n: k for n, k in known.items() if n in names}
        self.angles = {n: places for n, places in angles.items() if n in names}
        self.names = sorted({*self.symbols, *self.angles})
        self.power = 1  # the power to which the surrounding expression raises the current one

    def __call__(self, node: ast.AST) -> Quotient:
        ring = self.ring
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                if not abs(number) <= _LARGEST_NUMBER:
                    raise TaupiError("{what} holds {got!r}, expected numbers below 1e60.", what=self.what, got=number)
                return Quotient(ring.constant(Fraction(str(number))))
            case ast.Name() | ast.Attribute() if (name := ast.unparse(node)) in self.symbols:
                return Quotient(ring.generators[self.symbols[name]])
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                value = self(inner)
                return Quotient(-value.numerator, value.denominator) if isinstance(sign, ast.USub) else value
            case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
                return ring.add(self(a), self(b), 1 if isinstance(op, ast.Add) else -1)
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                return ring.multiply(self(a), self(b))
            case ast.BinOp(left=a, op=ast.Div(), right=b):
                return ring.multiply(self(a), self._inverse(self(b), b))
            case ast.BinOp(left=base, op=ast.Pow(), right=power):
                return self._power(base, power)
            case ast.Call(func=ast.Name(id="sin" | "cos" as function), args=[angle], keywords=[]):
                return Quotient(self._point(angle)[function == "sin"])
        raise TaupiError(
            "{what} holds {got}, expected sums, products and quotients of {names:,}{which}",
            what=self.what,
            got=ast.unparse(node),
            names=self.names,
            which=", and sines and cosines of sums of angles." if self.angles else ".",
        )

    def _inverse(self, value: Quotient, node: ast.AST) -> Quotient:
        if value.numerator == 0:
            raise TaupiError("{what} divides by {unparse}, which is zero.", what=self.what, unparse=ast.unparse(node))
        return self.ring.inverse(value)

    def _power(self, base: ast.AST, power: ast.AST) -> Quotient:
        exponent = self(power)
        number = exponent.numerator.leading_coefficient() if exponent.numerator != 0 else fmpq(0)
        if (
            exponent.denominator
            or not exponent.numerator.is_constant()
            or number.q != 1
            or abs(number) > _LARGEST_POWER
        ):
            raise TaupiError(
                "{what} holds the power {unparse}, expected a whole number.", what=self.what, unparse=ast.unparse(power)
            )
        outer = self.power
        self.power = outer * max(1, abs(int(number.p)))
        if self.power > _LARGEST_POWER:
            raise TaupiError(
                "{what} holds powers of powers, beyond {largest_power} together.",
                what=self.what,
                largest_power=_LARGEST_POWER,
            )
        value = self(base)
        self.power = outer
        value = self._inverse(value, base) if number < 0 else value
        return reduce(self.ring.multiply, [value] * abs(int(number.p)), Quotient(self.ring.constant(1)))

    def _point(self, node: ast.AST) -> Point:
        """Return (cos, sin) of a sum of angles."""
        ring = self.ring
        match node:
            case ast.Name() | ast.Attribute() if (name := ast.unparse(node)) in self.angles:
                s, c = self.angles[name]
                return ring.generators[c], ring.generators[s]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return combined_point("neg", [self._point(inner)])
            case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
                c, s = combined_point("add" if isinstance(op, ast.Add) else "sub", [self._point(a), self._point(b)])
                return ring.reduced(c), ring.reduced(s)
            case ast.BinOp(left=ast.Constant(value=int() as count), op=ast.Mult(), right=b) if (
                0 < count <= _LARGEST_POWER
            ):
                return reduce(self._plus, [self._point(b)] * count)
        known = ", ".join(self.angles) or "angles: there are none"
        raise TaupiError(
            "{what} holds an angle {unparse}, expected sums of {known}.",
            what=self.what,
            unparse=ast.unparse(node),
            known=known,
        )

    def _plus(self, a: Point, b: Point) -> Point:
        c, s = combined_point("add", [a, b])
        return self.ring.reduced(c), self.ring.reduced(s)
