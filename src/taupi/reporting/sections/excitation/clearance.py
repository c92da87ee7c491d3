"""How near links come to each other and to their surroundings."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.sections.base import listed


class ClearanceSection:
    """What is proven about distances, and which pairs were left out, and why."""

    name: ClassVar[str] = "clearance"
    title: ClassVar[str] = "Clearance"

    def fields(self, content: ExcitationContent) -> dict[str, str] | None:
        """Return sentences."""
        plan = content.plan
        if plan.clearance is None:
            return {"sentence": html.escape(plan.unchecked.get("clearance", "")), "left_out": ""}
        left_out = [f"{pair}: {reason}" for pair, reason in plan.clearance.left_out]
        return {
            "sentence": html.escape(plan.certificates["clearance"].sentence),
            "left_out": f"<p>Left out:</p>{listed(left_out)}" if left_out else "",
        }
