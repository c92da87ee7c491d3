"""The friction of each joint: one row per joint, one column per kind of friction."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.fit_content import FitContent, ParameterRow
from taupi.reporting.sections.base import cell, head, number

# Kinds of friction, and what their columns are headed.
KINDS = {
    "viscous": "viscous",
    "coulomb": "Coulomb",
    "stribeck": "Stribeck",
    "curve": "curve",
    "load": "share of the load",
    "offset": "offset",
}


class FrictionSection:
    """Friction joint by joint, with standard errors."""

    name: ClassVar[str] = "friction"
    title: ClassVar[str] = "Friction"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the table; None if the fit has no friction."""
        joints: dict[str, dict[str, ParameterRow]] = {}
        for p in content.parameters:
            owner, _, kind = p.name.rpartition(".")
            if kind.removesuffix("R") in KINDS:
                joints.setdefault(owner, {})[kind.removesuffix("R")] = p
        kinds = [kind for kind in KINDS if any(kind in row for row in joints.values())]
        if not kinds:
            return None
        rows = [
            "<tr>" + cell(owner, "name") + "".join(cell(_text(row.get(k)), "number") for k in kinds) + "</tr>"
            for owner, row in joints.items()
        ]
        titles = ["joint", *(KINDS[kind] for kind in kinds)]
        return {"table": f"{head(titles, range(1, len(titles)))}<tbody>{''.join(rows)}</tbody>"}


def _text(p: ParameterRow | None) -> str:
    if p is None:
        return ""
    unit = "" if p.unit == "1" else f" {p.unit}"
    return (
        f"{number(p.value)} ± {number(p.stderr, 2)}{unit}"
        if p.determined
        else f"{number(p.value)}{unit}, not determined"
    )
