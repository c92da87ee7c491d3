"""Exact scalars: rational numbers, as exact as the file that states them, and symbols.

A number of a description is kept as the decimal that was written (0.4318 is 4318/10000, not its nearest double), and an
angle as a rational point on the unit circle, so that a rotation built from it is exactly orthogonal. Both affect what
exact arithmetic finds to be identifiable. A symbol is a SymPy expression; SymPy is imported only when one occurs.
"""

from __future__ import annotations

import ast
import math
import numbers
import operator
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from taupi.errors import Part, TaupiError, shown

if TYPE_CHECKING:
    import numpy as np
    import sympy

# What is kept.
Scalar: TypeAlias = Any  # Fraction | sympy.Expr
Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
# What people write: numbers, and symbols or formulas as strings ("l1/2").
ScalarLike: TypeAlias = "str | int | float | Decimal | Fraction | sympy.Expr"
VectorLike: TypeAlias = "Sequence[ScalarLike] | np.ndarray"

# pi to 50 digits, so that subtracting a multiple of a quarter turn from a decimal angle loses nothing.
_HALF_PI = Fraction("3.14159265358979323846264338327950288419716939937510") / 2
# The reciprocal of how far tan(r/2) may move to become a short fraction: less than a double of it resolves.
_SHORT = 10**17
# Angles closer than this (rad) to a multiple of 90 degrees are snapped to it, and so are multiples rounded as printed.
SNAP_ANGLE = 1e-5
# Snapping by more than this changes torques by more than most users would accept without a warning.
SUSPECT_ANGLE = 1e-4
# Snapping by more than this (rad) is reported; smaller corrections are the rounding of files with ten or more digits.
REPORTED_ANGLE = 1e-9
# Lengths below this many metres are noise of the program that exported the file.
SNAP_LENGTH = 1e-9
# No quantity of a robot is larger; a product of three such numbers is still a finite double.
LARGEST = 1e60
_ROUNDED_AT_MOST = 2e-3  # rad: 3.14 is taken for pi, 3.1 is not
# No number of a robot has more bits than this, and raising one to a power could take forever.
_MAX_BASE_BITS = 1000
# Nor do its formulas raise anything to a power beyond this.
_MAX_DEGREE = 256
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_RATIO = re.compile(r"([+-]?\d{1,4000})/(\d{1,4000})\Z", re.ASCII)
_QUARTERS = re.compile(r"([+-]?)(?:(\d{1,6})\s*\*\s*)?pi(?:\s*/\s*([12]))?\Z", re.ASCII)


def is_symbolic(x: Scalar) -> bool:
    """Return whether a scalar holds symbols."""
    return not isinstance(x, Fraction)


def is_number(text: str) -> bool:
    """Return whether a text is a decimal number, such as `-1.5e-3`."""
    return _NUMBER.match(text) is not None


def short_fraction(x: float) -> Fraction:
    """Return the first convergent of x's continued fraction within 1e-17 of x: a rational with few digits."""
    target = Fraction(x)
    n, d = target.numerator, target.denominator
    p0, q0, p, q = 0, 1, 1, 0
    while d:
        digit = n // d
        p0, q0, p, q = p, q, digit * p + p0, digit * q + q0
        if abs(p * target.denominator - target.numerator * q) * _SHORT <= q * target.denominator:
            break
        n, d = d, n - digit * d
    return Fraction(p, q)


def exact(x: ScalarLike, what: Part = "value") -> Scalar:
    """Return `x` as an exact scalar: a Fraction, or a SymPy expression if it holds symbols.

    A float is read as the shortest decimal that prints it, so that `exact(0.4318) == Fraction(4318, 10000)`. `what` names the
    value in error messages.
    """
    if isinstance(x, Fraction):
        return _sized(x, what)
    if getattr(x, "shape", None) == () and hasattr(x, "item"):  # NumPy's scalars, without importing it
        x = x.item()
    if isinstance(x, str):
        return _from_text(x.strip(), what)
    if isinstance(x, bool):
        raise TaupiError("{what} is {got!r}, expected a number or a symbol.", what=what, got=x)
    if isinstance(x, numbers.Integral):
        return _sized(Fraction(int(x)), what)
    if isinstance(x, numbers.Real | Decimal):
        value = float(x)
        if not math.isfinite(value):
            raise TaupiError("{what} is {got}, expected a finite number.", what=what, got=value)
        return _sized(Fraction(repr(value)), what)
    if hasattr(x, "free_symbols"):  # SymPy, without importing it
        return _sized(_simplest(x), what)
    raise TaupiError("{what} is {got!r}, expected a number or a symbol (a string such as 'l1').", what=what, got=x)


