"""The polynomial ring of a program's formulas: its generators, what each stands for, and its relations.

Generators are the inputs, the constants that stay symbols, the sine and cosine of every angle and, as they occur, functions
that are not rational. Replacing sin^2 by 1 - cos^2 keeps polynomials in normal form. Divisors are kept as irreducible factors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from taupi.errors import TaupiError
from taupi.program.angles import angular_registers
from taupi.program.program import Program
from taupi.program.tape import Instruction, Tape

Denominator = tuple[tuple[int, int], ...]  # (number of a factor of the ring, exponent), by number


class Quotient(NamedTuple):
    """numerator / product of factors^exponents; a polynomial has the denominator ()."""

    numerator: fmpq_mpoly
    denominator: Denominator = ()

    def __str__(self) -> str:
        return f"{self.numerator} / {self.denominator}" if self.denominator else str(self.numerator)


def joined(a: Denominator, b: Denominator) -> Denominator:
    """Return the product of two denominators.

    >>> joined(((0, 1),), ((0, 2), (3, 1)))
    ((0, 3), (3, 1))
    """
    total = dict(a)
    for k, e in b:
        total[k] = total.get(k, 0) + e
    return tuple(sorted(total.items()))


def least_common(a: Denominator, b: Denominator) -> Denominator:
    """Return the least common multiple of two denominators.

    >>> least_common(((0, 1), (1, 1)), ((0, 2),))
    ((0, 2), (1, 1))
    """
    total = dict(a)
    for k, e in b:
        total[k] = max(total.get(k, 0), e)
    return tuple(sorted(total.items()))


def missing(a: Denominator, multiple: Denominator) -> Denominator:
    """Return multiple / a, the factors that a denominator lacks of a multiple of it.

    >>> missing(((0, 1),), ((0, 3), (1, 1)))
    ((0, 2), (1, 1))
    """
    own = dict(a)
    return tuple((k, e - own.get(k, 0)) for k, e in multiple if e > own.get(k, 0))


# A divisor with more terms than this is not factored: that would take longer than reading it.
_FACTORED = 500


@dataclass(frozen=True)
class Atom:
    """What a generator stands for.

    `kind` is "symbol" (an input's entry or a constant), "sin" or "cos" of an angle, "function" of other formulas, "name" of
    a formula, or "inverse" of a factor. `rank` orders terms: the last inputs come first.
    """

    kind: str
    name: str = ""
    rank: int = 0
    op: str = ""
    index: tuple[int, ...] = ()  # the place in its input, counted from one; () for a scalar or a constant
    args: tuple[Quotient, ...] = field(default=(), compare=False)  # compared by `key` instead
    key: str = ""


@dataclass(frozen=True)
class RingPlan:
    """What a ring is prepared for: the number of free generators, and the angles by whose sine something is divided."""

    slots: int
    inverted: frozenset[int] = frozenset()


class ReplanError(Exception):
    """The expansion needs something that the ring is not prepared for; it starts again with this plan."""

    def __init__(self, plan: RingPlan) -> None:
        super().__init__("the ring has to be planned again")
        self.plan = plan


class TooLongError(Exception):
    """A product has more terms than a formula may have."""


@dataclass
class Ring:
    """The ring of one program; polynomials of the same ring may be added and compared."""

    program: Program
    tape: Tape
    symbols: frozenset[str]  # the constants that stay symbols; the others enter as numbers
    plan: RingPlan
    atoms: list[Atom] = field(default_factory=list)
    work: int = 100_000_000  # of all products and divisions together, in pairs of terms

    def __post_init__(self) -> None:
        angular = angular_registers(self.tape)
        self.place: dict[tuple[str, int], int] = {}
        loads = [i for i in self.tape.instructions if i.op == "input" and not self.is_number(i)]
        loads.sort(key=lambda i: (i.port, i.slot))
        turning = [i for i in loads if i.out in angular]
        # Of the two, the square of the first is removed: it leads in the lexicographic order.
        for i in turning:
            for kind in ("cos", "sin") if i.out in self.plan.inverted else ("sin", "cos"):
                self._add((kind, i.out), self._atom(i, kind))
        for i in loads:
            self._add(("input", i.out), self._atom(i, "symbol"))
        self.free = len(self.atoms)
        names = [f"x{k}" for k in range(self.free + self.plan.slots)]
        self.context = fmpq_mpoly_ctx.get(names, Ordering.lex)
        self.generators = self.context.gens()
        # Angles are numbered in the order of the inputs; each has the generators of its sine and cosine, and its register.
        self.angles = {k: (self.place["sin", i.out], self.place["cos", i.out]) for k, i in enumerate(turning)}
        self.register = {k: i.out for k, i in enumerate(turning)}
        self._point = {self.register[k]: (self.generators[c], self.generators[s]) for k, (s, c) in self.angles.items()}
        self.circles = [
            (c if self._is_inverted(k) else s, self.generators[s] ** 2 + self.generators[c] ** 2 - 1)
            for k, (s, c) in self.angles.items()
        ]
        self.factors: list[fmpq_mpoly] = []  # of denominators
        self._factor_place: dict[str, int] = {}
        self.slot: dict[tuple[str, ...], int] = {}

    def _is_inverted(self, angle: int) -> bool:
        return self.register[angle] in self.plan.inverted

    def _add(self, key: tuple[str, int], atom: Atom) -> None:
        self.place[key] = len(self.atoms)
        self.atoms.append(atom)

    def _atom(self, load: Instruction, kind: str) -> Atom:
        if load.port == len(self.program.inputs):
            return Atom(kind, self.program.constants[load.slot].name, rank=0)
        port = self.program.inputs[load.port]
        index = tuple(int(k) + 1 for k in np.unravel_index(load.slot, port.shape)) if port.shape else ()
        return Atom(kind, port.name, rank=load.port + 1, index=index)

    # Numbers and generators ---------------------------------------------------------------------------------------

    def is_number(self, load: Instruction) -> bool:
        """Return whether an input instruction loads a constant that enters as its exact number."""
        return load.port == len(self.program.inputs) and self.program.constants[load.slot].name not in self.symbols

    def load(self, i: Instruction) -> fmpq_mpoly:
        """Return an input or a constant as a polynomial."""
        if self.is_number(i):
            return self.constant(self.program.constants[i.slot].value or 0)
        return self.generators[self.place["input", i.out]]

    def constant(self, value: Fraction | float) -> fmpq_mpoly:
        """Return a number as a polynomial; a double as the shortest decimal that prints it."""
        if not math.isfinite(value):
            raise TaupiError(
                "{program} holds {value}, which no formula can have.", program=self.program.name, value=value
            )
        exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
        return self.context.constant(fmpq(exact.numerator, exact.denominator))

    def point(self, register: int) -> tuple[fmpq_mpoly, fmpq_mpoly] | None:
        """Return (cos, sin) of an angle that is an input or a symbol."""
        return self._point.get(register)

    def named(self, kind: str, op: str, args: Iterable[Quotient]) -> Quotient:
        """Return the generator of a function or name, which is the same for the same arguments."""
        arguments = tuple(args)
        key = (kind, "" if kind == "name" else op, *map(str, arguments))
        if key not in self.slot:
            if self.free == len(self.generators):
                raise ReplanError(RingPlan(2 * self.plan.slots + 8, self.plan.inverted))
            self.atoms.append(Atom(kind, op=op, args=arguments, key="; ".join(key)))
            self.slot[key] = self.free
            self.free += 1
        return Quotient(self.generators[self.slot[key]])

    # Arithmetic ---------------------------------------------------------------------------------------------------

    def reduced(self, p: fmpq_mpoly) -> fmpq_mpoly:
        """Return the normal form, in which the square of one of each angle's sine and cosine is replaced."""
        degrees = p.degrees()
        for k, relation in self.circles:
            if degrees[k] > 1:
                p = divmod(p, relation)[1]
        return p

    def times(self, p: fmpq_mpoly, q: fmpq_mpoly) -> fmpq_mpoly:
        """Return p q in normal form; a product that would fill the memory or take minutes is refused before it is computed."""
        self._spend(len(p) * len(q))
        return self.reduced(p * q)

    def _spend(self, pairs: int) -> None:
        """Count the work of a product or a division; refuse it once the work allowed for a readable formula is used up."""
        if pairs > self.work:
            raise TooLongError
        self.work -= pairs

    def add(self, a: Quotient, b: Quotient, sign: int = 1) -> Quotient:
        """Return a + sign b."""
        if a.denominator == b.denominator:
            total = a.numerator + b.numerator if sign > 0 else a.numerator - b.numerator
            return self.over(total, a.denominator)
        common = least_common(a.denominator, b.denominator)
        left = self.times(a.numerator, self.product(missing(a.denominator, common)))
        right = self.times(b.numerator, self.product(missing(b.denominator, common)))
        return self.over(left + right if sign > 0 else left - right, common)

    def multiply(self, a: Quotient, b: Quotient) -> Quotient:
        """Return a b."""
        return self.over(self.times(a.numerator, b.numerator), joined(a.denominator, b.denominator))

    def inverse(self, a: Quotient) -> Quotient:
        """Return 1/a, with the irreducible factors of a's numerator as its denominator."""
        above = self.product(a.denominator)
        p = a.numerator
        if p.is_constant():
            return Quotient(above * (1 / p.leading_coefficient()))
        p = self._shortest(p)
        # An angle whose sine divides p wants the normal form in sines, so that it cancels as a factor.
        for k, (s, _) in self.angles.items():
            if not self._is_inverted(k) and p.degrees()[s] and divmod(p, self.generators[s])[1] == 0:
                raise ReplanError(RingPlan(self.plan.slots, self.plan.inverted | {self.register[k]}))
        p, conjugate = self._rational(p)
        above = self.times(above, conjugate)
        if p.is_constant():
            return Quotient(above * (1 / p.leading_coefficient()))
        content, factors = p.factor() if len(p) <= _FACTORED else (fmpq(1), [(p, 1)])
        scale, below = fmpq(content), []
        for f, power in factors:
            sign = -1 if 2 * sum(c < 0 for c in f.coeffs()) > len(f) else 1  # as usually written: m1 + m2 - m2 cos^2
            scale *= sign ** int(power)
            below.append((self._factor(f * sign), int(power)))
        return self.over(above * (1 / scale), tuple(sorted(below)))

    def product(self, denominator: Denominator) -> fmpq_mpoly:
        """Return a denominator as a polynomial."""
        result = self.context.constant(1)
        for k, e in denominator:
            for _ in range(e):
                result = self.times(result, self.factors[k])
        return result

    def over(self, p: fmpq_mpoly, denominator: Denominator) -> Quotient:
        """Return p over a denominator, with the factors that divide p cancelled."""
        if not denominator or p == 0:
            return Quotient(p)
        left = []
        for k, exponent in denominator:
            f, e = self.factors[k], exponent
            while e:
                self._spend(len(p) * len(f))
                result, remainder = divmod(p, f)
                if remainder != 0:
                    break
                p, e = result, e - 1
            if e:
                left.append((k, e))
        return Quotient(p, tuple(left))

    def _rational(self, p: fmpq_mpoly) -> tuple[fmpq_mpoly, fmpq_mpoly]:
        """Return p p' without sines (or cosines), and p': (a + b sin q)(a - b sin q) = a^2 - b^2 (1 - cos^2 q).

        Over such denominators a quotient is in lowest terms if no factor divides its numerator as a polynomial.
        """
        conjugate = self.context.constant(1)
        for k, (s, c) in self.angles.items():
            gone = c if self._is_inverted(k) else s
            p = self.reduced(p) if p.degrees()[gone] > 1 else p
            if p.degrees()[gone]:
                generators = list(self.generators)
                generators[gone] = -generators[gone]
                other = p.compose(*generators, ctx=self.context)
                p, conjugate = self.times(p, other), self.times(conjugate, other)
        return p, conjugate

    def _factor(self, f: fmpq_mpoly) -> int:
        """Return the number of a factor."""
        key = str(f)
        if key not in self._factor_place:
            self._factor_place[key] = len(self.factors)
            self.factors.append(f)
        return self._factor_place[key]

    def _shortest(self, p: fmpq_mpoly) -> fmpq_mpoly:
        """Return p with the square of the other function of an angle if that is shorter: sin^2 q rather than 1 - cos^2 q."""
        for k, (s, c) in self.angles.items():
            kept, gone = (s, c) if self._is_inverted(k) else (c, s)
            if len(p) <= _FACTORED and p.degrees()[kept] > 1:
                other = self._exchanged(p, kept, gone)
                p = other if len(other) < len(p) else p
        return p

    def _exchanged(self, p: fmpq_mpoly, kept: int, gone: int) -> fmpq_mpoly:
        result = self.context.constant(0)
        square = 1 - self.generators[gone] ** 2
        for exponents, coefficient in p.to_dict().items():
            rest = list(exponents)
            pairs, rest[kept] = divmod(rest[kept], 2)
            result += self.context.from_dict({tuple(rest): coefficient}) * square**pairs
        return result


GREEK = (
    *(
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
    ),
    *("pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi"),
    *("Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
)


def symbol_name(atom: Atom) -> str:
    """Return the name of an input's entry or of a constant: q1, q2, ... for a vector, the name itself for a scalar.

    >>> symbol_name(Atom("symbol", "q", index=(2,))), symbol_name(Atom("symbol", "L1"))
    ('q2', 'L1')
    """
    return atom.name + "_".join(map(str, atom.index))


def parts_of(name: str) -> tuple[str, str]:
    """Return the letter of a symbol's name and its subscript.

    >>> parts_of("L1"), parts_of("lc2"), parts_of("theta1"), parts_of("gy"), parts_of("forearm.m"), parts_of("payload")
    (('L', '1'), ('l', 'c2'), ('theta', '1'), ('g', 'y'), ('m', 'forearm'), ('payload', ''))
    """
    owner, dot, kind = name.rpartition(".")
    if dot:
        letter, below = parts_of(kind)
        return letter, ",".join(x for x in (below, owner) if x)
    match = re.fullmatch(r"([A-Za-z]+)_?(\w*)", name)
    if match is None:
        return name, ""
    letters, rest = match[1], match[2]
    if letters in GREEK or len(letters) == 1:
        return letters, rest
    for greek in GREEK:
        if letters.startswith(greek) and len(greek) > 2:
            return greek, letters[len(greek) :] + rest
    return (letters[0], letters[1:] + rest) if len(letters) <= 3 else (letters, rest)


def velocity_of(name: str) -> tuple[str, str]:
    """Return the name of an input without its derivatives, and these: qrdd is the second derivative of q_r.

    >>> velocity_of("qdd"), velocity_of("qrd"), velocity_of("vd"), velocity_of("q"), velocity_of("speed")
    (('q', 'dd'), ('qr', 'd'), ('v', 'd'), ('q', ''), ('speed', ''))
    """
    match = re.fullmatch(r"(q|qr|theta|v|r|x)(d{1,2})", name)
    return (match[1], match[2]) if match else (name, "")
