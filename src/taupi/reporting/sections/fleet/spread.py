"""How the parameters of a fleet are spread, and how much torque each arm leaves unexplained."""

from __future__ import annotations

from typing import Any, ClassVar

from taupi.reporting.arm_values import arm_values
from taupi.reporting.sections.base import cell, head, number, percent


class SpreadSection:
    """A table of parameters, and one of arms."""

    name: ClassVar[str] = "spread"
    title: ClassVar[str] = "The fleet"
    template: ClassVar[str] = "$parameters\n$arms"

    def fields(self, content: Any) -> dict[str, str]:
        """Return the two tables."""
        fleet = content.fleet
        rows = "".join(
            f"<tr>{cell(each.name, 'name')}{cell(each.unit, 'unit')}{cell(number(each.typical, 3), 'number')}"
            f"{cell(number(s.deviation, 2), 'number')}{cell('ratios' if s.logarithmic else 'differences')}</tr>"
            for each, s in zip(arm_values(fleet), fleet.spread.values(), strict=True)
        )
        titles = head(("parameter", "unit", "typical arm", "deviation between arms", "compared by"), (2, 3))
        arms = "".join(
            f"<tr>{cell(name, 'name')}{cell(str(len(fit.logs)), 'number')}{cell(percent(fit.relative), 'number')}</tr>"
            for name, fit in fleet.items()
        )
        arm_titles = head(("arm", "logs", "torque left unexplained"), (1, 2))
        return {
            "parameters": f'<div class="wide"><table>{titles}<tbody>{rows}</tbody></table></div>',
            "arms": f'<div class="wide"><table>{arm_titles}<tbody>{arms}</tbody></table></div>',
        }
