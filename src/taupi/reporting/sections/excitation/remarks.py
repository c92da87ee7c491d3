"""What is proven, what was not checked, and what was assumed, in words."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.sections.base import listed


class RemarksSection:
    """Sentences."""

    name: ClassVar[str] = "remarks"
    title: ClassVar[str] = "Remarks"
    template: ClassVar[str] = "$sentences\n"

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return a list."""
        first = () if "speed" in content.plan.record else ("Try it at 30 % of the speed first (--speed 0.3).",)
        return {"sentences": listed((*content.plan.sentences, *first))}
