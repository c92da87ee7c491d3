"""The gallery: pages are built from reruns, and its counts are those that the command prints."""

import json
import re
from pathlib import Path

import pytest
from gallery.pages import page
from gallery.stories import STORIES
from gallery.write_gallery import BEGIN, COUNTS, END, counts_table, replaced

import taupi as tp
from taupi.papers.registry import STUDIES

ROOT = Path(__file__).parents[2]
QUICK = ("gabiccini2009", "lecture", "aldana")


def built(name, folder):
    """A page built anew: what the committed one is held against."""
    again = tp.papers.reproduce(name)
    return again, page(again, folder)


def check(name, folder):
    again, text = built(name, folder)
    committed = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8")
    # Digits of rounding errors differ from machine to machine: headings, pictures, what is compared and verdicts do not.
    for pattern in (r"^#+ .*$", r"^!\[.*$", r"^\*\*.*$", r"^- \*\*[^:]*"):
        assert re.findall(pattern, text, re.MULTILINE) == re.findall(pattern, committed, re.MULTILINE), pattern
    first = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert first == [line.split(" | ")[0] for line in committed.splitlines() if line.startswith("| ")]
    for picture in re.findall(r"\((images/.*?\.svg)\)", text):
        assert (folder / picture).read_text().startswith("<?xml") and (ROOT / "docs/gallery" / picture).exists()
    counts = json.loads(COUNTS.read_text())[name]
    assert {kind: vars(count) for kind, count in again.counts.items()} == counts, "run tools/gallery/write_gallery.py"


@pytest.mark.parametrize("name", QUICK)
def test_a_page_is_what_the_study_gives(name, tmp_path):
    check(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in STUDIES if n not in QUICK])
def test_a_long_page_is_what_the_study_gives(name, tmp_path):
    check(name, tmp_path)


def test_the_readme_has_the_counts_of_the_command():
    counts = json.loads(COUNTS.read_text())
    assert list(STORIES) and set(counts) == set(STUDIES) == set(STORIES)
    for path, prefix in (("README.md", "docs/gallery/"), ("docs/gallery/index.md", "")):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert counts_table(counts, prefix) in text, path
        assert replaced(text, "nothing").count("nothing\n\n" + END) == 1 and BEGIN in text


def test_a_page_says_which_pictures_are_the_papers():
    """Three documents have no figure of a motion: their pages may not call ours theirs."""
    for name, story in STORIES.items():
        text = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8").replace("\\_", "_")
        assert f"## In pictures\n\n{story.drawn}\n\n![" in text, name
    without = {name for name, story in STORIES.items() if "Redrawn" not in story.drawn}
    assert without == {"gabiccini2009", "kubozono", "aldana"}


def test_every_problem_is_three_sentences():
    for story in STORIES.values():
        assert len(re.findall(r"[.?](?= |$)", re.sub(r"\bq\.", "q", story.problem))) == 3, story.title
