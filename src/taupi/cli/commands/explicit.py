"""`taupi explicit`: a program of a robot as formulas."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.options import Description, ForceOption, RobotArgument, TaskOption, TermsOption
from taupi.cli.parsing import names as split_names
from taupi.cli.programs import FormOption, ProgramArgument, WhatOption, build_program, chosen_program
from taupi.errors import TaupiError, unknown
from taupi.files import write_text

if TYPE_CHECKING:
    from taupi.program.explicit.form import Explicit

FormatOption = Annotated[
    str, typer.Option("--format", help="text, latex, markdown, html, sympy, mathematica or maple.")
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time", help="Symbol of time, such as t: write coordinates as functions of it and velocities as derivatives."
    ),
]
LinkOption = Annotated[str | None, typer.Option("--link", help="Show X, W, Z of this link of the regressor.")]
FullOption = Annotated[bool, typer.Option("--full", help="Keep the columns that vanish for every motion.")]
ValuesOption = Annotated[bool, typer.Option("--values", help="Replace symbols by their numbers where these are known.")]
NamesOption = Annotated[bool, typer.Option("--names", help="Give names to sums that repeat.")]
ShortOption = Annotated[bool, typer.Option("--short", help="Write c12 for cos(q1 + q2).")]
DigitsOption = Annotated[int | None, typer.Option("--digits", help="Round numbers to this many digits.")]
IntermediatesOption = Annotated[
    int | None,
    typer.Option(
        "--intermediates", help="Give names to intermediate terms, so that no formula has more parts than this."
    ),
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File to write instead of printing.")]


def explicit(
    robot: RobotArgument,
    program: ProgramArgument = None,
    *,
    what: WhatOption = None,
    form: FormOption = None,
    format: FormatOption = "text",
    time: TimeOption = None,
    link: LinkOption = None,
    full: FullOption = False,
    values: ValuesOption = False,
    names: NamesOption = False,
    short: ShortOption = False,
    digits: DigitsOption = None,
    intermediates: IntermediatesOption = None,
    terms: TermsOption = "",
    task: TaskOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
    description: Description,
) -> None:
    """Write a regressor or any other program of a robot as formulas.

    \b
    taupi explicit elbow2r regressor --form slotine-li --format latex
    taupi explicit lecture2r coriolis-matrix --short
    taupi explicit lecture2r bias-torque --format mathematica --time t
    """
    import taupi as tp

    check_format(format, time)
    name = chosen_program(program, what, "regressor")
    arm = description.load(robot)
    notation: dict[str, Any] = {"values": values, "names": names, "short": short}
    notation |= {"digits": digits, "intermediates": intermediates}
    if link is not None:
        if name != "regressor" or terms:
            raise TaupiError(
                "--link shows the parts of the regressor of a link: leave out --what (or PROGRAM) and --terms."
            )
        formulas = tp.explicit_regressor(arm).link(link, form or "slotine-li", **notation)
    else:
        built = build_program(name, arm, split_names(terms), form, task)
        if built.parameters is not None and len(built.outputs[0].shape) == 2 and not full:
            built = built.reduced()  # a regressor: the columns that act
        formulas = built.explicit(**notation)
    _print_or_write(formulas_text(formulas, format, time), output, force)


def _print_or_write(text: str, output: Path | None, force: bool) -> None:
    if output is None and force:
        raise TaupiError("--force is for a file: name it with --output.")
    if output is None:
        print(text)
        return
    write_text(output, text + "\n", force=force)
    print(f"wrote {output}", file=sys.stderr)


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>{title}</title>
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
    "mathematica": lambda e, time: e.mathematica(time),
    "maple": lambda e, time: e.maple(time),
}
FORMATS = ("text", "latex", "markdown", "html", "sympy", "mathematica", "maple")


def check_format(format: str, time: str | None) -> None:
    """Refuse an unknown format, and `time` in a format that does not support it."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    if time is not None and format not in TIMED:
        raise TaupiError("--time is for the formats {timed:,}, got {format}.", timed=TIMED, format=format)


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
