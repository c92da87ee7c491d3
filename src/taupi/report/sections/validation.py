"""How well each joint's torque is met, log by log."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.report.content import Content, JointRow, RunRow
from taupi.report.sections.base import cell, head, number, percent

NOTHING_HELD_OUT = (
    "No log was held out, and the error on fitted logs says little about other motions: add some with --validate."
)


class ValidationSection:
    """A table a log: held-out ones first, then what was fitted."""

    name: ClassVar[str] = "validation"
    title: ClassVar[str] = "Fit and validation"

    def fields(self, content: Content) -> dict[str, str]:
        """Return the tables."""
        fitted = RunRow("all fitted logs", "fitted", content.joints, content.relative)
        runs = [run for run in content.runs if run.role == "held out"] + [fitted]
        missing = "" if len(runs) > 1 else f'<p class="note">{NOTHING_HELD_OUT}</p>'
        return {"tables": "\n".join(map(_table, runs)), "missing": missing}


def _table(run: RunRow) -> str:
    raw = any(j.raw == j.raw for j in run.joints)
    titles = ["joint", "unit", "samples", "rms", "relative error", "R²", *(["rms, unfiltered torque"] if raw else [])]
    rows = "".join(_row(j, raw) for j in run.joints)
    empty = cell("")
    cells = [cell("all"), empty * 3, cell(percent(run.relative), "number"), empty * (2 if raw else 1)]
    total = f'<tr class="total">{"".join(cells)}</tr>'
    heading = f"<h3>{html.escape(run.name)} <small>{run.role}</small></h3>"
    return f'{heading}<div class="wide"><table>{head(titles, range(2, 7))}<tbody>{rows}{total}</tbody></table></div>'


def _row(j: JointRow, raw: bool) -> str:
    numbers = [str(j.rows), number(j.rms), percent(j.relative), number(j.r2, 5), *([number(j.raw)] if raw else [])]
    return f"<tr>{cell(j.joint, 'name')}{cell(j.unit)}{''.join(cell(v, 'number') for v in numbers)}</tr>"
