"""`taupi contacts`, and `taupi emit FIT observer|tracker|estimator`, from outside."""

import json

import numpy as np
import pytest
from command_line import taupi
from emitted import need, run
from fits import FRICTION, TERMS, friction_fit, friction_log

import taupi as tp


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit, a quiet log, and one with a push at 3 s."""
    place = tmp_path_factory.mktemp("online")
    tp.write_fit(friction_fit(), place / "fit.json")
    quiet = friction_log(2)
    tp.write_log(quiet, place / "quiet.csv")
    pushed = friction_log(3)
    push = np.where((pushed.time > 3.0) & (pushed.time < 3.5), 8.0, 0.0)
    tp.write_log(pushed.with_(tau=pushed.tau - push[:, None] * [1.0, 0.4]), place / "pushed.csv")
    tp.write_log(quiet.rows(slice(0, 1)), place / "one.csv")
    return place


def test_contacts_are_found_and_thresholds_kept(folder):
    done = taupi("contacts", "fit.json", "pushed.csv", "quiet.csv", "--quiet", "quiet.csv", "-o", "t.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "pushed.csv: 1 contact\n" in done.stdout and "quiet.csv: 0 contacts" in done.stdout
    assert "thresholds for 1 false alarm per hour" in done.stderr
    words = ("contacts", "fit.json", "pushed.csv", "--thresholds", "t.json")
    data = json.loads(taupi(*words, "--json", cwd=folder).stdout)
    (contact,) = data["contacts"]["pushed.csv"]
    assert abs(contact["start"] - 3.0) < 0.06 and abs(contact["end"] - 3.5) < 0.1
    assert np.abs(np.array(contact["tau_ext"]) - [8.0, 3.2]).max() < 2.0


def test_thresholds_bring_the_settings_of_their_observer(folder, tmp_path):
    file = tmp_path / "slow.json"
    words = ("contacts", folder / "fit.json", folder / "pushed.csv")
    quiet = ("--quiet", folder / "quiet.csv", "--tracker", "--bandwidth", "10", "-o", file)
    first = taupi(*words, *quiet)
    assert first.returncode == 0 and "pushed.csv: 1 contact\n" in first.stdout, first.stderr
    assert taupi(*words, "--thresholds", file).stdout == first.stdout
    done = taupi("emit", folder / "fit.json", "observer", "--thresholds", file, "-o", tmp_path / "shell")
    assert done.returncode == 0, done.stderr
    observer = tp.momentum_observer(tp.load_fit(folder / "fit.json"), 10, tracker=True)
    detector = observer.calibrated(tp.clean_log(tp.read_log(folder / "quiet.csv")))
    for path in tp.emit_component(detector, tmp_path / "python"):
        assert (tmp_path / "shell" / path.name).read_text() == path.read_text(), path.name


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["contacts", "fit.json", "pushed.csv"], "The logs of the fit are not where they were"),
        (["contacts", "fit.json", "pushed.csv", "--quiet", "quiet.csv", "--bandwidth", "0"], "--bandwidth is 0"),
        (
            ["contacts", "fit.json", "pushed.csv", "--quiet", "quiet.csv", "--false-alarms", "-1"],
            "--false-alarms is -1",
        ),
        (["contacts", "fit.json", "pushed.csv", "--quiet", "quiet.csv", "--thresholds", "x.json"], "give one of them"),
        (["contacts", "fit.json", "pushed.csv", "--thresholds", "none.json"], "No file 'none.json'"),
        (["contacts", "fit.json", "pushed.csv", "--thresholds", "t.json", "--bandwidth", "5"], "--bandwidth and --thr"),
        (["contacts", "fit.json", "pushed.csv", "--thresholds", "t.json", "--tracker"], "--tracker and --thresholds"),
        (["contacts", "fit.json", "pushed.csv", "--thresholds", "t.json", "--false-alarms", "2"], "--false-alarms and"),
        (["contacts", "fit.json", "one.csv", "--quiet", "quiet.csv"], "one.csv: log has 1 samples"),
        (["emit", "elbow2r", "tracker", "-o", "x"], "The tracker needs a fit"),
        (["emit", "fit.json", "tracker", "--thresholds", "t.json", "-o", "x"], "--thresholds go with the observer"),
        (["emit", "elbow2r", "regressor", "--thresholds", "t.json", "-o", "x"], "--thresholds go with the observer"),
        (["emit", "fit.json", "observer", "--terms", "viscous", "-o", "x"], "those of the fit"),
        (["emit", "fit.json", "estimator", "--project", "-o", "x"], "An estimator is written in float64"),
        (["emit", "fit.json", "obsever", "-o", "x"], "fit.json"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_is_refused(folder, arguments, sentence):
    done = taupi(*arguments, cwd=folder)
    assert done.returncode == 3 and sentence in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("what", ["observer", "tracker", "estimator", "detector"])
def test_emitted_packages_pass_their_own_test(folder, what, tmp_path):
    need("cc")
    more = ["--thresholds", folder / "t.json"] if what == "detector" else []
    if what == "detector" and not (folder / "t.json").exists():
        taupi("contacts", "fit.json", "quiet.csv", "--quiet", "quiet.csv", "-o", "t.json", cwd=folder)
    program = "observer" if what == "detector" else what
    done = taupi("emit", folder / "fit.json", program, *more, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert f"{what}_{what}.c" in done.stdout and "README.md" in done.stdout
    command = done.stderr.partition("next: ")[2].strip()
    assert "largest difference" in run("sh", "-c", command)


def test_an_observer_of_a_robot_and_other_languages(tmp_path):
    done = taupi("emit", "elbow2r", "observer", "--language", "python", "--terms", "viscous", "-o", tmp_path)
    assert done.returncode == 0 and done.stdout.strip().endswith("observer.py")
    assert set(FRICTION) == set(TERMS)
