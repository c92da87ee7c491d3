"""`taupi lump`: dynamics linear in parameters of your choice."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from taupi.cli.description import Description
from taupi.cli.options import JsonOption, RobotArgument, TaskOption, TermsOption
from taupi.cli.parsing import names
from taupi.cli.programs import FormOption, WhatOption, build_program


def lump(
    robot: RobotArgument,
    *,
    unknown: Annotated[str, typer.Option("--unknown", help="Symbols that are not known: m1,m2,L1 or '*.m'.")],
    what: WhatOption = "inverse-dynamics",
    into: Annotated[str | None, typer.Option("--into", help="Prescribed parameters, separated by ';'.")] = None,
    independent: Annotated[bool, typer.Option("--independent", help="Keep independent columns only.")] = False,
    show: Annotated[bool, typer.Option("--regressor", help="Print the regressor as well.")] = False,
    form: FormOption = None,
    terms: TermsOption = "",
    task: TaskOption = None,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Make the dynamics linear in the parameters you choose: f = known + Y Theta, exactly.

    \b
    taupi lump lecture2r --unknown m1,m2,L1,L2
    taupi lump planar3r --what operational-force --task planar \\
      --unknown 'm?,I?,l?,lc?' --json
    """
    import taupi as tp
    from taupi.cli.show.formulas import lump_data, lump_text

    program = build_program(what, description.load(robot), names(terms), form, task)
    prescribed = [e.strip() for e in into.split(";") if e.strip()] if into else None
    lumped = tp.lump(program, names(unknown), into=prescribed)
    lumped = lumped.independent() if independent else lumped
    print(json.dumps(lump_data(lumped), indent=2) if as_json else lump_text(lumped, show))
