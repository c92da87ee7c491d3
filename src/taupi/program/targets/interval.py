"""The interval interpreter: the range of a program's outputs over a box of inputs, rounded outwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.program.ports import batch, in_order
from taupi.program.program import Port, Program
from taupi.program.tape import Instruction

Ends = np.ndarray | np.float64 | float
_Truth = Any  # of arrays or of two numbers: each takes & and |
Interval = tuple[Ends, Ends]  # (lo, hi): arrays over the boxes, or two numbers for a constant

# A sum, product, quotient or root of doubles is wrong by at most half an ulp, 2^-53 of the result; 2^-52 covers that and the
# rounding of the outward shift itself. Below the normal numbers the error is absolute.
EPS = 2.0**-52
TINY = 2.3e-308
# Functions of the C library and of NumPy are wrong by less than four ulps (two are usual), at either end.
LIBM = 8 * EPS
# The position of an angle within its period is known up to the rounding of x / (2 pi).
TURN = 4 * EPS
UNKNOWN = np.nan  # an end that is not known: NaN propagates, and becomes infinity in the result


def _out(lo: Ends, hi: Ends, by: float = EPS) -> Interval:
    return lo - (np.abs(lo) * by + TINY), hi + (np.abs(hi) * by + TINY)


def _hull(w: Ends, x: Ends, y: Ends, z: Ends) -> Interval:
    lo = np.minimum(np.minimum(w, x), np.minimum(y, z))
    return _out(lo, np.maximum(np.maximum(w, x), np.maximum(y, z)))


def _add(a: Interval, b: Interval) -> Interval:
    return _out(a[0] + b[0], a[1] + b[1])


def _sub(a: Interval, b: Interval) -> Interval:
    return _out(a[0] - b[1], a[1] - b[0])


def _neg(a: Interval) -> Interval:
    return -a[1], -a[0]


def _twice(a: Interval) -> Interval:
    return 2 * a[0], 2 * a[1]


def _mul(a: Interval, b: Interval) -> Interval:
    for x, y in ((a, b), (b, a)):
        if isinstance(x[0], float) and x[0] == x[1]:
            ends = x[0] * y[0], x[0] * y[1]
            return _out(*(ends if x[0] >= 0 else ends[::-1]))
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])


def _sq(a: Interval) -> Interval:
    lo, hi = np.square(a[0]), np.square(a[1])
    inside = (a[0] <= 0) & (a[1] >= 0)
    small, large = _out(np.where(inside, 0.0, np.minimum(lo, hi)), np.maximum(lo, hi))
    return np.maximum(small, 0.0), large


def _inv(a: Interval) -> Interval:
    pole = (a[0] <= 0) & (a[1] >= 0)
    lo, hi = _out(1 / a[1], 1 / a[0])
    return np.where(pole, -np.inf, lo), np.where(pole, np.inf, hi)


def _div(a: Interval, b: Interval) -> Interval:
    pole = (b[0] <= 0) & (b[1] >= 0)
    lo, hi = _hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1])
    return np.where(pole, -np.inf, lo), np.where(pole, np.inf, hi)


def _meets(a: Interval, point: float, period: float) -> Ends:
    """Return whether the interval may contain point + k period for some whole k."""
    lo, hi = (a[0] - point) / period, (a[1] - point) / period
    return np.ceil(lo - TURN * (1 + np.abs(lo))) <= np.floor(hi + TURN * (1 + np.abs(hi)))


def _wave(function: Callable[[Ends], Ends], top: float) -> Callable[[Interval], Interval]:
    """Return the interval version of sine or cosine: the values at the ends, unless a crest or trough is in between."""

    def apply(a: Interval) -> Interval:
        x, y = function(a[0]), function(a[1])
        lo, hi = _out(np.minimum(x, y), np.maximum(x, y), LIBM)
        lo = np.where(_meets(a, top + np.pi, 2 * np.pi), -1.0, np.maximum(lo, -1.0))
        return lo, np.where(_meets(a, top, 2 * np.pi), 1.0, np.minimum(hi, 1.0))

    return apply


def _tan(a: Interval) -> Interval:
    pole = _meets(a, np.pi / 2, np.pi)
    lo, hi = _out(np.tan(a[0]), np.tan(a[1]), LIBM)
    return np.where(pole, -np.inf, lo), np.where(pole, np.inf, hi)


def _rising(
    function: Callable[[Ends], Ends], domain: tuple[float, float] = (-np.inf, np.inf), ulps: float = LIBM
) -> Callable[[Interval], Interval]:
    """Return the interval version of an increasing function, applied to the part of the interval in its domain."""

    def apply(a: Interval) -> Interval:
        outside = (a[1] < domain[0]) | (a[0] > domain[1])
        lo, hi = _out(function(np.clip(a[0], *domain)), function(np.clip(a[1], *domain)), ulps)
        return np.where(outside, UNKNOWN, lo), np.where(outside, UNKNOWN, hi)

    return apply


def _nonnegative(inner: Callable[[Interval], Interval]) -> Callable[[Interval], Interval]:
    def apply(a: Interval) -> Interval:
        lo, hi = inner(a)
        return np.maximum(lo, 0.0), hi

    return apply


def _acos(a: Interval) -> Interval:
    lo, hi = _rising(lambda x: -np.arccos(x), (-1.0, 1.0))(a)
    return _neg((lo, hi))


def _fabs(a: Interval) -> Interval:
    lo, hi = np.abs(a[0]), np.abs(a[1])
    return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(lo, hi)), np.maximum(lo, hi)


def _sign(a: Interval) -> Interval:
    return np.sign(a[0]), np.sign(a[1])


def _pow(a: Interval, b: Interval) -> Interval:
    """Return a^b, which is monotone in both if a > 0; for any other a, the exponent must be a single whole number."""
    corners = [np.power(x, y) for x in a for y in b]
    lo, hi = _out(np.minimum.reduce(corners), np.maximum.reduce(corners), LIBM)
    natural = (b[0] == b[1]) & (np.floor(b[0]) == b[0]) & (b[0] >= 0)
    even = natural & (np.mod(b[0], 2) == 0)
    lo = np.where(even & (a[0] <= 0) & (a[1] >= 0), np.where(b[0] == 0, lo, 0.0), lo)
    known = (a[0] > 0) | natural
    return np.where(known, lo, UNKNOWN), np.where(known, hi, UNKNOWN)


def _atan2(y: Interval, x: Interval) -> Interval:
    """Return the range of the angles of the box's corners, or all angles if it meets the cut along the negative x axis."""
    corners = [np.arctan2(v, u) for v in y for u in x]
    lo, hi = _out(np.minimum.reduce(corners), np.maximum.reduce(corners), LIBM)
    cut = (x[0] <= 0) & (y[0] <= 0) & (y[1] >= 0)
    unknown = np.isnan(x[0] + x[1] + y[0] + y[1])
    half = np.pi * (1 + EPS)
    return np.where(cut & ~unknown, -half, lo), np.where(cut & ~unknown, half, hi)


