"""Sections of the page of benchmarks: one is replaced while the others keep their numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The first title behind the sections that are measured one by one.
_BEHIND = "## Growth\n"


def into_page(page: Path, data: Path, key: str, lines: Sequence[str], results: dict[str, Any]) -> None:
    """Put a section into the page, in the place of an older one of its title, and its numbers into the data."""
    text, title = page.read_text(encoding="utf-8"), lines[0] + "\n"
    before, heading, after = text.partition(title)
    rest = after[after.index("\n## ") + 1 :] if heading else ""
    if not heading:
        before, mark, after = text.partition(_BEHIND)
        rest = mark + after
    page.write_text(before + "\n".join(lines) + "\n\n" + rest, encoding="utf-8")
    numbers = json.loads(data.read_text(encoding="utf-8"))
    data.write_text(json.dumps(numbers | {key: results}, indent=2) + "\n", encoding="utf-8")
