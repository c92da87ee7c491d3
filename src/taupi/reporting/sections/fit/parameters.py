"""What was identified, with intervals; and what can be known about each standard parameter."""

from __future__ import annotations

import math
from typing import ClassVar

from taupi.reporting.fit_content import FitContent, ParameterRow
from taupi.reporting.sections.base import cell, head, number, percent


class ParametersSection:
    """Base parameters with their uncertainty, then standard parameters with their classes."""

    name: ClassVar[str] = "parameters"
    title: ClassVar[str] = "Parameters"

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return both tables."""
        titles = (
            "base parameter",
            "unit",
            "value",
            "± standard error",
            "relative",
            "",
            "95 % interval",
            "description",
            "stands for",
        )
        base = "".join(map(_row, content.parameters))
        counts = {k: sum(s.kind == k for s in content.standard) for k in ("independent", "combined", "unidentifiable")}
        names = ["standard parameter", "unit", "class", "description"]
        solved = any(s.value is not None for s in content.standard)
        rows = [
            "<tr>"
            + cell(s.name, "name") + cell(s.unit, "unit") + cell(s.kind) + cell(number(s.prior, 5), "number")
            + (cell("-" if s.value is None else number(s.value, 5), "number") if solved else "")
            + "</tr>"
            for s in content.standard
        ]  # fmt: skip
        standard = f"{head(names + ['consistent value'] * solved, (3, 4))}<tbody>{''.join(rows)}</tbody>"
        summary = ", ".join(f"{n} {kind}" for kind, n in counts.items())
        return {
            "base": f"{head(titles, (2, 3, 4, 6, 7))}<tbody>{base}</tbody>",
            "standard": standard,
            "counts": summary,
        }


def _row(p: ParameterRow) -> str:
    cells = [
        cell(p.name, "name"),
        cell(p.unit, "unit"),
        cell(number(p.value, 5), "number"),
        cell(number(p.stderr, 2) if p.determined else "not determined", "number"),
        cell(percent(p.relative) if p.determined else "", "number"),
        f"<td>{_bar(p.relative)}</td>",
        cell(f"{number(p.low)} .. {number(p.high)}" if p.determined else "", "number"),
        cell(number(p.prior, 5), "number"),
        cell(p.stands_for, "short"),
    ]
    kind = "" if p.significant else ' class="weak"'
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _bar(relative: float) -> str:
    """Return the relative error as a bar, full at one."""
    width = 110 * (min(1.0, relative) if math.isfinite(relative) else 1.0)
    full, part = '<rect y="4" width="110" height="4"/>', f'<rect class="fill" y="2" width="{width:.1f}" height="8"/>'
    return f'<svg class="bar" viewBox="0 0 110 12" aria-hidden="true">{full}{part}</svg>'
