"""What to be careful about."""

from __future__ import annotations

from typing import ClassVar

from taupi.report.sections.base import listed
from taupi.report.story import Story


class RemarksSection:
    """The remarks of every trial."""

    name: ClassVar[str] = "remarks"
    title: ClassVar[str] = "Warnings"

    def fields(self, content: Story) -> dict[str, str]:
        """Return the list."""
        told = list(dict.fromkeys((t.name, r) for t in content.trials for r in t.remarks))
        sentences = [f"{name}: {remark}" if content.several else remark for name, remark in told]
        return {"remarks": listed(sentences, "warn") if sentences else '<p class="good">Nothing to warn about.</p>'}
