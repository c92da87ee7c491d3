"""B with symbols in it: rational functions of the geometry, interpolated from their values modulo primes.

Where lengths have no numbers, an entry of B is a quotient of polynomials in them, and in the cosines and sines of angles. Its
degrees are found along lines by Cauchy interpolation; then its coefficients solve a linear system, are lifted to fractions, and
the whole identity is checked at values that had no part in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.lifting import Lift
from taupi.identifiability.reduction import Entries, Profile, holds, usable_primes
from taupi.model.scalars import Scalar
from taupi.program.modular_arithmetic import Modular, residue

Monomial = tuple[int, ...]  # exponents of the variables: symbols, then cosine and sine of each angle
Polynomial = Mapping[Monomial, Any]
_SPARE = 3  # values beyond those that determine something: they have to fit too
_FIRST_LINE = 10
_LONGEST_LINE = 160
_MOST_UNKNOWNS = 2000


@dataclass(frozen=True)
class Ansatz:
    """The monomials that a quotient may hold above and below the line."""

    above: tuple[Monomial, ...]
    below: tuple[Monomial, ...]

    @property
    def unknowns(self) -> int:
        """How many coefficients are to be found."""
        return len(self.above) + len(self.below)


@dataclass(frozen=True)
class Quotient:
    """A quotient of polynomials with fractions for coefficients."""

    above: Polynomial
    below: Polynomial

    def residue(self, powers: Sequence[int], prime: int) -> int:
        """Return its value modulo a prime, at a residue for each variable."""
        up, down = (
            sum(residue(c, prime) * _monomial_value(e, powers, prime) for e, c in p.items()) % prime
            for p in (self.above, self.below)
        )
        return up * pow(down, -1, prime) % prime

    def scalar(self, variables: Sequence[Any]) -> Scalar:
        """Return it as a fraction, or as a SymPy expression of the variables."""
        import sympy

        if all(not any(e) for p in (self.above, self.below) for e in p):
            return next(iter(self.above.values())) / next(iter(self.below.values()))

        def written(p: Polynomial) -> Any:
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
    """B's entries as functions of the free symbols of a program, and the values of them that were asked for."""

    def __init__(self, modular: Modular, profile: Profile) -> None:
        self.modular, self.profile = modular, profile
        self.supply = usable_primes(modular)
        self.plain, self.angles = modular.symbols, modular.angles
        prime = next(self.supply)
        rng = np.random.default_rng(7)
        values = self._solved(prime, self._drawn(rng, self.plain, 1), self._drawn(rng, self.angles, 1))[0]
        # An entry that is zero at a random point is zero: the check in the end would find it otherwise.
        self.support = [(place, key) for place, key in enumerate(profile.places()) if values[place]]

    @staticmethod
    def _drawn(rng: Any, names: Sequence[str], count: int) -> dict[str, np.ndarray]:
        return {name: rng.integers(1, 2**30, count) for name in names}

    def _solved(self, prime: int, symbols: Mapping[str, Any], angles: Mapping[str, Any]) -> list[list[int]]:
        values = self.modular((prime,), self.profile.states, 0, symbols, angles)[0]
        return [self.profile.solve(v.reshape(-1, v.shape[-1]), prime) for v in values]

    def at(self, prime: int, symbols: Mapping[str, Any], angles: Mapping[str, Any]) -> list[list[int]]:
        """Return the entries of the support at values of the symbols, a list a value."""
        return [[row[place] for place, _ in self.support] for row in self._solved(prime, symbols, angles)]

    # Degrees ------------------------------------------------------------------------------------------------------

    def line(self, prime: int, moved: Sequence[str], angle: bool, seed: int) -> list[tuple[Any, Any]]:
        """Return numerator and denominator of every entry along a line on which the symbols `moved` move."""
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
            whole = nmod_poly([1], prime)
            for v in x:
                whole = whole * nmod_poly([-int(v) % prime, 1], prime)
            found = [_cauchy(nmod_poly([int(c) for c in f], prime), whole) for f in coefficients.T]
            if all(up.degree() + down.degree() + _SPARE <= n for up, down in found):
                return found
            n *= 2
        raise TaupiError(f"B has powers beyond {_LONGEST_LINE // 2} of {', '.join(moved)}: bind some symbols first.")

    def ansatz(self) -> list[Ansatz]:
        """Return the monomials of each entry, from its degrees in each symbol and in all together."""
        prime = next(self.supply)
        lines = [self.line(prime, [s], False, k) for k, s in enumerate(self.plain)]
        together = self.line(prime, self.plain, False, 98) if self.plain else []
        turns = [self.line(prime, [a], True, 100 + k) for k, a in enumerate(self.angles)]
        result = []
        for e in range(len(self.support)):
            degrees = [(f[e][0].degree(), f[e][1].degree()) for f in lines]
            total = (together[e][0].degree(), together[e][1].degree()) if together else (0, 0)
            # cos and sin are quotients with 1 + t^2 below, t the tangent of half the angle: two powers of t are one of them.
            circles = [(max(f[e][0].degree(), f[e][1].degree()) + 1) // 2 for f in turns]
            below = [c if not _is_circle(f[e][1]) else 0 for c, f in zip(circles, turns, strict=True)]
            up = _monomials([d[0] for d in degrees], total[0], circles)
            down = _monomials([d[1] for d in degrees], total[1], below)
            result.append(Ansatz(up, down))
            if result[-1].unknowns > _MOST_UNKNOWNS:
                names = ", ".join(dict.fromkeys((*self.plain, *self.angles)))
                raise TaupiError(
                    f"An entry of B may hold {result[-1].unknowns} monomials of {names}: bind some of these symbols first."
                )
        return result

    # Coefficients -------------------------------------------------------------------------------------------------

    def powers(self, symbols: Mapping[str, Any], angles: Mapping[str, Any], prime: int, k: int) -> list[int]:
        """Return the variables' residues at value k: symbols, then cosine and sine of each angle."""
        result = [int(symbols[s][k]) % prime for s in self.plain]
        for a in self.angles:
            result += _circle(int(angles[a][k]), prime)
        return result

    def coefficients(self, prime: int, shapes: Sequence[Ansatz]) -> dict[Any, int]:
        """Return every entry's coefficients modulo a prime, the first one below the line being one."""
        count = max(s.unknowns for s in shapes) + _SPARE
        rng = np.random.default_rng([13, prime])
        symbols, angles = self._drawn(rng, self.plain, count), self._drawn(rng, self.angles, count)
        values = self.at(prime, symbols, angles)
        powers = [self.powers(symbols, angles, prime, k) for k in range(count)]
        result: dict[Any, int] = {}
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
    def variables(self) -> list[Any]:
        """The variables as SymPy writes them."""
        import sympy

        result = [sympy.Symbol(s) for s in self.plain]
        for a in self.angles:
            result += [sympy.cos(sympy.Symbol(a)), sympy.sin(sympy.Symbol(a))]
        return result


def _circle(t: int, prime: int) -> list[int]:
    below = pow(1 + t * t, -1, prime)
    return [(1 - t * t) * below % prime, 2 * t * below % prime]


def _is_circle(p: Any) -> bool:
    """Tell whether a polynomial is a power of 1 + t^2, but for a factor."""
    from flint import nmod_poly

    degree = int(p.degree())
    power = nmod_poly([1, 0, 1], int(p.modulus())) ** (degree // 2)
    return degree % 2 == 0 and bool(p == power * p.leading_coefficient())


def _cauchy(f: Any, whole: Any) -> tuple[Any, Any]:
    """Return r, t of the least degrees with r = t f modulo whole: the rational function that takes these values."""
    r, t, r0, t0 = f, f * 0 + 1, whole, f * 0
    best = (r, t)
    while r.degree() >= 0:
        if r.degree() + t.degree() < best[0].degree() + best[1].degree():
            best = (r, t)
        whole_part, rest = divmod(r0, r)
        r0, r, t0, t = r, rest, t, t0 - whole_part * t
    return best


def _monomials(degrees: Sequence[int], total: int, circles: Sequence[int]) -> tuple[Monomial, ...]:
    """Return the exponents within degrees: each symbol's, all symbols' together, each angle's with sin at most once."""
    plain: Iterator[Monomial] = itertools.product(*(range(d + 1) for d in degrees))
    pairs = [[(c, s) for s in (0, 1) for c in range(d - s + 1)] for d in circles]
    kept = [m for m in plain if sum(m) <= total]
    turned = [tuple(itertools.chain(*p)) for p in itertools.product(*pairs)]
    return tuple((*m, *t) for m in kept for t in turned)


def _null_vector(up: list[list[int]], down: list[list[int]], values: list[int], prime: int) -> list[int]:
    """Return coefficients with sum up - value sum down = 0 in every row: the first of the solutions."""
    from flint import nmod_mat

    n = len(up[0]) + len(down[0])
    rows = min(len(values), n + _SPARE)
    entries = [x for k in range(rows) for x in (*up[k], *(-values[k] * d % prime for d in down[k]))]
    basis, nullity = nmod_mat(rows, n, entries, prime).nullspace()
    if not nullity:
        raise ZeroDivisionError
    return [int(basis[k, 0]) for k in range(n)]


def symbolic_relations(modular: Modular, profile: Profile) -> Entries:
    """Return B's entries as fractions or SymPy expressions, for a program with free symbols."""
    if not profile.others or not profile.columns:
        return {}
    work = _Interpolation(modular, profile)
    if not work.support:
        return {}
    shapes, lift = work.ansatz(), Lift()
    for _ in range(64):
        prime = next(work.supply)
        try:
            lift.add(prime, work.coefficients(prime, shapes))
        except (ZeroDivisionError, ValueError):  # values at which something is singular modulo this prime
            continue
        found = lift.fractions()
        if found is None:
            continue
        quotients = _quotients(found, work)

        def at(value: Quotient, p: int, point: Mapping[str, int]) -> int:
            symbols = {s: [point[s]] for s in work.plain}
            return value.residue(work.powers(symbols, {a: [point[f"tan {a}"]] for a in work.angles}, p, 0), p)

        if holds(modular, profile, quotients, work.supply, at):
            return {key: q.scalar(work.variables) for key, q in quotients.items()}
    raise TaupiError(f"{modular.program.name}: B could not be written in its symbols. Bind some of them first.")


def _quotients(found: Mapping[Any, Fraction], work: _Interpolation) -> dict[tuple[int, int], Quotient]:
    parts: dict[int, tuple[dict[Monomial, Fraction], dict[Monomial, Fraction]]] = {}
    for (e, side, monomial), value in found.items():
        if value:
            parts.setdefault(e, ({}, {}))[side][monomial] = value
    return {
        work.support[e][1]: Quotient(dict(sorted(a.items())), dict(sorted(b.items()))) for e, (a, b) in parts.items()
    }
