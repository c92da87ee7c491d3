"""The gallery: pages are built from reruns, and its counts are those that the command prints."""

import json
import re
from pathlib import Path

import pytest
from gallery.openings import OPENINGS
from gallery.pages import page
from gallery.stories import STORIES
from gallery.write_gallery import BEGIN, COUNTS, END, counts_table, replaced, sentence

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
    for pattern in (r"^#+ .*$", r"^!\[.*$", r"^\*\*(?:The|Own).*$", r"^- \*\*[^:]*"):
        assert re.findall(pattern, text, re.MULTILINE) == re.findall(pattern, committed, re.MULTILINE), pattern
    first = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert first == [line.split(" | ")[0] for line in committed.splitlines() if line.startswith("| ")]
    for picture in re.findall(r"\((images/.*?\.svg)\)", text):
        assert (folder / picture).read_text().startswith("<?xml") and (ROOT / "docs/gallery" / picture).exists()
    counts = json.loads(COUNTS.read_text())[name]
    assert {kind: vars(count) for kind, count in again.counts.items()} == counts, "run tools/gallery/write_gallery.py"


@pytest.mark.parametrize("name", QUICK)
def test_a_page_is_what_the_study_gives(name, tmp_path, monkeypatch):
    def opening(path):
        """In place of the seconds that what was out of reach takes: a picture, and words."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<?xml?>")
        return "It takes seconds."

    monkeypatch.setitem(OPENINGS, name, opening)
    check(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", OPENINGS)
def test_what_was_out_of_reach_is_still_within_it(name, tmp_path):
    words = OPENINGS[name](tmp_path / "beyond.svg")
    committed = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8").replace("\\_", "_")
    plain = re.escape(words)
    for changing in (r"about\\ \d+\\ seconds?", r"\\-[\d\\.]+e\\-\d+"):  # times and rounding differ by machine
        plain = re.sub(changing, ".*", plain)
    assert re.search(plain, committed), words
    assert (tmp_path / "beyond.svg").read_text().startswith("<?xml")


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in STUDIES if n not in QUICK])
def test_a_long_page_is_what_the_study_gives(name, tmp_path):
    check(name, tmp_path)


def test_the_pages_have_the_counts_of_the_command():
    counts = json.loads(COUNTS.read_text())
    assert list(STORIES) and set(counts) == set(STUDIES) == set(STORIES)
    for path, prefix in (("docs/evidence.md", "gallery/"), ("docs/gallery/index.md", "")):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert counts_table(counts, prefix) in text, path
        assert replaced(text, "nothing").count("nothing\n\n" + END) == 1 and BEGIN in text


def test_the_front_page_has_the_counts_of_the_command():
    counts = json.loads(COUNTS.read_text())
    assert sentence(counts) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_page_opens_with_what_was_asked_what_one_call_gives_and_what_was_out_of_reach():
    for name, story in STORIES.items():
        text = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8")
        opening = text.partition("See also")[0]
        words = (
            "**What it asked.** ",
            "**What one call gives today.** ",
            story.call,
            "**What its authors could not do then.** ",
        )
        places = [opening.find(word) for word in words]
        assert -1 not in places and places == sorted(places), name
        assert f"](images/{name}-beyond.svg)" in opening, name
        compile(story.call, name, "exec")


def test_a_reason_that_covers_several_rows_is_said_once():
    for name in STORIES:
        text = (ROOT / f"docs/gallery/{name}.md").read_text(encoding="utf-8")
        slips = re.findall(r"^- \*\*.*?: (.*)$", text.partition("## Its slips")[2].partition("\n## ")[0], re.MULTILINE)
        assert len(slips) == len(set(slips)) > 2, name


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
