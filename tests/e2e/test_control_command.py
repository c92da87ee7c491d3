"""`taupi control` and `taupi emit ROBOT controller` from outside."""

import json
import subprocess
import sys

import pytest
from emitted import need, run

import taupi as tp


def taupi(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "taupi", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_laws_side_by_side(tmp_path):
    laws = "slotine-li,niemeyer-slotine"
    done = taupi("control", "elbow2r", "--law", laws, "--duration", "2", "--json", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, other = json.loads(done.stdout)["runs"]
    assert one["rms_error_last"] < 0.5 * one["rms_error_first"]
    assert one["V_last"] < one["V_first"]
    for key in ("rms_error_first", "rms_error_last", "largest_torque", "V_last"):
        assert other[key] == pytest.approx(one[key], rel=1e-6)
    run_ = tp.Run.load(tmp_path / "out" / "slotine-li" / "run.parquet")
    assert run_.parameters.shape == (2001, 20)
    assert (tmp_path / "out" / "niemeyer-slotine" / "run.png").exists()


def test_a_payload_in_words(tmp_path):
    done = taupi("control", "elbow2r", "--duration", "1", "--payload-at", "0.5s:1kg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("law ")
    assert done.stdout.splitlines()[2].startswith("slotine-li ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["control", "elbow2r", "--law", "slotine"], "No law 'slotine'. Did you mean 'slotine-li'?"),
        (["control", "elbow2r", "--reference", "none"], "expected a motion to follow"),
        (["emit", "elbow2r", "controller", "-o", "x"], "A controller needs a law: --law slotine-li"),
        (["emit", "elbow2r", "controller", "--law", "walkr", "-o", "x"], "Did you mean 'walker'?"),
        (["emit", "elbow2r", "regressor", "--law", "walker", "-o", "x"], "--law goes with the program controller"),
        (["emit", "elbow2r", "controller", "--law", "walker", "--dtype", "float32", "-o", "x"], "written in float64"),
        (["emit", "elbow2r", "control", "-o", "x"], "Did you mean 'controller'?"),
    ],
)
def test_bad_requests_are_one_sentence(arguments, told, tmp_path):
    done = taupi(*arguments, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_emitted_controller_passes_its_own_test(tmp_path):
    done = taupi("emit", "puma560", "controller", "--law", "slotine-li", "--language", "c", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "out/slotine_li.c"
    need("cc")
    command = done.stderr.partition("next: ")[2].strip()
    assert "largest difference" in run("bash", "-c", command, cwd=tmp_path)


def test_elastic_joints_have_their_own_law(tmp_path):
    done = taupi("control", "zollo2r", "--duration", "1", "--known", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    assert row["law"] == "elastic-pd-gravity" and row["complete"] and row["rms_error_last"] < 0.05
    assert "2 elastic joints: simulating links and motors" in done.stderr
    # A law for rigid arms excites the springs.
    lost = taupi("control", "zollo2r", "--law", "computed-torque", "--known", "1", "--duration", "2", cwd=tmp_path)
    assert lost.returncode == 4 and "diverged" in lost.stderr
