"""Rows and their verdicts, reproductions as text, files and page; studies that are registered."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import taupi as tp
from taupi.papers.registry import STUDIES
from taupi.papers.study import (
    Count,
    Picture,
    PublishedStudy,
    Reproduction,
    StudyRow,
    StudyTable,
    between,
    compared,
    figure,
    in_part,
    own_runs,
    statement,
)

STUDY = PublishedStudy("mine", "Somebody: A study", "nothing", 1, 1, run=lambda step: reproduction())


def reproduction(**changes):
    rows = [
        *in_part(
            "Numbers", [figure("V", "5.19", 5.1852, "J", "Table 1"), figure("W", "4", 8.0, because="a 2 is lost")]
        ),
        *own_runs([figure("X", "2", 2.1)]),
        *in_part("Words <b>", [statement("sign & size", "plus", "minus", False, "(7)", rule="the same sign")]),
    ]
    table = StudyTable("Runs", ("name", "value"), (("a, b", 1.5), ("c", 2.0)))
    t = np.linspace(0, 1, 20)
    picture = Picture("a sine", "rad", t, {"one": np.sin(t), "other": np.cos(t)})
    parts = {"rows": tuple(rows), "tables": {"runs": table}, "pictures": (picture,), "notes": ("Nothing else.",)}
    return Reproduction(STUDY, **(parts | changes))


@pytest.mark.parametrize(
    ("printed", "ours", "agrees"),
    [
        ("47.2", 47.164, True),
        ("47.2", 47.26, False),
        ("-1.4e-9", -1.427e-9, True),
        ("-1.4e-9", 1.427e-9, False),
        ("-1.4e-9", -1.46e-9, False),
        ("8.0000000", 8.00000004, True),
        ("8.0000000", 8.00000006, False),
        ("0.30", 0.3034, True),
        ("0.30", 0.306, False),
        ("4", 4.4, True),
        ("4", float("nan"), False),
    ],
)
def test_a_figure_agrees_where_it_rounds_to_the_print(printed, ours, agrees):
    assert figure("x", printed, ours).agrees is agrees


def test_a_tolerance_takes_the_place_of_the_digits():
    assert figure("x", "2.5e-13", 9e-11, tolerance=1e-10, reason="rounding").agrees
    row = figure("x", "2.5e-13", 2e-10, tolerance=1e-10, reason="rounding")
    assert not row.agrees and row.rule == "within 1e-10: rounding"
    with pytest.raises(tp.TaupiError, match="without the reason"):
        figure("x", "1", 1.0, tolerance=0.1)


def test_a_band_is_shown():
    row = between("x", "26", 30.0, 8.0, 80.0, "motions differ")
    assert row.agrees and row.rule == "8 to 80: motions differ"
    assert between("x", "1e-4", 2e-5, 0.0, 1e-4, "a limit").rule == "at most 0.0001: a limit"
    assert not between("x", "26", 81.0, 8.0, 80.0, "motions differ").agrees
    assert not between("x", "26", float("nan"), 8.0, 80.0, "motions differ").agrees


def test_verdicts():
    rows = reproduction().rows
    assert [row.verdict for row in rows] == ["agrees", "differs, because a 2 is lost", "agrees", "differs"]
    assert [row.explained for row in rows] == [True, True, True, False]
    assert [row.own for row in rows] == [False, False, True, False] and rows[
        2
    ].source == "docs/concepts/reference-runs.md"
    assert all(row.rule for row in rows)
    assert compared("C", "plus", "minus", 0.5, 1e-15).ours == "off by 5.0e-01; minus: 1.0e-15"
    assert compared("C", "plus", "", 1e-12).agrees and not compared("C", "plus", "", 1e-3).agrees


def test_an_unknown_reason_is_counted_apart_and_says_what_was_tried():
    rows = reproduction().rows
    open_row = replace(rows[-1], tried="a smaller motion is no nearer")
    result = reproduction(rows=(*rows[:-1], open_row))
    assert open_row.verdict == "differs, for an unknown reason: a smaller motion is no nearer"
    assert result.holds and not open_row.explained and result.counts["paper"] == Count(3, 1, 1, 1)


def test_a_reproduction_holds_where_nothing_is_unexplained():
    result = reproduction()
    words = "3 compared: 1 agrees, 1 differs for a known reason, 1 differs for an unknown reason"
    own = "Own reference runs, 1 compared: 1 agrees"
    assert not result.holds and result.summary == f"The paper's figures and formulas, {words}; {own}"
    assert result.counts == {"paper": Count(3, 1, 1, 1), "reference": Count(1, 1, 0, 0)}
    known = reproduction(rows=result.rows[:2])
    assert known.holds and known.summary.endswith(
        "2 compared: 1 agrees, 1 differs for a known reason; Own reference runs, none"
    )
    text = str(result)
    assert text.startswith("mine: Somebody: A study") and "5.19       5.185  J" in text and "- Nothing else." in text
    paper, _, reference = text.partition("Own reference runs: 1 compared: 1 agree")
    assert "to the printed digits" in paper and "published" in paper and "reference run" not in paper
    assert "reference run" in reference and "published" not in reference
    assert "Words &lt;b&gt;" in result._repr_html_()


def test_literal_and_recommended_are_two_columns():
    row = figure("NME", "0.103", 0.167, recommended=0.129)
    text = str(reproduction(rows=(row,)))
    assert "ours, literal  ours, recommended" in text and "0.167          0.129" in text
    assert "recommended" not in str(reproduction())


def test_files(tmp_path):
    names = reproduction().write(tmp_path / "out")
    assert sorted(names) == sorted(p.name for p in (tmp_path / "out").iterdir())
    with (tmp_path / "out/paper.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [r["verdict"] for r in rows] == ["agrees", "differs, because a 2 is lost", "differs"]
    assert float(rows[0]["ours"]) == 5.1852 and rows[0]["stated"] == "5.19" and rows[0]["agrees"] == "True"
    with (tmp_path / "out/reference.csv").open() as stream:
        assert [r["what"] for r in csv.DictReader(stream)] == ["X"]
    with (tmp_path / "out/runs.csv").open() as stream:
        assert list(csv.reader(stream)) == [["name", "value"], ["a, b", "1.5"], ["c", "2.0"]]
    record = json.loads((tmp_path / "out/reproduction.json").read_text())
    assert (
        record["schema"] == 2 and record["paper"][1]["ours"] == 8.0 and record["provenance"]["taupi"] == tp.__version__
    )
    with pytest.raises(tp.TaupiError, match=r"holds .*paper\.csv.* already"):
        reproduction().write(tmp_path / "out")
    reproduction(notes=()).write(tmp_path / "out", force=True)
    assert json.loads((tmp_path / "out/reproduction.json").read_text())["notes"] == []


def test_the_page_needs_nothing_else_and_escapes(tmp_path):
    reproduction().write(tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()
    assert (
        "Words &lt;b&gt;" in page
        and "sign &amp; size" in page
        and "<b>" not in re.sub(r"<b class[^>]*>|<b>\w", "", page)
    )
    assert not re.search(r"(src|href)=[\"'](?!#)", page) and "@import" not in page
    assert page.count("<polyline") == 2
    anchors = re.findall(r'href="#([^"]+)"', page)
    assert anchors and all(f'id="{a}"' in page for a in anchors)


def test_studies_are_what_the_registry_says():
    listed = tp.papers.studies()
    assert [s.name for s in listed] == list(STUDIES)
    assert all(s.document and s.reruns and s.seconds > 0 and ":" in s.document for s in listed)


def test_unknown_studies_are_refused_with_a_suggestion():
    with pytest.raises(tp.TaupiError, match="Did you mean 'kubozono'"):
        tp.papers.reproduce("kubozno")


def test_rows_are_frozen():
    with pytest.raises(AttributeError):
        StudyRow("x", "1", 1.0, True, "the same").agrees = False


def test_verdicts_are_booleans_in_json(tmp_path):
    """Also where NumPy decided."""
    row = statement("x", "1", "1", np.float64(1) > 0, rule="above 0")
    assert row.agrees is True
    reproduction(rows=(row,)).write(tmp_path / "out")
    assert json.loads((tmp_path / "out/reproduction.json").read_text())["paper"][0]["agrees"] is True
