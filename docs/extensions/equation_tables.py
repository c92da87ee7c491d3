"""Typeset the tables of equations: their sources are plain text, B q̈ + C q̇ + G = Y π, and read as such; the site sets them."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_SYMBOL = re.compile(r"(?<=^\| )[^ |]*[₀₁₂ᵣ][^ |]*(?= \|)", re.MULTILINE)  # a cell that is one symbol
PAGES = ("concepts/equations.md", "concepts/errata.md")
_ROW = re.compile(r"^\|(?!-)(.*)\|$", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")  # what separates cells
_WORD = re.compile(r"[(\"]?[A-Za-zäöüñ'’-]{2,}[.,:;)\"]*")
_NUMBER = r"\((?:[AB]\.)?\d+\)"  # of an equation
_LIKE_WORDS = re.compile(
    rf"[–&]|\d-[a-z]+|\S-term|\(?\d[Rr],?|h?j-th;?|hẏ-th;?|{_NUMBER}(?:-{_NUMBER})?[,.;:]?|\d{{4}}\)?,?|\(\\\*+.*"
)
_FUNCTIONS = {"sin", "cos", "exp", "sgn", "diag", "max", "det", "asym", "kron"}
_ARTICLES = {"a", "A", "I"}  # words of one letter, if words stand on both sides
_PROTECTED = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]*>|\$[^$]*\$")
_MATHS = re.compile(r"[^\x00-\x7fäöüñÄÖÜ–’]|[=_^+*/|&]|\d|(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_ACCENTS = {"\u0307": r"\dot", "\u0308": r"\ddot", "\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar"}
_LOW = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵣₐᵢⱼₖₙₓ₋₊ₒ,", "0123456789raijknx-+o,", strict=True))
_HIGH = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ⁻⁽⁾ᵏⁱʲⁿˣ", "0123456789T-()kijn×", strict=True))
_NAMES = {
    **dict(zip("αβγδεηθκλμνπρστφωΓΔΘΛΠΣΥΦΩ", (
        "alpha beta gamma delta epsilon eta theta kappa lambda mu nu pi rho sigma tau varphi omega "
        "Gamma Delta Theta Lambda Pi sum Upsilon Phi Omega").split(), strict=True)),
    "∂": "partial", "×": "times", "·": "cdot", "⋯": "cdots", "≤": "le", "≥": "ge", "‖": "Vert", "ℓ": "ell", "√": "sqrt",
    "▷": "triangleright", "◁": "triangleleft", "±": "pm", "∫": "int", "⊗": "otimes",
}  # fmt: skip
_LETTERS = {"𝒜": r"\mathcal{A}", "ℒ": r"\mathcal{L}", "𝒢": r"\mathcal{G}", "𝒲": r"\mathcal{W}", "𝔛": r"\mathfrak{X}"}
_LETTERS |= {"𝔚": r"\mathfrak{W}", "½": r"\tfrac{1}{2}", "−": "-", "′": "'", "″": "''", "‴": "'''", "…": r"\ldots"}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Set the formulas in the tables of a page of equations."""
    if page.file.src_uri.startswith("gallery/"):
        return _SYMBOL.sub(lambda cell: typeset(cell[0]), markdown)
    if page.file.src_uri not in PAGES:
        return markdown
    plain = markdown.replace("&#124;", r"\|")
    return _ROW.sub(lambda row: "|" + "|".join(map(typeset, _BAR.split(row[1]))) + "|", plain)


def typeset(cell: str) -> str:
    """Return a cell with its formulas between dollars; code, links and words stay as they are."""
    parts, start = [], 0
    for protected in _PROTECTED.finditer(cell):
        parts += [_runs(cell[start : protected.start()]), protected[0]]
        start = protected.end()
    return "".join([*parts, _runs(cell[start:])])


def _runs(text: str) -> str:
    tokens = text.split(" ")
    words = [_is_word(token) for token in tokens]
    for k, token in enumerate(tokens):
        before = k == 0 or words[k - 1] or tokens[k - 1].endswith((":", ";"))
        after = k + 1 == len(tokens) or words[k + 1]
        if token == "-":  # a sign between formulas, a dash between words
            words[k] = before and after
        elif token in _ARTICLES or re.fullmatch(r"[\d.]+,?", token):
            words[k] = before and (token in _ARTICLES or after or token.endswith(","))
    runs, k = [], 0
    while k < len(tokens):
        last = k
        while last + 1 < len(tokens) and words[last + 1] == words[k]:
            last += 1
        run = " ".join(tokens[k : last + 1])
        runs.append(run if words[k] else _dollars(run))
        k = last + 1
    return " ".join(runs)


def _is_word(token: str) -> bool:
    bare = token.strip('(),.;:"')
    if re.fullmatch("[A-Z]'[A-Z]?", bare):
        return False
    return not token or bool(_WORD.fullmatch(token) and bare not in _FUNCTIONS) or bool(_LIKE_WORDS.fullmatch(token))


def _dollars(run: str) -> str:
    """Return a formula between dollars, if it is one; signs at its end stay outside."""
    inner = run.strip()
    body, end = (inner.rstrip(",;.:"), inner[len(inner.rstrip(",;.:")) :])
    if not body or not _MATHS.search(body) or re.fullmatch(r"[\d.,()-]+|[A-Z]\d+[a-z]?", body):
        return run
    if body.count("(") != body.count(")"):  # a bracket that words close
        return run
    return run.replace(inner, f"${latex(body).strip()}${end}")


def latex(text: str) -> str:
    r"""Return a formula in plain text as LaTeX.

    >>> latex("B q̈ᵣ + ½ π_b")
    'B \\ddot{q}_{r} + \\tfrac{1}{2} \\pi _{b}'
    """
    text = text.replace("\\|", "\\vert ").replace("\\*", "*").replace("\\_", "_").replace(" x ", " × ")
    text = unicodedata.normalize("NFD", text)
    text = re.sub(f"(.)([{''.join(_ACCENTS)}])", lambda m: f"{_ACCENTS[m[2]]}{{{m[1]}}}", text)
    for table, sign in ((_LOW, "_"), (_HIGH, "^")):
        signs = "".join(table).replace(",", "").replace("-", "")
        run = rf"[{signs}]+(?:,[{signs}]+)*"
        text = re.sub(run, lambda m, t=table, s=sign: f"{s}{{{''.join(t.get(c, c) for c in m[0])}}}", text)
    text = re.sub(
        r"_(?!\{)(\w+)",
        lambda m: f"_{{{m[1]}}}" if len(m[1]) < 3 or set(m[1]) <= set("hijk") else rf"_{{\mathrm{{{m[1]}}}}}",
        text,
    )
    text = re.sub(r"\^\(([^()]*)\)", r"^{\1}", text)
    text = re.sub(r"(?<![\w\\{])([a-z])(\d+)(?!\w)", r"\1_{\2}", text)
    text = re.sub(r"(?<![\\A-Za-z{])(?!dt\b)([A-Za-z]{2,})(?![A-Za-z}])", lambda m: rf"\mathrm{{{m[1]}}}", text)
    for letter, command in _LETTERS.items():
        text = text.replace(letter, command)
    return re.sub("|".join(map(re.escape, _NAMES)), lambda m: rf"\{_NAMES[m[0]]} ", text)
