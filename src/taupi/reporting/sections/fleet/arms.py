"""The arms side by side: each own parameter with its interval, what stands out in red."""

from __future__ import annotations

from typing import Any, ClassVar

from taupi.reporting.arm_dots import arm_dots
from taupi.reporting.arm_values import arm_values

_MEANING = (
    "A dot is the value from one arm's own logs, with its 95 % interval; point at it for the numbers. The dashed line is a "
    "typical arm. Red dots are the arms listed above. A hollow dot on that line is an arm whose logs do not determine the value."
)


class ArmsSection:
    """One picture per parameter, first those in which an arm stands out, the farthest first."""

    name: ClassVar[str] = "arms"
    title: ClassVar[str] = "Arms side by side"
    template: ClassVar[str] = '<p class="soft">$meaning</p>\n<div class="charts">$charts</div>'

    def fields(self, content: Any) -> dict[str, str]:
        """Return the pictures, and how to read them."""
        farthest = [each.parameter for each in content.fleet.outliers(content.limit)]
        panels = sorted(
            arm_values(content.fleet, content.limit),
            key=lambda panel: farthest.index(panel.name) if panel.name in farthest else len(farthest),
        )
        return {"meaning": _MEANING, "charts": "\n".join(arm_dots(panel) for panel in panels)}