def _sized(x: Scalar, what: Part) -> Scalar:
    if isinstance(x, Fraction) and abs(x) > LARGEST:
        raise TaupiError(
            "{what} is {got}, expected a number below {largest:g}.", what=what, got=_printed(x), largest=LARGEST
        )
    return x


def _printed(x: Fraction) -> str:
    digits = (abs(x.numerator) // x.denominator).bit_length() * 0.30103
    return shown(str(x)) if digits < 300 else f"a number of about {digits:.0f} digits"


def items_of(values: object) -> list[Any] | None:
    """Return the items of a list, an array or an iterator, in order; None for anything that has no items, or no order."""
    if isinstance(values, str | bytes | Mapping | Set) or getattr(values, "shape", None) == ():
        return None
    return list(values) if isinstance(values, Iterable) else None


def exact_vector(values: VectorLike, what: Part, length: int = 3) -> tuple[Scalar, ...]:
    """Return a sequence of `length` numbers or symbols as exact scalars; `what` names it in error messages."""
    items = items_of(values)
    if items is None or len(items) != length:
        raise TaupiError("{what} is {got!r}, expected {length} numbers.", what=what, got=values, length=length)
    return tuple(exact(v, what) for v in items)


def to_float(x: Scalar, what: Part = "value", values: Mapping[str, Fraction | None] | None = None) -> float:
    """Return the double nearest to an exact scalar, with `values` for its symbols; a symbol without a value is an error."""
    if is_symbolic(x):
        known = {s: float(v) for s in x.free_symbols if (v := (values or {}).get(s.name)) is not None}
        if len(known) == len(x.free_symbols):
            return float(x.subs(known))
        names = ", ".join(sorted(s.name for s in x.free_symbols))
        first = names.split(",")[0]
        raise TaupiError(
            "{what} is the expression {x}: give {names} a value first, with robot.bind({first}=...).",
            what=what,
            x=x,
            names=names,
            first=first,
        )
    return float(x)


def with_values(x: Scalar, values: Mapping[str, Fraction | None]) -> Scalar:
    """Return a scalar with numbers for its symbols; it stays an expression if one of its symbols has no value."""
    if not is_symbolic(x):
        return x
    import sympy

    known = {name: sympy.Rational(v.numerator, v.denominator) for name, v in values.items() if v is not None}
    return _simplest(x.subs(known))


def _from_text(text: str, what: Part) -> Scalar:
    if _NUMBER.match(text):
        value = float(text)
        if not math.isfinite(value) or len(text) > 400:
            raise TaupiError("{what} is {got!r}, expected a finite number.", what=what, got=text[:40])
        return _sized(Fraction(Decimal(text)), what) if value else Fraction(0)  # 1e-999999 is zero, no huge denominator
    if (ratio := _RATIO.match(text)) and int(ratio[2]):
        return _sized(Fraction(int(ratio[1]), int(ratio[2])), what)
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise TaupiError("{what} is {got!r}, expected a finite number.", what=what, got=text)
    return parse_expression(text, what)


def _simplest(expression: sympy.Expr) -> Scalar:
    if getattr(expression, "is_Rational", False):
        return Fraction(int(expression.p), int(expression.q))
    if getattr(expression, "is_Float", False):
        return Fraction(repr(float(expression)))
    if not expression.free_symbols:  # pi/3, sqrt(2): rational to 40 digits
        value = expression.evalf(40)
        if not value.is_Float or abs(value) > LARGEST:
            raise TaupiError(
                "{expression!r} is not a real number below {largest:g}.", expression=str(expression), largest=LARGEST
            )
        return Fraction(str(value)) if float(value) else Fraction(0)
    return expression


_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _power(base: sympy.Expr, power: sympy.Expr) -> sympy.Expr:
    if not power.is_Rational or abs(power) > 16 or power.q > 16:
        raise SyntaxError  # 9**9**9 would take forever
    if abs(power) * _degree(base) > _MAX_DEGREE:
        raise SyntaxError  # so would (((2*x)**16)**16)**16
    if base.is_Rational and max(abs(base.p), base.q).bit_length() > _MAX_BASE_BITS:
        raise SyntaxError  # and so would ((9**16)**16)**16 ...
    return base**power


def _degree(expression: sympy.Expr) -> Any:
    """Return a bound on the powers to which an expression raises what it is made of."""
    if expression.is_Pow and expression.exp.is_Rational:
        return max(1, abs(expression.exp)) * _degree(expression.base)
    inner = [_degree(a) for a in expression.args]
    return max(1, sum(inner) if expression.is_Mul else max(inner, default=1))


def parse_expression(text: str, what: Part = "value") -> Scalar:
    """Return the value of a formula of names, numbers, `pi`, + - * / **, sin, cos and sqrt, without running any code."""
    import sympy

    functions = {"sin": sympy.sin, "cos": sympy.cos, "sqrt": sympy.sqrt}

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body=body):
                return walk(body)
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                number = exact(value, what)
                return sympy.Rational(number.numerator, number.denominator)
            case ast.Name(id="pi"):
                return sympy.pi
            case ast.Name(id=name):
                return sympy.Symbol(name)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(operand))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(walk(left), walk(right))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(left), walk(right))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in functions:
                return functions[name](walk(argument))
        raise SyntaxError

    try:
        if len(text) > 400:
            raise SyntaxError
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "0if" is only a warning to Python, but no formula
            tree = ast.parse(text, mode="eval")
        result = walk(tree)
    except (SyntaxError, Warning, ValueError, RecursionError, MemoryError, TypeError):
        raise TaupiError(
            "{what} is {got!r}, expected a number or a formula of names, numbers, + - * / ** sin cos sqrt.",
            what=what,
            got=text[:40],
        ) from None
    if result.is_finite is False or result.is_real is False or result.has(sympy.zoo, sympy.oo, sympy.nan, sympy.I):
        raise TaupiError("{what} is {got!r}, which is not a finite number.", what=what, got=text[:40])
    return _sized(_simplest(result), what)


