"""A reproduction as one HTML page that looks like a report: rows with their verdicts, pictures, tables, notes."""

from __future__ import annotations

import csv
import html
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from taupi.command_line import recorded_command
from taupi.files import refuse_to_replace, write_folder
from taupi.papers.study import GROUPS, Count, Picture, Reproduction, StudyRow, StudyTable, by_part, headings, row_cells
from taupi.reporting.chart import Line, chart
from taupi.reporting.page import assembled
from taupi.reporting.sections.base import cell, figure, head, listed, part
from taupi.version import __version__

STYLES = ("measured", "residual", "predicted")  # the first line is wide and drawn below the others
POINTS = 1500  # of a line: what a screen can resolve


def reproduction_page(reproduction: Reproduction) -> str:
    """Return the text of the page of a reproduction."""
    parts = [("summary", "Summary", _summary(reproduction))]
    if reproduction.pictures:
        parts.append(("pictures", "Pictures", _pictures(reproduction.pictures)))
    for own, rows in ((False, reproduction.paper), (True, reproduction.reference)):
        if rows:
            body = (
                f'<p class="soft">{html.escape(str(Count.of(rows)))}.</p>{"".join(map(_part, by_part(rows).items()))}'
            )
            parts.append(("reference" if own else "paper", GROUPS[own], body))
    parts += [
        (re.sub(r"\W+", "-", name.lower()).strip("-"), t.title, _table(t)) for name, t in reproduction.tables.items()
    ]
    if reproduction.notes:
        parts.append(("notes", "What was not reproduced, and what to know", listed(reproduction.notes)))
    subtitle = f"{reproduction.study.document}; taupi {__version__}"
    return assembled(
        f"{reproduction.study.name}, rerun",
        subtitle,
        [(name, title, part(name, title, body)) for name, title, body in parts],
    )


def _summary(reproduction: Reproduction) -> str:
    tiles = []
    words = ("of the paper's figures and formulas agree with ours", "of our own reference runs agree")
    for count, text in zip(reproduction.counts.values(), words, strict=True):
        if count.rows:
            tiles.append(figure(f"{count.agree} of {count.rows}", text, "good"))
            tiles.append(figure(str(count.known), "differ for a known reason", "warn" if count.known else ""))
            tiles += [figure(str(count.unknown), "differ for an unknown reason", "warn")] * bool(count.unknown)
    tiles.append(figure(f"{reproduction.seconds:.1f} s", "to rerun"))
    return f'<div class="figures">{"".join(tiles)}</div><p>Rerun: {html.escape(reproduction.study.reruns)}.</p>'


def _part(part: tuple[str, Sequence[StudyRow]]) -> str:
    title, rows = part
    return (f"<h3>{html.escape(title)}</h3>" if title else "") + _rows(rows)


def _rows(rows: Sequence[StudyRow]) -> str:
    titles = headings(rows)
    numeric = all(isinstance(row.ours, float) for row in rows)
    right = [
        k for k, t in enumerate(titles) if numeric and (t in ("published", "reference run") or t.startswith("ours"))
    ]
    lines = []
    for row in rows:
        *cells, verdict = row_cells(rows, row)
        kinds = ["number" if k in right else "long" if k and len(text) > 30 else "" for k, text in enumerate(cells)]
        body = "".join(cell(text, kind) for text, kind in zip(cells, kinds, strict=True))
        mark = "good" if row.agrees else "warn"
        lines.append(f'<tr>{body}<td class="long verdict"><span class="{mark}">{html.escape(verdict)}</span></td></tr>')
    return f'<div class="wide"><table>{head(titles, right)}<tbody>{"".join(lines)}</tbody></table></div>'


def _table(table: StudyTable) -> str:
    heading, *rows = table.cells()
    numbers = [k for k in range(len(heading)) if all(isinstance(row[k], float | int) for row in table.rows)]
    lines = "".join(
        f"<tr>{''.join(cell(v, 'number' if k in numbers else '') for k, v in enumerate(row))}</tr>" for row in rows
    )
    return f'<div class="wide"><table>{head(heading, numbers)}<tbody>{lines}</tbody></table></div>'


def _pictures(pictures: Sequence[Picture]) -> str:
    charts = [
        chart(
            p.title,
            p.unit,
            p.time,
            [Line(name, style, values) for style, (name, values) in zip(STYLES, p.lines.items(), strict=False)],
            f"picture{k}",
            POINTS,
            across=p.across,
            log=p.log,
        )
        for k, p in enumerate(pictures)
    ]
    hint = '<p class="soft hint">Drag over a chart to zoom in on a span. Double-click to see all of it.</p>'
    return f'{hint}<div class="charts">{"".join(charts)}</div>'


SCHEMA = 2
PAPER, REFERENCE, RECORD, PAGE = "paper.csv", "reference.csv", "reproduction.json", "report.html"


def write_reproduction(reproduction: Reproduction, folder: str | os.PathLike[str], force: bool = False) -> list[str]:
    """Write the files of a reproduction into `folder`, all or none; return their names. `force` replaces earlier ones."""
    names = [PAPER, REFERENCE, RECORD, PAGE, *(f"{name}.csv" for name in reproduction.tables)]

    def fill(place: Path) -> None:
        columns = (
            "part",
            "what",
            "stated",
            "ours",
            "recommended",
            "unit",
            "share",
            "source",
            "rule",
            "agrees",
            "verdict",
        )
        for name, rows in ((PAPER, reproduction.paper), (REFERENCE, reproduction.reference)):
            _write_csv(place / name, columns, ([row.to_dict()[c] for c in columns] for row in rows))
        for name, table in reproduction.tables.items():
            _write_csv(place / f"{name}.csv", table.heading, table.rows)
        record = {
            "schema": SCHEMA,
            **reproduction.to_dict(),
            "seconds": reproduction.seconds,
            "provenance": _provenance(),
        }
        text = json.dumps(record, indent=1, ensure_ascii=False, default=float)
        (place / RECORD).write_text(text + "\n", encoding="utf-8")
        (place / PAGE).write_text(reproduction_page(reproduction), encoding="utf-8")

    write_folder(folder, fill, force, own=names)
    return names


def check_folder(folder: str | os.PathLike[str], force: bool = False) -> None:
    """Refuse a folder that already holds a reproduction, before the work begins; `force` allows it."""
    refuse_to_replace(folder, (PAPER, REFERENCE, RECORD, PAGE), force)


def _write_csv(path: Path, heading: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)


def _provenance() -> dict[str, str]:
    command = recorded_command() if Path(sys.argv[0]).stem in ("taupi", "__main__") else ""
    facts = {"taupi": __version__, "python": platform.python_version(), "command": command}
    return {k: v for k, v in facts.items() if v}
