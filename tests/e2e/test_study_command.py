"""`taupi study` from outside."""

import json

from command_line import taupi

QUICK = ("--roll-outs", "4", "--duration", "0.2", "--rate", "500")


def test_a_page_and_a_table(tmp_path):
    done = taupi("study", "robustness", "elbow2r", *QUICK, "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == "wrote page.html\n"
    assert [line.split()[0] for line in done.stdout.splitlines()[3:]] == ["pd_gravity", "computed_torque", "slotine_li"]
    assert "Robustness of elbow2r" in (tmp_path / "page.html").read_text()
    again = taupi("study", "robustness", "elbow2r", *QUICK, "-o", "page.html", cwd=tmp_path)
    assert again.returncode == 3 and "page.html" in again.stderr and again.stdout == ""


def test_laws_gains_and_json(tmp_path):
    arguments = ("--law", "walker,slotine-li", "--gain", "Lambda=7", "--spread", "0.1", "--seed", "3", "--json")
    done = taupi("study", "robustness", "elbow2r", *QUICK, *arguments, cwd=tmp_path)
    data = json.loads(done.stdout)
    assert list(data["laws"]) == ["walker", "slotine_li"] and data["spread"] == 0.1 and data["seed"] == 3
    assert data["roll_outs"] == 4 and data["provenance"]["duration"] == 0.2


def test_bad_input(tmp_path):
    for arguments, message in (
        (("weather",), "No study 'weather'. Known: robustness"),
        (("robustness", "elbow2r", "--law", "magic"), "No law 'magic'"),
        (("robustness", "elbow2r", "--force"), "--force is for a file"),
        (("robustness", "elbow2r", "--device", "abacus", *QUICK), "--device is 'abacus'"),
        (("robustness", "elbow2r", "--roll-outs", "0"), "--roll-outs is 0"),
    ):
        done = taupi("study", *arguments, cwd=tmp_path)
        assert done.returncode == 3 and message in done.stderr and not done.stdout, done.stderr
