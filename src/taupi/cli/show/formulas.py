"""What is printed about programs as formulas, in every format, and about lumped parameters."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from taupi.errors import TaupiError, unknown
from taupi.program.explicit.form import Explicit
from taupi.regressors.lump import Lumped

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; line-height: 1.4 }}
h1 {{ font-size: 1.4em }} math {{ font-size: 1.15em }} table {{ border-collapse: collapse }} td {{ padding: 0.3em 0.5em }}
tr:nth-child(even) {{ background: #f5f6f8 }} .columns {{ color: #444; font-size: 0.9em }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #16181d; color: #e6e6e6 }} tr:nth-child(even) {{ background: #20242c }} .columns {{ color: #aaa }}
}}
</style></head>
<body><h1>{title}</h1>
{body}
</body></html>"""


def _page(formulas: Explicit) -> str:
    """Return a self-contained page."""
    columns = ", ".join(f"{k + 1}&nbsp;{escape(name)}" for k, name in enumerate(formulas.columns))
    heading = f'<p class="columns">Columns: {columns}</p>\n' if columns else ""
    return _PAGE.format(title=escape(formulas.name.replace("_", " ")), body=heading + formulas.html())


# In the first formats, coordinates may be functions of time.
TIMED: dict[str, Callable[[Explicit, str | None], str]] = {
    "text": lambda e, time: e.text(time=time),
    "latex": lambda e, time: e.latex(time=time),
    "sympy": lambda e, time: repr(e.sympy(time)),
    "mathematica": Explicit.mathematica,
    "maple": Explicit.maple,
}
FORMATS = ("text", "latex", "markdown", "html", "sympy", "mathematica", "maple")


def check_format(format: str, time: str | None) -> None:
    """Refuse an unknown format, and `time` in a format that does not support it."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    if time is not None and format not in TIMED:
        raise TaupiError(f"--time is for the formats {', '.join(TIMED)}, got {format}.")


def formulas_text(formulas: Explicit, format: str, time: str | None = None) -> str:
    """Return formulas in a format, of coordinates that depend on `time`; as text, with a line that says what the columns are."""
    if format == "markdown":
        return formulas.markdown()
    if format == "html":
        return _page(formulas)
    text = TIMED[format](formulas, time)
    if format == "text" and formulas.columns:
        columns = ", ".join(f"{k + 1} {name}" for k, name in enumerate(formulas.columns))
        text = f"columns: {columns}\n{text}"
    return text


def lump_data(lumped: Lumped) -> dict[str, Any]:
    """Return a lumped form as plain data."""
    values = None if any(v is None for _, v in lumped.parameters.symbols) else lumped.parameters.values.tolist()
    return {
        "program": lumped.regressor.name,
        "unknown": list(lumped.unknown),
        "count": lumped.count,
        "rank": lumped.rank,
        "parameters": {n: str(e) for n, e in zip(lumped.parameters.names, lumped.expressions, strict=True)},
        "values": values,
        "identities": list(lumped.identities),
        "relations": list(lumped.relations),
        "regressor": lumped.regressor.explicit().text(),
        "known": lumped.known.explicit().text(),
    }


def lump_text(lumped: Lumped, regressor: bool) -> str:
    """Return a lumped form as text."""
    return f"{lumped!r}\n\n{lumped.regressor.explicit().text()}" if regressor else repr(lumped)