def printed_unit(x: ScalarLike) -> Fraction:
    """Return one unit in the last printed decimal: 1/10000 for 1.5708, and 0 for an exact or symbolic value."""
    if isinstance(x, str):
        text = x.strip()
    elif isinstance(x, numbers.Real) and not isinstance(x, Fraction | numbers.Integral):
        text = repr(float(x))
    else:
        return Fraction(0)
    if not _NUMBER.match(text) or not math.isfinite(float(text)):
        return Fraction(0)
    exponent = Decimal(text).as_tuple().exponent
    return Fraction(10) ** exponent if isinstance(exponent, int) and -60 < exponent < 1 else Fraction(0)


def circle_point(angle: ScalarLike, snap: bool = True, what: Part = "angle") -> tuple[Scalar, Scalar, float]:
    """Return exact (cos, sin) of an angle (rad), with cos^2 + sin^2 = 1 exactly, and by how much the angle was snapped.

    With `snap`, an angle within 1e-5 rad of a multiple of 90 degrees becomes that multiple, and so does one that is the
    multiple rounded or truncated at the last printed digit (1.571, 1.5707, 3.14). Any other angle, r beyond the nearest
    multiple, becomes the rational point ((1 - t^2)/(1 + t^2), 2t/(1 + t^2)) with t within 1e-17 of the double of tan(r/2).
    """
    if isinstance(angle, str) and (turn := _QUARTERS.match(angle.strip())):
        quarters = int(turn[1] + (turn[2] or "1")) * (1 if turn[3] == "2" else 2)
        return (*_quarter_turns(Fraction(1), Fraction(0), quarters), 0.0)
    value = exact(angle, what)
    if is_symbolic(value):
        import sympy

        return _simplest(sympy.cos(value)), _simplest(sympy.sin(value)), 0.0
    quarters = round(value / _HALF_PI)
    rest = value - quarters * _HALF_PI
    unit = printed_unit(angle)
    snapped = 0.0
    # The double nearest to a multiple (np.pi / 2) is that multiple, with or without snapping.
    rounding = Fraction(4, 10**16) * max(1, abs(quarters))
    # 0.001 is not a rounded zero: zero is printed as such, however many digits there are.
    printed = min(unit, Fraction(_ROUNDED_AT_MOST)) if quarters else Fraction(0)
    limit = max(Fraction(SNAP_ANGLE), printed) if snap else rounding
    if abs(rest) <= limit:
        snapped, rest = float(rest), Fraction(0)
    t = short_fraction(math.tan(float(rest) / 2))
    c, s = _quarter_turns((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t), quarters)
    return c, s, snapped if abs(snapped) > float(rounding) else 0.0


