"""Notebooks as Python files in the percent format: run them, and write them as pages of the site and as .ipynb.

`# %%` begins a cell of code, `# %% [markdown]` one of text in comments; editors and Jupytext open such files as notebooks. They
are run here as in a notebook, in one namespace, and the value of a cell's last line is shown. No kernel and no converter
are needed, so that building the site requires only the package itself.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_START = re.compile(r"^# %%(?P<kind> \[markdown\])?\s*$", re.MULTILINE)
_NO_SENTENCE = ("![", "[![", "<", "```", "|", "#", "!!!", "    ")  # a paragraph of text does not begin with these
_TALL = 1.2  # height over width of a picture whose upper part is shown in the gallery
_PAGE = "{title}\n\n*A notebook that is run when the site is built: [.ipynb]({name}.ipynb), [.py]({name}.py).*\n"


@dataclass
class Cell:
    """A cell: its source, and after a run what it printed and what its last line shows, by the kind of data."""

    kind: str  # "markdown" or "code"
    source: str
    printed: str = ""
    shown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Notebook:
    """A notebook by its name, and its cells."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """The heading of its first cell."""
        return self.cells[0].source.splitlines()[0].lstrip("# ").strip()

    @property
    def sentence(self) -> str:
        """The first paragraph below the heading."""
        return " ".join(self.cells[0].source.split("\n\n")[1].split())

    @property
    def pictures(self) -> list[bytes]:
        """The pictures that its cells show, as PNG."""
        return [cell.shown["image/png"] for cell in self.cells if "image/png" in cell.shown]


def read(path: Path) -> Notebook:
    """Return the notebook in a file, not run."""
    text = path.read_text(encoding="utf-8")
    marks = list(_START.finditer(text))
    if not marks or text[: marks[0].start()].strip() or marks[0]["kind"] is None:
        raise ValueError(f"{path.name} does not begin with a cell of text: # %% [markdown]")
    ends = [m.start() for m in marks[1:]] + [len(text)]
    return Notebook(
        path.stem, tuple(_cell(m["kind"], text[m.end() : end].strip("\n")) for m, end in zip(marks, ends, strict=True))
    )


def _cell(kind: str | None, source: str) -> Cell:
    if kind is None:
        return Cell("code", source)
    return Cell("markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in source.splitlines()))


# Running --------------------------------------------------------------------------------------------------------------


def run(notebook: Notebook) -> Notebook:
    """Return the notebook run from top to bottom in its own folder; errors are raised unchanged."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    os.environ.setdefault("MPLBACKEND", "Agg")  # no window is opened
    _drawn()  # closes what others left open
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        return Notebook(notebook.name, tuple(_run(cell, notebook.name, namespace) for cell in notebook.cells))


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(cell: Cell, name: str, namespace: dict[str, Any]) -> Cell:
    if cell.kind != "code":
        return cell
    tree = ast.parse(cell.source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    return Cell("code", cell.source, out.getvalue(), ({} if value is None else forms(value)) | _drawn())


def _drawn() -> dict[str, Any]:
    """Return the picture that a cell drew with Matplotlib's pyplot, which notebooks show below it, and close it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return {}
    data = io.BytesIO()
    pyplot.gcf().savefig(data, format="png", dpi=100)
    pyplot.close("all")
    return {"image/png": data.getvalue(), "text/plain": "<Figure>"}


def forms(value: Any) -> dict[str, Any]:
    """Return how a notebook shows a value, by the kind of data; the richest is what a page shows."""
    kinds = {"image/png": "_repr_png_", "text/html": "_repr_html_", "text/latex": "_repr_latex_"}
    shown: dict[str, Any] = {}
    for kind, method in kinds.items():
        form = getattr(value, method, None)
        if form is not None and (data := form()) is not None:
            shown[kind] = data
    shown["text/plain"] = repr(value)
    return shown


# Writing --------------------------------------------------------------------------------------------------------------


_FROM_A_WHEEL = """# Colab, Kaggle and the like lack taupi: first upload its wheel (`make dist` builds it) beside this notebook.
import glob
import importlib.util

if importlib.util.find_spec("taupi") is None:
    wheels = glob.glob("taupi-*.whl")
    assert wheels, "there is no taupi-*.whl beside this notebook"
    what = wheels[-1] + "[plot]"
    %pip install --quiet $what"""
_FROM_ITS_ADDRESS = """# Colab, Kaggle and the like do not have taupi.
import importlib.util

if importlib.util.find_spec("taupi") is None:
    %pip install --quiet "taupi[plot] @ git+{address}\""""


def installation(repository: str | None) -> Cell:
    """Return the cell with which a downloaded notebook gets taupi where it is missing."""
    return Cell("code", _FROM_A_WHEEL if repository is None else _FROM_ITS_ADDRESS.format(address=repository))


def as_ipynb(notebook: Notebook, first: tuple[Cell, ...] = ()) -> str:
    """Return a notebook that has been run as the text of an .ipynb file (nbformat 4.5), with `first` cells below its heading."""
    cells = []
    for k, cell in enumerate((notebook.cells[0], *first, *notebook.cells[1:])):
        entry: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell{k}", "metadata": {}, "source": cell.source}
        if cell.kind == "code":
            entry |= {"execution_count": None, "outputs": _outputs(cell)}
        cells.append(entry)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _outputs(cell: Cell) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
    if cell.shown:
        data = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in cell.shown.items()}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def as_page(notebook: Notebook) -> tuple[str, dict[str, bytes]]:
    """Return a notebook that has been run as Markdown, and its pictures by the name of their file beside it."""
    first, *rest = notebook.cells[0].source.split("\n")
    parts = [_PAGE.format(title=first, name=notebook.name), "\n".join(rest).strip()]
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells[1:]:
        if cell.kind == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed.strip():
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        if "image/png" in cell.shown:
            name = f"{notebook.name}-{len(pictures) + 1}.png"
            pictures[name] = cell.shown["image/png"]
            parts.append(f"![{notebook.title}: what the cell above draws]({name})")
        elif "text/html" in cell.shown:
            parts.append(f'<div class="shown">{_one_block(cell.shown["text/html"])}</div>')
        elif "text/latex" in cell.shown:
            parts.append(cell.shown["text/latex"])
        elif cell.shown:
            parts.append(f"```text\n{cell.shown['text/plain']}\n```")
    return "\n\n".join(parts) + "\n", pictures


