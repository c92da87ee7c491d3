"""SymPy expressions and text as quotients of a ring's polynomials."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import sympy
from flint import fmpq

from taupi.errors import TaupiError
from taupi.program.explicit.names import symbol_name
from taupi.program.explicit.quotient import Quotient
from taupi.program.explicit.ring import Ring


def parsed(expression: Any, what: str, names: Iterable[str]) -> Any:
    """Return text or SymPy as SymPy, names that SymPy has a meaning of its own for (I, E, pi, S) read as symbols."""
    if isinstance(expression, sympy.Basic):
        return expression
    try:
        # A name such as forearm.m is not one that SymPy reads: it is put in afterwards.
        dotted = {n: f"_dotted_{k}_" for k, n in enumerate(sorted(names, key=len, reverse=True)) if "." in n}
        text = str(expression)
        for name, stand_in in dotted.items():
            text = text.replace(name, stand_in)
        plain = {n: sympy.Symbol(n) for n in names if n not in dotted}
        return sympy.sympify(text, locals=plain | {s: sympy.Symbol(n) for n, s in dotted.items()})
    except (sympy.SympifyError, TypeError, SyntaxError, AttributeError):
        raise TaupiError(f"{what} holds {expression!r}, which is not an expression.") from None


def quotient(ring: Ring, expression: Any, what: str, allowed: Iterable[str] | None = None) -> Quotient:
    """Return an expression as a quotient of the ring; `allowed` names the symbols that it may hold."""
    known = {symbol_name(a): k for k, a in enumerate(ring.atoms) if a.kind == "symbol"}
    turning = {symbol_name(ring.atoms[s]): (s, c) for s, c in ring.angles.values()}
    names = set(known) if allowed is None else set(allowed)

    def convert(x: Any) -> Quotient:
        if isinstance(x, sympy.Rational):
            return Quotient(ring.context.constant(fmpq(int(x.p), int(x.q))))
        if isinstance(x, sympy.Symbol) and x.name in known and x.name in names:
            return Quotient(ring.generators[known[x.name]])
        if isinstance(x, sympy.sin | sympy.cos) and str(x.args[0]) in turning:
            s, c = turning[str(x.args[0])]
            return Quotient(ring.generators[s if isinstance(x, sympy.sin) else c])
        if isinstance(x, sympy.Add):
            return reduce(ring.add, map(convert, x.args))
        if isinstance(x, sympy.Mul):
            return reduce(ring.multiply, map(convert, x.args))
        if isinstance(x, sympy.Pow) and x.exp.is_Integer:
            base = convert(x.base) if x.exp > 0 else ring.inverse(convert(x.base))
            return reduce(ring.multiply, [base] * abs(int(x.exp)))
        raise TaupiError(f"{what} holds {x}, expected sums, products and quotients of {', '.join(sorted(names))}.")

    return convert(parsed(expression, what, [*known, *turning]))
