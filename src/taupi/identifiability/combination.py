"""A base parameter in readable form: a linear combination of standard parameters, as text, SymPy or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from taupi.dynamics.terms import kind_of
from taupi.dynamics.types import Formula
from taupi.model.scalars import Scalar, is_symbolic

# Coefficients with more digits than these are shown rounded, after a ~; the fraction itself keeps them all.
_DIGITS = 18
_FRACTION_LENGTH = 15
_WIDTH = 118


def shown_number(x: Fraction) -> str:
    """Return a fraction as it is usually written: as a decimal if it ends, otherwise as a fraction, rounded (~) if that is long.

    >>> [shown_number(Fraction(*f)) for f in ((4318, 10000), (-2, 3), (10**20, 3 * 10**20 + 1))]
    ['0.4318', '-2/3', '~0.3333333333']
    """
    if x.denominator == 1 and len(str(x.numerator)) <= _DIGITS:
        return str(x.numerator)
    rest, places = x.denominator, 0
    while rest % 2 == 0 or rest % 5 == 0:
        rest = rest // 10 if rest % 10 == 0 else rest // 2 if rest % 2 == 0 else rest // 5
        places += 1
    if rest == 1:
        scaled = x.numerator * 10**places // x.denominator
        digits = str(abs(scaled)).rjust(places + 1, "0")
        text = f"{'-' * (x < 0)}{digits[:-places]}.{digits[-places:]}"
        if len(text) <= _DIGITS + 3:
            return text
    text = f"{x.numerator}/{x.denominator}"
    return text if len(text) <= _FRACTION_LENGTH else f"~{float(x):.10g}"


def signed(coefficient: Scalar) -> tuple[str, str]:
    """Return the sign of a coefficient, and its size as a factor: `2*`, `(a1 + a2)*`, or nothing for one."""
    if not is_symbolic(coefficient):
        size = shown_number(abs(coefficient))
        return "-" if coefficient < 0 else "+", "" if abs(coefficient) == 1 else f"{size}*"
    negative = coefficient.could_extract_minus_sign()
    size = str(-coefficient if negative else coefficient)
    bare = not (coefficient.is_Add or "/" in size or "(-" in size)
    return "-" if negative else "+", f"{size}*" if bare else f"({size})*"


@dataclass(frozen=True)
class Combination:
    """sum_k coefficient_k parameter_k with exact coefficients: fractions, or SymPy expressions of the robot's symbols.

    `name` is what the sum is called, `terms` are its standard parameters by name, each with its coefficient.

    >>> str(Combination("link2.IzzR", (("link2.Izz", Fraction(1)), ("link3.m", Fraction(1, 4)))))
    'link2.Izz + 0.25*link3.m'
    """

    name: str
    terms: tuple[tuple[str, Scalar], ...]

    def __str__(self) -> str:
        text = ""
        for k, (name, coefficient) in enumerate(self.terms):
            sign, size = signed(coefficient)
            text += (f" {sign} " if k else "-" * (sign == "-")) + size + name
        return text

    def sympy(self) -> Formula:
        """Return it as a SymPy expression, in which each standard parameter is a symbol of its name."""
        import sympy

        def coefficient(x: Scalar) -> Formula:
            return x if is_symbolic(x) else sympy.Rational(x.numerator, x.denominator)

        return sympy.Add(*(coefficient(c) * sympy.Symbol(name) for name, c in self.terms))

    def _sympy_(self) -> Formula:
        return self.sympy()

    def latex(self) -> str:
        """Return it as LaTeX: Ixx of link 2 is `I_{xx}^{link2}`."""
        text = ""
        for k, (name, coefficient) in enumerate(self.terms):
            sign, size = signed(coefficient)
            if size and is_symbolic(coefficient):
                import sympy

                value = -coefficient if sign == "-" else coefficient
                size = sympy.latex(value) if not value.is_Add else rf"\left({sympy.latex(value)}\right)"
                size += r"\,"
            else:
                size = size.replace("*", r"\,").replace("~", r"{\approx}")
            text += (f" {sign} " if k else "-" * (sign == "-")) + size + latex_name(name)
        return text


def latex_name(name: str) -> str:
    """Return a parameter's name as LaTeX.

    >>> latex_name("link2.Ixx"), latex_name("elbow_1.viscous")
    ('I_{xx}^{\\\\mathrm{link2}}', 'f_{v}^{\\\\mathrm{elbow\\\\_1}}')
    """
    from taupi.latex_text import latex_text

    owner, _, kind = name.rpartition(".")
    known = kind_of(kind).symbol
    if known and kind.startswith("link_"):
        known = f"{known.removesuffix('}')},l}}" if known.endswith("}") else f"{known}_{{l}}"
    letter, below = latex_text(kind[:1]), latex_text(kind[1:])
    symbol = known or (f"{letter}_{{{below}}}" if below else letter)
    return rf"{symbol}^{{\mathrm{{{latex_text(owner)}}}}}"


def aligned_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of aligned columns, cut at 118 characters."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        line = "  " + "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]])
        lines.append(line if len(line) <= _WIDTH else line[: _WIDTH - 4] + " ...")
    return lines