def _quarter_turns(c: Fraction, s: Fraction, quarters: int) -> tuple[Fraction, Fraction]:
    for _ in range(quarters % 4):
        c, s = -s, c
    return c, s


def note_snapped(notes: list[str], what: Part, moved: float, to: str = "a right angle") -> None:
    """Append one line on what was snapped and by how much, unless that is the rounding of a file with many digits."""
    if abs(moved) > REPORTED_ANGLE:
        notes.append(f"{what} snapped by {abs(moved):.1e} rad to {to}")
    if isinstance(notes, SnapNotes) and abs(moved) > SUSPECT_ANGLE:
        notes.large.append((str(what), abs(moved)))


class SnapNotes(list[str]):
    """Notes of a reader, which remember the angles that were snapped by so much that torques change."""

    def __init__(self) -> None:
        super().__init__()
        self.large: list[tuple[str, float]] = []


def unit_vector(values: VectorLike, what: Part = "axis", snap: bool = True) -> Vector:
    """Return a rational vector of exactly unit length along a direction (to 1e-17).

    A coordinate axis is reproduced exactly; any other direction becomes a rational point of the sphere by stereographic
    projection. With `snap`, a direction within about 1e-5 rad of a coordinate axis becomes that axis.
    """
    return snapped_unit_vector(values, what, snap)[0]


def snapped_unit_vector(values: VectorLike, what: Part = "axis", snap: bool = True) -> tuple[Vector, float]:
    """Return the same as `unit_vector`, and by what angle it was snapped to a coordinate axis."""
    x = exact_vector(values, what)
    if any(is_symbolic(v) for v in x):
        raise TaupiError("{what} is {x}: a direction must be numbers.", what=what, x=tuple(map(str, x)))
    if sum(v * v for v in x) == 1:
        return x, 0.0
    direction = [float(v) for v in x]
    length = math.hypot(*direction)
    if not 1e-12 < length < 1e12:
        raise TaupiError("{what} is {direction}, which has no direction.", what=what, direction=tuple(direction))
    direction = [v / length for v in direction]
    k = max(range(3), key=lambda i: abs(direction[i]))
    a, b = ((k + 1) % 3, (k + 2) % 3)
    threshold = SNAP_ANGLE if snap else 1e-15
    sign = int(math.copysign(1, direction[k]))
    if max(abs(direction[a]), abs(direction[b])) < threshold:
        axis: Any = tuple(Fraction(sign if i == k else 0) for i in range(3))
        return axis, math.hypot(direction[a], direction[b])
    # Project from the pole opposite the dominant component: u_k = (1 - r)/(1 + r), u_a = 2s/(1 + r), r = s^2 + t^2.
    s, t = (short_fraction(direction[i] / (1 + abs(direction[k]))) for i in (a, b))
    r = s * s + t * t
    result = [Fraction(0)] * 3
    result[a], result[b], result[k] = 2 * s / (1 + r), 2 * t / (1 + r), sign * (1 - r) / (1 + r)
    return tuple(result), 0.0  # type: ignore[return-value]
