"""Explicit forms: a program's outputs as formulas, for reading and for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from taupi.checks import or_none, whole_number
from taupi.errors import Argument, TaupiError, unknown
from taupi.program.explicit.algebra_writers import (
    MapleWriter,
    MathematicaWriter,
    TimedLatex,
    TimedText,
    checked_time,
    distinct_names,
    shaped_lists,
)
from taupi.program.explicit.expand import LIMIT, ExpandedOutputs, expand, symbolic_constants
from taupi.program.explicit.formula_tree import Collector, Product, Sum, length, name_repeated
from taupi.program.explicit.polynomial_ring import symbol_name
from taupi.program.explicit.trigonometric_forms import Alphabet, plain_forms, shortest, summed_angles
from taupi.program.explicit.user_names import user_names
from taupi.program.explicit.writers import LatexWriter, MathMLWriter, TextWriter, Writer
from taupi.program.program import Port, Program
from taupi.progress import progress

if TYPE_CHECKING:
    import sympy

ANGLES = ("shortest", "products")
_MATH = '<math displaystyle="true">'
_TEXT_WIDTH, _LATEX_WIDTH = 110, 90
# A matrix is written as a matrix if it has few columns and short entries, and entry by entry otherwise.
_MATRIX_COLUMNS, _MATRIX_ENTRY = 6, 60


W = TypeVar("W", bound=Writer)


@dataclass(frozen=True)
class Entry:
    """One entry of an output: the name of the `output`, the entry's `place` counted from one, and its formula, a `tree`."""

    output: str
    place: tuple[int, ...]
    tree: Sum


