"""What the logs determine, in words, and notes; objections to the fit are in its verdict, at the top."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import listed


class WarningsSection:
    """The sentences about the conditioning, and the notes of the fit."""

    name: ClassVar[str] = "warnings"
    title: ClassVar[str] = "What the logs determine, and notes"

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return both lists."""
        weak = [p.name for p in content.parameters if p.determined and not p.significant]
        notes = list(content.notes)
        if weak:
            some = ", ".join(weak[:12]) + (f" and {len(weak) - 12} more" if len(weak) > 12 else "")
            notes.append(f"{len(weak)} parameters could be zero: {some}.")
        return {"sentences": listed(content.sentences), "notes": listed(notes) if notes else "<p>None.</p>"}
