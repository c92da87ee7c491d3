"""Rerun the studies and write the gallery: `python tools/gallery/write_gallery.py [STUDY ...]`, all of them by default.

Writes docs/gallery/STUDY.md with its pictures, docs/gallery/counts.json, and from that the table of counts in
docs/gallery/index.md and docs/evidence.md, and the sentence in README.md.
The counts are what `taupi reproduce STUDY` prints: they come from the same object.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gallery.pages import page
from gallery.stories import STORIES
from taupi.papers.registry import STUDIES, reproduce, study
from taupi.papers.study import Count

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs/gallery"
COUNTS = GALLERY / "counts.json"
FIELDS = ("rows", "agree", "known", "unknown")
BEGIN, END = "<!-- counts of the studies: written by tools/gallery/write_gallery.py -->", "<!-- end of counts -->"


def counts_table(counts: dict[str, dict[str, dict[str, int]]], prefix: str = "") -> str:
    """Return the two counts of every study as a table with links to its page."""
    lines = ["| study | the paper's figures and formulas | own reference runs |", "|---|---|---|"]
    for name in STUDIES:
        cells = [_words(counts[name][kind]) for kind in ("paper", "reference")]
        authors = study(name).document.partition(":")[0]
        lines.append(f"| [{authors}]({prefix}{name}.md) | {cells[0]} | {cells[1]} |")
    sums = together(counts)
    return "\n".join([*lines, f"| together | {_words(sums['paper'])} | {_words(sums['reference'])} |"])


def together(counts: dict[str, dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """Return the counts of all studies together."""
    return {k: {x: sum(c[k][x] for c in counts.values()) for x in FIELDS} for k in ("paper", "reference")}


def sentence(counts: dict[str, dict[str, dict[str, int]]]) -> str:
    """Return what the front page says of the counts."""
    paper = together(counts)["paper"]
    return (
        f"`taupi reproduce` reruns the five [documents](docs/gallery/index.md) behind it: {paper['agree']} of their "
        f"{paper['rows']} equations and figures agree, {paper['known']} differ for a known reason, "
        f"{paper['unknown']} for an unknown one."
    )


def _words(count: dict[str, int]) -> str:
    if not count["rows"]:
        return "none"
    return ", ".join([f"{count['agree']} of {count['rows']} agree", *Count(**count).differing])


def replaced(text: str, table: str) -> str:
    """Return a page with the table between its marks."""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text)


def write(names: list[str]) -> None:
    """Rerun the studies `names` and write their pages, and the tables of counts."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    for name in names or list(STORIES):
        reproduction = reproduce(name)
        GALLERY.mkdir(parents=True, exist_ok=True)
        (GALLERY / f"{name}.md").write_text(page(reproduction, GALLERY), encoding="utf-8")
        counts[name] = {kind: asdict(count) for kind, count in reproduction.counts.items()}
        print(f"{name}: {reproduction.summary}")
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    front = ROOT / "README.md"
    text = front.read_text(encoding="utf-8")
    front.write_text(
        re.sub(r"^`taupi reproduce` reruns .*$", lambda _: sentence(counts), text, flags=re.MULTILINE), encoding="utf-8"
    )
    for path, prefix in ((GALLERY / "index.md", ""), (ROOT / "docs/evidence.md", "gallery/")):
        path.write_text(replaced(path.read_text(encoding="utf-8"), counts_table(counts, prefix)), encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
