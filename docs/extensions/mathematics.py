"""Set the formulas of a page: LaTeX between dollars, and LaTeX that a snippet printed, become MathML when the site is built.

Nothing is fetched and no script runs: browsers set MathML themselves, from file:// too.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# A fence that holds one LaTeX environment, as Program.explicit().latex() prints it.
_PRINTED = re.compile(r"^```text\n(\\begin\{(\w+)\}\n(?:(?!^```).)*?\\end\{\2\}\n)```$", re.MULTILINE | re.DOTALL)
_SET = re.compile(r'<(div|span) class="arithmatex">\\[\[(](.*?)\\[\])]</\1>', re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the formula below each fence that holds its LaTeX."""
    return _PRINTED.sub(lambda m: f'{m[0]}\n\n<div class="printed">{formula(m[1], True)}</div>\n', markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Set what stands between dollars."""
    return _SET.sub(lambda m: formula(html.unescape(m[2]), m[1] == "div"), content)


def formula(latex: str, displayed: bool) -> str:
    """Return LaTeX as MathML, a displayed one in a box that scrolls."""
    known = latex.replace("{aligned}", "{align}").replace(r"\bigl", r"\left").replace(r"\bigr", r"\right")
    mathml = convert(known.strip(), display="block" if displayed else "inline")
    return f'<div class="formula" tabindex="0">{mathml}</div>' if displayed else str(mathml)
