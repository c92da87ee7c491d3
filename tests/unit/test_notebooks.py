"""Notebooks: each runs from top to bottom, draws something, and is written as a page and an .ipynb that say what it showed."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "docs" / "notebooks").glob("*.py"))
SPECIFICATION = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["notebooks"] = notebooks
SPECIFICATION.loader.exec_module(notebooks)


def test_there_are_enough_and_the_site_has_them_all():
    assert len(SOURCES) >= 8
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"notebooks/{path.stem}.md" in navigation for path in SOURCES)
    gallery = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    shown = [name for names in re.findall(r"<!-- cards: ([^>]+?) -->", gallery) for name in names.split()]
    assert sorted(name for name in shown if not name.endswith(".md")) == [path.stem for path in SOURCES]
    assert all((ROOT / "docs" / "notebooks" / name).is_file() for name in shown if name.endswith(".md"))
    assert {f"../inside/{path.name}" for path in (ROOT / "docs" / "inside").glob("*.md")} <= set(shown)


def test_a_page_in_the_gallery_has_its_heading_its_first_sentence_and_its_picture():
    text = "# Inside *it*\n\n<!-- needs: it -->\n\n`run ... --it` goes [in](x.md): and out. More.\n\n![Alt](../images/it.png)\n"
    card = notebooks.page_card(text, "../inside/it.html")
    assert 'href="../inside/it.html"' in card and 'src="../inside/../images/it.png"' in card
    assert "<strong>Inside *it*</strong><span>run ... --it goes in.</span>" in card


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_it_runs_and_is_written(path):
    done = notebooks.run(notebooks.read(path))
    assert done.pictures and all(p.startswith(b"\x89PNG") for p in done.pictures)
    text, pictures = notebooks.as_page(done)
    assert text.startswith(f"# {done.title}\n") and all(f"({name})" in text for name in pictures)
    assert text.count("```python") == sum(cell.kind == "code" for cell in done.cells)
    saved = json.loads(notebooks.as_ipynb(done))
    assert saved["nbformat"] == 4 and [c["cell_type"] for c in saved["cells"]] == [c.kind for c in done.cells]
    assert sum("image/png" in o.get("data", {}) for c in saved["cells"] for o in c.get("outputs", ())) == len(pictures)
    assert f'href="{path.stem}.html"' in notebooks.as_card(done)


@pytest.mark.parametrize("repository", [None, "https://github.com/someone/taupi"])
def test_a_downloaded_notebook_installs_what_is_missing(repository, monkeypatch, tmp_path):
    cell = notebooks.installation(repository)
    notebook = notebooks.Notebook("short", (notebooks.Cell("markdown", "# Short"), notebooks.Cell("code", "1 + 1")))
    written = [c["source"] for c in json.loads(notebooks.as_ipynb(notebook, (cell,)))["cells"]]
    assert written == ["# Short", cell.source, "1 + 1"]
    # The magic calls pip with what is beside it; here it is noted down.
    code = re.sub(r"%pip install --quiet (.*)", r"installed.append(\1)", cell.source.replace("$what", "what"))
    monkeypatch.chdir(tmp_path)
    exec(code, {"installed": (installed := [])})
    assert installed == []  # taupi is here
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    if repository is None:
        with pytest.raises(AssertionError):
            exec(code, {"installed": installed})
        (tmp_path / "taupi-0.1.0-py3-none-any.whl").touch()
    exec(code, {"installed": installed})
    expected = "taupi-0.1.0-py3-none-any.whl[plot]" if repository is None else f"taupi[plot] @ git+{repository}"
    assert installed == [expected]


def test_a_cell_shows_its_last_line_and_a_mistake_is_raised(tmp_path):
    path = tmp_path / "short.py"
    path.write_text("# %% [markdown]\n# # Short\n#\n# One\n# sentence.\n\n# %%\nx = 2\nprint(x)\nx + 1\n")
    done = notebooks.run(notebooks.read(path))
    assert (done.title, done.sentence) == ("Short", "One sentence.")
    assert done.cells[1].printed == "2\n" and done.cells[1].shown == {"text/plain": "3"}
    assert notebooks.as_page(done)[0].endswith("```text\n2\n```\n\n```text\n3\n```\n")
    path.write_text("# %% [markdown]\n# # Drawn\n\n# %%\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);\n")
    assert len(notebooks.run(notebooks.read(path)).pictures) == 1  # as a notebook shows it
    path.write_text("# %% [markdown]\n# # Bad\n\n# %%\nassert False\n")
    with pytest.raises(AssertionError):
        notebooks.run(notebooks.read(path))
    path.write_text("x = 1\n")
    with pytest.raises(ValueError, match="does not begin with a cell of text"):
        notebooks.read(path)
