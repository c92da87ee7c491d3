"""The studies that take seconds, completely: which rows agree, which must differ, and what is written."""

import json
from pathlib import Path

import numpy as np
import pytest

import taupi as tp
from taupi.papers.lecture import simulation as lecture_simulation
from taupi.papers.registry import study

QUICK = ("gabiccini2009", "lecture", "aldana")
# What is known to be wrong in each document (docs/concepts/errata.md); all else agrees.
DIFFER = {
    "gabiccini2009": {
        "link 2, X0_r",
        "link 2, W0_r",
        "link 2, W1_r",
        "what p_iG is measured from",
        "C = Bdot - U / 2",
        "what a permutation does",
        "which levels are exchanged",
    },
    "lecture": {"C = U' - U / 2", "size of J", "symmetric slices of Gamma_ijk", "potential energy"},
    "aldana": {
        "g_1",
        "y_2,3",
        "parameters",
        "numbers needed, masses and lengths unknown",
        "(dJ_A/dt)^-1",
        "Y Theta, g in p7, p8, p9",
    },
}
# Compared, of the paper and of our own reference runs.
COUNTS = {"gabiccini2009": (31, 0), "lecture": (34, 10), "aldana": (77, 2)}


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
