"""Y = Y_b B with symbols in B: rational functions of the geometry, interpolated from their values modulo primes.

If lengths have no values, an entry of B is a quotient of polynomials in the lengths and in the cosines and sines of angles.
Cauchy interpolation along lines gives its degrees; then its coefficients solve a linear system and are reconstructed as
fractions. Finally the identity is checked at values that were not used before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from taupi.dynamics.types import Formula
from taupi.errors import TaupiError
from taupi.identifiability.exact_regrouping import Entries, Representatives, holds, usable_primes
from taupi.identifiability.rational_reconstruction import ResidueTable
from taupi.model.scalars import Scalar
from taupi.program.modular_arithmetic import Modular, residue

Monomial = tuple[int, ...]  # exponents of the variables: symbols, then cosine and sine of each angle
Polynomial = Mapping[Monomial, Fraction]  # its coefficients
ModularPolynomial = Any  # flint.nmod_poly
Residues = Mapping[str, Any]  # of the symbols, or of the tangents of half the angles: an array or a list for each
_SPARE = 3  # values beyond those that determine the unknowns: they have to fit too
_FIRST_LINE = 10
_LONGEST_LINE = 160
_MOST_UNKNOWNS = 2000


@dataclass(frozen=True)
class Ansatz:
    """The monomials that the numerator and the denominator of a quotient may contain."""

    above: tuple[Monomial, ...]
    below: tuple[Monomial, ...]

    @property
    def unknowns(self) -> int:
        """The number of coefficients to determine."""
        return len(self.above) + len(self.below)


@dataclass(frozen=True)
class RationalFunction:
    """A quotient of two polynomials, `above` and `below`, with fractions as coefficients."""

    above: Polynomial
    below: Polynomial

    def residue(self, powers: Sequence[int], prime: int) -> int:
        """Return its value modulo `prime`, at the residues `powers` of the variables."""
        up, down = (
            sum(residue(c, prime) * _monomial_value(e, powers, prime) for e, c in p.items()) % prime
            for p in (self.above, self.below)
        )
        return up * pow(down, -1, prime) % prime

    def scalar(self, variables: Sequence[Formula]) -> Scalar:
        """Return it as a fraction if it is constant, otherwise as a SymPy expression of the variables."""
        import sympy

        if all(not any(e) for p in (self.above, self.below) for e in p):
            return next(iter(self.above.values())) / next(iter(self.below.values()))

        def written(p: Polynomial) -> Formula:
            terms = (
                sympy.Mul(
                    sympy.Rational(c.numerator, c.denominator), *(v**k for v, k in zip(variables, e, strict=True))
                )
                for e, c in p.items()
            )
            return sympy.Add(*terms)

        quotient = written(self.above) / written(self.below)
        if len(self.below) == 1:
            return sympy.expand(quotient)
        return sympy.factor(quotient).subs(
            [((v - 1) * (v + 1), -(sympy.sin(*v.args) ** 2)) for v in variables if v.args]
        )


def _monomial_value(exponents: Monomial, powers: Sequence[int], prime: int) -> int:
    value = 1
    for base, e in zip(powers, exponents, strict=True):
        if e:
            value = value * pow(base, e, prime) % prime
    return value


class _Interpolation:
    """Interpolates the entries of B as functions of the free symbols of a program, from their values modulo primes."""

    def __init__(self, modular: Modular, chosen: Representatives) -> None:
        self.modular, self.chosen = modular, chosen
        self.supply = usable_primes(modular)
        self.plain, self.angles = modular.symbols, modular.angles
        prime = next(self.supply)
        rng = np.random.default_rng(7)
        values = self._solved(prime, self._drawn(rng, self.plain, 1), self._drawn(rng, self.angles, 1))[0]
        # An entry that is zero at a random point is taken to be zero; the final check would show otherwise.
        self.support = [(place, key) for place, key in enumerate(chosen.places()) if values[place]]

    @staticmethod
    def _drawn(rng: np.random.Generator, names: Sequence[str], count: int) -> dict[str, np.ndarray]:
        return {name: rng.integers(1, 2**30, count) for name in names}

    def _solved(self, prime: int, symbols: Residues, angles: Residues) -> list[list[int]]:
        values = self.chosen.values(self.modular, (prime,), symbols, angles)[0]
        return [self.chosen.solve(v.reshape(-1, v.shape[-1]), prime) for v in values]

    def at(self, prime: int, symbols: Residues, angles: Residues) -> list[list[int]]:
        """Return the entries of the support at values of the symbols, one list per value."""
        return [[row[place] for place, _ in self.support] for row in self._solved(prime, symbols, angles)]

    # Degrees ------------------------------------------------------------------------------------------------------

    def line(
        self, prime: int, moved: Sequence[str], angle: bool, seed: int
    ) -> list[tuple[ModularPolynomial, ModularPolynomial]]:
        """Return the numerator and denominator of every entry along a line on which the symbols `moved` vary."""
        from flint import nmod_mat, nmod_poly

        n = _FIRST_LINE
        while n <= _LONGEST_LINE:
            rng = np.random.default_rng([11, seed])
            fixed, turned = self._drawn(rng, self.plain, 1), self._drawn(rng, self.angles, 1)
            slope = rng.integers(1, 2**30, len(self.plain))
            x = rng.choice(2**24, n, replace=False).astype(np.int64) + 1
            symbols = {s: np.repeat(v, n) for s, v in fixed.items()}
            angles = {s: np.repeat(v, n) for s, v in turned.items()}
            for s, k in zip(self.plain, slope, strict=True):
                if s in moved and not angle:
                    symbols[s] = x if len(moved) == 1 else symbols[s] + k * x
            angles |= {s: x for s in moved if angle}
            values = self.at(prime, symbols, angles)
            powers = nmod_mat(n, n, [pow(int(v), k, prime) for v in x for k in range(n)], prime)
            solved = powers.solve(nmod_mat(n, len(self.support), [v for row in values for v in row], prime))
            coefficients = np.array([int(v) for v in solved.entries()]).reshape(n, -1)
            nodes = nmod_poly([1], prime)
            for v in x:
                nodes = nodes * nmod_poly([-int(v) % prime, 1], prime)
            quotients = [_cauchy(nmod_poly([int(c) for c in f], prime), nodes) for f in coefficients.T]
            if all(up.degree() + down.degree() + _SPARE <= n for up, down in quotients):
                return quotients
            n *= 2
        raise TaupiError(
            "B has powers beyond {longest_line} of {moved:,}: bind some symbols first.",
            longest_line=_LONGEST_LINE // 2,
            moved=moved,
        )

    def ansatz(self) -> list[Ansatz]:
        """Return the possible monomials of each entry, from its degree in each symbol and in all of them together."""
        prime = next(self.supply)
        lines = [self.line(prime, [s], False, k) for k, s in enumerate(self.plain)]
        together = self.line(prime, self.plain, False, 98) if self.plain else []
        turns = [self.line(prime, [a], True, 100 + k) for k, a in enumerate(self.angles)]
        result = []
        for e in range(len(self.support)):
            degrees = [(f[e][0].degree(), f[e][1].degree()) for f in lines]
            total = (together[e][0].degree(), together[e][1].degree()) if together else (0, 0)
            # cos and sin are quotients over 1 + t^2, t being the tangent of half the angle: two powers of t make one of them.
            circles = [(max(f[e][0].degree(), f[e][1].degree()) + 1) // 2 for f in turns]
            below = [c if not _is_circle(f[e][1]) else 0 for c, f in zip(circles, turns, strict=True)]
            up = _monomials([d[0] for d in degrees], total[0], circles)
            down = _monomials([d[1] for d in degrees], total[1], below)
            result.append(Ansatz(up, down))
            if result[-1].unknowns > _MOST_UNKNOWNS:
                names = ", ".join(dict.fromkeys((*self.plain, *self.angles)))
                raise TaupiError(
                    "An entry of B may have {unknowns} monomials of {names}: bind some of these symbols first.",
                    unknowns=result[-1].unknowns,
                    names=names,
                )
        return result

    # Coefficients -------------------------------------------------------------------------------------------------

    def powers(self, symbols: Residues, angles: Residues, prime: int, k: int) -> list[int]:
        """Return the residues of the variables at value `k`: the symbols, then cosine and sine of each angle."""
        result = [int(symbols[s][k]) % prime for s in self.plain]
        for a in self.angles:
            result += _circle(int(angles[a][k]), prime)
        return result

    def coefficients(self, prime: int, shapes: Sequence[Ansatz]) -> dict[object, int]:
        """Return the coefficients of every entry modulo a prime, scaled so that the denominator's first one is one."""
        count = max(s.unknowns for s in shapes) + _SPARE
        rng = np.random.default_rng([13, prime])
        symbols, angles = self._drawn(rng, self.plain, count), self._drawn(rng, self.angles, count)
        values = self.at(prime, symbols, angles)
        powers = [self.powers(symbols, angles, prime, k) for k in range(count)]
        result: dict[object, int] = {}
        for shape in dict.fromkeys(shapes):
            same = [e for e, s in enumerate(shapes) if s == shape]
            up = [[_monomial_value(m, p, prime) for m in shape.above] for p in powers]
            down = [[_monomial_value(m, p, prime) for m in shape.below] for p in powers]
            for e in same:
                vector = _null_vector(up, down, [row[e] for row in values], prime)
                above, below = vector[: len(shape.above)], vector[len(shape.above) :]
                scale = pow(next(v for v in below if v), -1, prime)
                result |= {(e, 0, m): v * scale % prime for m, v in zip(shape.above, above, strict=True) if v}
                result |= {(e, 1, m): v * scale % prime for m, v in zip(shape.below, below, strict=True) if v}
        return result

    @cached_property
    def variables(self) -> list[Formula]:
        """The variables as SymPy expressions."""
        import sympy

        result = [sympy.Symbol(s) for s in self.plain]
        for a in self.angles:
            result += [sympy.cos(sympy.Symbol(a)), sympy.sin(sympy.Symbol(a))]
        return result


