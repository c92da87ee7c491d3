"""The ten numbers of a payload with their intervals, and what to know about them."""

from __future__ import annotations

from typing import Any, ClassVar

from taupi.reporting.sections.base import cell, head, listed


class NumbersSection:
    """Mass, centre of mass and inertia about it, each with its standard error and interval."""

    name: ClassVar[str] = "numbers"
    title: ClassVar[str] = "Numbers"

    def fields(self, content: Any) -> dict[str, str]:
        """Return the table and the notes."""
        titles, *rows = content.load.rows()
        lines = "".join(
            f"<tr>{cell(name, 'name')}{''.join(cell(text, 'number') for text in (value, error, interval))}{cell(unit, 'unit')}</tr>"
            for name, value, error, interval, unit in rows
        )
        return {"table": f"{head(titles, (1, 2, 3))}<tbody>{lines}</tbody>", "notes": listed(content.load.notes)}
