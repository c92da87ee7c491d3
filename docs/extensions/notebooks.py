"""Pages of notebooks: each docs/notebooks/*.py is run when the site is built, and becomes a page, an .ipynb and pictures."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import notebooks

FOLDER = Path(__file__).parents[1] / "notebooks"
_GALLERY = "<!-- gallery -->"


@cache
def finished() -> tuple[notebooks.Notebook, ...]:
    """Return all notebooks, run once."""
    return tuple(notebooks.run(notebooks.read(path)) for path in sorted(FOLDER.glob("*.py")))


def on_files(files: Files, config: Any) -> Files:
    """Add the page, the .ipynb and the pictures of each notebook."""
    for notebook in finished():
        text, pictures = notebooks.as_page(notebook)
        contents = {f"{notebook.name}.md": text, f"{notebook.name}.ipynb": notebooks.as_ipynb(notebook), **pictures}
        for name, content in contents.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the cards of all notebooks where the gallery is to be."""
    if _GALLERY not in markdown:
        return markdown
    cards = "\n".join(notebooks.as_card(notebook) for notebook in finished())
    return markdown.replace(_GALLERY, f'<div class="cards">\n{cards}\n</div>')
