"""`taupi excite` from outside: the files, the loop through simulation and identification, bad input, an interrupted run."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import taupi
from excite import budgets_by_the_processor
from pages import Page

import taupi as tp
from taupi.progress import ENVIRONMENT

LIMITS = "lower = -2\nupper = 2\nvelocity = 3\nacceleration = 10\neffort = 60\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "limits.toml").write_text(LIMITS)
    return tmp_path


def excite(*arguments, cwd):
    return taupi(
        "excite", "elbow2r", "--limits", "limits.toml", "--duration", "5", "--starts", "1", *arguments, cwd=cwd
    )


def test_a_design_is_simulated_and_identified(folder):
    done = excite("-o", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 s of elbow2r for 10 parameters: standard deviations")
    assert "clearance is not checked" in done.stdout and "--speed 0.3" in done.stderr
    assert {p.name for p in (folder / "out").iterdir()} >= {
        "excitation.csv",
        "excitation.json",
        "excitation.txt",
        "report.html",
    }
    data = json.loads((folder / "out" / "excitation.json").read_text())
    assert data["certified"] and data["provenance"]["command"].startswith("taupi excite elbow2r")
    assert len(data["provenance"]["limits_sha256"]) == 64
    page = Page((folder / "out" / "report.html").read_text())
    assert (
        page.ids[:4] == ["promise", "film", "limits", "clearance"]
        and "expected error" in page.table("base parameter")[0]
    )
    # The CSV read back, followed in simulation with noise, and identified: the whole loop.
    log = tp.read_log(folder / "out" / "excitation.csv", tp.load("elbow2r"))
    assert log.q.shape == (501, 2) and log.qdd is not None and log.tau is not None
    assert_identified(folder, np.array(data["sigma"]), data["expected"])
    again = excite("-o", "out", cwd=folder)
    assert again.returncode == 3 and "--force" in again.stderr


@pytest.mark.parametrize("option", ["--given", "--sigma"])
def test_a_directory_of_a_fit_is_read_as_a_fit(folder, option):
    (folder / "fit").mkdir()
    (folder / "fit" / "fit.json").write_text("{}")
    done = excite(option, "fit", "-o", "out", cwd=folder)
    assert done.returncode == 3 and "fit.json" in done.stderr and "schema" in done.stderr


def assert_identified(folder, sigma, promised):
    """The torque gets the noise that was designed for: errors are then those that were promised, and no bias is seen."""
    run = taupi(
        *("simulate", "elbow2r", "--reference", "out/excitation.csv", "--duration", "5"),
        *("--noise", "1e-5", "--resolution", "1e-5", "-o", "run"),
        cwd=folder,
    )
    assert run.returncode == 0, run.stderr
    log = tp.read_log(folder / "run" / "measured.parquet")
    rate = 1 / np.median(np.diff(log.time))
    noise = np.random.default_rng(4).normal(size=log.tau.shape) * sigma * np.sqrt(rate / 100.0)
    tp.write_log(tp.Log(log.time, log.q, tau=log.tau + noise, names=log.names), folder / "noisy.csv")
    fit = taupi(
        *("identify", "elbow2r", "noisy.csv", "--estimator", "wls", "--terms", "viscous,coulomb", "-o", "fit"),
        cwd=folder,
    )
    assert fit.returncode == 0, fit.stderr
    fitted = tp.load_fit(folder / "fit")
    truth = fitted.basis.project(fitted.basis.standard)
    by_name = {row["name"]: row["stderr"] for row in promised}
    expected = np.array([by_name[name] for name in fitted.names])
    off = (fitted.values - truth) / expected
    assert np.square(off).sum() < 29.6  # chi^2 of 10 parameters: more in one of a thousand cases
    # The fit leaves out the ends, and slow samples, which tell of friction most of all.
    ratio = fitted.stderr / expected
    links = [not name.endswith((".viscous", ".coulomb")) for name in fitted.names]
    assert 0.9 < np.exp(np.log(ratio[links]).mean()) < 1.3 and (ratio > 0.9).all() and ratio.max() < 2.5


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--formats", "csv,xlsx"), 3, "No --formats 'xlsx'"),
        (("--formats", "franka"), 3, "'franka' is for arms with 7 joints, elbow2r has 2. Leave it out of --formats"),
        (("--speed", "2"), 3, "--speed is 2, expected at most 1"),
        (("--duration", "0.01"), 3, "--duration is 0.01 s, too short"),
        (("--criterion", "ds"), 3, "--only"),
        (("--margin", "2"), 3, "--margin is 2.0, expected a share"),
        (("--start", "9,9"), 3, "--start is outside the limits"),
        (("--given", "missing.csv"), 3, "missing.csv"),
        (("--motion", "fourier", "--points", "20"), 3, "--points has no meaning"),
    ],
)
def test_bad_input_is_one_sentence(folder, arguments, code, sentence):
    done = excite("-o", "out", *arguments, cwd=folder)
    assert done.returncode == code and sentence in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not (folder / "out").exists()


def test_missing_limits_say_what_to_give(tmp_path):
    done = taupi("excite", "puma560", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3 and "puma560 has no velocity limit" in done.stderr
    assert "Give --limits FILE.toml with joint1.velocity = ..., joint1.effort = ..." in done.stderr


def test_slower_motion_takes_longer(folder):
    done = excite("-o", "out", "--speed", "0.5", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["schema"] == "taupi.excitation/1" and data["provenance"]["speed"] == 0.5
    assert "--speed 0.3" not in done.stderr
    log = tp.read_log(folder / "out" / "excitation.csv", tp.load("elbow2r"))
    assert log.time[-1] == pytest.approx(10.0) and np.abs(log.qd).max() <= 1.5


def test_the_budget_includes_start_and_files(folder, monkeypatch):
    budgets_by_the_processor(monkeypatch)
    begin = time.process_time()
    done = excite("--starts", "10000", "--budget", "6", "-o", "out", "--json", cwd=folder)
    spent = time.process_time() - begin
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["certified"]
    assert (
        2.0 < spent < 6.0 + 2.0
    )  # the interpreter starts before the command, and one step of the search is not interrupted


def test_an_interrupted_run_writes_the_best_motion_so_far(folder):
    # A job in the background inherits a signal that is ignored.
    begins = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from taupi.cli.main import run; run()"
    )
    command = [
        sys.executable,
        "-c",
        begins,
        "excite",
        "elbow2r",
        "--limits",
        "limits.toml",
        "--starts",
        "10000",
        "-o",
        "out",
    ]
    environment = {**os.environ, ENVIRONMENT: "json"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert any("start 3 of 10000" in line for line in process.stderr)  # two are there
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "stopped early" in out
    data = json.loads((folder / "out" / "excitation.json").read_text())
    assert data["stopped"] and data["certified"]


def test_commands_for_a_robot_without_torque_sensors(folder):
    (folder / "drive.toml").write_text('[drive]\nlaw = "pd"\nkp = 300\nkd = 10\nunknown = ["kp"]\n')
    common = ("excite", "elbow2r", "--limits", "limits.toml", "--drive", "drive.toml", "--duration", "10", "-o", "out")
    done = taupi(*common, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "parameters will be seen" in done.stdout and "known mass at the tip" in done.stdout
    assert "taupi identify elbow2r run.csv --columns out/drive.toml" in done.stderr
    assert {p.name for p in (folder / "out").iterdir()} == {
        *("commands.json", "commands.txt", "drive.toml", "excitation.csv", "report.html")
    }
    page = Page((folder / "out" / "report.html").read_text())
    assert page.ids[:4] == ["outlook", "film", "limits", "clearance"]
    again = taupi(*common, cwd=folder)
    assert again.returncode == 3 and "--force" in again.stderr
    (folder / "none.toml").write_text('q = "q{i}"\n')
    bad = taupi("excite", "elbow2r", "--drive", "none.toml", "-o", "new", cwd=folder)
    assert bad.returncode == 3 and "no table [drive]" in bad.stderr
    bad = taupi(
        "excite", "elbow2r", "--drive", "drive.toml", "--criterion", "a", "--given", "x", "-o", "new", cwd=folder
    )
    assert bad.returncode == 3 and "--given and --criterion have no meaning" in bad.stderr
