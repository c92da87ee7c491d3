"""`taupi regressor`: the columns of a regressor, or its value."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taupi.cli.options import CouplingOption, Description, JsonOption, RobotArgument, TermsOption
from taupi.cli.parsing import json_value, names
from taupi.cli.programs import build_program
from taupi.errors import TaupiError
from taupi.tables import table

if TYPE_CHECKING:
    from taupi.program.program import Program


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
    program = build_program("regressor", description.load(robot), names(terms), form, coupling=coupling)
    if at is not None:
        print(value_text(program, at, as_json))
    else:
        print(json.dumps(regressor_data(program), indent=2) if as_json else regressor_text(program))


def regressor_data(program: Program) -> dict[str, Any]:
    """Return what a regressor is as plain data."""
    counts = program.operations
    acting = set(program.reduced().parameters.names)
    names, units = program.parameters.names, program.parameters.units
    columns = [{"name": n, "unit": u, "acts": n in acting} for n, u in zip(names, units, strict=True)]
    return {
        "name": program.name,
        "inputs": {p.name: list(p.shape) for p in program.inputs},
        "shape": list(program.outputs[0].shape),
        "columns": columns,
        "nonzeros": int(program.sparsity().sum()),
        "multiplications": counts.multiplications,
        "additions": counts.additions,
    }


def regressor_text(program: Program) -> str:
    """Return what a regressor is as text."""
    data = regressor_data(program)
    n, p = data["shape"]
    acting = [c["name"] for c in data["columns"] if c["acts"]]
    inputs = ", ".join(data["inputs"])
    lines = [f"{program.name}({inputs}): {n} x {p}, {data['nonzeros']} structural nonzeros, {program.operations}"]
    lines.append(f"{len(acting)} of {p} columns act; the others vanish for every motion:")
    rows = [("parameter", "unit", "acts")] + [
        (c["name"], c["unit"], "yes" if c["acts"] else "-") for c in data["columns"]
    ]
    return "\n".join([*lines, "", *table(rows)])


def value_text(program: Program, at: str, as_json: bool) -> str:
    """Return a program's value at a state, which is a JSON list of vectors; as a table, or as JSON."""
    state = json_value(at)
    if not isinstance(state, list):
        names = ", ".join(p.name for p in program.inputs)
        raise TaupiError("{at} is {got!r}, expected JSON: a list of the vectors {names}.", got=at[:60], names=names)
    value = program.compile("numpy")(*state)
    if not all(map(math.isfinite, value.ravel())):
        raise TaupiError("{at} gives a result that is not finite: are all of its numbers finite?")
    if as_json:
        return json.dumps({"columns": list(program.parameters.names), "Y": value.tolist()})
    return "\n".join(" ".join(f"{v: .9g}" for v in row) for row in value.reshape(-1, value.shape[-1]))
