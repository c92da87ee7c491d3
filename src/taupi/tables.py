"""Results as tables: aligned text, and HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of aligned columns; the first row is the heading.

    >>> print("\\n".join(table([("a", "bb"), ("ccc", "d")])))
    a    bb
    ---  --
    ccc  d
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "  ".join("-" * w for w in widths), *lines[1:]]


def html_table(title: str, rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Return an HTML table with a caption and paragraphs of notes below it; the first row is the heading."""
    head, *body = ["".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for tag, row in _tagged(rows)]
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    paragraphs = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{paragraphs}"


def _tagged(rows: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return [("td" if k else "th", row) for k, row in enumerate(rows)]
