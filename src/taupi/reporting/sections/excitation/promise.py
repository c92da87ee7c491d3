"""What a log of the motion will show: standard deviations beside those of random motions, condition, expected errors."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.sections.base import cell, figure, head, number, percent


class PromiseSection:
    """The promise in numbers, and the expected standard error of each parameter."""

    name: ClassVar[str] = "promise"
    title: ClassVar[str] = "What it promises"

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return figures and the table of errors."""
        plan, factor = content.plan, content.plan.std_factor
        how = "larger" if factor < 1 else "smaller"
        tiles = [
            figure(number(max(factor, 1 / factor), 3), f"times {how} standard deviations than random motions"),
            figure(f"{plan.conditioning.rank} of {plan.base.count}", "parameters determined"),
            figure(number(plan.conditioning.scaled_condition, 3), "condition number, columns of length one"),
            figure(
                "proven" if plan.certified else "not proven", "limits at all times", "" if plan.certified else "warn"
            ),
        ]
        parameters = plan.base.parameters
        rows = zip(plan.names, parameters.units, parameters.values, plan.expected, plan.base.expressions, strict=True)
        lines = "".join(
            f"<tr>{cell(name, 'name')}{cell(unit, 'unit')}{cell(number(value, 5), 'number')}{cell(number(error, 2), 'number')}"
            f"{cell(percent(error / abs(value)) if value else '', 'number')}{cell(str(stands_for), 'short')}</tr>"
            for name, unit, value, error, stands_for in rows
        )
        titles = ("base parameter", "unit", "description", "expected error", "relative", "stands for")
        return {
            "figures": f'<div class="figures">{"".join(tiles)}</div>',
            "errors": f"{head(titles, (2, 3, 4))}<tbody>{lines}</tbody>",
        }
