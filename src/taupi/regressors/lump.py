"""Programs that are linear in parameters of your choice: known functions times lumped unknowns, split exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property, reduce

from flint import fmpq, fmpq_mat

from taupi.dynamics.types import Formula
from taupi.errors import TaupiError
from taupi.errors import unknown as unknown_name
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.program.explicit.conversions import Converter, program_of
from taupi.program.explicit.expand import ExpandedOutputs, expand, symbolic_constants
from taupi.program.explicit.from_text import quotient
from taupi.program.explicit.polynomial_ring import Denominator, Quotient, Ring, least_common, missing
from taupi.program.program import Port, Program

Exponents = tuple[int, ...]
Row = dict[Exponents, fmpq]  # monomials of unknowns and their coefficients


@dataclass(frozen=True, eq=False)
class Lumped:
    """A program written as f = known + Y Theta, with Theta the lumped unknowns (equations.md, R11).

    `regressor` is Y and `known` the part without unknowns, both programs of the same inputs. `expressions` are Theta as SymPy
    expressions of the `unknown` symbols. `identities` say which prescribed parameters are sums of others, whose columns are zero.
    `kept` are the independent columns, leftmost first, and `dependence` (kept x columns) gives all: Y = Y[:, kept] dependence.
    """

    regressor: Program
    known: Program
    expressions: tuple[Formula, ...]
    unknown: tuple[str, ...]
    identities: tuple[str, ...]
    kept: tuple[int, ...]
    dependence: fmpq_mat

    @property
    def parameters(self) -> Parameters:
        """Theta: its names, and its values if the unknowns have some."""
        return self.regressor.parameters

    @property
    def count(self) -> int:
        """The number of lumped parameters."""
        return len(self.expressions)

    @property
    def rank(self) -> int:
        """The number of independent columns, which is below `count` only if parameters were prescribed."""
        return len(self.kept)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The dependent columns as sums of the independent ones, such as `y8 = -y7`."""
        equations = []
        for j in range(self.count):
            if j not in self.kept:
                terms = [(self.dependence[i, j], f"y{k + 1}") for i, k in enumerate(self.kept)]
                equations.append(f"y{j + 1} = {_linear(terms)}")
        return tuple(equations)

    def independent(self) -> Lumped:
        """Return the smaller form with independent columns only; its parameters are sums of the ones here."""
        if self.rank == self.count:
            return self
        import sympy

        rows = range(self.rank)
        columns = range(self.count)
        expressions = tuple(
            sympy.Add(*(_rational(self.dependence[i, j]) * self.expressions[j] for j in columns)) for i in rows
        )
        names = [_linear([(self.dependence[i, j], self.parameters.names[j]) for j in columns]) for i in rows]
        parameters = _parameters(names, expressions, self.parameters.symbols)
        regressor = dataclasses.replace(self.regressor.take(self.kept), parameters=parameters)
        identity = fmpq_mat(self.rank, self.rank, [int(i == j) for i in rows for j in rows])
        return Lumped(regressor, self.known, expressions, self.unknown, (), tuple(rows), identity)

    def __repr__(self) -> str:
        what = "independent" if self.rank == self.count else f"of which {self.rank} are independent"
        known = ", and a known part" if self.known.sparsity().any() else ""
        noun = "parameter" if self.count == 1 else "parameters"
        lines = [f"{self.regressor.name}: {self.count} lumped {noun}, {what}{known}"]
        width = max(map(len, self.parameters.names), default=0)
        lines += [f"  {n:<{width}} = {e}" for n, e in zip(self.parameters.names, self.expressions, strict=True)]
        lines += [f"  {equation}" for equation in (*self.identities, *self.relations)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = zip(self.parameters.names, self.expressions, strict=True)
        body = "".join(f"<tr><td>{escape(n)}</td><td>{escape(str(e))}</td></tr>" for n, e in rows)
        items = "".join(f"<li>{escape(equation)}</li>" for equation in (*self.identities, *self.relations))
        return f"<table><tr><th>parameter</th><th>meaning</th></tr>{body}</table><ul>{items}</ul>"


def lump(
    program: Program, unknown: Sequence[str] | str, into: Sequence[str | Formula] | None = None, name: str = "Theta"
) -> Lumped:
    """Split a program into known functions and lumped unknowns: f(...) = known(...) + Y(...) Theta, exactly (equations.md, R11).

    Args:
        program: The program f, with one output. It has to be polynomial or rational in the unknowns, with denominators that do
            not mix them with the rest.
        unknown: The symbols that are not known, or constants of the description such as "forearm.m", by name or pattern ("*.m").
        into: Theta as expressions of the unknowns, in your order; the columns may then be dependent, see `relations` and
            `independent`. With None, the default, Theta has as few entries as possible, each a sum of products of unknowns.
        name: What the parameters are called, "Theta" by default: Theta1, Theta2, ...

    Returns:
        The lumped form, with `known`, the regressor Y, and Theta.

    Raises:
        TaupiError: If the program has several outputs, or no such split exists.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r")
    >>> tp.lump(tp.gravity_torque(arm), unknown=["m1", "m2", "L1", "L2"])
    gravity_torque: 2 lumped parameters, independent
      Theta1 = L1*m1 + L1*m2
      Theta2 = L2*m2
    """
    if not isinstance(program, Program):
        raise TaupiError(
            "{program} is {got}, expected a program: taupi.inverse_dynamics(robot).", got=type(program).__name__
        )
    patterns = [unknown] if isinstance(unknown, str) else unknown
    if not isinstance(patterns, Iterable) or not all(isinstance(n, str) for n in patterns):
        raise TaupiError("{unknown} is {got!r}, expected names of symbols such as ['m1', 'm2'].", got=unknown)
    names = _resolved(program, list(patterns))
    if len(program.outputs) != 1:
        raise TaupiError(
            "{program} has {count} outputs: lump needs one.", program=program.name, count=len(program.outputs)
        )
    expansion = expand(program, symbolic_constants(program) | frozenset(names), spare=16)
    split = _Split(expansion, names)
    if into is None:
        theta, columns = split.minimal()
    else:
        theta, columns = split.solved([quotient(split.ring, e, "into", names) for e in into])
    return _lumped(program, split, theta, columns, names, name)


def _resolved(program: Program, patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the constants that patterns match, in the order of the patterns."""
    known = [c.name for c in program.constants]
    names: list[str] = []
    for pattern in patterns:
        hits = [n for n in known if n == pattern or fnmatchcase(n, pattern)]
        if not hits and "." in pattern:
            raise TaupiError(
                "No constant {pattern!r} in {program}; it has {known}. Numbers 0, 1, 2 and 1/2 of a "
                "description are folded: write a symbol in their place, such as m1.",
                pattern=pattern,
                program=program.name,
                known=", ".join(known) or "none",
            )
        if not hits:
            raise unknown_name("symbol", pattern, known, program.name)
        names += [n for n in hits if n not in names]
    if not names:
        raise TaupiError(
            "{unknown} is empty, expected symbols of {expected}: {known}.",
            expected=program.name,
            known=", ".join(known) or "it has none",
        )
    return tuple(names)


class _Split:
    """Expanded outputs as a matrix: each row is an output and a known monomial, each column a monomial of unknowns."""

    def __init__(self, expansion: ExpandedOutputs, names: Iterable[str]) -> None:
        self.ring = expansion.ring
        self.unknown = _unknown_generators(self.ring, set(names))
        self.dependent: dict[int, list[tuple[fmpq, int]]] = {}
        outputs = expansion.outputs[0]
        parted = [self._denominators(a) for a in outputs]
        # All outputs share one denominator of unknowns; each has its own denominator of what is known.
        self.below: Denominator = reduce(least_common, (unknown for unknown, _ in parted), ())
        self.known_below = [known for _, known in parted]
        self.row: dict[tuple[int, Exponents], Row] = {}
        for h, (a, (unknown, _)) in enumerate(zip(outputs, parted, strict=True)):
            p = self.ring.reduced(a.numerator * self.ring.product(missing(unknown, self.below)))
            for exponents, coefficient in p.to_dict().items():
                known, mu = self._parted(exponents)
                self.row.setdefault((h, known), {})[mu] = coefficient
        self.known: list[dict[Exponents, fmpq]] = [{} for _ in outputs]
        self._set_known_aside(self._monomials(Quotient(self.ring.constant(1))))
        self._sort()

    def _set_known_aside(self, one: Row) -> None:
        """Move multiples of the common denominator, which are known functions, out of the rows, all by the same monomial."""

        def without(row: Row, pivot: Exponents) -> Row:
            factor = row.get(pivot, fmpq(0)) / one[pivot]
            rest = {mu: row.get(mu, fmpq(0)) - factor * one.get(mu, fmpq(0)) for mu in row | one}
            return {mu: c for mu, c in rest.items() if c != 0}

        pivot = min(one, key=lambda mu: sum(len(without(row, mu)) for row in self.row.values()))
        for (h, known), row in self.row.items():
            if pivot in row:
                self.known[h][known] = row[pivot] / one[pivot]
        rows = {key: without(row, pivot) for key, row in self.row.items()}
        self.row = {key: row for key, row in rows.items() if row}

    def _sort(self) -> None:
        monomials = {mu for row in self.row.values() for mu in row}
        self.monomials = sorted(monomials, key=lambda mu: (sum(mu), [-e for e in mu]))

    def _denominators(self, a: Quotient) -> tuple[Denominator, Denominator]:
        """Return the unknown and the known part of a denominator; refuse a factor that mixes the two."""
        inside, outside = [], []
        for k, e in a.denominator:
            used = {j for j, d in enumerate(self.ring.factors[k].degrees()) if d}
            if used <= set(self.unknown):
                inside.append((k, e))
            elif used & set(self.unknown):
                _refuse_mixture(self.ring, f"1/({Converter(self.ring).sum(self.ring.factors[k])})")
            else:
                outside.append((k, e))
        return tuple(inside), tuple(outside)

    def _parted(self, exponents: Exponents) -> tuple[Exponents, Exponents]:
        known = [int(e) for e in exponents]
        mu = [0] * len(known)
        for k in self.unknown:
            known[k], mu[k] = 0, known[k]
        return tuple(known), tuple(mu)

    def _monomials(self, a: Quotient) -> Row:
        """Return the monomials of an expression of unknowns, written over the common denominator."""
        p = self.ring.reduced(a.numerator * self.ring.product(missing(a.denominator, self.below)))
        parted = [(*self._parted(e), c) for e, c in p.to_dict().items()]
        assert not any(any(known) for known, _, _ in parted), "an unknown holds something known"
        return {mu: c for _, mu, c in parted}

    def _over(self, row: Row) -> Quotient:
        return self.ring.over(self.ring.context.from_dict(row), self.below)

    def matrix(self) -> fmpq_mat:
        """Return the rational matrix F with f = known + sum F[(h, kappa), mu] kappa mu."""
        place = {mu: j for j, mu in enumerate(self.monomials)}
        entries = [fmpq(0)] * (len(self.row) * len(place))
        for i, row in enumerate(self.row.values()):
            for mu, c in row.items():
                entries[i * len(place) + place[mu]] = c
        return fmpq_mat(len(self.row), len(place), entries)

    def minimal(self) -> tuple[Sequence[Quotient], fmpq_mat]:
        """Return as few unknowns as possible, the rows of F's reduced echelon form, and their columns (rows of F x unknowns)."""
        f = self.matrix()
        if not self.monomials:
            return [], f
        reduced, rank = f.rref()
        pivots = pivots_of(reduced, rank)
        theta = [
            self._over({mu: reduced[i, j] for j, mu in enumerate(self.monomials) if reduced[i, j] != 0})
            for i in range(rank)
        ]
        return theta, fmpq_mat(f.nrows(), rank, [f[r, j] for r in range(f.nrows()) for j in pivots])

    def solved(self, theta: Sequence[Quotient]) -> tuple[Sequence[Quotient], fmpq_mat]:
        """Return prescribed unknowns and their columns A, with F = A T and T the monomials of each unknown.

        An unknown that is a sum of those before it is not needed; its column is zero.
        """
        denominator = reduce(least_common, (t.denominator for t in theta), self.below)
        if denominator != self.below:
            self._rescale(denominator)
        # The known function 1 comes first, since an unknown may include a number.
        prescribed = [self._monomials(t) for t in (Quotient(self.ring.constant(1)), *theta)]
        extra = {mu for t in prescribed for mu in t} - set(self.monomials)
        place = {mu: j for j, mu in enumerate([*self.monomials, *sorted(extra)])}
        system = [*prescribed, *self.row.values()]
        entries = [fmpq(0)] * (len(place) * len(system))
        for k, column in enumerate(system):
            for mu, c in column.items():
                entries[place[mu] * len(system) + k] = c
        reduced, rank = fmpq_mat(len(place), len(system), entries).rref()
        pivots = pivots_of(reduced, rank)
        size = len(prescribed)
        if any(k >= size for k in pivots):
            self._refuse(next(k for k in pivots if k >= size) - size)
        self.dependent = {
            k - 1: [(reduced[i, k], pivots[i] - 1) for i in range(rank) if reduced[i, k] != 0]
            for k in range(1, size)
            if k not in pivots
        }
        columns = [fmpq(0)] * (len(self.row) * len(theta))
        for i, k in enumerate(pivots):
            for r, (h, kappa) in enumerate(self.row):
                if k:
                    columns[r * len(theta) + k - 1] = reduced[i, size + r]
                else:
                    self.known[h][kappa] = self.known[h].get(kappa, fmpq(0)) + reduced[i, size + r]
        return theta, fmpq_mat(len(self.row), len(theta), columns)

    def _rescale(self, denominator: Denominator) -> None:
        """Write the rows over a larger denominator of unknowns."""
        factor = self.ring.product(missing(self.below, denominator))
        self.below = denominator
        for key, row in self.row.items():
            p = self.ring.reduced(self.ring.context.from_dict(row) * factor)
            self.row[key] = {self._parted(e)[1]: c for e, c in p.to_dict().items()}
        self._sort()

    def _refuse(self, r: int) -> None:
        (h, known), row = list(self.row.items())[r]
        convert = Converter(self.ring)
        factor = convert.sum(self.ring.context.from_dict({known: fmpq(1)}))
        raise TaupiError(
            "{into} cannot express the dynamics: output {h} has {factor} times ({convert}), which is not a "
            "combination of the prescribed parameters.",
            remedy="Add the missing ones, or leave {into} out.",
            h=h + 1,
            factor=factor,
            convert=convert(self._over(row)),
        )

    def column(self, columns: fmpq_mat, h: int, k: int) -> Quotient:
        """Return entry (`h`, `k`) of the regressor, a function of what is known."""
        rows = enumerate(self.row)
        p = {e: columns[r, k] for r, (out, e) in rows if out == h and columns[r, k] != 0}
        return self.ring.over(self.ring.context.from_dict(p), self.known_below[h])

    def known_part(self, h: int) -> Quotient:
        """Return the part of output `h` that contains no unknown."""
        return self.ring.over(self.ring.context.from_dict(self.known[h]), self.known_below[h])


def pivots_of(reduced: fmpq_mat, rank: int) -> list[int]:
    """Return the leading column of each row of a reduced echelon form."""
    return [next(j for j in range(reduced.ncols()) if reduced[i, j] != 0) for i in range(rank)]


def _unknown_generators(ring: Ring, names: set[str]) -> list[int]:
    """Return the generators that contain unknowns only; refuse one that mixes them with the rest."""
    inside: set[int] = set()
    outside: set[int] = set()
    for k, atom in enumerate(ring.atoms):
        if not atom.args:
            (inside if not atom.rank and atom.name in names else outside).add(k)
            continue
        parts = [p for a in atom.args for p in (a.numerator, *(ring.factors[j] for j, _ in a.denominator))]
        used = {j for p in parts for j, d in enumerate(p.degrees()) if d}
        if used & inside and used & outside:
            _refuse_mixture(ring, str(Converter(ring).meaning_of(atom)))
        (inside if used and used <= inside else outside).add(k)
    return sorted(inside)


def _refuse_mixture(ring: Ring, what: str) -> None:
    raise TaupiError(
        "{program} contains {what}, which mixes unknowns with the rest: no finite set of parameters is linear in it.",
        remedy="Take fewer unknowns, or a program without that term.",
        program=ring.program.name,
        what=what,
    )


def _lumped(
    program: Program, split: _Split, theta: Sequence[Quotient], columns: fmpq_mat, names: tuple[str, ...], name: str
) -> Lumped:
    ring, size, port = split.ring, len(theta), program.outputs[0]
    expressions = tuple(Converter(ring)(t) for t in theta)
    values = {c.name: c.value for c in program.constants}
    symbols = tuple((n, values[n]) for n in values if any(n == s.name for e in expressions for s in e.free_symbols))
    parameters = _parameters([f"{name}{k + 1}" for k in range(size)], expressions, symbols)
    entries = [split.column(columns, h, k) for h in range(port.size) for k in range(size)]
    y = program_of(ring, program.name, [(Port("Y", (*port.shape, size)), entries)], parameters)
    rest = program_of(ring, f"{program.name}_known", [(port, [split.known_part(h) for h in range(port.size)])])
    reduced, rank = columns.rref() if size else (columns, 0)
    kept = tuple(pivots_of(reduced, rank))
    dependence = fmpq_mat(rank, size, [reduced[i, j] for i in range(rank) for j in range(size)])
    identities = tuple(
        f"{name}{k + 1} = {_linear([(c, f'{name}{j + 1}' if j >= 0 else '1') for c, j in parts])}"
        for k, parts in split.dependent.items()
    )
    return Lumped(y, rest, expressions, names, identities, kept, dependence)


def _parameters(
    names: Sequence[str], expressions: Sequence[Formula], symbols: tuple[tuple[str, Fraction | None], ...]
) -> Parameters:
    entries = tuple(Parameter("", n, "", k) for k, n in enumerate(names))
    return Parameters(ParameterLayout(entries), tuple(expressions), symbols)


def _rational(x: fmpq) -> Formula:
    import sympy

    return sympy.Rational(int(x.p), int(x.q))


def _linear(terms: Sequence[tuple[fmpq, str]]) -> str:
    """Return a linear combination as text: y21/2 - 3*y22."""
    text = ""
    for c, name in terms:
        if c == 0:
            continue
        size = abs(c)
        shown = (f"{int(size.p)}*" if size.p != 1 else "") + name + (f"/{int(size.q)}" if size.q != 1 else "")
        text += (" - " if c < 0 else " + ") + shown if text else ("-" if c < 0 else "") + shown
    return text or "0"
