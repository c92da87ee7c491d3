"""The explicit interpreter: outputs as expanded polynomials in sines, cosines, velocities and symbols, in SymPy."""

from __future__ import annotations

from collections.abc import Callable

import sympy

from taupi.program.explicit.algebra_writers import checked_time
from taupi.program.explicit.conversions import Converter, time_functions
from taupi.program.explicit.expand import expand, symbolic_constants
from taupi.program.program import Port, Program


def build(program: Program, values: bool = False, time: str | None = None) -> Callable[[], sympy.Basic]:
    """Return a function without arguments that returns the outputs: a SymPy Matrix, an Array for three axes, or a scalar.

    With `values`, symbols that have a value are replaced by it; with `time`, coordinates are functions of it.
    """
    checked_time(time)

    def run() -> sympy.Basic:
        expansion = expand(program, symbolic_constants(program, values))
        convert = Converter(expansion.ring)
        name = checked_time(time, expansion.ring.atoms)
        functions = time_functions(expansion.ring, name) if name else {}
        results = tuple(
            shaped([convert(p).xreplace(functions) if functions else convert(p) for p in flat], port)
            for flat, port in zip(expansion.outputs, program.outputs, strict=True)
        )
        return results[0] if len(results) == 1 else results

    return run


def shaped(entries: list[sympy.Expr], port: Port) -> sympy.Basic:
    """Return a list of SymPy entries in the shape of an output."""
    if not port.shape:
        return entries[0]
    if len(port.shape) < 3:
        return sympy.Matrix(*(port.shape if len(port.shape) == 2 else (port.shape[0], 1)), entries)
    return sympy.Array(entries, port.shape)
