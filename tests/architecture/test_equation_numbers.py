"""Docstrings cite equations that a reader can find."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts" / "equations.md").read_text(encoding="utf-8")


def test_numbers_of_the_page_of_equations_are_unique():
    numbers = re.findall(r"^\| ([A-Z]\d+) \|", PAGE, re.MULTILINE)
    assert len(numbers) > 40 and len(set(numbers)) == len(numbers)


def test_every_number_that_is_cited_is_on_the_page_of_equations():
    numbers = set(re.findall(r"^\| ([A-Z]\d+) \|", PAGE, re.MULTILINE))
    cited = {}
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
        for place in re.findall(r"equations\.md, ([A-Z]\d+(?:(?:,| to| and) [A-Z]\d+)*)", text):
            cited |= dict.fromkeys(re.findall(r"[A-Z]\d+", place), path.name)
    assert len(cited) > 20
    assert set(cited) <= numbers, {n: cited[n] for n in set(cited) - numbers}