@dataclass(frozen=True, eq=False)
class Explicit:
    """The outputs of a program as formulas; `definitions` are the named sub-terms, in order.

    `text` can be read by Python and SymPy if the formulas hold arithmetic and common functions only (no comparisons). `latex`
    is for papers and notebooks, `markdown` for repositories, `html` for browsers, without scripts or downloads, `mathematica`
    and `maple` for computer algebra. `sympy` returns expressions in the shape of the program's outputs. `name` and `ports`
    are the program's name and outputs, `entries` the formulas, and `columns` the names of the parameters that the columns
    stand for. `digits` and `short` are as in `Program.explicit`; `alphabet` has the symbols.
    """

    name: str
    ports: tuple[Port, ...]
    entries: tuple[Entry, ...]
    definitions: tuple[tuple[str, Sum], ...]
    columns: tuple[str, ...]
    alphabet: Alphabet
    digits: int | None = None
    short: bool = False

    @property
    def terms(self) -> int:
        """The number of products in all formulas, definitions included."""
        return sum(map(length, self._trees()))

    def _trees(self) -> Iterator[Sum]:
        yield from (tree for _, tree in self.definitions)
        yield from (entry.tree for entry in self.entries)

    # SymPy --------------------------------------------------------------------------------------------------------

    def sympy(self, time: str | None = None) -> sympy.Basic:
        """Return the formulas as SymPy: a Matrix, an Array for three axes, or a scalar; named sub-terms stay symbols.

        With the name of `time`, coordinates are functions of it, and velocities their derivatives; by default they are symbols.
        """
        from taupi.program.explicit.conversions import TimedConverter, TreeConverter
        from taupi.program.targets.explicit import shaped

        name = checked_time(time, self.alphabet.ring.atoms)
        convert = TreeConverter(self.alphabet) if name is None else TimedConverter(self.alphabet, name)
        results = [
            shaped([convert(e.tree) for e in self.entries if e.output == port.name], port) for port in self.ports
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def substitutions(self) -> dict[object, object]:
        """Return the definitions as SymPy, from name to expression; an expression may contain earlier names."""
        import sympy

        from taupi.program.explicit.conversions import TreeConverter

        convert = TreeConverter(self.alphabet)
        return {sympy.Symbol(name): convert(tree) for name, tree in self.definitions}

    # Writing ------------------------------------------------------------------------------------------------------

    def text(self, width: int = _TEXT_WIDTH, time: str | None = None) -> str:
        """Return plain text, one line per entry, broken at about `width` characters; zeros are left out and counted.

        With the name of `time`, coordinates are functions of it: q1(t), Derivative(q1(t), t).
        """
        write = self._writer(TextWriter, TimedText, time)
        lines = []
        for label, tree in self._labelled("{}", "{}[{}]"):
            pieces = _broken(write, write, tree, width - len(label) - 3)
            lines.append(f"{label} = " + ("\n    ").join(p.strip() if k else p for k, p in enumerate(pieces)))
        return "\n".join([*lines, *self._zeros()])

    def latex(self, width: int = _LATEX_WIDTH, time: str | None = None) -> str:
        """Return LaTeX: a matrix if it is small, otherwise `aligned` entries, with sums broken at about `width` characters.

        With the name of `time`, coordinates are written as functions of it.
        """
        write = self._writer(LatexWriter, TimedLatex, time)
        if self._is_small():
            return self._matrix(write)
        measure = TextWriter(self.alphabet, self.digits, self.short)
        lines = []
        for label, tree in self._labelled("{}", "{}_{{{}}}", latex=write):
            pieces = _broken(write, measure, tree, width)
            lines.append(f"{label} &= " + " \\\\\n&\\quad ".join(p.strip() for p in pieces))
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def markdown(self, width: int = _LATEX_WIDTH) -> str:
        """Return Markdown with the formulas as a LaTeX block; `width` is that of `latex`."""
        zeros = "".join(f"\n\n{line}" for line in self._zeros()) if not self._is_small() else ""
        return f"### {self.name}\n\n$$\n{self.latex(width)}\n$$" + zeros

    def html(self) -> str:
        """Return a table of formulas in MathML, to be inserted into a page."""
        write = MathMLWriter(self.alphabet, self.digits, self.short)
        measure = TextWriter(self.alphabet, self.digits, self.short)
        rows = []
        for label, tree in self._labelled("{}", "<msub><mrow>{}</mrow><mn>{}</mn></msub>", html=write):
            pieces = [f"<mrow>{p}</mrow>" for p in _broken(write, measure, tree, _LATEX_WIDTH, inner=False)]
            lines = "".join(f'<div style="margin-left:2em">{_MATH}{p}</math></div>' for p in pieces[1:])
            rows.append(
                f'<tr style="vertical-align:baseline"><td style="text-align:right"><math>{label}</math></td>'
                f"<td>{_MATH}<mo>=</mo>{pieces[0]}</math>{lines}</td></tr>"
            )
        zeros = "".join(f"<p>{line}</p>" for line in self._zeros())
        return f'<table class="taupi-explicit">{"".join(rows)}</table>{zeros}'

    def mathematica(self, time: str | None = None) -> str:
        """Return Mathematica's language: lists, with named sub-terms before them.

        With the name of `time`, coordinates are functions of it, q1[t], and velocities q1'[t], as D[...] and Dt need them.

        >>> import taupi as tp
        >>> print(tp.gravity_torque(tp.load("lecture2r")).explicit().mathematica(time="t"))
        gout = {g*(L1*Cos[q1[t]]*(m1 + m2) + L2*m2*Cos[q1[t] + q2[t]]), L2*g*m2*Cos[q1[t] + q2[t]]};
        """
        return self._algebra(MathematicaWriter, time)

    def maple(self, time: str | None = None) -> str:
        """Return Maple's language: vectors, matrices and arrays, with named sub-terms before them.

        With the name of `time`, coordinates are functions of it, q1(t), and velocities diff(q1(t), t).

        >>> import taupi as tp
        >>> print(tp.gravity_torque(tp.load("lecture2r")).explicit().maple())
        g_out := Vector([g*(L1*cos(q1)*(m1 + m2) + L2*m2*cos(q1 + q2)), L2*g*m2*cos(q1 + q2)]):
        """
        return self._algebra(MapleWriter, time)

    def _algebra(self, kind: type[MathematicaWriter] | type[MapleWriter], time: str | None) -> str:
        write = kind(self.alphabet, self.digits)
        write.time = checked_time(time, self.alphabet.ring.atoms)
        symbols = distinct_names(write, [symbol_name(a) for a in self.alphabet.ring.atoms if a.kind == "symbol"])
        lines = [write.listed(name, write.sum(tree)) for name, tree in self.definitions]
        for port in self.ports:
            entries = [write.sum(e.tree) for e in self.entries if e.output == port.name]
            name = f"{port.name}_out" if write.name(port.name) in symbols else port.name
            lines.append(write.listed(name, shaped_lists(entries, port.shape)))
        return "\n".join(lines)

    def _writer(self, plain: type[W], timed: type[W], time: str | None) -> W:
        name = checked_time(time, self.alphabet.ring.atoms)
        kind = plain if name is None else type("Timed", (timed,), {"time": time})
        return kind(self.alphabet, self.digits, self.short)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        outputs = ", ".join(f"{p.name}{list(p.shape)}" for p in self.ports)
        names = f", {len(self.definitions)} definitions" if self.definitions else ""
        return f"Explicit {self.name}: {outputs}, {self.terms} terms{names}. print(...) shows it."

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"

    # Helpers ------------------------------------------------------------------------------------------------------

    def _labelled(
        self, plain: str, placed: str, latex: LatexWriter | None = None, html: MathMLWriter | None = None
    ) -> Iterator[tuple[str, Sum]]:
        writer = latex or html
        for name, tree in self.definitions:
            yield (writer.name(name) if writer else name), tree
        for e in self.entries:
            shown = writer.name(e.output) if writer else e.output
            if latex and e.place and "_" in shown:  # a second subscript needs brackets around the first
                shown = rf"({shown})"
            if html and e.place and "<msub>" in shown:
                shown = f"<mo>(</mo>{shown}<mo>)</mo>"
            label = placed.format(shown, ", ".join(map(str, e.place))) if e.place else plain.format(shown)
            if e.tree.products or not e.place:
                yield label, e.tree

    def _zeros(self) -> list[str]:
        zeros = sum(not e.tree.products and bool(e.place) for e in self.entries)
        if not zeros:
            return []
        if zeros == len(self.entries):
            return ["All entries are zero."]
        return ["The other entry is zero." if zeros == 1 else f"The other {zeros} entries are zero."]

    def _is_small(self) -> bool:
        if len(self.ports) > 1 or self.definitions or len(self.ports[0].shape) not in (1, 2):
            return False
        columns = self.ports[0].shape[1] if len(self.ports[0].shape) == 2 else 1
        write = TextWriter(self.alphabet, self.digits, self.short)
        wide = _LATEX_WIDTH if columns == 1 else _MATRIX_ENTRY
        return columns <= _MATRIX_COLUMNS and all(
            length(e.tree) < 20 and len(write.sum(e.tree)) <= wide for e in self.entries
        )

    def _matrix(self, write: Writer) -> str:
        rows, columns = (*self.ports[0].shape, 1)[:2]
        entries = [write.sum(e.tree) for e in self.entries]
        lines = [" & ".join(entries[columns * k : columns * (k + 1)]) for k in range(rows)]
        return "\\begin{bmatrix}\n" + " \\\\\n".join(lines) + "\n\\end{bmatrix}"


def explicit(
    program: Program,
    values: bool,
    angles: str,
    names: bool | Mapping[str, str],
    digits: int | None,
    short: bool,
    intermediates: int | None,
    limit: int | None,
) -> Explicit:
    """Return a program's outputs as formulas; see `Program.explicit`, which calls this."""
    if not isinstance(names, bool | Mapping):
        raise TaupiError(
            "{names} is {got!r}, expected True, False or a mapping such as {'b4': 'qdd1 + qdd2'}.", got=names
        )
    if angles not in ANGLES:
        raise unknown(Argument("angles"), angles, ANGLES)
    for setting, value in (("digits", digits), ("intermediates", intermediates), ("limit", limit)):
        or_none(whole_number)(setting, value)
    expansion = expand(program, symbolic_constants(program, values), limit or LIMIT, intermediates)
    return presented(program, expansion, angles, names, digits, short)


def presented(
    program: Program,
    expansion: ExpandedOutputs,
    angles: str,
    names: bool | Mapping[str, str],
    digits: int | None,
    short: bool,
) -> Explicit:
    """Return expanded outputs in a readable form: angles summed, factors collected, sub-terms named."""
    ring = expansion.ring
    alphabet = Alphabet(ring)
    flat = [a for _, a in expansion.definitions] + [a for output in expansion.outputs for a in output]
    numerators = [a.numerator for a in flat]
    if angles == "shortest":
        steps, forms = summed_angles(ring, numerators)
        terms = []
        with progress(f"writing {program.name}", len(numerators)) as tick:
            for k, p in enumerate(numerators):
                tick(f"formula {k + 1}")
                terms.append(shortest(alphabet, p, steps, forms))
    else:
        terms = [alphabet.terms(p, plain_forms(ring)) for p in numerators]
    own = user_names(alphabet, names if isinstance(names, Mapping) else {})
    collect = Collector(alphabet)
    trees = [own.in_tree(collect.quotient(own.in_terms(t), a.denominator)) for t, a in zip(terms, flat, strict=True)]
    intermediate = [(ring.atoms[k].op, trees[i]) for i, (k, _) in enumerate(expansion.definitions)]
    trees = trees[len(intermediate) :]
    definitions = [*own.definitions, *intermediate]
    if names is True:
        taken = {a.name for a in ring.atoms} | {name for name, _ in definitions}
        repeated, trees = name_repeated(trees, alphabet, taken)
        definitions += repeated
    parameters = program.parameters
    columns = tuple(parameters.names) if parameters is not None else ()
    entries = _entries(program.outputs, trees)
    return Explicit(program.name, program.outputs, entries, tuple(definitions), columns, alphabet, digits, short)


def _entries(ports: Sequence[Port], trees: Sequence[Sum]) -> tuple[Entry, ...]:
    places = [(port.name, place) for port in ports for place in product(*(range(1, n + 1) for n in port.shape))]
    return tuple(Entry(name, place, tree) for (name, place), tree in zip(places, trees, strict=True))


def _broken(write: Writer, measure: Writer, tree: Sum, width: int, inner: bool = True) -> list[str]:
    """Return a formula in lines of about `width` characters of text, broken between the terms of its outermost sum.

    With `inner`, that may be the sum inside the brackets of a product.
    """
    before, after, inside = "", "", tree
    if inner and len(tree.products) == 1 and len(measure.sum(tree)) > width:
        p = tree.products[0]
        if len(p.sums) == 1 and p.sums[0][1] == 1:
            inside = p.sums[0][0]
            before, after = _around(write, p)
    lines, used = [before], 0
    for piece, size in zip(write.products(inside), map(len, measure.products(inside)), strict=True):
        if used and used + size > width:
            lines.append("")
            used = 0
        lines[-1] += piece
        used += size
    lines[-1] += after
    return lines if inside.products else [write.sum(tree)]


def _around(write: Writer, p: Product) -> tuple[str, str]:
    """Return what is written before and after the terms of the only sum in a product."""
    opened, closed = write.brackets("\0").split("\0")
    if not write.barred:
        before, _, after = write.sum(Sum((p,))).partition(opened + write.sum(p.sums[0][0]) + closed)
        return before + opened, closed + after
    if not p.letters and abs(p.coefficient) == 1:
        return ("" if p.coefficient > 0 else write.minus(True)) + opened, closed
    return write.sum(Sum((Product(p.coefficient, p.letters),))) + write.times + opened, closed
