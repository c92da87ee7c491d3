"""Writers of formulas: plain text that Python and SymPy read, LaTeX, and MathML for pages."""

from __future__ import annotations

import re
from html import escape, unescape

from flint import fmpq

from taupi.latex_text import latex_text
from taupi.program.explicit.formula_tree import Collector, Product, Sum
from taupi.program.explicit.polynomial_ring import GREEK, Atom, Quotient, parts_of, symbol_name, velocity_of
from taupi.program.explicit.trigonometric_forms import Alphabet, Letter, shortest

_DOTS = {"": "{}", "d": r"\dot{{{}}}", "dd": r"\ddot{{{}}}"}
_MARKS = {"d": "˙", "dd": "¨"}
_MARK_STYLE = (
    "font-weight:900;font-size:1.3em"  # as accents, browsers set them so small that one dot and two look alike
)
_LONE_SUBSCRIPT = re.compile(r"<msub>((?:(?!<msub>).)*)</msub>")
_FUNCTION = re.compile(r"<mrow>(<mi>(?:sin|cos)</mi>)(<mo>\(</mo>(?:(?!<mo>[()]</mo>).)*<mo>\)</mo>)</mrow>")
_FUNCTION_TEXT = {"fabs": "Abs", "fmin": "Min", "fmax": "Max", "inv": "1/", "constpow": "Pow", "pow": "Pow"}

# Fractions with larger denominators come from sines of odd angles, and no file states them: the nearest double will do.
_LONGEST = 10**20


