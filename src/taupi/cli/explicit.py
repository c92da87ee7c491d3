"""What the command line prints of explicit and lumped forms."""

from __future__ import annotations

from typing import Any

from taupi.cli.programs import built
from taupi.errors import TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.explicit.form import Explicit

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em }} td {{ padding: 0.2em 0.4em; vertical-align: top }}</style></head>
<body><h1>{title}</h1>
{body}
</body></html>"""

FORMATS = {
    "text": Explicit.text,
    "latex": Explicit.latex,
    "markdown": Explicit.markdown,
    "html": lambda e: _PAGE.format(title=e.name.replace("_", " "), body=e.html()),
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
