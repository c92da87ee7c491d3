"""What the command line prints of explicit and lumped forms."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from taupi.cli.programs import built
from taupi.errors import TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.explicit.form import Explicit

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


def _page(made: Explicit) -> str:
    """Return a page that needs nothing from elsewhere."""
    columns = ", ".join(f"{k + 1}&nbsp;{escape(name)}" for k, name in enumerate(made.columns))
    told = f'<p class="columns">Columns: {columns}</p>\n' if columns else ""
    return _PAGE.format(title=escape(made.name.replace("_", " ")), body=told + made.html())


FORMATS: dict[str, Callable[[Explicit], str]] = {
    "text": Explicit.text,
    "latex": Explicit.latex,
    "markdown": Explicit.markdown,
    "html": _page,
    "sympy": lambda e: repr(e.sympy()),
}


def explicit_form(
    robot: Robot,
    what: str,
    form: str | None,
    link: str | None,
    full: bool,
    terms: tuple[str, ...],
    task: str | None,
    settings: dict[str, Any],
) -> Explicit:
    """Return a program of a robot as formulas; of a regressor the columns that act, or one link's parts."""
    if link is not None:
        import taupi as tp

        if what != "regressor" or terms:
            raise TaupiError("--link shows the parts of the regressor of a link: leave out --what and --terms.")
        return tp.explicit_regressor(robot).link(link, form or "slotine-li", **settings)
    program = built(what, robot, terms, form, task)
    if program.parameters is not None and len(program.outputs[0].shape) == 2 and not full:
        program = program.reduced()
    return program.explicit(**settings)


def written(made: Explicit, format: str) -> str:
    """Return an explicit form in a format, with a line that says what the columns are."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    text = FORMATS[format](made)
    if format == "text" and made.columns:
        columns = ", ".join(f"{k + 1} {name}" for k, name in enumerate(made.columns))
        text = f"columns: {columns}\n{text}"
    return text


def lump_data(lumped: Any) -> dict[str, Any]:
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


def lump_text(lumped: Any, regressor: bool) -> str:
    """Return a lumped form as text."""
    return f"{lumped!r}\n\n{lumped.regressor.explicit().text()}" if regressor else repr(lumped)