# Truth values: (0, 0) is never, (1, 1) always, (0, 1) sometimes --------------------------------------------------------


def _truth(always: _Truth, never: _Truth) -> Interval:
    return np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0)


def _always(a: Interval) -> _Truth:
    return (a[0] > 0) | (a[1] < 0)


def _never(a: Interval) -> _Truth:
    return (a[0] == 0) & (a[1] == 0)


def _eq(a: Interval, b: Interval) -> Interval:
    same = (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])
    return _truth(same, (a[1] < b[0]) | (b[1] < a[0]))


def _if_else_zero(a: Interval, b: Interval) -> Interval:
    lo = np.where(_always(a), b[0], np.where(_never(a), 0.0, np.minimum(b[0], 0.0)))
    return lo, np.where(_always(a), b[1], np.where(_never(a), 0.0, np.maximum(b[1], 0.0)))


def _not(a: Interval) -> Interval:
    return _truth(_never(a), _always(a))


OPERATIONS: dict[str, Callable[..., Interval]] = {
    "neg": _neg,
    "sq": _sq,
    "twice": _twice,
    "inv": _inv,
    "sin": _wave(np.sin, np.pi / 2),
    "cos": _wave(np.cos, 0.0),
    "tan": _tan,
    "asin": _rising(np.arcsin, (-1.0, 1.0)),
    "acos": _acos,
    "atan": _rising(np.arctan),
    "exp": _nonnegative(_rising(np.exp)),
    "log": _rising(np.log, (0.0, np.inf)),
    "sqrt": _nonnegative(_rising(np.sqrt, (0.0, np.inf), EPS)),
    "tanh": _rising(np.tanh),
    "sign": _sign,
    "fabs": _fabs,
    "floor": lambda a: (np.floor(a[0]), np.floor(a[1])),
    "not": _not,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "constpow": _pow,
    "atan2": _atan2,
    "fmin": lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    "fmax": lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    "lt": lambda a, b: _truth(a[1] < b[0], a[0] >= b[1]),
    "le": lambda a, b: _truth(a[1] <= b[0], a[0] > b[1]),
    "eq": _eq,
    "ne": lambda a, b: _not(_eq(a, b)),
    "and": lambda a, b: _truth(_always(a) & _always(b), _never(a) | _never(b)),
    "or": lambda a, b: _truth(_always(a) | _always(b), _never(a) & _never(b)),
    "if_else_zero": _if_else_zero,
}


