"""The architecture page names files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
NAMES = sorted(set(re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE.read_text(encoding="utf-8"))))
SOURCES = [p.relative_to(ROOT).as_posix() for p in ROOT.glob("**/*.py") if ".venv" not in p.parts]


def test_the_page_names_files():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_file_named_on_the_page_exists(name):
    assert any(path == name or path.endswith(f"/{name}") for path in SOURCES)
