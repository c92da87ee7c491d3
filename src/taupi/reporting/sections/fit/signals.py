"""What was done to the signals of each log."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import listed


class SignalsSection:
    """The notes of every log, in the order in which things were done."""

    name: ClassVar[str] = "signals"
    title: ClassVar[str] = "What was done to the signals"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return one list per log."""
        logs = [log for log in content.logs if log.notes]
        if not logs:
            return None
        return {
            "logs": "\n".join(
                f"<h3>{html.escape(log.name)} <small>{log.role}</small></h3>{listed(log.notes)}" for log in logs
            )
        }
