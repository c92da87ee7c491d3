"""`taupi log` from outside."""

import json

import numpy as np
import pytest
from command_line import taupi

import taupi as tp


def log(*arguments, cwd):
    return taupi("log", *arguments, cwd=cwd)


@pytest.fixture
def folder(tmp_path):
    """A log of the elbow arm with a gap and a dead torque, and a mapping for it."""
    t = np.arange(300) / 100
    t[150:] += 0.5
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    tp.write_log(tp.Log(t, q, tau=np.stack([np.sin(3 * t), 0 * t], axis=1)), tmp_path / "run.npz")
    rows = "\n".join(f"{a},{b},{c}" for a, (b, c) in zip(1000 * t, np.degrees(q), strict=True))
    (tmp_path / "run.csv").write_text("stamp,upper,fore\n" + rows + "\n")
    (tmp_path / "map.toml").write_text(
        'time = {columns = "stamp", unit = "ms"}\nq = {columns = ["upper", "fore"], unit = "deg"}\n'
    )
    return tmp_path


def test_the_report_as_text_and_json(folder):
    done = log("run.npz", cwd=folder)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("Log run.npz: 300 samples of 2 joints")
    assert "gap: 1 gaps in time, the longest 0.51 s" in done.stdout and "dead: tau of j2" in done.stdout
    assert (
        "    clean: interpolates gaps up to --short-gap; refuses longer ones unless --gaps interpolate" in done.stdout
    )
    data = json.loads(log("run.npz", "--json", cwd=folder).stdout)
    assert [f["kind"] for f in data["findings"]] == ["gap", "dead"] and data["findings"][0]["rows"] == [[149, 150]]
    assert data["source"]["format"] == "npz" and data["signals"] == ["q", "tau"]


def test_a_mapping_and_a_robot(folder):
    done = log("run.csv", "--columns", "map.toml", "--robot", "elbow2r", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["joints"] == list(tp.load("elbow2r").joint_names) and data["rate_hz"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.csv"], "No file 'missing.csv'"),
        (["run.csv"], "no joint signal is known"),
        (["run.csv", "--columns", "no.toml"], "No file 'no.toml'"),
        (["run.csv", "--columns", "map.toml", "--robot", "puma560"], "has 2 joints, expected 6"),
        (["run.npz", "--rate-hz", "-1"], "--rate-hz is -1"),
        (["."], "no known format"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_3(folder, arguments, sentence):
    done = log(*arguments, cwd=folder)
    assert done.returncode == 3 and not done.stdout
    assert sentence in done.stderr and len(done.stderr.strip().splitlines()) == 1
