"""Printed formulas compared exactly with a program's own: as quotients of polynomials, not by sampling."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from taupi.errors import TaupiError
from taupi.program.explicit.expand import expand, symbolic_constants
from taupi.program.explicit.from_text import quotient
from taupi.program.program import Program


def differing(program: Program, expressions: Sequence[object], spare: int = 32) -> list[int]:
    """Return the indices of a program's outputs, flat and row-major, that differ from `expressions`, text or SymPy.

    An empty list means that all are equal. `spare` is how many further variables the polynomials may need.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r")
    >>> differing(tp.gravity_torque(arm), ["(m1 + m2)*L1*g*cos(q1) + m2*g*L2*cos(q1 + q2)", "m2*g*L2*cos(q1)"])
    [1]
    """
    expansion = expand(program, symbolic_constants(program), spare=spare)
    ring = expansion.ring
    flat = [p for output in expansion.outputs for p in output]
    if len(flat) != len(expressions):
        raise TaupiError(
            "expressions has {got} entries, expected {expected}: one per output of {program}.",
            got=len(expressions),
            expected=len(flat),
            program=program.name,
        )
    wanted = [quotient(ring, e, "a formula") for e in expressions]
    return [k for k, (p, w) in enumerate(zip(flat, wanted, strict=True)) if ring.add(p, w, -1).numerator != 0]


def spelled(text: str, names: Mapping[str, str]) -> str:
    """Return a formula with its abbreviations written out: complete words that are in `names`.

    >>> spelled("b1*b10", {"b1": "(x + y)", "b10": "z"})
    '(x + y)*z'
    """
    return re.sub(r"\b[A-Za-z]\w*\b", lambda m: names.get(m[0], m[0]), text)


def readable(entries: Sequence[str]) -> str:
    """Return the nonzero entries of a matrix in readable notation.

    >>> readable(["0", "a1**2*qdd1"])
    'a1^2 qdd1'
    """
    acting = [e.replace("**", "^").replace("*", " ") for e in entries if e != "0"]
    return ", ".join(acting) if acting else "0"


def numeric(text: str, values: Mapping[str, object], functions: object = "numpy") -> Any:
    """Return the value of a formula with `values` for its names: numbers, arrays, or SX with CasADi's `functions`.

    >>> float(numeric("2*cos(q1)", {"q1": 0.0}))
    2.0
    """
    import sympy

    names = {name: sympy.Symbol(name) for name in values}
    expression = sympy.sympify(text, names)
    used = sorted(str(s) for s in expression.free_symbols)
    return sympy.lambdify(used, expression, functions)(*(values[n] for n in used))
