"""A reproduction as files: rows and tables as CSV, all of it as JSON, and the page."""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from taupi.command_line import recorded_command
from taupi.files import refuse_to_replace, write_folder
from taupi.papers.page import reproduction_page
from taupi.papers.study import Reproduction
from taupi.version import __version__

SCHEMA = 2
PAPER, REFERENCE, RECORD, PAGE = "paper.csv", "reference.csv", "reproduction.json", "report.html"


def write_reproduction(reproduction: Reproduction, folder: str | os.PathLike[str], force: bool = False) -> list[str]:
    """Write the files of a reproduction into `folder`, all or none; return their names. `force` replaces earlier ones."""
    names = [PAPER, REFERENCE, RECORD, PAGE, *(f"{name}.csv" for name in reproduction.tables)]

    def fill(place: Path) -> None:
        columns = ("part", "what", "stated", "ours", "recommended", "unit", "source", "rule", "agrees", "verdict")
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


def _write_csv(path: Path, heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)


def _provenance() -> dict[str, str]:
    command = recorded_command() if Path(sys.argv[0]).stem in ("taupi", "__main__") else ""
    facts = {"taupi": __version__, "python": platform.python_version(), "command": command}
    return {k: v for k, v in facts.items() if v}