def _circle(t: int, prime: int) -> list[int]:
    below = pow(1 + t * t, -1, prime)
    return [(1 - t * t) * below % prime, 2 * t * below % prime]


def _is_circle(p: ModularPolynomial) -> bool:
    """Return whether a polynomial is a power of 1 + t^2, apart from a factor."""
    from flint import nmod_poly

    degree = int(p.degree())
    power = nmod_poly([1, 0, 1], int(p.modulus())) ** (degree // 2)
    return degree % 2 == 0 and bool(p == power * p.leading_coefficient())


def _cauchy(f: ModularPolynomial, nodes: ModularPolynomial) -> tuple[ModularPolynomial, ModularPolynomial]:
    """Return r, t of the lowest degrees with r = t f modulo `nodes`: the rational function r / t that takes f's values there."""
    r, t, r0, t0 = f, f * 0 + 1, nodes, f * 0
    best = (r, t)
    while r.degree() >= 0:
        if r.degree() + t.degree() < best[0].degree() + best[1].degree():
            best = (r, t)
        quotient, rest = divmod(r0, r)
        r0, r, t0, t = r, rest, t, t0 - quotient * t
    return best


def _monomials(degrees: Sequence[int], total: int, circles: Sequence[int]) -> tuple[Monomial, ...]:
    """Return the exponents within the degrees: of each symbol, of all symbols together, of each angle with sin at most once."""
    plain: Iterator[Monomial] = itertools.product(*(range(d + 1) for d in degrees))
    pairs = [[(c, s) for s in (0, 1) for c in range(d - s + 1)] for d in circles]
    kept = [m for m in plain if sum(m) <= total]
    turned = [tuple(itertools.chain(*p)) for p in itertools.product(*pairs)]
    return tuple((*m, *t) for m in kept for t in turned)


def _null_vector(up: list[list[int]], down: list[list[int]], values: list[int], prime: int) -> list[int]:
    """Return coefficients c with up c - value down c = 0 in every row: the first of the solutions."""
    from flint import nmod_mat

    n = len(up[0]) + len(down[0])
    rows = min(len(values), n + _SPARE)
    entries = [x for k in range(rows) for x in (*up[k], *(-values[k] * d % prime for d in down[k]))]
    null_space, nullity = nmod_mat(rows, n, entries, prime).nullspace()
    if not nullity:
        raise ZeroDivisionError
    return [int(null_space[k, 0]) for k in range(n)]


def symbolic_regroup(modular: Modular, chosen: Representatives) -> Entries:
    """Return the entries of B as fractions or SymPy expressions, for a program with free symbols."""
    if not chosen.others or not chosen.columns:
        return {}
    interpolation = _Interpolation(modular, chosen)
    if not interpolation.support:
        return {}
    shapes, table = interpolation.ansatz(), ResidueTable()

    def residue_of(entry: RationalFunction, prime: int, point: Mapping[str, int]) -> int:
        symbols = {s: [point[s]] for s in interpolation.plain}
        angles = {a: [point[f"tan {a}"]] for a in interpolation.angles}
        return entry.residue(interpolation.powers(symbols, angles, prime, 0), prime)

    for _ in range(64):
        prime = next(interpolation.supply)
        try:
            table.add(prime, interpolation.coefficients(prime, shapes))
        except (ZeroDivisionError, ValueError):  # a matrix is singular at these values, modulo this prime
            continue
        fractions = table.fractions()
        if fractions is None:
            continue
        entries = _entries(fractions, interpolation)
        if holds(modular, chosen, entries, interpolation.supply, residue_of):
            return {key: entry.scalar(interpolation.variables) for key, entry in entries.items()}
    raise TaupiError(
        "{program}: B could not be written in its symbols.",
        remedy="Bind some of them first.",
        program=modular.program.name,
    )


def _entries(
    fractions: Mapping[Any, Fraction], interpolation: _Interpolation
) -> dict[tuple[int, int], RationalFunction]:
    parts: dict[int, tuple[dict[Monomial, Fraction], dict[Monomial, Fraction]]] = {}
    for (e, side, monomial), value in fractions.items():
        if value:
            parts.setdefault(e, ({}, {}))[side][monomial] = value
    return {
        interpolation.support[e][1]: RationalFunction(dict(sorted(a.items())), dict(sorted(b.items())))
        for e, (a, b) in parts.items()
    }
