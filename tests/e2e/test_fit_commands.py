"""Commands that begin with a fit: `taupi validate`, `compare` and `report`."""

import json

import pytest
from cli_runs import COUNT

import taupi as tp


def test_validate_compare_and_report(command, done, logs, tmp_path):
    fit = done[1]
    code, out, _ = command("validate", fit, "run3.csv")
    assert code == 0 and out.startswith("run3.csv: relative error")
    (data,) = json.loads(command("validate", fit / "fit.json", "run3.csv", "--json")[1])
    assert data == json.loads(json.dumps(tp.load_fit(fit).validate(logs / "run3.csv").to_dict()))
    assert command("identify", "arm.toml", "run1.csv", "--estimator", "ols", "-o", tmp_path / "ols")[0] == 0
    code, out, _ = command("compare", tmp_path / "ols", fit, "run3.csv")
    assert code == 0 and "first (ols)" in out and "second (consistent)" in out
    (data,) = json.loads(command("compare", tmp_path / "ols", fit, "run3.csv", "--json")[1])
    assert set(data) == {"first", "second", "parameters"} and len(data["parameters"]) == COUNT
    page = tmp_path / "page.html"
    assert command("report", fit, "-o", page, "--validate", "run3.csv", "--fitted", "run1.csv")[0] == 0
    assert page.read_text().count('<figure class="chart"') == 2 * 2 * 2
    code, _, err = command("report", fit, "-o", page)
    assert code == 3 and "exists already" in err and "--force" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["validate", "nothing.json", "run1.csv"], "No file 'nothing.json'"),
        (["validate", "run1.csv", "run2.csv"], "is not JSON"),
        (["report", "FIT", "-o", "page.pdf"], "ending in .html"),
        (["validate", "FIT", "silent.csv"], "tau is missing"),
        (["compare", "FIT", "nothing", "run1.csv"], "No file 'nothing'"),
        (["report", "FIT", "-o", "page.html", "--validate", "missing.csv"], "No file 'missing.csv'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_of_the_others(command, done, logs, arguments, sentence):
    code, out, err = command(*(str(done[1]) if a == "FIT" else a for a in arguments))
    assert (code, out) == (3, "") and sentence in err and len(err.strip().splitlines()) == 1
    assert not list(logs.glob("page.*"))


def test_logs_are_read_like_those_of_the_fit(command, logs, tmp_path):
    mapping = tmp_path / "mapping.toml"
    mapping.write_text((logs / "map.toml").read_text())
    assert command("identify", "arm.toml", "foreign.csv", "--columns", mapping, "-o", tmp_path / "out")[0] == 0
    fit = tmp_path / "out"
    stated = command("validate", fit, "foreign.csv", "--columns", mapping)
    assert stated[0] == 0
    assert command("validate", fit, "foreign.csv") == stated
    assert command("payload", fit, "foreign.csv") == command("payload", fit, "foreign.csv", "--columns", mapping)
    mapping.write_text(mapping.read_text() + "# changed\n")
    code, out, err = command("validate", fit, "foreign.csv")
    assert (code, out) == (3, "")
    warning, error = err.strip().splitlines()
    assert "mapping.toml, which has changed since" in warning and "--columns" in warning
    assert "foreign.csv" in error
    mapping.unlink()
    assert "mapping.toml, which is not found from here" in command("validate", fit, "foreign.csv")[2]
    code, _, err = command("compare", fit, fit)  # no log is read
    assert (code, err) == (0, "")


def test_the_encoder_offsets_of_the_fit_hold_for_other_logs(command, logs, tmp_path):
    log, stated = tp.read_log(logs / "run1.csv"), ("--encoder-offset", "0.3,-0.2")
    shifted, fit = tmp_path / "shifted.csv", tmp_path / "out"
    tp.write_log(log.with_(q=log.q - [0.3, -0.2]), shifted)
    assert command("identify", "arm.toml", shifted, *stated, "--cutoff", 15, "-o", fit)[0] == 0
    plain = command("validate", fit, shifted)
    assert plain[0] == 0 and plain == command("validate", fit, shifted, *stated)
    assert plain[1] != command("validate", fit, shifted, "--encoder-offset", 0)[1]  # what is stated counts


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("encoder_offset", "far", "encoder_offset"),
        ("encoder_offset", [0.1, 0.2, 0.3], "one for each of 2 joints"),
        ("columns", 7, "columns"),
    ],
)
def test_a_fit_whose_record_was_spoilt(command, done, tmp_path, key, value, sentence):
    data = json.loads((done[1] / "fit.json").read_text())
    data["provenance"][key] = value
    (tmp_path / "fit.json").write_text(json.dumps(data))
    code, out, err = command("validate", tmp_path, "run3.csv")
    assert (code, out) == (3, "") and sentence in err and len(err.strip().splitlines()) == 1
