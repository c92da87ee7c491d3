"""`taupi identify` on an industrial arm with two encoders per gear: what it prints, warns of, and keeps."""

import json
import sys
import warnings

import industrial
import numpy as np
import pytest

import taupi as tp
from taupi.cli.main import run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("industrial")
    tp.write_toml(industrial.described(), folder / "arm.toml")
    paths = []
    for seed in range(4):
        paths.append(folder / f"run{seed}.parquet")
        tp.write_log(industrial.log(seed, late_links=industrial.LATE), paths[-1])
    return folder, paths


def test_springs_delay_and_offsets_are_reported(files, capsys, monkeypatch):
    folder, (*fitted, held_out) = files
    words = ["identify", folder / "arm.toml", *fitted, "--validate", held_out, "--cutoff", "5", "-o", folder / "out"]
    monkeypatch.setattr(sys, "argv", ["taupi", *map(str, words), "--json"])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit) as end:
        run()
    printed = capsys.readouterr()
    assert not end.value.code, printed.err
    assert "The spring of joint1 is not determined" in printed.err
    data = json.loads(printed.out)
    springs = {spring["joint"]: spring for spring in data["springs"]}
    assert [s["determined"] for s in springs.values()] == [False, True, True]
    assert all(abs(s["delay"] + industrial.LATE) < 3e-4 for s in springs.values())
    assert np.allclose(springs["joint2"]["offsets"], industrial.OFFSETS[:, 1], atol=2e-5)
    assert "joint1.stiffness" in data["not_determined"]
    assert max(j["relative"] for j in data["validation"][0]["joints"]) < 0.1
    assert "springs and encoders" in (folder / "out" / "fit.txt").read_text()
    assert 'id="springs"' in (folder / "out" / "report.html").read_text()