def build(program: Program) -> Callable[..., object]:
    """Return the program over boxes: each input is a pair (lo, hi) of arrays (..., *shape), and so is each output.

    Every value of the program for inputs in the box is between the two ends, whether computed exactly (with constants as
    doubles) or in doubles. An end is infinite if nothing better is known, as for a division by an interval around zero.
    """
    instructions, last = _instructions(program), program.tape.last_uses
    places = [program.nonzeros(k) for k in range(len(program.outputs))]

    def run(*args: object, **kwargs: object) -> object:
        lows, highs, shape = _boxes(program, args, kwargs)
        n = int(np.prod(shape, dtype=int))
        results = [(np.zeros((n, p.size)), np.zeros((n, p.size))) for p in program.outputs]
        registers: dict[int, Interval] = {}
        with np.errstate(all="ignore"):
            for k, i in enumerate(instructions):
                if i.op == "input":
                    registers[i.out] = lows[i.port][:, i.slot], highs[i.port][:, i.slot]
                elif i.op == "const":
                    registers[i.out] = float(i.value), float(i.value)
                elif i.op == "output":
                    for side, end, rest in zip(results[i.port], registers[i.args[0]], (-np.inf, np.inf), strict=True):
                        side[:, places[i.port][i.slot]] = np.where(np.isnan(end), rest, end)
                else:
                    registers[i.out] = OPERATIONS[i.op](*(registers[a] for a in i.args))
                for a in set(i.args):
                    if last[a] == k:  # otherwise long programs would fill the memory
                        del registers[a]
        shaped = tuple(
            tuple(side.reshape(shape + p.shape) for side in r) for r, p in zip(results, program.outputs, strict=True)
        )
        return shaped[0] if len(shaped) == 1 else shaped

    return run


def _instructions(program: Program) -> tuple[Instruction, ...]:
    """Return the instructions of a program; refuse operations that have no interval version."""
    instructions = program.tape.instructions
    missing = sorted({i.op for i in instructions} - OPERATIONS.keys() - {"input", "const", "output"})
    if missing:
        raise TaupiError(
            "{program} uses {missing:,}, which the interval target does not know.",
            program=program.name,
            missing=missing,
        )
    return instructions


def _boxes(
    program: Program, args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[list[np.ndarray], list[np.ndarray], tuple[int, ...]]:
    """Return the lower ends and the upper ends of all inputs, flat, and the batch shape."""
    values = in_order(program.name, program.inputs, args, kwargs)
    pairs = [_pair(port, value) for port, value in zip(program.inputs, values, strict=True)]
    doubled = [Port(f"{p.name} ({end})", p.shape, p.labels, p.per) for p in program.inputs for end in ("lo", "hi")]
    flat, shape = batch(program.name, doubled, [end for pair in pairs for end in pair], {})
    for port, lo, hi in zip(program.inputs, flat[::2], flat[1::2], strict=True):
        if not (lo <= hi).all():
            raise TaupiError(
                "{argument} has a lower end above its upper end (or NaN), expected lo <= hi everywhere.",
                argument=Argument(port.name),
            )
    return flat[::2], flat[1::2], shape


def _pair(port: Port, value: object) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TaupiError(
            "{argument} is {got!r}, expected a pair (lo, hi) of arrays: the ends of a box.",
            argument=Argument(port.name),
            got=value,
        )
    return value[0], value[1]
