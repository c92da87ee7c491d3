"""Programs in modular arithmetic: evaluated at many random states at once, modulo several primes at once.

A relation between rational functions holds modulo almost every prime, and residues, unlike fractions, never grow. So ranks
and exact relations of large programs are found modulo primes. Numbers are residues below 2^31, in arrays with the axes
(primes, symbol values, states).

An angle is a random point on the circle, and a multiple of the angle a power of that point. A function whose values are not
rational (exp, tanh) becomes a random number at each state, as if it were algebraically independent of everything else. Signs
and comparisons are decided by doubles that are computed alongside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from taupi.errors import NotRationalError, TaupiError
from taupi.program.angles import OFFSET, AngleSum, angle_sums
from taupi.program.program import Program
from taupi.program.tape import OPERATIONS, Instruction

_RING = ("neg", "sq", "twice", "inv", "add", "sub", "mul", "div")
_ORDERED = ("sign", "fabs", "floor", "not", "fmin", "fmax", "lt", "le", "eq", "ne", "and", "or", "if_else_zero")
_LARGEST_STATE = 10**6
Residue = np.ndarray  # of uint64, (primes, symbol values, states); any axis may have length one


CirclePoint = tuple[Residue, Residue]  # (cos, sin)


def primes() -> Iterator[int]:
    """Yield primes below 2^31, largest first, modulo which -1 is not a square, so that 1 + t^2 always has an inverse."""
    for p in range(2**31 - 1, 2, -4):
        if _is_prime(p):
            yield p


def _is_prime(n: int) -> bool:
    """Return whether n below 3.2e9 is prime, by Miller and Rabin's test with bases that decide it there."""
    d, r = n - 1, 0
    while d % 2 == 0:
        d, r = d // 2, r + 1
    for base in (2, 3, 5, 7):
        x = pow(base, d, n)
        if x in (1, n - 1) or n == base:
            continue
        if not any((x := x * x % n) == n - 1 for _ in range(r - 1)):
            return False
    return True


def residue(value: Fraction, prime: int) -> int:
    """Return a fraction modulo a prime that does not divide its denominator."""
    return value.numerator * pow(value.denominator, -1, prime) % prime


@dataclass(frozen=True)
class Field:
    """Arithmetic modulo several primes along the first axis."""

    primes: tuple[int, ...]

    @cached_property
    def modulus(self) -> Residue:
        """The primes as an array."""
        return np.array(self.primes, dtype=np.uint64)[:, None, None]

    def of(self, values: np.ndarray) -> Residue:
        """Return whole numbers of shape (symbol values, states) as residues."""
        return np.mod(values[None], self.modulus.astype(np.int64)).astype(np.uint64)

    def number(self, value: Fraction) -> Residue:
        """Return a fraction as residues."""
        return np.array([residue(value, p) for p in self.primes], dtype=np.uint64)[:, None, None]

    def mul(self, a: Residue, b: Residue) -> Residue:
        """Return a b."""
        return a * b % self.modulus

    def add(self, a: Residue, b: Residue) -> Residue:
        """Return a + b."""
        return (a + b) % self.modulus

    def sub(self, a: Residue, b: Residue) -> Residue:
        """Return a - b."""
        return (a + (self.modulus - b)) % self.modulus

    def power(self, a: Residue, exponent: Residue) -> Residue:
        """Return a to the power of whole numbers, one per prime."""
        result, square = np.ones_like(a), a
        for bit in range(int(exponent.max()).bit_length()):
            odd = (exponent >> np.uint64(bit)) & np.uint64(1)
            result = np.where(odd == 1, self.mul(result, square), result)
            square = self.mul(square, square)
        return result

    def inverse(self, a: Residue) -> Residue:
        """Return 1 / a, which is a^(p - 2) by Fermat's little theorem."""
        if not a.all():
            raise ZeroDivisionError
        return self.power(a, self.modulus - np.uint64(2))

    def angle_sum(self, a: CirclePoint, b: CirclePoint) -> CirclePoint:
        """Return the circle point of the sum of two angles."""
        (c, s), (d, t) = a, b
        return self.sub(self.mul(c, d), self.mul(s, t)), self.add(self.mul(s, d), self.mul(c, t))

    def angle_multiple(self, a: CirclePoint, times: int) -> CirclePoint:
        """Return the circle point of a whole multiple of an angle."""
        doubled = a if times > 0 else (a[0], self.sub(np.zeros_like(a[1]), a[1]))
        result = (np.ones_like(a[0]), np.zeros_like(a[1]))
        for bit in range(abs(times).bit_length()):
            if abs(times) >> bit & 1:
                result = self.angle_sum(result, doubled)
            doubled = self.angle_sum(doubled, doubled)
        return result


