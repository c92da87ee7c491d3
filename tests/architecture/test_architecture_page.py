"""The pages on architecture and decisions name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "architecture.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
NAMES = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)`", TEXT)))
SOURCES = [p.relative_to(ROOT).as_posix() for p in ROOT.glob("**/*.py") if ".venv" not in p.parts]


def test_the_pages_name_files():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_file_named_on_a_page_exists(name):
    assert any(path == name or path.endswith(f"/{name}") for path in SOURCES)
