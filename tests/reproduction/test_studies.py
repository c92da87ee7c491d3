"""The studies that take seconds, completely: which rows agree, which must differ, and what is written."""

import json
from pathlib import Path

import numpy as np
import pytest

import taupi as tp
from taupi.papers.gabiccini2009.equations import equation_rows
from taupi.papers.kubozono.slips import slip_rows
from taupi.papers.lecture import study as lecture_simulation
from taupi.papers.registry import study

QUICK = ("gabiccini2009", "lecture", "aldana")
# What is known to be wrong in each document (docs/concepts/errata.md); all else agrees.
DIFFER = {
    "gabiccini2009": {
        "Ẋ₀ᵣ⁽²⁾",
        "Ẋ₂ᵣ⁽²⁾",
        "b5",
        "velocity of G",
        "slopes of the inertias",
        "W_0, W_1, W_2",
        "C = Bdot - U / 2",
        "what a permutation does",
        "X_0r, X_1r, X_2r",
    },
    "lecture": {
        "C = U' - U / 2",
        "size of J",
        "symmetric slices of Gamma_ijk",
        "size of I_n",
        "c",
        "M_C = (J M^-1 J')^-1",
        "potential energy",
    },
    "aldana": {
        "p7",
        "C(r, r')",
        "g(r)",
        "arguments of Y",
        "y_2,3",
        "Theta_25",
        "Y Theta, g in p7, p8, p9",
    },
}
# Compared, of the paper and of our own reference runs.
COUNTS = {"gabiccini2009": (85, 0), "lecture": (44, 10), "aldana": (87, 3)}


@pytest.fixture(scope="module", params=QUICK)
def rerun(request):
    """A study rerun, and the steps that it reported."""
    steps = []
    return study(request.param).run(steps.append), steps


def test_rows_that_differ_are_the_known_slips(rerun):
    again, _ = rerun
    assert {row.what for row in again.rows if not row.agrees} == DIFFER[again.study.name]
    assert again.holds and tuple(count.rows for count in again.counts.values()) == COUNTS[again.study.name]
    assert all(row.source and row.rule for row in again.rows)
    # Sources are documents that a reader can have.
    pages = {row.source for row in again.reference}
    assert all((Path(__file__).parents[2] / page).exists() for page in pages)


def test_progress_counts_the_steps(rerun):
    again, steps = rerun
    assert len(steps) == again.study.steps


def test_files_are_written(rerun, tmp_path):
    again, _ = rerun
    names = again.write(tmp_path / "out")
    assert {"paper.csv", "reference.csv", "reproduction.json", "report.html"} <= set(names)
    assert json.loads((tmp_path / "out/reproduction.json").read_text())["name"] == again.study.name
    assert again.pictures and (tmp_path / "out/report.html").read_text().count('class="chart"') == len(again.pictures)


def test_corrections_are_what_taupi_gives(rerun):
    """Each picture's line as corrected lies on taupi's; as printed it does not."""
    again, _ = rerun
    for picture in again.pictures:
        if "taupi" in picture.lines:
            scale = np.abs(picture.lines["taupi"]).max()
            off = {name: np.abs(line - picture.lines["taupi"]).max() / scale for name, line in picture.lines.items()}
            assert off["as corrected"] < 1e-12 and off["as printed"] > 1e-3


def test_the_lectures_simulation_is_the_vectors():
    data = Path(__file__).parents[1] / "data" / "spec-dynamics-and-regressors.json"
    case = next(c for c in json.loads(data.read_text())["cases"] if c["id"] == "lecture2R_simulation")
    inputs, expected = case["inputs"], case["expected"]
    assert {k: inputs[k] for k in lecture_simulation.ARM} == lecture_simulation.ARM
    assert (inputs["N"], inputs["n_res"], inputs["dt_tau"]) == (
        lecture_simulation.N,
        lecture_simulation.N_RES,
        lecture_simulation.DT,
    )
    assert inputs["tau"] == lecture_simulation.TAU
    assert inputs["f_tip_xy_on_environment"] == lecture_simulation.FORCE
    assert (inputs["theta0"], inputs["dtheta0"]) == lecture_simulation.START
    ends = [expected["euler_theta_dtheta_rows"][-1], expected["adaptive_rk_reference_rows_tol1e_10"][-1]]
    assert ends == [[float(x) for x in row] for row in lecture_simulation.ENDS.values()]


def test_the_verb_and_its_time():
    again = tp.papers.reproduce("gabiccini2009")
    assert isinstance(again, tp.papers.Reproduction) and 0 < again.seconds < 600


def test_every_equation_of_gabiccini_is_compared_once():
    """(1) to (59), and a statement after (22); the slips are those of the errata page, and what holds is met to rounding."""
    rows = equation_rows()
    numbered = [row for row in rows if row.source != "after (22)"]
    assert [row.source for row in numbered] == [f"({k})" for k in range(1, 60)] and len(rows) == 60
    assert {row.source for row in rows if not row.agrees} == {"(11)", "after (22)", "(24)", "(39)", "(44)", "(51)"}
    for row in rows:
        if not row.agrees:
            assert float(row.ours.rpartition(": ")[2]) < 1e-9, row.source


def test_every_slip_is_counted_once(rerun):
    """No two rows differ for one reason: an equation made of one that is wrong is compared with that mended."""
    again, _ = rerun
    reasons = [row.because for row in again.paper if not row.agrees]
    assert len(reasons) == len(set(reasons))


def test_every_equation_of_kubozono_is_compared_once():
    """(1) to (55) without (52), which is not printed, and the thirteen properties of the appendix."""
    rows = slip_rows()
    wanted = [f"({k})" for k in range(1, 56) if k != 52]
    assert [row.source for row in rows if row.source != "appendix"] == wanted
    assert sum(row.source == "appendix" for row in rows) == 13 and all(row.explained for row in rows)
