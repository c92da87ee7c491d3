"""`taupi explicit`: a program of a robot as formulas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.description import Description
from taupi.cli.options import ForceOption, RobotArgument, TaskOption, TermsOption
from taupi.cli.parsing import names as split_names
from taupi.cli.programs import FormOption, WhatOption, build_program
from taupi.errors import TaupiError
from taupi.files import write_text

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
    *,
    what: WhatOption = "regressor",
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
    taupi explicit elbow2r --what regressor --form slotine-li --format latex
    taupi explicit lecture2r --what coriolis-matrix --short
    taupi explicit lecture2r --what bias-torque --format mathematica --time t
    """
    import taupi as tp
    from taupi.cli.show.formulas import check_format, formulas_text

    check_format(format, time)
    arm = description.load(robot)
    notation: dict[str, Any] = {"values": values, "names": names, "short": short}
    notation |= {"digits": digits, "intermediates": intermediates}
    if link is not None:
        if what != "regressor" or terms:
            raise TaupiError("--link shows the parts of the regressor of a link: leave out --what and --terms.")
        formulas = tp.explicit_regressor(arm).link(link, form or "slotine-li", **notation)
    else:
        program = build_program(what, arm, split_names(terms), form, task)
        if program.parameters is not None and len(program.outputs[0].shape) == 2 and not full:
            program = program.reduced()  # a regressor: the columns that act
        formulas = program.explicit(**notation)
    _print_or_write(formulas_text(formulas, format, time), output, force)


def _print_or_write(text: str, output: Path | None, force: bool) -> None:
    if output is None and force:
        raise TaupiError("--force is for a file: name it with --output.")
    if output is None:
        print(text)
        return
    write_text(output, text + "\n", force=force)
    print(f"wrote {output}", file=sys.stderr)
