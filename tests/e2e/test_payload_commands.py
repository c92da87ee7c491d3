"""`taupi payload`, `taupi gains`, and `taupi compare` of what has changed."""

import json

import numpy as np
import pytest
from command_line import taupi
from loads import ARM, GAINS, LOAD, as_currents, fit, recorded

import taupi as tp
from taupi.signals.mapping.columns import Columns
from taupi.tables import with_error

MAPPING = """time = "time"
q = "q_joint{i}"  # of the encoders
current = "current_joint{i}"

[motor]  # of the data sheet
torque_per_ampere = 10.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the PUMA 560, logs with and without a load, as torques and as currents."""
    folder = tmp_path_factory.mktemp("payload")
    tp.write_fit(fit(), folder / "fit.json")
    loaded, unloaded = recorded(ARM.with_payload(**LOAD), 402, drift=1.1), recorded(ARM, 302)
    tp.write_log(loaded, folder / "loaded.csv")
    tp.write_log(as_currents(loaded), folder / "loaded_amperes.csv")
    tp.write_log(as_currents(unloaded), folder / "amperes.csv")
    (folder / "columns.toml").write_text(MAPPING)
    return folder


def test_a_payload_as_text_and_as_json(folder):
    ended = taupi("payload", "fit.json", "loaded.csv", "--gain-uncertainty", "0", cwd=folder)
    assert ended.returncode == 0
    assert ended.stdout.startswith("Payload on link6 of puma560: ")
    ended = taupi("payload", ".", "loaded.csv", "--gain-uncertainty", "0.02", "--json", cwd=folder)
    data = json.loads(ended.stdout)
    assert data["mass"]["value"] == pytest.approx(LOAD["mass"], rel=0.01)
    assert data["mass"]["interval"][0] < LOAD["mass"] < data["mass"]["interval"][1]
    assert data["mass"]["stderr"] > 0.02 * data["mass"]["value"]
    assert data["logs"] == ["loaded.csv"] and data["provenance"]["robot"] == "puma560"


def test_a_payload_in_the_words_of_a_maker(folder):
    ended = taupi("payload", "fit.json", "loaded.csv", "--gain-uncertainty", "0", "--for", "ur", cwd=folder)
    assert ended.returncode == 0 and ended.stdout.startswith("set_target_payload(") and "flange" in ended.stderr
    assert float(ended.stdout[len("set_target_payload(") :].partition(",")[0]) == pytest.approx(LOAD["mass"], rel=0.01)
    arguments = ("payload", "fit.json", "loaded.csv", "--for", "kuka", "-o", "load.dat")
    assert taupi(*arguments, cwd=folder).returncode == 0 and (folder / "load.dat").read_text().startswith(
        "LOAD_DATA[1]="
    )
    assert taupi(*arguments, cwd=folder).returncode == 3
    assert "--for" in taupi("payload", "fit.json", "loaded.csv", "--for", "yaskawa", cwd=folder).stderr


def test_a_folder_has_everything_once(folder):
    ended = taupi("payload", "fit.json", "loaded.csv", "-o", "tool", cwd=folder)
    assert ended.returncode == 0
    assert sorted(p.name for p in (folder / "tool").iterdir()) == ["payload.json", "payload.txt", "report.html"]
    page = (folder / "tool" / "report.html").read_text()
    mass = json.loads((folder / "tool" / "payload.json").read_text())["mass"]
    assert f"{with_error(mass['value'], mass['stderr'])[0]} kg" in page and page.count("<ellipse") == 3
    again = taupi("payload", "fit.json", "loaded.csv", "-o", "tool", cwd=folder)
    assert again.returncode == 3 and "--force" in again.stderr


def test_a_toml_file_holds_the_robot_with_the_payload(folder):
    assert taupi("payload", "fit.json", "loaded.csv", "-o", "with.toml", cwd=folder).returncode == 0
    robot = tp.load(folder / "with.toml")
    load = tp.identify_payload(fit(), folder / "loaded.csv")
    assert np.allclose(robot.parameters.values, load.robot.parameters.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["payload", "fit.json", "loaded.csv", "--at", "hand"], 3, "No frame 'hand'"),
        (["payload", "fit.json", "loaded.csv", "--gain-uncertainty", "-1"], 3, "--gain-uncertainty is -1"),
        (["payload", "fit.json", "loaded.csv", "-o", "tool.xyz"], 3, "expected a directory, or a name ending in"),
        (["payload", "fit.json", "loaded.csv", "-o", "tool.urdf"], 3, "expected URDF"),
        (["payload", "fit.json", "nothing.csv"], 3, "nothing.csv"),
        (["payload", "fit.json", "loaded.csv", "--for", "ur", "--json"], 3, "no use for --json"),
        (["gains", "puma560", "amperes.csv", "--loaded", "loaded_amperes.csv", "--mass", "0"], 3, "--mass is 0"),
        (["gains", "puma560", "loaded.csv", "--loaded", "loaded_amperes.csv", "--mass", "2"], 3, "current is missing"),
        (["gains", "puma560", "amperes.csv", "--mass", "2"], 2, "--loaded"),
        (
            ["gains", "puma560", "amperes.csv", "--loaded", "loaded_amperes.csv", "--mass", "2", "-o", "gains.json"],
            3,
            "--output is 'gains.json', expected a name ending in .toml",
        ),
        (["compare", "loaded.csv", "fit.json"], 3, "loaded.csv is a log, not a fit. Name the robot as well: --robot"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(folder, words, code, message):
    ended = taupi(*words, cwd=folder)
    assert ended.returncode == code and message in ended.stderr


def test_gains_are_written_into_the_mapping(folder):
    words = ["gains", "puma560", "amperes.csv", "--loaded", "loaded_amperes.csv", "--mass", LOAD["mass"]]
    ended = taupi(*words, "--columns", "columns.toml", "-o", "calibrated.toml", "--json", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    text = (folder / "calibrated.toml").read_text()
    assert text.startswith(MAPPING.partition("torque_per_ampere")[0])
    gains = Columns.of(folder / "calibrated.toml").motor.torque_per_ampere
    assert np.allclose(gains, [g["value"] for g in json.loads(ended.stdout)["gains"]], rtol=1e-5)
    assert np.abs(np.array(gains) / GAINS - 1).max() < 0.01
    assert "next: taupi identify puma560" in ended.stderr


def test_compare_says_what_has_changed(folder):
    ended = taupi("compare", "fit.json", "loaded.csv", cwd=folder)
    assert ended.returncode == 0
    first, _ = ended.stdout.split("\n", 1)
    assert first.startswith("loaded.csv has, compared with fit.json: ") and "kg more on link6 (" in first
    data = json.loads(taupi("compare", "fit.json", "loaded.csv", "--json", cwd=folder).stdout)
    (mass,) = [c for c in data["changes"] if c["kind"] == "mass"]
    assert mass["value"] == pytest.approx(LOAD["mass"], rel=0.01) and mass["clear"]
    twice = taupi("compare", "fit.json", "loaded.csv", "loaded.csv", cwd=folder)
    assert twice.returncode == 0, twice.stderr
    assert (
        twice.stdout.startswith("loaded.csv, loaded.csv has, compared with fit.json: ") and "kg more on" in twice.stdout
    )
