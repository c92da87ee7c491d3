"""`taupi regressor`: the columns of a regressor, or its value."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from taupi.cli.description import Description
from taupi.cli.options import CouplingOption, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import names
from taupi.cli.programs import build_program


def regressor(
    robot: RobotArgument,
    *,
    form: Annotated[str, typer.Option("--form", help="classical, slotine-li or elastic.")] = "classical",
    terms: TermsOption = "",
    at: Annotated[
        str | None, typer.Option("--at", help="Evaluate at a state: JSON lists q, qd, qdd (or q, qd, qrd, qrdd).")
    ] = None,
    coupling: CouplingOption = True,
    as_json: JsonOption = False,
    description: Description,
) -> None:
    """Show a regressor: its columns, which of them act, its cost; or its value at a state.

    \b
    taupi regressor puma560 --form slotine-li
    taupi regressor zollo2r --form elastic
    taupi regressor elbow2r --at '[[0.1,0.2],[0.3,0.4],[0.5,0.6]]' --json
    """
    from taupi.cli.show.regressor import regressor_data, regressor_text, value_text

    program = build_program("regressor", description.load(robot), names(terms), form, coupling=coupling)
    if at is not None:
        print(value_text(program, at, as_json))
    else:
        print(json.dumps(regressor_data(program), indent=2) if as_json else regressor_text(program))
