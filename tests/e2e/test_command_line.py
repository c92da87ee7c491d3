"""The command line from outside: what it prints, where, and how it ends."""

import json
import subprocess
import sys

import numpy as np
import pytest
from command_line import taupi

import taupi as tp


def process(*arguments):
    """Run the command as a user does, in a process of its own."""
    return subprocess.run([sys.executable, "-m", "taupi", *arguments], capture_output=True, text=True, check=False)


def test_help_opens_with_examples():
    done = process("--help")
    assert done.returncode == 0
    assert "taupi info puma560" in done.stdout
    assert process("--version").stdout.strip() == tp.__version__


@pytest.mark.parametrize("words", ["base elbow2r --json", "base nobody", "base elbow2r --terms viscus", "base"])
def test_a_process_of_its_own_does_and_says_the_same(words):
    """The other tests of commands run them in this process."""
    done, here = process(*words.split()), taupi(*words.split())
    assert (done.returncode, done.stdout) == (here.returncode, here.stdout)
    assert done.stderr.splitlines()[-1:] == here.stderr.splitlines()[-1:]  # what is above it names the program


def test_info_lists_and_shows():
    assert "puma560" in taupi("info").stdout.split()
    text = taupi("info", "puma560").stdout
    assert "6 joints, 60 standard parameters" in text
    data = json.loads(taupi("info", "panda", "--json").stdout)
    assert data["coordinates"] == 7
    assert [j["name"] for j in data["joints"]] == list(tp.load("panda").joint_names)


def test_info_draws_a_picture_once(tmp_path):
    target = tmp_path / "arm.png"
    at = ("--picture", str(target), "--at", "[0.1, 0.2]")
    done = taupi("info", "elbow2r", *at)
    assert done.returncode == 0
    assert "2 joints" in done.stdout
    assert f"wrote {target}" in done.stderr
    assert target.read_bytes().startswith(b"\x89PNG")
    again = taupi("info", "elbow2r", *at)
    assert (again.returncode, again.stdout) == (3, "")
    assert "--force" in again.stderr
    assert taupi("info", "elbow2r", *at, "--force", "--json").returncode == 0


def test_info_refuses_half_a_picture(tmp_path):
    target = str(tmp_path / "arm.png")
    for arguments, sentence in (
        (("elbow2r", "--at", "[0, 0]"), "name its file with --picture"),
        (("--picture", target), "needs a robot"),
        (("elbow2r", "--picture", target, "--at", "{"), "expected a JSON list"),
        (("elbow2r", "--picture", target, "--at", "[1, 2, 3]"), "q has shape (3,)"),
        (("elbow2r", "--picture", str(tmp_path / "arm.bmp")), "ending in .png"),
    ):
        done = taupi("info", *arguments)
        assert done.returncode == 3
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


def test_regressor_shows_columns_and_values():
    assert "8 of 20 columns act" in taupi("regressor", "elbow2r", "--form", "slotine-li").stdout
    state = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
    data = json.loads(taupi("regressor", "elbow2r", "--terms", "viscous", "--at", json.dumps(state), "--json").stdout)
    want = tp.regressor(tp.load("elbow2r"), terms=("viscous",))(*state)
    assert np.allclose(data["Y"], want, rtol=1e-13, atol=1e-13)
    assert len(data["columns"]) == 22


def test_regressor_with_terms_that_are_not_rational():
    done = taupi("regressor", "elbow2r", "--terms", "stribeck, viscous")
    assert done.returncode == 0
    assert "12 of 24 columns act" in done.stdout


