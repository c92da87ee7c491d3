"""Warnings."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.run_content import RunContent
from taupi.reporting.sections.base import listed


class RemarksSection:
    """The remarks of every trial."""

    name: ClassVar[str] = "remarks"
    title: ClassVar[str] = "Warnings"

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the list."""
        remarks = list(dict.fromkeys((t.name, r) for t in content.trials for r in t.remarks))
        sentences = [f"{name}: {remark}" if content.several else remark for name, remark in remarks]
        return {"remarks": listed(sentences, "warn") if sentences else '<p class="good">Nothing to warn about.</p>'}
