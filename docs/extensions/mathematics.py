"""Set the formulas of a page: LaTeX between dollars, and LaTeX or formulas that a snippet printed, become MathML in the site.

Nothing is fetched and no script runs: browsers set MathML themselves, from file:// too.
"""

from __future__ import annotations

import html
import re
import tokenize
from typing import Any

import sympy
from latex2mathml.converter import convert

from taupi.program.explicit.polynomial_ring import parts_of

# A fence that holds one LaTeX environment, as Program.explicit().latex() prints it.
_PRINTED = re.compile(r"^```text\n(\\begin\{(\w+)\}\n(?:(?!^```).)*?\\end\{\2\}\n)```$", re.MULTILINE | re.DOTALL)
_SET = re.compile(r'<(div|span) class="arithmatex">\\[\[(](.*?)\\[\])]</\1>', re.DOTALL)

# A fence of entries, as Program.explicit() prints them, and perhaps a last sentence that says how many are zero.
_FENCE = re.compile(r"^```text\n((?:(?!^```).)*?)```$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"([A-Za-z_]\w*)(?:\[(\d+(?:, \d+)*)\])? = ([^=]+)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_INDEXED = re.compile(r"([A-Za-z]+?)(\d+)")
_DOTS = {
    "qdd": r"\ddot{q}",
    "qd": r"\dot{q}",
    "thetadd": r"\ddot{\theta}",
    "thetad": r"\dot{\theta}",
    "theta": r"\theta",
}
# A dot, or two, over a symbol: marked, so that the style sheet makes them large enough to be told apart.
_DOTTED = re.compile(r"<mo([^>]*)>(&#x002D9;|&#x000A8;)</mo></mover>")
_MOST = 40  # lines that are set; more are read better as they are


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the formula below each fence that holds its LaTeX, or entries of a program as text."""
    set_latex = _PRINTED.sub(lambda m: f'{m[0]}\n\n<div class="printed">{formula(m[1], True)}</div>\n', markdown)
    return _FENCE.sub(_with_entries, set_latex)


def _with_entries(fence: re.Match[str]) -> str:
    lines = [_ENTRY.fullmatch(line) for line in fence[1].splitlines()]
    entries = [line for line in lines if line is not None]
    if not any(m[2] for m in entries) or len(entries) > _MOST or len(lines) > len(entries) + 2:
        return fence[0]
    try:
        rows = [f"{_symbol(m[1], m[2] or '')} &= {_latex(m[3])}" for m in entries]
    except (SyntaxError, tokenize.TokenError, TypeError, ValueError, AttributeError):  # it only looks like an entry
        return fence[0]
    aligned = "\\begin{align}" + " \\\\ ".join(rows) + "\\end{align}"
    return f'{fence[0]}\n\n<div class="printed">{formula(aligned, True)}</div>\n'


def _latex(text: str) -> str:
    """Return a formula in Python's notation as LaTeX, its terms in the order in which they stand."""
    names = set(_NAME.findall(text)) - {"sin", "cos", "sqrt", "sign"}
    symbols = {name: sympy.Symbol(name) for name in names}
    expression = sympy.parse_expr(text, local_dict=symbols, evaluate=False)
    return str(sympy.latex(expression, symbol_names={s: _symbol(n) for n, s in symbols.items()}, order="none"))


def _symbol(name: str, place: str = "") -> str:
    """Return a name as a symbol, with its place in an array: qdd2 as q with two dots and the index 2."""
    letter, _, rest = name.partition("_")
    indexed = _INDEXED.fullmatch(letter)
    letter, number = (indexed[1], indexed[2]) if indexed else (letter or name, "")
    below = ",".join(part for part in (number, rest.replace("_", ","), place.replace(", ", ",")) if part)
    if indexed and letter not in _DOTS:  # as LaTeX of the package has it: lc1 and Izz2 have an index of letters
        own = parts_of(letter + number)
        letter, below = own[0], ",".join([own[1], *below.split(",")[1:]])
    base = _DOTS.get(letter, letter if len(letter) == 1 else rf"\mathrm{{{letter}}}")
    return f"{base}_{{{below}}}" if below else base


def on_page_content(content: str, **_: Any) -> str:
    """Set what stands between dollars."""
    return _SET.sub(lambda m: formula(html.unescape(m[2]), m[1] == "div"), content)


def formula(latex: str, displayed: bool) -> str:
    """Return LaTeX as MathML, a displayed one in a box that scrolls."""
    known = re.sub(r"\{align(ed)?\}", "{align*}", latex).replace(r"\bigl", r"\left").replace(r"\bigr", r"\right")
    mathml = convert(known.strip(), display="block" if displayed else "inline")
    mathml = re.sub(r"<mi>([;:])</mi>", r"<mo>\1</mo>", mathml)  # signs, which keep a distance, and no names
    mathml = _DOTTED.sub(r'<mo\1 class="dots">\2</mo></mover>', mathml)
    return f'<div class="formula" tabindex="0">{mathml}</div>' if displayed else str(mathml)
