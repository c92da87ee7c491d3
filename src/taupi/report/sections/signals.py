"""What was done to the signals of each log."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.report.content import Content
from taupi.report.sections.base import listed


class SignalsSection:
    """The notes of every log, in the order in which things were done."""

    name: ClassVar[str] = "signals"
    title: ClassVar[str] = "What was done to the signals"

    def fields(self, content: Content) -> dict[str, str] | None:
        """Return a list a log."""
        runs = [run for run in content.runs if run.notes]
        if not runs:
            return None
        return {
            "runs": "\n".join(f"<h3>{html.escape(r.name)} <small>{r.role}</small></h3>{listed(r.notes)}" for r in runs)
        }
