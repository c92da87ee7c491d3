"""Sections of the page of benchmarks: one is replaced while the others keep their numbers."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The first title behind the sections that are measured one by one.
_BEHIND = "## Growth\n"


def measured(sections: Mapping[str, Any], short: bool) -> tuple[dict[str, Any], list[str]]:
    """Return what sections measure, and the names of those that failed: minutes of the others are not lost for one."""
    results: dict[str, Any] = {}
    failed = []
    for key, section in sections.items():
        print(f"measuring {key} ...", flush=True)
        start = time.perf_counter()
        try:
            results[key] = section.measure(short)
        except Exception:
            traceback.print_exc()
            failed.append(key)
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    return results, failed


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


def ratio(theirs: float, ours: float) -> str:
    """Return how many times as fast as a peer we are: what is below one says so, and is never rounded to nothing.

    >>> ratio(23.4, 1.0), ratio(1.53, 1.0), ratio(0.11, 0.558)
    ('23 x', '1.5 x', '0.20 x, slower')
    """
    times = theirs / ours
    if math.isnan(times):
        return "-"
    if times >= 9.95:
        return f"{times:.0f} x"
    return f"{times:.1f} x" if times >= 1 else f"{times:#.2g} x, slower"