class Modular:
    """A program in modular arithmetic: `symbols` and `angles` are the constants that are variables.

    Constants without a value are always variables; `keep` names others that are variables although they have a value.
    """

    def __init__(self, program: Program, keep: tuple[str, ...] = ()) -> None:
        self.program = program
        self.tape = program.exact_tape.instructions
        self._last = len(program.inputs)
        self._free = {k for k, c in enumerate(program.constants) if c.value is None or c.name in keep}
        self.numbers = {i.out: value for i in self.tape if (value := self._number(i)) is not None}
        self._sums = angle_sums(program.exact_tape, self.numbers)
        self._loads = {i.out: i for i in self.tape if i.op == "input"}
        self._moving = self._depend_on_the_state()
        self._unit = self._angle_units()
        self.angles = tuple(self._name(a) for a in self._unit if self._is_symbol(a))
        self.symbols = tuple(program.constants[i.slot].name for i in self.tape if self._is_symbol(i.out))
        self._shadowed = any(i.op in _ORDERED for i in self.tape)
        self._last_use = program.exact_tape.last_uses
        self._places = [program.nonzeros(k, exact=True) for k in range(len(program.outputs))]

    def _number(self, i: Instruction) -> Fraction | None:
        if i.op == "const" and not math.isfinite(i.value):
            raise NotRationalError(
                "{program} holds {i}, which is not a number to compute with.", program=self.program.name, i=i.value
            )
        if i.op == "const":
            return Fraction(i.value)
        if i.op == "input" and i.port == self._last and i.slot not in self._free:
            return self.program.constants[i.slot].value
        return None

    def _is_symbol(self, register: int) -> bool:
        load = self._loads.get(register)
        return load is not None and load.port == self._last and load.slot in self._free

    def _name(self, register: int) -> str:
        return self.program.constants[self._loads[register].slot].name

    def _depend_on_the_state(self) -> set[int]:
        moving: set[int] = set()
        for i in self.tape:
            if (i.op == "input" and i.port < self._last) or any(a in moving for a in i.args):
                moving.add(i.out)
        return moving

    def _angle_units(self) -> dict[int, int]:
        """Return the angles that all others are sums of, each with the whole number of parts that it is divided into."""
        unit: dict[int, int] = {}
        for total in self._sums.values():
            for atom, factor in total.items():
                if atom == OFFSET:
                    continue
                if atom not in self._moving and not self._is_symbol(atom):
                    raise NotRationalError(
                        "{program}: the sine of a product of symbols is not rational.", program=self.program.name
                    )
                unit[atom] = math.lcm(unit.get(atom, 1), factor.denominator)
        return unit

    def good(self, prime: int) -> bool:
        """Return whether a prime divides no denominator of the program's constants."""
        return all(v.denominator % prime for v in self.numbers.values())

    # Evaluation ---------------------------------------------------------------------------------------------------

    def __call__(
        self,
        chosen: tuple[int, ...],
        states: int,
        seed: int,
        symbols: Mapping[str, np.ndarray] | None = None,
        angles: Mapping[str, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the first output as residues (primes, symbol values, states, *shape) at random states.

        `symbols` has whole numbers, one per symbol value, and `angles` has tan(angle/2).
        """
        run = _Evaluation(self, Field(chosen), states, seed, symbols or {}, angles or {})
        shape = self.program.outputs[0].shape
        lead = (len(chosen), run.width, states)
        result = np.zeros((math.prod(shape), *lead), dtype=np.uint64)
        for k, i in enumerate(self.tape):
            if i.op == "output":
                if i.port == 0:
                    result[self._places[0][i.slot]] = run.value[i.args[0]]
            else:
                run.step(i)
            for a in i.args:
                if self._last_use[a] == k:
                    run.forget(a)
        return np.moveaxis(result, 0, -1).reshape(*lead, *shape)


class _Evaluation:
    """One evaluation: the registers that are still needed, as residues and, if signs matter, as doubles ("shadows")."""

    def __init__(
        self,
        modular: Modular,
        field: Field,
        states: int,
        seed: int,
        symbols: Mapping[str, np.ndarray],
        angles: Mapping[str, np.ndarray],
    ) -> None:
        self.of, self.field, self.states, self.seed = modular, field, states, seed
        self.symbols, self.tangents = symbols, angles
        self.width = max((len(v) for v in (*symbols.values(), *angles.values())), default=1)
        self.value: dict[int, Residue] = {}
        self.shadow: dict[int, Any] = {}
        self._point: dict[int, tuple[Residue, Residue]] = {}
        self._angle: dict[int, Any] = {}
        for atom in modular._unit:
            self._draw_angle(atom)

    def forget(self, register: int) -> None:
        """Drop a register that no later instruction reads."""
        self.value.pop(register, None)
        self.shadow.pop(register, None)

    def _integers(self, *key: int) -> np.ndarray:
        rng = np.random.default_rng([self.seed, *key])
        return rng.integers(-_LARGEST_STATE, _LARGEST_STATE, self.states, endpoint=True)[None]

    def _draw_angle(self, atom: int) -> None:
        named = self.of._is_symbol(atom)
        t = np.asarray(self.tangents[self.of._name(atom)])[:, None] if named else self._integers(1, atom)
        f = self.field
        tangent = f.of(t)
        square, one = f.mul(tangent, tangent), np.ones_like(tangent)
        below = f.inverse(f.add(one, square))
        self._point[atom] = (f.mul(f.sub(one, square), below), f.mul(f.add(tangent, tangent), below))
        self._angle[atom] = 2 * np.arctan(t.astype(float))

    def _circle(self, total: AngleSum) -> CirclePoint:
        one = self.field.number(Fraction(1))
        point = (one, np.zeros_like(one))
        for atom, factor in total.items():
            if atom == OFFSET:
                from taupi.program.targets.exact import nearest_point

                c, s = (Fraction(int(v.p), int(v.q)) for v in nearest_point(factor))
                point = self.field.angle_sum(point, (self.field.number(c), self.field.number(s)))
            else:
                times = int(factor * self.of._unit[atom])
                point = self.field.angle_sum(point, self.field.angle_multiple(self._point[atom], times))
        return point

    def step(self, i: Instruction) -> None:
        """Carry out one instruction."""
        if i.out in self.of.numbers:
            number = self.of.numbers[i.out]
            self.value[i.out], self.shadow[i.out] = self.field.number(number), float(number)
        elif i.op == "input":
            self._load(i)
        elif i.op in ("sin", "cos"):
            self.value[i.out] = self._circle(self.of._sums[i.args[0]])[i.op == "sin"]
        elif i.op in _RING:
            self.value[i.out] = self._arithmetic(i.op, [self.value[a] for a in i.args])
        elif i.op in _ORDERED:
            self.value[i.out] = self._ordered(i)
        else:
            self.value[i.out] = self._opaque(i)
        if self.of._shadowed and i.out not in self.shadow:
            with np.errstate(all="ignore"):
                self.shadow[i.out] = OPERATIONS[i.op](*(self.shadow[a] for a in i.args))

    def _load(self, i: Instruction) -> None:
        if self.of._is_symbol(i.out):
            name = self.of._name(i.out)
            values = np.asarray(self.symbols.get(name, np.zeros(self.width, dtype=np.int64)))[:, None]
        else:
            values = self._integers(0, i.port, i.slot)
        self.value[i.out] = self.field.of(values)
        self.shadow[i.out] = self._angle[i.out] * self.of._unit[i.out] if i.out in self._angle else values.astype(float)

    def _arithmetic(self, op: str, arguments: list[Residue]) -> Residue:
        f, a, b = self.field, arguments[0], arguments[-1]
        try:
            match op:
                case "neg":
                    return f.sub(np.zeros_like(a), a)
                case "sq" | "mul":
                    return f.mul(a, b)
                case "twice" | "add":
                    return f.add(a, b)
                case "sub":
                    return f.sub(a, b)
                case "inv":
                    return f.inverse(a)
            return f.mul(a, f.inverse(b))
        except ZeroDivisionError:
            raise TaupiError("{program} divides by zero.", program=self.of.program.name) from None

    def _ordered(self, i: Instruction) -> Residue:
        """Return the result of an operation that depends on order, decided by doubles: residues have no sign."""
        f = self.field
        values, doubles = [self.value[a] for a in i.args], [self.shadow[a] for a in i.args]
        a = values[0]
        match i.op:
            case "fabs":
                return np.where(np.asarray(doubles[0]) < 0, f.sub(np.zeros_like(a), a), a)
            case "fmin":
                return np.where(np.asarray(doubles[0]) <= doubles[1], a, values[1])
            case "fmax":
                return np.where(np.asarray(doubles[0]) >= doubles[1], a, values[1])
            case "if_else_zero":
                return np.where(np.asarray(doubles[0]) != 0, values[1], np.uint64(0))
        small = np.asarray(OPERATIONS[i.op](*doubles)).astype(np.int64)
        return f.of(np.atleast_2d(small))

    def _opaque(self, i: Instruction) -> Residue:
        """Return random numbers for a function that is not rational."""
        if i.out not in self.of._moving:
            raise NotRationalError(
                "{program} takes {op} of a constant, which is not rational: give its value as a number.",
                program=self.of.program.name,
                op=i.op,
            )
        return self.field.of(self._integers(2, i.out))
