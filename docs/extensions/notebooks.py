"""Pages of notebooks: each docs/notebooks/*.py is run when the site is built, and becomes a page, an .ipynb and pictures."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import notebooks
import repository

FOLDER = Path(__file__).parents[1] / "notebooks"
# Cards of notebooks by their names, and of other pages by their paths from the gallery.
_CARDS = re.compile(r"<!-- cards: ([^>]+?) -->")


@cache
def finished() -> tuple[notebooks.Notebook, ...]:
    """Return all notebooks, run once."""
    return tuple(notebooks.run(notebooks.read(path)) for path in sorted(FOLDER.glob("*.py")))


def on_files(files: Files, config: Any) -> Files:
    """Add the page, the .ipynb and the pictures of each notebook."""
    first = (notebooks.installation(repository.address()),)
    for notebook in finished():
        text, pictures = notebooks.as_page(notebook)
        contents = {
            f"{notebook.name}.md": text,
            f"{notebook.name}.ipynb": notebooks.as_ipynb(notebook, first),
            **pictures,
        }
        for name, content in contents.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put cards where a page lists them."""
    return _CARDS.sub(lambda m: '<div class="cards">\n' + "\n".join(map(_card, m[1].split())) + "\n</div>", markdown)


def _card(name: str) -> str:
    """Return the card of a notebook, or of the page at a path such as ../inside/fmu.md."""
    if not name.endswith(".md"):
        return notebooks.as_card(next(notebook for notebook in finished() if notebook.name == name))
    text = (FOLDER / name).read_text(encoding="utf-8")
    return notebooks.page_card(text, f"{name.removesuffix('.md')}.html")
