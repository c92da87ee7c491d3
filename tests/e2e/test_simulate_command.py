"""`taupi simulate` from outside."""

import json
import shlex

import numpy as np
import pytest
from command_line import taupi
from pages import Page

import taupi as tp


def simulate(*arguments, cwd):
    return taupi("simulate", *arguments, cwd=cwd)


def test_the_next_command_can_be_typed_as_it_is_printed(tmp_path):
    done = simulate("elbow2r", "--duration", "0.1", "-o", "my out", cwd=tmp_path)
    step = done.stderr.rpartition("next: ")[2].strip()
    assert step.startswith("open 'my out/report.html' in a browser, or taupi log ")
    assert taupi(*shlex.split(step.partition(" or taupi ")[2]), cwd=tmp_path).returncode == 0


def test_a_run_is_written_and_told(tmp_path):
    done = simulate("elbow2r", "--duration", "0.5", "--payload-at", "0.2s:1kg", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Run of elbow2r under computed_torque: 501 samples, 0.5 s; energy audit within")
    assert "wrote out: report.html, arm.svg, run.png, run.parquet; next: open out/report.html" in done.stderr
    assert Page((tmp_path / "out" / "report.html").read_text()).ids[:2] == ["overview", "arm"]
    run = tp.Run.load(tmp_path / "out" / "run.parquet")
    assert (tmp_path / "out" / "run.png").exists() and len(run) == 501
    # The law does not know of the load.
    assert np.abs(run.error[:200]).max() < 1e-3 < np.abs(run.error[200:]).max()
    again = simulate("elbow2r", "--duration", "0.5", "-o", "out", cwd=tmp_path)
    assert again.returncode == 3 and "--force" in again.stderr


def test_json_waypoints_files_and_sensors(tmp_path):
    points = "[[0,0],[0.3,-0.2],[0.1,0.4]]"
    done = simulate(
        "elbow2r",
        "--reference",
        points,
        "--duration",
        "0.3",
        "--law",
        "slotine-li",
        "--resolution",
        "1e-4",
        "--json",
        cwd=tmp_path,
    )
    data = json.loads(done.stdout)
    assert data["complete"] and data["provenance"]["controller"] == "slotine_li" and len(data["largest_error"]) == 2
    t = np.arange(100) / 100
    tp.write_log(tp.Log(t, np.stack([np.sin(t), t**2], axis=1), names=("shoulder", "elbow")), tmp_path / "motion.csv")
    done = simulate("elbow2r", "--reference", "motion.csv", "--duration", "0.3", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["complete"], done.stderr
    free = simulate("elbow2r", "--reference", "none", "--duration", "0.3", "--json", cwd=tmp_path)
    assert json.loads(free.stdout)["provenance"]["controller"] == "none"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--reference", "circle"), "No reference 'circle'"),
        (("--reference", "[[1,2]]"), "expected at least two way-points"),
        (("--law", "pid"), "No law 'pid'"),
        (("--payload-at", "now"), "expected time:mass"),
        (("--integrator", "rk5"), "Did you mean 'rk4"),
        (("--rate", "-1"), "rate is -1"),
    ],
)
def test_bad_words_are_one_sentence(arguments, sentence, tmp_path):
    done = simulate("elbow2r", "--duration", "0.01", *arguments, cwd=tmp_path)
    assert done.returncode == 3 and sentence in done.stderr and "Traceback" not in done.stderr


def test_a_diverging_loop_ends_with_4(tmp_path):
    done = simulate("elbow2r", "--law", "slotine-li", "--rate", "5", "--duration", "20", cwd=tmp_path)
    assert done.returncode == 4 and "warning: The loop diverged" in done.stderr and "diverged after" in done.stdout


def test_elastic_joints_are_noticed(tmp_path):
    done = simulate("zollo2r", "--duration", "0.3", "--resolution", "5e-6", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Run of zollo2r under elastic_pd_gravity: 301 samples")
    assert "zollo2r has 2 elastic joints: simulating links and motors, coulomb, viscous" in done.stderr
    assert "rad/s: 1 step of rk4 per control period" in done.stderr
    run, log = tp.Run.load(tmp_path / "out" / "run.parquet"), tp.read_log(tmp_path / "out" / "run.parquet")
    assert np.array_equal(log.theta, run.theta) and np.array_equal(log.tau_m, run.tau)
    for seen in (run.measured.q, run.measured_motors.q):
        assert np.abs(seen / 5e-6 - np.round(seen / 5e-6)).max() < 1e-4
    page = Page((tmp_path / "out" / "report.html").read_text())
    assert "deflection theta - q" in " ".join(page.words) and "ElasticPlant" in page.words
    stiff = tp.load("zollo2r").with_transmissions(stiffness=[3e6, 1.8e6])
    tp.write_toml(stiff, tmp_path / "arm.toml")
    done = simulate("arm.toml", "--duration", "0.1", "--terms", "viscous,damping", "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["complete"] and data["provenance"]["terms"] == ["viscous", "damping"], done.stderr
    assert data["provenance"]["substeps"] > 5
    rigid = simulate("zollo2r", "--rigid", "--duration", "0.1", "--json", cwd=tmp_path)
    provenance = json.loads(rigid.stdout)["provenance"]
    assert (
        provenance["plant"] == "RigidPlant"
        and provenance["controller"] == "computed_torque"
        and "motors" not in rigid.stderr
    )
    stuck = simulate("zollo2r", "--stiction", "--integrator", "rk45", cwd=tmp_path)
    assert stuck.returncode == 3 and "add --rigid" in stuck.stderr
