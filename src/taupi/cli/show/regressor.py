"""What is printed about a regressor: its columns and its cost, or its value at a state."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from taupi.cli.parsing import json_value
from taupi.errors import Argument, TaupiError
from taupi.program.program import Program
from taupi.tables import table


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
        raise TaupiError(Argument("at"), f" is {at[:60]!r}, expected JSON: a list of the vectors {names}.")
    value = program.compile("numpy")(*state)
    if not np.isfinite(value).all():
        raise TaupiError(Argument("at"), " gives a result that is not finite: are all its numbers?")
    if as_json:
        return json.dumps({"columns": list(program.parameters.names), "Y": value.tolist()})
    return "\n".join(" ".join(f"{v: .9g}" for v in row) for row in value.reshape(-1, value.shape[-1]))
