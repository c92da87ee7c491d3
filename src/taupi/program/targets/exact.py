"""The exact interpreter: rational arithmetic, with every angle a rational point on the unit circle.

In exact arithmetic an angle is stated by the tangent of its half: if a program takes the sine or cosine of an input x, the number
passed for x is t = tan(x/2), and cos x = (1 - t^2)/(1 + t^2), sin x = 2t/(1 + t^2). If the program also uses x itself, as a
spring does, its value is the double nearest to 2 atan(t): the only rounded number here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from taupi.errors import Argument, NotRationalError, TaupiError
from taupi.program.angles import Point, angular_registers, combined_point
from taupi.program.program import Program

# pi / 2 to 40 digits, so that subtracting quarter turns from an angle loses nothing.
_QUARTER = Fraction("1.5707963267948966192313216916397514420985")
OPERATIONS: dict[str, Callable[..., object]] = {
    "neg": lambda a: -a,
    "sq": lambda a: a * a,
    "twice": lambda a: a + a,
    "inv": lambda a: 1 / a,
    "sign": lambda a: fmpq((a > 0) - (a < 0)),
    "fabs": abs,
    "floor": lambda a: fmpq(a.p // a.q),
    "not": lambda a: fmpq(int(a == 0)),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fmin": min,
    "fmax": max,
    "lt": lambda a, b: fmpq(int(a < b)),
    "le": lambda a, b: fmpq(int(a <= b)),
    "eq": lambda a, b: fmpq(int(a == b)),
    "ne": lambda a, b: fmpq(int(a != b)),
    "if_else_zero": lambda a, b: b if a != 0 else fmpq(0),
}


def rational(x: Any) -> fmpq:
    """Return a number as a flint rational; a float as the binary fraction that it is."""
    if isinstance(x, fmpq):
        return x
    value = Fraction(x)
    return fmpq(value.numerator, value.denominator)


def circle(t: fmpq) -> Point:
    """Return (cos x, sin x) for t = tan(x/2)."""
    square = t * t
    return (1 - square) / (1 + square), 2 * t / (1 + square)


def _angle(t: fmpq) -> fmpq:
    """Return x = 2 atan(t) as a double."""
    return rational(2 * math.atan(float(Fraction(int(t.p), int(t.q)))))


def build(program: Program) -> Callable[..., object]:
    """Return the program over rationals: one sample per call, inputs as nested sequences, outputs as arrays of `fmpq`."""
    if program.symbols:
        raise TaupiError(
            "{program} has symbols without a value: {symbols:,}.",
            remedy="Use .bind(...) first.",
            program=program.name,
            symbols=program.symbols,
        )
    tape = program.exact_tape
    angular = angular_registers(tape)
    places = [program.nonzeros(k, exact=True) for k in range(len(program.outputs))]
    constants = [rational(c.value) for c in program.constants]
    last = len(program.inputs)

    def run(*args: object) -> Any:
        inputs = [_flat(program, k, a) for k, a in enumerate(_all(program, args))]
        results = [np.full(p.size, fmpq(0), dtype=object) for p in program.outputs]
        value: dict[int, object] = {}
        point: dict[int, Point] = {}
        for i in tape.instructions:
            if i.op == "input":
                value[i.out] = constants[i.slot] if i.port == last else inputs[i.port][i.slot]
                if i.out in angular and i.port == last:
                    angle = constants[i.slot]
                    point[i.out] = nearest_point(Fraction(int(angle.p), int(angle.q)))
                elif i.out in angular:
                    point[i.out], value[i.out] = circle(value[i.out]), _angle(value[i.out])
            elif i.op == "const":
                value[i.out] = rational(i.value)
                if i.out in angular and not i.value:
                    point[i.out] = (fmpq(1), fmpq(0))
            elif i.op == "output":
                results[i.port][places[i.port][i.slot]] = value[i.args[0]]
            elif i.op in ("sin", "cos"):
                if i.args[0] not in point:
                    raise NotRationalError(
                        "{program} takes the {op} of something other than a sum of angles, which is not rational.",
                        program=program.name,
                        op=i.op,
                    )
                value[i.out] = point[i.args[0]][i.op == "sin"]
            else:
                value[i.out] = _apply(program, i.op, [value[a] for a in i.args])
                if i.out in angular and all(a in point for a in i.args):
                    point[i.out] = combined_point(i.op, [point[a] for a in i.args])
        shaped = tuple(r.reshape(p.shape) for r, p in zip(results, program.outputs, strict=True))
        return shaped[0] if len(shaped) == 1 else shaped

    return run


def _apply(program: Program, op: str, arguments: list[object]) -> object:
    if op not in OPERATIONS:
        raise NotRationalError(
            "{program} uses {op}, whose values are not rational: exact arithmetic cannot evaluate it.",
            program=program.name,
            op=op,
        )
    try:
        return OPERATIONS[op](*arguments)
    except ZeroDivisionError:
        raise TaupiError("{program} divides by zero at this point.", program=program.name) from None


def nearest_point(angle: Fraction) -> Point:
    """Return a rational circle point within 1e-18 of a constant angle (rad); quarter turns are exact."""
    quarters = round(angle / _QUARTER)
    rest = float(angle - quarters * _QUARTER)
    c, s = circle(rational(Fraction(math.tan(rest / 2)).limit_denominator(2**30)))
    for _ in range(quarters % 4):
        c, s = -s, c
    return c, s


def _all(program: Program, args: Sequence[object]) -> Sequence[object]:
    if len(args) != len(program.inputs):
        names = ", ".join(p.name for p in program.inputs)
        raise TaupiError(
            "{program} takes {count} arguments ({names}), got {args_count}.",
            program=program.name,
            count=len(program.inputs),
            names=names,
            args_count=len(args),
        )
    return args


def _flat(program: Program, k: int, values: object) -> list[fmpq]:
    port = program.inputs[k]
    array = np.array(values, dtype=object)
    if array.shape != port.shape:
        raise TaupiError(
            "{argument} has shape {got}, expected {expected}: exact arithmetic takes one sample per call.",
            argument=Argument(port.name),
            got=array.shape,
            expected=port.shape,
        )
    return [rational(v) for v in array.ravel()]
