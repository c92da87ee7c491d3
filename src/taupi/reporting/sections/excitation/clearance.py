"""How near links come to each other and to their surroundings."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.chart import coloured
from taupi.reporting.excitation_content import SPARE, ExcitationContent
from taupi.reporting.sections.base import listed

# The pairs that come nearest; more lines than colours say nothing.
_DRAWN = 8


class ClearanceSection:
    """The distances of the nearest pairs over time, and which pairs were left out, and why."""

    name: ClassVar[str] = "clearance"
    title: ClassVar[str] = "Clearance"

    def fields(self, content: ExcitationContent) -> dict[str, str] | None:
        """Return a chart and sentences."""
        plan = content.plan
        if plan.clearance is None:
            return {"chart": "", "sentence": html.escape(plan.unchecked.get("clearance", "")), "left_out": ""}
        nearest = sorted(content.spare.items(), key=lambda item: item[1].min())[:_DRAWN]
        lines = [coloured(str(pair), k, values) for k, (pair, values) in enumerate(nearest)]
        left_out = [f"{pair}: {reason}" for pair, reason in plan.clearance.left_out]
        return {
            "chart": content.chart("the pairs that come nearest", SPARE, [content.edge("asked", 0.0), *lines]),
            "sentence": html.escape(plan.certificates["clearance"].sentence),
            "left_out": f"<p>Left out:</p>{listed(left_out)}" if left_out else "",
        }