def number_text(x: fmpq, digits: int | None = None) -> str:
    """Return a number as it is usually written: a finite decimal, or else a fraction; or rounded to `digits` significant digits.

    A fraction with a denominator of more than twenty digits, which comes from oblique angles, becomes the nearest double.

    >>> number_text(fmpq(2159, 5000)), number_text(fmpq(-1, 2)), number_text(fmpq(7, 3)), number_text(fmpq(1, 30), 4)
    ('0.4318', '-1/2', '7/3', '0.03333')
    """
    p, q = int(x.p), int(x.q)
    if digits is not None and q > 8:
        return f"{p / q:.{digits}g}"
    if q > _LONGEST:
        return repr(p / q)
    rest, twos, fives = q, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1 or (not fives and twos <= 3):
        return str(p) if q == 1 else f"{p}/{q}"
    places = max(twos, fives)
    units, decimals = divmod(abs(p) * 10**places // q, 10**places)
    return f"{'-' if p < 0 else ''}{units}.{decimals:0{places}d}"


class Writer:
    """Writes formula trees in one notation; subclasses say how names, powers, quotients and functions look."""

    times = "*"
    barred = False  # whether quotients have a fraction bar: a single sum above it then needs no brackets

    def __init__(self, alphabet: Alphabet, digits: int | None = None, short: bool = False) -> None:
        self.alphabet, self.digits, self.short = alphabet, digits, short
        self.collect = Collector(alphabet)
        self.known: dict[int, str] = {}  # letters that have been written: a function's arguments are computed once

    # The notation -------------------------------------------------------------------------------------------------

    def symbol(self, atom: Atom) -> str:
        """Return an input's entry or a constant."""
        raise NotImplementedError

    def name(self, name: str) -> str:
        """Return the name of a sub-term."""
        raise NotImplementedError

    def function(self, op: str, arguments: list[str]) -> str:
        """Return a function applied to its arguments."""
        raise NotImplementedError

    def power(self, base: str, exponent: int) -> str:
        """Return base^exponent."""
        raise NotImplementedError

    def quotient(self, above: str, below: list[str]) -> str:
        """Return a quotient; `below` are factors."""
        raise NotImplementedError

    def brackets(self, inner: str) -> str:
        """Return a formula in parentheses."""
        return f"({inner})"

    def number(self, x: fmpq) -> str:
        """Return a whole number or a decimal."""
        return number_text(x, self.digits)

    def minus(self, first: bool) -> str:
        """Return the sign of a negative term."""
        return "-" if first else " - "

    def plus(self) -> str:
        """Return the sign between terms."""
        return " + "

    # Trees --------------------------------------------------------------------------------------------------------

    def sum(self, tree: Sum) -> str:
        """Return a tree in one line."""
        return "".join(self.products(tree)) or self.number(fmpq(0))

    def products(self, tree: Sum) -> list[str]:
        """Return the products of a sum one by one, each with the sign before it."""
        written = []
        for k, p in enumerate(tree.products):
            sign = self.minus(k == 0) if p.coefficient < 0 else ("" if k == 0 else self.plus())
            written.append(sign + self.product(p))
        return written

    def product(self, p: Product) -> str:
        """Return a product without its sign."""
        above, below = [], []
        for k, e in p.letters:
            atom = self.alphabet.letters[k].atom
            if atom is not None and atom.kind == "inverse":
                below += self._denominator(k, atom, e)
            else:
                above.append(self._power(self.letter(k), e))
        size = abs(p.coefficient)
        if self.barred and below and not above and size.p == 1 and [e for _, e in p.sums] == [1]:
            above.append(self.sum(p.sums[0][0]))
        else:
            above += [self._power(self.brackets(self.sum(inner)), e) for inner, e in p.sums]
        if "/" in number_text(size, self.digits):
            below.insert(0, self.number(fmpq(size.q)))
            size = fmpq(size.p)
        if size != 1 or not above:
            above.insert(0, self.number(size))
        line = self.times.join(above)
        return self.quotient(line, below) if below else line

    def _denominator(self, k: int, atom: Atom, e: int) -> list[str]:
        if k not in self.known:
            tree = self.tree(atom.args[0])
            single = len(tree.products) == 1 and not tree.products[0].sums and tree.products[0].coefficient == 1
            self.known[k] = self.sum(tree) if single else self.brackets(self.sum(tree))
        return [self._power(self.known[k], e)]

    def _power(self, base: str, e: int) -> str:
        return base if e == 1 else self.power(base, e)

    def tree(self, a: Quotient) -> Sum:
        """Return the tree of a function's argument or of a denominator."""
        return self.collect.quotient(shortest(self.alphabet, a.numerator), a.denominator)

    def letter(self, k: int) -> str:
        """Return a letter."""
        if k not in self.known:
            self.known[k] = self._letter_text(k)
        return self.known[k]

    def _letter_text(self, k: int) -> str:
        letter = self.alphabet.letters[k]
        if letter.atom is None:
            return self.trig(letter)
        atom = letter.atom
        match atom.kind:
            case "symbol":
                return self.symbol(atom)
            case "name":
                return self.name(atom.op)
        return self.function(atom.op, [self.sum(self.tree(a)) for a in atom.args])

    def trig(self, letter: Letter) -> str:
        """Return the sine or cosine of a sum of angles."""
        if self.short and all(m == 1 for _, m in letter.form):
            indices = [self.alphabet.angle[a].index for a, _ in letter.form]
            inputs = {self.alphabet.angle[a].name for a, _ in letter.form}
            if inputs == {"q"} and all(len(i) == 1 for i in indices):
                numbers = [str(i[0]) for i in indices]
                apart = any(len(number) > 1 for number in numbers)
                if len(numbers) > 1 or not apart:  # c12 is cos(q1 + q2), so that cos(q12) is written in full
                    return self.short_trig(letter.kind, numbers, apart)
        return self.function(letter.kind, [self.angle(letter)])

    def short_trig(self, kind: str, indices: list[str], apart: bool) -> str:
        """Return a sine or cosine in short, as s2 or c12, with the numbers of angles `apart` if some have two digits."""
        return kind[0] + ("_" if apart else "").join(indices)

    def angle(self, letter: Letter) -> str:
        """Return a sum of angles."""
        text = ""
        for k, (a, m) in enumerate(letter.form):
            sign = self.minus(k == 0) if m < 0 else ("" if k == 0 else self.plus())
            factor = f"{self.number(fmpq(abs(m)))}{self.times}" if abs(m) != 1 else ""
            text += sign + factor + self.symbol(self.alphabet.angle[a])
        return text


class TextWriter(Writer):
    """Plain text as Python and SymPy read it: -L1*L2*m2*qd1*sin(q2)/2."""

    def symbol(self, atom: Atom) -> str:  # noqa: D102
        return symbol_name(atom)

    def name(self, name: str) -> str:  # noqa: D102
        return name

    def function(self, op: str, arguments: list[str]) -> str:  # noqa: D102
        return f"{_FUNCTION_TEXT.get(op, op)}({', '.join(arguments)})"

    def power(self, base: str, exponent: int) -> str:  # noqa: D102
        return f"{base}**{exponent}"

    def quotient(self, above: str, below: list[str]) -> str:  # noqa: D102
        return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({'*'.join(below)})"


class LatexWriter(Writer):
    """LaTeX: `-\\frac{1}{2} L_{1} L_{2} m_{2} \\dot{q}_{1} \\sin(q_{2})`."""

    times = r"\,"
    barred = True

    def symbol(self, atom: Atom) -> str:  # noqa: D102
        if not atom.rank:
            return self._name(*parts_of(atom.name))
        base, dots = velocity_of(atom.name)
        letter, below = parts_of(base)
        below = ",".join(x for x in (below, *map(str, atom.index)) if x)
        return self._name(_DOTS[dots].format(self._letter(letter)), below, raw=True)

    def name(self, name: str) -> str:  # noqa: D102
        return self._name(*parts_of(name))

    def _letter(self, letter: str) -> str:
        if letter in GREEK:
            return f"\\{letter}"
        text = latex_text(letter)
        return text if len(letter) == 1 else rf"\mathrm{{{text}}}"

    def _name(self, letter: str, below: str, raw: bool = False) -> str:
        shown = letter if raw else self._letter(letter)
        if not below:
            return shown
        text = latex_text(below)
        return rf"{shown}_{{\mathrm{{{text}}}}}" if "_" in below or len(below) > 4 else f"{shown}_{{{text}}}"

    def function(self, op: str, arguments: list[str]) -> str:  # noqa: D102
        known = {"sign": r"\operatorname{sgn}", "sqrt": r"\sqrt", "fabs": "", "asin": r"\arcsin", "acos": r"\arccos"}
        if op == "sqrt":
            return rf"\sqrt{{{arguments[0]}}}"
        if op == "fabs":
            return rf"\left|{arguments[0]}\right|"
        escaped = op.replace("_", r"\_")
        plain = rf"\{op}" if op in ("sin", "cos", "tan", "exp", "log", "tanh") else rf"\operatorname{{{escaped}}}"
        return rf"{known.get(op, plain)}({', '.join(arguments)})"

    def number(self, x: fmpq) -> str:  # noqa: D102
        mantissa, e, exponent = number_text(x, self.digits).partition("e")
        return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if e else mantissa

    def short_trig(self, kind: str, indices: list[str], apart: bool) -> str:  # noqa: D102
        return f"{kind[0]}_{{{(',' if apart else '').join(indices)}}}"

    def power(self, base: str, exponent: int) -> str:  # noqa: D102
        for function in (r"\sin(", r"\cos("):
            if base.startswith(function) and base.count("(") == 1:
                return rf"{function[:-1]}^{{{exponent}}}{base[len(function) - 1 :]}"
        return f"{base}^{{{exponent}}}"

    def quotient(self, above: str, below: list[str]) -> str:  # noqa: D102
        return rf"\frac{{{above}}}{{{self.times.join(below)}}}"

    def brackets(self, inner: str) -> str:  # noqa: D102
        return rf"\bigl({inner}\bigr)"


class MathMLWriter(Writer):
    """MathML, which browsers display by themselves."""

    times = "<mo>\u2062</mo>"
    barred = True

    def symbol(self, atom: Atom) -> str:  # noqa: D102
        base, dots = velocity_of(atom.name) if atom.rank else (atom.name, "")
        letter, below = parts_of(base)
        below = ",".join(x for x in (below, *map(str, atom.index)) if x)
        shown = self._letter(letter)
        if dots:
            shown = f'<mover>{shown}<mo style="{_MARK_STYLE}">{_MARKS[dots]}</mo></mover>'
        return f"<msub>{shown}<mi>{escape(below)}</mi></msub>" if below else shown

    def name(self, name: str) -> str:  # noqa: D102
        return self.symbol(Atom("symbol", name))

    def _letter(self, letter: str) -> str:
        if letter in GREEK:
            return f"<mi>{unescape(f'&{letter};')}</mi>"
        return f"<mi>{escape(letter)}</mi>"

    def function(self, op: str, arguments: list[str]) -> str:  # noqa: D102
        inside = "<mo>,</mo>".join(arguments)
        shown = {"sign": "sgn", "fabs": "abs"}.get(op, op)
        return f"<mrow><mi>{shown}</mi><mo>(</mo>{inside}<mo>)</mo></mrow>"

    def short_trig(self, kind: str, indices: list[str], apart: bool) -> str:  # noqa: D102
        return f"<msub><mi>{kind[0]}</mi><mn>{(',' if apart else '').join(indices)}</mn></msub>"

    def power(self, base: str, exponent: int) -> str:  # noqa: D102
        if match := _LONE_SUBSCRIPT.fullmatch(base):
            return f"<msubsup>{match[1]}<mn>{exponent}</mn></msubsup>"
        if match := _FUNCTION.fullmatch(base):
            return f"<mrow><msup>{match[1]}<mn>{exponent}</mn></msup>{match[2]}</mrow>"
        return f"<msup><mrow>{base}</mrow><mn>{exponent}</mn></msup>"

    def quotient(self, above: str, below: list[str]) -> str:  # noqa: D102
        return f"<mfrac><mrow>{above}</mrow><mrow>{self.times.join(below)}</mrow></mfrac>"

    def number(self, x: fmpq) -> str:  # noqa: D102
        return f"<mn>{number_text(x, self.digits)}</mn>"

    def brackets(self, inner: str) -> str:  # noqa: D102
        return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"

    def minus(self, first: bool) -> str:  # noqa: D102
        return "<mo>\u2212</mo>"

    def plus(self) -> str:  # noqa: D102
        return "<mo>+</mo>"