def _one_block(text: str) -> str:
    """Return HTML without empty lines, which would end a block of it in Markdown."""
    return re.sub(r"\n\s*\n", "\n", text)


def as_card(notebook: Notebook) -> str:
    """Return the gallery card of a notebook: its picture, its title and a sentence, linked to its page."""
    picture = f"{notebook.name}-1.png" if notebook.pictures else None
    width, height = (int.from_bytes(notebook.pictures[0][k : k + 4], "big") for k in (16, 20)) if picture else (1, 1)
    return _card(notebook.title, notebook.sentence, f"{notebook.name}.html", picture, tall=height > _TALL * width)


def page_card(text: str, address: str) -> str:
    """Return the gallery card of another page, from its Markdown: its heading, its first sentence, its first picture.

    `address` is that of the page beside the gallery, such as "../inside/fmu.html"; pictures are looked for from there.
    """
    title, *blocks = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).strip().split("\n\n")
    words = next(block.strip() for block in blocks if block.strip() and not block.strip().startswith(_NO_SENTENCE))
    sentence = re.split(r"(?<=[^.]\.) |:(?= |$)", " ".join(words.split()))[0].rstrip(".") + "."
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "", sentence)
    picture = re.search(r"!\[[^\]]*\]\(([^)\s]+)\)", text)
    folder = address.rpartition("/")[0]
    return _card(title.lstrip("# "), plain, address, None if picture is None else f"{folder}/{picture[1]}")


def _card(title: str, sentence: str, address: str, picture: str | None, tall: bool = False) -> str:
    kind = ' class="tall"' if tall else ""
    drawn = f'<img{kind} src="{html.escape(picture)}" alt="" loading="lazy">' if picture else ""
    words = f"<strong>{html.escape(title)}</strong><span>{html.escape(sentence)}</span>"
    return f'<a class="card" href="{html.escape(address)}">{drawn}{words}</a>'
