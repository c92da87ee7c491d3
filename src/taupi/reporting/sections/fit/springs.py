"""Springs, and the encoders on both sides of each."""

from __future__ import annotations

from typing import ClassVar

from taupi.identification.results.spring_table import NUMBERS
from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import cell, head, listed


class SpringsSection:
    """One row per elastic joint, and objections to a spring."""

    name: ClassVar[str] = "springs"
    title: ClassVar[str] = "Springs and encoders"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the table, and the doubts as a list; None for a robot without springs."""
        if not content.springs:
            return None
        titles, *rows = content.springs
        cells = (
            "".join(cell(text, "name" if k == 0 else "number" if k in NUMBERS else "") for k, text in enumerate(row))
            for row in rows
        )
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return {
            "table": f'<div class="wide"><table>{head(titles, NUMBERS)}<tbody>{body}</tbody></table></div>',
            "doubts": listed(content.spring_doubts, "warn") if content.spring_doubts else "",
        }