def test_base_parameters_as_text_and_json():
    text = taupi("base", "elbow2r", "--symbolic", "--terms", "viscous").stdout
    assert text.startswith("elbow2r: 8 base parameters of 22")
    assert "upper_arm.mx + a1*upper_arm.m + a1*forearm.m" in text
    assert "unidentifiable (12): upper_arm.mz" in text
    data = json.loads(taupi("base", "puma560", "--json", "--keep", "link6.m", "--order", "taupi").stdout)
    assert data["count"] == 36 == len(data["base"])
    assert any("link6.m" in entry["name"] for entry in data["base"])
    refused = taupi("base", "puma560", "--keep", "link1.m")
    assert refused.returncode == 3 and "no torque depends on it" in refused.stderr
    assert taupi("base", "puma560", "--order", "mine").returncode == 3
    assert taupi("base").returncode == 2


def test_convert_writes_once_and_reads_back(tmp_path):
    target = tmp_path / "arm.toml"
    assert taupi("convert", "panda", str(target)).returncode == 0
    assert tp.load(target).joints == tp.load("panda").joints
    again = taupi("convert", "panda", str(target))
    assert again.returncode == 3
    assert "--force" in again.stderr
    assert taupi("convert", "panda", str(target), "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "pumma560"], "Did you mean 'puma560'"),
        (["info", "missing.urdf"], "missing.urdf"),
        (["info", "."], "directory"),
        (["regressor", "puma560", "--form", "slotine"], "Did you mean 'slotine-li'"),
        (["regressor", "puma560", "--terms", "viscus"], "Did you mean 'viscous'"),
        (["regressor", "puma560", "--at", "nonsense"], "expected JSON"),
        (["regressor", "puma560", "--at", "[" * 100_000], "expected JSON"),
        (["regressor", "elbow2r", "--at", "[[NaN,0],[0,0],[0,0]]", "--json"], "not finite"),
        (["regressor", "puma560", "--at", "[[1,2],[3],[4]]"], "q has shape"),
        (["convert", "puma560", "arm.urdf"], "ending in .toml"),
        (["info", "puma560", "--lock", "x"], "takes no --lock"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_3(arguments, sentence, tmp_path):
    done = taupi(*arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
    assert not list(tmp_path.iterdir())


def test_broken_files_are_one_sentence_and_exit_3(tmp_path):
    for name, content in {
        "empty.urdf": b"",
        "binary.urdf": bytes(range(256)),
        "broken.urdf": b"<robot><link",
        "bomb.urdf": b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        "empty.toml": b"",
        "broken.toml": b"[robot\nname=",
        "units.toml": b'[robot]\nname="a"\n[[joint]]\na_mm=100\n',
    }.items():
        (tmp_path / name).write_bytes(content)
        done = taupi("info", name, cwd=tmp_path)
        assert done.returncode == 3, (name, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert name in done.stderr


def test_usage_errors_exit_2():
    assert taupi("regressor").returncode == 2
    assert taupi("nonsense").returncode == 2


def test_a_reader_who_has_seen_enough_is_no_error():
    command = [sys.executable, "-m", "taupi", "explicit", "puma560", "--what", "coriolis-matrix"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        child.stdout.close()
        assert (child.stderr.read(), child.wait()) == ("", 0)


def test_bounds_by_range_and_as_json():
    done = taupi("bounds", "lecture2r", "--range", "-1.5707963267948966:1.5707963267948966")
    assert done.returncode == 0, done.stderr
    assert "M_1_max" in done.stdout
    arguments = ("--range", "-1:1", "--range", "joint2=0:0.5", "--tolerance", "1e-4", "--json")
    data = json.loads(taupi("bounds", "lecture2r", *arguments).stdout)
    assert data["range"] == {"joint1": [-1, 1], "joint2": [0, 0.5]}
    upper = {b["name"]: b["upper"] for b in data["bounds"]}
    want = tp.bounds(tp.load("lecture2r"), {"joint1": (-1, 1), "joint2": (0, 0.5)}, tolerance=1e-4)
    assert upper == {b.name: b.upper for b in want}


def test_bounds_shows_properties(tmp_path):
    done = taupi("bounds", "elbow2r", "--properties")
    assert done.returncode == 0
    assert "all hold" in done.stdout
    tp.write_toml(tp.load("lecture2r").bind(m2=-1), tmp_path / "odd.toml")
    odd = taupi("bounds", str(tmp_path / "odd.toml"), "--properties", "--json")
    assert odd.returncode == 4
    assert json.loads(odd.stdout)["holds"] is False


@pytest.mark.parametrize("span", ["1", "a:b", "joint1=1", "1:0", "jointt1=0:1"])
def test_bad_ranges_are_one_sentence(span):
    done = taupi("bounds", "lecture2r", "--range", span)
    assert done.returncode == 3
    assert "range" in done.stderr or "joint1" in done.stderr
    assert "Traceback" not in done.stderr


def test_bounds_help_opens_with_examples():
    text = taupi("bounds", "--help").stdout
    assert text.index("taupi bounds lecture2r") < text.index("--tolerance")


def test_properties_refuse_a_range_that_they_would_not_use():
    done = taupi("bounds", "lecture2r", "--properties", "--range", "-1:1")
    assert done.returncode == 3
    assert done.stderr.strip() == "taupi: --properties draws its own states: leave --range out."


def test_elastic_joints_are_known(tmp_path):
    text = taupi("info", "zollo2r").stdout
    assert "2 elastic joints" in text and "3000" in text
    drives = json.loads(taupi("info", "zollo2r", "--json").stdout)["joints"]
    assert drives[1]["transmission"]["stiffness"] == 1800 and drives[1]["transmission"]["motor_axis"] == [0, 0, 1]
    assert "elastic" not in taupi("info", "puma560").stdout
    data = json.loads(taupi("regressor", "zollo2r", "--form", "elastic", "--json").stdout)
    assert data["shape"] == [4, 28] and data["columns"][-1]["name"] == "joint2.stiffness"
    state = "[[0,0],[1,1],[0,0],[0,0],[1,1],[0,0]]"
    done = taupi("regressor", "zollo2r", "--form", "elastic", "--no-coupling", "--at", state, "--json")
    want = tp.elastic_regressor(tp.load("zollo2r"), coupling=False)(*json.loads(state))
    np.testing.assert_allclose(json.loads(done.stdout)["Y"], want, atol=1e-12)
    base = taupi("base", "zollo2r", "--elastic").stdout
    assert "14 base parameters of 28" in base and "no log can determine their individual values" in base
    done = taupi("emit", "zollo2r", "elastic-regressor", "-o", str(tmp_path))
    assert done.returncode == 0 and (tmp_path / "elastic_regressor.c").exists()
    done = taupi("regressor", "puma560", "--form", "elastic")
    assert (done.returncode, done.stdout) == (3, "") and "puma560 has no elastic joint" in done.stderr
    file = tmp_path / "mine.toml"
    file.write_text("[[joint]]\ntransmission = { stiffness = 5, rotor_inertia = 1 }\n")
    assert "joint1.stiffness" in taupi("regressor", str(file), "--form", "elastic").stdout


def test_floating_bases_from_the_command_line(tmp_path):
    data = json.loads(taupi("info", "solo12", "--json").stdout)
    assert data["coordinates"] == 18 and data["joints"][0]["type"] == "free"
    assert "12 joints with a motor on a base that moves freely (18 velocities)" in taupi("info", "solo12").stdout
    assert json.loads(taupi("info", "solo12", "--no-floating", "--json").stdout)["coordinates"] == 12
    assert json.loads(taupi("base", "elbow2r", "--floating", "--json").stdout)["count"] == 24
    done = taupi("bounds", "solo12")
    assert done.returncode == 3 and "Bolt it to the ground: --no-floating." in done.stderr
    assert taupi("convert", "elbow2r", str(tmp_path / "free.toml"), "--floating").returncode == 0
    assert tp.load(tmp_path / "free.toml").floating
    done = taupi("info", "arm.urdf.xacro", "--xacro", "m")
    assert done.returncode == 3 and "expected NAME=VALUE" in done.stderr
