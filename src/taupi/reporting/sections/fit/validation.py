"""How well each joint's torque is predicted, log by log."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.fit_content import FITTED, HELD_OUT, FitContent, JointRow, LogRow
from taupi.reporting.sections.base import cell, head, number, percent

NOTHING_HELD_OUT = (
    "No log was held out, and the error on fitted logs says little about other motions: add some with --validate."
)


class ValidationSection:
    """One table per log: held-out ones first, then all that were fitted together."""

    name: ClassVar[str] = "validation"
    title: ClassVar[str] = "Fit and validation"

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the tables."""
        fitted = LogRow("all fitted logs", FITTED, content.joints, content.relative)
        logs = [log for log in content.logs if log.role == HELD_OUT] + [fitted]
        missing = "" if len(logs) > 1 else f'<p class="note">{NOTHING_HELD_OUT}</p>'
        return {"tables": "\n".join(map(_table, logs)), "missing": missing}


def _table(log: LogRow) -> str:
    raw = any(j.raw == j.raw for j in log.joints)
    titles = ["joint", "unit", "samples", "rms", "relative error", "R²", *(["rms, unfiltered torque"] if raw else [])]
    rows = "".join(_row(j, raw) for j in log.joints)
    empty = cell("")
    cells = [cell("all"), empty * 3, cell(percent(log.relative), "number"), empty * (2 if raw else 1)]
    total = f'<tr class="total">{"".join(cells)}</tr>'
    heading = f"<h3>{html.escape(log.name)} <small>{log.role}</small></h3>"
    return f'{heading}<div class="wide"><table>{head(titles, range(2, 7))}<tbody>{rows}{total}</tbody></table></div>'


def _row(j: JointRow, raw: bool) -> str:
    numbers = [str(j.rows), number(j.rms), percent(j.relative), number(j.r2, 5), *([number(j.raw)] if raw else [])]
    return f"<tr>{cell(j.joint, 'name')}{cell(j.unit, 'unit')}{''.join(cell(v, 'number') for v in numbers)}</tr>"
