"""`taupi reproduce` from outside."""

import json

import pytest
from command_line import taupi
from typer.testing import CliRunner

import taupi as tp
from taupi.cli.main import app
from taupi.papers.study import PublishedStudy, Reproduction, figure


def test_studies_are_listed(tmp_path):
    done = taupi("reproduce", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    names = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert names == [s.name for s in tp.papers.studies()] and max(map(len, lines)) < 80
    listed = json.loads(taupi("reproduce", "--json", cwd=tmp_path).stdout)["studies"]
    assert {"name", "document", "reruns", "seconds"} == set(listed[0])


def test_a_study_with_files(tmp_path):
    done = taupi("reproduce", "gabiccini2009", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2] == "The paper's figures and formulas: 85 compared: 76 agree, 9 differ for a known reason"
    assert "Own reference runs: none" in lines
    assert done.stderr.startswith("wrote out/paper.csv")
    record = json.loads((tmp_path / "out/reproduction.json").read_text())
    assert record["provenance"]["command"] == "taupi reproduce gabiccini2009 -o out"
    again = taupi("reproduce", "gabiccini2009", "-o", "out", cwd=tmp_path)
    assert again.returncode == 3 and "holds paper.csv" in again.stderr and again.stdout == ""


def test_json_is_the_record(tmp_path):
    done = taupi("reproduce", "gabiccini2009", "--json", cwd=tmp_path)
    data = json.loads(done.stdout)
    assert data["name"] == "gabiccini2009" and len(data["paper"]) == 85 and data["reference"] == []
    assert data["paper"][0]["verdict"] == "agrees" and data["paper"][0]["agrees"] is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kubozno"], "Did you mean 'kubozono'"),
        (["--force"], "are for one study"),
        (["gabiccini2009", "--force"], "--force is for files"),
    ],
)
def test_bad_words_are_one_sentence(tmp_path, arguments, sentence):
    done = taupi("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 3 and sentence in done.stderr and "Traceback" not in done.stderr


def test_an_unexplained_difference_is_exit_four(monkeypatch):
    study = PublishedStudy("invented", "Somebody: A study", "nothing", 1, 1, run=lambda step: None)
    monkeypatch.setattr(tp.papers, "reproduce", lambda name: Reproduction(study, (figure("x", "1", 2.0),)))
    assert CliRunner().invoke(app, ["reproduce", "invented"]).exit_code == 4
    monkeypatch.setattr(tp.papers, "reproduce", lambda name: Reproduction(study, (figure("x", "1", 1.2),)))
    assert CliRunner().invoke(app, ["reproduce", "invented"]).exit_code == 0
