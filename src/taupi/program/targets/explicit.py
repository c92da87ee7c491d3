"""The explicit interpreter: expanded multivariate polynomials in sines, cosines, velocities and symbols.

Registers are `fmpq_mpoly`, so that expansion is fast and canonical; sin^2 x is reduced to 1 - cos^2 x after every product.
A function that is not polynomial (sgn, exp, a quotient) becomes a variable of its own, written out in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from taupi.program.angles import Point, angular_registers, turned
from taupi.program.program import Port, Program
from taupi.program.tape import Instruction, Tape

_POLYNOMIAL = ("neg", "sq", "twice", "add", "sub", "mul")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
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
    "inv": lambda a: 1 / a,
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


def build(program: Program, values: bool = False) -> Callable[[], Any]:
    """Return a function of nothing that gives the outputs as SymPy: a Matrix, an Array for three axes, or a scalar."""

    def run() -> Any:
        polynomials, ring = expand(program, values)
        shaped = tuple(
            _shaped([ring.sympy(p) for p in flat], port)
            for flat, port in zip(polynomials, program.outputs, strict=True)
        )
        return shaped[0] if len(shaped) == 1 else shaped

    return run


class Ring:
    """The polynomial ring of a program: its variables, what each stands for, and the relations of its circle points."""

    def __init__(self, program: Program, tape: Tape, values: bool) -> None:
        angular = angular_registers(tape)
        self.program, self.values = program, values
        self.meaning: list[Any] = []
        place: dict[tuple[str, int], int] = {}

        def variable(key: tuple[str, int], meaning: Any) -> None:
            place[key] = len(self.meaning)
            self.meaning.append(meaning)

        loads = [i for i in tape.instructions if i.op == "input" and not self.is_number(i)]
        # Sines first: in lexicographic order sin^2 then leads sin^2 + cos^2 - 1 and is what the division removes.
        for op in (sympy.sin, sympy.cos):
            for i in loads:
                if i.out in angular:
                    variable((op.__name__, i.out), op(self.symbol(i)))
        for i in loads:
            variable(("input", i.out), self.symbol(i))
        for i in tape.instructions:
            if i.op not in (*_POLYNOMIAL, "input", "output", "const"):
                variable(("opaque", i.out), None)
        self.context = fmpq_mpoly_ctx.get([f"x{k}" for k in range(len(self.meaning))], Ordering.lex)
        generators = self.context.gens()
        self.generator = {key: generators[k] for key, k in place.items()}
        self.place = place
        self.circles = [
            (place["sin", i.out], self.generator["sin", i.out] ** 2 + self.generator["cos", i.out] ** 2 - 1)
            for i in loads
            if i.out in angular
        ]

    def is_number(self, load: Instruction) -> bool:
        """Tell whether an input instruction loads a constant that enters as its exact number."""
        if load.port < len(self.program.inputs):
            return False
        constant = self.program.constants[load.slot]
        return constant.value is not None and (self.values or not constant.named)

    def symbol(self, load: Instruction) -> Any:
        """Return the SymPy symbol of an input: q1, q2, ... for a vector, the name itself for a scalar or constant."""
        if load.port == len(self.program.inputs):
            return sympy.Symbol(self.program.constants[load.slot].name)
        port = self.program.inputs[load.port]
        if not port.shape:
            return sympy.Symbol(port.name)
        place = "_".join(str(k + 1) for k in np.unravel_index(load.slot, port.shape))
        return sympy.Symbol(f"{port.name}{place}")

    def constant(self, value: Fraction | float) -> fmpq_mpoly:
        """Return a number as a polynomial."""
        exact = Fraction(value)
        return self.context.constant(fmpq(exact.numerator, exact.denominator))

    def reduced(self, p: fmpq_mpoly) -> fmpq_mpoly:
        """Return p with every sin^2 replaced by 1 - cos^2."""
        degrees = p.degrees()
        for k, relation in self.circles:
            if degrees[k] > 1:
                p = divmod(p, relation)[1]
        return p

    def sympy(self, p: fmpq_mpoly) -> Any:
        """Return a polynomial as a SymPy sum."""
        terms = []
        for exponents, c in p.to_dict().items():
            factors = [self.meaning[k] ** int(e) for k, e in enumerate(exponents) if e]
            terms.append(sympy.Mul(sympy.Rational(int(c.p), int(c.q)), *factors))
        return sympy.Add(*terms)


def expand(program: Program, values: bool = False) -> tuple[list[list[fmpq_mpoly]], Ring]:
    """Return every output, flat and row-major, as reduced polynomials, and the ring they live in."""
    tape = program.exact_tape
    ring = Ring(program, tape, values)
    zero = ring.constant(0)
    outputs = [[zero] * p.size for p in program.outputs]
    places = [program.nonzeros(k, exact=True) for k in range(len(program.outputs))]
    value: dict[int, fmpq_mpoly] = {}
    point: dict[int, Point] = {}
    for i in tape.instructions:
        arguments = [value[a] for a in i.args]
        if i.op == "input":
            value[i.out] = _load(ring, i)
            if ("sin", i.out) in ring.generator:
                point[i.out] = (ring.generator["cos", i.out], ring.generator["sin", i.out])
        elif i.op == "const":
            value[i.out] = ring.constant(i.value)
        elif i.op == "output":
            outputs[i.port][places[i.port][i.slot]] = arguments[0]
        elif i.op in ("sin", "cos") and i.args[0] in point:
            value[i.out] = point[i.args[0]][i.op == "sin"]
        else:
            value[i.out] = _apply(ring, i, arguments)
            if i.op in ("add", "sub", "neg", "twice") and all(a in point for a in i.args):
                c, s = turned(i.op, [point[a] for a in i.args])
                point[i.out] = (ring.reduced(c), ring.reduced(s))
    return outputs, ring


def _load(ring: Ring, i: Instruction) -> fmpq_mpoly:
    if ring.is_number(i):
        return ring.constant(ring.program.constants[i.slot].value)  # type: ignore[arg-type]
    return ring.generator["input", i.out]


def _apply(ring: Ring, i: Instruction, arguments: list[fmpq_mpoly]) -> fmpq_mpoly:
    a = arguments[0]
    b = arguments[-1]
    match i.op:
        case "neg":
            return -a
        case "twice":
            return a + a
        case "add":
            return a + b
        case "sub":
            return a - b
        case "sq" | "mul":
            return ring.reduced(a * b)
        case "div" if b.is_constant() and b != 0:
            return a * (1 / b.leading_coefficient())
        case "div":
            return ring.reduced(a * _opaque(ring, i, "inv", [b]))
    return _opaque(ring, i, i.op, arguments)


def _opaque(ring: Ring, i: Instruction, op: str, arguments: list[fmpq_mpoly]) -> fmpq_mpoly:
    ring.meaning[ring.place["opaque", i.out]] = _FUNCTIONS[op](*(ring.sympy(p) for p in arguments))
    return ring.generator["opaque", i.out]


def _shaped(entries: list[Any], port: Port) -> Any:
    if not port.shape:
        return entries[0]
    if len(port.shape) < 3:
        return sympy.Matrix(*(port.shape if len(port.shape) == 2 else (port.shape[0], 1)), entries)
    return sympy.Array(entries, port.shape)
