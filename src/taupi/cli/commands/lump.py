"""`taupi lump`: dynamics linear in parameters of your choice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import Description, JsonOption, RobotArgument, TaskOption, TermsOption
from taupi.cli.parsing import names
from taupi.cli.programs import FormOption, ProgramArgument, WhatOption, build_program, chosen_program

if TYPE_CHECKING:
    from taupi.regressors.lump import Lumped


def lump(
    robot: RobotArgument,
    program: ProgramArgument = None,
    *,
    unknown: Annotated[str, typer.Option("--unknown", help="Symbols that are not known: m1,m2,L1 or '*.m'.")],
    what: WhatOption = None,
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
    taupi lump planar3r operational-force --task planar \\
      --unknown 'm?,I?,l?,lc?' --json
    """
    import taupi as tp

    name = chosen_program(program, what, "inverse-dynamics")
    built = build_program(name, description.load(robot), names(terms), form, task)
    prescribed = [e.strip() for e in into.split(";") if e.strip()] if into else None
    lumped = tp.lump(built, names(unknown), into=prescribed)
    lumped = lumped.independent() if independent else lumped
    print(json.dumps(lump_data(lumped), indent=2) if as_json else lump_text(lumped, show))


def lump_data(lumped: Lumped) -> dict[str, object]:
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
