"""How near links come to each other and to their surroundings."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.chart import coloured
from taupi.reporting.excitation_content import ExcitationContent
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
        distances = 1000 * plan.clearance.rows(content.states[0])
        nearest = distances.min(axis=0).argsort()[:_DRAWN]
        lines = [coloured(str(plan.clearance.pairs[k]), i, distances[:, k]) for i, k in enumerate(nearest)]
        left_out = [f"{pair}: {reason}" for pair, reason in plan.clearance.left_out]
        return {
            "chart": content.chart("distance beyond the clearance", "mm", lines),
            "sentence": html.escape(plan.certificates["clearance"].sentence),
            "left_out": f"<p>Left out:</p>{listed(left_out)}" if left_out else "",
        }
