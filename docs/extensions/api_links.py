"""Link calls in code, such as `tp.regressor`, to their entries of the API, on the pages that lead from a formula to its call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import taupi

PAGES = ("concepts/equations.md", "gallery/")
_CALL = re.compile(r"(?<![\[`])`((?:tp|taupi)\.[\w.]+)([^`\n]*)`(?!`)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ENTRIES: dict[str, set[str]] = {}


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Put a link around each call of which the API has an entry."""
    if not page.file.src_uri.startswith(PAGES):
        return markdown
    parts, start = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_linked(markdown[start : fence.start()], config), fence[0]]
        start = fence.end()
    return "".join([*parts, _linked(markdown[start:], config)])


def _linked(text: str, config: Any) -> str:
    documented = _ENTRIES.setdefault(config["docs_dir"], entries(Path(config["docs_dir"])))

    def link(call: re.Match[str]) -> str:
        place = target(call[1], documented)
        return f"[`{call[1]}{call[2]}`][{place}]" if place else call[0]

    return _CALL.sub(link, text)


def entries(docs: Path) -> set[str]:
    """Return what the pages of the API have entries of, by full names."""
    texts = (path.read_text(encoding="utf-8") for path in (docs / "api").glob("*.md"))
    return {name for text in texts for name in re.findall(r"^::: ([\w.]+)", text, re.MULTILINE)}


def target(call: str, documented: set[str]) -> str:
    """Return the full name of what a call such as tp.Robot.from_dh names, if it has an entry; else nothing."""
    value: Any = taupi
    for name in call.split(".")[1:]:
        value = getattr(value, name, None)
    place = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    owner = place.rpartition(".")[0]
    return place if place in documented or owner in documented else ""
