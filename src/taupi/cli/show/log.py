"""What is printed about a log: what it holds, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from taupi.errors import Spelling
from taupi.signals.checking.check import LogReport
from taupi.signals.log import Log


def log_data(log: Log, report: LogReport, spelling: Spelling = str) -> dict[str, Any]:
    """Return what a log holds, and what is wrong with it, as plain data; `spelling` writes the arguments that rules name."""
    source = {"path": log.source.path, "sha256": log.source.sha256, "format": log.source.format}
    return {"source": source, "signals": list(log.signals), "notes": list(log.notes), **report.data(spelling)}


def log_text(log: Log, report: LogReport, spelling: Spelling = str) -> str:
    """Return what a log holds, and what is wrong with it, as text; `spelling` writes the arguments that rules name."""
    notes = [f"note: {note}" for note in log.notes]
    return "\n".join([repr(log), "", *notes, *([""] if notes else []), *report.lines(spelling)])
